/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The built-in operations one by one: effect, results, faults, steps, bounds at their edges; then
 * random slots against a model.
 */
#include "device_fixture.h"

#define WORDS 200u
#define FIRST VYRE_CONTROL_OBSERVABLE
#define LAST  (FIRST + WORDS - 1)

/* What any slot can end with. */
#define ANY (DEV_FAULT_BIT(CANCELLED) | DEV_FAULT_BIT(DEADLINE) | DEV_FAULT_BIT(STOPPED))

static uint32_t rows_run; /* bit i: row i of builtins.def was run */

static uint32_t run(struct fixture *f, uint32_t opcode, uint32_t a, uint32_t b, uint32_t c)
{
    const struct dev_builtin *row = dev_builtin_find(opcode);
    uint32_t fault = FIXTURE_RUN(f, 1, opcode, a, b, c);
    if (row) rows_run |= 1u << (row - dev_builtins);
    if (row && fault && ((row->faults | ANY) >> fault & 1) == 0)
        ok(0, "opcode %u may end with fault %u", opcode, fault);
    return fault;
}

static void test_table(void)
{
    int found = 1;
    for (uint32_t i = 0; i < DEV_BUILTINS; i++)
        found &= dev_builtin_find(dev_builtins[i].opcode) == &dev_builtins[i];
    ok(found, "every row is found by its opcode");
    ok(dev_builtin_find(8) == NULL && dev_builtin_find(0xFFFCu) == NULL &&
           dev_builtin_find(0x80000000u) == NULL && dev_builtin_find(0xFFFFFFFEu) == NULL,
       "other opcodes are not built in");
}

