/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The shape of the code that the lowering makes: what is scalar, what is masked, which loops can be
 * left, what is computed ahead or not at all, what is refused. Each program is validated before and
 * the code verified after. Given the conformance corpus, all its programs that run must lower. That
 * the code computes the right values is for the comparison with the oracle.
 */
#include "ir_build.h"
#include "ir_corpus.h"
#include "vm/vm.h"

static struct vyre_memory memory;
static struct ir_program *tree;
static struct vm_program *made;

static void done_with(void)
{
    vyre_vm_free(made);
    vyre_ir_program_free(tree);
    made = NULL;
    tree = NULL;
}

/* A program with 64 lanes and the buffers of most tests. */
static void start(void)
{
    begin(&memory);
    workgroup(64, 1, 1);
    in("a", IR_TYPE_U32, 64);
    in("i", IR_TYPE_I32, 64);
    in("x", IR_TYPE_F32, 64);
    in("q", IR_TYPE_U64, 64);
    in("flags", IR_TYPE_BOOL, 64);
    out("o", IR_TYPE_U32, 64);
    rw("r", IR_TYPE_U32, 0);
    rw("y", IR_TYPE_F32, 64);
    rw("bytes", IR_TYPE_U8, 64);
    rw("far", IR_TYPE_U32, 64);
    in("n", IR_TYPE_U32, 1)->kind = IR_KIND_PUSH;
}

static void take(struct ir_program *program)
{
    struct ir_validate_options options = {.subgroups = 1, .most = 1};
    vyre_error err;
    tree = program;
    if (vyre_ir_validate(tree, &options, &err) != VYRE_OK)
        bail("the test's own program is not valid: %s", err.message);
}

static void lower(struct ir_program *program, const char *what)
{
    vyre_error err;
    struct vm_lower_options options = {0};
    take(program);
    if (vyre_vm_lower(tree, &options, &made, &err) != VYRE_OK)
        bail("%s: not lowered: %s", what, err.message);
    int sound = vyre_vm_verify(&memory, made->header, made->header->bytes, &err) == VYRE_OK;
    ok(sound, "%s: the code is sound%s%s", what, sound ? "" : ": ", sound ? "" : err.message);
}

static void refused(struct ir_program *program, vyre_status status, const char *text)
{
    vyre_error err = {0};
    take(program);
    vyre_status got = vyre_vm_lower(tree, NULL, &made, &err);
    is_str(vyre_status_name(got), vyre_status_name(status), "refused: %s", text);
    ok(strstr(err.message, text) != NULL, "the message `%s` has `%s`", err.message, text);
    ok(made == NULL, "nothing was made");
    done_with();
}

static uint32_t count(uint32_t op)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < made->header->code_count; i++)
        found += vm_code(made->header)[i].op == op;
    return found;
}

/* The n-th instruction with this opcode, from 0; all zero where there is none. */
static struct vm_insn nth(uint32_t op, uint32_t n)
{
    for (uint32_t i = 0; i < made->header->code_count; i++)
        if (vm_code(made->header)[i].op == op && n-- == 0) return vm_code(made->header)[i];
    return (struct vm_insn){0};
}

static int is_scalar(uint16_t number)
{
    return (number & VM_SCALAR) != 0;
}

static int has(uint32_t op, uint32_t times, const char *what)
{
    return is_u64(count(op), times, "%s: %u of %s", what, (unsigned)times, vyre_vm_row(op)->name);
}

