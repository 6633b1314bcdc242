/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A program as text for people: what it is, its buffers with all their attributes, then its
 * statements, indented, in a notation close to C. The text is ASCII whatever the names are, so that
 * no name can disguise what a program does. It is not meant to be read back.
 */
#include "ir/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void flush(struct ir_page *page)
{
    if (!page->failed && page->held > 0)
        page->failed = page->write(page->ctx, page->text, page->held) != 0;
    page->held = 0;
}

void vyre_ir_say_text(struct ir_page *page, const char *text, size_t length)
{
    while (length > 0 && !page->failed) {
        size_t take = sizeof page->text - page->held;
        if (take > length) take = length;
        memcpy(page->text + page->held, text, take);
        page->held += take;
        text += take;
        length -= take;
        if (page->held == sizeof page->text) flush(page);
    }
}

void vyre_ir_say(struct ir_page *page, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length > 0)
        vyre_ir_say_text(page, text,
                         (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* Names
 * --------------------------------------------------------------------------------------------- */

static bool plain(const struct ir_name *name)
{
    for (uint32_t i = 0; i < name->length; i++) {
        char c = name->text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool later = (c >= '0' && c <= '9') || c == '.';
        if (!letter && (i == 0 || !later)) return false;
    }
    return name->length > 0;
}

/* The code point at `at`, which is moved past it; names are valid UTF-8, but a tree that was built
 * wrongly must not lead past the end. */
static uint32_t code_point(const struct ir_name *name, uint32_t *at)
{
    uint32_t first = (uint8_t)name->text[(*at)++];
    uint32_t more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    uint32_t point = more == 0 ? first : first & (0x3Fu >> more);
    for (; more > 0 && *at < name->length; more--)
        point = point << 6 | ((uint8_t)name->text[(*at)++] & 0x3F);
    return point;
}

void vyre_ir_say_name(struct ir_page *page, uint32_t number)
{
    if (number >= page->program->name_count) {
        vyre_ir_say(page, "?");
        return;
    }
    const struct ir_name *name = &page->program->names[number];
    if (plain(name)) {
        vyre_ir_say_text(page, name->text, name->length);
        return;
    }
    vyre_ir_say(page, "\"");
    for (uint32_t at = 0; at < name->length && !page->failed;) {
        uint32_t point = code_point(name, &at);
        if (point == '"' || point == '\\')
            vyre_ir_say(page, "\\%c", (char)point);
        else if (point >= 0x20 && point < 0x7F)
            vyre_ir_say(page, "%c", (char)point);
        else
            vyre_ir_say(page, "\\u{%x}", point);
    }
    vyre_ir_say(page, "\"");
}

/* Buffers
 * --------------------------------------------------------------------------------------------- */

static void say_hints(struct ir_page *page, const struct ir_hints *hints)
{
    static const char *const localities[] = {"streaming", "temporal", "random"};
    if (hints->has_axis) vyre_ir_say(page, " coalesce(%u)", hints->axis);
    if (hints->alignment) vyre_ir_say(page, " align(%u)", hints->alignment);
    if (hints->locality != 1 && hints->locality < 3)
        vyre_ir_say(page, " %s", localities[hints->locality]);
}

static void say_buffer(struct ir_page *page, const struct ir_buffer *buffer)
{
    const char *access = vyre_ir_access_word(buffer->access);
    const char *kind = vyre_ir_kind_word(buffer->kind);
    vyre_ir_say(page, "buffer ");
    vyre_ir_say_name(page, buffer->name);
    vyre_ir_say(page, ": ");
    vyre_ir_say_type(page, &buffer->type);
    if (buffer->count)
        vyre_ir_say(page, "[%u]", buffer->count);
    else
        vyre_ir_say(page, "[]");
    vyre_ir_say(page, " binding(%u) %s %s", buffer->binding, kind ? kind : "?",
                access ? access : "?");
    if (buffer->is_output) vyre_ir_say(page, " output");
    if (buffer->live_out) vyre_ir_say(page, " live_out");
    if (buffer->has_range)
        vyre_ir_say(page, " range(%llu, %llu)", (unsigned long long)buffer->range_start,
                    (unsigned long long)buffer->range_end);
    say_hints(page, &buffer->hints);
    vyre_ir_say(page, "\n");
}

/* Statements
 * --------------------------------------------------------------------------------------------- */

static void say_node(struct ir_page *page, const struct ir_node *node);

static void say_indent(struct ir_page *page)
{
    for (uint32_t i = 0; i < page->indent && !page->failed; i++)
        vyre_ir_say(page, "    ");
}

/* A list in braces; the statement goes on after the closing one. */
static void say_block(struct ir_page *page, const struct ir_list *list)
{
    vyre_ir_say(page, "{\n");
    page->indent++;
    for (const struct ir_node *node = list->first; node && !page->failed; node = node->next)
        say_node(page, node);
    page->indent--;
    say_indent(page);
    vyre_ir_say(page, "}");
}

/* A piece of text, a field, and so on: the fields of a statement in the order in which they are
 * read best. `$` and a letter of layout.c stand for a field. */
static const char *const forms[] = {
    [IR_NODE_LET] = "let $n = $a;",
    [IR_NODE_ASSIGN] = "$n = $a;",
    [IR_NODE_STORE] = "$n[$a] = $b;",
    [IR_NODE_IF] = "if ($a) $l$e",
    [IR_NODE_LOOP] = "loop $n = $a .. $b $l",
    [IR_NODE_RETURN] = "return;",
    [IR_NODE_BLOCK] = "block $l",
    [IR_NODE_BARRIER] = "barrier($r);",
    [IR_NODE_INDIRECT_DISPATCH] = "indirect_dispatch($n, offset $8);",
    [IR_NODE_ASYNC_LOAD] = "async_load($o <- $n, offset $a, size $b, tag $t);",
    [IR_NODE_ASYNC_WAIT] = "async_wait(tag $t);",
    [IR_NODE_REGION] = "region $n$s $l",
    [IR_NODE_ASYNC_STORE] = "async_store($o <- $n, offset $a, size $b, tag $t);",
    [IR_NODE_TRAP] = "trap($a, tag $t);",
    [IR_NODE_RESUME] = "resume(tag $t);",
    [IR_NODE_ALL_REDUCE] = "all_reduce($n, $c, group $g);",
    [IR_NODE_ALL_GATHER] = "all_gather($o <- $n, group $g);",
    [IR_NODE_REDUCE_SCATTER] = "reduce_scatter($o <- $n, $c, group $g);",
    [IR_NODE_BROADCAST] = "broadcast($n, root $R, group $g);",
};

static void say_source(struct ir_page *page, uint32_t name)
{
    if (name == IR_NONE) return;
    vyre_ir_say(page, " from ");
    vyre_ir_say_name(page, name);
}

static void say_else(struct ir_page *page, const struct ir_list *list)
{
    if (list->count == 0) return;
    vyre_ir_say(page, " else ");
    say_block(page, list);
}

static void say_word(struct ir_page *page, const char *word)
{
    vyre_ir_say(page, "%s", word ? word : "?");
}

static void say_number(struct ir_page *page, const struct ir_node *node, char field)
{
    uint64_t value = field == 'g' ? node->group : field == 'R' ? node->root : node->offset;
    vyre_ir_say(page, "%llu", (unsigned long long)value);
}

static void say_field(struct ir_page *page, const struct ir_node *node, char field)
{
    switch (field) {
    case 'n':
        vyre_ir_say_name(page, node->name);
        break;
    case 'o':
        vyre_ir_say_name(page, node->other);
        break;
    case 't':
        vyre_ir_say_name(page, node->tag);
        break;
    case 's':
        say_source(page, node->other);
        break;
    case 'a':
        vyre_ir_say_expr(page, node->a);
        break;
    case 'b':
        vyre_ir_say_expr(page, node->b);
        break;
    case 'l':
        say_block(page, &node->body);
        break;
    case 'e':
        say_else(page, &node->otherwise);
        break;
    case 'r':
        say_word(page, vyre_ir_ordering_word(node->ordering));
        break;
    case 'c':
        say_word(page, vyre_ir_collective_word(node->op));
        break;
    default:
        say_number(page, node, field);
        break;
    }
}

static void say_node(struct ir_page *page, const struct ir_node *node)
{
    say_indent(page);
    if (!vyre_ir_node_layout(node->kind) || page->depth >= IR_DEEPEST) {
        vyre_ir_say(page, "...\n");
        return;
    }
    page->depth++;
    for (const char *form = forms[node->kind]; *form; form++) {
        if (*form == '$')
            say_field(page, node, *++form);
        else
            vyre_ir_say_text(page, form, 1);
    }
    page->depth--;
    vyre_ir_say(page, "\n");
}

vyre_status vyre_ir_print(const struct ir_program *program, ir_writer write, void *ctx,
                          vyre_error *err)
{
    struct ir_page page = {.program = program, .write = write, .ctx = ctx};
    vyre_ir_say(&page, "program");
    if (program->entry_op_id != IR_NONE) {
        vyre_ir_say(&page, " ");
        vyre_ir_say_name(&page, program->entry_op_id);
    }
    vyre_ir_say(&page, " workgroup(%u, %u, %u)%s\n", program->workgroup[0], program->workgroup[1],
                program->workgroup[2], program->non_composable ? " non_composable" : "");
    for (uint32_t i = 0; i < program->buffer_count && !page.failed; i++)
        say_buffer(&page, &program->buffers[i]);
    for (const struct ir_node *node = program->entry.first; node && !page.failed; node = node->next)
        say_node(&page, node);
    flush(&page);
    if (!page.failed) return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_SYSTEM, "see where the text goes: it did not take all of it",
                          "the writer of a program's text gave up");
}
