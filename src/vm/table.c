/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The rows of opcodes.def, and what their strings mean.
 */
#include <stddef.h>
#include <string.h>

#include "vm/shape.h"
#include "vm/vm.h"

static const struct vm_row rows[VM_OPCODES] = {
#define VM_ALU(name, text, shape, types, expression, what)                                         \
    [VM_OP_##name] = {text, #shape, types, what, VM_ROW_ALU},
#define VM_MATH(name, text, reach, expression, near, what)                                         \
    [VM_OP_##name] = {text, "W1", "f=f", what, VM_ROW_MATH},
#define VM_CHECKED(name, text, types, result, bad, fault, what)                                    \
    [VM_OP_##name] = {text, "K2", types, what, VM_ROW_CHECKED},
#define VM_OP(name, text, operands, what) [VM_OP_##name] = {text, "", operands, what, VM_ROW_OP},
#define VM_CONTROL(name, text, operands, what)                                                     \
    [VM_OP_##name] = {text, "", operands, what, VM_ROW_CONTROL},
#include "vm/opcodes.def"
};

const struct vm_row *vyre_vm_row(uint32_t op)
{
    return op > VM_OP_NONE && op < VM_OPCODES ? &rows[op] : NULL;
}

/* The type letters of VM_ALU and its like: u f b d t. */
static struct vm_operand typed(char letter)
{
    struct vm_operand operand = {1, VM_BANK_ANY, VM_CAN_U};
    if (letter == 'f') operand.can = VM_CAN_F;
    if (letter == 'b') operand.can = VM_CAN_U | VM_CAN_B;
    if (letter == 't') operand.can = 0;
    if (letter == 'd') operand.words = 2;
    return operand;
}

/* One operand of VM_OP and VM_CONTROL, such as "a", "b2", "f", "vf", "sf4": *text moves behind it.
 */
static struct vm_operand named(const char **text)
{
    struct vm_operand operand = {1, VM_BANK_ANY, VM_CAN_U};
    char letter = *(*text)++;
    if (letter == 'v') operand.bank = VM_BANK_VECTOR;
    if (letter == 's') operand.bank = VM_BANK_SCALAR;
    if (letter == 'w') operand.bank = VM_BANK_RESULT;
    if (letter == 't') operand.can = 0;
    if (letter == 'f') operand.can = VM_CAN_F;
    if (operand.bank != VM_BANK_ANY && **text == 'f') {
        operand.can = VM_CAN_F;
        ++*text;
    }
    if (**text >= '2' && **text <= '4') operand.words = (uint8_t)(*(*text)++ - '0');
    return operand;
}

void vyre_vm_shape(uint32_t op, struct vm_shape *shape)
{
    const struct vm_row *row = vyre_vm_row(op);
    memset(shape, 0, sizeof *shape);
    if (!row) return;
    shape->known = 1;
    shape->control = row->kind == VM_ROW_CONTROL;
    int by_name = row->kind == VM_ROW_OP || row->kind == VM_ROW_CONTROL;
    const char *text = row->types;
    if (strchr(text, '=')) {
        shape->result = by_name ? named(&text) : typed(*text++);
        text++;
    }
    while (*text) {
        if (*text == 'B' || *text == 'T' || *text == 'N') {
            shape->imm = *text == 'B'   ? VM_IMM_BUFFER
                         : *text == 'T' ? VM_IMM_TARGET
                                        : VM_IMM_NUMBER;
            text++;
        } else {
            shape->source[shape->sources++] = by_name ? named(&text) : typed(*text++);
        }
    }
}