static void test_uniform(void)
{
    start();
    lower(program(let("s", add(mul(wid(0), len("r")), load("n", u32(0)))),
                  loop("k", u32(0), var("s"), list(store("r", add(gid(0), var("k")), var("s"))))),
          "uniform values");
    ok(is_scalar(nth(VM_OP_MAD, 0).d), "workgroup * length + parameter is a scalar");
    has(VM_OP_LOOP, 1, "uniform bound");
    has(VM_OP_VLOOP, 0, "uniform bound");
    ok(is_scalar(nth(VM_OP_LD32, 0).d), "a scalar parameter is loaded once");
    ok(!is_scalar(nth(VM_OP_ADD, 0).d), "what depends on the lane is not");
    done_with();

    start();
    lower(program(loop("k", u32(0), load("a", gid(0)),
                       list(store("r", gid(0), add(var("k"), load("n", u32(0)))),
                            store("o", gid(0), add(load("n", u32(0)), gid(0)))))),
          "a bound that differs");
    has(VM_OP_VLOOP, 1, "bound that differs");
    has(VM_OP_GLOBALID, 1, "the id is computed once");
    has(VM_OP_LD32, 2, "the parameter is loaded once");
    done_with();

    start();
    lower(program(let("v", load("r", u32(3))), let("w", load("a", u32(3))),
                  store("o", gid(0), add(var("v"), var("w")))),
          "loads at a literal");
    ok(!is_scalar(nth(VM_OP_LD32, 0).d), "not known to be in bounds: each lane counts");
    ok(is_scalar(nth(VM_OP_LD32, 1).d), "in bounds: one for all");
    done_with();

    start();
    workgroup(1, 64, 1);
    lower(program(store("o", gid(1), add(gid(0), lid(0)))), "an axis with one lane");
    ok(is_scalar(nth(VM_OP_GROUPID, 0).d), "its invocation id is the workgroup's");
    has(VM_OP_ADD, 0, "its local id is 0");
    done_with();
}

static void test_masks(void)
{
    start();
    lower(program(let("v", load("a", gid(0))), let("u", u32(1)),
                  if_(lt(gid(0), u32(9)), list(assign("v", add(var("v"), u32(1)))), nothing),
                  assign("u", add(var("u"), load("n", u32(0)))),
                  assign("v", mul(var("v"), var("u"))), store("o", gid(0), var("v"))),
          "assignments");
    struct vm_insn inside = nth(VM_OP_ADD, 0);
    ok(inside.flags == VM_MASKED && !is_scalar(inside.d), "masked in a divergent if");
    ok(is_scalar(nth(VM_OP_ADD, 1).d), "a variable that is uniform throughout is a scalar");
    ok(nth(VM_OP_MUL, 0).flags == 0, "not masked outside");
    is_u64(nth(VM_OP_MUL, 0).d, inside.d, "and straight to the variable's register");
    has(VM_OP_MOV, 1, "only the scalar's first value is moved");
    done_with();

    start();
    lower(program(let("v", u32(7)),
                  if_(lt(gid(0), u32(9)),
                      list(if_(lt(wid(0), u32(2)), list(assign("v", u32(8))), nothing)), nothing),
                  store("o", gid(0), var("v"))),
          "a uniform if in a divergent one");
    has(VM_OP_JZ, 1, "inner");
    has(VM_OP_IF, 1, "outer");
    ok(nth(VM_OP_MOV, 1).flags == VM_MASKED, "divergence is inherited");
    done_with();

    start();
    lower(program(if_(lt(gid(0), u32(9)),
                      list(let("s", u32(0)),
                           loop("k", u32(0), len("r"), list(assign("s", add(var("s"), var("k"))))),
                           store("o", gid(0), var("s"))),
                      nothing)),
          "a variable of a divergent region");
    ok(is_scalar(nth(VM_OP_ADD, 0).d), "is a scalar where all who see it agree");
    done_with();

    start();
    lower(program(let("v", u32(0)),
                  loop("k", u32(0), u32(5),
                       list(assign("v", add(var("v"), u32(3))),
                            if_(eq(var("v"), gid(0)), list(assign("v", var("k"))), nothing))),
                  store("o", gid(0), var("v"))),
          "what is found out late");
    ok(!is_scalar(nth(VM_OP_ADD, 0).d), "an assignment further down makes it a vector");
    ok(nth(VM_OP_ADD, 0).flags == 0, "which is not masked in the uniform loop");
    done_with();
}

