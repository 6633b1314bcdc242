/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Polynomials become fpoly4 where that is the same to the bit, and nowhere else. That they give the
 * right values is for the comparison with the oracle, whose generator makes some.
 */
#include "ir_build.h"
#include "tap.h"
#include "vm/vm.h"

enum form {
    NESTED,   /* one expression */
    TURNED,   /* the same, with the factors and the sums the other way round */
    LETS,     /* a statement for each step */
    ASSIGNED, /* the same variable again and again */
    MASKED,   /* the same in a divergent if */
    SCALARS,  /* for all lanes at once */
    FORMS_ALIKE,
    NOT_CONSTANT = FORMS_ALIKE, /* one addend is no constant */
    SEEN,                       /* a step in the middle is used twice */
    OTHER_FACTOR,               /* one step has another one */
    UNIFORM_FACTOR,             /* the factor is a scalar, the start is not */
    FACTOR_CHANGES,             /* is assigned in between */
    START_CHANGES,              /* what the first step reads is, before the last one reads it */
    APART,                      /* an if ends between two steps */
    HALF_MASKED                 /* a lane's value is kept from before the if */
};

static struct vyre_memory memory;
static struct ir_program *tree;
static struct vm_program *made;

static uint32_t count(uint32_t op)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < made->header->code_count; i++)
        found += vm_code(made->header)[i].op == op;
    return found;
}

static void lower(struct ir_program *program)
{
    struct ir_validate_options options = {.subgroups = 1, .most = 1};
    vyre_error err;
    tree = program;
    if (vyre_ir_validate(tree, &options, &err) != VYRE_OK)
        bail("the test's own program is not valid: %s", err.message);
    if (vyre_vm_lower(tree, NULL, &made, &err) != VYRE_OK) bail("not lowered: %s", err.message);
    int sound = vyre_vm_verify(&memory, made->header, made->header->bytes, &err) == VYRE_OK;
    ok(sound, "the code is sound%s%s", sound ? "" : ": ", sound ? "" : err.message);
}

static void done_with(void)
{
    vyre_vm_free(made);
    vyre_ir_program_free(tree);
    made = NULL;
    tree = NULL;
}

static float coefficient(uint32_t k)
{
    return 1.5f + (float)k;
}

static void add_to(struct ir_list *body, struct ir_node *node)
{
    vyre_ir_append(body, node);
}

static struct ir_expr *step_of(enum form form, struct ir_expr *sum, uint32_t k)
{
    struct ir_expr *factor = var(form == OTHER_FACTOR && k == 4 ? "w" : "x");
    struct ir_expr *added = form == NOT_CONSTANT && k == 4 ? var("w") : f32(coefficient(k));
    if (form == TURNED) return add(added, mul(factor, sum));
    return add(mul(sum, factor), added);
}

static struct ir_program *by_expression(enum form form, uint32_t degree)
{
    struct ir_expr *sum = form == UNIFORM_FACTOR ? var("w") : f32(coefficient(0));
    for (uint32_t k = 1; k <= degree; k++)
        sum = step_of(form, sum, k);
    return program(let("x", form == UNIFORM_FACTOR ? load("n", u32(0)) : load("a", gid(0))),
                   let("w", load("b", gid(0))), store("o", gid(0), sum));
}

static struct ir_program *by_lets(enum form form, uint32_t degree)
{
    struct ir_list body = list(let("x", form == SCALARS ? load("n", u32(0)) : load("a", gid(0))),
                               let("w", load("b", gid(0))), let("s0", f32(coefficient(0))));
    char last[8] = "s0", next[8];
    for (uint32_t k = 1; k <= degree; k++) {
        snprintf(next, sizeof next, "s%u", (unsigned)k);
        add_to(&body, let(next, step_of(form, var(last), k)));
        if (form == FACTOR_CHANGES && k == 3) add_to(&body, assign("x", var("w")));
        memcpy(last, next, sizeof last);
    }
    add_to(&body, store("o", gid(0), var(last)));
    if (form == SEEN) add_to(&body, store("r", gid(0), var("s3")));
    return ib_program(region(IB_ROOT, body));
}

static struct ir_program *by_assignments(enum form form, uint32_t degree)
{
    struct ir_list body =
        list(let("x", load("a", gid(0))), let("w", load("b", gid(0))), let("s", var("w")));
    struct ir_list inside = {0};
    struct ir_list *to = form == MASKED ? &inside : &body;
    struct ir_node *clear = if_(lt(gid(0), u32(3)), list(assign("s", f32(2))), nothing);
    for (uint32_t k = 1; k <= degree; k++) {
        add_to(to, assign("s", step_of(form, var("s"), k)));
        if (form == APART && k == 3) add_to(to, clear);
        if (form == HALF_MASKED && k == 3) to = &inside;
    }
    if (inside.count) add_to(&body, if_(lt(gid(0), u32(9)), inside, nothing));
    add_to(&body, store("o", gid(0), var("s")));
    return ib_program(region(IB_ROOT, body));
}

