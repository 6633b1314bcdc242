/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Packed slots: decoding of every count and argument offset, every form that is refused, and what
 * running them does. Payloads are made here, byte by byte, and lie in an allocation of exactly 48
 * bytes.
 */
#include "device_fixture.h"

#define WORDS 64u
#define FIRST VYRE_CONTROL_OBSERVABLE

/* A payload while it is made. */
struct payload {
    uint8_t byte[48];
    uint32_t count, total;
    uint32_t words[48];
};

static void add_op(struct payload *p, uint32_t opcode, const uint32_t *args, uint32_t count)
{
    p->byte[2 + 2 * p->count] = (uint8_t)opcode;
    p->byte[3 + 2 * p->count] = (uint8_t)p->total;
    p->count++;
    for (uint32_t i = 0; i < count; i++)
        p->words[p->total++] = args[i];
}

#define ADD_OP(p, opcode, ...)                                                                     \
    add_op(p, opcode, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* The twelve argument words; the caller frees them. */
static uint32_t *finish(struct payload *p)
{
    uint32_t *arg = fixture_alloc(12, 4);
    uint32_t header = (2 + 2 * p->count + 3) / 4;
    p->byte[0] = (uint8_t)p->count;
    p->byte[1] = (uint8_t)p->total;
    if (header + p->total > 12) bail("the test made too large a payload");
    for (uint32_t i = 0; i < 12; i++)
        arg[i] = p->byte[4 * i] | (uint32_t)p->byte[4 * i + 1] << 8 |
                 (uint32_t)p->byte[4 * i + 2] << 16 | (uint32_t)p->byte[4 * i + 3] << 24;
    for (uint32_t i = 0; i < p->total; i++)
        arg[header + i] = p->words[i];
    return arg;
}

static uint32_t run(struct fixture *f, struct payload *p)
{
    uint32_t *arg = finish(p);
    uint32_t fault = fixture_run(f, 1, VYRE_OP_PACKED_SLOT, arg, 12);
    free(arg);
    return fault;
}

/* Each count from 0 to 23, the words that are left given to its operations from the last on. */
static void test_counts(void)
{
    for (uint32_t n = 0; n <= 23; n++) {
        struct payload p = {0};
        struct dev_packed packed;
        uint32_t room = 12 - (2 + 2 * n + 3) / 4, bad = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t mine = i + 1 == n ? room - p.total : (room - p.total) / (n - i);
            uint32_t args[12] = {100 * i, 100 * i + 1, 100 * i + 2, 100 * i + 3, 100 * i + 4};
            add_op(&p, 8 + i, args, mine > 5 ? 5 : mine);
        }
        uint32_t *arg = finish(&p);
        is_u64(dev_packed_open(&packed, arg), 0, "%u operations are opened", n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t opcode = 0, out[12], offset = p.byte[3 + 2 * i];
            bad += dev_packed_op(&packed, i, &opcode, out) != 0 || opcode != 8 + i;
            for (uint32_t k = 0; k < 12; k++)
                bad += out[k] != (offset + k < p.total ? p.words[offset + k] : 0);
        }
        uint32_t opcode, out[12];
        is_u64(bad, 0, "%u operations are decoded", n);
        is_u64(dev_packed_op(&packed, n, &opcode, out), VYRE_FAULT_PACKED_FORM, "there is no more");
        free(arg);
    }
}

/* All values of the two header bytes. */
static void test_headers(void)
{
    uint32_t *arg = fixture_alloc(12, 4), wrong = 0, accepted = 0;
    for (uint32_t n = 0; n < 256; n++) {
        for (uint32_t total = 0; total < 256; total++) {
            struct dev_packed packed;
            arg[0] = n | total << 8;
            uint32_t fits = (2 + 2 * n + 3) / 4 + total <= 12;
            wrong += dev_packed_open(&packed, arg) != (fits ? 0 : VYRE_FAULT_PACKED_FORM);
            dev_packed_has_fence(arg);
            accepted += fits;
        }
    }
    is_u64(wrong, 0, "of all headers those that fit are accepted");
    is_u64(accepted, 2 * (12 * 13 / 2), "two counts for each header length");
    free(arg);
}

