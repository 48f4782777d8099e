/* What happens at an allocation and at a free. Neither takes the interpreter lock, and neither calls anything that
 * could: torch allocates without it, and under mutexes of anybody's. */
#include "ledger.h"

_Atomic uint64_t session_running;

static void
refuse(const char *sentence)
{
    if (original.fail != NULL) {
        original.fail("ResourceScope", "harness", 0, sentence); /* throws c10::Error, as a failed alloc_cpu does */
    }
    original.alloc(PTRDIFF_MAX); /* no thrower in this torch: its own out-of-memory error, then */
}

void *
hook_alloc(size_t bytes)
{
    uint64_t session = atomic_load_explicit(&session_running, memory_order_acquire);
    if (session == 0) {
        return original.alloc(bytes);
    }
    char sentence[SENTENCE_BYTES];
    thread_slot *thread = thread_here();
    uint64_t number;
    uint32_t scope = scope_here(thread, session, &number);
    /* Asked before, so that a terabyte is never tried. */
    bool refused = scope != SCOPE_ROOT && !scope_has_room(scope, bytes, sentence);
    if (!refused) {
        void *address = original.alloc(bytes);
        if (address == NULL) {
            return NULL;
        }
        record entry = {.address = (uintptr_t)address, .bytes = bytes, .scope = scope};
        entry.site = site_here(thread, session);
        entry.thread = thread->tid;
        if (table_enter(session, &entry, number, sentence) != REFUSED) {
            return address;
        }
        original.free(address); /* another thread took the room meanwhile */
    }
    refuse(sentence);
    return NULL;
}

void
hook_free(void *address)
{
    uint64_t session = atomic_load_explicit(&session_running, memory_order_acquire);
    if (session != 0 && address != NULL) {
        table_leave(session, address); /* before it is free: nobody else can have the address yet */
    }
    original.free(address);
}
