/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Native operations in CUDA C: several functions of one image, registered, run by thousands of
 * slots, refused, cancelled, packed, kept to a tenant, taken away, registered again, and linked
 * again by a device host that takes the place of one that was killed. Where the device is no GPU
 * only the refusals are tested.
 */
#include "gpu.h"

#include <signal.h>

enum { MIX = 200, LANES = 201, ANSWER = 0x10000, LINGER = 0x10001, OTHER = 0x10002 };
enum { PARTS = 64, PART_WORDS = 1024, WORDS = PARTS * PART_WORDS, MIX_STEPS = 7 };

/* The compiled file, with a NUL behind it that is no part of it. */
__asm__(".pushsection .rodata\n"
        ".globl native_image\n"
        "native_image:\n"
        ".incbin \"" NATIVE_PTX "\"\n"
        ".globl native_image_end\n"
        "native_image_end:\n"
        ".byte 0\n"
        ".popsection\n");
extern const char native_image[], native_image_end[];

struct rig {
    vyre *rt;
    vyre_queue *queue;
    vyre_buffer *in, *out, *pinned;
    volatile uint32_t *begun; /* word 0 of the pinned buffer */
    uint64_t seed;
};

static uint32_t in_word[WORDS], out_word[WORDS], expected[WORDS];

static vyre_operation_options image_options(uint32_t opcode, const char *function)
{
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    how.opcode = opcode;
    how.image = native_image;
    how.image_bytes = (size_t)((uintptr_t)native_image_end - (uintptr_t)native_image);
    how.function = function;
    return how;
}

static vyre_operation *add(vyre *rt, const vyre_operation_options *how)
{
    vyre_operation *operation = NULL;
    vyre_error err;
    must(vyre_operation_register(rt, how, &operation, &err), &err);
    return operation;
}

static vyre_operation *add_mix(vyre *rt)
{
    vyre_operation_options how = image_options(MIX, "mix");
    how.read_handles = 1u << 0;
    how.write_handles = 1u << 1;
    how.steps = MIX_STEPS;
    return add(rt, &how);
}

static void open_rig(struct rig *rig, const vyre_options *options)
{
    vyre_buffer_options read_only = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    void *memory;
    rig->rt = gpu_open(options);
    rig->queue = gpu_queue(rig->rt, 256, 0, 0);
    read_only.rights = VYRE_RIGHT_READ;
    read_only.flags = VYRE_BUFFER_RESTORED;
    must(vyre_buffer_create_with(rig->rt, sizeof in_word, &read_only, &rig->in, &err), &err);
    must(vyre_buffer_create(rig->rt, sizeof out_word, VYRE_DEVICE, &rig->out, &err), &err);
    must(vyre_buffer_create(rig->rt, 4096, VYRE_PINNED, &rig->pinned, &err), &err);
    must(vyre_buffer_map(rig->pinned, &memory, &err), &err);
    rig->begun = memory;
    for (uint32_t i = 0; i < WORDS; i++)
        in_word[i] = (uint32_t)random_next(&rig->seed);
    must(vyre_buffer_write(rig->in, 0, in_word, sizeof in_word, &err), &err);
}

/* Slots that run.
 * ------------------------------------------------------------------------------------------- */

/* Arguments of mix for some words of a part. */
static void some_mix(struct rig *rig, uint32_t part, uint32_t args[5])
{
    uint32_t first = random_below(&rig->seed, PART_WORDS);
    args[0] = vyre_buffer_handle(rig->in);
    args[1] = vyre_buffer_handle(rig->out);
    args[2] = part * PART_WORDS + first;
    args[3] = random_below(&rig->seed, PART_WORDS - first + 1);
    args[4] = (uint32_t)random_next(&rig->seed);
}

/* What a mix with these arguments must come to. Returns the sum. */
static uint32_t expect_mix(const uint32_t args[5])
{
    uint32_t sum = 0;
    for (uint32_t i = args[2]; i < args[2] + args[3]; i++) {
        expected[i] = in_word[i] * args[4] + i;
        sum += expected[i];
    }
    return sum;
}

/* Words of the output that are not as expected. */
static uint64_t wrong_words(struct rig *rig)
{
    uint64_t wrong = 0;
    vyre_error err;
    must(vyre_buffer_read(rig->out, 0, out_word, sizeof out_word, &err), &err);
    for (uint32_t i = 0; i < WORDS; i++) {
        if (out_word[i] == expected[i]) continue;
        if (wrong++ < 4)
            note("word %u of part %u is %08x, not %08x", i % PART_WORDS, i / PART_WORDS,
                 out_word[i], expected[i]);
    }
    return wrong;
}

