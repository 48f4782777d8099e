/* What the parts of the native ledger know of one another. One idea a file:
 *
 *   interpose.c  finds torch's relocation slots, puts ours in, puts theirs back
 *   hooks.c      what happens at an allocation and at a free
 *   frames.c     this thread's Python frames, without the interpreter lock
 *   names.c      file and function names, each kept once
 *   sites.c      stacks of user frames, each kept once, and what each keeps alive
 *   table.c      every live storage by its address
 *   scopes.c     who owns it, and how much it may be
 *   events.c     a bounded ring of what happened, for the composition of a peak
 *   threads.c    what belongs to one thread
 *   module.c     Python's view of it
 *
 * A session is the time from start to stop. The shard locks guard it: whatever a hook books, it books while it holds
 * the lock of the storage's shard and has seen there that its session still runs. */
#ifndef HARNESS_LEDGER_H
#define HARNESS_LEDGER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"

#define MOST_FRAMES_WALKED 64
#define MOST_SITES 4096
#define SITE_TOO_MANY 0      /* more sites than are kept */
#define SITE_NATIVE_THREAD 1 /* a thread that Python does not know */
#define SITE_COUNTS_ONLY 2   /* depth 0: nobody asked where */
#define FIRST_SITE 3
#define NAME_TOO_MANY 0
#define SCOPE_ROOT 0
#define NO_SLOT UINT32_MAX
#define SENTENCE_BYTES 512

/* The session that records, or 0. */
extern _Atomic uint64_t session_running;

/* -- one live storage ------------------------------------------------------------------------------------------- */

typedef struct {
    uintptr_t address;
    uint64_t bytes;
    uint64_t serial;
    int32_t birth;
    uint32_t site;
    uint32_t scope; /* a slot */
    uint32_t thread;
} record;

/* -- threads.c -------------------------------------------------------------------------------------------------- */

#define CODE_CACHE 512
#define STACK_CACHE 1024
#define CACHE_WAYS 4 /* places that one entry may have: two that share a place would push each other out for ever */

typedef struct {
    const void *code; /* a code object's address, and what tells it from a later one there */
    const void *lines;
    uint64_t sample;
    int32_t first_line;
    uint64_t key; /* hash of file, function and line table: which code this is */
    uint32_t name;
    bool is_user;
} code_seen;

typedef struct {
    uint64_t key; /* hash of the whole stack; 64 bits, so two stacks share one about never */
    uint32_t site;
} stack_seen;

typedef struct {
    uint64_t session; /* what the caches below were filled in */
    uint32_t evicted;
    _Alignas(64) code_seen codes[CODE_CACHE];
    stack_seen stacks[STACK_CACHE];
} thread_caches;

typedef struct {
    thread_caches *caches;
    uint64_t scope_session;
    uint64_t scope_number;
    uint32_t scope_slot;
    uint32_t tid;
    bool is_dying; /* its caches are gone and must not come back */
} thread_slot;

int threads_set_up(void);
thread_slot *thread_here(void);
/* This thread's caches, emptied for *session* if they are another's; NULL where there are none to be had. */
thread_caches *thread_caches_for(thread_slot *thread, uint64_t session);
void thread_after_fork(void);

/* -- interpose.c ------------------------------------------------------------------------------------------------ */

typedef void *(*alloc_function)(size_t);
typedef void (*free_function)(void *);
typedef void (*fail_function)(const char *, const char *, uint32_t, const char *);

typedef struct {
    alloc_function alloc;
    free_function free;
    fail_function fail; /* c10's own thrower, or NULL */
} torch_functions;

extern torch_functions original;

/* NULL when every slot is ours, else a sentence that says why not. */
const char *slots_take(void);
/* How many slots somebody else has meanwhile: those are left alone. */
int slots_give_back(void);
int slots_lost(void);
int slots_count(void);
PyObject *slots_as_python(void);

/* -- hooks.c ---------------------------------------------------------------------------------------------------- */

void *hook_alloc(size_t bytes);
void hook_free(void *address);

/* -- names.c ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *path; /* UTF-8 */
    const char *function;
    bool is_user;
} name_entry;

const char *names_set_up(PyObject *prefixes); /* ((prefix, is_user), ...), the first that fits decides */
void names_reset(void);
uint32_t name_number(PyCodeObject *code, bool *is_user);
name_entry name_of(uint32_t number);
uint64_t text_hash(uint64_t seed, const void *text, size_t bytes);

