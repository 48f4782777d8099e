/* A lock of one word. The hooks may run under any lock of anybody's, so ours are leaves: nothing that could take
 * another lock is called while one is held, except our own in the order shard, scope or site.
 *
 * Taking it is the one atomic operation and dropping it a plain store, which halves what a hook costs: what is done
 * under a lock is a few dozen instructions. Whoever waits longer lets others run, and then sleeps a little. In the
 * child of a fork locks are simply dropped, which a pthread_mutex_t does not promise. */
#ifndef HARNESS_LOCK_H
#define HARNESS_LOCK_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

typedef struct {
    atomic_bool is_held;
} small_lock;

#define SPINS_BEFORE_YIELD 64
#define YIELDS_BEFORE_SLEEP 64

static inline void
lock_wait(small_lock *lock)
{
    for (int tried = 0; atomic_load_explicit(&lock->is_held, memory_order_relaxed); tried++) {
        if (tried >= SPINS_BEFORE_YIELD + YIELDS_BEFORE_SLEEP) {
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL); /* its holder may have a lower priority */
        } else if (tried >= SPINS_BEFORE_YIELD) {
            sched_yield();
        }
    }
}

static inline void
lock_take(small_lock *lock)
{
    while (atomic_exchange_explicit(&lock->is_held, true, memory_order_acquire)) {
        lock_wait(lock);
    }
}

static inline void
lock_drop(small_lock *lock)
{
    atomic_store_explicit(&lock->is_held, false, memory_order_release);
}

#endif
