/* Stacks of user frames, each kept once under a number, and what each keeps alive: how much, and since when. */
#include "ledger.h"
#include "pages.h"

#include <string.h>

#define SITE_SLOTS 16384
#define RUNS_INSIDE 4
#define NOT_LISTED UINT32_MAX

/* How many live storages were born in one interval. Runs are in order of birth; empty ones are squeezed out when
 * there is no more room, and at the ends at once, so that the first is the oldest. */
typedef struct {
    int32_t birth;
    uint32_t storages;
} run;

typedef struct {
    small_lock lock;
    int64_t storages;
    int64_t bytes;
    run *runs;
    uint32_t first, end, room;
    run inside[RUNS_INSIDE];
    uint64_t hash;
    const site_frame *frames;
    uint32_t label;
    int frame_count;
    _Atomic bool is_listed;
    uint32_t next_listed;
    bool was_told;
    site_state told;
} site;

static small_lock lock; /* of the numbers; each site's figures have its own */
static arena stacks;
static site *sites;
static uint32_t *slots;
static _Atomic uint32_t count;
static _Atomic uint32_t listed = NOT_LISTED;

int
sites_set_up(void)
{
    sites = pages_take((MOST_SITES + FIRST_SITE) * sizeof(site));
    slots = pages_take(SITE_SLOTS * sizeof(*slots));
    return sites == NULL || slots == NULL ? -1 : 0;
}

void
sites_reset(void)
{
    lock_take(&lock);
    uint32_t used = atomic_load(&count) > FIRST_SITE ? atomic_load(&count) : FIRST_SITE;
    for (uint32_t i = 0; i < used; i++) {
        if (sites[i].runs != NULL && sites[i].runs != sites[i].inside) {
            pages_give(sites[i].runs, sites[i].room * sizeof(run));
        }
        memset(&sites[i], 0, sizeof(site));
    }
    memset(slots, 0, SITE_SLOTS * sizeof(*slots));
    arena_empty(&stacks);
    atomic_store(&count, FIRST_SITE);
    atomic_store(&listed, NOT_LISTED);
    lock_drop(&lock);
}

static uint32_t
add(uint64_t hash, uint32_t label, const site_frame *frames, int frame_count)
{
    uint32_t number = atomic_load_explicit(&count, memory_order_relaxed);
    site_frame *kept = arena_take(&stacks, (size_t)frame_count * sizeof(*frames) + 1);
    if (number == MOST_SITES + FIRST_SITE || kept == NULL) {
        return SITE_TOO_MANY;
    }
    memcpy(kept, frames, (size_t)frame_count * sizeof(*frames));
    site *fresh = &sites[number];
    fresh->hash = hash;
    fresh->label = label;
    fresh->frames = kept;
    fresh->frame_count = frame_count;
    atomic_store_explicit(&count, number + 1, memory_order_release);
    return number;
}

uint32_t
site_number(uint64_t session, uint32_t label, const site_frame *frames, int frame_count)
{
    uint64_t hash = text_hash(label, frames, (size_t)frame_count * sizeof(*frames));
    uint32_t number = SITE_TOO_MANY, at = (uint32_t)(hash % SITE_SLOTS);
    lock_take(&lock);
    if (atomic_load(&session_running) == session) {
        for (; slots[at] != 0; at = (at + 1) % SITE_SLOTS) {
            const site *seen = &sites[slots[at]];
            if (seen->hash == hash && seen->label == label && seen->frame_count == frame_count &&
                memcmp(seen->frames, frames, (size_t)frame_count * sizeof(*frames)) == 0) {
                break;
            }
        }
        number = slots[at] != 0 ? slots[at] : add(hash, label, frames, frame_count);
        if (number != SITE_TOO_MANY) {
            slots[at] = number;
        }
    }
    lock_drop(&lock);
    return number;
}

static void
put_on_list(site *changed, uint32_t number)
{
    if (atomic_load_explicit(&changed->is_listed, memory_order_relaxed) ||
        atomic_exchange(&changed->is_listed, true)) {
        return;
    }
    uint32_t head = atomic_load(&listed);
    do {
        changed->next_listed = head;
    } while (!atomic_compare_exchange_weak(&listed, &head, number));
}

static bool
make_room(site *of)
{
    uint32_t kept = 0;
    for (uint32_t i = of->first; i < of->end; i++) {
        if (of->runs[i].storages > 0) {
            of->runs[kept++] = of->runs[i];
        }
    }
    of->first = 0;
    of->end = kept;
    if (kept * 2 <= of->room) {
        return true;
    }
    uint32_t room = of->room == RUNS_INSIDE ? 512 : of->room * 2;
    run *larger = pages_take(room * sizeof(run));
    if (larger == NULL) {
        return kept < of->room;
    }
    memcpy(larger, of->runs, kept * sizeof(run));
    if (of->runs != of->inside) {
        pages_give(of->runs, of->room * sizeof(run));
    }
    of->runs = larger;
    of->room = room;
    return true;
}

