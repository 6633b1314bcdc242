/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Bytecode as text: each kind of operand, whole programs with and without names, and text that does
 * not fit.
 */
#include "tap.h"
#include "vm_build.h"

static void check_line(const struct vm_header *block, uint32_t pc, const char *expected)
{
    char text[160];
    vyre_vm_text(block, pc, text, sizeof text);
    is_str(text, expected, "instruction %u", (unsigned)pc);
}

static void check_operands(void)
{
    static const char *const lines[] = {
        "    0  globalid  r0, y",
        "    1  groupid   s4, x",
        "    2  buflen    s5, b1",
        "    3  mul       r1, r0, s0=0x9e3779b9",
        "    4  add       r1, r1, s1=99999",
        "    5  fmuladd   r2, s2=0.1, s3=2.0, r2     ; masked",
        "    6  ld128     r4..7, b0[r1]",
        "    7  dadd      r4..5, r6..7, s0..1=0x1869f9e3779b9",
        "    8  st64      b0[s5], r4..5",
        "    9  atcas     r3, b1[s1=99999], r0, r1",
        "   10  copy      b1[0], b0[r0], s5",
        "   11  copyto    b1[r0], b0[0], s5",
        "   12  trapif    r0, r1, index",
        "   13  if        r0 -> 14                   ; cost 14",
        "   14  else      -> 15                      ; cost 1",
        "   15  endif                                ; cost 1",
        "   16  loop      s6, s4, s1=99999 -> 18     ; cost 1",
        "   17  next      s6, s1=99999 -> 17         ; cost 1",
        "   18  end                                  ; cost 1",
    };
    struct vmb b = vmb_begin(4, 2, 1);
    uint16_t hash = vmb_u(&b, 0x9E3779B9u), many = vmb_u(&b, 99999);
    uint16_t tenth = vmb_f(&b, 0.1f), two = vmb_f(&b, 2.0f);
    vmb_buffer(&b, VM_BUFFER_READ | VM_BUFFER_WRITTEN, 16, 64);
    vmb_buffer(&b, VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC, 4, 64);
    vmb_op(&b, VM_OP_GLOBALID, R(0), 0, 0, 0, 1);
    vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_BUFLEN, S(1), 0, 0, 0, 1);
    vmb_op(&b, VM_OP_MUL, R(1), R(0), hash, 0, 0);
    vmb_op(&b, VM_OP_ADD, R(1), R(1), many, 0, 0);
    vmb_masked(&b, VM_OP_FMULADD, R(2), tenth, two, R(2), 0);
    vmb_op(&b, VM_OP_LD128, R(4), R(1), 0, 0, 0);
    vmb_op(&b, VM_OP_DADD, R(4), R(6), hash, 0, 0);
    vmb_op(&b, VM_OP_ST64, 0, S(1), R(4), 0, 0);
    vmb_op(&b, VM_OP_ATCAS, R(3), many, R(0), R(1), 1);
    vmb_op(&b, VM_OP_COPY, 0, R(0), S(1), 0, 1u << 16);
    vmb_op(&b, VM_OP_COPYTO, 0, R(0), S(1), 0, 1u << 16);
    vmb_op(&b, VM_OP_TRAPIF, 0, R(0), R(1), 0, VM_TRAP_INDEX);
    vmb_if(&b, R(0));
    vmb_else(&b);
    vmb_endif(&b);
    vmb_loop(&b, S(2), S(0), many);
    vmb_next(&b);
    struct vm_header *block = vmb_end(&b);
    for (uint32_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        check_line(block, i, lines[i]);
    check_line(block, 19, "   19  ?");
    vmb_at(block, 0)->op = VM_OPCODES + 7;
    char unknown[32];
    snprintf(unknown, sizeof unknown, "    0  ?%u", (unsigned)VM_OPCODES + 7u);
    check_line(block, 0, unknown);
    free(block);
}

/* A program whose text is compared whole. */
static struct vm_header *small(void)
{
    struct vmb b = vmb_begin(16, 1, 1);
    vmb_buffer(&b, VM_BUFFER_READ, 4, 0);
    vmb_buffer(&b, VM_BUFFER_WRITTEN, 4, 64);
    vmb_buffer(&b, VM_BUFFER_SHARED, 4, 32);
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_LDF32, R(1), R(0), 0, 0, 0);
    vmb_jz(&b, S(0));
    vmb_vloop(&b, R(2), vmb_u(&b, 0), R(0));
    vmb_masked(&b, VM_OP_FMUL, R(1), R(1), vmb_f(&b, 1.5f), 0, 0);
    vmb_vnext(&b);
    vmb_jelse(&b);
    vmb_op(&b, VM_OP_FNEG, R(1), R(1), 0, 0, 0);
    vmb_jend(&b);
    vmb_op(&b, VM_OP_STF32, 0, R(0), R(1), 0, 1);
    return vmb_end(&b);
}

