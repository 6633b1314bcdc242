/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes statements, expressions and data types, field by field as layout.c lists them. The format
 * has no limit on depth for an encoder; trees of more than IR_DEEPEST levels, which no decoder
 * takes, are refused for the sake of the stack.
 */
#include "ir/codec.h"

/* Statements and expressions together. */
static bool enter(struct ir_out *out)
{
    if (out->status != VYRE_OK) return false;
    if (out->depth >= IR_DEEPEST) {
        out->status = vyre_fail_with(out->err, VYRE_E_LIMIT, "nest less",
                                     "statements and expressions nest deeper than %u", IR_DEEPEST);
        return false;
    }
    out->depth++;
    return true;
}

static void put_ordering(struct ir_out *out, uint8_t ordering)
{
    if (!vyre_ir_ordering_word(ordering)) vyre_ir_refuse(out, "no memory ordering %u", ordering);
    vyre_ir_put_u8(out, ordering);
}

/* Data types
 * --------------------------------------------------------------------------------------------- */

static void put_dims(struct ir_out *out, const struct ir_type *type)
{
    vyre_ir_put_u32(out, type->dim_count);
    for (uint32_t i = 0; i < type->dim_count; i++)
        vyre_ir_put_u32(out, type->dims[i]);
}

/* What follows the tag, or the element where there is one. */
static void put_rest(struct ir_out *out, const struct ir_type *type)
{
    const char *fault;
    switch (type->tag) {
    case IR_TYPE_OPAQUE:
        if (type->a < IR_EXTENSION)
            vyre_ir_refuse(out, "extension 0x%x of a type, the numbers begin at 0x%x", type->a,
                           IR_EXTENSION);
        vyre_ir_put_u32(out, type->a);
        break;
    case IR_TYPE_ARRAY:
    case IR_TYPE_HANDLE:
        vyre_ir_put_u32(out, type->a);
        break;
    case IR_TYPE_VEC:
        vyre_ir_put_u8(out, type->lanes);
        break;
    case IR_TYPE_TENSOR_SHAPED:
    case IR_TYPE_DEVICE_MESH:
        put_dims(out, type);
        break;
    case IR_TYPE_SPARSE_BSR:
        vyre_ir_put_u32(out, type->a);
        vyre_ir_put_u32(out, type->b);
        break;
    case IR_TYPE_QUANTIZED:
        fault = vyre_ir_quantized_fault(type);
        if (!fault && !vyre_ir_type_storage(type->element->tag))
            fault = "a quantized type has no type that can store it";
        if (fault) vyre_ir_refuse(out, "%s", fault);
        vyre_ir_put_u8(out, type->scale);
        vyre_ir_put_u32(out, type->a);
        vyre_ir_put_u8(out, type->zero);
        vyre_ir_put_u32(out, type->b);
        break;
    default:
        break;
    }
}

static size_t rest_size(const struct ir_out *out, const struct ir_type *type)
{
    struct ir_out count = vyre_ir_put_count(out);
    count.err = NULL;
    put_rest(&count, type);
    return count.at;
}

/* The rest of the innermost type comes first, but the links lead inwards: the rests are written
 * from the last byte to the first, after all of them have been measured. */
static void put_rests(struct ir_out *out, const struct ir_type *type, uint32_t levels)
{
    size_t total = 0;
    const struct ir_type *at = type;
    for (uint32_t i = 0; i < levels && total <= IR_MAX_BYTES; i++, at = at->element)
        total += rest_size(out, at);
    if (total > IR_MAX_BYTES - out->at) {
        vyre_ir_refuse(out, "a data type is longer than a program can be");
        return;
    }
    size_t end = out->at + total;
    at = type;
    for (uint32_t i = 0, size; i < levels && out->status == VYRE_OK; i++, at = at->element) {
        size = (uint32_t)rest_size(out, at);
        out->at = end - size;
        put_rest(out, at);
        end -= size;
    }
    out->at = end + total;
}

void vyre_ir_put_type(struct ir_out *out, const struct ir_type *type)
{
    uint32_t levels = 0;
    for (const struct ir_type *at = type;; at = at->element) {
        if (!at || !vyre_ir_type_word(at->tag)) {
            vyre_ir_refuse(out, "a data type is missing, or has no tag of the format");
            return;
        }
        vyre_ir_put_u8(out, at->tag);
        levels++;
        if (!vyre_ir_type_nests(at->tag)) break;
    }
    put_rests(out, type, levels);
}

/* Expressions
 * --------------------------------------------------------------------------------------------- */

static void put_expr(struct ir_out *out, const struct ir_expr *expr);

/* The floats that the format's encoder writes: one NaN, no subnormals, no negative zero. */
static uint32_t canonical_f32(uint32_t bits)
{
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return 0x7FC00000u;
    return magnitude < 0x00800000u ? 0 : bits;
}

