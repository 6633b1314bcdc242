/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The oracle where the conformance corpus has no case: our own rules (zeros in min and max, counts
 * of accesses out of bounds), errors, limits, and that the caller's floating-point state does not
 * matter. Programs are built by hand: `out[0] = <expression>`, or a few statements.
 */
#include "tap.h"

#if defined(__SSE__)
#    include <xmmintrin.h>
#endif

#include "oracle/oracle.h"

#define LANES 4u

static struct vyre_memory memory;

/* One region over one buffer of 4 words. */
struct build {
    struct ir_program *program;
    struct ir_list *list;
    unsigned char data[16];
    struct oracle_run run;
};

static void must(vyre_status status)
{
    if (status) bail("the tree cannot be built: %d", (int)status);
}

static uint32_t name(struct build *b, const char *text)
{
    uint32_t number = 0;
    must(vyre_ir_name(b->program, text, strlen(text), &number, NULL));
    return number;
}

static struct ir_node *node(struct build *b, struct ir_list *list, uint8_t kind)
{
    struct ir_node *made = NULL;
    must(vyre_ir_node(b->program, kind, &made, NULL));
    vyre_ir_append(list, made);
    return made;
}

static struct ir_expr *expr(struct build *b, uint8_t kind, struct ir_expr *first,
                            struct ir_expr *second)
{
    struct ir_expr *made = NULL;
    must(vyre_ir_expr(b->program, kind, &made, NULL));
    made->arg[0] = first;
    made->arg[1] = second;
    return made;
}

static struct ir_expr *literal(struct build *b, uint8_t kind, uint32_t value)
{
    struct ir_expr *made = expr(b, kind, NULL, NULL);
    made->value = value;
    return made;
}

static struct ir_expr *word(struct build *b, uint32_t value)
{
    return literal(b, IR_EXPR_LIT_U32, value);
}

static struct ir_expr *variable(struct build *b, const char *text)
{
    struct ir_expr *made = expr(b, IR_EXPR_VAR, NULL, NULL);
    made->name = name(b, text);
    return made;
}

static struct ir_expr *binary(struct build *b, uint8_t op, struct ir_expr *left,
                              struct ir_expr *right)
{
    struct ir_expr *made = expr(b, IR_EXPR_BIN_OP, left, right);
    made->op = op;
    return made;
}

static struct ir_expr *load(struct build *b, struct ir_expr *index)
{
    struct ir_expr *made = expr(b, IR_EXPR_LOAD, index, NULL);
    made->name = b->program->buffers[0].name;
    return made;
}

static struct build begin(uint8_t tag)
{
    struct build b = {0};
    must(vyre_ir_program_make(&memory, &b.program, NULL));
    must(vyre_ir_buffers(b.program, 1, NULL));
    b.program->buffers[0].name = name(&b, "out");
    b.program->buffers[0].type.tag = tag;
    b.program->buffers[0].access = IR_ACCESS_READ_WRITE;
    vyre_ir_buffers_named(b.program);
    struct ir_node *region = node(&b, &b.program->entry, IR_NODE_REGION);
    region->name = name(&b, "root");
    b.list = &region->body;
    return b;
}

static void store(struct build *b, struct ir_list *list, struct ir_expr *index,
                  struct ir_expr *value)
{
    struct ir_node *made = node(b, list, IR_NODE_STORE);
    made->name = b->program->buffers[0].name;
    made->a = index;
    made->b = value;
}

static void let(struct build *b, struct ir_list *list, const char *text, struct ir_expr *value)
{
    struct ir_node *made = node(b, list, IR_NODE_LET);
    made->name = name(b, text);
    made->a = value;
}

/* Runs it and frees the program; the result stays in b->run. */
static enum oracle_error finish(struct build *b)
{
    unsigned char *buffers[1] = {b->data};
    uint64_t bytes[1] = {sizeof b->data};
    uint64_t limit = b->run.step_limit;
    b->run = (struct oracle_run){.program = b->program,
                                 .grid = {1, 1, 1},
                                 .buffers = buffers,
                                 .bytes = bytes,
                                 .step_limit = limit};
    (void)oracle_run(&b->run);
    vyre_ir_program_free(b->program);
    return b->run.error;
}

