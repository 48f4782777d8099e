/* A bounded ring of births and deaths, so that a peak can be explained afterwards by replaying from it backwards:
 * copying every site's figures at each new maximum would cost more than all the rest. */
#include "ledger.h"
#include "pages.h"

#include <string.h>

#define RING 131072u /* a power of two: 3 MiB */

typedef struct {
    uint64_t address;
    int64_t bytes; /* negative: a death */
    uint32_t site;
    uint32_t thread; /* in which it was born */
} event;

bool events_are_kept;

static event *ring;
static _Atomic uint64_t next;

int
events_reset(bool wanted)
{
    if (wanted && ring == NULL) {
        ring = pages_take(RING * sizeof(event));
    }
    if (wanted && ring != NULL) {
        memset(ring, 0, RING * sizeof(event)); /* resident from now on: filling it must not look like somebody's growth */
    }
    events_are_kept = wanted && ring != NULL;
    atomic_store(&next, 0);
    return wanted && ring == NULL ? -1 : 0;
}

void
event_note(const record *entry, int sign)
{
    uint64_t at = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    ring[at % RING] = (event){entry->address, sign * (int64_t)entry->bytes, entry->site, entry->thread};
}

uint64_t
events_now(void)
{
    return atomic_load(&next);
}

/* Events from number *since* on as (address, signed bytes, site, thread of the birth), oldest first, or None when the first of them
 * are overwritten already. Copied while nothing is booked, so that none is half written. */
PyObject *
events_as_python(uint64_t since)
{
    table_lock(true);
    uint64_t end = atomic_load(&next), count = end - since;
    bool is_whole = events_are_kept && since <= end && count <= RING;
    size_t pages_bytes = (size_t)(is_whole ? count + 1 : 1) * sizeof(event);
    event *copy = pages_take(pages_bytes);
    for (uint64_t i = 0; copy != NULL && is_whole && i < count; i++) {
        copy[i] = ring[(since + i) % RING];
    }
    table_lock(false);
    if (copy == NULL || !is_whole) {
        pages_give(copy, pages_bytes);
        Py_RETURN_NONE;
    }
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (uint64_t i = 0; list != NULL && i < count; i++) {
        PyObject *item = Py_BuildValue("(KLII)", (unsigned long long)copy[i].address, (long long)copy[i].bytes,
                                       copy[i].site, copy[i].thread);
        if (item == NULL) {
            Py_CLEAR(list);
            break;
        }
        PyList_SET_ITEM(list, (Py_ssize_t)i, item);
    }
    pages_give(copy, pages_bytes);
    return list;
}
