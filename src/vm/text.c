/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Bytecode as text, for people. Works on any block whose sizes and offsets are right, verified or
 * not: what makes no sense is shown as it is.
 *
 *      7  fmuladd   r3, r1, s4=1.5, r2        ; masked
 *     |   |         result first; wide values as r4..5; buffers as b0[index] or by name
 *     |   indented by nesting in vyre_vm_print
 *     the instruction's number, which targets ("-> 12") name
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/arith.h"
#include "vm/shape.h"
#include "vm/vm.h"

#define NAME_COLUMNS    10
#define COMMENT_COLUMN  44
#define LINE_BYTES      512
#define BUFFER_NAME_MAX 24u

/* A line that is being made; what does not fit is cut. */
struct line {
    char *text;
    size_t room, used;
    const struct vm_header *program;
    const struct ir_program *tree; /* or NULL */
};

VYRE_PRINTF(2, 3) static void add(struct line *line, const char *format, ...)
{
    va_list args;
    size_t left = line->room - line->used;
    if (left == 0) return;
    va_start(args, format);
    int length = vsnprintf(line->text + line->used, left, format, args);
    va_end(args);
    if (length < 0) return;
    line->used += (size_t)length < left ? (size_t)length : left - 1;
}

static void pad_to(struct line *line, size_t column)
{
    do
        add(line, " ");
    while (line->used < column && line->used + 1 < line->room);
}

void vyre_vm_float_text(uint32_t bits, char text[32])
{
    double value = (double)vm_float(bits);
    int digits = 6;
    if (isnan(value)) {
        snprintf(text, 32, "nan");
        return;
    }
    do
        snprintf(text, 32, "%.*g", digits, value);
    while (digits++ < 9 && (double)strtof(text, NULL) != value);
    char *comma = strchr(text, ','); /* of a program that has set a locale */
    if (comma) *comma = '.';
    if (!strpbrk(text, ".eni")) strcat(text, ".0");
}

static void add_float(struct line *line, uint32_t bits)
{
    char text[32];
    vyre_vm_float_text(bits, text);
    add(line, "%s", text);
}

static void add_value(struct line *line, const uint32_t *words, const struct vm_operand *operand)
{
    uint64_t value = words[0];
    if (operand->words == 2) value |= (uint64_t)words[1] << 32;
    for (uint32_t i = 0; i < operand->words; i++) {
        if (operand->words == 4) add(line, i == 0 ? "{" : ", ");
        if (operand->can == VM_CAN_F)
            add_float(line, words[i]);
        else if (operand->words == 4)
            add(line, "%u", (unsigned)words[i]);
        else if (i == 0)
            add(line, value < 100000 ? "%llu" : "0x%llx", (unsigned long long)value);
    }
    if (operand->words == 4) add(line, "}");
}

static void add_register(struct line *line, uint32_t number, const struct vm_operand *operand)
{
    uint32_t first = number & (VM_SCALAR - 1u);
    add(line, "%c%u", number & VM_SCALAR ? 's' : 'r', (unsigned)first);
    if (operand->words > 1) add(line, "..%u", (unsigned)(first + operand->words - 1u));
    if ((number & VM_SCALAR) && first + operand->words <= line->program->constant_count) {
        add(line, "=");
        add_value(line, vm_constants(line->program) + first, operand);
    }
}

/* Whether a name reads as one word among registers and brackets. */
static int is_word(const struct ir_name *name)
{
    for (uint32_t i = 0; i < name->length; i++) {
        unsigned char letter = (unsigned char)name->text[i];
        if (letter <= ' ' || letter == 0x7F || strchr("[],;=", letter)) return 0;
    }
    return name->length > 0 && name->length <= BUFFER_NAME_MAX;
}

/* The name that the tree has for a buffer, where it is a word; else b and the number. */
static void add_buffer(struct line *line, uint32_t number)
{
    const struct ir_program *tree = line->tree;
    if (tree && tree->buffer_count == line->program->buffer_count && number < tree->buffer_count &&
        tree->buffers[number].name < tree->name_count &&
        is_word(&tree->names[tree->buffers[number].name]))
        add(line, "%s", tree->names[tree->buffers[number].name].text);
    else
        add(line, "b%u", (unsigned)number);
}

