/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes the programs that `vyre bench vm` runs, as C source on stdout: the kernels of the two
 * sources that it is given, those of the first also built by hand, and those of make_sized.c. Runs
 * at build time, so that the command itself has only their bytes. Sizes divide evenly, and an
 * access out of bounds would do no harm, so there are no guards.
 */
#include <assert.h>

#include "ir_build.h"
#include "make_sized.h"
#include "vm_programs.h"
#include "vyre/compile.h"

static struct ir_buffer *scalar(const char *text, uint8_t type)
{
    struct ir_buffer *made = in(text, type, 1);
    made->kind = IR_KIND_PUSH;
    return made;
}

static struct ir_expr *shift_left(struct ir_expr *value, uint32_t by)
{
    return bin(IR_BIN_SHL, value, u32(by));
}

static struct ir_expr *shift_right(struct ir_expr *value, uint32_t by)
{
    return bin(IR_BIN_SHR, value, u32(by));
}

/* out[i] = a * x[i] + y[i] */
static struct ir_program *hand_saxpy(void)
{
    in("x", IR_TYPE_F32, VM_SAXPY_COUNT);
    in("y", IR_TYPE_F32, VM_SAXPY_COUNT);
    scalar("a", IR_TYPE_F32);
    out("out", IR_TYPE_F32, VM_SAXPY_COUNT);
    workgroup(VM_LANES, 1, 1);
    return program(let("i", gid(0)),
                   store("out", var("i"),
                         add(mul(load("a", u32(0)), load("x", var("i"))), load("y", var("i")))));
}

/* Rounds until a point of the plane escapes; the loop is a while. */
static struct ir_program *hand_mandelbrot(void)
{
    scalar("width", IR_TYPE_U32);
    scalar("step", IR_TYPE_F32);
    out("out", IR_TYPE_U32, VM_MANDELBROT_COUNT);
    workgroup(VM_LANES, 1, 1);
    struct ir_expr *column = mod(gid(0), load("width", u32(0)));
    struct ir_expr *row = div_(gid(0), load("width", u32(0)));
    return program(
        let("cx",
            add(mul(cast(IR_TYPE_F32, column), load("step", u32(0))), f32(VM_MANDELBROT_LEFT))),
        let("cy", add(mul(cast(IR_TYPE_F32, row), load("step", u32(0))), f32(VM_MANDELBROT_TOP))),
        let("x", f32(0)), let("y", f32(0)), let("xx", f32(0)), let("yy", f32(0)),
        let("rounds", u32(0)),
        loop("round", u32(0), u32(VM_MANDELBROT_ROUNDS),
             list(if_(le(add(var("xx"), var("yy")), f32(4.0f)),
                      list(assign("y", add(mul(mul(f32(2.0f), var("x")), var("y")), var("cy"))),
                           assign("x", add(sub(var("xx"), var("yy")), var("cx"))),
                           assign("xx", mul(var("x"), var("x"))),
                           assign("yy", mul(var("y"), var("y"))),
                           assign("rounds", add(var("rounds"), u32(1)))),
                      nothing))),
        store("out", gid(0), var("rounds")));
}

static struct ir_program *hand_xorshift(void)
{
    in("in", IR_TYPE_U32, VM_XORSHIFT_COUNT);
    out("out", IR_TYPE_U32, VM_XORSHIFT_COUNT);
    workgroup(VM_LANES, 1, 1);
    return program(let("x", load("in", gid(0))),
                   loop("round", u32(0), u32(VM_XORSHIFT_ROUNDS),
                        list(assign("x", bin(IR_BIN_BIT_XOR, var("x"), shift_left(var("x"), 13))),
                             assign("x", bin(IR_BIN_BIT_XOR, var("x"), shift_right(var("x"), 17))),
                             assign("x", bin(IR_BIN_BIT_XOR, var("x"), shift_left(var("x"), 5))))),
                   store("out", gid(0), var("x")));
}

/* Horner's rule, one statement a coefficient. */
static struct ir_program *hand_polynomial(void)
{
    static const float c[VM_POLYNOMIAL_TERMS] = VM_POLYNOMIAL_COEFFICIENTS;
    struct ir_list body = {0};
    in("in", IR_TYPE_F32, VM_POLYNOMIAL_COUNT);
    out("out", IR_TYPE_F32, VM_POLYNOMIAL_COUNT);
    workgroup(VM_LANES, 1, 1);
    vyre_ir_append(&body, let("x", load("in", gid(0))));
    vyre_ir_append(&body, let("sum", f32(c[0])));
    for (uint32_t k = 1; k < VM_POLYNOMIAL_TERMS; k++)
        vyre_ir_append(&body, assign("sum", add(mul(var("sum"), var("x")), f32(c[k]))));
    vyre_ir_append(&body, store("out", gid(0), var("sum")));
    return ib_program(region(IB_ROOT, body));
}

