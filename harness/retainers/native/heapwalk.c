/* One breadth-first walk over Python's objects, by their types' own tp_traverse: nothing of a program's code runs, no
 * attribute is asked for, and no reference count changes where only sizes are wanted. Everything here runs under the
 * interpreter lock.
 *
 * A walk numbers the objects it meets. Each knows the one it was met from, so that the path back to a root is a chain
 * of numbers: one walk finds the shortest path to every object at once. Roots come in phases: a later phase only gets
 * what the earlier ones did not reach, and no object that is a root itself is passed through (a function leads to the
 * globals of its module, and from there to everything). Classes wait until all phases are done: every instance leads
 * to its class, and nobody would understand a path that goes on from there. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define NO_NODE UINT32_MAX
#define MOST_NODES (UINT32_MAX / 2)
#define SHOWN_ENDS 48

/* ---- memory that is ours alone: it must not show in the C heap that is being judged ---- */

static void *
pages_take(size_t bytes)
{
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

static void
pages_give(void *pages, size_t bytes)
{
    if (pages != NULL) {
        munmap(pages, bytes);
    }
}

static uint64_t
hashed(const void *address)
{
    return ((uint64_t)(uintptr_t)address >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 20;
}

/* ---- a table from addresses to 64-bit words ---- */

typedef struct {
    const void *key;
    uint64_t word;
} entry;

typedef struct {
    entry *entries;
    size_t capacity; /* a power of two */
    size_t used;
} table;

static int
table_make(table *t, size_t capacity)
{
    t->capacity = capacity;
    t->used = 0;
    t->entries = pages_take(capacity * sizeof(entry));
    return t->entries == NULL ? -1 : 0;
}

static void
table_drop(table *t)
{
    pages_give(t->entries, t->capacity * sizeof(entry));
    t->entries = NULL;
    t->capacity = t->used = 0;
}

static entry *
table_place(const table *t, const void *key)
{
    size_t mask = t->capacity - 1;
    size_t k = hashed(key) & mask;
    while (t->entries[k].key != NULL && t->entries[k].key != key) {
        k = (k + 1) & mask;
    }
    return &t->entries[k];
}

/* The entry of *key*, made (with a word of 0) where there is none; NULL without memory. */
static entry *
table_enter(table *t, const void *key)
{
    if (3 * t->used >= 2 * t->capacity) {
        table larger;
        if (table_make(&larger, 2 * t->capacity) != 0) {
            return NULL;
        }
        for (size_t k = 0; k < t->capacity; k++) {
            if (t->entries[k].key != NULL) {
                *table_place(&larger, t->entries[k].key) = t->entries[k];
            }
        }
        larger.used = t->used;
        table_drop(t);
        *t = larger;
    }
    entry *at = table_place(t, key);
    if (at->key == NULL) {
        at->key = key;
        t->used++;
    }
    return at;
}

/* ---- sizes: how large each container was at one moment, and how many objects of each type there were ---- */

typedef struct {
    PyObject_HEAD
    table containers; /* address -> type (low 48 bits mixed) and size */
    table types;      /* type -> how many */
    size_t objects;
} Sizes;

#define SIZE_BITS 40
#define SIZE_MASK ((UINT64_C(1) << SIZE_BITS) - 1)

/* Size in the low bits, a check of the type in the high ones: another type at the same address is another object. */
static uint64_t
size_word(const PyTypeObject *type, uint64_t size)
{
    return (hashed(type) << SIZE_BITS) | (size & SIZE_MASK);
}

static void
Sizes_dealloc(PyObject *self)
{
    Sizes *sizes = (Sizes *)self;
    table_drop(&sizes->containers);
    table_drop(&sizes->types);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
Sizes_objects(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(((Sizes *)self)->objects);
}

static PyGetSetDef Sizes_getset[] = {
    {"objects", Sizes_objects, NULL, "How many objects were met.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject Sizes_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "harness.retainers._heapwalk.Sizes",
    .tp_basicsize = sizeof(Sizes),
    .tp_dealloc = Sizes_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The sizes of containers at one moment: what a later walk is compared with.",
    .tp_getset = Sizes_getset,
};

/* ---- the walk ---- */

typedef struct {
    PyObject *object;
    int64_t parent; /* a node's number; -1 - k: the root k */
    uint32_t size;
} node;

typedef struct {
    PyObject_HEAD
    node *nodes;
    size_t room;   /* nodes that fit */
    uint32_t count;
    table places;  /* object -> 1 + its number; UINT32_MAX: reserved or skipped */
    table types;   /* type -> how many nodes */
    uint32_t *later; /* numbers of classes that wait */
    uint32_t later_count;
    size_t later_room;
    int holds;     /* owns a reference to each node */
    int defer;     /* classes wait */
    int64_t from;  /* whose children are being met */
    uint32_t met;  /* children of it so far */
    int failed;
} Walk;

#define RESERVED ((uint64_t)UINT32_MAX)

/* A program's next walk is about as large as its last one. */
static size_t expected = 1 << 16;

static int
walk_room(Walk *walk)
{
    if (walk->count < walk->room) {
        return 0;
    }
    size_t room = walk->room == 0 ? 1 << 15 : 2 * walk->room;
    node *more = walk->count < MOST_NODES ? pages_take(room * sizeof(node)) : NULL;
    if (more == NULL) {
        walk->failed = 1;
        return -1;
    }
    if (walk->count) {
        memcpy(more, walk->nodes, walk->count * sizeof(node));
    }
    pages_give(walk->nodes, walk->room * sizeof(node));
    walk->nodes = more;
    walk->room = room;
    return 0;
}

static int
later_push(Walk *walk, uint32_t number)
{
    if (walk->later_count >= walk->later_room) {
        size_t room = walk->later_room == 0 ? 1 << 12 : 2 * walk->later_room;
        uint32_t *more = pages_take(room * sizeof(uint32_t));
        if (more == NULL) {
            walk->failed = 1;
            return -1;
        }
        if (walk->later_count) {
            memcpy(more, walk->later, walk->later_count * sizeof(uint32_t));
        }
        pages_give(walk->later, walk->later_room * sizeof(uint32_t));
        walk->later = more;
        walk->later_room = room;
    }
    walk->later[walk->later_count++] = number;
    return 0;
}

static PyTypeObject Walk_type;

/* What holds nothing and is never asked about is no node; nor is a walk, which would hold on to itself for ever. */
static int
is_plain(PyTypeObject *type)
{
    return type == &Walk_type || type == &Sizes_type || type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBytes_Type ||
           type == &PyBool_Type || type == &PyComplex_Type || type == Py_TYPE(Py_None);
}

/* Enter *object* as met from *parent*; its number, or NO_NODE where it is known already or cannot be entered. */
static uint32_t
walk_enter(Walk *walk, PyObject *object, int64_t parent)
{
    PyTypeObject *type = Py_TYPE(object);
    if (is_plain(type) || walk->failed) {
        return NO_NODE;
    }
    entry *at = table_enter(&walk->places, object);
    if (at == NULL || walk_room(walk) != 0) {
        walk->failed = 1;
        return NO_NODE;
    }
    if (at->word != 0) {
        return NO_NODE;
    }
    entry *kind = table_enter(&walk->types, type);
    if (kind == NULL) {
        walk->failed = 1;
        return NO_NODE;
    }
    kind->word++;
    at->word = 1 + (uint64_t)walk->count;
    walk->nodes[walk->count] = (node){.object = object, .parent = parent};
    if (walk->holds) {
        Py_INCREF(object);
    }
    return walk->count++;
}

static int
meet(PyObject *object, void *arg)
{
    Walk *walk = arg;
    walk->met++;
    uint32_t number = walk_enter(walk, object, walk->from);
    if (number != NO_NODE && walk->defer && PyType_Check(object)) {
        /* Its place in the queue is kept, but it is passed over until the classes' turn has come. */
        later_push(walk, number);
    }
    return walk->failed;
}

static uint32_t
size_of(PyObject *object, uint32_t met)
{
    if (PyList_Check(object) || PyTuple_Check(object)) {
        return (uint32_t)Py_SIZE(object);
    }
    if (PyDict_Check(object)) {
        return (uint32_t)PyDict_GET_SIZE(object);
    }
    if (PyAnySet_Check(object)) {
        return (uint32_t)PySet_GET_SIZE(object);
    }
    if (PyByteArray_Check(object)) {
        return (uint32_t)PyByteArray_GET_SIZE(object);
    }
    return met;
}

static void
open_node(Walk *walk, uint32_t number)
{
    PyObject *object = walk->nodes[number].object;
    PyTypeObject *type = Py_TYPE(object);
    walk->met = 0;
    walk->from = number;
    /* A static type says that its instances are no part of the collector's graph. */
    if (PyObject_IS_GC(object) && type->tp_traverse != NULL) {
        (void)type->tp_traverse(object, meet, walk);
    }
    walk->nodes[number].size = size_of(object, walk->met);
}

static void
run_from(Walk *walk, uint32_t first)
{
    for (uint32_t k = first; k < walk->count && !walk->failed; k++) {
        if (!(walk->defer && PyType_Check(walk->nodes[k].object) && walk->nodes[k].parent >= 0)) {
            open_node(walk, k);
        }
    }
}

static void
run_later(Walk *walk)
{
    int defer = walk->defer;
    walk->defer = 0;
    uint32_t first = walk->count;
    for (uint32_t k = 0; k < walk->later_count && !walk->failed; k++) {
        open_node(walk, walk->later[k]);
    }
    walk->later_count = 0;
    run_from(walk, first);
    walk->defer = defer;
}

static int
reserve_all(Walk *walk, PyObject *objects)
{
    Py_ssize_t count = PyList_GET_SIZE(objects);
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *object = PyList_GET_ITEM(objects, k);
        if (is_plain(Py_TYPE(object))) {
            continue;
        }
        entry *at = table_enter(&walk->places, object);
        if (at == NULL) {
            walk->failed = 1;
            return -1;
        }
        if (at->word == 0) {
            at->word = RESERVED;
        }
    }
    return 0;
}

static Walk *walk_new(int holds);

/* One phase: the roots are entered one after another, in their order, then everything that they lead to. */
static void
run_phase(Walk *walk, PyObject *roots, int64_t first_root)
{
    uint32_t first = walk->count;
    Py_ssize_t count = PyList_GET_SIZE(roots);
    for (Py_ssize_t k = 0; k < count && !walk->failed; k++) {
        PyObject *object = PyList_GET_ITEM(roots, k);
        if (is_plain(Py_TYPE(object))) {
            continue;
        }
        entry *at = table_place(&walk->places, object);
        if (at->key != NULL && at->word == RESERVED) {
            at->word = 0; /* its turn has come */
        }
        walk_enter(walk, object, -1 - (first_root + k));
    }
    run_from(walk, first);
}

static int
check_phases(PyObject *phases)
{
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(phases); k++) {
        if (!PyList_Check(PyList_GET_ITEM(phases, k))) {
            PyErr_SetString(PyExc_TypeError, "a phase is a list of roots");
            return -1;
        }
    }
    return 0;
}

/* What is skipped stays reserved: it is in no phase. */
static Walk *
walked(PyObject *phases, PyObject *skipped, int holds)
{
    if (check_phases(phases) != 0) {
        return NULL;
    }
    Walk *walk = walk_new(holds);
    if (walk == NULL) {
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(phases);
    reserve_all(walk, skipped);
    for (Py_ssize_t k = 0; k < count; k++) {
        reserve_all(walk, PyList_GET_ITEM(phases, k));
    }
    walk->defer = 1;
    int64_t first_root = 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        run_phase(walk, PyList_GET_ITEM(phases, k), first_root);
        first_root += PyList_GET_SIZE(PyList_GET_ITEM(phases, k));
    }
    run_later(walk);
    walk->defer = 0;
    if (walk->failed) {
        Py_DECREF(walk);
        PyErr_NoMemory();
        return NULL;
    }
    expected = walk->places.capacity;
    return walk;
}

static PyObject *
Walk_instances(PyObject *self, PyObject *type)
{
    Walk *walk = (Walk *)self;
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "instances() takes a type");
        return NULL;
    }
    PyObject *found = PyList_New(0);
    for (uint32_t k = 0; found != NULL && k < walk->count; k++) {
        PyObject *object = walk->nodes[k].object;
        if (PyObject_TypeCheck(object, (PyTypeObject *)type) && PyList_Append(found, object) != 0) {
            Py_CLEAR(found);
        }
    }
    return found;
}

