/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A pump that lies: the test takes its place and writes answers with numbers, serials, statuses and
 * lengths that nobody asked for, too many of them, twice, and ticks at any time. The device goes
 * on; slots end early or wrongly, each once; other slots run. An honest answer to what is left ends
 * the rest.
 */
#include "pump_test.h"

#include "device/io_answer.h"

struct liar {
    struct pump_rig rig;
    vyre_buffer *buffer[2];
    struct dev_io_page *page;
    const struct dev_io_request *requests;
    struct dev_io_answer *answers;
    struct dev_runtime *device;
    uint32_t taken;
    uint32_t answered;
    uint64_t state;
    struct dev_io_request seen[64]; /* requests that were taken, the newest */
    uint32_t seen_count;
    uint32_t serial[4096]; /* of the last request of each number; 0: there was none */
};

/* The true pump rests. */
static void liar_open(struct liar *liar, uint64_t seed)
{
    vyre_options options = pump_options(2);
    options.io_entries = 16;
    rig_open_with(&liar->rig, &options);
    liar->buffer[0] = make_buffer(liar->rig.rt, 300000, VYRE_PINNED);
    liar->buffer[1] = make_buffer(liar->rig.rt, 300000, VYRE_DEVICE);
    vyre_io_hold(liar->rig.rt);
    unsigned char *mapping = liar->rig.rt->io.block.host;
    liar->page = (void *)mapping;
    liar->device = vyre_local_device(liar->rig.rt);
    liar->requests = (void *)(mapping + DEV_IO_RINGS_AT);
    liar->answers = (void *)(mapping + dev_io_answers_at(16));
    liar->state = seed;
    liar->taken = liar->answered = liar->seen_count = 0;
    memset(liar->serial, 0, sizeof liar->serial);
}

static void take(struct liar *liar)
{
    uint32_t tail = __atomic_load_n(&liar->page->requested, __ATOMIC_ACQUIRE);
    for (; liar->taken != tail; liar->taken++) {
        const struct dev_io_request *from = &liar->requests[liar->taken & (4 * 16 - 1)];
        struct dev_io_request request;
        for (size_t i = 0; i < sizeof request / 8; i++)
            ((dev_word64 *)(void *)&request)[i] =
                dev_load64_relaxed(&((const dev_word64 *)(const void *)from)[i]);
        liar->seen[liar->seen_count++ % 64] = request;
        if (request.number < 4096) liar->serial[request.number] = request.serial;
    }
}

/* As dev_io_active, but of the words that others than the poller may read. */
static int expects_answers(const struct dev_runtime *device)
{
    return (dev_load_relaxed(&device->io.live) | dev_load_relaxed(&device->io.outstanding)) != 0;
}

/* What the device has not read it never will, and it goes on where the next answer will be. It
 * reads with this lock held; without it, it might be about to read more. */
static void start_over(struct liar *liar)
{
    while (!dev_lock_try(&liar->device->page->poller))
        sched_yield();
    liar->answered = liar->device->io.answered;
    __atomic_store_n(&liar->page->answered, liar->answered, __ATOMIC_SEQ_CST);
    dev_unlock(&liar->device->page->poller);
}

/* Waits until the device has read all but so many answers: beyond the ring it would read none. */
static void await_room(struct liar *liar, uint32_t left)
{
    while (liar->answered - __atomic_load_n(&liar->device->io.answered, __ATOMIC_RELAXED) > left) {
        if (!expects_answers(liar->device)) { /* and reads none */
            start_over(liar);
            return;
        }
        __atomic_store_n(&liar->page->answered, liar->answered, __ATOMIC_SEQ_CST);
        liar->rig.rt->port->wake(liar->rig.rt);
        sched_yield();
    }
}

static void answer(struct liar *liar, const struct dev_io_answer *answer)
{
    await_room(liar, 31);
    dev_word64 *to = (dev_word64 *)(void *)&liar->answers[liar->answered++ & (2 * 16 - 1)];
    for (size_t i = 0; i < sizeof *answer / 8; i++)
        dev_store64_relaxed(&to[i], ((const dev_word64 *)(const void *)answer)[i]);
}

static void tell(struct liar *liar)
{
    __atomic_store_n(&liar->page->answered, liar->answered, __ATOMIC_SEQ_CST);
    liar->rig.rt->port->wake(liar->rig.rt);
}

static uint32_t any_word(struct liar *liar);

/* An index that is further ahead than the ring, or behind; then answers of old. Honest ones that
 * were written before have been read. */
static void lie_about_index(struct liar *liar)
{
    await_room(liar, 0);
    __atomic_store_n(&liar->page->answered, any_word(liar), __ATOMIC_SEQ_CST);
    liar->rig.rt->port->wake(liar->rig.rt);
    breathe();
    start_over(liar);
    liar->answered += random_below(&liar->state, 32);
}

