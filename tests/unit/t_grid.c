/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Who gets a turn when programs run: a grid is run by all workers, also by those that slept; what
 * needs no run slot waits for none, and one queue cannot take them all; a turn ends whatever its
 * workgroups cost; a slot that waits for a run slot or is put aside ends as soon as it is
 * cancelled; and a worker's frame knows nothing of the buffers of an earlier run.
 */
#include "kernels.h"
#include "support.h"

struct loaded {
    vyre_program *program;
    vyre_bindings *set;
    vyre_buffer *buffer[3];
    uint32_t *words[3];
};

static vyre_buffer *make_buffer(vyre *rt, size_t bytes, uint32_t **words)
{
    vyre_buffer *made = NULL;
    vyre_error err;
    void *memory;
    must(vyre_buffer_create(rt, bytes, VYRE_PINNED, &made, &err), &err);
    must(vyre_buffer_map(made, &memory, &err), &err);
    if (words) *words = memory;
    return made;
}

/* Loads a program of up to three buffers, each bound to a page of its own. */
static struct loaded load_code(vyre *rt, struct code code, uint32_t buffers)
{
    struct loaded made = {0};
    vyre_error err;
    must(vyre_program_load(rt, code.bytes, code.length, NULL, &made.program, &err), &err);
    code_free(&code);
    for (uint32_t i = 0; i < buffers; i++) {
        vyre_kernel_buffer_info info = {.size = (uint32_t)sizeof info};
        must(vyre_kernel_buffer(vyre_program_kernel(made.program), i, &info, &err), &err);
        if (info.flags & VYRE_KERNEL_BUFFER_WORKGROUP) continue;
        made.buffer[i] = make_buffer(rt, 4096, &made.words[i]);
    }
    must(vyre_bindings_create(made.program, made.buffer, buffers, &made.set, &err), &err);
    return made;
}

static void prepare(vyre_slot *slot, const struct loaded *loaded, uint32_t x)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    run.program = loaded->program;
    run.bindings = loaded->set;
    run.grid[0] = x;
    must(vyre_prep_run(slot, &run, &err), &err);
}

static uint64_t start(vyre_queue *queue, const struct loaded *loaded, uint32_t x)
{
    prepare(next_slot(queue), loaded, x);
    return submit(queue);
}

/* One test: the slot ends by itself, as done. */
static void ends_done(vyre_queue *queue, uint64_t ticket, const char *what)
{
    vyre_completion end = {0};
    vyre_error err;
    vyre_status status = vyre_wait(queue, ticket, PATIENCE_NS, &end, &err);
    ok(status == VYRE_OK && end.outcome == VYRE_DONE, "%s (%s, %s)", what, vyre_status_name(status),
       vyre_fault_name(end.fault));
}

/* One test: the slot ends, cancelled, while whatever was before it goes on. */
static void cancels(vyre_queue *queue, uint64_t ticket, const char *what)
{
    vyre_completion end = {0};
    vyre_error err;
    must(vyre_cancel(queue, ticket, &err), &err);
    vyre_status status = vyre_wait(queue, ticket, PATIENCE_NS, &end, &err);
    ok(status == VYRE_OK && end.outcome == VYRE_CANCELLED, "%s (%s, %s)", what,
       vyre_status_name(status), vyre_fault_name(end.fault));
}

/* Runs until r[0] is not 0; workgroup 1 makes it so. */
static struct code code_meet(void)
{
    code_begin();
    rw("r", IR_TYPE_U32, 0);
    return code_end(program(
        if_(eq(gid(0), u32(1)), list(let("first", atomic(IR_ATOMIC_ADD, "r", u32(0), u32(1)))),
            list(loop("i", u32(0), u32(UINT32_MAX),
                      list(let("seen", atomic(IR_ATOMIC_OR, "r", u32(0), u32(0))),
                           if_(ne(var("seen"), u32(0)), list(ret()), nothing)))))));
}

static struct code code_endless(void)
{
    code_begin();
    rw("r", IR_TYPE_U32, 0);
    return code_end(
        program(loop("i", u32(0), u32(UINT32_MAX),
                     list(loop("j", u32(0), u32(UINT32_MAX),
                               list(let("old", atomic(IR_ATOMIC_MAX, "r", u32(0), var("j")))))))));
}

/* Without a frame to put it aside the first workgroup stays where it is: another worker must come.
 */
static void sleepers_come(void)
{
    vyre_options options = cpu_options(2);
    options.continuations = 0;
    options.idle_spin_ns = 0;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    struct loaded loaded = load_code(rt, code_meet(), 1);
    for (int i = 0; i < 1000; i++)
        breathe(); /* whoever has nothing to do sleeps by now */
    ends_done(queue, start(queue, &loaded, 2), "a worker that slept takes the second workgroup");
    vyre_close(rt);
}

static uint32_t give_seven(vyre_call *call)
{
    call->result[0] = 7;
    return 0;
}

