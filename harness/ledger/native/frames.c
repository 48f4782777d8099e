/* This thread's own Python frames, read without the interpreter lock: the frames of a thread that is inside C do not
 * move. Nothing here may allocate, count a reference or call into the interpreter, beyond asking for the thread's
 * state. The layouts are those of CPython 3.11 and 3.12; for others the ledger stands down. */
#include "ledger.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000 && __has_include("internal/pycore_frame.h")
#define Py_BUILD_CORE 1
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE
#define FRAMES_ARE_KNOWN 1
#else
#define FRAMES_ARE_KNOWN 0
#endif

#include <string.h>

int frames_depth = 8;
const bool frames_are_known = FRAMES_ARE_KNOWN;

#if FRAMES_ARE_KNOWN

typedef _PyInterpreterFrame frame_type;

static inline bool
is_complete(const frame_type *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (frame->owner == FRAME_OWNED_BY_CSTACK) {
        return false;
    }
#endif
    return !_PyFrame_IsIncomplete((frame_type *)frame);
}

static inline frame_type *
skip_incomplete(frame_type *frame)
{
    while (frame != NULL && __builtin_expect(!is_complete(frame), 0)) {
        frame = frame->previous;
    }
    return frame;
}

static inline frame_type *
innermost(void)
{
    PyThreadState *state = PyGILState_GetThisThreadState();
    return state == NULL || state->cframe == NULL ? NULL : skip_incomplete(state->cframe->current_frame);
}

static inline int
offset_in(const frame_type *frame)
{
    return (int)(frame->prev_instr - (_Py_CODEUNIT *)frame->f_code->co_code_adaptive);
}

static inline int
read_varint(const uint8_t **at)
{
    unsigned value = **at & 63, shift = 0;
    while (*(*at)++ & 64) {
        shift += 6;
        value |= (unsigned)(**at & 63) << shift;
    }
    return (value & 1) ? -(int)(value >> 1) : (int)(value >> 1);
}

/* The line of an instruction, from the location table (Objects/locations.md in CPython's source). */
static int
line_of(PyCodeObject *code, int offset)
{
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
    const uint8_t *end = at + PyBytes_GET_SIZE(code->co_linetable);
    int line = code->co_firstlineno, reached = 0;
    if (offset < 0) {
        return line;
    }
    while (at < end) {
        int kind = *at >> 3 & 15, units = (*at & 7) + 1;
        at++;
        if (kind == 13 || kind == 14) {
            line += read_varint(&at);
        } else if (kind >= 10 && kind <= 12) {
            line += kind - 10;
        }
        reached += units;
        if (offset < reached) {
            return kind == 15 ? -1 : line;
        }
        while (at < end && !(*at & 128)) {
            at++;
        }
    }
    return -1;
}

static inline uint64_t
word_at(const char *data, size_t bytes)
{
    uint64_t whole = 0;
    uint32_t half = 0;
    if (bytes == 8) {
        memcpy(&whole, data, 8);
        return whole;
    }
    memcpy(&half, data, 4);
    return half;
}

/* A few words of a text, the last ones among them: names that follow one another differ there. In fixed sizes, which
 * are single loads: a memcpy of a size that only the text knows costs ten times as much. */
static inline uint64_t
sample(uint64_t hash, const char *data, size_t bytes)
{
    uint64_t first = 0, middle = 0, last = 0;
    if (bytes >= 8) {
        size_t at = bytes >= 16 ? bytes - 16 : 0;
        first = word_at(data + at, 8);
        middle = word_at(data + bytes / 2 - 4, 8);
        last = word_at(data + bytes - 8, 8);
    } else if (bytes >= 4) {
        first = word_at(data, 4);
        last = word_at(data + bytes - 4, 4);
    } else if (bytes > 0) {
        first = (unsigned char)data[0];
        last = (uint64_t)(unsigned char)data[bytes - 1] << 8 | (unsigned char)data[bytes / 2];
    }
    hash = (hash ^ first ^ bytes << 48) * UINT64_C(0xFF51AFD7ED558CCD);
    return (hash ^ hash >> 31 ^ last) * UINT64_C(0xC4CEB9FE1A85EC53) ^ middle;
}

/* Tells a code object from one that was later made at the same address, with its texts at the same addresses too. */
static inline uint64_t
sample_of(const PyCodeObject *code)
{
    size_t path_bytes, function_bytes;
    const void *path = text_data(code->co_filename, &path_bytes);
    const void *function = text_data(code->co_qualname, &function_bytes);
    uint64_t hash = sample(1, PyBytes_AS_STRING(code->co_linetable), (size_t)PyBytes_GET_SIZE(code->co_linetable));
    return sample(sample(hash, path, path_bytes), function, function_bytes);
}

__attribute__((noinline, cold)) static void
get_to_know(PyCodeObject *code, code_seen *seen)
{
    size_t path_bytes, function_bytes;
    const void *path = text_data(code->co_filename, &path_bytes);
    const void *function = text_data(code->co_qualname, &function_bytes);
    uint64_t key = text_hash((uint64_t)code->co_firstlineno, path, path_bytes);
    key = text_hash(key, function, function_bytes);
    key = text_hash(key, PyBytes_AS_STRING(code->co_linetable), (size_t)PyBytes_GET_SIZE(code->co_linetable));
    *seen = (code_seen){
        .code = code,
        .lines = code->co_linetable,
        .first_line = code->co_firstlineno,
        .sample = sample_of(code),
        .key = key,
    };
    seen->name = name_number(code, &seen->is_user);
}

