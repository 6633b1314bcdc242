/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statements and expressions of a VIR0 program, field by field as layout.c lists them. The depth of
 * both together is limited, so this recurses.
 */
#include "ir/codec.h"

vyre_status vyre_ir_read_ordering(struct ir_reader *r, uint8_t *ordering)
{
    uint8_t tag;
    vyre_status status = vyre_ir_read_u8(r, "a memory ordering", &tag);
    if (status != VYRE_OK) return status;
    if (!vyre_ir_ordering_word(tag)) return vyre_ir_bad(r, "no memory ordering %u", tag);
    *ordering = tag;
    return VYRE_OK;
}

/* Statements
 * --------------------------------------------------------------------------------------------- */

static vyre_status read_collective(struct ir_reader *r, uint8_t *op)
{
    uint8_t tag;
    vyre_status status = vyre_ir_read_u8(r, "a collective operator", &tag);
    if (status != VYRE_OK) return status;
    if (!vyre_ir_collective_word(tag)) return vyre_ir_bad(r, "no collective operator %u", tag);
    *op = tag;
    return VYRE_OK;
}

static vyre_status read_source(struct ir_reader *r, uint32_t *name)
{
    uint8_t present;
    vyre_status status = vyre_ir_read_u8(r, "whether a region has a source", &present);
    if (status != VYRE_OK || present == 0) return status;
    if (present != 1)
        return vyre_ir_bad(r, "whether a region has a source is %u, not 0 or 1", present);
    return vyre_ir_read_name(r, "the source of a region", name);
}

static vyre_status read_list(struct ir_reader *r, struct ir_list *list)
{
    uint32_t count;
    vyre_status status = vyre_ir_read_u32(r, "the length of a list", &count);
    if (status != VYRE_OK) return status;
    if (count > IR_MAX_LIST)
        return vyre_ir_bad(r, "a list of %u statements, at most %u", count, IR_MAX_LIST);
    if (count > r->end - r->at)
        return vyre_ir_bad(r, "a list of %u statements, %zu bytes are left", count, r->end - r->at);
    for (uint32_t i = 0; i < count; i++) {
        struct ir_node *node;
        status = vyre_ir_read_node(r, &node);
        if (status != VYRE_OK) return status;
        vyre_ir_append(list, node);
    }
    return VYRE_OK;
}

static vyre_status read_node_field(struct ir_reader *r, struct ir_node *node, char field)
{
    switch (field) {
    case 'n':
        return vyre_ir_read_name(r, "a name", &node->name);
    case 'o':
        return vyre_ir_read_name(r, "a name", &node->other);
    case 't':
        return vyre_ir_read_name(r, "a tag", &node->tag);
    case 's':
        return read_source(r, &node->other);
    case 'a':
        return vyre_ir_read_expr(r, &node->a);
    case 'b':
        return vyre_ir_read_expr(r, &node->b);
    case 'l':
        return read_list(r, &node->body);
    case 'e':
        return read_list(r, &node->otherwise);
    case 'r':
        return vyre_ir_read_ordering(r, &node->ordering);
    case 'c':
        return read_collective(r, &node->op);
    case 'g':
        return vyre_ir_read_u32(r, "a group", &node->group);
    case 'R':
        return vyre_ir_read_u32(r, "a root", &node->root);
    default:
        return vyre_ir_read_u64(r, "a byte offset", &node->offset);
    }
}

vyre_status vyre_ir_read_node(struct ir_reader *r, struct ir_node **out)
{
    uint8_t tag;
    vyre_status status = vyre_ir_read_enter(r);
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "a statement", &tag);
    if (status != VYRE_OK) return status;
    const char *layout = vyre_ir_node_layout(tag);
    if (tag == 0x80) return vyre_ir_bad(r, "a statement of an extension, none is registered");
    if (!layout) return vyre_ir_bad(r, "no statement has the tag 0x%02x", tag);
    struct ir_node *node;
    status = vyre_ir_node(r->program, tag, &node, r->err);
    for (; *layout && status == VYRE_OK; layout++)
        status = read_node_field(r, node, *layout);
    if (status != VYRE_OK) return status;
    vyre_ir_read_leave(r);
    *out = node;
    return VYRE_OK;
}

