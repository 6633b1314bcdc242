/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Slots that run programs, while they run: every fault a program can end with, accesses out of
 * bounds and strict programs, what a completion says of a grid, turns and frames, and programs that
 * never end: they hold no worker, and cancel, deadline and stop reach them.
 */
#include "kernels.h"
#include "support.h"

static bool reached[32];

struct loaded {
    vyre_program *program;
    vyre_bindings *set;
    vyre_buffer *buffer[3];
    uint32_t *words[3];
};

/* Loads a program of up to three buffers, each bound to 1,024 bytes of its own. */
static struct loaded load_with(vyre *rt, struct code code, uint32_t buffers, uint32_t flags)
{
    struct loaded made = {0};
    vyre_program_options options = VYRE_PROGRAM_OPTIONS_INIT;
    vyre_error err;
    void *memory;
    options.flags = flags;
    must(vyre_program_load(rt, code.bytes, code.length, &options, &made.program, &err), &err);
    code_free(&code);
    for (uint32_t i = 0; i < buffers; i++) {
        vyre_kernel_buffer_info info = {.size = (uint32_t)sizeof info};
        must(vyre_kernel_buffer(vyre_program_kernel(made.program), i, &info, &err), &err);
        if (info.flags & VYRE_KERNEL_BUFFER_WORKGROUP) continue;
        must(vyre_buffer_create(rt, 1024, mappable(), &made.buffer[i], &err), &err);
        must(vyre_buffer_map(made.buffer[i], &memory, &err), &err);
        made.words[i] = memory;
    }
    must(vyre_bindings_create(made.program, made.buffer, buffers, &made.set, &err), &err);
    return made;
}

static struct loaded load_plain(vyre *rt, struct code code, uint32_t buffers)
{
    return load_with(rt, code, buffers, 0);
}

static void unload(struct loaded *loaded)
{
    vyre_error err;
    vyre_bindings_free(loaded->set);
    for (uint32_t i = 0; i < 3; i++)
        vyre_buffer_free(loaded->buffer[i]);
    must(vyre_program_unload(loaded->program, &err), &err);
}

static uint64_t start(vyre_queue *queue, const struct loaded *loaded, uint32_t x, uint32_t y)
{
    vyre_run run = VYRE_RUN_INIT;
    vyre_error err;
    run.program = loaded->program;
    run.bindings = loaded->set;
    run.grid[0] = x;
    run.grid[1] = y;
    must(vyre_prep_run(next_slot(queue), &run, &err), &err);
    return submit(queue);
}

static vyre_completion run_one(vyre_queue *queue, const struct loaded *loaded, uint32_t x)
{
    return wait_for(queue, start(queue, loaded, x, 1));
}

static vyre_completion run_code(vyre *rt, struct code code, uint32_t buffers, uint32_t flags)
{
    struct loaded loaded = load_with(rt, code, buffers, flags);
    vyre_completion end = run_one(vyre_queue_default(rt), &loaded, 1);
    unload(&loaded);
    return end;
}

static void faults(const vyre_completion *end, uint32_t fault, const char *what)
{
    bool right = end->outcome == VYRE_FAULTED && end->fault == fault;
    ok(right, "%s: %s", vyre_fault_name(fault), what);
    if (right) reached[fault] = true;
    if (!right) note("outcome %u, fault %u, pc %u", end->outcome, end->fault, end->pc);
}

static struct code one_store(uint8_t type, struct ir_expr *value)
{
    rw("r", type, 0);
    return code_end(program(store("r", u32(0), value)));
}

