/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every rule of the validator: a program that breaks it and no other, and one beside it that does
 * not. At the end each row of rules.def must have been broken.
 */
#include "ir_validate_limits.h"
#include "ir_validate_test.h"
#include "ir_validate_types.h"

static void scopes(void)
{
    bad(UNDECLARED, store("o", gid(0), var("t")));
    bad(UNDECLARED, block(list(let("t", u32(1)))), store("o", gid(0), var("t")));
    bad(UNDECLARED, loop("k", u32(0), u32(2), list(let("t", u32(1)))), let("y", var("k")));
    bad(UNDECLARED, let("t", var("t")));
    bad(UNDECLARED, region("r1", list(let("t", u32(1)))), region("r2", list(let("y", var("t")))));
    bad(UNDECLARED, if_(bool_(1), list(let("t", u32(1))), list(let("y", var("t")))));
    good(let("t", u32(1)), block(list(store("o", gid(0), var("t")))));
    good(let("a", u32(1)), store("o", gid(0), var("a")));

    bad(ASSIGN_TARGET, assign("t", u32(1)));
    bad(ASSIGN_ACCESS, assign("a", u32(1)));
    bad(ASSIGN_ACCESS, assign("s", u32(1)));
    bad(ASSIGN_ACCESS, assign("wo", u32(1)));
    good(assign("d", u32(1)));
    good(let("t", u32(1)), region("r", list(assign("t", u32(2)))));
    good(let("a", u32(1)), assign("a", u32(2)));

    bad(SHADOWING, let("t", u32(1)), block(list(let("t", u32(2)))));
    bad(SHADOWING, let("t", u32(1)), loop("t", u32(0), u32(2), nothing));
    bad(SHADOWING, loop("k", u32(0), u32(2), list(let("k", u32(0)))));
    bad(SHADOWING, loop("k", u32(0), u32(2), list(loop("k", u32(0), u32(2), nothing))));
    bad(DUPLICATE_LET, let("t", u32(1)), let("t", u32(2)));
    good(block(list(let("t", u32(1)))), let("t", f32(2)),
         store("di", u32(0), cast(IR_TYPE_I32, var("t"))));
    good(if_(bool_(1), list(let("t", u32(1))), list(let("t", f32(2)))));
    good(loop("k", u32(0), u32(2), nothing), loop("k", u32(0), u32(2), nothing), let("k", u32(0)));

    bad(ASSIGN_LOOP, loop("k", u32(0), u32(2), list(assign("k", u32(0)))));
    bad(ASSIGN_TYPE, let("t", u32(1)), assign("t", f32(1)));
    bad(ASSIGN_TYPE, assign("d", f32(1)));
    bad(ASSIGN_TYPE, let("t", bool_(1)), assign("t", u32(1)));
    good(let("t", f32(1)), assign("t", X));
    good(assign("db", u32(1)), assign("d", bool_(1)), assign("draw", u32(1)));
    /* What is restored after a shadowed name is the outer one. */
    bad(SHADOWING, let("t", u32(1)), block(list(let("t", f32(2)), let("y", add(var("t"), f32(1))))),
        let("z", add(var("t"), u32(1))));
}

