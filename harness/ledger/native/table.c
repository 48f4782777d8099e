/* Every live storage by its address, in shards with a lock each: open addressing, grown by doubling, bounded.
 * A record is 48 bytes and a shard is between 3/8 and 3/4 full once it has grown: 64 to 128 bytes a live storage. */
#include "ledger.h"
#include "pages.h"

#include <string.h>

#define SHARD_BITS 6
#define SHARDS (1u << SHARD_BITS)
#define FIRST_ROOM 64

typedef struct {
    small_lock lock;
    uint32_t used;
    uint32_t room; /* a power of two, or 0 */
    uint32_t most; /* records that it takes before it must grow */
    record *records;
    char apart[40]; /* shards' locks are in different cache lines */
} shard;

ledger_counters counters;

static shard shards[SHARDS];
static uint64_t most_in_shard;

static inline uint64_t
hash_of(uintptr_t address)
{
    return (address >> 4) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline shard *
shard_of(uintptr_t address)
{
    return &shards[hash_of(address) >> (64 - SHARD_BITS)];
}

static inline uint32_t
home_of(const shard *in, uintptr_t address)
{
    return (uint32_t)(hash_of(address) >> 24) & (in->room - 1);
}

/* Where the address is, or the empty place where it would go. */
static inline uint32_t
place_of(const shard *in, uintptr_t address)
{
    uint32_t mask = in->room - 1;
    uint32_t at = home_of(in, address);
    while (in->records[at].address != 0 && in->records[at].address != address) {
        at = (at + 1) & mask;
    }
    return at;
}

/* Twice the places, or a few more records in those that there are; false when it is full. */
static bool
make_room(shard *in)
{
    if (in->used >= most_in_shard) {
        return false;
    }
    shard larger = {.room = in->room ? in->room * 2 : FIRST_ROOM};
    larger.records = pages_take(larger.room * sizeof(record));
    if (larger.records == NULL) {
        in->most = in->room ? in->room - 1 : 0; /* slower, but there is room: one place must stay empty */
        return in->used < in->most;
    }
    for (uint32_t i = 0; i < in->room; i++) {
        if (in->records[i].address != 0) {
            larger.records[place_of(&larger, in->records[i].address)] = in->records[i];
        }
    }
    pages_give(in->records, in->room * sizeof(record));
    in->records = larger.records;
    in->room = larger.room;
    in->most = larger.room / 4 * 3;
    if (in->most > most_in_shard) {
        in->most = (uint32_t)most_in_shard;
    }
    return true;
}

/* Closes the gap by moving back what had been pushed past it: no tombstones, so the table never wears out. */
static void
remove_at(shard *in, uint32_t gap)
{
    uint32_t mask = in->room - 1;
    for (uint32_t at = (gap + 1) & mask; in->records[at].address != 0; at = (at + 1) & mask) {
        uint32_t home = home_of(in, in->records[at].address);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            in->records[gap] = in->records[at];
            gap = at;
        }
    }
    in->records[gap].address = 0;
    in->used--;
}

static void
raise_peak(int64_t bytes)
{
    int64_t peak = atomic_load_explicit(&counters.peak_bytes, memory_order_relaxed);
    while (bytes > peak && !atomic_compare_exchange_weak(&counters.peak_bytes, &peak, bytes)) {
    }
}

static void
book_birth(const record *entry)
{
    site_born(entry->site, entry->bytes, entry->birth);
    raise_peak(atomic_fetch_add(&counters.bytes, (int64_t)entry->bytes) + (int64_t)entry->bytes);
    if (events_are_kept) {
        event_note(entry, 1);
    }
}

static void
book_death(const record *entry)
{
    site_died(entry->site, entry->bytes, entry->birth);
    if (entry->scope != SCOPE_ROOT) {
        scope_credit(entry->scope, entry->bytes);
    }
    atomic_fetch_sub(&counters.bytes, (int64_t)entry->bytes);
    if (events_are_kept) {
        event_note(entry, -1);
    }
}

static booking
enter_locked(shard *in, record *entry, uint64_t scope_number, char *sentence)
{
    if (in->used >= in->most && !make_room(in)) {
        atomic_fetch_add(&counters.dropped, 1);
        return NOT_BOOKED;
    }
    if (entry->scope != SCOPE_ROOT && !scope_charge(&entry->scope, scope_number, entry->bytes, sentence)) {
        return REFUSED;
    }
    entry->serial = atomic_fetch_add(&counters.allocations, 1);
    entry->birth = atomic_load_explicit(&counters.interval, memory_order_relaxed);
    uint32_t at = place_of(in, entry->address);
    if (in->records[at].address != 0) {
        book_death(&in->records[at]); /* somebody freed it on a way that we do not see */
        in->used--;
    }
    in->records[at] = *entry;
    in->used++;
    book_birth(entry);
    return BOOKED;
}