/* Loads, stores, atomics and copies: an index stands in brackets behind its buffer. */
static void add_access(struct line *line, const struct vm_insn *insn, const struct vm_shape *shape)
{
    uint32_t fields[3] = {insn->a, insn->b, insn->c};
    int copy = insn->op == VM_OP_COPY, copyto = insn->op == VM_OP_COPYTO;
    if (copy || copyto) {
        add_buffer(line, insn->imm >> 16);
        add(line, copy ? "[0], " : "[");
        if (copy) add_buffer(line, insn->imm & 0xFFFFu);
        if (copy) add(line, "[");
        add_register(line, insn->a, &shape->source[0]);
        add(line, copy ? "]" : "], ");
        if (copyto) add_buffer(line, insn->imm & 0xFFFFu);
        if (copyto) add(line, "[0]");
    } else {
        add_buffer(line, insn->imm);
        if (shape->sources == 0) return;
        add(line, "[");
        add_register(line, insn->a, &shape->source[0]);
        add(line, "]");
    }
    for (uint32_t i = 1; i < shape->sources; i++) {
        add(line, ", ");
        add_register(line, fields[i], &shape->source[i]);
    }
}

static void add_operands(struct line *line, const struct vm_insn *insn,
                         const struct vm_shape *shape)
{
    static const char *const traps[] = {"0", "trap", "index", "async"}; /* enum vm_trap_code */
    uint32_t fields[3] = {insn->a, insn->b, insn->c};
    const char *comma = "";
    if (shape->result.words) {
        add_register(line, insn->d, &shape->result);
        comma = ", ";
    }
    if (shape->imm == VM_IMM_BUFFER) {
        add(line, "%s", comma);
        add_access(line, insn, shape);
        return;
    }
    for (uint32_t i = 0; i < shape->sources; i++) {
        add(line, "%s", comma);
        add_register(line, fields[i], &shape->source[i]);
        comma = ", ";
    }
    int axis = insn->op == VM_OP_LOCALID || insn->op == VM_OP_GLOBALID || insn->op == VM_OP_GROUPID;
    if (axis && insn->imm < 3)
        add(line, "%s%c", comma, (char)('x' + insn->imm));
    else if (insn->op == VM_OP_TRAPIF && insn->imm < sizeof traps / sizeof traps[0])
        add(line, "%s%s", comma, traps[insn->imm]);
    else if (shape->imm == VM_IMM_NUMBER)
        add(line, "%s%u", comma, (unsigned)insn->imm);
    else if (shape->imm == VM_IMM_TARGET)
        add(line, "%s-> %u", *comma ? " " : "", (unsigned)insn->imm);
}

/* One instruction, indented. */
static void add_insn(struct line *line, uint32_t pc, uint32_t indent)
{
    const struct vm_insn *insn = &vm_code(line->program)[pc];
    const struct vm_row *row = vyre_vm_row(insn->op);
    struct vm_shape shape;
    vyre_vm_shape(insn->op, &shape);
    add(line, "%5u  %*s", (unsigned)pc, (int)indent, "");
    size_t start = line->used;
    if (!row) {
        add(line, "?%u", (unsigned)insn->op);
        return;
    }
    int plain = shape.result.words == 0 && shape.sources == 0 && shape.imm == VM_IMM_NONE;
    add(line, "%s", row->name);
    if (!plain) {
        pad_to(line, start + NAME_COLUMNS);
        add_operands(line, insn, &shape);
    }
    if ((insn->flags & VM_MASKED) || shape.control) pad_to(line, COMMENT_COLUMN);
    if (shape.control) add(line, "; cost %u", (unsigned)insn->c);
    if (insn->flags & VM_MASKED) add(line, "; masked");
}

void vyre_vm_text(const struct vm_header *program, uint32_t pc, char *text, size_t room)
{
    struct line line = {text, room, 0, program, NULL};
    if (room == 0) return;
    text[0] = '\0';
    if (pc < program->code_count)
        add_insn(&line, pc, 0);
    else
        add(&line, "%5u  ?", (unsigned)pc);
}

/* A program being printed. */
struct print {
    struct line line;
    ir_writer write;
    void *ctx;
    int stopped;
    uint32_t depth; /* of nesting */
    uint32_t
        ends[VM_MAX_NESTING]; /* where an if for all lanes at once ends; 0: by an instruction */
};

static void flush(struct print *print)
{
    struct line *line = &print->line;
    if (line->used == line->room - 1) line->used--; /* cut: the newline still fits */
    line->text[line->used++] = '\n';
    if (!print->stopped) print->stopped = print->write(print->ctx, line->text, line->used) != 0;
    line->used = 0;
}

static void print_flags(struct print *print, uint32_t flags, const char *const *names)
{
    for (uint32_t i = 0; names[i]; i++)
        if (flags >> i & 1) add(&print->line, " %s", names[i]);
}

