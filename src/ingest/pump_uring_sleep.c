/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How the pump sleeps in its io_uring. The device wakes it through the word `event`: by an
 * operation of the ring that waits for that word, and on kernels without one by a thread that waits
 * for it and writes to an eventfd. A timer of the ring wakes it when a deadline comes.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/futex.h"
#include "ingest/pump_uring.h"

#define OP_FUTEX_WAIT 51 /* IORING_OP_FUTEX_WAIT, of Linux 6.7 */
#define FUTEX_WORD    2  /* FUTEX2_SIZE_U32 */
#define FUTEX_ANY     0xFFFFFFFFu
#define REFUSED_NS    1000000u /* before the next try of what the system has refused */
#define WAKE_EVENT    0u       /* the number of the event's completion; timers have the others */

/* The helper of kernels that cannot wait for a word.
 * ------------------------------------------------------------------------------------------- */

static void *help(void *argument)
{
    struct vyre_pump *pump = argument;
    struct uring *uring = pump->state;
    uint64_t one = 1;
    uint32_t seen = uring->helper_seen;
    while (!__atomic_load_n(&uring->helper_stop, __ATOMIC_ACQUIRE)) {
        vyre_futex_wait(&pump->page->event, seen, UINT64_MAX);
        uint32_t now = __atomic_load_n(&pump->page->event, __ATOMIC_ACQUIRE);
        if (now == seen) continue;
        seen = now; /* what changes from here on is seen by the next wait */
        while (write(uring->event_fd, &one, sizeof one) < 0 && errno == EINTR) {}
    }
    return NULL;
}

static vyre_status start_helper(struct vyre_pump *pump, vyre_error *err)
{
    struct uring *uring = pump->state;
    uring->event_fd = eventfd(0, EFD_CLOEXEC);
    if (uring->event_fd < 0) return vyre_fail_errno(err, errno, "making an eventfd");
    uring->helper_seen = __atomic_load_n(&pump->page->event, __ATOMIC_ACQUIRE);
    int failed = pthread_create(&uring->helper, NULL, help, pump);
    if (failed) return vyre_fail_errno(err, failed, "starting the thread that wakes the pump");
    uring->helping = 1;
    return VYRE_OK;
}

static int waits_for_words(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    if (pump->runtime->io.without & VYRE_PUMP_FUTEX) return 0;
    struct io_uring_probe *probe = io_uring_get_probe_ring(&uring->ring.uring);
    int can = probe && io_uring_opcode_supported(probe, OP_FUTEX_WAIT);
    if (probe) io_uring_free_probe(probe);
    return can;
}

vyre_status vyre_pump_uring_wake_start(struct vyre_pump *pump, vyre_error *err)
{
    struct uring *uring = pump->state;
    uring->futex = (uint32_t)waits_for_words(pump);
    return uring->futex ? VYRE_OK : start_helper(pump, err);
}

void vyre_pump_uring_wake_end(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    if (uring->helping) {
        __atomic_store_n(&uring->helper_stop, 1, __ATOMIC_RELEASE);
        vyre_pump_poke(pump);
        pthread_join(uring->helper, NULL);
    }
    if (uring->event_fd >= 0) close(uring->event_fd);
}

/* Sleeping.
 * ------------------------------------------------------------------------------------------- */

static int arm_event(struct vyre_pump *pump, uint32_t seen)
{
    struct uring *uring = pump->state;
    if (uring->waking) return 1;
    struct io_uring_sqe *sqe = vyre_ring_sqe(&uring->ring);
    if (!sqe) return 0;
    if (uring->futex) {
        io_uring_prep_rw(OP_FUTEX_WAIT, sqe, FUTEX_WORD, &pump->page->event, 0, seen);
        sqe->addr3 = FUTEX_ANY;
    } else {
        io_uring_prep_read(sqe, uring->event_fd, &uring->event_count, sizeof uring->event_count, 0);
    }
    vyre_ring_number(&uring->ring, sqe, VYRE_RING_OP_WAKE, WAKE_EVENT);
    uring->waking = 1;
    return 1;
}

/* One timer at a time: one that goes off too late is removed, for else those that wait for a far
 * deadline would grow in number with every near one. */
static int remove_timer(struct vyre_pump *pump)
{
    struct uring *uring = pump->state;
    struct io_uring_sqe *sqe = vyre_ring_sqe(&uring->ring);
    if (!sqe) return 0;
    io_uring_prep_timeout_remove(sqe, (uint64_t)VYRE_RING_OP_WAKE << 32 | uring->timer_index, 0);
    vyre_ring_number(&uring->ring, sqe, VYRE_RING_OP_NOP, 0);
    uring->timer_ns = 0;
    return 1;
}

static int arm_timer(struct vyre_pump *pump, uint64_t until_ns)
{
    struct uring *uring = pump->state;
    if (until_ns == UINT64_MAX || (uring->timer_ns != 0 && uring->timer_ns <= until_ns)) return 1;
    if (uring->timer_ns != 0 && !remove_timer(pump)) return 0;
    struct io_uring_sqe *sqe = vyre_ring_sqe(&uring->ring);
    if (!sqe) return 0;
    uring->timer.tv_sec = (long long)(until_ns / 1000000000u);
    uring->timer.tv_nsec = (long long)(until_ns % 1000000000u);
    io_uring_prep_timeout(sqe, &uring->timer, 0, IORING_TIMEOUT_ABS);
    if (++uring->timer_index == WAKE_EVENT) uring->timer_index++;
    vyre_ring_number(&uring->ring, sqe, VYRE_RING_OP_WAKE, uring->timer_index);
    uring->timer_ns = until_ns;
    return 1;
}

int vyre_pump_uring_submit(struct vyre_pump *pump, int wait)
{
    struct uring *uring = pump->state;
    int result = vyre_ring_submit(&uring->ring, wait);
    if (result == -EBADR) PUMP_COUNT(pump, lost_events, 1);
    return result;
}

void vyre_pump_uring_sleep(struct vyre_pump *pump, uint32_t seen, uint64_t until_ns)
{
    if (!arm_event(pump, seen) || !arm_timer(pump, until_ns) ||
        vyre_pump_uring_submit(pump, 1) != 0)
        vyre_futex_wait(&pump->page->event, seen, REFUSED_NS); /* no ring to sleep in just now */
}

void vyre_pump_uring_woken(struct vyre_pump *pump, uint32_t index)
{
    struct uring *uring = pump->state;
    if (index == WAKE_EVENT)
        uring->waking = 0;
    else if (index == uring->timer_index)
        uring->timer_ns = 0;
}