/* Faults of values. The first buffer is zero. */
static void by_value(vyre *rt)
{
    code_begin();
    rw("a", IR_TYPE_I32, 0);
    vyre_completion end =
        run_code(rt, one_store(IR_TYPE_I32, div_(i32(7), load("a", u32(0)))), 2, 0);
    faults(&end, VYRE_FAULT_DIVISION, "7 / 0");
    code_begin();
    rw("a", IR_TYPE_I32, 0);
    struct ir_expr *minus_one = bin(IR_BIN_SUB, load("a", u32(0)), i32(1));
    end = run_code(rt, one_store(IR_TYPE_I32, cast(IR_TYPE_I32, mod(i32(INT32_MIN), minus_one))), 2,
                   0);
    faults(&end, VYRE_FAULT_DIVISION, "the least value modulo -1");
    code_begin();
    rw("a", IR_TYPE_I32, 0);
    minus_one = bin(IR_BIN_SUB, load("a", u32(0)), i32(1));
    end = run_code(rt, one_store(IR_TYPE_U64, cast(IR_TYPE_U64, minus_one)), 2, 0);
    faults(&end, VYRE_FAULT_VALUE_RANGE, "-1 as a u64");
    code_begin();
    rw("a", IR_TYPE_U32, 0);
    end = run_code(
        rt,
        one_store(IR_TYPE_U32,
                  load("a", cast(IR_TYPE_I32, bin(IR_BIN_SUB, load("a", u32(0)), u32(1))))),
        2, 0);
    ok(end.outcome == VYRE_FAULTED, "an index below 0 ends in a fault (%s)",
       vyre_fault_name(end.fault));
    code_begin();
    rw("a", IR_TYPE_F32, 0);
    struct ir_expr *root = un(IR_UN_SQRT, bin(IR_BIN_SUB, load("a", u32(0)), f32(1.0f)));
    end = run_code(rt, one_store(IR_TYPE_F32, load("a", root)), 2, 0);
    faults(&end, VYRE_FAULT_BAD_INDEX, "NaN as an index");
}

/* Faults of statements. */
static void by_statement(vyre *rt)
{
    code_begin();
    workgroup(8, 1, 1);
    rw("r", IR_TYPE_U32, 0);
    struct loaded loaded =
        load_plain(rt,
                   code_end(program(
                       if_(eq(gid(0), u32(21)), list(trap(add(gid(0), u32(400)), "here")), nothing),
                       store("r", gid(0), u32(1)))),
                   1);
    vyre_completion end = run_one(vyre_queue_default(rt), &loaded, 4);
    faults(&end, VYRE_FAULT_TRAP, "a trap in one lane");
    ok(end.result[2] == 2 && end.result[3] == 0 && end.result[4] == 421 && end.result[5] == 5,
       "it names workgroup 2, lane 5 and the address");
    ok(end.result[0] >= 1 && end.result[0] <= 3, "%u workgroups ran to their end", end.result[0]);
    unload(&loaded);

    code_begin();
    rw("r", IR_TYPE_U32, 0);
    rw("s", IR_TYPE_U32, 0);
    end = run_code(
        rt,
        code_end(program(async_load("r", "s", "t"), async_load("r", "s", "t"), async_wait("t"))), 2,
        0);
    faults(&end, VYRE_FAULT_ASYNC_TAG, "a tag begun twice");
    code_begin();
    rw("r", IR_TYPE_U32, 0);
    rw("s", IR_TYPE_U32, 0);
    end = run_code(rt, code_end(program(async_load("r", "s", "t"))), 2, 0);
    faults(&end, VYRE_FAULT_ASYNC_TAG, "a tag that is never awaited");
}

/* Slots that name the wrong things, written by hand. */
static void by_slot(vyre *rt)
{
    vyre_queue *queue = vyre_queue_default(rt);
    struct loaded one = load_plain(rt, code_fill(4, 0), 1),
                  other = load_plain(rt, code_fill(4, 1), 1);
    uint32_t opcode = vyre_program_opcode(one.program);
    uint32_t args[5] = {1, 1, 1, vyre_bindings_handle(other.set), 0};
    vyre_completion end = wait_for(queue, submit_op(queue, opcode, args, 5));
    faults(&end, VYRE_FAULT_BINDINGS, "the set of another program");
    args[3] = vyre_bindings_handle(one.set);
    args[4] = 1;
    end = wait_for(queue, submit_op(queue, opcode, args, 5));
    faults(&end, VYRE_FAULT_PARAMETERS, "a scalar for a program that has none");
    args[4] = 0;
    args[0] = 0x10000000;
    end = wait_for(queue, submit_op(queue, opcode, args, 5));
    faults(&end, VYRE_FAULT_GRID, "2^33 invocations on one axis");
    args[0] = 0;
    end = wait_for(queue, submit_op(queue, opcode, args, 5));
    ok(end.outcome == VYRE_DONE && end.result[0] == 0, "a grid of nothing is done at once");
    unload(&one);
    unload(&other);
}