/* t1 to t3 of a variable that is assigned again before the fourth step. */
static struct ir_program *start_changes(void)
{
    return program(let("x", load("a", gid(0))), let("v", load("b", gid(0))),
                   let("t1", step_of(LETS, var("v"), 1)), let("t2", step_of(LETS, var("t1"), 2)),
                   assign("v", f32(3)), let("t3", step_of(LETS, var("t2"), 3)),
                   store("o", gid(0), add(step_of(LETS, var("t3"), 4), var("v"))));
}

static struct ir_program *build(enum form form, uint32_t degree)
{
    begin(&memory);
    workgroup(64, 1, 1);
    in("a", IR_TYPE_F32, 64);
    in("b", IR_TYPE_F32, 64);
    out("o", IR_TYPE_F32, 64);
    rw("r", IR_TYPE_F32, 64);
    in("n", IR_TYPE_F32, 1)->kind = IR_KIND_PUSH;
    switch (form) {
    case LETS:
    case SCALARS:
    case SEEN:
    case FACTOR_CHANGES:
        return by_lets(form, degree);
    case ASSIGNED:
    case MASKED:
    case APART:
    case HALF_MASKED:
        return by_assignments(form, degree);
    case START_CHANGES:
        return start_changes();
    default:
        return by_expression(form, degree);
    }
}

static void expect(enum form form, uint32_t degree, uint32_t fours, uint32_t ones)
{
    static const char *const names[] = {"one expression",
                                        "turned round",
                                        "lets",
                                        "assignments",
                                        "assignments under a mask",
                                        "scalars",
                                        "an addend that is not constant",
                                        "a step that is used twice",
                                        "another factor",
                                        "a factor for all lanes",
                                        "a factor that changes",
                                        "a start that changes",
                                        "an if in between",
                                        "an if from the middle on"};
    lower(build(form, degree));
    is_u64(count(VM_OP_FPOLY4), fours, "%s, degree %u: fpoly4", names[form], (unsigned)degree);
    is_u64(count(VM_OP_FMULADD), ones, "%s, degree %u: fmuladd", names[form], (unsigned)degree);
    done_with();
}

/* The constants of an fpoly4 are those of its steps, in their order. */
static void test_constants(void)
{
    static const uint32_t forms[] = {NESTED, ASSIGNED};
    for (uint32_t f = 0; f < 2; f++) {
        uint32_t next = 1;
        lower(build((enum form)forms[f], 15));
        for (uint32_t i = 0; i < made->header->code_count; i++) {
            const struct vm_insn *insn = &vm_code(made->header)[i];
            if (insn->op != VM_OP_FPOLY4) continue;
            for (uint32_t k = 0; k < 4; k++, next++) {
                float constant = 0;
                memcpy(&constant, vm_constants(made->header) + (insn->c & ~VM_SCALAR) + k, 4);
                ok(constant == coefficient(next), "coefficient %u is %g", (unsigned)next,
                   (double)constant);
            }
        }
        is_u64(next, 13, "three of them");
        done_with();
    }
}

/* Two equal polynomials, of different values, have one group of constants. */
static void test_reuse(void)
{
    struct ir_expr *sums[2];
    begin(&memory);
    workgroup(64, 1, 1);
    in("a", IR_TYPE_F32, 64);
    in("b", IR_TYPE_F32, 64);
    out("o", IR_TYPE_F32, 64);
    for (uint32_t i = 0; i < 2; i++) {
        sums[i] = load("b", gid(0));
        for (uint32_t k = 1; k <= 4; k++)
            sums[i] = add(mul(sums[i], var(i ? "y" : "x")), f32(coefficient(k)));
    }
    lower(program(let("x", load("a", gid(0))), let("y", load("b", gid(0))),
                  store("o", gid(0), sub(sums[0], sums[1]))));
    is_u64(count(VM_OP_FPOLY4), 2, "two polynomials");
    is_u64(made->header->constant_count, 4, "four constants");
    done_with();
}

int main(void)
{
    vyre_error err;
    if (vyre_memory_init(&memory, NULL, &err) != VYRE_OK) bail("no memory: %s", err.message);
    for (uint32_t form = 0; form < FORMS_ALIKE; form++) {
        expect((enum form)form, 15, 3, 3);
        expect((enum form)form, 4, 1, 0);
        expect((enum form)form, 3, 0, 3);
    }
    /* Near misses in the middle: three steps before it, three behind it. */
    expect(NOT_CONSTANT, 7, 0, 7);
    expect(OTHER_FACTOR, 7, 0, 7);
    expect(UNIFORM_FACTOR, 8, 0, 8);
    expect(SEEN, 6, 0, 6);
    expect(FACTOR_CHANGES, 6, 0, 6);
    expect(APART, 6, 0, 6);
    expect(HALF_MASKED, 6, 0, 6);
    expect(SEEN, 7, 1, 3);
    expect(FACTOR_CHANGES, 7, 1, 3);
    expect(APART, 7, 1, 3);
    expect(HALF_MASKED, 7, 1, 3);
    expect(START_CHANGES, 4, 0, 4);
    test_constants();
    test_reuse();
    is_u64(vyre_memory_live(&memory), 0, "nothing is left");
    return done();
}
