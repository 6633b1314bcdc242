/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * DFA_STEP: random automata against a model, every way in which a table can be wrong, and the edges
 * of the input.
 */
#include "support.h"

enum { TABLE_WORDS = 4096, INPUT_BYTES = 20000 };

struct bench {
    vyre *rt;
    vyre_queue *queue;
    vyre_buffer *table, *input;
    uint32_t *word; /* the table's memory */
    uint8_t *byte;  /* the input's memory */
};

/* Where the parts of a table lie and how large they are. */
struct shape {
    uint32_t transitions, accept, states, class_map, classes;
};

static void put_shape(struct bench *bench, const struct shape *shape)
{
    memcpy(bench->word, shape, sizeof *shape);
}

/* A random automaton, its three parts in a random order with gaps between them. */
static struct shape random_table(struct bench *bench, uint64_t *state)
{
    struct shape shape = {0, 0, 1 + random_below(state, 40), 0, 1 + random_below(state, 60)};
    uint32_t *bases[3] = {&shape.transitions, &shape.accept, &shape.class_map};
    uint32_t sizes[3] = {shape.states * shape.classes, shape.states, 256};
    uint32_t turn = random_below(state, 3), at = 5;
    for (uint32_t i = 0; i < TABLE_WORDS; i++)
        bench->word[i] = 0xDEADBEEF;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t part = (i + turn) % 3;
        at += random_below(state, 9);
        *bases[part] = at;
        at += sizes[part];
    }
    for (uint32_t i = 0; i < sizes[0]; i++)
        bench->word[shape.transitions + i] = random_below(state, shape.states);
    for (uint32_t i = 0; i < shape.states; i++)
        bench->word[shape.accept + i] = random_below(state, 4 * shape.states) == 0;
    for (uint32_t i = 0; i < 256; i++)
        bench->word[shape.class_map + i] = random_below(state, shape.classes);
    put_shape(bench, &shape);
    return shape;
}

static vyre_completion step(struct bench *bench, uint32_t state, uint64_t offset, uint32_t length)
{
    vyre_error err;
    vyre_dfa_step operands = {.table = vyre_buffer_handle(bench->table),
                              .state = state,
                              .input = vyre_buffer_handle(bench->input),
                              .offset = offset,
                              .length = length};
    uint32_t raw[6] = {operands.table,           state, operands.input, (uint32_t)offset,
                       (uint32_t)(offset >> 32), length};
    vyre_slot *slot = next_slot(bench->queue);
    /* A range that no 64 bits hold is refused before the device could be asked. */
    if (length > UINT64_MAX - offset)
        must(vyre_prep_op(slot, VYRE_OP_DFA_STEP, raw, 6, &err), &err);
    else
        must(vyre_prep_dfa_step(slot, &operands, &err), &err);
    return wait_for(bench->queue, submit(bench->queue));
}

/* What the operation is defined to give. */
static void model(const struct bench *bench, const struct shape *shape, uint32_t range[3],
                  uint32_t result[4])
{
    uint32_t state = range[0];
    memset(result, 0, 4 * sizeof result[0]);
    for (uint32_t i = range[1]; i < range[1] + range[2]; i++) {
        uint32_t class_id = bench->word[shape->class_map + bench->byte[i]];
        state = bench->word[shape->transitions + state * shape->classes + class_id];
        if (result[1] || !bench->word[shape->accept + state]) continue;
        result[1] = 1;
        result[2] = i + 1;
    }
    result[0] = state;
}

static void against_model(struct bench *bench, uint64_t state)
{
    uint32_t wrong = 0, accepted = 0;
    for (int i = 0; i < 400; i++) {
        struct shape shape = random_table(bench, &state);
        uint32_t offset = random_below(&state, INPUT_BYTES);
        uint32_t range[3] = {random_below(&state, shape.states), offset,
                             random_below(&state, i % 2 ? 100 : INPUT_BYTES - offset)};
        if (range[2] > INPUT_BYTES - offset) range[2] = INPUT_BYTES - offset;
        uint32_t expected[4];
        model(bench, &shape, range, expected);
        vyre_completion end = step(bench, range[0], offset, range[2]);
        uint32_t steps = range[2] ? (range[2] + 63) / 64 : 1;
        wrong += end.outcome != VYRE_DONE || memcmp(end.result, expected, sizeof expected) != 0 ||
                 end.steps != steps;
        accepted += expected[1];
    }
    is_u64(wrong, 0, "400 random automata give what the model gives");
    ok(accepted > 20 && accepted < 380, "%u of them accepted", accepted);
}

/* "ab" anywhere: state 2 is reached at its end and kept. */
static struct shape find_ab(struct bench *bench)
{
    static const uint32_t transitions[9] = {0, 1, 0, 0, 1, 2, 2, 2, 2};
    struct shape shape = {5, 14, 3, 17, 3};
    put_shape(bench, &shape);
    memcpy(bench->word + 5, transitions, sizeof transitions);
    bench->word[14] = bench->word[15] = 0;
    bench->word[16] = 1;
    for (uint32_t i = 0; i < 256; i++)
        bench->word[17 + i] = i == 'a' ? 1 : i == 'b' ? 2 : 0;
    return shape;
}

