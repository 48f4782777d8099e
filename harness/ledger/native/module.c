/* Python's view of the native ledger. Everything here runs under the interpreter lock. */
#include "ledger.h"

#include <pthread.h>
#include <string.h>

static uint64_t sessions;
static bool slots_are_ours;

static PyObject *
refuse(const char *why)
{
    PyErr_SetString(PyExc_RuntimeError, why);
    return NULL;
}

static PyObject *
python_start(PyObject *self, PyObject *args)
{
    (void)self;
    int depth, events;
    PyObject *prefixes;
    unsigned long long most_storages;
    if (!PyArg_ParseTuple(args, "iO!Kp", &depth, &PyTuple_Type, &prefixes, &most_storages, &events)) {
        return NULL;
    }
    if (atomic_load(&session_running) != 0) {
        return refuse("a native ledger is already running in this process");
    }
    if (!frames_are_known) {
        return refuse("the frames of this Python version are not known to the native ledger (3.11 and 3.12 are)");
    }
    if (depth < 0 || depth > MOST_FRAMES_WALKED) {
        return refuse("depth is not between 0 and 64");
    }
    const char *why = names_set_up(prefixes);
    if (why != NULL) {
        return PyErr_Occurred() ? NULL : refuse(why);
    }
    frames_depth = depth;
    table_reset(most_storages);
    names_reset();
    sites_reset();
    scopes_reset();
    if (events_reset(events) != 0) {
        return refuse("no memory for the ring of events");
    }
    why = slots_take();
    if (why != NULL) {
        return refuse(why);
    }
    slots_are_ours = true;
    atomic_store(&session_running, ++sessions);
    return PyLong_FromUnsignedLongLong(sessions);
}

static PyObject *
python_stop(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    int lost = 0;
    atomic_store(&session_running, 0);
    table_lock(true); /* whatever still booked is done after this */
    table_lock(false);
    if (slots_are_ours) {
        slots_are_ours = false;
        lost = slots_give_back();
    }
    return PyLong_FromLong(lost);
}

static PyObject *
python_session(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return Py_BuildValue("(KK)", (unsigned long long)sessions, (unsigned long long)atomic_load(&session_running));
}

static PyObject *
python_mark(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    atomic_fetch_add(&counters.interval, 1);
    int64_t peak = atomic_exchange(&counters.peak_bytes, atomic_load(&counters.bytes));
    return Py_BuildValue("(iKLiK)", atomic_load(&counters.interval),
                         (unsigned long long)atomic_load(&counters.allocations), (long long)peak, slots_lost(),
                         (unsigned long long)events_now());
}

static PyObject *
python_totals(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return Py_BuildValue("(LLLKK)", (long long)table_storages(),
                         (long long)atomic_load(&counters.bytes), (long long)atomic_load(&counters.peak_bytes),
                         (unsigned long long)atomic_load(&counters.allocations),
                         (unsigned long long)atomic_load(&counters.dropped));
}

static PyObject *
record_as_python(const record *entry)
{
    return Py_BuildValue("(KKKiIKI)", (unsigned long long)entry->serial, (unsigned long long)entry->address,
                         (unsigned long long)entry->bytes, entry->birth, entry->site,
                         (unsigned long long)scope_number_of(entry->scope), entry->thread);
}

static int
by_serial(const void *one, const void *other)
{
    uint64_t a = ((const record *)one)->serial, b = ((const record *)other)->serial;
    return (a > b) - (a < b);
}

static PyObject *
python_records(PyObject *self, PyObject *args)
{
    (void)self;
    record_filter wanted;
    record_list list;
    if (!PyArg_ParseTuple(args, "iiI", &wanted.birth_from, &wanted.birth_below, &wanted.scope)) {
        return NULL;
    }
    if (!table_copy(wanted, &list)) {
        return PyErr_NoMemory();
    }
    qsort(list.items, list.count, sizeof(record), by_serial);
    PyObject *found = PyList_New((Py_ssize_t)list.count);
    for (size_t i = 0; found != NULL && i < list.count; i++) {
        PyObject *item = record_as_python(&list.items[i]);
        if (item == NULL) {
            Py_CLEAR(found);
            break;
        }
        PyList_SET_ITEM(found, (Py_ssize_t)i, item);
    }
    record_list_free(&list);
    return found;
}

static PyObject *
python_born_since(PyObject *self, PyObject *birth)
{
    (void)self;
    record_list list;
    record_filter wanted = {.birth_from = (int32_t)PyLong_AsLong(birth), .birth_below = INT32_MAX, .scope = NO_SLOT};
    if (PyErr_Occurred() || !table_copy(wanted, &list)) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    unsigned long long bytes = 0, storages = list.count;
    for (size_t i = 0; i < list.count; i++) {
        bytes += list.items[i].bytes;
    }
    record_list_free(&list);
    return Py_BuildValue("(KK)", storages, bytes);
}

