/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Four queues in one event loop: each has a descriptor that epoll watches, and the loop submits
 * the next slot of a queue when the one before it has ended.
 */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <vyre/vyre.h>

enum { QUEUES = 4, SLOTS_EACH = 100 };

struct source {
    vyre_queue *queue;
    int fd;
    uint32_t sent;
    uint32_t ended;
};

static vyre_status send_next(struct source *source, vyre_error *err)
{
    if (source->sent == SLOTS_EACH) return VYRE_OK;
    vyre_status status = vyre_prep_atomic_add(vyre_queue_slot(source->queue),
                                              VYRE_CONTROL_OBSERVABLE, source->sent, err);
    if (status != VYRE_OK) return status;
    source->sent++;
    return vyre_queue_submit(source->queue, NULL, err);
}

static vyre_status open_source(vyre *rt, int loop, struct source *source, vyre_error *err)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    options.slots = 16;
    vyre_status status = vyre_queue_open(rt, &options, &source->queue, err);
    if (status == VYRE_OK) status = vyre_queue_event_fd(source->queue, &source->fd, err);
    if (status != VYRE_OK) return status;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, source->fd, &event) != 0) perror("epoll_ctl");
    return send_next(source, err);
}

/* The descriptor of one queue became readable: take what has ended, and send what comes next. */
static vyre_status serve(struct source *source, vyre_error *err)
{
    uint64_t signals;
    if (read(source->fd, &signals, sizeof signals) < 0) return VYRE_OK;
    vyre_completion ends[16];
    size_t count = 0;
    do {
        vyre_status status = vyre_queue_reap(source->queue, ends, 16, &count, err);
        for (size_t i = 0; status == VYRE_OK && i < count; i++) {
            source->ended++;
            status = send_next(source, err);
        }
        if (status != VYRE_OK) return status;
    } while (count > 0);
    return VYRE_OK;
}

int main(void)
{
    vyre *rt = NULL;
    vyre_error err;
    struct source sources[QUEUES];
    uint32_t sum = 0;
    memset(sources, 0, sizeof sources);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    if (vyre_open(&rt, NULL, &err) != VYRE_OK) goto fail;
    for (int i = 0; i < QUEUES; i++)
        if (open_source(rt, loop, &sources[i], &err) != VYRE_OK) goto fail;

    for (uint32_t ended = 0; ended < QUEUES * SLOTS_EACH;) {
        struct epoll_event ready[QUEUES];
        int count = epoll_wait(loop, ready, QUEUES, -1);
        for (int i = 0; i < count; i++)
            if (serve(ready[i].data.ptr, &err) != VYRE_OK) goto fail;
        ended = 0;
        for (int i = 0; i < QUEUES; i++)
            ended += sources[i].ended;
    }
    if (vyre_tenant_observables(rt, VYRE_TENANT_DEFAULT, 0, 1, &sum, &err) != VYRE_OK) goto fail;
    printf("%d queues added up to %u\n", QUEUES, sum);
    vyre_close(rt);
    close(loop);
    return sum == QUEUES * SLOTS_EACH * (SLOTS_EACH - 1) / 2 ? 0 : 1;

fail:
    fprintf(stderr, "error: %s\n  fix: %s\n", err.message, err.fix);
    vyre_close(rt);
    return 1;
}