static void edges(struct bench *bench)
{
    find_ab(bench);
    memcpy(bench->byte, "xxaabxxab", 9);
    vyre_completion end = step(bench, 0, 0, 9);
    ok(end.result[0] == 2 && end.result[1] == 1 && end.result[2] == 5 && end.result[3] == 0,
       "the first accept stands after the fifth byte");
    end = step(bench, 0, 0, 4);
    ok(end.result[0] == 1 && end.result[1] == 0 && end.result[2] == 0, "none before it");
    end = step(bench, end.result[0], 4, 1);
    ok(end.result[0] == 2 && end.result[1] == 1 && end.result[2] == 5,
       "a run goes on in the state it stopped in, and counts from the buffer's start");
    end = step(bench, 2, 0, 0);
    ok(end.outcome == VYRE_DONE && end.result[0] == 2 && end.result[1] == 0 && end.steps == 1,
       "no bytes: the state stays, and is not looked at");
    end = step(bench, 0, INPUT_BYTES, 0);
    is_u64(end.outcome, VYRE_DONE, "no bytes at the end of the input");
    end = step(bench, 0, INPUT_BYTES - 1, 1);
    is_u64(end.outcome, VYRE_DONE, "the last byte");

    static const uint64_t bad[][2] = {
        {INPUT_BYTES + 1, 0}, {INPUT_BYTES, 1}, {INPUT_BYTES - 1, 2}, {0, INPUT_BYTES + 1},
        {0, 0xFFFFFFFF},      {1ull << 32, 1},  {UINT64_MAX, 1},      {UINT64_MAX - 5, 10}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        end = step(bench, 0, bad[i][0], (uint32_t)bad[i][1]);
        ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_BUFFER_BOUNDS,
           "%llu bytes at %llu are not there", (unsigned long long)bad[i][1],
           (unsigned long long)bad[i][0]);
    }
}

static void check_table(struct bench *bench, uint32_t state, const char *name)
{
    vyre_completion end = step(bench, state, 0, 9);
    ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_DFA_TABLE && end.result[0] == 0, "%s",
       name);
}

static void bad_tables(struct bench *bench)
{
    static const struct {
        const char *name;
        struct shape shape;
    } rows[] = {
        {"no states", {5, 14, 0, 17, 3}},
        {"no classes", {5, 14, 3, 17, 0}},
        {"more classes than bytes", {5, 14, 3, 17, 257}},
        {"transitions over the meta words", {4, 14, 3, 17, 3}},
        {"accepts over the meta words", {5, 0, 3, 17, 3}},
        {"class map over the meta words", {5, 14, 3, 4, 3}},
        {"transitions past the end", {TABLE_WORDS - 8, 14, 3, 17, 3}},
        {"accepts past the end", {5, TABLE_WORDS - 2, 3, 17, 3}},
        {"class map past the end", {5, 14, 3, TABLE_WORDS - 255, 3}},
        {"bases that wrap", {0xFFFFFFFF, 14, 3, 17, 3}},
        {"more states than 32 bits of table", {5, 14, 0xFFFFFFFF, 17, 3}},
        {"a product that wraps", {5, 14, 0x80000000, 17, 2}},
    };
    memcpy(bench->byte, "xxaabxxab", 9);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        find_ab(bench);
        put_shape(bench, &rows[i].shape);
        check_table(bench, 0, rows[i].name);
    }
    find_ab(bench);
    check_table(bench, 3, "a start state that is none");
    check_table(bench, 0xFFFFFFFF, "a start state far away");
    bench->word[5] = 3;
    check_table(bench, 0, "a target that is no state");
    find_ab(bench);
    bench->word[17 + 'b'] = 3;
    check_table(bench, 0, "a class that is none");
    find_ab(bench);
    bench->word[17 + 'q'] = 0xFFFFFFFF;
    is_u64(step(bench, 0, 0, 9).outcome, VYRE_DONE, "what is wrong for other bytes harms nobody");
}

static void small_tables(struct bench *bench)
{
    vyre_buffer *whole = bench->table, *small = NULL;
    vyre_error err;
    static const size_t sizes[] = {1, 19, 20, 24, 4 * (17 + 256) - 1};
    find_ab(bench);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        must(vyre_buffer_create(bench->rt, sizes[i], VYRE_DEVICE, &small, &err), &err);
        must(vyre_buffer_write(small, 0, bench->word, sizes[i], &err), &err);
        bench->table = small;
        check_table(bench, 0, "a table cut short");
        vyre_buffer_free(small);
    }
    must(vyre_buffer_create(bench->rt, 4 * (17 + 256), VYRE_DEVICE, &small, &err), &err);
    must(vyre_buffer_write(small, 0, bench->word, 4 * (17 + 256), &err), &err);
    bench->table = small;
    is_u64(step(bench, 0, 0, 9).result[0], 2, "a table that just fits");
    vyre_buffer_free(small);
    bench->table = whole;
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    struct bench bench = {.rt = open_cpu(2)};
    vyre_error err;
    void *memory;
    bench.queue = vyre_queue_default(bench.rt);
    must(vyre_buffer_create(bench.rt, TABLE_WORDS * 4, VYRE_PINNED, &bench.table, &err), &err);
    must(vyre_buffer_create(bench.rt, INPUT_BYTES, VYRE_PINNED, &bench.input, &err), &err);
    must(vyre_buffer_map(bench.table, &memory, &err), &err);
    bench.word = memory;
    must(vyre_buffer_map(bench.input, &memory, &err), &err);
    bench.byte = memory;
    for (uint32_t i = 0; i < INPUT_BYTES; i++)
        bench.byte[i] = (uint8_t)random_next(&seed);
    against_model(&bench, seed);
    edges(&bench);
    bad_tables(&bench);
    small_tables(&bench);
    vyre_close(bench.rt);
    return done();
}