/* Takes a run slot on every backend: what has no loop may be run without one. */
static struct code code_twice(void)
{
    code_begin();
    out("r", IR_TYPE_U32, 4);
    return code_end(
        program(loop("i", u32(0), u32(2), list(store("r", var("i"), add(var("i"), u32(7)))))));
}

/* One run slot, and an endless program has it. */
static void one_run_slot(uint32_t workers)
{
    vyre_options options = cpu_options(workers);
    options.run_slots = 1;
    options.step_budget = 1000;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt), *other = open_queue(rt, 16, 0);
    struct loaded endless = load_code(rt, code_endless(), 1);
    struct loaded small = load_code(rt, code_twice(), 1);
    uint32_t opcode = 300, add[2] = {1, WORD(1)};
    vyre_packed_op packed[2] = {{VYRE_OP_ATOMIC_ADD, 2, add}, {VYRE_OP_BATCH_FENCE, 0, NULL}};
    vyre_error err;
    bool native = !no_c_functions();
    if (native) register_op(rt, opcode, give_seven, NULL);
    uint64_t holder = start(queue, &endless, 3);
    if (native)
        ends_done(other, submit_op(other, opcode, NULL, 0), "a native operation needs no run slot");
    vyre_slot *slot = next_slot(other);
    must(vyre_prep_nop(slot, &err), &err);
    must(vyre_slot_priority(slot, VYRE_PRIORITY_LOW, &err), &err);
    ends_done(other, submit(other), "nor does a built-in that is not run in place");
    must(vyre_prep_fence(next_slot(other), 0, 5, &err), &err);
    ends_done(other, submit(other), "nor a fence");
    must(vyre_prep_packed(next_slot(other), packed, 1, &err), &err);
    ends_done(other, submit(other), "nor a packed slot");
    uint32_t nowhere[5] = {1, 1, 1, 0, 0};
    vyre_completion end =
        wait_for(other, submit_op(other, vyre_program_opcode(small.program), nowhere, 5));
    is_u64(end.fault, VYRE_FAULT_BAD_HANDLE, "a program's slot that is wrong ends at once");

    uint64_t waits = start(other, &small, 1);
    cancels(other, waits, "a slot that waits for a run slot can be cancelled");
    slot = next_slot(other);
    prepare(slot, &small, 1);
    must(vyre_slot_deadline(other, slot, 1000000, &err), &err);
    end = wait_for(other, submit(other));
    is_u64(end.fault, VYRE_FAULT_DEADLINE, "and its deadline ends it");
    waits = start(other, &small, 1);
    cancels(queue, holder, "the one that has it is cancelled");
    ends_done(other, waits, "then the next one runs");
    vyre_close(rt);
}

/* A queue with more endless programs than there are run slots leaves one for the other. */
static void run_slots_are_shared(void)
{
    vyre_options options = cpu_options(2);
    options.run_slots = 16;
    options.step_budget = 1000;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt), *other = open_queue(rt, 16, 0);
    struct loaded endless = load_code(rt, code_endless(), 1);
    struct loaded small = load_code(rt, code_fill(4, 7), 1);
    for (uint32_t i = 0; i < 40; i++)
        start(queue, &endless, 2);
    /* What is published is taken before what is published later. */
    for (uint32_t i = 0; i < 3; i++)
        ends_done(other, start(other, &small, 3), "another queue finds a run slot");
    vyre_close(rt);
}

struct noted {
    const uint32_t *counter;
    uint32_t seen[4];
    _Atomic uint32_t runs;
};

static uint32_t note_counter(vyre_call *call)
{
    struct noted *noted = call->ctx;
    uint32_t run = atomic_fetch_add(&noted->runs, 1);
    noted->seen[run % 4] = __atomic_load_n(noted->counter, __ATOMIC_RELAXED);
    return 0;
}

/* Workgroups of few steps that are costly to begin: others have their turn all the same. */
static void costly_beginnings(void)
{
    if (no_c_functions()) return;
    struct gate gate = {0};
    struct noted noted = {0};
    vyre_options options = cpu_options(1);
    options.frame_bytes = 8u << 20;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt), *big = open_queue(rt, 4, 0);
    vyre_queue *small = open_queue(rt, 4, 0);
    vyre_error err;
    code_begin();
    rw("r", IR_TYPE_U32, 0);
    shared("w", IR_TYPE_U32, 1u << 19);
    struct loaded loaded = load_code(
        rt,
        code_end(program(store("w", u32(5), u32(1)),
                         let("old", atomic(IR_ATOMIC_ADD, "r", u32(0), load("w", u32(5)))))),
        2);
    noted.counter = loaded.words[0];
    register_op(rt, 300, gate_run, &gate);
    register_op(rt, 301, note_counter, &noted);
    uint64_t held = hold_worker(queue, 300, &gate);
    uint64_t ticket = start(big, &loaded, 1u << 20);
    for (uint32_t i = 0; i < 3; i++)
        must(vyre_prep_op(next_slot(small), 301, NULL, 0, &err), &err);
    uint64_t first = submit(small);
    atomic_store(&gate.open, 1);
    wait_for(queue, held);
    wait_for(small, first + 2);
    must(vyre_cancel(big, ticket, &err), &err);
    wait_for(big, ticket);
    ok(noted.seen[2] != 0, "the grid had its turn");
    ok(noted.seen[2] < 200, "three others had theirs after %u workgroups of 2 MiB", noted.seen[2]);
    vyre_close(rt);
}

