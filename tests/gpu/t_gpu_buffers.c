/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers come and go while the kernel runs: made, filled, read by slots, read back and freed, of
 * both kinds and of sizes from one byte to megabytes, while another thread keeps the device busy.
 * Nothing may hang, no byte may be another one than was written, and what is freed comes back.
 */
#include "gpu.h"

enum { LOAD_SLOTS = 1024, MOST_BYTES = 3 << 20, KEPT = 8 };

struct load {
    vyre_queue *queue;
    _Atomic uint32_t stop, ran;
    uint32_t wrong;
};

static void *keep_busy(void *argument)
{
    struct load *load = argument;
    static vyre_completion ends[LOAD_SLOTS];
    bool pauses = getenv("VYRE_CUDA_FINITE") != NULL; /* or a finite kernel would never leave */
    vyre_error err;
    while (!atomic_load(&load->stop)) {
        vyre_slot *slot;
        size_t count = 0;
        for (uint32_t i = 0; i < 32 && (slot = vyre_queue_slot(load->queue)) != NULL; i++)
            must(vyre_prep_atomic_add(slot, WORD(3), 1, &err), &err);
        submit(load->queue);
        size_t least = pauses ? vyre_queue_outstanding(load->queue) : 1;
        must(vyre_queue_reap_wait(load->queue, ends, least, LOAD_SLOTS, PATIENCE_NS, &count, &err),
             &err);
        if (pauses) usleep(2000);
        for (size_t i = 0; i < count; i++)
            load->wrong += ends[i].outcome != VYRE_DONE;
        atomic_fetch_add(&load->ran, (uint32_t)count);
    }
    return NULL;
}

/* An automaton that counts modulo 251 the bytes it has seen: its end says how many they were. */
static vyre_buffer *make_counter(vyre *rt)
{
    enum { STATES = 251, WORDS = 5 + STATES + STATES + 256 };
    uint32_t word[WORDS] = {5, 5 + STATES, STATES, 5 + 2 * STATES, 1};
    vyre_buffer *table = NULL;
    vyre_error err;
    for (uint32_t i = 0; i < STATES; i++)
        word[5 + i] = (i + 1) % STATES;
    must(vyre_buffer_create(rt, sizeof word, VYRE_DEVICE, &table, &err), &err);
    must(vyre_buffer_write(table, 0, word, sizeof word, &err), &err);
    return table;
}

static size_t random_size(uint64_t *state)
{
    static const size_t edges[] = {1, 3, 4, 4095, 4096, 4097, 65536, 2 << 20, (2 << 20) + 1};
    if (random_below(state, 4) == 0) return edges[random_below(state, 9)];
    return 1 + random_below(state, 1u << (4 + random_below(state, 17)));
}

/* Fills a new buffer, has a slot read all of it, reads it back. */
static bool goes_through(vyre *rt, vyre_queue *queue, vyre_buffer *table, uint64_t *state,
                         vyre_buffer **out)
{
    static unsigned char written[MOST_BYTES], found[MOST_BYTES];
    size_t size = random_size(state), at = random_next(state) % size;
    vyre_buffer *buffer = NULL;
    vyre_error err;
    must(vyre_buffer_create(rt, size, random_below(state, 2) ? VYRE_DEVICE : VYRE_PINNED, &buffer,
                            &err),
         &err);
    must(vyre_buffer_read(buffer, 0, found, size, &err), &err);
    bool right = true;
    for (size_t i = 0; i < size; i++)
        right = right && found[i] == 0;
    uint64_t bits = random_next(state);
    for (size_t i = 0; i < size; i++)
        written[i] = (unsigned char)(bits >> i % 57);
    must(vyre_buffer_write(buffer, 0, written, at, &err), &err);
    must(vyre_buffer_write(buffer, at, written + at, size - at, &err), &err);
    uint32_t length = (uint32_t)(size < 20000 ? size : 20000);
    vyre_dfa_step step = {.table = vyre_buffer_handle(table),
                          .input = vyre_buffer_handle(buffer),
                          .offset = size - length,
                          .length = length};
    must(vyre_prep_dfa_step(next_slot(queue), &step, &err), &err);
    vyre_completion end = wait_for(queue, submit(queue));
    right = right && end.outcome == VYRE_DONE && end.result[0] == length % 251;
    must(vyre_buffer_read(buffer, 0, found, size, &err), &err);
    *out = buffer;
    return right && memcmp(written, found, size) == 0;
}

