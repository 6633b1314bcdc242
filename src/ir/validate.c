/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The validator's entry: its table of rules, how a finding is reported, and the rules about the
 * program and its buffers. docs/verify.md has every rule; each is checked in one place, which
 * names it.
 *
 * The types here are the reference's static ones, which are not always those of the values that a
 * program computes: see docs/verify.md.
 */
#include "ir/validate.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS(number)                                                                             \
    {                                                                                              \
        'V', '0' + (number) / 100, '0' + (number) / 10 % 10, '0' + (number) % 10, 0                \
    }

/* The codes as text; rows of numbers that are not used are empty. */
static const char codes[IR_RULE_END][5] = {
#define IR_RULE(number, name, text, fix) [number] = DIGITS(number),
#include "ir/rules.def"
};
static const char *const texts[IR_RULE_END] = {
#define IR_RULE(number, name, text, fix) [number] = text,
#include "ir/rules.def"
};
static const char *const fixes[IR_RULE_END] = {
#define IR_RULE(number, name, text, fix) [number] = fix,
#include "ir/rules.def"
};

static bool known(enum ir_rule rule)
{
    return (uint32_t)rule < IR_RULE_END && texts[rule];
}

const char *vyre_ir_rule_code(enum ir_rule rule)
{
    return known(rule) ? codes[rule] : "V000";
}

const char *vyre_ir_rule_text(enum ir_rule rule)
{
    return known(rule) ? texts[rule] : "not a rule of this library";
}

const char *vyre_ir_rule_fix(enum ir_rule rule)
{
    return known(rule) ? fixes[rule] : "use a number from docs/verify.md";
}

/* Reporting
 * --------- */

const char *vyre_vld_text(struct vld *v, uint32_t name)
{
    char *text = v->texts[v->text_turn++ % 4];
    if (name >= v->program->name_count) return "?";
    const struct ir_name *entry = &v->program->names[name];
    uint32_t length = entry->length, most = 48;
    if (length > most) {
        length = most;
        while (length > 0 && ((uint8_t)entry->text[length] & 0xC0) == 0x80)
            length--;
    }
    for (uint32_t i = 0; i < length; i++) {
        uint8_t letter = (uint8_t)entry->text[i];
        text[i] = letter < 0x20 || letter == 0x7F ? '?' : (char)letter;
    }
    memcpy(text + length, length < entry->length ? "..." : "", length < entry->length ? 4 : 1);
    return text;
}

static void report(struct vld *v, enum ir_rule rule, struct vld_place place, const char *message)
{
    struct ir_finding finding = {.rule = rule, .id = place.id, .other = place.buffer};
    snprintf(finding.message, sizeof finding.message, "%s", message);
    if (place.id != IR_NONE)
        vyre_ir_path(v->program, place.id, finding.path, sizeof finding.path);
    else if (place.buffer != IR_NONE)
        snprintf(finding.path, sizeof finding.path, "buffers[%u]", (unsigned)place.buffer);
    else
        snprintf(finding.path, sizeof finding.path, "program");
    if (v->findings++ == 0) {
        bool item = place.id != IR_NONE;
        vyre_fail_at(v->err, VYRE_E_IR_INVALID, item ? VYRE_PLACE_INSTRUCTION : VYRE_PLACE_NONE,
                     item ? place.id : 0, "%s: %s, at %s", codes[rule], message, finding.path);
        vyre_fail_fix(v->err, "%s", fixes[rule]);
    }
    if (v->options.report) v->options.report(v->options.ctx, &finding);
    if (v->findings >= v->options.most) v->stop = true;
}

void vyre_vld_report(struct vld *v, enum ir_rule rule, struct vld_place place, const char *format,
                     ...)
{
    char message[sizeof((struct ir_finding *)NULL)->message];
    va_list args;
    if (v->stop) return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    report(v, rule, place, message);
}

void vyre_vld_at(struct vld *v, enum ir_rule rule, uint32_t id, const char *format, ...)
{
    char message[sizeof((struct ir_finding *)NULL)->message];
    va_list args;
    if (v->stop) return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    report(v, rule, (struct vld_place){id, IR_NONE}, message);
}

/* Buffers
 * ------- */

/* V004: a load, a store, an atomic, a length and an indirect dispatch name a declared buffer. */
const struct ir_buffer *vyre_vld_buffer(struct vld *v, uint32_t name, uint32_t id, const char *user)
{
    const struct ir_buffer *buffer = vyre_ir_find_buffer(v->program, name);
    if (!buffer)
        vyre_vld_at(v, IR_RULE_UNKNOWN_BUFFER, id,
                    "%s names `%s`, which is not among the %u buffers", user,
                    vyre_vld_text(v, name), (unsigned)v->program->buffer_count);
    return buffer;
}

/* V013: elements of a bytes buffer are neither loaded nor stored. */
void vyre_vld_elements(struct vld *v, const struct ir_buffer *buffer, uint32_t id, const char *user)
{
    if (buffer->type.tag == IR_TYPE_BYTES)
        vyre_vld_report(v, IR_RULE_BYTES,
                        (struct vld_place){id, (uint32_t)(buffer - v->program->buffers)},
                        "%s an element of `%s`, whose element type is bytes", user,
                        vyre_vld_text(v, buffer->name));
}