static void memory_rules(void)
{
    bad(UNKNOWN_BUFFER, let("t", load("nope", u32(0))));
    bad(UNKNOWN_BUFFER, store("nope", u32(0), f32(0)));
    bad(UNKNOWN_BUFFER, let("t", len("nope")));
    bad(UNKNOWN_BUFFER, let("t", atomic(IR_ATOMIC_ADD, "nope", u32(0), u32(1))));
    bad(UNKNOWN_BUFFER, indirect("nope", 4));
    bad(UNKNOWN_BUFFER, let("d2", u32(0)), let("t", load("d2", u32(0))));
    good(indirect("a", 4));
    good(async_load("nope", "neither", "t"), async_wait("t"));

    bad(BYTES, let("t", load("raw", u32(0))));
    bad(BYTES, store("draw", u32(0), u32(1)));
    good(let("t", len("raw")));
    bad(STORE_ACCESS, store("a", gid(0), u32(1)));
    bad(STORE_ACCESS, store("un", gid(0), u32(1)));
    good(store("wo", gid(0), u32(1)), store("s", gid(0), u32(1)), let("t", load("wo", u32(0))));
    bad(STORE_INDEX, store("o", i32(0), u32(1)));
    bad(STORE_INDEX, store("o", i32(-1), u32(1)));
    bad(STORE_INDEX, store("o", bool_(1), u32(1)));
    bad(STORE_INDEX, store("o", f32(1), u32(1)));
    good(let("t", load("a", I)), let("y", load("a", f32(1))), let("z", load("a", bool_(1))));
    bad(STORE_VALUE, store("o", gid(0), i32(1)));
    bad(STORE_VALUE, store("o", gid(0), bool_(1)));
    bad(STORE_VALUE, store("db", gid(0), u32(1)));
    good(store("db", gid(0), B), store("di", gid(0), I));
    bad(STORE_BOUND, store("o", u32(8), u32(1)));
    bad(STORE_BOUND, store("s", u32(0xFFFFFFFFu), u32(1)));
    good(store("o", u32(7), u32(1)), store("dyn", u32(8), u32(1)), let("t", load("a", u32(8))));
}

static void atomics(void)
{
    struct ir_expr *e;
    bad(ATOMIC_ACCESS, let("t", atomic(IR_ATOMIC_ADD, "a", u32(0), u32(1))));
    bad(ATOMIC_ACCESS, let("t", atomic(IR_ATOMIC_ADD, "wo", u32(0), u32(1))));
    bad(ATOMIC_WORKGROUP, let("t", atomic(IR_ATOMIC_ADD, "s", u32(0), u32(1))));
    bad(ATOMIC_ELEMENT, let("t", atomic(IR_ATOMIC_ADD, "di", u32(0), u32(1))));
    bad(ATOMIC_ELEMENT, let("t", atomic(IR_ATOMIC_ADD, "draw", u32(0), u32(1))));
    bad(ATOMIC_INDEX, let("t", atomic(IR_ATOMIC_ADD, "d", i32(0), u32(1))));
    bad(ATOMIC_VALUE, let("t", atomic(IR_ATOMIC_ADD, "d", u32(0), i32(1))));
    bad(ATOMIC_EXPECTED, let("t", atomic(IR_ATOMIC_COMPARE_EXCHANGE, "d", u32(0), u32(1))));
    start();
    e = compare_exchange("d", u32(0), u32(1), u32(2));
    e->op = IR_ATOMIC_COMPARE_EXCHANGE_WEAK;
    judge(IR_RULE_ATOMIC_EXPECTED, 1, "a weak exchange with an expected value",
          program(let("t", e)));
    bad(EXPECTED_TYPE, let("t", compare_exchange("d", u32(0), f32(1), u32(2))));
    start();
    e = ATOMIC_ADD_D;
    e->ordering = IR_ORDERING_GRID_SYNC;
    judge(IR_RULE_ATOMIC_ORDERING, 1, "an atomic with ordering grid_sync", program(let("t", e)));
    start();
    e = ATOMIC_ADD_D;
    e->ordering = IR_ORDERING_RELAXED;
    judge(IR_RULE_NONE, 1, "a relaxed atomic", program(let("t", e)));
    good(let("t", compare_exchange("d", u32(0), u32(1), u32(2))));
    good(let("t", atomic(IR_ATOMIC_COMPARE_EXCHANGE_WEAK, "d", u32(0), u32(1))),
         let("y", atomic(IR_ATOMIC_FETCH_NAND, "d", u32(0), u32(1))));
    good(let("t", atomic(IR_OP_EXTENSION, "d", u32(99), u32(1))));
}

