/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The programs of the stress test of programs, and what they must leave behind. All have the same
 * buffers, so that one set of buffers serves each of them: the scalars k and rounds, then x, r and
 * c, then workgroup memory.
 */
#ifndef VYRE_STRESS_KERNELS_H
#define VYRE_STRESS_KERNELS_H

#include "kernels.h"

enum { LANES = 32, MOST_GROUPS = 12, STRESS_BUFFERS = 6 };
enum kind { WORK, ENDLESS, TRAPS, TINY, KINDS };

static void stress_buffers(void)
{
    code_begin();
    workgroup(LANES, 1, 1);
    scalar("k", IR_TYPE_U32);
    scalar("rounds", IR_TYPE_U32);
    in("x", IR_TYPE_U32, 0);
    rw("r", IR_TYPE_U32, 0);
    rw("c", IR_TYPE_U32, 0);
    shared("w", IR_TYPE_U32, LANES);
}

/* Each of 12 rounds every lane adds its right neighbour's value, and k as often as `rounds` says;
 * begins with x. */
static struct code code_work(void)
{
    stress_buffers();
    return code_end(program(
        let("v", load("x", gid(0))),
        loop("i", u32(0), u32(12),
             list(store("w", lid(0), var("v")), barrier(),
                  assign("v", add(var("v"), load("w", mod(add(lid(0), u32(1)), u32(LANES))))),
                  barrier(),
                  loop("j", u32(0), load("rounds", u32(0)),
                       list(assign("v", add(var("v"), load("k", u32(0)))))))),
        store("r", gid(0), add(var("v"), load("x", gid(0)))),
        if_(eq(lid(0), u32(0)), list(let("old", atomic(IR_ATOMIC_ADD, "c", u32(0), u32(1)))),
            nothing)));
}

TAP_UNUSED static bool work_is_right(const uint32_t *x, const uint32_t *r, uint32_t groups,
                                     const uint32_t scalars[2])
{
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t v[LANES], next[LANES];
        memcpy(v, x + g * LANES, sizeof v);
        for (uint32_t round = 0; round < 12; round++) {
            for (uint32_t i = 0; i < LANES; i++)
                next[i] = v[i] + v[(i + 1) % LANES] + scalars[0] * scalars[1];
            memcpy(v, next, sizeof v);
        }
        for (uint32_t i = 0; i < LANES; i++)
            if (r[g * LANES + i] != v[i] + x[g * LANES + i]) return false;
    }
    return true;
}

static struct code code_ever(void)
{
    stress_buffers();
    return code_end(program(
        loop("i", u32(0), u32(UINT32_MAX),
             list(store("w", lid(0), var("i")), barrier(),
                  loop("j", u32(0), u32(UINT32_MAX),
                       list(store("r", gid(0), add(load("w", lid(0)), load("x", lid(0))))))))));
}

/* Workgroup k traps in lane 3, after as many rounds. */
static struct code code_traps(void)
{
    stress_buffers();
    return code_end(program(let("n", load("rounds", u32(0))),
                            loop("i", u32(0), var("n"), list(store("w", lid(0), var("i")))),
                            if_(eq(gid(0), add(mul(load("k", u32(0)), u32(LANES)), u32(3))),
                                list(trap(add(load("k", u32(0)), u32(70)), "stress")), nothing)));
}

static struct code code_tiny(void)
{
    stress_buffers();
    return code_end(program(store("w", lid(0), load("k", u32(0)))));
}

/* Reads one of them; the caller frees it. */
TAP_UNUSED static vyre_kernel *stress_kernel(enum kind kind)
{
    static struct code (*const make[KINDS])(void) = {code_work, code_ever, code_traps, code_tiny};
    struct code code = make[kind]();
    vyre_kernel *kernel = NULL;
    vyre_error err;
    must(vyre_kernel_read(code.bytes, code.length, NULL, &kernel, &err), &err);
    code_free(&code);
    return kernel;
}

#endif