/* Each built-in at each offset, each count of argument words: it must fit to the last word. */
static void test_offsets(void)
{
    uint32_t *arg = fixture_alloc(12, 4), wrong = 0;
    for (uint32_t opcode = 0; opcode < 16; opcode++) {
        uint32_t needed = opcode < 8 ? dev_builtins[opcode].args : 0;
        for (uint32_t total = 0; total <= 11; total++) {
            for (uint32_t offset = 0; offset < 256; offset++) {
                struct dev_packed packed;
                arg[0] = 1 | total << 8 | opcode << 16 | offset << 24;
                uint32_t fits = offset + needed <= total;
                wrong += dev_packed_open(&packed, arg) != (fits ? 0 : VYRE_FAULT_PACKED_FORM);
            }
        }
    }
    is_u64(wrong, 0, "arguments must lie within the argument words");
    arg[0] = 2 | 2 << 8 | VYRE_OP_NOP << 16;
    arg[1] = VYRE_OP_STORE_U32 | 1 << 8;
    struct dev_packed packed;
    is_u64(dev_packed_open(&packed, arg), VYRE_FAULT_PACKED_FORM, "the second operation is bad");
    is_u64(packed.bad, 1, "and named");
    free(arg);
}

static void test_random_payloads(uint64_t *seed)
{
    uint32_t *arg = fixture_alloc(12, 4), opened = 0, refused = 0, wrong = 0;
    for (uint32_t i = 0; i < 50000; i++) {
        struct dev_packed packed;
        uint32_t opcode = 0, out[12], fence = 0;
        for (uint32_t k = 0; k < 12; k++)
            arg[k] = fixture_random(seed) & (i % 2 ? 0x03030303u : 0xFFFFFFFFu);
        if (i % 3 == 0) arg[0] = (arg[0] & 0xFFFF0000u) | arg[0] % 8 | arg[1] % 8 << 8;
        if (dev_packed_open(&packed, arg) != 0) {
            refused++;
            continue;
        }
        opened++;
        for (uint32_t k = 0; k < packed.count; k++) {
            wrong += dev_packed_op(&packed, k, &opcode, out) != 0;
            fence |= opcode == VYRE_OP_BATCH_FENCE;
        }
        wrong += (uint32_t)dev_packed_has_fence(arg) != fence;
    }
    is_u64(wrong, 0, "random payloads: %u opened, %u refused", opened, refused);
    ok(opened > 1000 && refused > 1000, "enough of both");
    free(arg);
}

/* Twenty-three operations without arguments, and five with some in the last words. */
static void test_run_many(struct fixture *f)
{
    struct payload nops = {0};
    for (uint32_t i = 0; i < 23; i++)
        add_op(&nops, VYRE_OP_NOP, NULL, 0);
    is_u64(run(f, &nops), 0, "23 operations");
    is_u64(f->call.result[0], 23, "all ran");
    is_u64(f->call.steps, 23, "the steps add up");
    is_u64(f->rt.control[VYRE_CONTROL_METRICS + VYRE_OP_NOP], 23, "each was counted");

    struct payload five = {0};
    ADD_OP(&five, VYRE_OP_STORE_U32, 10, FIRST + 1);
    ADD_OP(&five, VYRE_OP_ATOMIC_ADD, 5, FIRST + 1);
    add_op(&five, VYRE_OP_NOP, NULL, 0);
    ADD_OP(&five, VYRE_OP_COMPARE_SWAP, FIRST + 1, 15, 16);
    ADD_OP(&five, VYRE_OP_LOAD_U32, FIRST + 1, 7);
    is_u64(five.total + 3, 12, "the last argument is in the last word");
    is_u64(run(f, &five), 0, "5 operations");
    is_u64(*fixture_word(f, 1, 1), 16, "ran in their order");
    is_u64(*fixture_word(f, 1, 7), 16, "to the last one");
    is_u64(f->call.result[0], 5, "all are reported");
    is_u64(f->call.result[1], 0, "and nothing else");
    is_u64(f->rt.control[VYRE_CONTROL_METRICS + VYRE_OP_LOAD_U32], 1, "inner ones are counted");

    struct payload none = {0};
    is_u64(run(f, &none), 0, "no operation at all");
    is_u64(f->call.result[0], 0, "none ran");
    is_u64(f->call.steps, 1, "and it cost one step");
}