static void hazards(void)
{
    bad(HAZARD, let("t", ATOMIC_ADD_D), store("d", gid(0), u32(1)));
    bad(HAZARD, let("y", load("d", u32(0))), let("t", ATOMIC_ADD_D));
    bad(HAZARD, let("y", len("d")), let("t", ATOMIC_ADD_D));
    bad(HAZARD, let("t", ATOMIC_ADD_D), if_(lt(gid(0), len("d")), nothing, nothing));
    bad(HAZARD, let("t", ATOMIC_ADD_D), loop("k", u32(0), len("d"), nothing));
    bad(HAZARD, let("t", ATOMIC_ADD_D), async_load("a", "d", "c"), async_wait("c"));
    bad(HAZARD, let("t", ATOMIC_ADD_D), async_store("d", "o", "c"), async_wait("c"));
    bad(HAZARD, let("t", ATOMIC_ADD_D), indirect("d", 0));
    bad(HAZARD, let("y", load("d", u32(0))), store("d", u32(0), ATOMIC_ADD_D));
    bad(HAZARD, let("t", u32(0)), assign("t", load("d", u32(0))), assign("t", ATOMIC_ADD_D));
    bad(HAZARD, block(list(let("t", ATOMIC_ADD_D), store("d", gid(0), u32(1)))));
    bad(HAZARD, if_(u32(1), nothing, list(let("t", ATOMIC_ADD_D), store("d", gid(0), u32(1)))));
    bad(HAZARD, let("t", ATOMIC_ADD_D), block(list(barrier())), store("d", gid(0), u32(1)));
    good(let("t", ATOMIC_ADD_D), barrier(), store("d", gid(0), u32(1)));
    good(let("t", ATOMIC_ADD_D), block(list(store("d", gid(0), u32(1)))));
    good(block(list(let("t", ATOMIC_ADD_D))), store("d", gid(0), u32(1)));
    good(let("t", ATOMIC_ADD_D), store("dyn", gid(0), load("a", u32(0))), let("y", ATOMIC_ADD_D));
    good(store("d", u32(0), atomic(IR_ATOMIC_ADD, "d", load("d", u32(1)), len("d"))));
    good(let("t", ATOMIC_ADD_D), trap(load("d", u32(0)), "t"));
    good(let("t", load("d", u32(0))), block(list(let("y", ATOMIC_ADD_D))),
         let("z", load("d", u32(1))));
}

#define BARRIER_IF(rule, condition) bad(rule, if_(condition, list(barrier()), nothing))

static void barriers(void)
{
    struct ir_node *relaxed;
    bad(BARRIER_UNIFORM, if_(lt(lid(0), u32(4)), list(barrier()), nothing));
    bad(BARRIER_UNIFORM, if_(eq(ATOMIC_ADD_D, u32(0)), nothing, list(barrier())));
    bad(BARRIER_UNIFORM, loop("k", u32(0), A, list(barrier())));
    bad(BARRIER_UNIFORM,
        if_(lt(gid(0), u32(4)), list(loop("k", u32(0), u32(2), list(block(list(barrier()))))),
            nothing));
    bad(BARRIER_UNIFORM, let("t", u32(1)), assign("t", lid(0)),
        if_(var("t"), list(barrier()), nothing));
    bad(BARRIER_UNIFORM, let("t", u32(1)), block(list(assign("t", lid(0)))), assign("t", u32(1)),
        if_(var("t"), list(barrier()), nothing));
    bad(BARRIER_UNIFORM, loop("k", u32(0), lid(0), list(region("r", list(barrier())))));
    bad(BARRIER_UNIFORM, if_(subgroup_ballot(u32(1)), list(barrier()), nothing));
    bad(BARRIER_UNIFORM, if_(load("un", u32(0)), list(barrier()), nothing));
    BARRIER_IF(BARRIER_UNIFORM, select_(lid(0), u32(1), u32(1)));
    BARRIER_IF(BARRIER_UNIFORM, select_(u32(1), lid(0), u32(1)));
    BARRIER_IF(BARRIER_UNIFORM, select_(u32(1), u32(1), lid(0)));
    BARRIER_IF(BARRIER_UNIFORM, gt(fma_(f32(1), f32(1), X), f32(1)));
    BARRIER_IF(BARRIER_UNIFORM, gt(fma_(X, f32(1), f32(1)), f32(1)));
    BARRIER_IF(BARRIER_UNIFORM, call("vyre.print", u32(1)));
    BARRIER_IF(BARRIER_UNIFORM, expr(IR_EXPR_SUBGROUP_SIZE, NULL, NULL, NULL));
    BARRIER_IF(NONE, gt(i32(1), i32(2)));
    /* Not all lanes have been in that loop. */
    bad(BARRIER_UNIFORM, let("t", u32(0)),
        if_(lid(0), list(loop("k", u32(0), u32(2), list(assign("t", var("k"))))), nothing),
        if_(var("t"), list(barrier()), nothing));
    bad(BARRIER_UNIFORM,
        if_(lt(lid(0), u32(4)),
            list(loop("k", u32(0), u32(2), list(if_(var("k"), list(barrier()), nothing)))),
            nothing));
    good(loop("k", u32(0), len("a"),
              list(if_(and_(eq(var("k"), wid(0)), bool_(1)), list(barrier()), nothing))));
    good(let("t", select_(bool_(1), cast(IR_TYPE_U32, f32(1)), wid(0))),
         if_(var("t"), list(barrier()), nothing));
    good(if_(lt(lid(0), u32(4)), list(ret()), nothing), barrier());
    good(let("t", fma_(f32(1), f32(2), f32(3))),
         if_(gt(var("t"), f32(1)), list(barrier()), nothing));

    start();
    relaxed = barrier();
    relaxed->ordering = IR_ORDERING_RELAXED;
    judge(IR_RULE_BARRIER_ORDERING, 1, "a relaxed barrier", program(relaxed));
    start();
    relaxed = barrier();
    relaxed->ordering = IR_ORDERING_GRID_SYNC;
    judge(IR_RULE_NONE, 1, "a barrier with ordering grid_sync", program(relaxed));
}