/* A buffer that is freed under a slot that was submitted before: the slot still finds it. */
static bool freed_under_slots(vyre *rt, vyre_queue *queue, vyre_buffer *table)
{
    vyre_buffer *buffer = NULL;
    vyre_error err;
    must(vyre_buffer_create(rt, 50000, VYRE_DEVICE, &buffer, &err), &err);
    vyre_dfa_step step = {
        .table = vyre_buffer_handle(table), .input = vyre_buffer_handle(buffer), .length = 50000};
    for (uint32_t i = 0; i < 4; i++)
        must(vyre_prep_dfa_step(next_slot(queue), &step, &err), &err);
    uint64_t first = submit(queue);
    vyre_buffer_free(buffer);
    bool right = true;
    for (uint32_t i = 0; i < 4; i++) {
        vyre_completion end = wait_for(queue, first + i);
        right = right && end.outcome == VYRE_DONE && end.result[0] == 50000 % 251;
    }
    must(vyre_prep_dfa_step(next_slot(queue), &step, &err), &err);
    return right && wait_for(queue, submit(queue)).fault == VYRE_FAULT_BAD_HANDLE;
}

int main(int argc, char **argv)
{
    struct gpu_args args = gpu_arguments(argc, argv, gpu_is_cuda() ? 3000 : 300);
    vyre_options options = gpu_options();
    vyre_description before = VYRE_DESCRIPTION_INIT, after = VYRE_DESCRIPTION_INIT;
    vyre_buffer *kept[KEPT] = {NULL};
    vyre_error err;
    pthread_t thread;
    uint64_t state = args.seed, wrong = 0, wrong_frees = 0;
    vyre *rt = gpu_open(&options);
    vyre_queue *queue = gpu_queue(rt, 16, 0, 0);
    struct load load = {.queue = gpu_queue(rt, LOAD_SLOTS, 1, 0)};
    vyre_buffer *table = make_counter(rt);
    must(vyre_describe(rt, &before, &err), &err);
    if (pthread_create(&thread, NULL, keep_busy, &load) != 0) bail("no thread");
    for (uint64_t i = 0; i < args.slots; i++) {
        vyre_buffer **place = &kept[random_below(&state, KEPT)];
        vyre_buffer_free(*place);
        wrong += !goes_through(rt, queue, table, &state, place);
        if (i % 16 == 0) wrong_frees += !freed_under_slots(rt, queue, table);
    }
    if (!reaches(&load.ran, 1)) note("nothing runs beside them");
    atomic_store(&load.stop, 1);
    pthread_join(thread, NULL);
    for (uint32_t i = 0; i < KEPT; i++)
        vyre_buffer_free(kept[i]);
    wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0));
    for (uint64_t waited = 0; waited < PATIENCE_NS; waited += 50000) {
        must(vyre_describe(rt, &after, &err), &err);
        if (after.handles == before.handles && after.buffer_bytes == before.buffer_bytes) break;
        breathe();
    }
    note("%u slots ran beside", load.ran);
    is_u64(wrong, 0, "%" PRIu64 " buffers made, filled, read and freed", args.slots);
    is_u64(wrong_frees, 0, "slots find what was freed after them, and nothing that was before");
    ok(load.ran > 0 && load.wrong == 0, "the load beside them was done");
    is_u64(after.handles, before.handles, "no handle is left");
    is_u64(after.buffer_bytes, before.buffer_bytes, "and no memory");
    vyre_close(rt);
    return done();
}