static uint32_t result(const struct build *b)
{
    uint32_t value;
    memcpy(&value, b->data, 4);
    return value;
}

static uint32_t float_result(uint8_t op, uint32_t left, uint32_t right)
{
    struct build b = begin(IR_TYPE_F32);
    struct ir_expr *a = literal(&b, IR_EXPR_LIT_F32, left);
    store(&b, b.list, word(&b, 0), binary(&b, op, a, literal(&b, IR_EXPR_LIT_F32, right)));
    if (finish(&b)) bail("a float operation failed");
    return result(&b);
}

static void check_floats(const char *when)
{
    is_u64(float_result(IR_BIN_MUL, 0x3F7FFFFF, 0x00800000), 0x00800000,
           "%s: a product that rounds up to the least normal number stays", when);
    is_u64(float_result(IR_BIN_MUL, 0x3F000000, 0x80800000), 0x80000000,
           "%s: a subnormal product is zero of its sign", when);
    is_u64(float_result(IR_BIN_ADD, 0x3F800000, 0x33800000), 0x3F800000,
           "%s: a tie goes to the even neighbour", when);
    is_u64(float_result(IR_BIN_DIV, 0x3F800000, 0x40400000), 0x3EAAAAAB, "%s: a third", when);
}

static void test_floats(void)
{
    check_floats("default state");
#if defined(__SSE__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0xE040);         /* flush to zero, subnormals are zero, round toward zero */
    struct build b = begin(IR_TYPE_U32); /* anything, so that the state below is the caller's */
    (void)finish(&b);
    unsigned after = _mm_getcsr();
    uint32_t product = float_result(IR_BIN_MUL, 0x3F7FFFFF, 0x00800000);
    uint32_t third = float_result(IR_BIN_DIV, 0x3F800000, 0x40400000);
    _mm_setcsr(before);
    is_u64(product, 0x00800000, "flushing in the caller does not matter");
    is_u64(third, 0x3EAAAAAB, "rounding in the caller does not matter");
    is_u64(after & 0xE040, (before | 0xE040) & 0xE040, "the caller's state is as it was");
#endif
    is_u64(float_result(IR_BIN_MIN, 0x00000000, 0x80000000), 0x80000000, "min(+0, -0) is -0");
    is_u64(float_result(IR_BIN_MIN, 0x80000000, 0x00000000), 0x80000000, "min(-0, +0) is -0");
    is_u64(float_result(IR_BIN_MAX, 0x00000000, 0x80000000), 0x00000000, "max(+0, -0) is +0");
    is_u64(float_result(IR_BIN_MAX, 0x80000000, 0x00000000), 0x00000000, "max(-0, +0) is +0");
    is_u64(float_result(IR_BIN_MAX, 0x7FC00000, 0x3F800000), 0x3F800000, "max(NaN, 1) is 1");
    is_u64(float_result(IR_BIN_MIN, 0x3F800000, 0xFFC00001), 0x3F800000, "min(1, NaN) is 1");
    is_u64(float_result(IR_BIN_MIN, 0xFFC00001, 0x7F800001), 0x7FC00000, "min(NaN, NaN)");
}

static enum oracle_error error_of(uint8_t kind, uint8_t op, uint32_t left, uint32_t right)
{
    struct build b = begin(IR_TYPE_U32);
    struct ir_expr *a = literal(&b, kind, left);
    struct ir_expr *both = binary(&b, op, a, literal(&b, kind, right));
    uint32_t id = both->id;
    store(&b, b.list, word(&b, 0), both);
    enum oracle_error error = finish(&b);
    if (error && b.run.error_id != id) bail("the error is at %u, not at %u", b.run.error_id, id);
    return error;
}