static void control_flow(void)
{
    bad(IF_CONDITION, if_(X, nothing, nothing));
    bad(IF_CONDITION, if_(I, nothing, nothing));
    good(if_(A, nothing, nothing), if_(B, nothing, nothing));
    bad(LOOP_BOUND, loop("k", i32(0), u32(1), nothing));
    bad(LOOP_BOUND, loop("k", u32(0), f32(1), nothing));
    good(loop("k", A, load("un", u32(0)), nothing), value_of(u32(0)));

    bad(AFTER_RETURN, ret(), store("o", gid(0), u32(1)));
    bad(AFTER_RETURN, block(list(ret(), ret(), ret())));
    good(if_(A, list(ret()), nothing), store("o", gid(0), u32(1)), ret());
}

static void systems(void)
{
    struct ir_node *made;
    bad(INDIRECT_OFFSET, indirect("a", 2));
    good(indirect("a", 8));
    bad(ASYNC_TAG, async_load("a", "d", ""));
    bad(ASYNC_TAG, async_store("a", "d", ""));
    bad(ASYNC_TAG, async_wait(""));
    good(async_load("a", "d", "t"), async_wait("t"));
    good(trap(var("nope"), ""));
    for (uint32_t kind = IR_NODE_ALL_REDUCE; kind <= IR_NODE_BROADCAST; kind++) {
        start();
        made = node((uint8_t)kind);
        made->name = name("a");
        made->other = name("d");
        made->op = IR_COLLECTIVE_SUM;
        judge(IR_RULE_COLLECTIVE, 1, vyre_ir_node_id(kind), program(made));
    }
    start();
    made = node(IR_NODE_RESUME);
    made->tag = name("t");
    judge(IR_RULE_NONE, 1, "resume", program(made));

    bad(SELF_EXCLUSIVE, region("g#self-exclusive", nothing), region("g#self-exclusive", nothing));
    bad(SELF_EXCLUSIVE, region("#self-exclusive", nothing), region("#self-exclusive", nothing));
    bad(SELF_EXCLUSIVE,
        region("g#self-exclusive", list(block(list(region("g#self-exclusive", nothing))))));
    good(region("g#self-exclusive", nothing), region("h#self-exclusive", nothing));
    good(region("g", nothing), region("g", nothing), region("#self", nothing));

    bad(CALL, let("t", call("math.sqrt", u32(1))));
    bad(CALL, let("t", call("vyre.printf", u32(1))));
    bad(PRINT, let("t", call("vyre.print", A)));
    start();
    judge(IR_RULE_PRINT, 1, "print without arguments",
          program(let("t", ib_call("vyre.print", (struct ir_expr *[]){NULL}))));
    bad(PRINT, let("t", call("vyre.print", u32(1), u32(2), u32(3), u32(4))));
    bad(PRINT, let("t", call("vyre.print", u32(1), Q)));
    bad(PRINT, let("t", call("vyre.print", u32(1), u32(1), load("v2", u32(0)))));
    good(let("t", call("vyre.print", u32(1))), store("o", u32(0), var("t")));
    good(let("t", call("vyre.print", u32(1), A, I)), let("y", call("vyre.print", u32(1), X, B)));
}

