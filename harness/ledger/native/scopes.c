/* Who owns a storage, and how much a scope and what is below it may own. A thread's present scope is in a slot of the
 * thread, so entering and leaving take no lock. The root's own figures are not kept but reckoned when somebody asks:
 * most storages are the root's, and booking them would cost every hook an atomic operation. */
#include "ledger.h"
#include "pages.h"

#include <stdio.h>
#include <string.h>

#define MOST_SCOPES 65536
#define NAME_BYTES 200
#define LOOKED_AT 16

typedef struct {
    small_lock lock; /* of the three figures below, and of closing */
    _Atomic uint64_t open_number; /* 0: closed, or never used; a hook that finds another number here books to the root */
    int64_t storages;
    int64_t bytes;
    uint64_t number; /* of what is still alive in it after it was closed */
    _Atomic int64_t tree_bytes; /* with everything below it; kept only where there is a budget */
    _Atomic int64_t tree_peak;
    _Atomic int64_t refusals; /* by this budget */
    int64_t budget; /* -1: none */
    uint32_t parent;
    uint32_t budgeted;       /* the innermost scope from here outwards that has a budget */
    uint32_t budgeted_above; /* the same, from the parent outwards */
    uint32_t children;
    uint32_t next_closed;
    char name[NAME_BYTES];
} scope;

static small_lock lock;
static scope *scopes;
static uint32_t used = 1;
static uint32_t first_closed, last_closed; /* a queue; 0 is the root, which is never in it */

int
scopes_set_up(void)
{
    scopes = pages_take(MOST_SCOPES * sizeof(scope));
    return scopes == NULL ? -1 : 0;
}

void
scopes_reset(void)
{
    lock_take(&lock);
    memset(scopes, 0, used * sizeof(scope));
    scopes[SCOPE_ROOT].budget = -1;
    scopes[SCOPE_ROOT].budgeted = scopes[SCOPE_ROOT].budgeted_above = NO_SLOT;
    used = 1;
    first_closed = last_closed = 0;
    lock_drop(&lock);
}

uint32_t
scope_here(const thread_slot *thread, uint64_t session, uint64_t *number)
{
    *number = 0;
    if (thread->scope_session != session || thread->scope_slot == SCOPE_ROOT ||
        atomic_load_explicit(&scopes[thread->scope_slot].open_number, memory_order_relaxed) != thread->scope_number) {
        return SCOPE_ROOT;
    }
    *number = thread->scope_number;
    return thread->scope_slot;
}

static void
write_bytes(char *to, size_t room, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int power = 0;
    for (; power < 6 && value >= (power ? 1023.95 : 1023.5); power++) {
        value /= 1024;
    }
    snprintf(to, room, power ? "%.1f %s" : "%.0f %s", value, units[power]);
}

static void
write_sentence(char *sentence, const scope *full, uint64_t bytes, int64_t in_use)
{
    char more[32], budget[32], present[32];
    write_bytes(more, sizeof(more), bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes);
    write_bytes(budget, sizeof(budget), full->budget);
    write_bytes(present, sizeof(present), in_use);
    snprintf(sentence, SENTENCE_BYTES, "scope %s: %s more would exceed its budget of %s (%s in use)", full->name, more,
             budget, present);
}

static inline bool
is_over(const scope *of, int64_t in_use, uint64_t bytes)
{
    return bytes > INT64_MAX || in_use > of->budget - (int64_t)bytes;
}

bool
scope_has_room(uint32_t slot, uint64_t bytes, char *sentence)
{
    for (uint32_t at = scopes[slot].budgeted; at != NO_SLOT; at = scopes[at].budgeted_above) {
        int64_t in_use = atomic_load_explicit(&scopes[at].tree_bytes, memory_order_relaxed);
        if (is_over(&scopes[at], in_use, bytes)) {
            write_sentence(sentence, &scopes[at], bytes, in_use);
            atomic_fetch_add(&scopes[at].refusals, 1);
            return false;
        }
    }
    return true;
}