static struct ir_node *while_loop(struct ir_expr *condition, struct ir_node *more)
{
    struct ir_list then =
        list(assign("v", div_(var("v"), u32(2))), assign("go", gt(var("v"), u32(3))));
    struct ir_list body = list(if_(condition, then, nothing));
    if (more) vyre_ir_append(&body, more);
    return loop("k", u32(0), u32(1000), body);
}

static void test_while(void)
{
    static const char *const near[] = {"else", "more behind it", "the counter", "memory"};
    start();
    lower(program(let("v", load("a", gid(0))), let("go", bool_(1)), while_loop(var("go"), NULL),
                  store("o", gid(0), var("v"))),
          "while");
    has(VM_OP_IFLEAVE, 1, "while");
    ok(nth(VM_OP_IFLEAVE, 0).imm == nth(VM_OP_LOOP, 0).imm, "leaves to behind the loop");
    done_with();

    start();
    lower(program(let("v", load("a", gid(0))), let("go", bool_(1)),
                  while_loop(and_(var("go"), gt(var("v"), u32(9))), NULL),
                  store("o", gid(0), var("v"))),
          "while of several variables");
    has(VM_OP_IFLEAVE, 1, "several variables");
    done_with();

    start();
    lower(program(let("v", wid(0)), let("go", bool_(1)), while_loop(var("go"), NULL),
                  store("o", gid(0), var("v"))),
          "uniform while");
    has(VM_OP_IFLEAVE, 0, "uniform flag");
    has(VM_OP_LEAVE, 1, "uniform flag");
    ok(nth(VM_OP_LEAVE, 0).imm == nth(VM_OP_LOOP, 0).imm, "leaves to behind the loop, too");
    is_u64(made->header->level_count, 0, "without a mask");
    ok(nth(VM_OP_SHR, 0).flags == 0 && is_scalar(nth(VM_OP_SHR, 0).d), "its body stays uniform");
    done_with();

    start();
    struct ir_node *repeat = while_loop(var("go"), NULL);
    vyre_ir_append(&repeat->body.first->body, barrier());
    lower(program(let("v", wid(0)), let("go", bool_(1)), repeat, store("o", gid(0), var("v"))),
          "a barrier in a while");
    has(VM_OP_LEAVE, 1, "a barrier in a while");
    has(VM_OP_BARRIER, 1, "a barrier in a while");
    done_with();

    for (uint32_t i = 0; i < 2; i++) {
        start();
        lower(program(let("v", load("a", gid(0))),
                      loop("k", u32(0), u32(1000),
                           list(if_(lt(i ? wid(0) : var("v"), u32(5)), list(let("z", var("v"))),
                                    nothing)))),
              "a while without an effect");
        is_u64(count(VM_OP_IFLEAVE) + count(VM_OP_LEAVE), 0, "is not left");
        done_with();
    }

    for (uint32_t i = 0; i < 4; i++) {
        start();
        struct ir_node *more = NULL;
        struct ir_expr *condition = var("go");
        if (i == 1) more = assign("go", bool_(1));
        if (i == 2) condition = and_(var("go"), ne(var("k"), gid(0)));
        if (i == 3) condition = lt(load("r", gid(0)), u32(5));
        repeat = while_loop(condition, more);
        if (i == 0) repeat->body.first->otherwise = list(assign("v", u32(5)));
        lower(program(let("v", load("a", gid(0))), let("go", bool_(1)), repeat,
                      store("o", gid(0), var("v"))),
              near[i]);
        has(VM_OP_IFLEAVE, 0, near[i]);
        has(VM_OP_LEAVE, 0, near[i]);
        has(VM_OP_IF, 1, near[i]);
        done_with();
    }
}