static void buffers(void)
{
    begin(&memory);
    workgroup(1, 0, 1);
    judge(IR_RULE_WORKGROUP_SIZE, 1, "a workgroup of 1 x 0 x 1", program(ret()));
    begin(&memory);
    in("a", IR_TYPE_U32, 8);
    in("a", IR_TYPE_U32, 8);
    judge(IR_RULE_BUFFER_NAME, 1, "two buffers of one name", program(ret()));
    begin(&memory);
    in("a", IR_TYPE_U32, 8)->binding = 7;
    in("b", IR_TYPE_U32, 8)->binding = 3;
    in("c", IR_TYPE_U32, 8)->binding = 7;
    judge(IR_RULE_BINDING, 1, "two buffers of one binding", program(ret()));
    begin(&memory);
    in("a", IR_TYPE_U32, 8);
    shared("s", IR_TYPE_U32, 8);
    shared("s2", IR_TYPE_U32, 8);
    judge(IR_RULE_NONE, 1, "workgroup buffers share a binding", program(ret()));
    begin(&memory);
    shared("s", IR_TYPE_U32, 0);
    judge(IR_RULE_WORKGROUP_COUNT, 1, "a workgroup buffer without elements", program(ret()));
    begin(&memory);
    out("o", IR_TYPE_U32, 4);
    out("o2", IR_TYPE_U32, 4);
    judge(IR_RULE_OUTPUT_COUNT, 1, "two outputs", program(ret()));
    begin(&memory);
    out("o", IR_TYPE_U32, 4);
    rw("o2", IR_TYPE_U32, 4)->live_out = 1;
    rw("o3", IR_TYPE_ARRAY, 4);
    judge(IR_RULE_NONE, 1, "an output beside read-write buffers", program(ret()));
    begin(&memory);
    out("o", IR_TYPE_TENSOR, 4);
    judge(IR_RULE_OUTPUT_ELEMENT, 1, "an output of tensors", program(ret()));
    begin(&memory);
    out("o", IR_TYPE_ARRAY, 4);
    judge(IR_RULE_OUTPUT_ELEMENT, 1, "an output of arrays", program(ret()));

    begin(&memory);
    judge(IR_RULE_TOP_LEVEL, 1, "an empty entry list", ib_entry(nothing));
    begin(&memory);
    judge(IR_RULE_TOP_LEVEL, 1, "a let in the entry list", entry(let("t", u32(1))));
    begin(&memory);
    judge(IR_RULE_TOP_LEVEL, 1, "a region, then a return", entry(region("r", nothing), ret()));
    begin(&memory);
    judge(IR_RULE_NONE, 1, "three regions",
          entry(region("r", nothing), region("r", nothing), region("s", list(ret()))));
}

static void *never(void *ctx, size_t bytes, size_t alignment)
{
    (void)ctx, (void)bytes, (void)alignment;
    return NULL;
}

