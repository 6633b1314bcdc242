/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The pump's engine where io_uring cannot be had: threads that call pread and pwrite, started as
 * they are needed. Files share a few; each stream that is waited for holds one of its own, and
 * waits in poll, where it can be told to stop.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/futex.h"
#include "ingest/pump.h"

#define POOL_FILES   8u  /* threads at files, at most */
#define POOL_STREAMS 64u /* and at streams */
#define POOL_MOST    (POOL_FILES + POOL_STREAMS)

struct pump_worker {
    struct vyre_pump *pump;
    pthread_t thread;
    int stop_fd; /* readable: what it waits for is not wanted any more */
};

struct pool {
    pthread_mutex_t lock; /* after the pump's */
    pthread_cond_t work;
    struct pump_op *first; /* operations to make a move of */
    struct pump_op *last;
    struct pump_op *done; /* with their results */
    uint32_t idle;        /* threads that wait for one, or have been called and not come yet */
    uint32_t queued[2];   /* operations in that row: of files, of streams */
    uint32_t busy[2];     /* threads at them */
    uint32_t count;
    uint32_t stop;
    struct pump_worker worker[POOL_MOST];
};

/* The threads.
 * ------------------------------------------------------------------------------------------- */

/* Waits until the descriptor can be read or written: 0, or -errno. */
static int await_ready(const struct pump_worker *worker, const struct pump_op *op)
{
    int write = (op->request.what & DEV_IO_OP_BITS) == DEV_IO_WRITE;
    struct pollfd both[2] = {{op->source->fd, write ? POLLOUT : POLLIN, 0},
                             {worker->stop_fd, POLLIN, 0}};
    while (poll(both, 2, -1) < 0)
        if (errno != EINTR) return -errno;
    return both[1].revents != 0 ? -ECANCELED : 0;
}

/* Moves bytes of a stream that is ready. Somebody else may be quicker, at the same pipe: so the
 * call does not wait for more, where the system knows how. */
static ssize_t move_ready(const struct vyre_stream_calls *calls, const struct pump_op *op,
                          struct iovec *bytes, int write)
{
    int fd = op->source->fd;
    if (calls == &vyre_stream_system_calls) {
        ssize_t moved =
            write ? pwritev2(fd, bytes, 1, -1, RWF_NOWAIT) : preadv2(fd, bytes, 1, -1, RWF_NOWAIT);
        if (moved >= 0 || errno != EOPNOTSUPP) return moved;
    }
    /* A pipe that is ready takes so much without waiting. */
    if (write && bytes->iov_len > PIPE_BUF) bytes->iov_len = PIPE_BUF;
    return write ? calls->write(calls->ctx, fd, bytes, -1) : calls->read(calls->ctx, fd, bytes, -1);
}

static int64_t move(const struct pump_worker *worker, const struct pump_op *op)
{
    const struct vyre_stream_calls *calls = worker->pump->calls;
    uint32_t kind = op->request.what & DEV_IO_OP_BITS, length = vyre_pump_move(op);
    int64_t place = vyre_pump_place(op);
    if (kind == DEV_IO_PREFETCH)
        return -posix_fadvise(op->source->fd, (off_t)place, (off_t)vyre_pump_ahead(op),
                              POSIX_FADV_WILLNEED);
    if (length == 0) return 0;
    int error = op->source->stream || op->polling ? await_ready(worker, op) : 0;
    if (error) return error;
    struct iovec bytes = {op->base + op->done, length};
    int write = kind == DEV_IO_WRITE;
    ssize_t moved = op->source->stream ? move_ready(calls, op, &bytes, write)
                    : write            ? calls->write(calls->ctx, op->source->fd, &bytes, place)
                                       : calls->read(calls->ctx, op->source->fd, &bytes, place);
    return moved < 0 ? -errno : moved;
}

/* Forgets a wish that came too late for the operation before. (pool.lock) */
static void drain(const struct pump_worker *worker)
{
    uint64_t count;
    while (read(worker->stop_fd, &count, sizeof count) < 0 && errno == EINTR) {}
}

static uint32_t stream_of(const struct pump_op *op)
{
    return op->source->stream != 0;
}

static int may_begin(const struct pool *pool, uint32_t stream)
{
    return pool->busy[stream] < (stream ? POOL_STREAMS : POOL_FILES);
}

static void push_done(struct pool *pool, struct pump_op *op, int64_t result)
{
    op->result = result;
    op->next = pool->done;
    pool->done = op;
}

static void unlink_op(struct pool *pool, struct pump_op *before, struct pump_op *op)
{
    if (before)
        before->next = op->next;
    else
        pool->first = op->next;
    if (pool->last == op) pool->last = before;
    pool->queued[stream_of(op)]--;
}

/* The first operation that may be begun, taken out of the row; or NULL. (pool.lock) */
static struct pump_op *pick(struct pool *pool)
{
    struct pump_op *before = NULL, *op = pool->first;
    while (op && !may_begin(pool, stream_of(op))) {
        before = op;
        op = op->next;
    }
    if (!op) return NULL;
    unlink_op(pool, before, op);
    pool->busy[stream_of(op)]++;
    return op;
}

