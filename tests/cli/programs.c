/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes a small VIR0 program to stdout, for the tests of the command: `programs NAME`. Each has
 * one job, which its function tells.
 */
#include "ir_build.h"

static struct vyre_memory memory;

/* out[i] = in[i] + 1, four of them */
static struct ir_program *increment(void)
{
    in("in", IR_TYPE_U32, 4);
    out("out", IR_TYPE_U32, 4);
    workgroup(64, 1, 1);
    return program(if_(lt(gid(0), len("out")),
                       list(store("out", gid(0), add(load("in", gid(0)), u32(1)))), nothing));
}

static struct ir_buffer *scalar(const char *text, uint8_t type)
{
    struct ir_buffer *made = in(text, type, 1);
    made->kind = IR_KIND_PUSH;
    return made;
}

/* A parameter of each type, copied out as words. */
static struct ir_program *parameters(void)
{
    scalar("count", IR_TYPE_U32);
    scalar("offset", IR_TYPE_I32);
    scalar("scale", IR_TYPE_F32);
    scalar("flag", IR_TYPE_BOOL);
    out("out", IR_TYPE_F32, 4);
    workgroup(1, 1, 1);
    return program(store("out", u32(0), cast(IR_TYPE_F32, load("count", u32(0)))),
                   store("out", u32(1), cast(IR_TYPE_F32, load("offset", u32(0)))),
                   store("out", u32(2), load("scale", u32(0))),
                   store("out", u32(3), cast(IR_TYPE_F32, load("flag", u32(0)))));
}

/* data[i] is doubled in place, for as many as there are; only bytes 4 to 12 are returned of keep.
 */
static struct ir_program *twice(void)
{
    rw("data", IR_TYPE_U32, 0);
    struct ir_buffer *keep = rw("keep", IR_TYPE_U32, 4);
    keep->has_range = 1;
    keep->range_start = 4;
    keep->range_end = 12;
    workgroup(4, 1, 1);
    return program(if_(lt(gid(0), len("data")),
                       list(store("data", gid(0), mul(load("data", gid(0)), u32(2)))), nothing));
}

/* Reverses eight words through workgroup memory. */
static struct ir_program *reverse(void)
{
    in("in", IR_TYPE_U32, 8);
    shared("tile", IR_TYPE_U32, 8);
    out("out", IR_TYPE_U32, 8);
    workgroup(8, 1, 1);
    return program(store("tile", sub(u32(7), lid(0)), load("in", gid(0))), barrier(),
                   store("out", gid(0), load("tile", lid(0))));
}

/* out[i] = a[i] / b[i] on signed numbers: a zero in b is a fault */
static struct ir_program *divide(void)
{
    in("a", IR_TYPE_I32, 4);
    in("b", IR_TYPE_I32, 4);
    out("out", IR_TYPE_I32, 4);
    workgroup(2, 1, 1);
    return program(store("out", gid(0), div_(load("a", gid(0)), load("b", gid(0)))));
}

/* Reads two words past the end, and stores one there. */
static struct ir_program *beyond(void)
{
    in("in", IR_TYPE_U32, 4);
    out("out", IR_TYPE_U32, 4);
    workgroup(1, 1, 1);
    return program(let("end", len("in")), store("out", u32(0), load("in", var("end"))),
                   store("out", u32(1), load("in", add(var("end"), u32(9)))),
                   store("out", add(var("end"), u32(4)), u32(1)));
}

/* Traps at address 77 if in[0] is not 0. */
static struct ir_program *trapping(void)
{
    in("in", IR_TYPE_U32, 1);
    out("out", IR_TYPE_U32, 1);
    workgroup(1, 1, 1);
    return program(if_(ne(load("in", u32(0)), u32(0)), list(trap(u32(77), "test")), nothing),
                   store("out", u32(0), u32(1)));
}

/* Counts for a very long time. */
static struct ir_program *forever(void)
{
    out("out", IR_TYPE_U32, 1);
    workgroup(1, 1, 1);
    return program(loop("i", u32(0), u32(0xFFFFFFFF),
                        list(loop("j", u32(0), u32(0xFFFFFFFF),
                                  list(store("out", u32(0), add(var("i"), var("j"))))))));
}

/* Breaks two rules: neither of the buffers is there. */
static struct ir_program *invalid(void)
{
    out("out", IR_TYPE_U32, 1);
    workgroup(1, 1, 1);
    return program(store("nowhere", u32(0), u32(1)), store("out", u32(0), load("gone", u32(0))));
}

/* Sums over a subgroup. */
static struct ir_program *subgroup(void)
{
    in("in", IR_TYPE_U32, 32);
    out("out", IR_TYPE_U32, 32);
    workgroup(32, 1, 1);
    return program(store("out", gid(0), subgroup_add(load("in", gid(0)))));
}

/* Valid, and can only end in an error. */
static struct ir_program *unsupported(void)
{
    in("in", IR_TYPE_U32, 4);
    out("out", IR_TYPE_U32, 1);
    workgroup(1, 1, 1);
    return program(indirect("in", 0));
}

/* Inverts as many bytes as there are. */
static struct ir_program *invert(void)
{
    in("in", IR_TYPE_U8, 0);
    out("out", IR_TYPE_U32, 4);
    workgroup(4, 1, 1);
    return program(store("out", gid(0), un(IR_UN_BIT_NOT, cast(IR_TYPE_U32, load("in", gid(0))))));
}

static const struct {
    const char *name;
    struct ir_program *(*make)(void);
} programs[] = {
    {"increment", increment}, {"parameters", parameters},   {"twice", twice},
    {"reverse", reverse},     {"divide", divide},           {"beyond", beyond},
    {"trapping", trapping},   {"forever", forever},         {"invalid", invalid},
    {"subgroup", subgroup},   {"unsupported", unsupported}, {"invert", invert},
};

static int write_program(struct ir_program *made)
{
    size_t length = 0;
    vyre_error err;

    if (vyre_ir_encode(made, NULL, 0, &length, &err) != VYRE_OK && length == 0) {
        fprintf(stderr, "programs: %s\n", err.message);
        return 1;
    }
    void *bytes = malloc(length);
    if (bytes == NULL || vyre_ir_encode(made, bytes, length, &length, &err) != VYRE_OK) {
        fprintf(stderr, "programs: cannot encode\n");
        free(bytes);
        return 1;
    }
    size_t put = fwrite(bytes, 1, length, stdout);
    free(bytes);
    return put == length && fflush(stdout) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof programs / sizeof programs[0]; i++) {
        if (strcmp(programs[i].name, argv[1]) != 0) continue;
        if (vyre_memory_init(&memory, NULL, NULL) != VYRE_OK) return 1;
        begin(&memory);
        struct ir_program *made = programs[i].make();
        int code = write_program(made);
        vyre_ir_program_free(made);
        return code;
    }
    fprintf(stderr, "usage: programs NAME\n");
    return 2;
}