/* Put aside behind many others, at the lowest priority: a cancel does not wait for its turn. */
static void cancelled_aside(void)
{
    if (no_c_functions()) return;
    struct gate gate = {0};
    vyre_options options = cpu_options(1);
    options.step_budget = 100;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt), *other = open_queue(rt, 16, 0);
    struct loaded loaded = load_code(rt, code_endless(), 1);
    vyre_error err;
    register_op(rt, 300, gate_run, &gate);
    uint64_t ticket = start(queue, &loaded, 2);
    while (__atomic_load_n(&loaded.words[0][0], __ATOMIC_RELAXED) < 1000)
        breathe(); /* it has been put aside more than once */
    uint64_t held = hold_worker(other, 300, &gate);
    cancels(queue, ticket, "a slot that is put aside ends while the only worker is busy");
    atomic_store(&gate.open, 1);
    wait_for(other, held);
    /* Its frame came back: as many can be put aside as before. */
    for (uint32_t i = 0; i < 64; i++)
        ticket = start(queue, &loaded, 1);
    must(vyre_prep_op(next_slot(other), 300, NULL, 0, &err), &err);
    ends_done(other, submit(other), "others have their turn");
    vyre_description about = VYRE_DESCRIPTION_INIT;
    must(vyre_describe(rt, &about, &err), &err);
    is_u64(about.frames_full, 0, "no workgroup had to go on for want of a frame");
    vyre_close(rt);
}

/* Two workgroups that count in turns; each has begun, then one worker is all they have. */
static void workgroups_take_turns(void)
{
    if (no_c_functions()) return;
    struct gate gate = {0};
    vyre_options options = cpu_options(2);
    options.step_budget = 100;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt), *other = open_queue(rt, 16, 0);
    code_begin();
    rw("r", IR_TYPE_U32, 0);
    struct ir_expr *now = atomic(IR_ATOMIC_OR, "r", u32(0), u32(0));
    struct loaded loaded = load_code(
        rt,
        code_end(program(loop(
            "i", u32(0), u32(UINT32_MAX),
            list(let("now", now), if_(lt(u32(100000), var("now")), list(ret()), nothing),
                 if_(eq(mod(var("now"), u32(2)), gid(0)),
                     list(let("old", atomic(IR_ATOMIC_ADD, "r", u32(0), u32(1)))), nothing))))),
        1);
    register_op(rt, 300, gate_run, &gate);
    uint64_t ticket = start(queue, &loaded, 2);
    while (__atomic_load_n(&loaded.words[0][0], __ATOMIC_RELAXED) < 2)
        breathe();
    uint64_t held = hold_worker(other, 300, &gate);
    ends_done(queue, ticket, "one worker serves two workgroups that wait for each other");
    atomic_store(&gate.open, 1);
    wait_for(other, held);
    vyre_close(rt);
}

/* The first run leaves a register that shows x; x is unmapped; in the second run that register is
 * first written by an atomic, lane by lane. */
static void forgets_buffers(void)
{
    vyre *rt = open_cpu(1);
    vyre_queue *queue = vyre_queue_default(rt);
    vyre_error err;
    code_begin();
    workgroup(32, 1, 1);
    in("x", IR_TYPE_U32, 0);
    rw("r", IR_TYPE_U32, 0);
    rw("c", IR_TYPE_U32, 0);
    struct code code = code_end(program(let("old", atomic(IR_ATOMIC_ADD, "c", u32(0), u32(1))),
                                        store("r", u32(128), var("old")),
                                        let("v", load("x", gid(0))), store("r", gid(0), var("v"))));
    struct loaded loaded = load_code(rt, code, 3);
    for (uint32_t round = 0; round < 3; round++) {
        uint64_t ticket = start(queue, &loaded, 2);
        ends_done(queue, ticket, "a run with buffers of its own");
        vyre_bindings_free(loaded.set);
        vyre_buffer_free(loaded.buffer[0]);
        loaded.buffer[0] = make_buffer(rt, 1u << 20, &loaded.words[0]);
        must(vyre_bindings_create(loaded.program, loaded.buffer, 3, &loaded.set, &err), &err);
    }
    vyre_close(rt);
}

int main(void)
{
    forgets_buffers();
    costly_beginnings();
    one_run_slot(1);
    one_run_slot(3);
    run_slots_are_shared();
    sleepers_come();
    cancelled_aside();
    workgroups_take_turns();
    return done();
}