static uint64_t submit_parts(struct rig *rig, uint32_t sums[PARTS], bool repeatable)
{
    vyre_error err;
    for (uint32_t i = 0; i < PARTS; i++) {
        uint32_t args[5];
        vyre_slot *slot = next_slot(rig->queue);
        some_mix(rig, i, args);
        sums[i] = expect_mix(args);
        must(vyre_prep_op(slot, MIX, args, 5, &err), &err);
        if (repeatable) must(vyre_slot_repeatable(rig->queue, slot, &err), &err);
    }
    return submit(rig->queue);
}

/* Waits for the slots of submit_parts; returns how many did not end as they must. */
static uint64_t reap_parts(struct rig *rig, uint64_t first, const uint32_t sums[PARTS])
{
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < PARTS; i++) {
        vyre_completion end = wait_for(rig->queue, first + i);
        if (end.outcome == VYRE_DONE && end.steps == MIX_STEPS && end.result[0] == sums[i] &&
            end.result[1] == MIX && end.result[2] == 0 && end.result[3] == (uint32_t)end.ticket &&
            end.result[4] == 32 && end.result[5] == 0)
            continue;
        if (wrong++ < 4)
            note("part %u: outcome %u, fault %u, pc %u, %" PRIu64
                 " steps, sum %08x, not %08x, told %u %u %u %u %u",
                 i, (unsigned)end.outcome, (unsigned)end.fault, end.pc, (uint64_t)end.steps,
                 end.result[0], sums[i], end.result[1], end.result[2], end.result[3], end.result[4],
                 end.result[5]);
    }
    return wrong;
}

static void test_many(struct rig *rig, uint64_t slots)
{
    uint64_t wrong = 0, wrong_out = 0, ran = 0;
    uint32_t sums[PARTS];
    for (; ran < slots; ran += PARTS) {
        uint64_t first = submit_parts(rig, sums, false);
        wrong += reap_parts(rig, first, sums);
        wrong_out += wrong_words(rig);
    }
    is_u64(wrong, 0, "%" PRIu64 " slots: results, steps and what the function was told", ran);
    is_u64(wrong_out, 0, "what they wrote");
    uint32_t lanes[2] = {vyre_buffer_handle(rig->out), 5};
    expected[5] += 32;
    wait_for(rig->queue, submit_op(rig->queue, LANES, lanes, 2));
    is_u64(wrong_words(rig), 0, "32 lanes are in the function");
}

static void test_packed(struct rig *rig)
{
    uint32_t mix[5], lanes[2] = {vyre_buffer_handle(rig->out), WORDS - 1};
    vyre_packed_op ops[] = {{MIX, 5, mix}, {LANES, 2, lanes}};
    vyre_error err;
    some_mix(rig, 0, mix);
    expect_mix(mix);
    expected[WORDS - 1]++;
    must(vyre_prep_packed(next_slot(rig->queue), ops, 2, &err), &err);
    vyre_completion end = wait_for(rig->queue, submit(rig->queue));
    ok(end.outcome == VYRE_DONE && end.result[0] == 2, "two operations of a packed slot ran");
    is_u64(end.steps, MIX_STEPS + 1, "their steps");
    is_u64(wrong_words(rig), 0, "by one lane");
    mix[2] = WORDS;
    mix[3] = 1;
    vyre_packed_op bad[] = {{VYRE_OP_NOP, 0, NULL}, {MIX, 5, mix}};
    must(vyre_prep_packed(next_slot(rig->queue), bad, 2, &err), &err);
    end = wait_for(rig->queue, submit(rig->queue));
    ok(end.fault == VYRE_FAULT_OPERATION && end.pc == 1 && end.result[1] == 3,
       "one that fails in a packed slot: its place and its code");
}

/* Slots that do not end as done.
 * ------------------------------------------------------------------------------------------- */