/* Expressions
 * --------------------------------------------------------------------------------------------- */

static vyre_status read_op(struct ir_reader *r, struct ir_expr *expr, char field)
{
    static const char *const names[] = {"binary", "unary", "atomic"};
    const char *name = names[field == 'b' ? 0 : field == 'u' ? 1 : 2];
    uint8_t op;
    vyre_status status = vyre_ir_read_u8(r, "an operator", &op);
    if (status != VYRE_OK) return status;
    expr->op = op;
    if (op != IR_OP_EXTENSION)
        return vyre_ir_known_op(field, op) ? VYRE_OK
                                           : vyre_ir_bad(r, "no %s operator 0x%02x", name, op);
    status = vyre_ir_read_u32(r, "the number of an extension", &expr->value);
    if (status == VYRE_OK && expr->value < IR_EXTENSION)
        status = vyre_ir_bad(r, "extension 0x%x as %s operator, the numbers begin at 0x%x",
                             expr->value, name, IR_EXTENSION);
    return status;
}

static vyre_status read_bool(struct ir_reader *r, uint32_t *value)
{
    uint8_t byte;
    vyre_status status = vyre_ir_read_u8(r, "a truth value", &byte);
    if (status == VYRE_OK) *value = byte != 0;
    return status;
}

static vyre_status read_optional(struct ir_reader *r, struct ir_expr **out)
{
    uint32_t present;
    vyre_status status = read_bool(r, &present);
    return status == VYRE_OK && present ? vyre_ir_read_expr(r, out) : status;
}

static vyre_status read_args(struct ir_reader *r, struct ir_expr *call)
{
    uint32_t count;
    void *args = NULL;
    vyre_status status = vyre_ir_read_u32(r, "the arguments of a call", &count);
    if (status != VYRE_OK) return status;
    if (count > IR_MAX_ARGS)
        return vyre_ir_bad(r, "a call with %u arguments, at most %u", count, IR_MAX_ARGS);
    if (count > r->end - r->at)
        return vyre_ir_bad(r, "a call with %u arguments, %zu bytes are left", count,
                           r->end - r->at);
    status = vyre_ir_alloc(r->program, count, sizeof *call->args, &args, r->err);
    if (status != VYRE_OK) return status;
    call->args = args;
    call->arg_count = count;
    for (uint32_t i = 0; i < count && status == VYRE_OK; i++)
        status = vyre_ir_read_expr(r, &call->args[i]);
    return status;
}

static vyre_status read_expr_field(struct ir_reader *r, struct ir_expr *expr, char field)
{
    switch (field) {
    case 'n':
        return vyre_ir_read_name(r, "a name", &expr->name);
    case '0':
    case '1':
    case '2':
        return vyre_ir_read_expr(r, &expr->arg[field - '0']);
    case '?':
        return read_optional(r, &expr->arg[1]);
    case 'v':
    case 'f':
        return vyre_ir_read_u32(r, "a literal", &expr->value);
    case 'y':
        return read_bool(r, &expr->value);
    case 'x':
        return vyre_ir_read_u8(r, "an axis", &expr->axis);
    case 'r':
        return vyre_ir_read_ordering(r, &expr->ordering);
    case 'T':
        return vyre_ir_read_type(r, &expr->type);
    case 'A':
        return read_args(r, expr);
    default:
        return read_op(r, expr, field);
    }
}

vyre_status vyre_ir_read_expr(struct ir_reader *r, struct ir_expr **out)
{
    uint8_t tag;
    vyre_status status = vyre_ir_read_enter(r);
    if (status == VYRE_OK) status = vyre_ir_read_u8(r, "an expression", &tag);
    if (status != VYRE_OK) return status;
    const char *layout = vyre_ir_expr_layout(tag);
    if (tag == 0x80) return vyre_ir_bad(r, "an expression of an extension, none is registered");
    if (!layout) return vyre_ir_bad(r, "no expression has the tag 0x%02x", tag);
    struct ir_expr *expr;
    status = vyre_ir_expr(r->program, tag, &expr, r->err);
    for (; *layout && status == VYRE_OK; layout++)
        status = read_expr_field(r, expr, *layout);
    if (status != VYRE_OK) return status;
    vyre_ir_read_leave(r);
    *out = expr;
    return VYRE_OK;
}