/* The characters as they lie in memory. No call into Python, which might make and cache a UTF-8 copy. */
static inline const void *
text_data(PyObject *text, size_t *bytes)
{
    *bytes = (size_t)PyUnicode_GET_LENGTH(text) * (size_t)PyUnicode_KIND(text);
    return PyUnicode_DATA(text);
}

void names_lock(bool take);

/* -- frames.c --------------------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t name;
    int32_t line;
} site_frame;

extern int frames_depth;
extern const bool frames_are_known;

/* The site of the frame chain of this thread. */
uint32_t site_here(thread_slot *thread, uint64_t session);
/* The chain as (path, line, function) tuples, for the self-test. Takes the interpreter lock for granted. */
PyObject *frames_as_python(void);

/* -- sites.c ---------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t storages;
    int64_t bytes;
    int32_t oldest_birth; /* of a live one; INT32_MIN when there is none */
} site_state;

int sites_set_up(void);
void sites_reset(void);
uint32_t site_number(uint64_t session, uint32_t label, const site_frame *frames, int count);
void site_born(uint32_t site, uint64_t bytes, int32_t birth);
void site_died(uint32_t site, uint64_t bytes, int32_t birth);
PyObject *sites_changed(void);
PyObject *site_as_python(uint32_t site);
PyObject *site_state_as_python(uint32_t site);
uint32_t sites_count(void);
void sites_lock(bool take);

/* -- scopes.c --------------------------------------------------------------------------------------------------- */

int scopes_set_up(void);
void scopes_reset(void);
/* The slot of the scope that this thread is in; *number* tells it from a later one in the same slot. */
uint32_t scope_here(const thread_slot *thread, uint64_t session, uint64_t *number);
/* Room in every budget that *slot* counts against? Books nothing; writes the sentence if not. */
bool scope_has_room(uint32_t slot, uint64_t bytes, char *sentence);
/* Books *bytes* to the scope, or to the root if it is closed by now (*slot* says which); false, with the sentence and
 * nothing booked, if a budget would be exceeded. Without a sentence nothing is refused. */
bool scope_charge(uint32_t *slot, uint64_t number, uint64_t bytes, char *sentence);
void scope_credit(uint32_t slot, uint64_t bytes);
uint64_t scope_number_of(uint32_t slot);
void scopes_lock(bool take);

extern PyMethodDef scope_methods[];

/* -- table.c ---------------------------------------------------------------------------------------------------- */

typedef struct {
    _Atomic int64_t bytes;
    _Atomic int64_t peak_bytes;
    _Atomic uint64_t allocations;
    _Atomic uint64_t dropped;
    _Atomic int32_t interval; /* the number of the last mark; -1 before the first */
} ledger_counters;

extern ledger_counters counters;

typedef enum { BOOKED, REFUSED, NOT_BOOKED } booking;

booking table_enter(uint64_t session, record *entry, uint64_t scope_number, char *sentence);
void table_leave(uint64_t session, void *address);
bool table_find(uintptr_t address, record *found);
/* Moves a record to another scope; false when nothing lives at the address. Budgets are counted, and refuse nothing. */
bool table_move(uintptr_t address, uint32_t slot, uint64_t number);
void table_reset(uint64_t most_storages);
void table_lock(bool take); /* every shard: nothing is booked meanwhile */
int64_t table_storages(void);
size_t table_memory(void);

/* A copy of the records that *wanted* says yes to, in an array of pages_take(); the caller gives it back. Copied
 * first, looked at later: making a Python object under a shard's lock could run a destructor that needs that lock. */
typedef struct {
    record *items;
    size_t count;
    size_t pages_bytes;
} record_list;

typedef struct {
    int32_t birth_from, birth_below;
    uint32_t scope; /* a slot, or NO_SLOT for all */
} record_filter;

bool table_copy(record_filter wanted, record_list *list);
void record_list_free(record_list *list);

/* -- events.c --------------------------------------------------------------------------------------------------- */

extern bool events_are_kept;

int events_reset(bool wanted);
void event_note(const record *entry, int sign);
/* Number of the next event. */
uint64_t events_now(void);
PyObject *events_as_python(uint64_t since);

#endif