static void print_header(struct print *print)
{
    static const char *const names[] = {"strict", "pure", "barrier", "atomic", "subgroup", NULL};
    const struct vm_header *h = print->line.program;
    add(&print->line, "program   %u x %u x %u = %u lanes, %u instructions,",
        (unsigned)h->workgroup[0], (unsigned)h->workgroup[1], (unsigned)h->workgroup[2],
        (unsigned)h->lanes, (unsigned)h->code_count);
    print_flags(print, h->flags, names);
    if (h->flags == 0) add(&print->line, " no flags");
    flush(print);
    add(&print->line, "needs     %u registers, %u scalars, %u masks, %u bytes of workgroup memory",
        (unsigned)h->register_count, (unsigned)(h->scalar_count - h->constant_count),
        (unsigned)h->level_count, (unsigned)h->shared_bytes);
    flush(print);
}

static void print_buffers(struct print *print)
{
    static const char *const names[] = {"read", "written", "atomic", "shared", "scalar", NULL};
    struct line *line = &print->line;
    for (uint32_t i = 0; i < line->program->buffer_count; i++) {
        const struct vm_buffer *buffer = &vm_buffers(line->program)[i];
        add(line, i == 0 ? "buffers   " : "          ");
        add_buffer(line, i);
        pad_to(line, 24);
        add(line, buffer->flags & VM_BUFFER_SHARED ? "at byte %-6u" : "view %-9u",
            (unsigned)buffer->view);
        add(line, " stride %-2u  bits %-3u  bytes %-8llu", (unsigned)buffer->stride,
            (unsigned)buffer->bits, (unsigned long long)buffer->bytes);
        print_flags(print, buffer->flags, names);
        flush(print);
    }
}

static void print_constants(struct print *print)
{
    struct line *line = &print->line;
    for (uint32_t i = 0; i < line->program->constant_count; i++) {
        uint32_t bits = vm_constants(line->program)[i];
        add(line, "%ss%u", i == 0 ? "constants " : "          ", (unsigned)i);
        pad_to(line, 16);
        add(line, "0x%08x  %u", (unsigned)bits, (unsigned)bits);
        if ((bits & 0x7F800000u) != 0) {
            pad_to(line, 38);
            add_float(line, bits);
        }
        flush(print);
    }
}

/* The depth at which an instruction stands; its successors stand at print->depth. */
static uint32_t nest(struct print *print, uint32_t pc)
{
    const struct vm_insn *insn = &vm_code(print->line.program)[pc];
    while (print->depth && print->ends[print->depth - 1] == pc && pc != 0)
        print->depth--;
    uint32_t depth = print->depth;
    switch (insn->op) {
    case VM_OP_IF:
    case VM_OP_IFLEAVE:
    case VM_OP_LOOP:
    case VM_OP_VLOOP:
    case VM_OP_JZ:
        if (depth == VM_MAX_NESTING) return depth;
        print->ends[print->depth++] = insn->op == VM_OP_JZ ? insn->imm : 0;
        return depth;
    case VM_OP_JUMP: /* the else of a jz, whose end is its target now */
        if (depth) print->ends[depth - 1] = insn->imm;
        return depth ? depth - 1 : 0;
    case VM_OP_ELSE:
        return depth ? depth - 1 : 0;
    case VM_OP_ENDIF:
    case VM_OP_NEXT:
    case VM_OP_VNEXT:
        if (depth) print->depth--;
        return print->depth;
    default:
        return depth;
    }
}

/* What the caller has to say before an instruction. */
static void print_note(struct print *print, const char *note, uint32_t indent)
{
    if (!note) return;
    add(&print->line, "%*s; %s", (int)(7 + indent), "", note);
    flush(print);
}

vyre_status vyre_vm_print_with(const struct vm_program *program, const struct vm_printing *how,
                               vyre_error *err)
{
    char text[LINE_BYTES];
    struct print print = {
        {text, sizeof text, 0, program->header, how->tree}, how->write, how->ctx, 0, 0, {0}};
    print_header(&print);
    print_buffers(&print);
    print_constants(&print);
    for (uint32_t pc = 0; pc < program->header->code_count && !print.stopped; pc++) {
        uint32_t depth = nest(&print, pc), indent = 2 * (depth < 16 ? depth : 16);
        if (how->note) print_note(&print, how->note(how->note_ctx, program->source[pc]), indent);
        add_insn(&print.line, pc, indent);
        flush(&print);
    }
    if (print.stopped) return vyre_fail(err, VYRE_E_SYSTEM, "the text could not be written");
    return VYRE_OK;
}

vyre_status vyre_vm_print(const struct vm_program *program, const struct ir_program *tree,
                          ir_writer write, void *ctx, vyre_error *err)
{
    struct vm_printing how = {.tree = tree, .write = write, .ctx = ctx};
    return vyre_vm_print_with(program, &how, err);
}