static bool
charge_budgets(uint32_t from, uint64_t bytes, char *sentence)
{
    for (uint32_t at = from; at != NO_SLOT; at = scopes[at].budgeted_above) {
        int64_t before = atomic_fetch_add(&scopes[at].tree_bytes, (int64_t)bytes);
        if (sentence == NULL || !is_over(&scopes[at], before, bytes)) {
            continue;
        }
        write_sentence(sentence, &scopes[at], bytes, before);
        atomic_fetch_add(&scopes[at].refusals, 1);
        for (uint32_t undo = from;; undo = scopes[undo].budgeted_above) {
            atomic_fetch_sub(&scopes[undo].tree_bytes, (int64_t)bytes);
            if (undo == at) {
                return false;
            }
        }
    }
    return true;
}

static void
raise_peaks(uint32_t from)
{
    for (uint32_t at = from; at != NO_SLOT; at = scopes[at].budgeted_above) {
        int64_t now = atomic_load(&scopes[at].tree_bytes), peak = atomic_load(&scopes[at].tree_peak);
        while (now > peak && !atomic_compare_exchange_weak(&scopes[at].tree_peak, &peak, now)) {
        }
    }
}

/* To the scope if it is still the one that is meant; it is then not given away while the storage lives. */
static bool
book(scope *of, uint64_t number, uint64_t bytes)
{
    lock_take(&of->lock);
    bool is_open = atomic_load_explicit(&of->open_number, memory_order_relaxed) == number;
    if (is_open) {
        of->storages++;
        of->bytes += (int64_t)bytes;
    }
    lock_drop(&of->lock);
    return is_open;
}

static void
unbook(scope *of, uint64_t bytes)
{
    lock_take(&of->lock);
    of->bytes -= (int64_t)bytes;
    of->storages--; /* at 0 a closed scope's slot may be given to another */
    lock_drop(&of->lock);
}

bool
scope_charge(uint32_t *slot, uint64_t number, uint64_t bytes, char *sentence)
{
    if (*slot == SCOPE_ROOT || !book(&scopes[*slot], number, bytes)) {
        *slot = SCOPE_ROOT; /* which has no budget */
        return true;
    }
    uint32_t budgeted = scopes[*slot].budgeted;
    if (budgeted != NO_SLOT) {
        if (!charge_budgets(budgeted, bytes, sentence)) {
            unbook(&scopes[*slot], bytes);
            return false;
        }
        raise_peaks(budgeted);
    }
    return true;
}

void
scope_credit(uint32_t slot, uint64_t bytes)
{
    if (slot == SCOPE_ROOT) {
        return;
    }
    for (uint32_t at = scopes[slot].budgeted; at != NO_SLOT; at = scopes[at].budgeted_above) {
        atomic_fetch_sub(&scopes[at].tree_bytes, (int64_t)bytes);
    }
    unbook(&scopes[slot], bytes);
}

uint64_t
scope_number_of(uint32_t slot)
{
    return scopes[slot].number;
}

void
scopes_lock(bool take)
{
    take ? lock_take(&lock) : lock_drop(&lock);
}

static int64_t
storages_in(uint32_t slot)
{
    lock_take(&scopes[slot].lock);
    int64_t storages = scopes[slot].storages;
    lock_drop(&scopes[slot].lock);
    return storages;
}

/* The slot of a closed scope in which nothing lives any more, or 0. Looks at a few, and comes back to the others. */
static uint32_t
reclaim(void)
{
    for (int looked = 0; looked < LOOKED_AT && first_closed != 0; looked++) {
        uint32_t slot = first_closed;
        first_closed = scopes[slot].next_closed;
        if (first_closed == 0) {
            last_closed = 0;
        }
        if (storages_in(slot) == 0 && scopes[slot].children == 0) {
            scopes[scopes[slot].parent].children--;
            return slot;
        }
        scopes[slot].next_closed = 0;
        if (last_closed != 0) {
            scopes[last_closed].next_closed = slot;
        } else {
            first_closed = slot;
        }
        last_closed = slot;
    }
    return 0;
}