static PyObject *
chain_of(Walk *walk, uint32_t number, uint32_t most)
{
    uint32_t total = 0;
    int64_t at = number;
    while (at >= 0) {
        total++;
        at = walk->nodes[at].parent;
    }
    int64_t root = -1 - at;
    uint32_t head = total <= most ? total : most / 2;
    uint32_t tail = total <= most ? 0 : most - head;
    PyObject *first = PyList_New(head), *last = PyList_New(tail);
    if (first == NULL || last == NULL) {
        Py_XDECREF(first);
        Py_XDECREF(last);
        return NULL;
    }
    at = number;
    for (uint32_t k = total; k-- > 0; at = walk->nodes[at].parent) {
        PyObject *object = walk->nodes[at].object;
        if (k < head) {
            Py_INCREF(object);
            PyList_SET_ITEM(first, k, object);
        }
        else if (k >= total - tail) {
            Py_INCREF(object);
            PyList_SET_ITEM(last, k - (total - tail), object);
        }
    }
    return Py_BuildValue("LNNI", (long long)root, first, last, total - head - tail);
}

static PyObject *
Walk_path(PyObject *self, PyObject *object)
{
    Walk *walk = (Walk *)self;
    entry *at = table_place(&walk->places, object);
    if (at->key == NULL || at->word == RESERVED || at->word == 0) {
        Py_RETURN_NONE;
    }
    return chain_of(walk, (uint32_t)(at->word - 1), 2 * SHOWN_ENDS);
}