static void test_loops(void)
{
    start();
    lower(program(let("n2", load("n", u32(0))), let("s", u32(0)),
                  loop("k", u32(0), var("n2"),
                       list(assign("n2", sub(var("n2"), u32(1))),
                            assign("s", add(var("s"), var("n2"))))),
                  store("o", gid(0), var("s"))),
          "a limit that is assigned inside");
    struct vm_insn head = nth(VM_OP_LOOP, 0);
    ok(head.b != nth(VM_OP_SUB, 0).d, "is kept as it was");
    is_u64(nth(VM_OP_NEXT, 0).a, head.b, "next compares with the same");
    done_with();

    start();
    lower(program(loop("k", u32(5), u32(5), list(store("o", gid(0), var("k")))),
                  loop("j", u32(0), u32(9), list(let("z", var("j"))))),
          "loops without an effect");
    has(VM_OP_LOOP, 0, "no loop is left");
    is_u64(made->header->code_count, 1, "only the end is");
    done_with();

    start();
    lower(program(let("t", load("a", gid(0))), let("s", u32(0)),
                  loop("k", u32(0), len("r"),
                       list(let("z", mul(var("k"), gid(0))),
                            assign("s", bin(IR_BIN_MAX, var("s"), var("z"))),
                            if_(lt(var("s"), var("t")), list(assign("s", u32(9))), nothing))),
                  store("o", gid(0), var("s"))),
          "a value from before a loop");
    ok(nth(VM_OP_MUL, 0).d != nth(VM_OP_LD32, 0).d, "keeps its register through the loop");
    done_with();
}

/* Registers are numbered by how much they are needed: see lower_order.c. */
static void test_order(void)
{
    start();
    lower(program(
              let("once", load("a", gid(0))), let("wide", load("q", gid(0))),
              let("seldom", load("r", gid(0))), let("s", gid(0)), let("t", u32(1)),
              if_(lt(var("seldom"), u32(5)), list(assign("t", mul(var("once"), u32(9)))), nothing),
              loop("k", u32(0), len("r"),
                   list(assign("s",
                               bin(IR_BIN_BIT_XOR, var("s"), bin(IR_BIN_SHL, var("s"), u32(1)))))),
              store("o", gid(0), add(var("s"), add(var("once"), add(var("seldom"), var("t"))))),
              store("far", gid(0), cast(IR_TYPE_U32, var("wide")))),
          "registers in and out of a loop");
    const struct vm_insn inside = nth(VM_OP_XORSHL, 0);
    const struct vm_insn once = nth(VM_OP_LD32, 0), wide = nth(VM_OP_LD64, 0);
    is_u64(count(VM_OP_XORSHL), 1, "the loop is one instruction");
    ok(inside.d < once.d && inside.a < once.d, "the register of the loop comes first: %u, not %u",
       inside.d, once.d);
    ok(wide.d < nth(VM_OP_MUL, 0).d, "a wide load before what only some lanes come to: %u, %u",
       wide.d, nth(VM_OP_MUL, 0).d);
    done_with();
}

static void test_fold(void)
{
    start();
    lower(program(let("c", mul(add(u32(3), u32(4)), u32(6))), let("f", div_(f32(1.0f), f32(3.0f))),
                  store("o", gid(0), add(mul(gid(0), u32(1)), sub(var("c"), u32(42)))),
                  store("y", gid(0), var("f"))),
          "constants");
    is_u64(made->header->code_count, 4, "ids, two stores, end");
    is_u64(made->header->constant_count, 1, "one constant");
    is_u64(vm_constants(made->header)[0], 0x3EAAAAABu, "1 / 3");
    done_with();

    start();
    lower(
        program(store("o", gid(0), div_(gid(0), u32(8))), store("r", gid(0), mod(gid(0), u32(8))),
                store("far", gid(0), cast(IR_TYPE_U32, un(IR_UN_LOGICAL_NOT, lt(gid(0), u32(4)))))),
        "cheaper operations");
    has(VM_OP_DIV, 0, "divided by 8");
    has(VM_OP_MOD, 0, "modulo 8");
    has(VM_OP_BNOT, 0, "not less");
    has(VM_OP_LE, 1, "not less");
    done_with();

    start();
    lower(program(if_(lt(u32(1), u32(2)), list(store("o", gid(0), u32(5))),
                      list(store("o", gid(0), u32(6)))),
                  store("o", gid(0), select_(bool_(0), u32(1), load("a", gid(0))))),
          "known conditions");
    has(VM_OP_IF, 0, "known condition");
    has(VM_OP_SELECT, 0, "known condition");
    has(VM_OP_ST32, 2, "one of the branches");
    done_with();
}

