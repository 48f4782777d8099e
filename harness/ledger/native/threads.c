/* What belongs to one thread: caches that need no lock, and the scope that it is in. */
#include "ledger.h"
#include "pages.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread thread_slot here;
static pthread_key_t at_exit;

static void
thread_ends(void *caches)
{
    pages_give(caches, sizeof(thread_caches));
    here.caches = NULL;
    here.is_dying = true; /* other destructors may still allocate in this thread */
}

int
threads_set_up(void)
{
    return pthread_key_create(&at_exit, thread_ends);
}

thread_slot *
thread_here(void)
{
    return &here;
}

static bool
make_caches(thread_slot *thread)
{
    if (thread->is_dying) {
        return false;
    }
    thread_caches *caches = pages_take(sizeof(thread_caches));
    if (caches == NULL) {
        return false;
    }
    if (pthread_setspecific(at_exit, caches) != 0) {
        pages_give(caches, sizeof(thread_caches));
        return false;
    }
    thread->caches = caches;
    thread->tid = (uint32_t)syscall(SYS_gettid);
    return true;
}

thread_caches *
thread_caches_for(thread_slot *thread, uint64_t session)
{
    if (thread->caches == NULL && !make_caches(thread)) {
        return NULL;
    }
    if (thread->caches->session != session) {
        memset(thread->caches, 0, sizeof(thread_caches));
        thread->caches->session = session;
    }
    return thread->caches;
}

void
thread_after_fork(void)
{
    if (here.caches != NULL) {
        here.tid = (uint32_t)syscall(SYS_gettid);
    }
}