static PyObject *
Walk_enter(PyObject *self, PyObject *args)
{
    Walk *walk = (Walk *)self;
    PyObject *roots;
    long long first_root;
    if (!PyArg_ParseTuple(args, "O!L", &PyList_Type, &roots, &first_root)) {
        return NULL;
    }
    uint32_t before = walk->count;
    walk->defer = 1;
    run_phase(walk, roots, first_root);
    run_later(walk);
    walk->defer = 0;
    if (walk->failed) {
        return PyErr_NoMemory();
    }
    return PyLong_FromUnsignedLong(walk->count - before);
}

/* What a grown container is not: it cannot gain elements, or it is the machinery of one that can. */
static int
cannot_grow(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    return type == &PyTuple_Type || type == &PyFunction_Type || type == &PyMethod_Type || type == &PyCell_Type ||
           type == &PyCFunction_Type || type == &PyModule_Type || type == &PyFrame_Type || PyType_Check(object) ||
           type == &PyGen_Type || type == &PyCoro_Type;
}

static PyObject *
Walk_sizes(PyObject *self, PyObject *unused)
{
    (void)unused;
    Walk *walk = (Walk *)self;
    Sizes *sizes = PyObject_New(Sizes, &Sizes_type);
    if (sizes == NULL) {
        return NULL;
    }
    memset(&sizes->containers, 0, sizeof(table));
    memset(&sizes->types, 0, sizeof(table));
    sizes->objects = walk->count;
    int failed = table_make(&sizes->containers, walk->places.capacity / 2) != 0 ||
                 table_make(&sizes->types, walk->types.capacity) != 0;
    if (!failed) {
        memcpy(sizes->types.entries, walk->types.entries, walk->types.capacity * sizeof(entry));
        sizes->types.used = walk->types.used;
    }
    for (uint32_t k = 0; !failed && k < walk->count; k++) {
        const node *at = &walk->nodes[k];
        if (!failed && !cannot_grow(at->object)) {
            entry *container = table_enter(&sizes->containers, at->object);
            failed = container == NULL;
            if (!failed) {
                container->word = size_word(Py_TYPE(at->object), at->size);
            }
        }
    }
    if (failed) {
        Py_DECREF(sizes);
        return PyErr_NoMemory();
    }
    return (PyObject *)sizes;
}

