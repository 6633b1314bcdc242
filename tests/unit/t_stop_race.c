/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * vyre_stop while other threads make set-up calls: each of those ends, with success or E_STOPPED,
 * and none looks at a queue that was closed after the stop.
 */
#include <pthread.h>

#include "support.h"
#include "tap.h"

enum { QUEUES = 60, CALLERS = 3 };

struct caller {
    vyre *rt;
    uint32_t wrong; /* calls that ended with anything but success or E_STOPPED */
    uint32_t made;
};

static void *make_and_free(void *argument)
{
    struct caller *caller = argument;
    for (;;) {
        vyre_buffer *buffer = NULL;
        vyre_status status = vyre_buffer_create(caller->rt, 64, VYRE_DEVICE, &buffer, NULL);
        if (status != VYRE_OK) {
            caller->wrong += status != VYRE_E_STOPPED;
            return NULL;
        }
        caller->made++;
        vyre_buffer_free(buffer);
    }
}

static void one_round(struct caller *callers)
{
    vyre_options options = cpu_options(4);
    vyre_queue *queues[QUEUES];
    pthread_t threads[CALLERS];
    vyre_error err;
    options.max_queues = QUEUES;
    options.default_queue_slots = 0;
    options.idle_spin_ns = 0;
    vyre *rt = open_with(&options);
    for (int i = 0; i < QUEUES; i++)
        queues[i] = open_queue(rt, 1, 0);
    for (int i = 0; i < CALLERS; i++) {
        callers[i].rt = rt;
        if (pthread_create(&threads[i], NULL, make_and_free, &callers[i]) != 0) bail("no thread");
    }
    breathe();
    must(vyre_stop(rt, &err), &err);
    for (int i = 0; i < QUEUES; i++)
        vyre_queue_close(queues[i]);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    vyre_close(rt);
}

/* Each round opens a runtime: most of a second on a GPU, and long in a process of its own under the
 * thread sanitizer. */
static int rounds(void)
{
    if (UNDER_TSAN && test_hosted()) return 10;
    return cpu_options(1).backend == VYRE_BACKEND_CPU ? 150 : 20;
}

int main(void)
{
    struct caller callers[CALLERS] = {{NULL, 0, 0}};
    for (int round = rounds(); round > 0; round--)
        one_round(callers);
    for (int i = 0; i < CALLERS; i++) {
        note("caller %d made %u buffers", i, callers[i].made);
        is_u64(callers[i].wrong, 0, "each call of thread %d succeeded or said E_STOPPED", i);
    }
    return done();
}