static void test_errors(void)
{
    is_u64(error_of(IR_EXPR_LIT_I32, IR_BIN_DIV, 1, 0), ORACLE_DIVISION, "1 / 0");
    is_u64(error_of(IR_EXPR_LIT_I32, IR_BIN_MOD, 1, 0), ORACLE_DIVISION, "1 %% 0");
    is_u64(error_of(IR_EXPR_LIT_I32, IR_BIN_DIV, 0x80000000, 0xFFFFFFFF), ORACLE_DIVISION,
           "least / -1");
    is_u64(error_of(IR_EXPR_LIT_I32, IR_BIN_MOD, 0x80000000, 0xFFFFFFFF), ORACLE_DIVISION,
           "least %% -1");
    is_u64(error_of(IR_EXPR_LIT_U32, IR_BIN_DIV, 1, 0), ORACLE_OK, "u32 1 / 0 is no error");
    is_u64(error_of(IR_EXPR_LIT_BOOL, IR_BIN_ADD, 1, 0), ORACLE_KIND, "bool + bool");
    is_u64(error_of(IR_EXPR_LIT_BOOL, IR_BIN_LT, 1, 0), ORACLE_KIND, "bool < bool");
    is_u64(error_of(IR_EXPR_LIT_F32, IR_BIN_MOD, 1, 0), ORACLE_KIND, "f32 %% f32");
    is_u64(error_of(IR_EXPR_LIT_I32, IR_BIN_ROT_L, 1, 0), ORACLE_KIND, "i32 rotated");
    is_u64(error_of(IR_EXPR_LIT_U32, IR_BIN_SHUFFLE, 1, 0), ORACLE_KIND, "a wave operator");

    struct build b = begin(IR_TYPE_U32);
    store(&b, b.list, word(&b, 0), load(&b, literal(&b, IR_EXPR_LIT_I32, 0xFFFFFFFF)));
    is_u64(finish(&b), ORACLE_INDEX, "an index of -1");
    b = begin(IR_TYPE_U32);
    store(&b, b.list, word(&b, 0), variable(&b, "nobody"));
    is_u64(finish(&b), ORACLE_NAME, "a variable that is not there");
    b = begin(IR_TYPE_U32);
    let(&b, b.list, "x", word(&b, 1));
    let(&b, b.list, "x", word(&b, 1));
    is_u64(finish(&b), ORACLE_NAME, "a variable declared twice");
    b = begin(IR_TYPE_U32);
    node(&b, b.list, IR_NODE_ASYNC_WAIT)->tag = name(&b, "tag");
    is_u64(finish(&b), ORACLE_ASYNC, "a wait without a copy");
    b = begin(IR_TYPE_U32);
    struct ir_expr *id = expr(&b, IR_EXPR_LOCAL_ID, NULL, NULL);
    id->axis = 3;
    store(&b, b.list, word(&b, 0), id);
    is_u64(finish(&b), ORACLE_ID, "axis 3");
}

/* 4 invocations: loads, stores and atomics at 2, 3, 4, 5 of 4 words. */
static void test_bounds(void)
{
    struct build b = begin(IR_TYPE_U32);
    struct ir_expr *lane = expr(&b, IR_EXPR_LOCAL_ID, NULL, NULL);
    struct ir_expr *add = expr(&b, IR_EXPR_ATOMIC, variable(&b, "at"), NULL);
    b.program->workgroup[0] = LANES;
    add->op = IR_ATOMIC_ADD;
    add->name = b.program->buffers[0].name;
    add->arg[2] = word(&b, 5);
    let(&b, b.list, "at", binary(&b, IR_BIN_ADD, lane, word(&b, 2)));
    let(&b, b.list, "x", load(&b, variable(&b, "at")));
    let(&b, b.list, "y", add);
    store(&b, b.list, variable(&b, "at"),
          binary(&b, IR_BIN_ADD, variable(&b, "x"), load(&b, variable(&b, "at"))));
    is_u64(finish(&b), ORACLE_OK, "accesses out of bounds are no error");
    is_u64(b.run.out_of_bounds, 8, "2 invocations, 4 accesses each");
    is_u64(b.data[8] + 256u * b.data[12] + 65536u * b.data[4], 0x0505, "words 2 and 3 are 5");
}