static PyObject *
Walk_grown(PyObject *self, PyObject *args)
{
    Walk *walk = (Walk *)self;
    Sizes *before;
    unsigned long least;
    if (!PyArg_ParseTuple(args, "O!k", &Sizes_type, &before, &least)) {
        return NULL;
    }
    PyObject *found = PyList_New(0);
    for (uint32_t k = 0; found != NULL && k < walk->count; k++) {
        const node *at = &walk->nodes[k];
        if (cannot_grow(at->object)) {
            continue;
        }
        entry *then = table_place(&before->containers, at->object);
        if (then->key == NULL || then->word >> SIZE_BITS != size_word(Py_TYPE(at->object), 0) >> SIZE_BITS) {
            continue;
        }
        uint64_t size = then->word & SIZE_MASK;
        if (at->size < size + least) {
            continue;
        }
        PyObject *one = Py_BuildValue("OKk", at->object, (unsigned long long)size, (unsigned long)at->size);
        if (one == NULL || PyList_Append(found, one) != 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(one);
    }
    return found;
}

static PyObject *
Walk_types(PyObject *self, PyObject *args)
{
    Walk *walk = (Walk *)self;
    PyObject *other = Py_None;
    unsigned long least = 1;
    if (!PyArg_ParseTuple(args, "|Ok", &other, &least)) {
        return NULL;
    }
    if (other != Py_None && Py_TYPE(other) != &Sizes_type) {
        PyErr_SetString(PyExc_TypeError, "types() is compared with Sizes");
        return NULL;
    }
    PyObject *found = PyList_New(0);
    const table *types = &walk->types;
    for (size_t k = 0; found != NULL && k < types->capacity; k++) {
        const entry *at = &types->entries[k];
        if (at->key == NULL) {
            continue;
        }
        uint64_t before = 0;
        if (other != Py_None) {
            entry *then = table_place(&((Sizes *)other)->types, at->key);
            before = then->key == NULL ? 0 : then->word;
        }
        if (at->word < before + least) {
            continue;
        }
        PyObject *one = Py_BuildValue("OKK", (PyObject *)at->key, (unsigned long long)before,
                                      (unsigned long long)at->word);
        if (one == NULL || PyList_Append(found, one) != 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(one);
    }
    return found;
}

static PyObject *
Walk_root_of(PyObject *self, PyObject *object)
{
    Walk *walk = (Walk *)self;
    entry *place = table_place(&walk->places, object);
    if (place->key == NULL || place->word == RESERVED || place->word == 0) {
        Py_RETURN_NONE;
    }
    int64_t at = (int64_t)place->word - 1;
    while (at >= 0) {
        at = walk->nodes[at].parent;
    }
    return PyLong_FromLongLong(-1 - at);
}

static Py_ssize_t
Walk_length(PyObject *self)
{
    return ((Walk *)self)->count;
}

static int
Walk_contains(PyObject *self, PyObject *object)
{
    entry *at = table_place(&((Walk *)self)->places, object);
    return at->key != NULL && at->word != RESERVED && at->word != 0;
}

static void
let_go(Walk *walk)
{
    node *nodes = walk->nodes;
    uint32_t count = walk->count;
    size_t room = walk->room;
    walk->nodes = NULL; /* first: what dies now may run code that asks this walk */
    walk->count = 0;
    walk->room = 0;
    if (walk->places.entries != NULL) {
        memset(walk->places.entries, 0, walk->places.capacity * sizeof(entry));
        walk->places.used = 0;
    }
    if (walk->types.entries != NULL) {
        memset(walk->types.entries, 0, walk->types.capacity * sizeof(entry));
        walk->types.used = 0;
    }
    for (uint32_t k = 0; walk->holds && k < count; k++) {
        Py_DECREF(nodes[k].object);
    }
    pages_give(nodes, room * sizeof(node));
}

/* A walk takes no part in collection, and a cell or a frame that it met may lead back to it. */
static PyObject *
Walk_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    let_go((Walk *)self);
    Py_RETURN_NONE;
}

static void
Walk_dealloc(PyObject *self)
{
    Walk *walk = (Walk *)self;
    let_go(walk);
    pages_give(walk->later, walk->later_room * sizeof(uint32_t));
    table_drop(&walk->places);
    table_drop(&walk->types);
    Py_TYPE(self)->tp_free(self);
}

static PyMethodDef Walk_methods[] = {
    {"instances", Walk_instances, METH_O, "The objects met that are of a type or of one below it."},
    {"path", Walk_path, METH_O, "(root, first objects, last objects, how many between), or None if it was not met."},
    {"root_of", Walk_root_of, METH_O, "The number of the root it was reached from, or None."},
    {"enter", Walk_enter, METH_VARARGS, "Go on from more roots, which are numbered from the second argument on."},
    {"close", Walk_close, METH_NOARGS, "Let go of everything that was met."},
    {"sizes", Walk_sizes, METH_NOARGS, "The sizes of all containers now."},
    {"grown", Walk_grown, METH_VARARGS, "(container, size then, size now) of those that grew by the least or more."},
    {"types", Walk_types, METH_VARARGS, "(type, how many then, how many now) of those that grew by the least."},
    {NULL, NULL, 0, NULL},
};

static PySequenceMethods Walk_sequence = {.sq_length = Walk_length, .sq_contains = Walk_contains};

static PyTypeObject Walk_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "harness.retainers._heapwalk.Walk",
    .tp_basicsize = sizeof(Walk),
    .tp_dealloc = Walk_dealloc,
    .tp_as_sequence = &Walk_sequence,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "What one walk met, with the way to each object. Holds a reference to everything in it.",
    .tp_methods = Walk_methods,
};