static void test_faults(struct rig *rig)
{
    uint32_t answer[2] = {0xABCD1234, 77}, mix[5];
    vyre_completion end = wait_for(rig->queue, submit_op(rig->queue, ANSWER, answer, 2));
    ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_OPERATION, "a failure is a fault");
    ok(end.pc == answer[0] && end.result[7] == 77, "with its code and its results");
    some_mix(rig, 3, mix);
    mix[1] = mix[0];
    end = wait_for(rig->queue, submit_op(rig->queue, MIX, mix, 5));
    is_u64(end.fault, VYRE_FAULT_HANDLE_RIGHTS, "no writing to a buffer that is for reading");
    mix[1] = 0xFFFFFFF0;
    end = wait_for(rig->queue, submit_op(rig->queue, MIX, mix, 5));
    is_u64(end.fault, VYRE_FAULT_BAD_HANDLE, "no function is called with a bad handle");
    is_u64(wrong_words(rig), 0, "and nothing was written");
}

/* Submits a slot that stays, with a deadline or 0, and waits until it runs. */
static uint64_t begin_linger(struct rig *rig, uint32_t code, uint64_t deadline_ns)
{
    uint32_t args[2] = {vyre_buffer_handle(rig->pinned), code};
    vyre_slot *slot = next_slot(rig->queue);
    vyre_error err;
    *rig->begun = 0;
    must(vyre_prep_op(slot, LINGER, args, 2, &err), &err);
    must(vyre_slot_deadline(rig->queue, slot, deadline_ns, &err), &err);
    uint64_t ticket = submit(rig->queue);
    for (uint64_t waited = 0; *rig->begun == 0; waited += 50000) {
        if (waited > PATIENCE_NS) bail("a native operation never began");
        breathe();
    }
    return ticket;
}

static void test_stops(struct rig *rig)
{
    vyre_error err;
    uint32_t answer[2] = {0, 5};
    uint64_t ticket = begin_linger(rig, 9, 0);
    vyre_completion end = wait_for(rig->queue, submit_op(rig->queue, ANSWER, answer, 2));
    ok(end.outcome == VYRE_DONE && end.result[7] == 5, "others run beside a long one");
    works(vyre_cancel(rig->queue, ticket, &err), &err, "it is cancelled while it runs");
    end = wait_for(rig->queue, ticket);
    ok(end.fault == VYRE_FAULT_OPERATION && end.pc == 9, "sees it, and its code decides");
    ticket = begin_linger(rig, 0, 0);
    must(vyre_cancel(rig->queue, ticket, &err), &err);
    is_u64(wait_for(rig->queue, ticket).outcome, VYRE_DONE, "0 is done, also when cancelled");
    ticket = begin_linger(rig, 11, 1000000000);
    end = wait_for(rig->queue, ticket);
    ok(end.fault == VYRE_FAULT_OPERATION && end.pc == 11, "a deadline is seen too");
}

/* Registering.
 * ------------------------------------------------------------------------------------------- */

static void refuse(vyre *rt, const vyre_operation_options *how, vyre_status expected_status,
                   const char *what)
{
    vyre_operation *operation = NULL;
    vyre_error err;
    refused(vyre_operation_register(rt, how, &operation, &err), expected_status, &err, "%s", what);
    note("%s", err.message);
    ok(operation == NULL, "and no operation");
}

