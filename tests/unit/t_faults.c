/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every fault code that exists is reached, by the shortest way there is, and comes with what the
 * header promises. The last test counts them: a new row of fault.def needs a line here, or, if it
 * is a fault of programs, in t_run.c.
 */
#include "support.h"

enum { GATE = 100, FAIL = 101, READS = 102 };

static bool reached[32];

/* The slot ended with this fault and no other effect. */
static void check_fault(const vyre_completion *end, uint32_t fault, uint32_t pc)
{
    bool cancelled = fault == VYRE_FAULT_CANCELLED || fault == VYRE_FAULT_STOPPED;
    bool right = end->fault == fault && end->pc == pc &&
                 end->outcome == (cancelled ? VYRE_CANCELLED : VYRE_FAULTED);
    ok(right, "%s: %s", vyre_fault_name(fault), vyre_fault_text(fault));
    if (right) reached[fault] = true;
    if (!right) note("outcome %u, fault %u, pc %u", end->outcome, end->fault, end->pc);
}

static void run_one(vyre_queue *queue, uint32_t opcode, const uint32_t *args, size_t count,
                    uint32_t fault)
{
    vyre_completion end = wait_for(queue, submit_op(queue, opcode, args, count));
    check_fault(&end, fault, 0);
    is_u64(end.opcode, opcode, "the completion names the opcode");
}

static uint32_t fail_run(vyre_call *call)
{
    return call->args[0];
}

static void by_words(vyre_queue *queue)
{
    vyre_error err;
    vyre_slot *slot = next_slot(queue);
    must(vyre_prep_nop(slot, &err), &err);
    slot->word[VYRE_SLOT_STATUS] = VYRE_SLOT_DONE;
    vyre_completion end = wait_for(queue, submit(queue));
    check_fault(&end, VYRE_FAULT_NOT_PUBLISHED, 0);

    slot = next_slot(queue);
    must(vyre_prep_nop(slot, &err), &err);
    slot->word[VYRE_SLOT_PRIORITY] = 5;
    end = wait_for(queue, submit(queue));
    check_fault(&end, VYRE_FAULT_BAD_PRIORITY, 0);

    run_one(queue, 5000, NULL, 0, VYRE_FAULT_UNKNOWN_OPCODE);
    run_one(queue, VYRE_OP_LOAD_MISS, NULL, 0, VYRE_FAULT_UNKNOWN_OPCODE);
    run_one(queue, VYRE_OP_SHUTDOWN, NULL, 0, VYRE_FAULT_NOT_PERMITTED);
    run_one(queue, VYRE_OP_STORE_U32, (uint32_t[]){1, 5}, 2, VYRE_FAULT_WORD_RANGE);
    run_one(queue, VYRE_OP_PACKED_SLOT, (uint32_t[]){24}, 1, VYRE_FAULT_PACKED_FORM);
}

static void by_handles(vyre *rt, vyre_queue *queue)
{
    vyre_buffer_options options = VYRE_BUFFER_OPTIONS_INIT;
    vyre_buffer *table = NULL, *unreadable = NULL;
    vyre_error err;
    must(vyre_buffer_create(rt, 64, VYRE_DEVICE, &table, &err), &err);
    options.rights = VYRE_RIGHT_WRITE;
    must(vyre_buffer_create_with(rt, 64, &options, &unreadable, &err), &err);
    uint32_t h = vyre_buffer_handle(table);

    run_one(queue, READS, (uint32_t[]){0}, 1, VYRE_FAULT_BAD_HANDLE);
    run_one(queue, READS, (uint32_t[]){h ^ 0x10000}, 1, VYRE_FAULT_BAD_HANDLE);
    run_one(queue, READS, (uint32_t[]){vyre_buffer_handle(unreadable)}, 1,
            VYRE_FAULT_HANDLE_RIGHTS);
    run_one(queue, VYRE_OP_DFA_STEP, (uint32_t[]){h, 0, h, 65, 0, 0}, 6, VYRE_FAULT_BUFFER_BOUNDS);
    run_one(queue, VYRE_OP_DFA_STEP, (uint32_t[]){h, 0, h, 0, 0, 1}, 6, VYRE_FAULT_DFA_TABLE);
    vyre_completion end = wait_for(queue, submit_op(queue, FAIL, (uint32_t[]){0xBAD}, 1));
    check_fault(&end, VYRE_FAULT_OPERATION, 0xBAD);
    vyre_buffer_free(table);
    vyre_buffer_free(unreadable);
}

