/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Storms of parking and waking: the device leaves after a very short rest, and producers come back
 * just before, just while and just after it goes, several at once. A wake-up that is missed shows
 * as a slot that never ends.
 */
#include "gpu.h"

enum { PRODUCERS = 3, WORD_AT = 5 };

static const uint64_t park_ns[] = {1, 20000, 200000};

struct producer {
    vyre_queue *queue;
    uint64_t seed, slots, sent;
    uint64_t park_ns;
    uint32_t wrong;
};

static void rest(uint64_t ns)
{
    struct timespec moment = {0, (long)ns};
    if (ns != 0) nanosleep(&moment, NULL);
}

/* Anything from no rest at all to well past the time after which the device parks. */
static uint64_t some_rest(struct producer *self)
{
    uint64_t span = self->park_ns < 20000 ? 20000 : self->park_ns;
    switch (random_below(&self->seed, 4)) {
    case 0:
        return 0;
    case 1:
        return random_next(&self->seed) % (span / 8 + 1);
    case 2:
        return span - span / 8 + random_next(&self->seed) % (span / 4);
    default:
        return random_next(&self->seed) % (2 * span);
    }
}

static void *produce(void *argument)
{
    struct producer *self = argument;
    vyre_error err;
    while (self->sent < self->slots) {
        uint32_t count = 1 + random_below(&self->seed, 3);
        for (uint32_t i = 0; i < count; i++)
            must(vyre_prep_atomic_add(next_slot(self->queue), WORD(WORD_AT), 1, &err), &err);
        uint64_t first = submit(self->queue);
        for (uint32_t i = 0; i < count; i++)
            self->wrong += wait_for(self->queue, first + i).outcome != VYRE_DONE;
        self->sent += count;
        rest(some_rest(self));
    }
    return NULL;
}

static void storm(uint64_t park, uint32_t producers, const struct gpu_args *args)
{
    static const uint32_t modes[] = {VYRE_WAIT_SPIN, VYRE_WAIT_ADAPTIVE, VYRE_WAIT_BLOCK};
    struct producer producer[PRODUCERS];
    pthread_t thread[PRODUCERS];
    vyre_options options = gpu_options();
    vyre_error err;
    uint64_t sent = 0, counted = 0;
    uint32_t wrong = 0;
    options.park_ns = park;
    options.idle_spin_ns = park; /* the CPU's workers sleep instead */
    vyre *rt = gpu_open(&options);
    for (uint32_t i = 0; i < producers; i++) {
        producer[i] = (struct producer){.queue = gpu_queue(rt, 16, 1 + i, 0),
                                        .seed = args->seed * 31 + i,
                                        .slots = args->slots,
                                        .park_ns = park};
        must(vyre_queue_set_wait_mode(producer[i].queue, modes[i % 3], &err), &err);
        if (pthread_create(&thread[i], NULL, produce, &producer[i]) != 0) bail("no thread");
    }
    for (uint32_t i = 0; i < producers; i++) {
        pthread_join(thread[i], NULL);
        sent += producer[i].sent;
        wrong += producer[i].wrong;
        counted += observable(rt, 1 + i, WORD_AT);
    }
    is_u64(counted, sent, "%u producers, a device that parks after %" PRIu64 " ns: all slots ran",
           producers, park);
    is_u64(wrong, 0, "and ended as done");
    /* Calls that go through queue 0 wake it too. */
    rest(2000000);
    vyre_buffer *buffer = NULL;
    uint32_t word = 0x12345678;
    must(vyre_buffer_create(rt, 4096, VYRE_DEVICE, &buffer, &err), &err);
    must(vyre_buffer_write(buffer, 8, &word, sizeof word, &err), &err);
    rest(2000000);
    word = 0;
    must(vyre_buffer_read(buffer, 8, &word, sizeof word, &err), &err);
    is_u64(word, 0x12345678, "a buffer made and read while it was parked");
    rest(2000000);
    works(vyre_stop(rt, &err), &err, "it stops while it is parked");
    vyre_close(rt);
}

/* Whether the device goes to sleep: when, the machine decides. */
static bool falls_asleep(vyre *rt)
{
    vyre_vitals vitals = VYRE_VITALS_INIT;
    vyre_error err;
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        must(vyre_vitals_read(rt, &vitals, &err), &err);
        if (vitals.asleep == 1) return true;
        breathe();
    }
    return false;
}

/* A device that was woken late knows what time it is: a deadline is neither past nor far away. */
static void after_rests(void)
{
    static const uint64_t rests[] = {3000000, 50000000, 900000000};
    vyre_options options = gpu_options();
    vyre_error err;
    options.park_ns = options.idle_spin_ns = 100000;
    vyre *rt = gpu_open(&options);
    vyre_queue *queue = gpu_queue(rt, 16, 1, 0);
    for (size_t i = 0; i < sizeof rests / sizeof rests[0]; i++) {
        rest(rests[i]);
        ok(falls_asleep(rt), "after %" PRIu64 " ns or soon it is asleep", rests[i]);
        vyre_slot *slot = next_slot(queue);
        must(vyre_prep_atomic_add(slot, WORD(WORD_AT), 1, &err), &err);
        must(vyre_slot_deadline(queue, slot, 20000000000u, &err), &err);
        is_u64(wait_for(queue, submit(queue)).outcome, VYRE_DONE, "and a slot wakes it");
    }
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 20000 : 300);
    for (size_t i = 0; i < sizeof park_ns / sizeof park_ns[0]; i++) {
        storm(park_ns[i], 1, &args);
        storm(park_ns[i], PRODUCERS, &args);
    }
    after_rests();
    return done();
}
