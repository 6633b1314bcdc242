/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Which fields a statement or an expression has, in the order of the wire. Decoder, encoder and
 * paths go by these rows, so that they cannot differ from each other.
 */
#include "ir/codec.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const node_layouts[] = {
    [IR_NODE_LET] = "na",
    [IR_NODE_ASSIGN] = "na",
    [IR_NODE_STORE] = "nab",
    [IR_NODE_IF] = "ale",
    [IR_NODE_LOOP] = "nabl",
    [IR_NODE_RETURN] = "",
    [IR_NODE_BLOCK] = "l",
    [IR_NODE_BARRIER] = "r",
    [IR_NODE_INDIRECT_DISPATCH] = "n8",
    [IR_NODE_ASYNC_LOAD] = "noabt",
    [IR_NODE_ASYNC_WAIT] = "t",
    [IR_NODE_REGION] = "nsl",
    [IR_NODE_ASYNC_STORE] = "noabt",
    [IR_NODE_TRAP] = "at",
    [IR_NODE_RESUME] = "t",
    [IR_NODE_ALL_REDUCE] = "ncg",
    [IR_NODE_ALL_GATHER] = "nog",
    [IR_NODE_REDUCE_SCATTER] = "nocg",
    [IR_NODE_BROADCAST] = "nRg",
};

static const char *const expr_layouts[] = {
    [IR_EXPR_LIT_U32] = "v",
    [IR_EXPR_LIT_I32] = "v",
    [IR_EXPR_LIT_BOOL] = "y",
    [IR_EXPR_VAR] = "n",
    [IR_EXPR_LOAD] = "n0",
    [IR_EXPR_BUF_LEN] = "n",
    [IR_EXPR_INVOCATION_ID] = "x",
    [IR_EXPR_WORKGROUP_ID] = "x",
    [IR_EXPR_LOCAL_ID] = "x",
    [IR_EXPR_BIN_OP] = "b01",
    [IR_EXPR_UN_OP] = "u0",
    [IR_EXPR_CALL] = "nA",
    [IR_EXPR_SELECT] = "012",
    [IR_EXPR_CAST] = "T0",
    [IR_EXPR_ATOMIC] = "mrn0?2",
    [IR_EXPR_LIT_F32] = "f",
    [IR_EXPR_FMA] = "012",
    [IR_EXPR_SUBGROUP_ADD] = "0",
    [IR_EXPR_SUBGROUP_SHUFFLE] = "01",
    [IR_EXPR_SUBGROUP_BALLOT] = "0",
    [IR_EXPR_SUBGROUP_LOCAL_ID] = "",
    [IR_EXPR_SUBGROUP_SIZE] = "",
};

const char *vyre_ir_node_layout(uint32_t kind)
{
    return kind < COUNT(node_layouts) ? node_layouts[kind] : NULL;
}

const char *vyre_ir_expr_layout(uint32_t kind)
{
    return kind < COUNT(expr_layouts) ? expr_layouts[kind] : NULL;
}

bool vyre_ir_known_op(char op_field, uint32_t op)
{
    if (op_field == 'b') return vyre_ir_bin_word(op) != NULL;
    if (op_field == 'u') return vyre_ir_un_word(op) != NULL;
    return vyre_ir_atomic_word(op) != NULL;
}

bool vyre_ir_type_storage(uint32_t tag)
{
    switch (tag) {
    case IR_TYPE_I4:
    case IR_TYPE_I8:
    case IR_TYPE_I16:
    case IR_TYPE_U8:
    case IR_TYPE_U16:
    case IR_TYPE_F8_E4M3:
    case IR_TYPE_F8_E5M2:
    case IR_TYPE_FP4:
    case IR_TYPE_NF4:
        return true;
    default:
        return false;
    }
}

const char *vyre_ir_quantized_fault(const struct ir_type *type)
{
    if (type->scale > 2) return "the scale of a quantized type is 0, 1 or 2";
    if (type->scale == 0 && type->a != 0) return "a scale per tensor has the parameter 0";
    if (type->scale == 2 && type->a == 0) return "a scale per group needs a group size";
    if (type->zero > 3) return "the zero point of a quantized type is 0 to 3";
    if (type->zero < 2 && type->b != 0)
        return "no zero point, or one per tensor, has the parameter 0";
    if (type->zero == 3 && type->b == 0) return "a zero point per group needs a group size";
    return NULL;
}

bool vyre_ir_type_nests(uint32_t tag)
{
    switch (tag) {
    case IR_TYPE_VEC:
    case IR_TYPE_TENSOR_SHAPED:
    case IR_TYPE_SPARSE_CSR:
    case IR_TYPE_SPARSE_COO:
    case IR_TYPE_SPARSE_BSR:
    case IR_TYPE_QUANTIZED:
        return true;
    default:
        return false;
    }
}