static PyObject *
python_find(PyObject *self, PyObject *address)
{
    (void)self;
    record found;
    unsigned long long at = PyLong_AsUnsignedLongLong(address);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (!table_find((uintptr_t)at, &found)) {
        Py_RETURN_NONE;
    }
    return record_as_python(&found);
}

static PyObject *
python_move(PyObject *self, PyObject *args)
{
    (void)self;
    unsigned long long address, number;
    unsigned int slot;
    if (!PyArg_ParseTuple(args, "KIK", &address, &slot, &number)) {
        return NULL;
    }
    return PyBool_FromLong(table_move((uintptr_t)address, slot, number));
}

static PyObject *
python_changed(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return sites_changed();
}

static PyObject *
python_site(PyObject *self, PyObject *number)
{
    (void)self;
    unsigned long site = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (site >= sites_count()) {
        return PyErr_Format(PyExc_IndexError, "there is no site %lu", site);
    }
    return site_as_python((uint32_t)site);
}

static PyObject *
python_walk(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return frames_as_python();
}

static PyObject *
python_events(PyObject *self, PyObject *since)
{
    (void)self;
    unsigned long long from = PyLong_AsUnsignedLongLong(since);
    return PyErr_Occurred() ? NULL : events_as_python(from);
}

static PyObject *
python_event_count(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return PyLong_FromUnsignedLongLong(events_now());
}

static PyObject *
python_slots(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return Py_BuildValue("(iin)", slots_count(), slots_lost(), (Py_ssize_t)table_memory());
}

static PyObject *
python_slot_table(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return slots_as_python();
}

/* For tests: the addresses of the two hooks. */
static PyObject *
python_hooks(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    return Py_BuildValue("(KK)", (unsigned long long)(uintptr_t)hook_alloc, (unsigned long long)(uintptr_t)hook_free);
}

/* For tests: *pairs* allocations and frees through the hooks, without the interpreter lock, *kept* alive at a time. */
static PyObject *
python_exercise(PyObject *self, PyObject *args)
{
    (void)self;
    unsigned long long pairs;
    unsigned int bytes, kept;
    void *alive[256] = {NULL};
    if (!PyArg_ParseTuple(args, "KII", &pairs, &bytes, &kept)) {
        return NULL;
    }
    kept = kept < 1 ? 1 : kept > 256 ? 256 : kept;
    Py_BEGIN_ALLOW_THREADS;
    for (unsigned long long i = 0; i < pairs; i++) {
        hook_free(alive[i % kept]);
        alive[i % kept] = hook_alloc(bytes + i % kept);
    }
    for (unsigned int i = 0; i < kept; i++) {
        hook_free(alive[i]);
    }
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

/* -- fork: nobody is in the middle of anything when the memory is copied ------------------------------------------ */

static void
before_fork(void)
{
    scopes_lock(true);
    sites_lock(true);
    names_lock(true);
    table_lock(true);
}

static void
after_fork(void)
{
    table_lock(false);
    names_lock(false);
    sites_lock(false);
    scopes_lock(false);
}

static void
after_fork_in_child(void)
{
    after_fork();
    thread_after_fork();
}

static PyMethodDef methods[] = {
    {"start", python_start, METH_VARARGS, NULL},
    {"stop", python_stop, METH_NOARGS, NULL},
    {"session", python_session, METH_NOARGS, NULL},
    {"mark", python_mark, METH_NOARGS, NULL},
    {"totals", python_totals, METH_NOARGS, NULL},
    {"records", python_records, METH_VARARGS, NULL},
    {"born_since", python_born_since, METH_O, NULL},
    {"find", python_find, METH_O, NULL},
    {"move", python_move, METH_VARARGS, NULL},
    {"changed", python_changed, METH_NOARGS, NULL},
    {"site", python_site, METH_O, NULL},
    {"walk", python_walk, METH_NOARGS, NULL},
    {"events", python_events, METH_O, NULL},
    {"event_count", python_event_count, METH_NOARGS, NULL},
    {"slots", python_slots, METH_NOARGS, NULL},
    {"slot_table", python_slot_table, METH_NOARGS, NULL},
    {"hooks", python_hooks, METH_NOARGS, NULL},
    {"exercise", python_exercise, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "The native ledger: torch's CPU allocations, seen exactly.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    if (threads_set_up() != 0 || sites_set_up() != 0 || scopes_set_up() != 0) {
        return PyErr_NoMemory();
    }
    if (pthread_atfork(before_fork, after_fork, after_fork_in_child) != 0) {
        return PyErr_NoMemory();
    }
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddFunctions(module, scope_methods) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