static void out_of_bounds(vyre *rt)
{
    vyre_queue *queue = vyre_queue_default(rt);
    struct loaded loose = load_plain(rt, code_fill(4, 100), 1);
    vyre_completion end = run_one(queue, &loose, 10); /* 320 lanes, 256 elements */
    ok(end.outcome == VYRE_DONE && end.out_of_bounds == 64, "64 stores past the end are counted");
    is_u64(end.result[0], 10, "ten workgroups ran");
    is_u64(loose.words[0][255], 355, "the last element is right");
    unload(&loose);
    struct loaded strict = load_with(rt, code_fill(4, 100), 1, VYRE_KERNEL_STRICT);
    end = run_one(queue, &strict, 10);
    faults(&end, VYRE_FAULT_OUT_OF_BOUNDS, "a strict program");
    ok(end.result[2] == 8 && end.result[4] == 256 && end.result[5] == 0,
       "it names workgroup %u, element %u and lane %u", end.result[2], end.result[4],
       end.result[5]);
    char path[96];
    vyre_error err;
    works(vyre_kernel_place(vyre_program_kernel(strict.program), end.pc, path, sizeof path, &err),
          &err, "the place of instruction %u: %s", end.pc, path);
    ok(strstr(path, "body[1]") != NULL, "is the store");
    unload(&strict);
}

/* Counts for ever in r[lane], with workgroup memory and a barrier in each round. 16 lanes. */
static struct code code_endless(void)
{
    code_begin();
    workgroup(16, 1, 1);
    rw("r", IR_TYPE_U32, 0);
    shared("w", IR_TYPE_U32, 16);
    return code_end(program(loop(
        "i", u32(0), u32(UINT32_MAX),
        list(store("w", lid(0), var("i")), barrier(), store("r", lid(0), load("w", lid(0)))))));
}

static uint32_t frames_full(vyre *rt)
{
    vyre_description about = VYRE_DESCRIPTION_INIT;
    vyre_error err;
    must(vyre_describe(rt, &about, &err), &err);
    return about.frames_full;
}

/* More endless slots than workers: others still have their turn, and each can be ended. */
static void endless(uint32_t workers, uint32_t continuations)
{
    vyre_options options = cpu_options(workers);
    options.continuations = continuations;
    options.step_budget = 1000;
    vyre *rt = open_with(&options);
    vyre_queue *queue = vyre_queue_default(rt);
    struct loaded loaded = load_plain(rt, code_endless(), 2);
    struct loaded small = load_plain(rt, code_fill(4, 7), 1);
    uint64_t ticket[6];
    vyre_error err;
    for (uint32_t i = 0; i < 6; i++)
        ticket[i] = start(queue, &loaded, 1, 1);
    if (continuations != 0) {
        for (uint32_t i = 0; i < 3; i++) {
            vyre_completion end = run_one(queue, &small, 4);
            is_u64(end.outcome, VYRE_DONE, "a small program runs beside six endless ones");
        }
        is_u64(frames_full(rt), 0, "no workgroup had to go on for want of a frame");
    } else {
        for (uint64_t waited = 0; frames_full(rt) == 0 && waited < PATIENCE_NS; waited += 50000)
            breathe();
        ok(frames_full(rt) != 0, "without frames a workgroup goes on, and that is counted");
    }
    for (uint32_t i = 0; i < 4; i++)
        works(vyre_cancel(queue, ticket[i], &err), &err, "cancel");
    for (uint32_t i = 0; i < 4; i++)
        is_u64(wait_for(queue, ticket[i]).outcome, VYRE_CANCELLED, "it ends as cancelled");
    vyre_slot *slot = next_slot(queue);
    vyre_run run = VYRE_RUN_INIT;
    run.program = loaded.program;
    run.bindings = loaded.set;
    run.grid[0] = 3;
    must(vyre_prep_run(slot, &run, &err), &err);
    must(vyre_slot_deadline(queue, slot, 2000000, &err), &err);
    uint64_t late = submit(queue);
    /* Without frames nobody else has a turn before these two have ended. */
    for (uint32_t i = 4; i < 6 && continuations == 0; i++)
        must(vyre_cancel(queue, ticket[i], &err), &err);
    is_u64(wait_for(queue, late).fault, VYRE_FAULT_DEADLINE, "a deadline ends it too");
    must(vyre_stop(rt, &err), &err);
    vyre_completion end = wait_for(queue, ticket[5]);
    ok(end.outcome == VYRE_CANCELLED, "and stop");
    vyre_close(rt);
}

