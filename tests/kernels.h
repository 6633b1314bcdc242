/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * VIR0 programs as bytes, for tests of what a runtime does with them. What is returned is freed
 * with code_free. Include it after support.h or meter.h.
 */
#ifndef VYRE_TESTS_KERNELS_H
#define VYRE_TESTS_KERNELS_H

#include "ir_build.h"
#include "support.h"

struct code {
    void *bytes;
    size_t length;
};

static struct vyre_memory code_memory;

TAP_UNUSED static void code_begin(void)
{
    if (!code_memory.hooks.alloc) must(vyre_memory_init(&code_memory, NULL, NULL), &ib.err);
    begin(&code_memory);
}

TAP_UNUSED static struct code code_end(struct ir_program *tree)
{
    struct code code = {NULL, 0};
    vyre_error err;
    vyre_status status = vyre_ir_encode(tree, NULL, 0, &code.length, &err);
    if (code.length == 0) must(status, &err);
    code.bytes = malloc(code.length);
    if (!code.bytes) bail("out of memory");
    must(vyre_ir_encode(tree, code.bytes, code.length, &code.length, &err), &err);
    vyre_ir_program_free(tree);
    return code;
}

TAP_UNUSED static void code_free(struct code *code)
{
    free(code->bytes);
    *code = (struct code){NULL, 0};
}

TAP_UNUSED static struct ir_buffer *scalar(const char *text, uint8_t type)
{
    struct ir_buffer *made = in(text, type, 1);
    made->kind = IR_KIND_PUSH;
    return made;
}

/* y[i] = a * x[i] + y[i]. Buffers: a (a scalar), x, y. 64 lanes. */
TAP_UNUSED static struct code code_saxpy(void)
{
    code_begin();
    workgroup(64, 1, 1);
    scalar("a", IR_TYPE_F32);
    in("x", IR_TYPE_F32, 0);
    rw("y", IR_TYPE_F32, 0);
    return code_end(program(
        let("i", gid(0)),
        if_(lt(var("i"), len("y")),
            list(store("y", var("i"),
                       add(mul(load("a", u32(0)), load("x", var("i"))), load("y", var("i"))))),
            nothing)));
}

/* r[i] = i + k, r with at least `count` elements of its own. Buffer: r. 32 lanes. */
TAP_UNUSED static struct code code_fill(uint32_t count, uint32_t k)
{
    code_begin();
    workgroup(32, 1, 1);
    out("r", IR_TYPE_U32, count);
    return code_end(program(let("i", gid(0)), store("r", var("i"), add(var("i"), u32(k)))));
}

/* No buffers but workgroup memory of `words` words. */
TAP_UNUSED static struct code code_alone(uint32_t words)
{
    code_begin();
    shared("w", IR_TYPE_U32, words);
    return code_end(program(store("w", u32(0), u32(1)), ret()));
}

/* r[k] = parameter k. Buffers: `count` scalars, then r. One lane. */
TAP_UNUSED static struct code code_scalars(uint32_t count)
{
    struct ir_list body = {0};
    char text[16];
    code_begin();
    for (uint32_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "s%u", i);
        scalar(text, IR_TYPE_U32);
    }
    rw("r", IR_TYPE_U32, count);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(text, sizeof text, "s%u", i);
        vyre_ir_append(&body, store("r", u32(i), load(text, u32(0))));
    }
    return code_end(ib_program(region(IB_ROOT, body)));
}

/* c[0] grows by 1, `rounds` times `rounds` times (a scalar). Buffers: rounds, c. One lane. */
TAP_UNUSED static struct code code_count(void)
{
    code_begin();
    scalar("rounds", IR_TYPE_U32);
    rw("c", IR_TYPE_U32, 1);
    return code_end(
        program(let("n", load("rounds", u32(0))),
                loop("i", u32(0), var("n"),
                     list(loop("j", u32(0), var("n"),
                               list(let("old", atomic(IR_ATOMIC_ADD, "c", u32(0), u32(1)))))))));
}

/* Uses subgroups. Buffer: r. */
TAP_UNUSED static struct code code_subgroup(void)
{
    code_begin();
    workgroup(32, 1, 1);
    out("r", IR_TYPE_U32, 32);
    return code_end(program(let("s", subgroup_add(lid(0))), store("r", lid(0), var("s"))));
}

/* Breaks three rules: names that nothing declares. */
TAP_UNUSED static struct code code_invalid(void)
{
    code_begin();
    out("r", IR_TYPE_U32, 4);
    return code_end(program(store("r", u32(0), var("gone")), store("r", u32(1), var("lost")),
                            store("r", u32(2), var("never"))));
}

#endif