static void test_tidy(void)
{
    start();
    lower(program(let("dead", mul(gid(0), u32(77))), let("safe", load("a", u32(5))),
                  let("counted", load("r", gid(0))), let("w", u32(0)), assign("w", gid(0)),
                  store("o", gid(0), u32(1))),
          "what nobody reads");
    has(VM_OP_MUL, 0, "a dead product");
    has(VM_OP_MOV, 0, "a variable that is only written");
    has(VM_OP_LD32, 1, "the load that may be out of bounds stays");
    done_with();

    start();
    lower(program(let("p", mul(load("x", gid(0)), load("y", gid(0)))),
                  let("z", bin(IR_BIN_SHL, gid(0), u32(13))),
                  store("y", gid(0), add(f32(1.0f), var("p"))),
                  store("o", gid(0), bin(IR_BIN_BIT_XOR, var("z"), load("a", gid(0)))),
                  store("r", add(mul(gid(0), u32(5)), u32(2)), u32(1))),
          "pairs");
    has(VM_OP_FMULADD, 1, "product and sum");
    has(VM_OP_XORSHL, 1, "shift and xor");
    has(VM_OP_MAD, 1, "index");
    has(VM_OP_FMUL, 0, "its first half is gone");
    done_with();

    start();
    lower(program(let("p", mul(load("x", gid(0)), load("y", gid(0)))), let("s", gid(0)),
                  let("t", mul(var("s"), u32(5))), assign("s", u32(9)),
                  store("y", gid(0), add(var("p"), var("p"))),
                  store("o", gid(0), add(var("t"), var("s")))),
          "no pairs");
    has(VM_OP_FMULADD, 0, "read twice");
    has(VM_OP_MAD, 0, "its source was assigned between");
    done_with();

    start();
    lower(program(let("b", add(load("a", gid(0)), u32(1))), let("c", add(var("b"), u32(2))),
                  let("d", add(var("c"), u32(3))), let("e", add(var("d"), u32(4))),
                  store("o", gid(0), var("e"))),
          "a chain");
    is_u64(made->header->register_count, 2, "registers of a chain: the id and one more");
    done_with();
}

static void test_kinds(void)
{
    start();
    refused(program(let("v", bit_and(load("i", gid(0)), load("i", u32(1)))),
                    store("o", gid(0), add(var("v"), load("a", gid(0))))),
            VYRE_E_VM_UNSUPPORTED, "add of i32 and u32");
    start();
    rw("flags2", IR_TYPE_BOOL, 64);
    refused(program(store("flags2", gid(0), eq(load("flags", gid(0)), bool_(1)))),
            VYRE_E_VM_UNSUPPORTED, "eq of u32 and bool");
    start();
    refused(program(let("v", u32(1)),
                    if_(lt(gid(0), u32(3)),
                        list(assign("v", bit_and(load("i", gid(0)), load("i", gid(0))))), nothing),
                    store("o", gid(0), add(var("v"), u32(1)))),
            VYRE_E_VM_UNSUPPORTED, "u32 or i32");

    start();
    lower(program(let("v", u32(1)),
                  if_(lt(gid(0), u32(3)),
                      list(assign("v", bit_and(load("i", gid(0)), load("i", gid(0))))), nothing),
                  if_(var("v"), list(store("o", gid(0), var("v"))), nothing)),
          "two kinds at once may be stored and asked");
    done_with();

    start();
    lower(program(store("y", gid(0),
                        select_(load("flags", gid(0)), load("x", gid(0)),
                                cast(IR_TYPE_F32, load("i", gid(0)))))),
          "truth of a word");
    has(VM_OP_TRUE, 1, "a bool in memory is a word");
    has(VM_OP_I2F, 1, "i32 to f32");
    done_with();

    start();
    lower(program(store("bytes", gid(0), cast(IR_TYPE_U8, load("a", gid(0)))),
                  store("o", gid(0), cast(IR_TYPE_U32, load("q", gid(0)))),
                  store("r", gid(0), load("a", cast(IR_TYPE_U32, load("bytes", gid(0)))))),
          "casts");
    has(VM_OP_ST8, 1, "a byte is stored");
    has(VM_OP_NOHIGH, 1, "u64 to u32 is checked");
    ok(!is_scalar(nth(VM_OP_NOHIGH, 0).d), "only active lanes fault");
    done_with();
}