/* Many workgroups that are put aside many times give what they give in one piece. */
static void budgets(void)
{
    static const uint32_t budget[] = {1, 2, 3, 7, 100};
    for (uint32_t b = 0; b < 5; b++) {
        vyre_options options = cpu_options(1 + b % 3);
        options.step_budget = budget[b];
        options.continuations = b == 3 ? 1 : 16;
        vyre *rt = open_with(&options);
        code_begin();
        workgroup(24, 1, 1);
        rw("r", IR_TYPE_U32, 0);
        shared("w", IR_TYPE_U32, 24);
        /* Each round every lane adds its right neighbour's value. */
        struct loaded loaded = load_plain(
            rt,
            code_end(program(
                let("x", gid(0)),
                loop("i", u32(0), u32(20),
                     list(store("w", lid(0), var("x")), barrier(),
                          assign("x", add(var("x"), load("w", mod(add(lid(0), u32(1)), u32(24))))),
                          barrier(),
                          loop("j", u32(0), lid(0), list(assign("x", add(var("x"), u32(1))))))),
                store("r", gid(0), var("x")))),
            2);
        vyre_completion end = run_one(vyre_queue_default(rt), &loaded, 8);
        uint32_t x[24], next[24];
        bool same = end.outcome == VYRE_DONE;
        for (uint32_t g = 0; g < 8; g++) {
            for (uint32_t i = 0; i < 24; i++)
                x[i] = g * 24 + i;
            for (uint32_t k = 0; k < 20; k++) {
                for (uint32_t i = 0; i < 24; i++)
                    next[i] = x[i] + x[(i + 1) % 24] + i;
                memcpy(x, next, sizeof x);
            }
            same = same && memcmp(x, loaded.words[0] + g * 24, sizeof x) == 0;
        }
        ok(same, "turns of %u steps: the same result", budget[b]);
        unload(&loaded);
        vyre_close(rt);
    }
}

/* A while with a barrier in it, as many rounds as there can be: it is left when its flag says so.
 */
static void while_barrier(vyre *rt)
{
    code_begin();
    workgroup(16, 1, 1);
    rw("r", IR_TYPE_U32, 0);
    shared("w", IR_TYPE_U32, 16);
    struct loaded loaded = load_plain(
        rt,
        code_end(program(
            let("x", gid(0)), let("n", wid(0)), let("go", bool_(1)),
            loop("i", u32(0), u32(UINT32_MAX),
                 list(if_(var("go"),
                          list(store("w", lid(0), var("x")), barrier(),
                               assign("x", add(load("w", bin(IR_BIN_BIT_XOR, lid(0), u32(1))),
                                               u32(100))),
                               barrier(), assign("go", gt(var("n"), u32(0))),
                               assign("n", bin(IR_BIN_SAT_SUB, var("n"), u32(1)))),
                          nothing))),
            store("r", gid(0), var("x")))),
        2);
    vyre_completion end = run_one(vyre_queue_default(rt), &loaded, 3);
    bool same = end.outcome == VYRE_DONE;
    for (uint32_t i = 0; i < 48; i++) {
        uint32_t rounds = i / 16 + 1; /* neighbours change places in each */
        same = same && loaded.words[0][i] == ((i ^ (rounds & 1)) + 100 * rounds);
    }
    ok(same, "a while around a barrier is left");
    unload(&loaded);
}

/* What a tenant's log says after two lanes have printed. */
static void prints(vyre *rt)
{
    vyre_log_record record[4];
    size_t count = 0;
    vyre_error err;
    code_begin();
    workgroup(2, 1, 1);
    vyre_completion end = run_code(
        rt, code_end(program(let("p", call("vyre.print", u32(77), lid(0), f32(1.5f))))), 0, 0);
    is_u64(end.outcome, VYRE_DONE, "a program that prints");
    uint64_t cursor = 0, lost = 0;
    works(vyre_tenant_log(rt, 0, &cursor, record, 4, &count, &lost, &err), &err,
          "the log can be read");
    ok(count == 2 && record[0].format == 77 && record[1].a == 1 && record[1].b == 0x3FC00000,
       "two records");
}

int main(void)
{
    vyre *rt = open_cpu(2);
    by_value(rt);
    by_statement(rt);
    by_slot(rt);
    out_of_bounds(rt);
    prints(rt);
    while_barrier(rt);
    budgets();
    endless(2, 64);
    endless(2, 0);
    endless(1, 8);
    endless(1, 0);
#define VYRE_FAULT(name, value, text)                                                              \
    if ((value) >= VYRE_FAULT_DIVISION && (value) <= VYRE_FAULT_PARAMETERS)                        \
        ok(reached[value], "%s was reached", #name);
#include "vyre/fault.def"
#undef VYRE_FAULT
    vyre_close(rt);
    return done();
}