/* One more of byte `at` of the word, in the table of this lane. */
static struct ir_list count_byte(uint32_t at)
{
    char text[8];
    snprintf(text, sizeof text, "at%u", at);
    struct ir_expr *byte = bit_and(shift_right(var("word"), 8 * at), u32(VM_BYTES_BINS - 1));
    return list(let(text, add(var("table"), byte)),
                store("counts", var(text), add(load("counts", var(text)), u32(1))));
}

/* Every lane counts in a table of its own; then every lane adds up some bins of all tables. */
static struct ir_program *hand_bytes(void)
{
    in("in", IR_TYPE_U32, VM_BYTES_COUNT / 4);
    shared("counts", IR_TYPE_U32, VM_BYTES_LANES * VM_BYTES_BINS);
    out("out", IR_TYPE_U32, VM_BYTES_BINS);
    workgroup(VM_BYTES_LANES, 1, 1);
    struct ir_expr *word = add(var("first"), mul(var("k"), u32(VM_BYTES_LANES)));
    struct ir_expr *cell = add(mul(var("lane"), u32(VM_BYTES_BINS)), var("bin"));
    return program(let("table", mul(lid(0), u32(VM_BYTES_BINS))),
                   let("first", add(mul(wid(0), u32(VM_BYTES_GROUP / 4)), lid(0))),
                   loop("k", u32(0), u32(VM_BYTES_WORDS),
                        list(let("word", load("in", word)), block(count_byte(0)),
                             block(count_byte(1)), block(count_byte(2)), block(count_byte(3)))),
                   barrier(),
                   loop("part", u32(0), u32(VM_BYTES_BINS / VM_BYTES_LANES),
                        list(let("bin", add(mul(var("part"), u32(VM_BYTES_LANES)), lid(0))),
                             let("sum", u32(0)),
                             loop("lane", u32(0), u32(VM_BYTES_LANES),
                                  list(assign("sum", add(var("sum"), load("counts", cell))))),
                             let("before", atomic(IR_ATOMIC_ADD, "out", var("bin"), var("sum"))))));
}

/* Eight statements: arithmetic, a choice, a loop and a store. */
static void append_piece(struct ir_list *body, uint32_t number)
{
    char value[16], count[16];
    snprintf(value, sizeof value, "value%u", number);
    snprintf(count, sizeof count, "count%u", number);
    vyre_ir_append(body, let(value, mul(load("x", add(gid(0), u32(number))), f32(1.5f))));
    vyre_ir_append(body, let(count, bit_and(load("in", gid(0)), u32(number + 1))));
    vyre_ir_append(body,
                   if_(lt(var(count), u32(4)), list(assign(value, add(var(value), f32(0.25f)))),
                       list(assign(count, sub(var(count), u32(3))))));
    vyre_ir_append(body,
                   loop("k", u32(0), var(count), list(assign(value, mul(var(value), f32(0.5f))))));
    vyre_ir_append(body, store("out", add(mul(gid(0), u32(32)), u32(number)), var(value)));
}

/* 200 statements of many kinds, to be read and verified. */
static struct ir_program *nodes_200(void)
{
    struct ir_list body = {0};
    in("x", IR_TYPE_F32, 0);
    in("in", IR_TYPE_U32, 0);
    out("out", IR_TYPE_F32, 8192);
    workgroup(VM_LANES, 1, 1);
    for (uint32_t number = 0; number < 24; number++)
        append_piece(&body, number);
    /* With the region around them: 8 * 24 + 8. */
    vyre_ir_append(&body, let("last", load("in", gid(0))));
    for (uint32_t i = 0; i < 6; i++)
        vyre_ir_append(&body, assign("last", bin(IR_BIN_BIT_XOR, var("last"), u32(i + 7))));
    struct ir_program *made = ib_program(region(IB_ROOT, body));
    if (made->node_count != VM_NODES_200) {
        fprintf(stderr, "make_programs: %u statements, not 200\n", made->node_count);
        exit(1);
    }
    return made;
}

static void write_array(const char *text, const unsigned char *wire, size_t length)
{
    printf("\nstatic const unsigned char %s[%zu] = {", text, length);
    for (size_t i = 0; i < length; i++)
        printf("%s%u,", i % 16 == 0 ? "\n    " : " ", wire[i]);
    printf("\n};\nconst struct vm_bytes vm_program_%s = {%s, sizeof %s};\n", text, text, text);
}