booking
table_enter(uint64_t session, record *entry, uint64_t scope_number, char *sentence)
{
    shard *in = shard_of(entry->address);
    booking result = NOT_BOOKED;
    lock_take(&in->lock);
    if (atomic_load_explicit(&session_running, memory_order_relaxed) == session) {
        result = enter_locked(in, entry, scope_number, sentence);
    }
    lock_drop(&in->lock);
    return result;
}

void
table_leave(uint64_t session, void *pointer)
{
    uintptr_t address = (uintptr_t)pointer;
    shard *in = shard_of(address);
    lock_take(&in->lock);
    if (in->used > 0 && atomic_load_explicit(&session_running, memory_order_relaxed) == session) {
        uint32_t at = place_of(in, address);
        if (in->records[at].address != 0) {
            book_death(&in->records[at]);
            remove_at(in, at);
        }
    }
    lock_drop(&in->lock);
}

bool
table_find(uintptr_t address, record *found)
{
    shard *in = shard_of(address);
    lock_take(&in->lock);
    bool is_there = in->used > 0 && in->records[place_of(in, address)].address != 0;
    if (is_there) {
        *found = in->records[place_of(in, address)];
    }
    lock_drop(&in->lock);
    return is_there;
}

bool
table_move(uintptr_t address, uint32_t slot, uint64_t number)
{
    shard *in = shard_of(address);
    lock_take(&in->lock);
    bool is_there = in->used > 0 && in->records[place_of(in, address)].address != 0;
    if (is_there) {
        record *entry = &in->records[place_of(in, address)];
        scope_charge(&slot, number, entry->bytes, NULL);
        scope_credit(entry->scope, entry->bytes);
        entry->scope = slot;
    }
    lock_drop(&in->lock);
    return is_there;
}

void
table_reset(uint64_t most_storages)
{
    most_in_shard = most_storages / SHARDS + 1;
    for (uint32_t i = 0; i < SHARDS; i++) {
        lock_take(&shards[i].lock);
        pages_give(shards[i].records, shards[i].room * sizeof(record));
        shards[i].records = NULL;
        shards[i].used = shards[i].room = shards[i].most = 0;
        lock_drop(&shards[i].lock);
    }
    memset(&counters, 0, sizeof(counters));
    atomic_store(&counters.interval, -1);
}

void
table_lock(bool take)
{
    for (uint32_t i = 0; i < SHARDS; i++) {
        take ? lock_take(&shards[i].lock) : lock_drop(&shards[i].lock);
    }
}

int64_t
table_storages(void)
{
    int64_t storages = 0;
    for (uint32_t i = 0; i < SHARDS; i++) { /* cheaper here than one more atomic operation in each hook */
        lock_take(&shards[i].lock);
        storages += shards[i].used;
        lock_drop(&shards[i].lock);
    }
    return storages;
}

size_t
table_memory(void)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < SHARDS; i++) {
        lock_take(&shards[i].lock);
        bytes += shards[i].room * sizeof(record);
        lock_drop(&shards[i].lock);
    }
    return bytes;
}

static bool
is_wanted(const record *entry, const record_filter *wanted)
{
    return entry->address != 0 && entry->birth >= wanted->birth_from && entry->birth < wanted->birth_below &&
           (wanted->scope == NO_SLOT || entry->scope == wanted->scope);
}

bool
table_copy(record_filter wanted, record_list *list)
{
    table_lock(true); /* all at once: a storage that moves between shards meanwhile would be seen twice, or never */
    size_t most = 1;
    for (uint32_t i = 0; i < SHARDS; i++) {
        most += shards[i].used;
    }
    *list = (record_list){.items = pages_take(most * sizeof(record)), .pages_bytes = most * sizeof(record)};
    for (uint32_t i = 0; list->items != NULL && i < SHARDS; i++) {
        for (uint32_t k = 0; k < shards[i].room; k++) {
            if (is_wanted(&shards[i].records[k], &wanted)) {
                list->items[list->count++] = shards[i].records[k];
            }
        }
    }
    table_lock(false);
    return list->items != NULL;
}

void
record_list_free(record_list *list)
{
    pages_give(list->items, list->pages_bytes);
}