static void put_op(struct ir_out *out, const struct ir_expr *expr, char field)
{
    vyre_ir_put_u8(out, expr->op);
    if (expr->op == IR_OP_EXTENSION) {
        if (expr->value < IR_EXTENSION)
            vyre_ir_refuse(out, "extension 0x%x of an operator, the numbers begin at 0x%x",
                           expr->value, IR_EXTENSION);
        vyre_ir_put_u32(out, expr->value);
    } else if (!vyre_ir_known_op(field, expr->op)) {
        vyre_ir_refuse(out, "%s has no operator 0x%02x", vyre_ir_expr_word(expr->kind), expr->op);
    }
}

static void put_args(struct ir_out *out, const struct ir_expr *call)
{
    if (call->arg_count > IR_MAX_ARGS)
        vyre_ir_refuse(out, "a call with %u arguments, at most %u", call->arg_count, IR_MAX_ARGS);
    vyre_ir_put_u32(out, call->arg_count);
    for (uint32_t i = 0; i < call->arg_count && out->status == VYRE_OK; i++)
        put_expr(out, call->args[i]);
}

static void put_expr_field(struct ir_out *out, const struct ir_expr *expr, char field)
{
    switch (field) {
    case 'n':
        vyre_ir_put_name(out, expr->name);
        break;
    case '0':
    case '1':
    case '2':
        put_expr(out, expr->arg[field - '0']);
        break;
    case '?':
        vyre_ir_put_u8(out, expr->arg[1] != NULL);
        if (expr->arg[1]) put_expr(out, expr->arg[1]);
        break;
    case 'v':
        vyre_ir_put_u32(out, expr->value);
        break;
    case 'f':
        vyre_ir_put_u32(out, canonical_f32(expr->value));
        break;
    case 'y':
        vyre_ir_put_u8(out, expr->value != 0);
        break;
    case 'x':
        vyre_ir_put_u8(out, expr->axis);
        break;
    case 'r':
        put_ordering(out, expr->ordering);
        break;
    case 'T':
        vyre_ir_put_type(out, expr->type);
        break;
    case 'A':
        put_args(out, expr);
        break;
    default:
        put_op(out, expr, field);
        break;
    }
}

static void put_expr(struct ir_out *out, const struct ir_expr *expr)
{
    const char *layout = expr ? vyre_ir_expr_layout(expr->kind) : NULL;
    if (!layout) vyre_ir_refuse(out, "an expression is missing, or has no tag of the format");
    if (!enter(out)) return;
    vyre_ir_put_u8(out, expr->kind);
    for (; *layout; layout++)
        put_expr_field(out, expr, *layout);
    out->depth--;
}

/* Statements
 * --------------------------------------------------------------------------------------------- */

static void put_list(struct ir_out *out, const struct ir_list *list)
{
    if (list->count > IR_MAX_LIST)
        vyre_ir_refuse(out, "a list of %u statements, at most %u", list->count, IR_MAX_LIST);
    vyre_ir_put_u32(out, list->count);
    for (const struct ir_node *node = list->first; node && out->status == VYRE_OK;
         node = node->next)
        vyre_ir_put_node(out, node);
}

static void put_collective(struct ir_out *out, uint8_t op)
{
    if (!vyre_ir_collective_word(op)) vyre_ir_refuse(out, "no collective operator %u", op);
    vyre_ir_put_u8(out, op);
}

static void put_node_field(struct ir_out *out, const struct ir_node *node, char field)
{
    switch (field) {
    case 'n':
        vyre_ir_put_name(out, node->name);
        break;
    case 'o':
        vyre_ir_put_name(out, node->other);
        break;
    case 't':
        vyre_ir_put_name(out, node->tag);
        break;
    case 's':
        vyre_ir_put_u8(out, node->other != IR_NONE);
        if (node->other != IR_NONE) vyre_ir_put_name(out, node->other);
        break;
    case 'a':
        put_expr(out, node->a);
        break;
    case 'b':
        put_expr(out, node->b);
        break;
    case 'l':
        put_list(out, &node->body);
        break;
    case 'e':
        put_list(out, &node->otherwise);
        break;
    case 'r':
        put_ordering(out, node->ordering);
        break;
    case 'c':
        put_collective(out, node->op);
        break;
    case 'g':
        vyre_ir_put_u32(out, node->group);
        break;
    case 'R':
        vyre_ir_put_u32(out, node->root);
        break;
    default:
        vyre_ir_put_u64(out, node->offset);
        break;
    }
}

void vyre_ir_put_node(struct ir_out *out, const struct ir_node *node)
{
    const char *layout = vyre_ir_node_layout(node->kind);
    if (!layout) vyre_ir_refuse(out, "no statement has the tag 0x%02x", node->kind);
    if (!enter(out)) return;
    vyre_ir_put_u8(out, node->kind);
    for (; *layout; layout++)
        put_node_field(out, node, *layout);
    out->depth--;
}