/* Where the run of *birth* is, or where it would have to stand. */
static uint32_t
place_of(const site *of, int32_t birth)
{
    uint32_t low = of->first, high = of->end;
    if (high > low && of->runs[high - 1].birth < birth) {
        return high; /* nearly always: births rise */
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (of->runs[middle].birth < birth) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void
count_birth(site *of, int32_t birth)
{
    if (of->end > of->first && of->runs[of->end - 1].birth == birth) {
        of->runs[of->end - 1].storages++; /* nearly always */
        return;
    }
    if (of->runs == NULL) {
        of->runs = of->inside;
        of->room = RUNS_INSIDE;
    }
    uint32_t at = place_of(of, birth);
    if (at < of->end && of->runs[at].birth == birth) {
        of->runs[at].storages++;
        return;
    }
    if (of->end == of->room) {
        if (!make_room(of)) {
            return; /* no memory for it: the oldest birth may then be told too young */
        }
        at = place_of(of, birth);
    }
    memmove(&of->runs[at + 1], &of->runs[at], (of->end - at) * sizeof(run));
    of->runs[at] = (run){birth, 1};
    of->end++;
}

static void
count_death(site *of, int32_t birth)
{
    if (of->end > of->first && of->runs[of->end - 1].birth == birth && of->runs[of->end - 1].storages > 1) {
        of->runs[of->end - 1].storages--;
        return;
    }
    uint32_t at = place_of(of, birth);
    if (at < of->end && of->runs[at].birth == birth && of->runs[at].storages > 0) {
        of->runs[at].storages--;
    }
    while (of->first < of->end && of->runs[of->first].storages == 0) {
        of->first++;
    }
    while (of->end > of->first && of->runs[of->end - 1].storages == 0) {
        of->end--;
    }
    if (of->first == of->end) {
        of->first = of->end = 0;
    }
}

void
site_born(uint32_t number, uint64_t bytes, int32_t birth)
{
    site *of = &sites[number];
    lock_take(&of->lock);
    of->storages++;
    of->bytes += (int64_t)bytes;
    count_birth(of, birth);
    lock_drop(&of->lock);
    put_on_list(of, number);
}

void
site_died(uint32_t number, uint64_t bytes, int32_t birth)
{
    site *of = &sites[number];
    lock_take(&of->lock);
    of->storages--;
    of->bytes -= (int64_t)bytes;
    count_death(of, birth);
    lock_drop(&of->lock);
    put_on_list(of, number);
}

static site_state
state_of(site *of)
{
    lock_take(&of->lock);
    site_state state = {of->storages, of->bytes, of->first < of->end ? of->runs[of->first].birth : INT32_MIN};
    lock_drop(&of->lock);
    return state;
}

static PyObject *
state_as_python(uint32_t number, site_state state)
{
    if (state.oldest_birth == INT32_MIN) {
        return Py_BuildValue("(ILLO)", number, (long long)state.storages, (long long)state.bytes, Py_None);
    }
    return Py_BuildValue("(ILLi)", number, (long long)state.storages, (long long)state.bytes, state.oldest_birth);
}

static bool
is_same(const site_state *one, const site_state *other)
{
    return one->storages == other->storages && one->bytes == other->bytes && one->oldest_birth == other->oldest_birth;
}

/* Under the interpreter lock, like all that makes Python objects: that is also what guards was_told and told. */
PyObject *
sites_changed(void)
{
    PyObject *list = PyList_New(0);
    uint32_t next = list == NULL ? NOT_LISTED : atomic_exchange(&listed, NOT_LISTED);
    while (next != NOT_LISTED) {
        uint32_t number = next;
        site *of = &sites[number];
        next = of->next_listed;
        atomic_store(&of->is_listed, false); /* before it is read: what changes from here on is listed again */
        site_state state = state_of(of);
        bool is_news = of->was_told ? !is_same(&state, &of->told) : state.storages != 0;
        if (!is_news) {
            continue;
        }
        of->was_told = true;
        of->told = state;
        PyObject *item = list == NULL ? NULL : state_as_python(number, state);
        if (item == NULL || PyList_Append(list, item) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(item);
    }
    if (list != NULL && PyList_Sort(list) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

PyObject *
site_state_as_python(uint32_t number)
{
    return state_as_python(number, state_of(&sites[number]));
}

static PyObject *
text_as_python(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogatepass");
}

static PyObject *
name_as_python(uint32_t name)
{
    name_entry entry = name_of(name);
    return Py_BuildValue("(NN)", text_as_python(entry.path), text_as_python(entry.function));
}

PyObject *
site_as_python(uint32_t number)
{
    const site *of = &sites[number];
    PyObject *frames = PyTuple_New(of->frame_count);
    for (int i = 0; frames != NULL && i < of->frame_count; i++) {
        name_entry entry = name_of(of->frames[i].name);
        PyObject *frame = Py_BuildValue("(NiN)", text_as_python(entry.path), of->frames[i].line,
                                        text_as_python(entry.function));
        if (frame == NULL) {
            Py_CLEAR(frames);
            break;
        }
        PyTuple_SET_ITEM(frames, i, frame);
    }
    return frames == NULL ? NULL : Py_BuildValue("(NN)", name_as_python(of->label), frames);
}

uint32_t
sites_count(void)
{
    return atomic_load(&count);
}

void
sites_lock(bool take)
{
    take ? lock_take(&lock) : lock_drop(&lock);
}