static void test_fence(struct fixture *f)
{
    struct payload p = {0};
    ADD_OP(&p, VYRE_OP_STORE_U32, 3, FIRST + 2);
    ADD_OP(&p, VYRE_OP_BATCH_FENCE, 1, 0xABC);
    uint32_t *arg = finish(&p);
    is_u64(dev_packed_has_fence(arg), 1, "a payload with a fence");
    arg[1] = 0;
    is_u64(dev_packed_has_fence(arg), 0, "one without");
    free(arg);
    is_u64(run(f, &p), 0, "a packed fence");
    is_u64(f->rt.control[VYRE_CONTROL_EPOCH], 1, "moves the epoch");
    is_u64(*fixture_word(f, 1, 0), 0xABC, "and writes its tag");
}

/* The operation that fails is each of four in turn. */
static void test_failure(struct fixture *f)
{
    for (uint32_t bad = 0; bad < 4; bad++) {
        struct payload p = {0};
        memset(fixture_word(f, 1, 0), 0, WORDS * 4);
        for (uint32_t i = 0; i < 4; i++)
            ADD_OP(&p, VYRE_OP_STORE_U32, 1, i == bad ? FIRST + WORDS : FIRST + i);
        is_u64(run(f, &p), VYRE_FAULT_WORD_RANGE, "operation %u fails", bad);
        is_u64(f->pc, bad, "pc names it");
        is_u64(f->call.result[0], bad, "those before it ran");
        is_u64(f->call.steps, bad + 1, "and were paid for, as was it");
        uint32_t stored = 0;
        for (uint32_t i = 0; i < 4; i++)
            stored += *fixture_word(f, 1, i);
        is_u64(stored, bad, "those after it did not");
    }
}

static uint32_t seen[12], calls;

static uint32_t native(vyre_call *call)
{
    calls++;
    memcpy(seen, call->args, sizeof seen);
    call->result[0] = 1234;
    call->result[1] = 5678;
    return call->args[0] == 99 ? 31337 : 0;
}

static uint32_t native_stopper(vyre_call *call)
{
    struct dev_native_call *self = (struct dev_native_call *)call;
    self->call->entry->cancel = VYRE_FAULT_CANCELLED;
    return 0;
}