static uint32_t
define(uint64_t number, uint32_t parent, const char *name, int64_t budget)
{
    lock_take(&lock);
    uint32_t slot = reclaim();
    if (slot == 0 && used < MOST_SCOPES) {
        slot = used++;
    }
    if (slot != 0) {
        scope *fresh = &scopes[slot];
        atomic_store(&fresh->tree_bytes, 0);
        atomic_store(&fresh->tree_peak, 0);
        atomic_store(&fresh->refusals, 0);
        fresh->number = number;
        fresh->budget = budget;
        fresh->parent = parent;
        fresh->budgeted_above = scopes[parent].budgeted;
        fresh->budgeted = budget >= 0 ? slot : fresh->budgeted_above;
        fresh->children = 0;
        fresh->next_closed = 0;
        scopes[parent].children++;
        snprintf(fresh->name, sizeof(fresh->name), "%s", name);
        atomic_store(&fresh->open_number, number);
    }
    lock_drop(&lock);
    return slot;
}

static PyObject *
python_define(PyObject *self, PyObject *args)
{
    (void)self;
    unsigned long long number;
    unsigned int parent;
    const char *name;
    long long budget;
    if (!PyArg_ParseTuple(args, "KIsL", &number, &parent, &name, &budget)) {
        return NULL;
    }
    uint32_t slot = define(number, parent, name, budget);
    if (slot == 0) {
        return PyErr_Format(PyExc_RuntimeError, "%d scopes are open, or closed with storages alive in them",
                            MOST_SCOPES);
    }
    return PyLong_FromUnsignedLong(slot);
}

static PyObject *
python_enter(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "scope_enter(slot, number)");
        return NULL;
    }
    uint32_t slot = (uint32_t)PyLong_AsUnsignedLong(args[0]);
    uint64_t number = PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    thread_slot *thread = thread_here();
    uint64_t session = atomic_load(&session_running);
    uint64_t before = thread->scope_session == session && thread->scope_slot != SCOPE_ROOT ? thread->scope_number : 0;
    thread->scope_session = session;
    thread->scope_slot = slot;
    thread->scope_number = number;
    return PyLong_FromUnsignedLongLong(before);
}

static PyObject *
python_forget(PyObject *self, PyObject *slot_number)
{
    (void)self;
    uint32_t slot = (uint32_t)PyLong_AsUnsignedLong(slot_number);
    if (PyErr_Occurred()) {
        return NULL;
    }
    lock_take(&lock);
    lock_take(&scopes[slot].lock);
    atomic_store(&scopes[slot].open_number, 0);
    lock_drop(&scopes[slot].lock);
    scopes[slot].next_closed = 0;
    if (last_closed != 0) {
        scopes[last_closed].next_closed = slot;
    } else {
        first_closed = slot;
    }
    last_closed = slot;
    lock_drop(&lock);
    Py_RETURN_NONE;
}

static void
figures_of(uint32_t slot, int64_t *storages, int64_t *bytes)
{
    lock_take(&scopes[slot].lock);
    *storages = scopes[slot].storages;
    *bytes = scopes[slot].bytes;
    lock_drop(&scopes[slot].lock);
    if (slot == SCOPE_ROOT) {
        *storages = table_storages();
        *bytes = atomic_load(&counters.bytes);
        for (uint32_t other = 1; other < used; other++) {
            lock_take(&scopes[other].lock);
            *storages -= scopes[other].storages;
            *bytes -= scopes[other].bytes;
            lock_drop(&scopes[other].lock);
        }
    }
}

static PyObject *
python_figures(PyObject *self, PyObject *slot_number)
{
    (void)self;
    uint32_t slot = (uint32_t)PyLong_AsUnsignedLong(slot_number);
    if (PyErr_Occurred()) {
        return NULL;
    }
    scope *of = &scopes[slot];
    int64_t storages, bytes;
    figures_of(slot, &storages, &bytes);
    return Py_BuildValue("(LLLLLL)", (long long)storages, (long long)bytes, (long long)of->budget,
                         (long long)atomic_load(&of->tree_bytes), (long long)atomic_load(&of->tree_peak),
                         (long long)atomic_load(&of->refusals));
}

PyMethodDef scope_methods[] = {
    {"scope_define", python_define, METH_VARARGS, NULL},
    {"scope_enter", (PyCFunction)(void (*)(void))python_enter, METH_FASTCALL, NULL},
    {"scope_forget", python_forget, METH_O, NULL},
    {"scope_figures", python_figures, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
