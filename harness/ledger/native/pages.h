/* Memory that is ours alone. From mmap and not from malloc: the ledger must not show up in the C heap that the
 * instruments read, and malloc may be another tool's, with locks of its own. */
#ifndef HARNESS_PAGES_H
#define HARNESS_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

static inline void *
pages_take(size_t bytes)
{
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

static inline void
pages_give(void *pages, size_t bytes)
{
    if (pages != NULL) {
        munmap(pages, bytes);
    }
}

/* Small things that live until the next session, one behind the other. */
#define ARENA_CHUNK ((size_t)1 << 18)

typedef struct arena_chunk {
    struct arena_chunk *earlier;
    size_t used;
} arena_chunk;

typedef struct {
    arena_chunk *newest;
    size_t bytes;
} arena;

static inline void *
arena_take(arena *from, size_t bytes)
{
    bytes = (bytes + 7) & ~(size_t)7;
    if (bytes > ARENA_CHUNK - sizeof(arena_chunk)) {
        return NULL;
    }
    if (from->newest == NULL || from->newest->used + bytes > ARENA_CHUNK) {
        arena_chunk *chunk = pages_take(ARENA_CHUNK);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->earlier = from->newest;
        chunk->used = sizeof(arena_chunk);
        from->newest = chunk;
        from->bytes += ARENA_CHUNK;
    }
    void *found = (char *)from->newest + from->newest->used;
    from->newest->used += bytes;
    return found;
}

static inline void
arena_empty(arena *which)
{
    while (which->newest != NULL) {
        arena_chunk *earlier = which->newest->earlier;
        pages_give(which->newest, ARENA_CHUNK);
        which->newest = earlier;
    }
    which->bytes = 0;
}

#endif