static void test_refusals(struct rig *rig)
{
    static const char garbage[] = "this is no PTX";
    static const char unresolved[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".extern .func (.param .b32 code) nowhere (.param .b64 call);\n"
        ".visible .func (.param .b32 code) calls_it(.param .b64 call)\n{\n"
        "    .reg .b64 %r;\n    ld.param.b64 %r, [call];\n    {\n    .param .b64 a;\n"
        "    .param .b32 b;\n    st.param.b64 [a], %r;\n    call.uni (b), nowhere, (a);\n    }\n"
        "    st.param.b32 [code], 0;\n    ret;\n}\n";
    vyre_operation_options how = image_options(OTHER, "absent");
    refuse(rig->rt, &how, VYRE_E_SYSTEM, "a function that is not in the image");
    how.function = "mix; .global";
    refuse(rig->rt, &how, VYRE_E_RANGE, "what is not a name");
    how = image_options(OTHER, "mix");
    how.image = garbage;
    how.image_bytes = sizeof garbage - 1;
    refuse(rig->rt, &how, VYRE_E_SYSTEM, "an image that is none");
    how = image_options(OTHER, "calls_it");
    how.image = unresolved;
    how.image_bytes = sizeof unresolved - 1;
    refuse(rig->rt, &how, VYRE_E_SYSTEM, "an image that calls what nobody has");
    how = image_options(MIX, "answer");
    refuse(rig->rt, &how, VYRE_E_EXISTS, "an opcode that is taken");
}

static void test_tenant(struct rig *rig)
{
    vyre_operation_options how = image_options(OTHER, "answer");
    vyre_queue *queue = gpu_queue(rig->rt, 16, 1, 0);
    uint32_t args[2] = {0, 6};
    vyre_error err;
    how.tenant = 1;
    vyre_operation *operation = add(rig->rt, &how);
    vyre_completion end = wait_for(queue, submit_op(queue, OTHER, args, 2));
    ok(end.outcome == VYRE_DONE && end.result[7] == 6, "its tenant runs it");
    end = wait_for(rig->queue, submit_op(rig->queue, OTHER, args, 2));
    is_u64(end.fault, VYRE_FAULT_UNKNOWN_OPCODE, "another does not");
    must(vyre_operation_unregister(operation, &err), &err);
    vyre_queue_close(queue);
}

/* Registering while slots are under way: the kernel leaves, is linked, and comes back. */
static void test_again(struct rig *rig, vyre_operation *mix)
{
    vyre_operation_options other = image_options(OTHER, "answer");
    uint32_t sums[PARTS], args[5];
    uint64_t wrong = 0;
    vyre_error err;
    for (uint32_t i = 0; i < 8; i++) {
        uint64_t first = submit_parts(rig, sums, false);
        vyre_operation *operation = add(rig->rt, &other);
        must(vyre_operation_unregister(operation, &err), &err);
        wrong += reap_parts(rig, first, sums);
    }
    is_u64(wrong + wrong_words(rig), 0, "slots are done while others are registered");
    works(vyre_operation_unregister(mix, &err), &err, "taken away");
    some_mix(rig, 0, args);
    vyre_completion end = wait_for(rig->queue, submit_op(rig->queue, MIX, args, 5));
    is_u64(end.fault, VYRE_FAULT_UNKNOWN_OPCODE, "it is not called any more");
    is_u64(wrong_words(rig), 0, "and nothing was written");
    add_mix(rig->rt);
    uint64_t first = submit_parts(rig, sums, false);
    is_u64(reap_parts(rig, first, sums), 0, "registered again it runs");
    is_u64(wrong_words(rig), 0, "and writes");
}

static void test_restart(struct rig *rig)
{
    vyre_description now = VYRE_DESCRIPTION_INIT;
    uint32_t sums[PARTS];
    vyre_error err;
    must(vyre_describe(rig->rt, &now, &err), &err);
    if (kill((pid_t)now.host_pid, SIGKILL) != 0) bail("no device host to kill");
    /* A kernel outlives its process for a moment, and would still run what is submitted now. */
    for (uint32_t i = 0; i < 1000 && now.restarts == 0; i++) {
        usleep(10000);
        must(vyre_describe(rig->rt, &now, &err), &err);
    }
    uint64_t first = submit_parts(rig, sums, true);
    is_u64(reap_parts(rig, first, sums), 0, "they are linked again after a restart");
    must(vyre_describe(rig->rt, &now, &err), &err);
    is_u64(now.restarts, 1, "which there was");
}

static void test_elsewhere(const vyre_options *options)
{
    vyre *rt = gpu_open(options);
    vyre_operation_options how = image_options(MIX, "mix");
    refuse(rt, &how, VYRE_E_UNSUPPORTED, "an image for a device that is no GPU");
    how.function = "";
    refuse(rt, &how, VYRE_E_CONFLICT, "an image without the name of its function");
    how.function = "mix";
    how.run = gate_run;
    refuse(rt, &how, VYRE_E_CONFLICT, "an image and a C function");
    vyre_close(rt);
}

int main(int argc, char **argv)
{
    struct gpu_args args = gpu_arguments(argc, argv, 20000);
    struct rig rig = {.seed = args.seed};
    vyre_options options = gpu_options();
    if (!gpu_is_cuda()) {
        test_elsewhere(&options);
        return done();
    }
    open_rig(&rig, &options);
    vyre_operation *mix = add_mix(rig.rt);
    vyre_operation_options lanes = image_options(LANES, "count_lanes");
    vyre_operation_options answer = image_options(ANSWER, "answer");
    vyre_operation_options linger = image_options(LINGER, "linger");
    lanes.write_handles = linger.write_handles = 1u << 0;
    add(rig.rt, &lanes);
    add(rig.rt, &answer);
    add(rig.rt, &linger);
    test_many(&rig, args.slots);
    test_packed(&rig);
    test_faults(&rig);
    test_stops(&rig);
    test_refusals(&rig);
    test_tenant(&rig);
    test_again(&rig, mix);
    test_restart(&rig);
    vyre_close(rig.rt);
    return done();
}