static Walk *
walk_new(int holds)
{
    Walk *walk = PyObject_New(Walk, &Walk_type);
    if (walk == NULL) {
        return NULL;
    }
    memset((char *)walk + sizeof(PyObject), 0, sizeof(Walk) - sizeof(PyObject));
    walk->holds = holds;
    if (table_make(&walk->places, expected) != 0 || table_make(&walk->types, 1 << 11) != 0) {
        Py_DECREF(walk);
        PyErr_NoMemory();
        return NULL;
    }
    return walk;
}

/* ---- the module's functions ---- */

static PyObject *
python_walk(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *phases, *skipped;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &phases, &PyList_Type, &skipped)) {
        return NULL;
    }
    return (PyObject *)walked(phases, skipped, 1);
}

static PyObject *
python_measure(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *phases, *skipped;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &phases, &PyList_Type, &skipped)) {
        return NULL;
    }
    Walk *walk = walked(phases, skipped, 0);
    if (walk == NULL) {
        return NULL;
    }
    PyObject *sizes = Walk_sizes((PyObject *)walk, NULL);
    Py_DECREF(walk);
    return sizes;
}

static PyObject *
python_key_of(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *dict, *value, *key, *item;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &dict, &value)) {
        return NULL;
    }
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &key, &item)) {
        if (item == value) {
            return Py_BuildValue("OO", key, Py_False);
        }
        if (key == value) {
            return Py_BuildValue("OO", key, Py_True);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *
python_size(PyObject *self, PyObject *object)
{
    (void)self;
    if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object) || PyAnySet_Check(object) ||
        PyByteArray_Check(object)) {
        return PyLong_FromUnsignedLong(size_of(object, 0));
    }
    Walk *walk = walk_new(0);
    if (walk == NULL) {
        return NULL;
    }
    uint32_t number = walk_enter(walk, object, -1);
    if (number != NO_NODE) {
        open_node(walk, number);
    }
    PyObject *size = PyLong_FromUnsignedLong(walk->met);
    Py_DECREF(walk);
    return size;
}

