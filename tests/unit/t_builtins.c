/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The built-in operations on words, through a real queue: results, words, steps; at their edges and
 * against a model with random operands; in place (NORMAL) and through the run queues (LOW).
 */
#include "support.h"

enum { WORDS = 64 };

struct bench {
    vyre *rt;
    vyre_queue *queue;
    uint32_t tenant;
    uint32_t priority;
};

/* Runs one operation and returns its end. */
static vyre_completion run(struct bench *bench, uint32_t opcode, const uint32_t *args, size_t count)
{
    vyre_error err;
    vyre_slot *slot = next_slot(bench->queue);
    must(vyre_prep_op(slot, opcode, args, count, &err), &err);
    must(vyre_slot_priority(slot, bench->priority, &err), &err);
    return wait_for(bench->queue, submit(bench->queue));
}

#define RUN(bench, opcode, ...)                                                                    \
    run(bench, opcode, (uint32_t[]){__VA_ARGS__},                                                  \
        sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static bool done_with(const vyre_completion *end, uint32_t result0, uint32_t steps)
{
    bool rest = true;
    for (int i = 1; i < 8; i++)
        rest = rest && end->result[i] == 0;
    return end->outcome == VYRE_DONE && end->fault == 0 && end->pc == 0 &&
           end->out_of_bounds == 0 && end->steps == steps && end->result[0] == result0 && rest;
}

static uint32_t word(struct bench *bench, uint32_t index)
{
    return observable(bench->rt, bench->tenant, index);
}

static void by_hand(struct bench *bench)
{
    vyre_completion end = RUN(bench, VYRE_OP_NOP, 1, 2, 3);
    ok(done_with(&end, 0, 1) && end.opcode == VYRE_OP_NOP, "NOP ignores its arguments");
    end = RUN(bench, VYRE_OP_STORE_U32, 42, WORD(0));
    ok(done_with(&end, 0, 1) && word(bench, 0) == 42, "STORE_U32 into the first word");
    end = RUN(bench, VYRE_OP_STORE_U32, 43, WORD(WORDS - 1));
    ok(done_with(&end, 0, 1) && word(bench, WORDS - 1) == 43, "STORE_U32 into the last word");
    end = RUN(bench, VYRE_OP_ATOMIC_ADD, 0xFFFFFFFF, WORD(0));
    ok(done_with(&end, 42, 1) && word(bench, 0) == 41, "ATOMIC_ADD wraps and gives the old value");
    end = RUN(bench, VYRE_OP_LOAD_U32, WORD(0), 5);
    ok(done_with(&end, 41, 1) && word(bench, 5) == 41, "LOAD_U32: result and observable word");
    end = RUN(bench, VYRE_OP_LOAD_U32, WORD(WORDS - 1), WORDS - 1);
    ok(done_with(&end, 43, 1), "LOAD_U32 of the last word onto itself");
    end = RUN(bench, VYRE_OP_COMPARE_SWAP, WORD(0), 41, 99);
    ok(done_with(&end, 41, 1) && word(bench, 0) == 99, "COMPARE_SWAP that fits");
    end = RUN(bench, VYRE_OP_COMPARE_SWAP, WORD(0), 41, 7);
    ok(done_with(&end, 99, 1) && word(bench, 0) == 99, "COMPARE_SWAP that does not");
    end = RUN(bench, VYRE_OP_MEMCPY, WORD(0), WORD(1), 4);
    ok(done_with(&end, 0, 1), "MEMCPY");
    ok(word(bench, 1) == 99 && word(bench, 4) == 99 && word(bench, 5) == 41,
       "MEMCPY upwards over itself repeats the first word, and stops");
    end = RUN(bench, VYRE_OP_MEMCPY, WORD(0), WORD(WORDS / 2), WORDS / 2);
    ok(done_with(&end, 0, WORDS / 2 / 16), "MEMCPY of half the words costs a step each 16");
    end = RUN(bench, VYRE_OP_MEMCPY, 3, 0xFFFFFFFF, 0);
    ok(done_with(&end, 0, 1), "MEMCPY of nothing, from and to anywhere");
}

/* What must fault, each without an effect. */
static void out_of_range(struct bench *bench)
{
    static const struct {
        const char *name;
        uint32_t opcode, args[3];
    } rows[] = {
        {"STORE_U32 below", VYRE_OP_STORE_U32, {1, WORD(0) - 1, 0}},
        {"STORE_U32 above", VYRE_OP_STORE_U32, {1, WORD(WORDS), 0}},
        {"STORE_U32 word 0", VYRE_OP_STORE_U32, {1, 0, 0}},
        {"STORE_U32 last of all", VYRE_OP_STORE_U32, {1, 0xFFFFFFFF, 0}},
        {"ATOMIC_ADD below", VYRE_OP_ATOMIC_ADD, {1, WORD(0) - 1, 0}},
        {"ATOMIC_ADD above", VYRE_OP_ATOMIC_ADD, {1, WORD(WORDS), 0}},
        {"LOAD_U32 from below", VYRE_OP_LOAD_U32, {WORD(0) - 1, 0, 0}},
        {"LOAD_U32 from above", VYRE_OP_LOAD_U32, {WORD(WORDS), 0, 0}},
        {"LOAD_U32 to above", VYRE_OP_LOAD_U32, {WORD(0), WORDS, 0}},
        {"LOAD_U32 to a wrap", VYRE_OP_LOAD_U32, {WORD(0), 0u - WORD(0), 0}},
        {"COMPARE_SWAP below", VYRE_OP_COMPARE_SWAP, {WORD(0) - 1, 0, 1}},
        {"COMPARE_SWAP above", VYRE_OP_COMPARE_SWAP, {WORD(WORDS), 0, 1}},
        {"MEMCPY from below", VYRE_OP_MEMCPY, {WORD(0) - 1, WORD(0), 2}},
        {"MEMCPY to below", VYRE_OP_MEMCPY, {WORD(0), WORD(0) - 1, 2}},
        {"MEMCPY from past the end", VYRE_OP_MEMCPY, {WORD(WORDS - 1), WORD(0), 2}},
        {"MEMCPY to past the end", VYRE_OP_MEMCPY, {WORD(0), WORD(WORDS - 1), 2}},
        {"MEMCPY of far too much", VYRE_OP_MEMCPY, {WORD(0), WORD(0), 0xFFFFFFFF}},
    };
    uint32_t before[WORDS], after[WORDS];
    vyre_error err;
    must(vyre_tenant_observables(bench->rt, bench->tenant, 0, WORDS, before, &err), &err);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vyre_completion end = run(bench, rows[i].opcode, rows[i].args, 3);
        ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_WORD_RANGE &&
               end.opcode == rows[i].opcode,
           "%s faults", rows[i].name);
    }
    must(vyre_tenant_observables(bench->rt, bench->tenant, 0, WORDS, after, &err), &err);
    ok(memcmp(before, after, sizeof before) == 0, "none of them changed a word");
}