static const char *const whole =
    "program   16 x 1 x 1 = 16 lanes, 11 instructions, pure\n"
    "needs     3 registers, 1 scalars, 1 masks, 32 bytes of workgroup memory\n"
    "buffers   x             view 0         stride 4   bits 32   bytes 0        read\n"
    "          y             view 1         stride 4   bits 32   bytes 64       written\n"
    "          b2            at byte 0      stride 4   bits 32   bytes 32       shared\n"
    "constants s0    0x00000000  0\n"
    "          s1    0x3fc00000  1069547520 1.5\n"
    "    0  localid   r0, x\n"
    "    1  groupid   s2, x\n"
    "    2  ldf32     r1, x[r0]\n"
    "    3  jz        s2 -> 8                    ; cost 4\n"
    "    4    vloop     r2, s0=0, r0 -> 7        ; cost 1\n"
    "    5      fmul      r1, r1, s1=1.5         ; masked\n"
    "    6    vnext     r2, r0 -> 5              ; cost 2\n"
    "    7  jump      -> 9                       ; cost 1\n"
    "    8    fneg      r1, r1\n"
    "    9  stf32     y[r0], r1\n"
    "   10  end                                  ; cost 3\n";

struct sink {
    char text[4096];
    size_t used, room;
};

static int keep(void *ctx, const char *text, size_t length)
{
    struct sink *sink = (struct sink *)ctx;
    if (length > sink->room - sink->used) return 1;
    memcpy(sink->text + sink->used, text, length);
    sink->used += length;
    sink->text[sink->used] = '\0';
    return 0;
}

static void check_print(void)
{
    struct ir_name names[] = {{"x", 1, 0}, {"y", 1, 1}, {"a b", 3, 2}};
    struct ir_buffer buffers[3];
    struct ir_program tree;
    struct vm_program program;
    struct sink sink = {{0}, 0, sizeof sink.text - 1};
    vyre_error err;
    memset(&tree, 0, sizeof tree);
    memset(buffers, 0, sizeof buffers);
    memset(&program, 0, sizeof program);
    for (uint32_t i = 0; i < 3; i++)
        buffers[i].name = i;
    tree.names = names;
    tree.name_count = tree.buffer_count = 3;
    tree.buffers = buffers;
    program.header = small();
    ok(vyre_vm_print(&program, &tree, keep, &sink, &err) == VYRE_OK, "a program prints");
    is_str(sink.text, whole, "the whole text; a name with a blank in it is not used");
    sink.used = 0;
    ok(vyre_vm_print(&program, NULL, keep, &sink, &err) == VYRE_OK, "without the tree");
    ok(strstr(sink.text, "    2  ldf32     r1, b0[r0]\n") != NULL, "buffers have numbers then");
    sink.used = 0;
    sink.room = 100;
    ok(vyre_vm_print(&program, &tree, keep, &sink, &err) == VYRE_E_SYSTEM, "a writer can say no");
    free(program.header);
}

/* Every length of room: cut, ended by a zero, nothing written behind. */
static void check_cut(void)
{
    struct vm_header *block = small();
    char full[128], text[128];
    uint32_t wrong = 0;
    vyre_vm_text(block, 5, full, sizeof full);
    for (size_t room = 0; room < 80; room++) {
        memset(text, '!', sizeof text);
        vyre_vm_text(block, 5, text, room);
        size_t length = strlen(full) < room ? strlen(full) : room - 1;
        if (room == 0) length = 0;
        wrong += room > 0 && (memcmp(text, full, length) != 0 || text[length] != '\0');
        for (size_t i = room; i < sizeof text; i++)
            wrong += text[i] != '!';
    }
    is_u64(wrong, 0, "text that does not fit is cut");
    free(block);
}

static void check_table(void)
{
    uint32_t odd = 0;
    ok(vyre_vm_row(0) == NULL && vyre_vm_row(VM_OPCODES) == NULL, "no row outside the table");
    for (uint32_t op = 1; op < VM_OPCODES; op++) {
        const struct vm_row *row = vyre_vm_row(op);
        struct vm_shape shape;
        vyre_vm_shape(op, &shape);
        odd += !row || !row->name[0] || !row->what[0] || !row->types || !shape.known;
        odd += (row->kind == VM_ROW_CONTROL) != vm_is_control(op);
        if (row->shape[0]) odd += shape.sources != (uint32_t)(row->shape[1] - '0');
        if (row->shape[0] == 'D') odd += shape.result.words != 2 || shape.source[0].words != 2;
        if (row->shape[0] == 'W' || row->shape[0] == 'K')
            odd += shape.result.words != 1 || shape.source[0].words != 1;
        if (row->shape[0] == 'C') odd += shape.result.words != 1 || shape.source[0].words != 2;
        if (odd) {
            note("at %s", row->name);
            break;
        }
    }
    is_u64(odd, 0, "rows and shapes agree");
}

int main(void)
{
    check_table();
    check_operands();
    check_print();
    check_cut();
    return done();
}