/* What each thread has of its own: the dictionary behind threading.local, and its context variables. */
static PyObject *
python_threads(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    PyObject *found = PyList_New(0);
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; found != NULL && thread != NULL; thread = PyThreadState_Next(thread)) {
        PyObject *dict = thread->dict != NULL ? thread->dict : Py_None;
        PyObject *context = thread->context != NULL ? thread->context : Py_None;
        PyObject *one = Py_BuildValue("kOO", thread->thread_id, dict, context);
        if (one == NULL || PyList_Append(found, one) != 0) {
            Py_CLEAR(found);
        }
        Py_XDECREF(one);
    }
    return found;
}

static PyMethodDef methods[] = {
    {"walk", python_walk, METH_VARARGS, "Walk from phases of roots, past what is skipped."},
    {"measure", python_measure, METH_VARARGS, "The sizes of all containers, without touching a reference count."},
    {"key_of", python_key_of, METH_VARARGS, "(key, whether the value is itself the key) under which a dict has it."},
    {"size", python_size, METH_O, "How many elements a container has, or objects another one leads to."},
    {"threads", python_threads, METH_NOARGS, "(identifier, dictionary, context) of each thread."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "harness.retainers._heapwalk", .m_size = -1, .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__heapwalk(void)
{
    if (PyType_Ready(&Sizes_type) != 0 || PyType_Ready(&Walk_type) != 0) {
        return NULL;
    }
    return PyModule_Create(&definition);
}