/* A source of 200 lines: one kernel, in pieces of the kinds that nodes_200 has. */
static int write_source_200(void)
{
    enum { PIECES = 24, OTHERS = 8 }; /* lines: 8 a piece, and what is around them */
    static_assert(8 * PIECES + OTHERS == VM_SOURCE_LINES, "200 lines");
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL) return 1;
    fprintf(file,
            "// Made to be compiled: %d lines.\n@workgroup(256)\n"
            "kernel pieces(in f32 x[], in u32 words[], out f32 result[8192])\n{\n"
            "    u32 last = words[i];\n",
            VM_SOURCE_LINES);
    for (int k = 0; k < PIECES; k++) {
        fprintf(file, "    f32 value%d = x[i + %d] * 1.5;\n", k, k);
        fprintf(file, "    u32 count%d = words[i] & %d;\n", k, k + 1);
        fprintf(file, "    if (count%d < 4) {\n        value%d += 0.25;\n", k, k);
        fprintf(file, "    } else count%d -= 3;\n", k);
        fprintf(file, "    for (u32 k = 0; k < count%d; k++) value%d *= 0.5;\n", k, k);
        fprintf(file, "    last ^= count%d + %d;\n", k, k);
        fprintf(file, "    result[i * 32 + %d] = value%d;\n", k, k);
    }
    fprintf(file, "    result[i * 32 + 31] = f32(last);\n    assert(last != 1);\n}\n");
    if (fclose(file) != 0) return 1;
    write_array("source_200", (const unsigned char *)text, length);
    free(text);
    return 0;
}

static int write_tree(const char *text, const struct ir_program *made)
{
    size_t length = 0;
    vyre_error err;
    vyre_ir_encode(made, NULL, 0, &length, &err);
    unsigned char *wire = malloc(length + 1);
    if (wire == NULL || vyre_ir_encode(made, wire, length, &length, &err) != VYRE_OK) {
        fprintf(stderr, "make_programs: cannot encode %s\n", text);
        free(wire);
        return 1;
    }
    write_array(text, wire, length);
    free(wire);
    return 0;
}

struct source {
    const char *path;
    char *text;
    size_t length;
};

static int read_source(struct source *source)
{
    FILE *file = fopen(source->path, "rb");
    source->text = malloc(VYRE_SOURCE_MOST_BYTES);
    if (file == NULL || source->text == NULL) {
        fprintf(stderr, "make_programs: cannot read %s\n", source->path);
        return 1;
    }
    source->length = fread(source->text, 1, VYRE_SOURCE_MOST_BYTES, file);
    fclose(file);
    return 0;
}

static int write_kernel(const struct source *source, const char *name)
{
    vyre_compile_options options = VYRE_COMPILE_OPTIONS_INIT;
    vyre_kernel *kernel = NULL;
    const void *wire = NULL;
    size_t length = 0;
    vyre_error err;
    options.file = source->path;
    options.kernel = name;
    if (vyre_kernel_compile(source->text, source->length, &options, &kernel, &err) != VYRE_OK ||
        vyre_kernel_bytes(kernel, &wire, &length, &err) != VYRE_OK) {
        fprintf(stderr, "make_programs: %s\n", err.message);
        return 1;
    }
    write_array(name, wire, length);
    vyre_kernel_free(kernel);
    return 0;
}

static int write_kernels(const char *path, const char *const *names, size_t count)
{
    struct source source = {path, NULL, 0};
    int code = read_source(&source);
    for (size_t i = 0; i < count && code == 0; i++)
        code = write_kernel(&source, names[i]);
    free(source.text);
    return code;
}

static int write_sized(const char *name)
{
    struct source source = {"make_sized.c", NULL, 0};
    source.text = sized_source(name, &source.length);
    int code = source.text != NULL ? write_kernel(&source, name) : 1;
    free(source.text);
    return code;
}

int main(int argc, char **argv)
{
#define NAME(name) #name,
    static const char *const kernels[] = {VM_KERNELS(NAME)};
    static const char *const gpu_kernels[] = {VM_GPU_KERNELS(NAME)};
    static const char *const sized[] = {VM_SIZED(NAME)};
#define COUNT(names) (sizeof(names) / sizeof((names)[0]))
#define ROW(name)    {#name, name},
    static const struct {
        const char *name;
        struct ir_program *(*make)(void);
    } programs[] = {VM_BY_HAND(ROW)};
    struct vyre_memory memory;
    if (argc != 3) {
        fputs("usage: make_programs kernels.vyre kernels_gpu.vyre\n", stderr);
        return 2;
    }
    if (vyre_memory_init(&memory, NULL, NULL) != VYRE_OK) return 1;
    printf("/* Made by bench/make_programs.c. */\n#include \"vm_programs.h\"\n");
    int code = write_kernels(argv[1], kernels, COUNT(kernels));
    if (code == 0) code = write_kernels(argv[2], gpu_kernels, COUNT(gpu_kernels));
    for (size_t i = 0; i < COUNT(sized) && code == 0; i++)
        code = write_sized(sized[i]);
    for (size_t i = 0; i < COUNT(programs) && code == 0; i++) {
        begin(&memory);
        struct ir_program *made = programs[i].make();
        code = write_tree(programs[i].name, made);
        vyre_ir_program_free(made);
    }
    if (code == 0) code = write_source_200();
    return code == 0 && fflush(stdout) == 0 ? 0 : 1;
}
