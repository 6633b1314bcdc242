/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The parts of the verifier, in the order in which they run; each may believe what those before it
 * have checked, and nothing else:
 *
 *   verify_block.c   header, tables, buffers
 *   verify_form.c    each instruction by itself: fields in range
 *   verify_flow.c    control flow: nesting, targets, masks, costs
 *   verify_types.c   values: written before they are read, with the right type
 *
 * Every rule is a row of rules_vm.def and is checked in one place.
 */
#ifndef VYRE_VM_VERIFY_H
#define VYRE_VM_VERIFY_H

#include "vm/shape.h"
#include "vm/vm.h"

enum vm_rule {
    VM_RULE_NONE = 0,
#define VM_RULE(number, name, status, text, fix) VM_RULE_##name = number,
#include "vm/rules_vm.def"
};

struct vm_check {
    const struct vm_header *header;
    const struct vm_insn *code;
    const struct vm_buffer *buffers;
    const uint32_t *constants;
    vyre_error *err;
    uint32_t deepest;                   /* nesting, found by the flow */
    struct vm_shape shapes[VM_OPCODES]; /* of the opcodes met so far */
};

/* One open if or loop while the code is walked through. */
struct vm_frame {
    uint32_t pc;       /* of the instruction that opened it */
    uint32_t end;      /* where its target lies: of the else, once that has come */
    uint16_t op;       /* what opened it: IF, IFLEAVE, JZ, LOOP or VLOOP */
    uint8_t otherwise; /* the else or jump has come */
    uint8_t changed;   /* verify_types: a copy in the loop was found to have fewer types */
};

struct vm_flow {
    struct vm_frame frame[VM_MAX_NESTING];
    uint32_t depth;
    uint32_t levels;  /* masks open */
    uint32_t control; /* the instruction after the last control instruction */
};

/* Fails with a rule's status, code and fix. place_kind: VYRE_PLACE_BYTE or _INSTRUCTION. */
struct vm_site {
    enum vm_rule rule;
    uint32_t place_kind;
    uint64_t place;
};
vyre_status vyre_vm_reject(struct vm_check *check, struct vm_site site, const char *format, ...)
    VYRE_PRINTF(3, 4);

#define VM_AT(rule, pc)                                                                            \
    (struct vm_site)                                                                               \
    {                                                                                              \
        VM_RULE_##rule, VYRE_PLACE_INSTRUCTION, (pc)                                               \
    }
#define VM_AT_BYTE(rule, offset)                                                                   \
    (struct vm_site)                                                                               \
    {                                                                                              \
        VM_RULE_##rule, VYRE_PLACE_BYTE, (offset)                                                  \
    }

vyre_status vyre_vm_check_block(struct vm_check *check, size_t bytes);
vyre_status vyre_vm_check_form(struct vm_check *check, uint32_t pc);
vyre_status vyre_vm_check_flow(struct vm_check *check, struct vm_flow *flow, uint32_t pc);
vyre_status vyre_vm_check_types(struct vm_check *check, void *scratch);
size_t vyre_vm_types_bytes(const struct vm_check *check);

static inline const struct vm_shape *vm_shape_of(struct vm_check *check, uint32_t op)
{
    struct vm_shape *shape = &check->shapes[op];
    if (!shape->known) vyre_vm_shape(op, shape);
    return shape;
}

/* "r5" or "s5": for messages. */
struct vm_register_text {
    char text[8];
};
struct vm_register_text vyre_vm_register_text(uint32_t number);

#endif