static void test_checked(void)
{
    start();
    lower(program(let("s", div_(i32(7), cast(IR_TYPE_I32, load("n", u32(0))))),
                  let("t", div_(cast(IR_TYPE_I32, load("n", u32(0))), i32(3))),
                  store("o", gid(0),
                        cast(IR_TYPE_U32, add(mul(var("s"), var("t")), load("i", gid(0)))))),
          "signed divisions");
    ok(!is_scalar(nth(VM_OP_IDIV, 0).d), "one that may fault is a vector");
    ok(is_scalar(nth(VM_OP_IDIV, 1).d), "one that cannot may be a scalar");
    done_with();

    start();
    lower(program(let("dead", div_(load("i", gid(0)), load("i", u32(0)))),
                  store("o", load("a", gid(0)), u32(1))),
          "a division that nobody reads");
    has(VM_OP_IDIV, 1, "still faults");
    done_with();

    start();
    struct ir_node *stop = node(IR_NODE_TRAP);
    stop->a = gid(0);
    stop->tag = name("t");
    lower(program(if_(lt(gid(0), u32(2)), list(stop), nothing)), "a trap");
    is_u64(nth(VM_OP_TRAPIF, 0).imm, VM_TRAP_TRAP, "its code");
    done_with();
}

static void test_memory(void)
{
    start();
    shared("w", IR_TYPE_U32, 5);
    shared("w2", IR_TYPE_F32, 4);
    lower(program(let("old", atomic(IR_ATOMIC_ADD, "r", u32(0), u32(1))),
                  store("w", lid(0), var("old")), store("o", gid(0), load("w", u32(1)))),
          "buffers");
    const struct vm_buffer *buffers = vm_buffers(made->header);
    is_u64(buffers[6].flags, VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC, "atomics write");
    is_u64(buffers[11].flags, VM_BUFFER_SHARED | VM_BUFFER_READ | VM_BUFFER_WRITTEN, "shared");
    is_u64(buffers[11].view, 0, "first in workgroup memory");
    is_u64(buffers[12].view, 32, "16-byte aligned behind it");
    is_u64(made->header->shared_bytes, 48, "and so much in all");
    is_u64(buffers[10].flags & VM_BUFFER_SCALAR, VM_BUFFER_SCALAR, "a scalar parameter");
    is_u64(made->header->view_count, 11, "workgroup memory is not bound");
    is_u64(made->header->flags, VM_PROGRAM_ATOMIC, "not pure");
    is_u64(nth(VM_OP_ATADD, 0).imm, 6, "its number");
    done_with();

    start();
    lower(program(store("o", gid(0), load("a", gid(0)))), "a copy");
    is_u64(made->header->flags, VM_PROGRAM_PURE, "is pure");
    done_with();

    start();
    lower(program(store("far", gid(0), load("a", gid(0)))), "a copy into what is bound");
    is_u64(made->header->flags, 0, "is not: what was there before shows");
    done_with();

    start();
    lower(program(let("p", load("a", gid(0))),
                  loop("k", u32(0), u32(4), list(assign("p", load("a", var("p"))))),
                  store("o", gid(0), var("p"))),
          "a chase");
    struct vm_insn chase = nth(VM_OP_LD32, 1);
    ok(chase.d != chase.a, "a load never writes where its index is");
    done_with();
}

