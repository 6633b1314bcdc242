/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * PACKED_SLOT: all operations run, in order, with arguments in the last words too; the first that
 * fails stops it; and a payload that contradicts itself runs nothing.
 */
#include "support.h"

enum { ECHO = 40, FAIL = 41 };

struct trace {
    _Atomic uint32_t runs;
    uint32_t args[32][VYRE_SLOT_ARGS];
};

/* Keeps its arguments; one packed slot runs at a time. */
static uint32_t echo_run(vyre_call *call)
{
    struct trace *trace = call->ctx;
    uint32_t run = atomic_fetch_add(&trace->runs, 1);
    memcpy(trace->args[run % 32], call->args, sizeof trace->args[0]);
    call->result[0] = 0xEC40;
    return 0;
}

static uint32_t fail_run(vyre_call *call)
{
    return call->args[0];
}

static vyre_completion run(vyre_queue *queue, const vyre_packed_op *ops, size_t count)
{
    vyre_error err;
    must(vyre_prep_packed(next_slot(queue), ops, count, &err), &err);
    return wait_for(queue, submit(queue));
}

#define ARGS(...)                                                                                  \
    sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[])                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void all_run(vyre *rt, vyre_queue *queue, struct trace *trace)
{
    vyre_packed_op ops[23] = {
        {VYRE_OP_STORE_U32, ARGS(10, WORD(1))},
        {VYRE_OP_ATOMIC_ADD, ARGS(5, WORD(1))},
        {VYRE_OP_LOAD_U32, ARGS(WORD(1), 2)},
        {VYRE_OP_NOP, 0, NULL},
    };
    vyre_completion end = run(queue, ops, 4);
    ok(end.outcome == VYRE_DONE && end.opcode == VYRE_OP_PACKED_SLOT, "four operations");
    ok(end.result[0] == 4 && end.result[1] == 0 && end.steps == 4, "all ran, and each was paid");
    ok(observable(rt, 0, 1) == 15 && observable(rt, 0, 2) == 15, "in their order");

    for (int i = 0; i < 7; i++)
        ops[i] = (vyre_packed_op){VYRE_OP_NOP, 0, NULL};
    ops[7] = (vyre_packed_op){VYRE_OP_ATOMIC_ADD, ARGS(1000, WORD(1))};
    ops[8] = (vyre_packed_op){VYRE_OP_ATOMIC_ADD, ARGS(20000, WORD(1))};
    ops[9] = (vyre_packed_op){VYRE_OP_ATOMIC_ADD, ARGS(300000, WORD(1))};
    end = run(queue, ops, 10);
    ok(end.outcome == VYRE_DONE && end.result[0] == 10, "ten operations, full to the last word");
    is_u64(observable(rt, 0, 1), 321015, "the last three ran too");

    for (int i = 0; i < 23; i++)
        ops[i] = (vyre_packed_op){VYRE_OP_NOP, 0, NULL};
    end = run(queue, ops, 23);
    ok(end.outcome == VYRE_DONE && end.result[0] == 23 && end.steps == 23, "23 fill a slot");
    end = run(queue, ops, 0);
    ok(end.outcome == VYRE_DONE && end.result[0] == 0 && end.steps == 1, "none costs a step");

    ops[0] = (vyre_packed_op){ECHO, ARGS(7)};
    ops[1] = (vyre_packed_op){ECHO, ARGS(8, 9)};
    uint32_t before = trace->runs;
    end = run(queue, ops, 2);
    ok(end.outcome == VYRE_DONE && trace->runs == before + 2, "operations of the user");
    ok(trace->args[before % 32][0] == 7 && trace->args[(before + 1) % 32][0] == 8 &&
           trace->args[(before + 1) % 32][1] == 9 && trace->args[(before + 1) % 32][2] == 0,
       "with their arguments, and zeros after the last");
    is_u64(end.result[0], 2, "results of inner operations are their own");
}