/* With its only worker held, nothing of this is taken before the gate opens. */
static void by_waiting(vyre *rt, vyre_queue *queue, struct gate *gate)
{
    vyre_queue_options options = VYRE_QUEUE_OPTIONS_INIT;
    vyre_queue *sealed = NULL;
    vyre_error err;
    options.flags = VYRE_QUEUE_SEALED;
    must(vyre_queue_open(rt, &options, &sealed, &err), &err);
    uint64_t held = hold_worker(queue, GATE, gate);

    vyre_slot *slot = next_slot(sealed);
    must(vyre_prep_nop(slot, &err), &err);
    uint64_t torn = submit(sealed);
    slot->word[VYRE_SLOT_ARG0 + 3] ^= 1;

    slot = next_slot(queue);
    must(vyre_prep_atomic_add(slot, WORD(0), 1, &err), &err);
    must(vyre_slot_deadline(queue, slot, 1, &err), &err);
    uint64_t late = submit(queue);
    usleep(100);
    atomic_store(&gate->open, 1);
    vyre_completion end = wait_for(sealed, torn);
    check_fault(&end, VYRE_FAULT_SEAL, 0);
    end = wait_for(queue, late);
    check_fault(&end, VYRE_FAULT_DEADLINE, 0);
    is_u64(observable(rt, 0, 0), 0, "it had no effect");
    wait_for(queue, held);
    vyre_queue_close(sealed);
}

static uint32_t until_cancelled(vyre_call *call)
{
    struct gate *gate = call->ctx;
    atomic_fetch_add(&gate->entered, 1);
    while (!vyre_call_cancelled(call))
        breathe();
    return 0;
}

static void by_ending(void)
{
    struct gate gate = {0};
    vyre *rt = open_cpu(2);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    register_op(rt, GATE, until_cancelled, &gate);
    uint64_t first = submit_op(queue, GATE, NULL, 0), second = submit_op(queue, GATE, NULL, 0);
    if (!reaches(&gate.entered, 2)) bail("the operations were never run");
    uint64_t third = submit_op(queue, VYRE_OP_NOP, NULL, 0);
    works(vyre_cancel(queue, third, &err), &err, "cancel a waiting slot");
    must(vyre_cancel(queue, first, &err), &err);
    vyre_completion end = wait_for(queue, third);
    check_fault(&end, VYRE_FAULT_CANCELLED, 0);

    wait_for(queue, first);
    first = submit_op(queue, GATE, NULL, 0);
    if (!reaches(&gate.entered, 3)) bail("the operation was never run");
    third = submit_op(queue, GATE, NULL, 0);
    must(vyre_stop(rt, &err), &err);
    end = wait_for(queue, third);
    check_fault(&end, VYRE_FAULT_STOPPED, 0);
    ok(wait_for(queue, first).outcome == VYRE_DONE && wait_for(queue, second).outcome == VYRE_DONE,
       "those that ran are done");
    vyre_close(rt);
}

int main(void)
{
    struct gate gate = {0};
    vyre_operation_options how = VYRE_OPERATION_OPTIONS_INIT;
    vyre_operation *operation;
    vyre_error err;
    vyre *rt = open_cpu(1);
    vyre_queue *queue = vyre_queue_default(rt);
    register_op(rt, GATE, gate_run, &gate);
    register_op(rt, FAIL, fail_run, NULL);
    how.opcode = READS;
    how.run = fail_run;
    how.read_handles = 1;
    must(vyre_operation_register(rt, &how, &operation, &err), &err);

    reached[VYRE_FAULT_NONE] = wait_for(queue, submit_op(queue, FAIL, NULL, 0)).fault == 0;
    by_words(queue);
    by_handles(rt, queue);
    by_waiting(rt, queue, &gate);
    by_ending();
#define VYRE_FAULT(name, value, text)                                                              \
    if ((value) < VYRE_FAULT_DIVISION) ok(reached[value], "%s was reached", #name);
#include "vyre/fault.def"
#undef VYRE_FAULT
    is_u64(wait_for(queue, submit_op(queue, VYRE_OP_NOP, NULL, 0)).outcome, VYRE_DONE,
           "and the runtime goes on");
    vyre_close(rt);
    return done();
}