static void test_limits(void)
{
    start();
    workgroup(64, 8, 4);
    refused(program(store("o", u32(0), u32(0))), VYRE_E_VM_LIMIT, "64 x 8 x 4");
    start();
    shared("big", IR_TYPE_U32, (5u << 20) / 4);
    refused(program(store("big", lid(0), u32(0))), VYRE_E_VM_LIMIT, "5242880 bytes");

    start();
    struct ir_list body = {0};
    char text[16];
    for (uint32_t i = 0; i < VM_MAX_REGISTERS + 8; i++) {
        snprintf(text, sizeof text, "v%u", (unsigned)i);
        vyre_ir_append(&body, let(text, load("a", add(gid(0), u32(i)))));
    }
    for (uint32_t i = 0; i < VM_MAX_REGISTERS + 8; i++) {
        snprintf(text, sizeof text, "v%u", (unsigned)i);
        vyre_ir_append(&body, store("o", gid(0), var(text)));
    }
    refused(ib_program(region(IB_ROOT, body)), VYRE_E_VM_LIMIT, "live values");
}

static void test_long(void)
{
    start();
    struct ir_list body = {0};
    for (uint32_t i = 0; i < 7000; i++) {
        struct ir_expr *value = gid(0);
        for (uint32_t k = 0; k < 10; k++)
            value = bin(IR_BIN_BIT_XOR, value, u32(k + 1));
        vyre_ir_append(&body, store("o", gid(0), value));
    }
    lower(ib_program(region(IB_ROOT, body)), "77,000 instructions in one stretch");
    has(VM_OP_STEP, 1, "a step in between");
    ok(nth(VM_OP_STEP, 0).c > 50000, "pays for what is before it");
    is_u64((uint64_t)nth(VM_OP_STEP, 0).c + nth(VM_OP_END, 0).c, made->header->code_count,
           "and the end for the rest");
    done_with();

    start();
    char text[2][16];
    body = (struct ir_list){0};
    struct ir_list inside = {0};
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(text[0], sizeof text[0], "v%u", (unsigned)i);
        snprintf(text[1], sizeof text[1], "v%u", (unsigned)(i + 1) % 1000);
        vyre_ir_append(&body, let(text[0], gid(0)));
        if (i < 999) vyre_ir_append(&inside, assign(text[0], add(var(text[1]), u32(1))));
    }
    vyre_ir_append(&body, loop("k", u32(0), u32(9), inside));
    lower(ib_program(region(IB_ROOT, body)), "a chain around a loop that nobody reads");
    has(VM_OP_ADD, 0, "nothing of it is left");
    done_with();
}

/* What is computed ahead does not depend on the mode of the thread that loads a program. */
static void test_mode(void)
{
#if defined(__SSE__)
    uint32_t before = __builtin_ia32_stmxcsr();
    start();
    struct ir_program *product =
        program(store("y", gid(0), mul(f32(0x1.fffffep-1f), f32(0x1p-126f))));
    __builtin_ia32_ldmxcsr(before | 0x8040u);
    lower(product, "a product that flush to zero would lose");
    uint32_t after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    is_u64(vm_constants(made->header)[0], 0x00800000u, "is the least normal number");
    is_u64(after & 0x8040u, 0x8040u, "the thread's mode is as it was");
    done_with();
#else
    skip("no such mode here");
#endif
}

/* Every allocation fails once; nothing is leaked and nothing is made. */
struct failing {
    uint32_t left;
};

static void *failing_alloc(void *ctx, size_t size, size_t align)
{
    struct failing *failing = ctx;
    void *pointer;
    if (failing->left == 0) return NULL;
    failing->left--;
    return posix_memalign(&pointer, align, size) == 0 ? pointer : NULL;
}