/* The operation as it is defined, on a model of the words. */
static uint32_t model(uint32_t *words, uint32_t opcode, const uint32_t *a)
{
    uint32_t old = 0;
    if (opcode == VYRE_OP_STORE_U32) words[a[1] - WORD(0)] = a[0];
    if (opcode == VYRE_OP_ATOMIC_ADD) {
        old = words[a[1] - WORD(0)];
        words[a[1] - WORD(0)] = old + a[0];
    }
    if (opcode == VYRE_OP_LOAD_U32) old = words[a[1]] = words[a[0] - WORD(0)];
    if (opcode == VYRE_OP_COMPARE_SWAP) {
        old = words[a[0] - WORD(0)];
        if (old == a[1]) words[a[0] - WORD(0)] = a[2];
    }
    for (uint32_t i = 0; opcode == VYRE_OP_MEMCPY && i < a[2]; i++)
        words[a[1] - WORD(0) + i] = words[a[0] - WORD(0) + i];
    return old;
}

static void against_model(struct bench *bench, uint64_t state)
{
    uint32_t words[WORDS], got[WORDS], wrong = 0;
    vyre_error err;
    must(vyre_tenant_observables(bench->rt, bench->tenant, 0, WORDS, words, &err), &err);
    for (int i = 0; i < 3000; i++) {
        uint32_t opcode = random_below(&state, 6), x = random_below(&state, WORDS);
        uint32_t y = random_below(&state, WORDS), value = random_below(&state, 3);
        uint32_t args[3] = {value, WORD(x), 0};
        if (opcode == VYRE_OP_LOAD_U32) args[0] = WORD(x), args[1] = y;
        if (opcode == VYRE_OP_COMPARE_SWAP) args[0] = WORD(x), args[1] = value, args[2] = y;
        if (opcode == VYRE_OP_MEMCPY) {
            args[0] = WORD(x);
            args[1] = WORD(y);
            args[2] = random_below(&state, WORDS - (x > y ? x : y) + 1);
        }
        uint32_t expected = model(words, opcode, args);
        vyre_completion end = run(bench, opcode, args, 3);
        wrong += end.outcome != VYRE_DONE || end.result[0] != expected;
    }
    must(vyre_tenant_observables(bench->rt, bench->tenant, 0, WORDS, got, &err), &err);
    is_u64(wrong, 0, "3000 random operations give what the model gives");
    ok(memcmp(words, got, sizeof words) == 0, "and leave the words it leaves");
}

static void reading_words(vyre *rt)
{
    uint32_t words[4] = {7, 7, 7, 7};
    vyre_error err;
    refused(vyre_tenant_observables(NULL, 0, 0, 1, words, &err), VYRE_E_NULL, &err, "no runtime");
    refused(vyre_tenant_observables(rt, 0, 0, 1, NULL, &err), VYRE_E_NULL, &err, "no place");
    refused(vyre_tenant_observables(rt, 32, 0, 1, words, &err), VYRE_E_RANGE, &err, "no tenant");
    refused(vyre_tenant_observables(rt, 0, WORDS, 1, words, &err), VYRE_E_RANGE, &err, "past it");
    refused(vyre_tenant_observables(rt, 0, WORDS - 1, 2, words, &err), VYRE_E_RANGE, &err,
            "across");
    refused(vyre_tenant_observables(rt, 0, 0xFFFFFFFF, 2, words, &err), VYRE_E_RANGE, &err,
            "wraps");
    ok(words[0] == 7 && words[3] == 7, "nothing was written");
    works(vyre_tenant_observables(rt, 0, WORDS, 0, words, &err), &err, "nothing, from the end");
    works(vyre_tenant_observables(rt, 0, WORDS - 4, 4, words, &err), &err, "the last four");
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre_options options = cpu_options(2);
    options.observable_words = WORDS;
    vyre *rt = open_with(&options);
    for (uint32_t priority = VYRE_PRIORITY_NORMAL; priority <= VYRE_PRIORITY_LOW; priority++) {
        uint32_t tenant = priority;
        struct bench bench = {rt, open_queue(rt, 16, tenant), tenant, priority};
        note("priority %u", priority);
        by_hand(&bench);
        out_of_range(&bench);
        against_model(&bench, seed + priority);
    }
    is_u64(observable(rt, 0, 0), 0, "another tenant's words are as they were");
    reading_words(rt);
    vyre_close(rt);
    return done();
}