static void *work(void *argument)
{
    struct pump_worker *worker = argument;
    struct vyre_pump *pump = worker->pump;
    struct pool *pool = pump->state;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct pump_op *op = pick(pool);
        if (!op && pool->stop) break;
        if (!op) {
            pool->idle++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->idle--;
            continue;
        }
        op->worker = worker;
        drain(worker);
        pthread_mutex_unlock(&pool->lock);
        int64_t result = move(worker, op);
        pthread_mutex_lock(&pool->lock);
        op->worker = NULL;
        pool->busy[stream_of(op)]--;
        push_done(pool, op, result);
        pthread_mutex_unlock(&pool->lock);
        dev_fence_full(); /* F3: the pump sees the result, or we see that it sleeps */
        if (dev_load_relaxed(&pump->page->asleep) != 0) vyre_pump_poke(pump);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Whether nobody will come for an operation: there is no thread, or all wait for streams or are
 * about to, which may last for ever. (pool.lock) */
static int is_forlorn(const struct pool *pool, uint32_t stream)
{
    return pool->count == 0 || (!stream && pool->count <= pool->busy[1] + pool->queued[1]);
}

/* Gives an operation that no thread has begun its result. (pool.lock) */
static void take_back(struct pool *pool, struct pump_op *op, int64_t result)
{
    struct pump_op *before = NULL, *at = pool->first;
    while (at && at != op) {
        before = at;
        at = at->next;
    }
    if (!at) return; /* it has its result */
    unlink_op(pool, before, op);
    push_done(pool, op, result);
}

/* One more thread, if there may be one: 0, or errno. (pool.lock) */
static int grow(struct vyre_pump *pump)
{
    struct pool *pool = pump->state;
    sigset_t all, before;
    if (pool->count >= POOL_MOST) return EAGAIN;
    struct pump_worker *worker = &pool->worker[pool->count];
    worker->pump = pump;
    worker->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->stop_fd < 0) return errno;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) close(worker->stop_fd);
    if (!failed) pool->count++;
    return failed == EAGAIN ? ENOMEM : failed; /* that would be tried again, and again */
}

/* The engine.
 * ------------------------------------------------------------------------------------------- */

static vyre_status start(struct vyre_pump *pump, char *text, size_t room, vyre_error *err)
{
    void *memory;
    vyre_status status =
        vyre_memory_alloc(&pump->runtime->memory, 1, sizeof(struct pool), "pump", &memory, err);
    if (status) return status;
    struct pool *pool = pump->state = memory;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    snprintf(text, room, "threads that call pread");
    return VYRE_OK;
}

static void end(struct vyre_pump *pump)
{
    struct pool *pool = pump->state;
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->count; i++) {
        pthread_join(pool->worker[i].thread, NULL);
        close(pool->worker[i].stop_fd);
    }
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    vyre_memory_free(&pump->runtime->memory, pool, sizeof *pool);
    pump->state = NULL;
}

static void begin(struct vyre_pump *pump, struct pump_op *op)
{
    struct pool *pool = pump->state;
    uint32_t stream = stream_of(op);
    int failed = 0;
    pthread_mutex_lock(&pool->lock);
    op->next = NULL;
    op->worker = NULL;
    if (pool->first)
        pool->last->next = op;
    else
        pool->first = op;
    pool->last = op;
    pool->queued[stream]++;
    if (pool->queued[0] + pool->queued[1] > pool->idle && may_begin(pool, stream))
        failed = grow(pump);
    if (failed && is_forlorn(pool, stream)) take_back(pool, op, -failed);
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

static void cancel(struct vyre_pump *pump, struct pump_op *op)
{
    struct pool *pool = pump->state;
    uint64_t one = 1;
    pthread_mutex_lock(&pool->lock);
    if (op->worker) {
        while (write(op->worker->stop_fd, &one, sizeof one) < 0 && errno == EINTR) {}
    } else {
        take_back(pool, op, -ECANCELED);
    }
    pthread_mutex_unlock(&pool->lock);
}

static void turn(struct vyre_pump *pump)
{
    struct pool *pool = pump->state;
    if (pump->underway == 0) return;
    pthread_mutex_lock(&pool->lock);
    struct pump_op *op = pool->done;
    pool->done = NULL;
    pthread_mutex_unlock(&pool->lock);
    if (!op) return;
    pthread_mutex_lock(&pump->lock);
    while (op) {
        struct pump_op *next = op->next;
        op->polling = 0;
        vyre_pump_result(pump, op, op->result);
        op = next;
    }
    pthread_mutex_unlock(&pump->lock);
}

static void sleep_on_word(struct vyre_pump *pump, uint32_t seen, uint64_t until_ns)
{
    struct pool *pool = pump->state;
    pthread_mutex_lock(&pool->lock);
    int done = pool->done != NULL;
    pthread_mutex_unlock(&pool->lock);
    if (done) return;
    uint64_t now_ns = vyre_clock_ns();
    if (until_ns <= now_ns) return;
    vyre_futex_wait(&pump->page->event, seen,
                    until_ns == UINT64_MAX ? until_ns : until_ns - now_ns);
}

static void forget(struct vyre_pump *pump, vyre_source *source)
{
    (void)pump, (void)source;
}

const struct pump_engine vyre_pump_pool = {
    VYRE_IO_ENGINE_PREAD, start, end, begin, cancel, turn, sleep_on_word, forget,
};
