/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The completion descriptor: a thread that exists only for a queue that asked for one, sleeps until
 * the device has written completions, and makes an eventfd readable. It reads lap words and nothing
 * else of the ring.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/complete.h"
#include "runtime/internal.h"

struct vyre_watcher {
    vyre_queue *queue;
    pthread_t thread;
    int fd;
    uint32_t stop;          /* (atomic) */
    uint64_t cursor;        /* index of the first entry that has not been signalled */
    uint64_t idle_since_ns; /* of a device that wakes nobody; 0: there was news */
};

/* Moves the cursor over all entries that are written; how many. What was reaped meanwhile counts
 * too: its place may be a lap ahead already. */
static uint64_t advance(struct vyre_watcher *watcher)
{
    const vyre_queue *queue = watcher->queue;
    uint64_t before = watcher->cursor;
    uint64_t reaped = __atomic_load_n(&queue->next_entry, __ATOMIC_ACQUIRE);
    if (watcher->cursor - reaped > UINT64_MAX / 2) watcher->cursor = reaped;
    while (vyre_queue_written(queue, watcher->cursor))
        watcher->cursor++;
    return watcher->cursor - before;
}

static int gone(const struct vyre_watcher *watcher)
{
    return vyre_runtime_gone(watcher->queue->runtime);
}

static void signal_fd(const struct vyre_watcher *watcher)
{
    uint64_t one = 1;
    while (write(watcher->fd, &one, sizeof one) < 0 && errno == EINTR) {}
}

/* How long to sleep: until the device wakes us, if it does such things. */
static uint64_t nap(struct vyre_watcher *watcher)
{
    if (!watcher->queue->runtime->silent) return UINT64_MAX;
    uint64_t now = vyre_clock_ns();
    if (watcher->idle_since_ns == 0) watcher->idle_since_ns = now;
    return vyre_queue_nap_ns(watcher->queue, now - watcher->idle_since_ns);
}

static void *watch(void *argument)
{
    struct vyre_watcher *watcher = argument;
    struct dev_queue_page *page = watcher->queue->page;
    while (!__atomic_load_n(&watcher->stop, __ATOMIC_ACQUIRE)) {
        uint32_t seen = dev_load_acquire(&page->event, DEV_SYSTEM);
        dev_store_relaxed(&page->watcher, 1);
        dev_fence_full(); /* F4, pairs with F3 in complete.h */
        if (advance(watcher) != 0) {
            dev_store_relaxed(&page->watcher, 0);
            watcher->idle_since_ns = 0;
            signal_fd(watcher);
            continue;
        }
        /* What is left has ended too, and that is news; also what a submit that did not see the end
         * adds to it (submit.c). */
        if (gone(watcher)) signal_fd(watcher);
        if (!__atomic_load_n(&watcher->stop, __ATOMIC_ACQUIRE))
            vyre_futex_wait(&page->event, seen, nap(watcher));
    }
    dev_store_relaxed(&page->watcher, 0);
    return NULL;
}

static vyre_status start(vyre_queue *queue, struct vyre_watcher *watcher, vyre_error *err)
{
    sigset_t all, before;
    watcher->queue = queue;
    watcher->cursor = queue->next_entry;
    watcher->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->fd < 0) return vyre_fail_errno(err, errno, "making an eventfd");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&watcher->thread, NULL, watch, watcher);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        close(watcher->fd);
        return vyre_fail_errno(err, failed, "starting the watcher thread of a queue");
    }
    if (queue->kept_count != 0) signal_fd(watcher);
    return VYRE_OK;
}

vyre_status vyre_queue_event_fd(vyre_queue *queue, int *fd, vyre_error *err)
{
    if (!queue) return vyre_fail(err, VYRE_E_NULL, "queue is null");
    if (!fd) return vyre_fail(err, VYRE_E_NULL, "fd is null");
    if (!queue->watcher) {
        void *memory;
        vyre_status status = vyre_memory_alloc(
            &queue->runtime->memory, 1, sizeof(struct vyre_watcher), "watcher", &memory, err);
        if (status) return status;
        status = start(queue, memory, err);
        if (status) {
            vyre_memory_free(&queue->runtime->memory, memory, sizeof(struct vyre_watcher));
            return status;
        }
        queue->watcher = memory;
    }
    *fd = queue->watcher->fd;
    return VYRE_OK;
}

void vyre_watcher_stop(vyre_queue *queue)
{
    struct vyre_watcher *watcher = queue->watcher;
    __atomic_store_n(&watcher->stop, 1, __ATOMIC_RELEASE);
    /* The device has given the queue up, so its word is ours to change. */
    __atomic_fetch_add(&queue->page->event, 1, __ATOMIC_RELEASE); /* after stop: see seen above */
    vyre_futex_wake(&queue->page->event, UINT32_MAX);
    pthread_join(watcher->thread, NULL);
    close(watcher->fd);
    vyre_memory_free(&queue->runtime->memory, watcher, sizeof *watcher);
    queue->watcher = NULL;
}