/* A loop of 2^32 - 1 iterations around an if on a variable that is cleared at the third. */
static void test_while(void)
{
    struct build b = begin(IR_TYPE_U32);
    let(&b, b.list, "on", word(&b, 1));
    let(&b, b.list, "n", word(&b, 0));
    struct ir_node *loop = node(&b, b.list, IR_NODE_LOOP);
    loop->name = name(&b, "i");
    loop->a = word(&b, 0);
    loop->b = word(&b, 0xFFFFFFFF);
    struct ir_node *branch = node(&b, &loop->body, IR_NODE_IF), *set;
    branch->a = variable(&b, "on");
    set = node(&b, &branch->body, IR_NODE_ASSIGN);
    set->name = name(&b, "n");
    set->a = binary(&b, IR_BIN_ADD, variable(&b, "n"), word(&b, 1));
    set = node(&b, &branch->body, IR_NODE_ASSIGN);
    set->name = name(&b, "on");
    set->a = binary(&b, IR_BIN_SUB, word(&b, 3), variable(&b, "n"));
    store(&b, b.list, word(&b, 0), variable(&b, "n"));
    b.run.step_limit = 1000;
    is_u64(finish(&b), ORACLE_OK, "a while loop ends");
    is_u64(result(&b), 3, "after three iterations");
}

static void test_limit(void)
{
    struct build b = begin(IR_TYPE_U32);
    struct ir_node *loop = node(&b, b.list, IR_NODE_LOOP);
    loop->name = name(&b, "i");
    loop->a = word(&b, 0);
    loop->b = word(&b, 0xFFFFFFFF);
    store(&b, &loop->body, word(&b, 0), variable(&b, "i"));
    b.run.step_limit = 1000;
    is_u64(finish(&b), ORACLE_STEPS, "a long loop meets the limit");
    is_u64(b.run.steps, 1001, "right behind it");
}

/* An if around a barrier that goes one way in some invocations and the other way in others. */
static void test_barrier(void)
{
    struct build b = begin(IR_TYPE_U32);
    struct ir_node *branch = node(&b, b.list, IR_NODE_IF);
    b.program->workgroup[0] = LANES;
    branch->a = expr(&b, IR_EXPR_LOCAL_ID, NULL, NULL);
    (void)node(&b, &branch->body, IR_NODE_BARRIER);
    is_u64(finish(&b), ORACLE_BARRIER, "a barrier for some");
    b = begin(IR_TYPE_U32);
    b.program->workgroup[0] = LANES;
    branch = node(&b, b.list, IR_NODE_IF);
    branch->a = expr(&b, IR_EXPR_LOCAL_ID, NULL, NULL);
    (void)node(&b, &branch->body, IR_NODE_RETURN);
    (void)node(&b, b.list, IR_NODE_BARRIER);
    store(&b, b.list, word(&b, 0), word(&b, 7));
    is_u64(finish(&b), ORACLE_OK, "those that have returned do not count");
    is_u64(result(&b), 7, "and the other goes on");
}

static void test_print(void)
{
    struct build b = begin(IR_TYPE_U32);
    struct ir_expr *call = expr(&b, IR_EXPR_CALL, NULL, NULL);
    struct ir_expr *args[2] = {word(&b, 1), load(&b, word(&b, 9))};
    call->name = name(&b, "vyre.print");
    call->arg_count = 2;
    call->args = args;
    store(&b, b.list, word(&b, 0), binary(&b, IR_BIN_ADD, call, word(&b, 4)));
    is_u64(finish(&b), ORACLE_OK, "vyre.print can be called");
    is_u64(result(&b), 4, "its value is 0");
    is_u64(b.run.out_of_bounds, 1, "its arguments are evaluated");
    b = begin(IR_TYPE_U32);
    call = expr(&b, IR_EXPR_CALL, NULL, NULL);
    call->name = name(&b, "vyre.other");
    store(&b, b.list, word(&b, 0), call);
    is_u64(finish(&b), ORACLE_CALL, "nothing else can");
}

int main(void)
{
    vyre_error err;
    if (vyre_memory_init(&memory, NULL, &err)) bail("memory: %s", err.message);
    test_floats();
    test_errors();
    test_bounds();
    test_while();
    test_limit();
    test_barrier();
    test_print();
    is_u64(vyre_memory_live(&memory), 0, "nothing is left allocated");
    return done();
}