static uint32_t any_word(struct liar *liar)
{
    static const uint32_t likely[] = {0, 1, 2, 3, 4, 15, 16, 4095, 4096, 0xFFFF, UINT32_MAX};
    if (random_below(&liar->state, 4) == 0) return (uint32_t)random_next(&liar->state);
    return likely[random_below(&liar->state, 11)];
}

/* Of a request that was seen, more or less changed; or of nothing. */
static void lie(struct liar *liar)
{
    struct dev_io_answer wrong = {any_word(liar),           any_word(liar), any_word(liar),
                                  any_word(liar),           any_word(liar), any_word(liar),
                                  random_next(&liar->state)};
    if (liar->seen_count != 0 && random_below(&liar->state, 3) != 0) {
        uint32_t least = liar->seen_count < 64 ? liar->seen_count : 64;
        uint32_t index = liar->seen_count - 1 - random_below(&liar->state, least);
        const struct dev_io_request *request = &liar->seen[index % 64];
        wrong.number = request->number;
        if (random_below(&liar->state, 3) != 0) wrong.serial = request->serial;
        if (random_below(&liar->state, 2) != 0) wrong.status = random_below(&liar->state, 5);
    }
    if (random_below(&liar->state, 8) == 0) wrong.deadline_ns = UINT64_MAX;
    answer(liar, &wrong);
}

/* An answer to every request that was seen: those that have ended do not mind. */
static void be_honest(struct liar *liar)
{
    take(liar);
    for (uint32_t i = 0; i < 4096; i++) {
        struct dev_io_answer good = {i, liar->serial[i], DEV_IO_CANCELLED, 0, 0, 0, 0};
        if (liar->serial[i] != 0) answer(liar, &good);
        liar->serial[i] = 0;
    }
    struct dev_io_answer prefetch = {UINT32_MAX, 0, DEV_IO_DONE, 0, 0, 0, 0};
    answer(liar, &prefetch);
    tell(liar);
}

static void begin(struct liar *liar, uint32_t *outstanding)
{
    uint64_t *state = &liar->state;
    vyre_load load = load_of(liar->rig.source, liar->buffer[random_below(state, 2)], 0,
                             random_below(state, 300000));
    vyre_error err;
    vyre_slot *slot = vyre_queue_slot(liar->rig.queue);
    if (!slot) return;
    load.op = 1 + random_below(state, 3);
    load.prefetch = load.op == VYRE_IO_READ && random_below(state, 8) == 0;
    must(vyre_prep_load(slot, &load, &err), &err);
    if (random_below(state, 4) == 0)
        must(vyre_slot_deadline(liar->rig.queue, slot, 1 + random_below(state, 100000000), &err),
             &err);
    uint64_t ticket = submit(liar->rig.queue);
    ++*outstanding;
    if (random_below(state, 8) == 0) vyre_cancel(liar->rig.queue, ticket, &err);
}

static void lies(uint64_t seed, uint32_t count)
{
    static struct liar liar;
    uint32_t outstanding = 0;
    vyre_error err;
    liar_open(&liar, seed);
    for (uint32_t i = 0; i < count; i++) {
        vyre_completion ends[64];
        size_t ended = 0;
        if (random_below(&liar.state, 2)) begin(&liar, &outstanding);
        take(&liar);
        for (uint32_t k = random_below(&liar.state, 6); k != 0; k--)
            lie(&liar);
        if (random_below(&liar.state, 100) == 0) {
            lie_about_index(&liar);
        }
        tell(&liar);
        must(vyre_queue_reap(liar.rig.queue, ends, 64, &ended, &err), &err);
        outstanding -= (uint32_t)ended;
        if (outstanding > 150) be_honest(&liar);
        vyre_slot *slot = i % 64 == 0 ? vyre_queue_slot(liar.rig.queue) : NULL;
        if (slot) {
            must(vyre_prep_nop(slot, &err), &err);
            submit(liar.rig.queue);
            outstanding++;
        }
    }
    uint64_t rounds = 0;
    while (outstanding != 0 && rounds++ < 200000) {
        vyre_completion ends[64];
        size_t ended = 0;
        be_honest(&liar);
        must(vyre_queue_reap(liar.rig.queue, ends, 64, &ended, &err), &err);
        outstanding -= (uint32_t)ended;
        breathe();
    }
    is_u64(outstanding, 0, "after %u lies every slot has ended once", count);
    rig_close(&liar.rig);
}

int main(int argc, char **argv)
{
    if (test_hosted()) skip_all("the test looks at the device's own words");
    uint64_t seed = tap_seed(argc, argv);
    for (uint32_t i = 0; i < 4; i++)
        lies(seed + i, UNDER_ASAN || UNDER_TSAN ? 2000 : 10000);
    return done();
}