static void options(void)
{
    struct seen seen = {0};
    struct ir_validate_options two = {1, 2, collect, &seen};
    vyre_error err = {0};
    start();
    struct ir_program *made =
        program(let("t", add(A, X)), let("y", add(A, I)), let("z", add(I, X)), ret());
    is_u64((uint64_t)vyre_ir_validate(made, &two, &err), (uint64_t)VYRE_E_IR_INVALID, "rejected");
    is_u64(seen.count, 2, "no more findings than asked for");
    ok(strstr(err.message, "u32 and f32") != NULL, "the error is about the first: %s", err.message);
    ok(vyre_ir_validate(made, NULL, &err) == VYRE_E_IR_INVALID, "without options");
    ok(vyre_ir_validate(made, NULL, NULL) == VYRE_E_IR_INVALID, "without anything");
    vyre_allocator kept = memory.hooks;
    memory.hooks.alloc = never;
    ok(vyre_ir_validate(made, NULL, &err) == VYRE_E_NO_MEMORY, "no memory: %s", err.message);
    memory.hooks = kept;
    vyre_ir_program_free(made);
    start();
    char long_name[2000];
    memset(long_name, 'n', sizeof long_name);
    long_name[45] = '\n';
    memcpy(long_name + 47, "\xC3\xA9\xC3\xA9", 4);
    long_name[sizeof long_name - 1] = '\0';
    made = program(let("t", var(long_name)));
    ok(vyre_ir_validate(made, NULL, &err) == VYRE_E_IR_INVALID &&
           strstr(err.message, "nnnn?n...` is not"),
       "a long name is cut between letters: %s", err.message);
    vyre_ir_program_free(made);
    start();
    long_name[48] = '\0';
    long_name[45] = ' ';
    memcpy(long_name + 46, "\x7F~", 2);
    made = program(block(list(ret(), ret(), ret())), let("t", var(long_name)));
    seen = (struct seen){0};
    two.most = 1000;
    vyre_ir_validate(made, &two, &err);
    is_u64(seen.count, 2, "what stands behind a return is reported once");
    two.report = NULL;
    made->entry.first->body.first->body.last = made->entry.first->body.first->body.first;
    made->entry.first->body.first->body.first->next = NULL;
    ok(vyre_ir_validate(made, &two, &err) && strstr(err.message, "nnn ?~` is not"),
       "a name of 48 bytes is not: %s", err.message);
    vyre_ir_program_free(made);
    begin(&memory);
    in("a", IR_TYPE_U32, 8);
    shared("s", IR_TYPE_U32, 0);
    made = program(ret());
    two = (struct ir_validate_options){1, 2, collect, &seen};
    seen.count = 0;
    vyre_ir_validate(made, &two, &err);
    is_str(seen.first.path, "buffers[1]", "the place of a buffer");
    is_u64(seen.first.other, 1, "its index");
    vyre_ir_program_free(made);
}

static void table(void)
{
    static const struct {
        enum ir_rule rule;
        const char *name;
    } rows[] = {
#define IR_RULE(number, name, text, fix) {IR_RULE_##name, #name},
#include "ir/rules.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char code[8];
        snprintf(code, sizeof code, "V%03u", (unsigned)rows[i].rule);
        ok(hit[rows[i].rule] > 0 && strcmp(vyre_ir_rule_code(rows[i].rule), code) == 0 &&
               vyre_ir_rule_text(rows[i].rule)[0] && vyre_ir_rule_fix(rows[i].rule)[0] &&
               (i == 0 || rows[i].rule > rows[i - 1].rule),
           "%s %s is in order, has its texts and was broken", code, rows[i].name);
    }
    is_u64(IR_RULE_SUBGROUPS, 41, "the reference's number for subgroups");
    is_str(vyre_ir_rule_code(IR_RULE_NONE), "V000", "no rule has a code, too");
    ok(vyre_ir_rule_text(IR_RULE_END)[0] && vyre_ir_rule_fix((enum ir_rule)21)[0],
       "numbers that are no rules have texts");
}

int main(void)
{
    vyre_error err;
    if (vyre_memory_init(&memory, NULL, &err)) bail("%s", err.message);
    scopes();
    memory_rules();
    atomics();
    hazards();
    barriers();
    control_flow();
    systems();
    arithmetic();
    unary();
    casts();
    sameness();
    subgroups();
    buffers();
    depths();
    limits();
    options();
    table();
    is_u64(vyre_memory_live(&memory), 0, "all memory given back");
    return done();
}