static void failing_free(void *ctx, void *pointer, size_t size)
{
    (void)ctx;
    (void)size;
    free(pointer);
}

static void test_no_memory(void)
{
    struct failing failing = {UINT32_MAX};
    vyre_allocator hooks = {failing_alloc, failing_free, NULL, NULL, &failing};
    struct vyre_memory own;
    vyre_error err;
    uint32_t failures = 0;
    if (vyre_memory_init(&own, &hooks, &err) != VYRE_OK) bail("no memory: %s", err.message);
    start();
    struct ir_list body = {0};
    for (uint32_t i = 0; i < 100; i++)
        vyre_ir_append(&body, store("o", gid(0), add(load("a", gid(0)), u32(i * 77 + 2))));
    take(ib_program(region(IB_ROOT, body)));
    tree->memory = &own;
    for (;; failures++) {
        failing.left = failures;
        vyre_status status = vyre_vm_lower(tree, NULL, &made, &err);
        if (status == VYRE_OK) break;
        if (status != VYRE_E_NO_MEMORY || made || vyre_memory_live(&own) != 0) break;
    }
    ok(made != NULL, "lowered after %u failures, each of them clean", (unsigned)failures);
    ok(failures > 8, "there were some to fail");
    vyre_vm_free(made);
    made = NULL;
    is_u64(vyre_memory_live(&own), 0, "all is given back");
    tree->memory = &memory;
    done_with();
}

static void lower_case(const char *directory, const struct corpus_row *row)
{
    struct vm_lower_options options = {0};
    struct ir_program *program = NULL;
    struct vm_program *code = NULL;
    vyre_error err = {0};
    size_t length = 0;
    uint8_t *bytes = corpus_bytes(directory, row->name, ".vir", &length);
    vyre_status status = VYRE_E_NOT_FOUND;
    if (bytes) status = vyre_ir_decode(&memory, bytes, length, &program, &err);
    if (status == VYRE_OK) status = vyre_vm_lower(program, &options, &code, &err);
    if (status == VYRE_OK)
        status = vyre_vm_verify(&memory, code->header, code->header->bytes, &err);
    int error = strcmp(row->kind, "run-error") == 0;
    if (status != VYRE_OK && !(error && status == VYRE_E_VM_UNSUPPORTED))
        ok(0, "%s (%s): %s: %s", row->name, row->kind, vyre_status_name(status), err.message);
    vyre_vm_free(code);
    vyre_ir_program_free(program);
    free(bytes);
}

static void test_corpus(const char *directory)
{
    static const char *const manifests[] = {"manifest.tsv", "manifest_extra.tsv"};
    for (uint32_t i = 0; i < 2; i++) {
        FILE *manifest = corpus_manifest(directory, manifests[i]);
        struct corpus_row row;
        uint64_t cases = 0, failed = tap.failed;
        if (!manifest) {
            note("there is no %s in %s", manifests[i], directory);
            skip("there is no such manifest");
            continue;
        }
        while (corpus_next(manifest, &row)) {
            if (strncmp(row.kind, "run", 3) != 0) continue;
            lower_case(directory, &row);
            cases++;
        }
        fclose(manifest);
        ok(cases > 0 && tap.failed == failed, "all %llu programs of %s", (unsigned long long)cases,
           manifests[i]);
    }
}

int main(int argc, char **argv)
{
    vyre_error err;
    if (vyre_memory_init(&memory, NULL, &err) != VYRE_OK) bail("no memory: %s", err.message);
    test_uniform();
    test_masks();
    test_while();
    test_loops();
    test_order();
    test_fold();
    test_tidy();
    test_kinds();
    test_checked();
    test_memory();
    test_limits();
    test_long();
    test_mode();
    test_no_memory();
    if (argc > 1)
        test_corpus(argv[1]);
    else
        skip("no corpus was given");
    is_u64(vyre_memory_live(&memory), 0, "nothing is left");
    return done();
}