static void check_buffer(struct vld *v, uint32_t index)
{
    const struct ir_buffer *buffer = &v->program->buffers[index];
    struct vld_place place = {IR_NONE, index};
    uint32_t first = v->program->names[buffer->name].buffer;
    if (first != index)
        vyre_vld_report(v, IR_RULE_BUFFER_NAME, place, "buffers %u and %u are both called `%s`",
                        (unsigned)first, (unsigned)index, vyre_vld_text(v, buffer->name));
    if (buffer->access == IR_ACCESS_WORKGROUP && buffer->count == 0)
        vyre_vld_report(v, IR_RULE_WORKGROUP_COUNT, place, "workgroup buffer `%s` has no elements",
                        vyre_vld_text(v, buffer->name));
    if (buffer->is_output &&
        (buffer->type.tag == IR_TYPE_ARRAY || buffer->type.tag == IR_TYPE_TENSOR))
        vyre_vld_report(v, IR_RULE_OUTPUT_ELEMENT, place, "the elements of output `%s` are %s",
                        vyre_vld_text(v, buffer->name), vyre_ir_type_word(buffer->type.tag));
}

static int by_number(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* scratch: a word for each buffer. */
static void check_bindings(struct vld *v, uint64_t *scratch)
{
    const struct ir_program *program = v->program;
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->buffer_count; i++)
        if (program->buffers[i].access != IR_ACCESS_WORKGROUP)
            scratch[count++] = (uint64_t)program->buffers[i].binding << 32 | i;
    if (count > 1) qsort(scratch, count, sizeof scratch[0], by_number);
    for (uint32_t i = 1; i < count; i++) {
        uint32_t binding = (uint32_t)(scratch[i] >> 32), index = (uint32_t)scratch[i];
        uint32_t before = (uint32_t)scratch[i - 1];
        if (binding == scratch[i - 1] >> 32)
            vyre_vld_report(v, IR_RULE_BINDING, (struct vld_place){IR_NONE, index},
                            "`%s` and `%s` both have binding %u",
                            vyre_vld_text(v, program->buffers[before].name),
                            vyre_vld_text(v, program->buffers[index].name), (unsigned)binding);
    }
}

static void check_program(struct vld *v, uint64_t *scratch)
{
    const struct ir_program *program = v->program;
    const struct vld_place place = {IR_NONE, IR_NONE};
    uint32_t outputs = 0;
    if (program->workgroup[0] == 0 || program->workgroup[1] == 0 || program->workgroup[2] == 0)
        vyre_vld_report(v, IR_RULE_WORKGROUP_SIZE, place, "the workgroup is %u x %u x %u",
                        (unsigned)program->workgroup[0], (unsigned)program->workgroup[1],
                        (unsigned)program->workgroup[2]);
    for (uint32_t i = 0; i < program->buffer_count && !v->stop; i++) {
        check_buffer(v, i);
        outputs += program->buffers[i].is_output != 0;
    }
    if (outputs > 1)
        vyre_vld_report(v, IR_RULE_OUTPUT_COUNT, place, "%u buffers are marked as the output",
                        (unsigned)outputs);
    check_bindings(v, scratch);
}

/* The walk
 * -------- */

struct scratch {
    void *base;
    size_t bytes;
    uint64_t *bindings;
};

/* One piece of memory for all arrays, largest alignment first. */
static vyre_status take_scratch(struct vld *v, struct scratch *scratch)
{
    const struct ir_program *program = v->program;
    size_t names = program->name_count, buffers = program->buffer_count;
    size_t open = program->node_count < VLD_MAX_NODES ? program->node_count : VLD_MAX_NODES;
    size_t at_undo = names * sizeof *v->variables;
    size_t at_bindings = at_undo + (open + 1) * sizeof *v->undo;
    size_t at_touched = at_bindings + buffers * sizeof *scratch->bindings;
    size_t at_generators = at_touched + names * sizeof *v->touched;
    scratch->bytes = at_generators + names + 1;
    vyre_status status = vyre_memory_alloc(program->memory, scratch->bytes, 1,
                                           "the validator's tables", &scratch->base, v->err);
    if (status) return status;
    char *base = scratch->base;
    v->variables = (struct vld_variable *)scratch->base;
    v->undo = (struct vld_undo *)(void *)(base + at_undo);
    scratch->bindings = (uint64_t *)(void *)(base + at_bindings);
    v->touched = (struct vld_touch *)(void *)(base + at_touched);
    v->generators = (uint8_t *)base + at_generators;
    return VYRE_OK;
}

vyre_status vyre_ir_validate(const struct ir_program *program,
                             const struct ir_validate_options *options, vyre_error *err)
{
    struct vld v = {.program = program, .err = err};
    struct scratch scratch = {0};
    if (options) v.options = *options;
    if (v.options.most == 0) v.options.most = 1;
    vyre_status status = take_scratch(&v, &scratch);
    if (status) return status;
    check_program(&v, scratch.bindings);
    if (!v.stop) vyre_vld_entry(&v);
    if (!v.stop && !v.limits && v.atomics) vyre_vld_hazards(&v, &program->entry);
    assert(v.undo_count == 0);
    vyre_memory_free(program->memory, scratch.base, scratch.bytes);
    return v.findings > 0 ? VYRE_E_IR_INVALID : VYRE_OK;
}
