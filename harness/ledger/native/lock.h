/* A lock of one word. The hooks may run under any lock of anybody's, so ours are leaves: nothing that could take
 * another lock is called while one is held, except our own in the order shard, site. In the child of a fork they are
 * simply set free, which a pthread_mutex_t does not promise. */
#ifndef HARNESS_LOCK_H
#define HARNESS_LOCK_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
    _Atomic uint32_t word; /* 0 free, 1 held, 2 held and somebody waits */
} small_lock;

#define SPINS_BEFORE_SLEEP 100

static inline void
lock_slowly(small_lock *lock)
{
    for (int i = 0; i < SPINS_BEFORE_SLEEP; i++) {
        uint32_t is_free = 0;
        if (atomic_compare_exchange_weak_explicit(&lock->word, &is_free, 1, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return;
        }
    }
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0) {
        syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
    }
}

static inline void
lock_take(small_lock *lock)
{
    uint32_t is_free = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->word, &is_free, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        lock_slowly(lock);
    }
}

static inline void
lock_drop(small_lock *lock)
{
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2) {
        syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

#endif