static void test_small(void)
{
    static const struct {
        uint32_t opcode, count;
        int small;
    } cases[] = {
        {VYRE_OP_NOP, 0, 1},         {VYRE_OP_COMPARE_SWAP, 0, 1}, {VYRE_OP_MEMCPY, 0, 1},
        {VYRE_OP_MEMCPY, 64, 1},     {VYRE_OP_MEMCPY, 65, 0},      {VYRE_OP_MEMCPY, ~0u, 0},
        {VYRE_OP_DFA_STEP, 0, 0},    {VYRE_OP_BATCH_FENCE, 0, 0},  {VYRE_OP_PRINTF, 0, 1},
        {VYRE_OP_PACKED_SLOT, 0, 1}, {VYRE_OP_SHUTDOWN, 0, 1},     {VYRE_OP_LOAD_MISS, 0, 0},
        {VYRE_OP_USER_FIRST, 0, 0},  {0x7FFFFFFFu, 0, 0},          {0xFFFFFFFEu, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t arg[VYRE_SLOT_ARGS] = {0, 0, cases[i].count};
        is_u64(dev_builtin_small(cases[i].opcode, arg), cases[i].small,
               "opcode %u with arg2 %u is %ssmall", cases[i].opcode, cases[i].count,
               cases[i].small ? "" : "not ");
    }
    uint32_t two[VYRE_SLOT_ARGS] = {0x00010002u, VYRE_OP_COMPARE_SWAP};
    is_u64(dev_builtin_small(VYRE_OP_PACKED_SLOT, two), 1, "two small operations packed are small");
    two[1] = VYRE_OP_MEMCPY;
    is_u64(dev_builtin_small(VYRE_OP_PACKED_SLOT, two), 0, "not if one of them is MEMCPY");
    uint32_t many[VYRE_SLOT_ARGS] = {24};
    is_u64(dev_builtin_small(VYRE_OP_PACKED_SLOT, many), 0, "nor a header that does not fit");
}

static void test_store(struct fixture *f)
{
    is_u64(run(f, VYRE_OP_STORE_U32, 7, FIRST, 0), 0, "STORE_U32 to the first word");
    is_u64(run(f, VYRE_OP_STORE_U32, 8, LAST, 0), 0, "STORE_U32 to the last word");
    is_u64(f->call.steps, 1, "costs one step");
    is_u64(*fixture_word(f, 1, 0), 7, "the first word is written");
    is_u64(*fixture_word(f, 1, WORDS - 1), 8, "the last word is written");
    ok(*fixture_word(f, 0, WORDS - 1) == 0 && *fixture_word(f, 2, 0) == 0,
       "the neighbours' words are not");
    static const uint32_t outside[] = {0, 1, 96, 128, FIRST - 1, LAST + 1, 0x7FFFFFFFu, ~0u};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        is_u64(run(f, VYRE_OP_STORE_U32, 9, outside[i], 0), VYRE_FAULT_WORD_RANGE,
               "STORE_U32 to word %u", outside[i]);
    ok(*fixture_word(f, 0, WORDS - 1) == 0 && *fixture_word(f, 2, 0) == 0 &&
           f->rt.control[128] == 0,
       "nothing was written outside");
}

static void test_add(struct fixture *f)
{
    *fixture_word(f, 1, 3) = 0xFFFFFFFEu;
    is_u64(run(f, VYRE_OP_ATOMIC_ADD, 5, FIRST + 3, 0), 0, "ATOMIC_ADD");
    is_u64(*fixture_word(f, 1, 3), 3, "adds modulo 2^32");
    is_u64(f->call.result[0], 0xFFFFFFFEu, "gives the value before");
    is_u64(run(f, VYRE_OP_ATOMIC_ADD, 5, LAST + 1, 0), VYRE_FAULT_WORD_RANGE, "above the last");
    is_u64(run(f, VYRE_OP_ATOMIC_ADD, 5, FIRST - 1, 0), VYRE_FAULT_WORD_RANGE, "below the first");
    is_u64(f->call.result[0], 0, "a fault has no result");
    is_u64(f->call.steps, 1, "and costs one step");
}

static void test_load(struct fixture *f)
{
    *fixture_word(f, 1, 4) = 44;
    is_u64(run(f, VYRE_OP_LOAD_U32, FIRST + 4, WORDS - 1, 0), 0, "LOAD_U32");
    is_u64(f->call.result[0], 44, "gives what it found");
    is_u64(*fixture_word(f, 1, WORDS - 1), 44, "and writes it to the observable word");
    is_u64(run(f, VYRE_OP_LOAD_U32, FIRST + 4, WORDS, 0), VYRE_FAULT_WORD_RANGE,
           "into the word after the last");
    is_u64(run(f, VYRE_OP_LOAD_U32, FIRST + 4, ~0u, 0), VYRE_FAULT_WORD_RANGE,
           "into an index that wraps");
    *fixture_word(f, 1, 6) = 66;
    is_u64(run(f, VYRE_OP_LOAD_U32, FIRST - 1, 6, 0), VYRE_FAULT_WORD_RANGE, "from the header");
    is_u64(run(f, VYRE_OP_LOAD_U32, LAST + 1, 6, 0), VYRE_FAULT_WORD_RANGE, "from past the end");
    is_u64(*fixture_word(f, 1, 6), 66, "a fault writes nothing");
    is_u64(f->call.result[0], 0, "and gives nothing");
}

static void test_swap(struct fixture *f)
{
    memset(fixture_word(f, 1, 0), 0, WORDS * 4);
    *fixture_word(f, 1, 2) = 5;
    is_u64(run(f, VYRE_OP_COMPARE_SWAP, FIRST + 2, 5, 6), 0, "COMPARE_SWAP that fits");
    is_u64(f->call.result[0], 5, "gives what it found");
    is_u64(*fixture_word(f, 1, 2), 6, "and swaps");
    is_u64(run(f, VYRE_OP_COMPARE_SWAP, FIRST + 2, 5, 7), 0, "COMPARE_SWAP that does not fit");
    is_u64(f->call.result[0], 6, "gives what it found");
    is_u64(*fixture_word(f, 1, 2), 6, "and leaves it");
    uint32_t others = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        others |= i == 2 ? 0 : *fixture_word(f, 1, i);
    is_u64(others, 0, "no second word is written");
    is_u64(run(f, VYRE_OP_COMPARE_SWAP, FIRST - 1, 0, 1), VYRE_FAULT_WORD_RANGE, "in the header");
    is_u64(run(f, VYRE_OP_COMPARE_SWAP, LAST + 1, 0, 1), VYRE_FAULT_WORD_RANGE, "past the end");
}

static void number_words(struct fixture *f)
{
    for (uint32_t i = 0; i < WORDS; i++)
        *fixture_word(f, 1, i) = i + 1;
}

static void test_copy(struct fixture *f)
{
    static const struct {
        uint32_t from, to, count, fault, steps;
    } cases[] = {
        {FIRST, FIRST + 100, 100, 0, 7},
        {FIRST + 1, FIRST, WORDS - 1, 0, 13},
        {FIRST, FIRST + 1, WORDS - 1, 0, 13},
        {FIRST, FIRST, WORDS, 0, 13},
        {LAST, FIRST, 1, 0, 1},
        {FIRST, LAST, 1, 0, 1},
        {FIRST, FIRST + 20, 16, 0, 1},
        {FIRST, FIRST + 20, 17, 0, 2},
        {0, 0, 0, 0, 1},
        {LAST + 1, ~0u, 0, 0, 1},
        {FIRST - 1, FIRST, 1, VYRE_FAULT_WORD_RANGE, 1},
        {FIRST, FIRST - 1, 2, VYRE_FAULT_WORD_RANGE, 1},
        {FIRST, FIRST + 1, WORDS, VYRE_FAULT_WORD_RANGE, 1},
        {FIRST + 1, FIRST, WORDS, VYRE_FAULT_WORD_RANGE, 1},
        {LAST, FIRST, 2, VYRE_FAULT_WORD_RANGE, 1},
        {LAST + 1, FIRST, 1, VYRE_FAULT_WORD_RANGE, 1},
        {FIRST, FIRST, ~0u, VYRE_FAULT_WORD_RANGE, 1},
        {FIRST + 4, FIRST, 0xFFFFFFFCu, VYRE_FAULT_WORD_RANGE, 1},
        {~0u, FIRST, 2, VYRE_FAULT_WORD_RANGE, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t expected[WORDS];
        number_words(f);
        memcpy(expected, fixture_word(f, 1, 0), sizeof expected);
        for (uint32_t k = 0; !cases[i].fault && k < cases[i].count; k++)
            expected[cases[i].to - FIRST + k] = expected[cases[i].from - FIRST + k];
        is_u64(run(f, VYRE_OP_MEMCPY, cases[i].from, cases[i].to, cases[i].count), cases[i].fault,
               "MEMCPY of %u words from %u to %u", cases[i].count, cases[i].from, cases[i].to);
        is_u64(f->call.steps, cases[i].steps, "costs %u steps", cases[i].steps);
        ok(memcmp(expected, fixture_word(f, 1, 0), sizeof expected) == 0, "copies upwards, or not");
    }
}

/* A copy of 10,000 words that is to end early: the first 4,096 are copied, no more. */
static void test_long_copy(void)
{
    struct fixture f;
    fixture_open(&f, 20000);
    for (int why = 0; why < 4; why++) {
        static const uint32_t faults[] = {0, VYRE_FAULT_CANCELLED, VYRE_FAULT_DEADLINE,
                                          VYRE_FAULT_STOPPED};
        for (uint32_t i = 0; i < 20000; i++)
            *fixture_word(&f, 1, i) = i < 10000;
        f.entry.cancel = why == 1 ? VYRE_FAULT_CANCELLED : 0;
        f.entry.deadline_ns = why == 2 ? 1 : why == 0 ? UINT64_MAX : 0;
        f.rt.shutdown = why == 3;
        is_u64(run(&f, VYRE_OP_MEMCPY, FIRST, FIRST + 10000, 10000), faults[why],
               "a long MEMCPY, wish %d", why);
        uint32_t copied = 0;
        for (uint32_t i = 10000; i < 20000; i++)
            copied += *fixture_word(&f, 1, i);
        is_u64(copied, why == 0 ? 10000 : 4096, "words copied");
        is_u64(f.call.steps, why == 0 ? 625 : 256, "steps paid");
        is_u64(run(&f, VYRE_OP_MEMCPY, FIRST, FIRST + 10000, 4096), 0, "a shorter one ends");
    }
    fixture_close(&f);
}

static void test_fence(struct fixture *f)
{
    uint32_t epoch = f->rt.control[VYRE_CONTROL_EPOCH];
    is_u64(run(f, VYRE_OP_BATCH_FENCE, 9, 0xBEEF, 0), 0, "BATCH_FENCE");
    is_u64(f->rt.control[VYRE_CONTROL_EPOCH], epoch + 1, "adds 1 to the epoch");
    is_u64(*fixture_word(f, 1, 0), 0xBEEF, "writes its tag");
    ok(*fixture_word(f, 0, 0) != 0xBEEF && *fixture_word(f, 2, 0) != 0xBEEF, "for its tenant only");
}

static void test_system(struct fixture *f)
{
    is_u64(run(f, VYRE_OP_NOP, 0, 0, 0), 0, "NOP");
    is_u64(f->call.steps, 1, "costs one step");
    is_u64(run(f, VYRE_OP_SHUTDOWN, 0, 0, 0), VYRE_FAULT_NOT_PERMITTED, "SHUTDOWN");
    is_u64(f->rt.shutdown, 0, "stops nothing");
    is_u64(f->rt.control[VYRE_CONTROL_SHUTDOWN], 0, "and says nothing");
    is_u64(run(f, VYRE_OP_LOAD_MISS, 0, 0, 0), VYRE_FAULT_UNKNOWN_OPCODE, "LOAD_MISS");
    is_u64(run(f, 8, 0, 0, 0), VYRE_FAULT_UNKNOWN_OPCODE, "an opcode nobody registered");
    is_u64(run(f, 0x40000000u, 0, 0, 0), VYRE_FAULT_UNKNOWN_OPCODE, "another");
    is_u64(run(f, 0xFFFFFFFEu, 0, 0, 0), VYRE_FAULT_UNKNOWN_OPCODE, "one of the system's");
    is_u64(run(f, VYRE_OP_PACKED_SLOT, 0, 0, 0), 0, "an empty PACKED_SLOT");
    is_u64(f->call.steps, 1, "costs one step");
}

/* DFA_STEP over four bytes with one state; t_device_dfa.c has the rest. */
static void test_dfa(struct fixture *f)
{
    static const uint32_t meta[] = {5, 6, 1, 7, 1, 0, 1};
    uint32_t table = fixture_buffer(f, 3, 1, (7 + 256) * 4);
    uint32_t input = fixture_buffer(f, 4, 1, 4);
    memcpy(fixture_bytes(f, table), meta, sizeof meta);
    is_u64(FIXTURE_RUN(f, 1, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 4), 0, "DFA_STEP");
    ok(f->call.result[0] == 0 && f->call.result[1] == 1 && f->call.result[2] == 1,
       "accepts after the first byte");
    rows_run |= 1u << DEV_BUILTIN_DFA_STEP;
}

static uint32_t native_seen[4];

static uint32_t native(vyre_call *call)
{
    native_seen[0]++;
    native_seen[1] = call->opcode == 1000 && call->tenant == 1 && call->ticket == FIXTURE_TICKET &&
                     call->ctx == native_seen;
    native_seen[2] = call->args[11];
    for (uint32_t i = 0; i < VYRE_COMPLETION_RESULTS; i++)
        call->result[i] = i + 1;
    return call->args[0];
}

static void test_native(struct fixture *f)
{
    static const uint32_t args[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct dev_handle *operation = fixture_operation(f, 9, 1000, native);
    operation->ctx = (uint64_t)(uintptr_t)native_seen;
    operation->steps = 77;
    is_u64(fixture_run(f, 1, 1000, args, 12), 0, "a native operation");
    ok(native_seen[0] == 1 && native_seen[1], "is called once, with its call");
    is_u64(native_seen[2], 11, "with twelve arguments");
    ok(f->call.result[0] == 1 && f->call.result[7] == 8, "fills the results");
    is_u64(f->call.steps, 77, "costs what was said");
    is_u64(FIXTURE_RUN(f, 1, 1000, 42), VYRE_FAULT_OPERATION, "one that fails");
    is_u64(f->pc, 42, "leaves its code in pc");
    operation->owner = 2;
    is_u64(FIXTURE_RUN(f, 1, 1000, 0), VYRE_FAULT_UNKNOWN_OPCODE, "another tenant's is unknown");
    is_u64(FIXTURE_RUN(f, 2, 1000, 0), 0, "the owner's is not");
    dev_opcode_remove(&f->rt, 1000);
    operation->kind = DEV_FREE;
    is_u64(native_seen[0], 3, "no other call was made");
    is_u64(f->rt.control[VYRE_CONTROL_METRICS + 0], 0, "whoever runs a plain slot counts it");
}

/* What a slot of the word operations does, said once more in the plainest way. */
static uint32_t model(uint32_t *word, const uint32_t *a, uint32_t opcode, uint32_t *result)
{
    uint64_t w = (uint64_t)a[0] - FIRST, v = (uint64_t)a[1] - FIRST;
    *result = 0;
    if (opcode == VYRE_OP_STORE_U32 || opcode == VYRE_OP_ATOMIC_ADD) {
        if (v >= WORDS) return VYRE_FAULT_WORD_RANGE;
        *result = opcode == VYRE_OP_ATOMIC_ADD ? word[v] : 0;
        word[v] = *result + a[0];
    } else if (opcode == VYRE_OP_LOAD_U32) {
        if (w >= WORDS || a[1] >= WORDS) return VYRE_FAULT_WORD_RANGE;
        *result = word[a[1]] = word[w];
    } else if (opcode == VYRE_OP_COMPARE_SWAP) {
        if (w >= WORDS) return VYRE_FAULT_WORD_RANGE;
        *result = word[w];
        if (word[w] == a[1]) word[w] = a[2];
    } else if (opcode == VYRE_OP_MEMCPY && a[2] != 0) {
        if (w >= WORDS || v >= WORDS || w + a[2] > WORDS || v + a[2] > WORDS)
            return VYRE_FAULT_WORD_RANGE;
        for (uint32_t i = 0; i < a[2]; i++)
            word[v + i] = word[w + i];
    }
    return 0;
}

static void test_random(struct fixture *f, uint64_t seed)
{
    uint32_t word[WORDS], other[WORDS], wrong = 0, faults = 0;
    memcpy(word, fixture_word(f, 1, 0), sizeof word);
    memcpy(other, fixture_word(f, 2, 0), sizeof other);
    for (uint32_t n = 0; n < 20000; n++) {
        uint32_t a[3], result;
        uint32_t opcode = fixture_random(&seed) % 6;
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t kind = fixture_random(&seed) % 16, value = fixture_random(&seed);
            a[i] = kind == 0 ? value : kind < 4 ? value % 8 : FIRST - 4 + value % (WORDS + 8);
        }
        if (opcode == VYRE_OP_MEMCPY) a[2] %= WORDS;
        uint32_t expected = model(word, a, opcode, &result);
        uint32_t fault = FIXTURE_RUN(f, 1, opcode, a[0], a[1], a[2]);
        faults += fault != 0;
        wrong += fault != expected || f->call.result[0] != result ||
                 memcmp(word, fixture_word(f, 1, 0), sizeof word) != 0;
    }
    is_u64(wrong, 0, "20000 random slots do what the model does (%u faults)", faults);
    ok(faults > 1000 && faults < 19000, "some of them fault, some do not");
    ok(memcmp(other, fixture_word(f, 2, 0), sizeof other) == 0, "and leave other tenants alone");
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    struct fixture f;
    fixture_open(&f, WORDS);
    test_table();
    test_small();
    test_store(&f);
    test_add(&f);
    test_load(&f);
    test_swap(&f);
    test_copy(&f);
    test_long_copy();
    test_fence(&f);
    test_system(&f);
    test_dfa(&f);
    test_native(&f);
    is_u64(run(&f, VYRE_OP_PRINTF, 1, 2, 3), 0, "PRINTF (see t_device_log.c)");
    is_u64(rows_run, (1u << DEV_BUILTINS) - 1, "every row of builtins.def was run");
    test_random(&f, seed);
    fixture_close(&f);
    return done();
}