static void first_failure(vyre *rt, vyre_queue *queue)
{
    uint32_t before = observable(rt, 0, 1);
    vyre_packed_op ops[4] = {{VYRE_OP_ATOMIC_ADD, ARGS(1, WORD(1))},
                             {FAIL, ARGS(0xBAD)},
                             {VYRE_OP_ATOMIC_ADD, ARGS(1, WORD(1))}};
    vyre_completion end = run(queue, ops, 3);
    ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_OPERATION && end.pc == 1,
       "the second fails: pc is its index");
    ok(end.result[0] == 1 && end.result[1] == 0xBAD, "one ended well; the code of the failure");
    is_u64(observable(rt, 0, 1), before + 1, "the third did not run");

    ops[1] = (vyre_packed_op){VYRE_OP_STORE_U32, ARGS(1, 2)};
    end = run(queue, ops, 3);
    ok(end.fault == VYRE_FAULT_WORD_RANGE && end.pc == 1 && end.result[0] == 1,
       "a built-in that faults stops it too");
    is_u64(observable(rt, 0, 1), before + 2, "after the first one ran");

    ops[1] = (vyre_packed_op){99, 0, NULL};
    end = run(queue, ops, 3);
    ok(end.fault == VYRE_FAULT_UNKNOWN_OPCODE && end.pc == 1, "nothing is registered under 99");
    is_u64(observable(rt, 0, 1), before + 2, "and nothing ran");
    ops[1] = (vyre_packed_op){VYRE_OP_DFA_STEP, ARGS(1, 2, 3, 4, 5, 6)};
    end = run(queue, ops, 2);
    ok(end.fault == VYRE_FAULT_BAD_HANDLE && end.pc == 1, "a handle that is none");
    is_u64(observable(rt, 0, 1), before + 2, "and nothing ran");
}

static void check_form(vyre_queue *queue, const uint32_t *args, uint32_t pc, const char *name)
{
    vyre_completion end = wait_for(queue, submit_op(queue, VYRE_OP_PACKED_SLOT, args, 12));
    ok(end.outcome == VYRE_FAULTED && end.fault == VYRE_FAULT_PACKED_FORM && end.pc == pc, "%s",
       name);
}

/* Payloads that no encoder makes. */
static void bad_forms(vyre *rt, vyre_queue *queue)
{
    uint32_t before = observable(rt, 0, 1);
    check_form(queue, (uint32_t[12]){24}, 0, "24 operations");
    check_form(queue, (uint32_t[12]){255 | 255 << 8}, 0, "255 operations, 255 words");
    check_form(queue, (uint32_t[12]){1 | 12 << 8}, 0, "twelve words behind the header");
    check_form(queue, (uint32_t[12]){1 | 255 << 8}, 0, "255 words behind the header");
    check_form(queue, (uint32_t[12]){1 | 1 << 8 | VYRE_OP_STORE_U32 << 16}, 0,
               "an operation with too few arguments");
    check_form(queue, (uint32_t[12]){1 | 2 << 8 | VYRE_OP_STORE_U32 << 16 | 1u << 24}, 0,
               "arguments past the last word");
    check_form(queue, (uint32_t[12]){1 | 2 << 8 | VYRE_OP_NOP << 16 | 3u << 24}, 0,
               "an offset past the last word");
    check_form(queue, (uint32_t[12]){1 | 2 << 8 | ECHO << 16 | 255u << 24}, 0, "a far offset");
    check_form(queue,
               (uint32_t[12]){2 | 2 << 8 | VYRE_OP_ATOMIC_ADD << 16, VYRE_OP_MEMCPY, 1, WORD(1)}, 1,
               "the second is wrong");
    is_u64(observable(rt, 0, 1), before, "none of them ran anything");
}

/* Operations that name the same words: the format does not forbid it. */
static void shared_arguments(vyre *rt, vyre_queue *queue, struct trace *trace)
{
    uint32_t before = observable(rt, 0, 3), runs = trace->runs;
    uint32_t args[12] = {2 | 2 << 8 | VYRE_OP_ATOMIC_ADD << 16, VYRE_OP_ATOMIC_ADD, 11, WORD(3)};
    wait_for(queue, submit_op(queue, VYRE_OP_PACKED_SLOT, args, 12));
    is_u64(observable(rt, 0, 3), before + 22, "two operations with the same arguments");
    uint32_t raw[12] = {1 | 11 << 8 | ECHO << 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    wait_for(queue, submit_op(queue, VYRE_OP_PACKED_SLOT, raw, 12));
    ok(trace->args[runs % 32][0] == 1 && trace->args[runs % 32][10] == 11 &&
           trace->args[runs % 32][11] == 0,
       "eleven arguments of one operation");
}

int main(void)
{
    static struct trace trace;
    vyre *rt = open_cpu(2);
    vyre_queue *queue = vyre_queue_default(rt);
    register_op(rt, ECHO, echo_run, &trace);
    register_op(rt, FAIL, fail_run, NULL);
    all_run(rt, queue, &trace);
    first_failure(rt, queue);
    bad_forms(rt, queue);
    shared_arguments(rt, queue, &trace);
    vyre_close(rt);
    return done();
}