static void test_native(struct fixture *f)
{
    fixture_operation(f, 1, 255, native)->steps = 0xFFFFFFF0u;
    fixture_operation(f, 2, 8, native_stopper);
    struct payload p = {0};
    ADD_OP(&p, VYRE_OP_STORE_U32, 3, FIRST);
    ADD_OP(&p, 255, 1, 2, 3);
    ADD_OP(&p, VYRE_OP_STORE_U32, 4, FIRST + 1);
    is_u64(run(f, &p), 0, "a native operation among others");
    is_u64(calls, 1, "is called");
    static const uint32_t expected[12] = {1, 2, 3, 4, FIRST + 1};
    ok(memcmp(seen, expected, sizeof seen) == 0, "with the words up to the last, then zeros");
    is_u64(f->call.result[0], 3, "the results are the packed slot's");
    is_u64(f->call.result[1], 0, "not the operation's");
    is_u64(f->call.steps, 0xFFFFFFF2u, "its steps are added");

    struct payload failing = {0};
    ADD_OP(&failing, 255, 1);
    ADD_OP(&failing, 255, 99);
    ADD_OP(&failing, 255, 1);
    is_u64(run(f, &failing), VYRE_FAULT_OPERATION, "one that fails");
    is_u64(calls, 3, "ends the slot");
    is_u64(f->pc, 1, "pc is its index");
    is_u64(f->call.result[0], 1, "result 0 how many ran");
    is_u64(f->call.result[1], 31337, "result 1 its code");
    is_u64(f->call.steps, 0xFFFFFFFFu, "steps do not wrap");

    struct payload stopped = {0};
    ADD_OP(&stopped, VYRE_OP_STORE_U32, 8, FIRST);
    ADD_OP(&stopped, 8, 0);
    ADD_OP(&stopped, VYRE_OP_STORE_U32, 9, FIRST);
    is_u64(run(f, &stopped), VYRE_FAULT_CANCELLED, "cancelled between two operations");
    is_u64(f->pc, 2, "before the third");
    is_u64(*fixture_word(f, 1, 0), 8, "which did not run");
    f->entry.cancel = 0;
}

/* What is wrong with the form, the opcodes or the handles is found before anything runs. */
static void test_refused(struct fixture *f)
{
    uint32_t before = *fixture_word(f, 1, 0);
    struct payload unknown = {0};
    ADD_OP(&unknown, VYRE_OP_STORE_U32, 77, FIRST);
    ADD_OP(&unknown, 200, 1);
    is_u64(run(f, &unknown), VYRE_FAULT_UNKNOWN_OPCODE, "an unknown opcode");
    is_u64(f->pc, 1, "is named");
    struct payload handle = {0};
    ADD_OP(&handle, VYRE_OP_STORE_U32, 77, FIRST);
    ADD_OP(&handle, VYRE_OP_DFA_STEP, 0, 0, 0, 0, 0, 0);
    is_u64(run(f, &handle), VYRE_FAULT_BAD_HANDLE, "a bad handle");
    is_u64(f->pc, 1, "is named");
    struct payload form = {0};
    ADD_OP(&form, VYRE_OP_STORE_U32, 77, FIRST);
    ADD_OP(&form, VYRE_OP_STORE_U32, 77);
    is_u64(run(f, &form), VYRE_FAULT_PACKED_FORM, "an operation without its arguments");
    is_u64(f->pc, 1, "is named");
    is_u64(f->call.steps, 0, "nothing was paid");
    is_u64(*fixture_word(f, 1, 0), before, "and nothing ran");
}

/* DFA_STEP with all its six arguments, the last in the last word. */
static void test_dfa(struct fixture *f)
{
    static const uint32_t meta[] = {5, 6, 1, 7, 1, 0, 1};
    uint32_t table = fixture_buffer(f, 3, 1, (7 + 256) * 4);
    uint32_t input = fixture_buffer(f, 4, 1, 128);
    struct payload p = {0};
    memcpy(fixture_bytes(f, table), meta, sizeof meta);
    for (uint32_t i = 0; i < 6; i++)
        add_op(&p, VYRE_OP_NOP, NULL, 0);
    ADD_OP(&p, VYRE_OP_DFA_STEP, table, 0, input, 0, 0, 128);
    is_u64(run(f, &p), 0, "a packed DFA_STEP");
    is_u64(f->call.result[0], 7, "ran behind six others");
    is_u64(f->call.steps, 8, "for two steps");
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    struct fixture f;
    test_counts();
    test_headers();
    test_offsets();
    test_random_payloads(&seed);
    fixture_open(&f, WORDS);
    test_run_many(&f);
    test_fence(&f);
    test_failure(&f);
    test_native(&f);
    test_refused(&f);
    test_dfa(&f);
    fixture_close(&f);
    return done();
}