/* A library's code is judged by two addresses, its own and its line table's: it lives as long as its module. The
 * user's is looked into, since programs make functions and drop them, and memory is given out again at once. */
static inline const code_seen *
look_up(thread_caches *caches, PyCodeObject *code)
{
    uint32_t home = (uint32_t)((uintptr_t)code >> 5 ^ (uintptr_t)code >> 14) % CODE_CACHE;
    code_seen *seen = &caches->codes[home];
    for (uint32_t way = 1; seen->code != code && seen->code != NULL; way++) {
        if (way == CACHE_WAYS) {
            seen = &caches->codes[(home + caches->evicted++ % CACHE_WAYS) % CODE_CACHE];
            break;
        }
        seen = &caches->codes[(home + way) % CODE_CACHE];
    }
    if (seen->code != code || seen->lines != code->co_linetable ||
        (seen->is_user && (seen->first_line != code->co_firstlineno || seen->sample != sample_of(code)))) {
        get_to_know(code, seen);
    }
    return seen;
}

typedef struct {
    frame_type *frames[MOST_FRAMES_WALKED];
    uint32_t names[MOST_FRAMES_WALKED];
    int count;
    uint32_t label; /* the innermost frame's name where that is not the user's: torch's own function */
    uint64_t key;
} users_stack;

static inline void
walk(thread_caches *caches, frame_type *frame, users_stack *stack)
{
    for (int walked = 0; frame != NULL && walked < MOST_FRAMES_WALKED && stack->count < frames_depth; walked++) {
        const code_seen *seen = look_up(caches, frame->f_code);
        if (seen->is_user) {
            uint64_t mixed = stack->key ^ (seen->key + (uint64_t)offset_in(frame) * UINT64_C(0x9E3779B97F4A7C15));
            stack->key = (mixed ^ mixed >> 32) * UINT64_C(0xFF51AFD7ED558CCD);
            stack->names[stack->count] = seen->name;
            stack->frames[stack->count++] = frame;
        } else if (walked == 0) {
            stack->label = seen->name;
            stack->key = seen->name * UINT64_C(0xC4CEB9FE1A85EC53);
        }
        frame = skip_incomplete(frame->previous);
    }
}

__attribute__((noinline, cold)) static uint32_t
first_sight(const users_stack *stack, uint64_t session)
{
    site_frame frames[MOST_FRAMES_WALKED];
    for (int i = 0; i < stack->count; i++) {
        if (stack->names[i] == NAME_TOO_MANY) {
            return SITE_TOO_MANY;
        }
        PyCodeObject *code = stack->frames[i]->f_code;
        frames[i] = (site_frame){stack->names[i], line_of(code, offset_in(stack->frames[i]))};
    }
    return site_number(session, stack->label, frames, stack->count);
}

uint32_t
site_here(thread_slot *thread, uint64_t session)
{
    thread_caches *caches = thread_caches_for(thread, session);
    if (frames_depth == 0) {
        return SITE_COUNTS_ONLY;
    }
    frame_type *frame = innermost();
    if (frame == NULL || caches == NULL) {
        return SITE_NATIVE_THREAD;
    }
    users_stack stack;
    stack.count = 0, stack.label = NAME_TOO_MANY, stack.key = 0;
    walk(caches, frame, &stack);
    uint64_t key = stack.key | 1; /* 0 is an empty place */
    uint32_t home = (uint32_t)(key >> 40) % STACK_CACHE;
    stack_seen *seen = &caches->stacks[home];
    for (uint32_t way = 1; seen->key != key && seen->key != 0; way++) {
        if (way == CACHE_WAYS) {
            seen = &caches->stacks[(home + caches->evicted++ % CACHE_WAYS) % STACK_CACHE];
            break;
        }
        seen = &caches->stacks[(home + way) % STACK_CACHE];
    }
    if (seen->key != key) {
        seen->site = first_sight(&stack, session);
        seen->key = key;
    }
    return seen->site;
}

PyObject *
frames_as_python(void)
{
    PyObject *list = PyList_New(0);
    frame_type *frame = innermost();
    for (int walked = 0; list != NULL && frame != NULL && walked < MOST_FRAMES_WALKED; walked++) {
        PyCodeObject *code = frame->f_code;
        PyObject *item = Py_BuildValue("(OiO)", code->co_filename, line_of(code, offset_in(frame)), code->co_qualname);
        if (item == NULL || PyList_Append(list, item) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
        frame = skip_incomplete(frame->previous);
    }
    return list;
}

#else

uint32_t
site_here(thread_slot *thread, uint64_t session)
{
    thread_caches_for(thread, session);
    return SITE_COUNTS_ONLY;
}

PyObject *
frames_as_python(void)
{
    return PyList_New(0);
}

#endif
