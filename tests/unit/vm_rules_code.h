/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * For t_vm_verify.c: one function for each rule about instructions, control flow and values.
 * Variant 0 passes, each further one breaks the rule, NULL comes after the last.
 */
#ifndef VYRE_TESTS_VM_RULES_CODE_H
#define VYRE_TESTS_VM_RULES_CODE_H

#include "vm_rules_block.h"

/* A bit of everything: instructions 0.. as the comments number them. */
static struct vm_header *mixed(void)
{
    struct vmb b = vmb_begin(64, 1, 1);
    uint16_t five = vmb_u(&b, 5), more = vmb_f(&b, 1.5f), zero = vmb_u(&b, 0);
    vmb_buffer(&b, VM_BUFFER_READ, 4, 64);
    vmb_buffer(&b, VM_BUFFER_WRITTEN, 4, 64);
    vmb_buffer(&b, VM_BUFFER_READ | VM_BUFFER_WRITTEN, 8, 64);
    vmb_buffer(&b, VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC, 4, 4);
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 2);              /*  0 */
    vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 1);              /*  1 */
    vmb_op(&b, VM_OP_ADD, S(1), S(0), five, 0, 0);            /*  2 */
    vmb_op(&b, VM_OP_LD64, R(1), R(0), 0, 0, 2);              /*  3 */
    vmb_op(&b, VM_OP_DADD, R(1), R(1), R(1), 0, 0);           /*  4 */
    vmb_op(&b, VM_OP_ST64, 0, R(0), R(1), 0, 2);              /*  5 */
    vmb_op(&b, VM_OP_LT, R(3), R(0), S(1), 0, 0);             /*  6 */
    vmb_masked(&b, VM_OP_MOV, R(1), R(3), 0, 0, 0);           /*  7 */
    vmb_op(&b, VM_OP_BUFLEN, S(2), 0, 0, 0, 0);               /*  8 */
    vmb_op(&b, VM_OP_TRAPIF, 0, R(3), S(2), 0, VM_TRAP_TRAP); /*  9 */
    vmb_op(&b, VM_OP_LDF32, R(4), R(0), 0, 0, 0);             /* 10 */
    vmb_op(&b, VM_OP_FMA, R(4), R(4), more, zero, 0);         /* 11 */
    vmb_op(&b, VM_OP_STF32, 0, R(0), R(4), 0, 1);             /* 12 */
    vmb_op(&b, VM_OP_ATCAS, R(5), zero, R(0), R(3), 3);       /* 13 */
    vmb_op(&b, VM_OP_COPY, 0, zero, S(2), 0, 1u << 16);       /* 14 */
    vmb_op(&b, VM_OP_SGFADD, R(5), R(4), 0, 0, 0);            /* 15 */
    vmb_op(&b, VM_OP_SELECT, R(4), R(3), R(5), zero, 0);      /* 16 */
    vmb_op(&b, VM_OP_PRINT, 0, R(0), R(1), 0, 77);            /* 17 */
    return vmb_end(&b);
}

/* One change to one instruction of it. */
struct change {
    uint32_t pc;
    enum { OP, FLAGS, D, A, B, C, IMM } field;
    uint32_t value;
};

static struct vm_header *changed(const struct change *changes, size_t count, uint32_t variant)
{
    if (variant > count) return NULL;
    struct vm_header *block = mixed();
    if (variant == 0) return block;
    const struct change *change = &changes[variant - 1];
    struct vm_insn *insn = vmb_at(block, change->pc);
    uint16_t *fields[] = {&insn->op, &insn->flags, &insn->d, &insn->a, &insn->b, &insn->c};
    if (change->field == IMM)
        insn->imm = change->value;
    else
        *fields[change->field] = (uint16_t)change->value;
    return block;
}

/* Constants of mixed() are s0 to s2, S(0) is s3; 6 registers, 6 scalars, 4 buffers. */
#define RULE_BY_CHANGE(name, ...)                                                                  \
    static struct vm_header *rule_##name(uint32_t variant)                                         \
    {                                                                                              \
        static const struct change list[] = {__VA_ARGS__};                                         \
        return changed(list, sizeof list / sizeof list[0], variant);                               \
    }

RULE_BY_CHANGE(OPCODE, {0, OP, 0}, {2, OP, VM_OPCODES}, {4, OP, 0xFFFF})
RULE_BY_CHANGE(FLAGS, {0, FLAGS, 2}, {0, FLAGS, 0x8001}, {2, FLAGS, VM_MASKED},
               {5, FLAGS, VM_MASKED}, {18, FLAGS, VM_MASKED})
RULE_BY_CHANGE(UNUSED, {5, D, 1}, {0, A, 1}, {2, C, 1}, {2, IMM, 1}, {7, B, 0x8000}, {18, A, 1},
               {15, IMM, 4})
RULE_BY_CHANGE(REGISTER_of_most, {6, D, 6}, {6, A, 6}, {6, B, 0x8006}, {4, D, 5}, {4, B, 5},
               {4, A, 0x8005}, {3, D, 0x7FFF}, {6, A, 0xFFFF}, {1, D, 0x8006})
RULE_BY_CHANGE(CONSTANT, {1, D, 0x8000}, {2, D, 0x8002}, {8, D, 0x8001})
RULE_BY_CHANGE(BANK_of_most, {0, D, 0x8003}, {1, D, 0}, {8, D, 1}, {15, A, 0x8001}, {13, D, 0x8003})
RULE_BY_CHANGE(UNIFORM, {6, D, 0x8005}, {2, A, 0}, {10, D, 0x8005})
RULE_BY_CHANGE(AXIS, {0, IMM, 3}, {1, IMM, 0xFFFFFFFFu})
RULE_BY_CHANGE(TRAP, {9, IMM, 0}, {9, IMM, 4}, {9, IMM, 0xFFFFFFFFu})
RULE_BY_CHANGE(NUMBER, {3, IMM, 4}, {8, IMM, 4}, {13, IMM, 0xFFFFFFFFu}, {14, IMM, 4},
               {14, IMM, 4u << 16})
RULE_BY_CHANGE(ACCESS, {10, IMM, 1}, {12, IMM, 0}, {13, IMM, 1}, {14, IMM, 1u << 16 | 1},
               {14, IMM, 0})
RULE_BY_CHANGE(APART, {3, D, 0}, {10, D, 0}, {13, D, 0}, {13, D, 3}, {15, D, 4})
RULE_BY_CHANGE(WIDTH, {10, OP, VM_OP_LD16}, {10, IMM, 2}, {12, IMM, 2}, {3, IMM, 0})

/* A polynomial: b is where the result is, c four scalars. */
static struct vm_header *poly(uint16_t b_field, uint16_t c_field)
{
    static const float coefficients[] = {0.5f, 0.25f, -1.0f, 2.0f};
    struct vmb b = vmb_begin(8, 1, 1);
    for (uint32_t i = 0; i < 4; i++)
        vmb_f(&b, coefficients[i]);
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_U2F, R(1), R(0), 0, 0, 0);
    vmb_op(&b, VM_OP_FPOLY4, R(1), VM_SCALAR, R(1), VM_SCALAR, 0);
    struct vm_header *block = vmb_end(&b);
    block->register_count = 8;
    vmb_at(block, 2)->b = b_field;
    vmb_at(block, 2)->c = c_field;
    return block;
}

static struct vm_header *rule_REGISTER(uint32_t variant)
{
    return variant == 10 ? poly(1, VM_SCALAR | 1u) : rule_REGISTER_of_most(variant);
}

static struct vm_header *rule_BANK(uint32_t variant)
{
    if (variant == 0) return poly(1, VM_SCALAR);
    if (variant == 6) return poly(VM_SCALAR, VM_SCALAR);
    return variant == 7 ? poly(1, 0) : rule_BANK_of_most(variant);
}

static struct vm_header *rule_LENGTH(uint32_t variant)
{
    struct vm_header *block = variant < 2 ? mixed() : NULL;
    if (block) vmb_buffer_at(block, 0)->stride = 0;
    /* loads of it give 0 */
    if (variant == 1) vmb_buffer_at(block, 0)->bits = 0;
    return block;
}

/* Control: every construct once. */
static struct vm_header *nested(void)
{
    struct vmb b = vmb_begin(64, 1, 1);
    uint16_t zero = vmb_u(&b, 0), ten = vmb_u(&b, 10);
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);   /*  0 */
    vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 0);   /*  1 */
    vmb_op(&b, VM_OP_LT, R(1), R(0), ten, 0, 0);   /*  2 */
    vmb_if(&b, R(1));                              /*  3 -> 5 */
    vmb_op(&b, VM_OP_MOV, R(2), zero, 0, 0, 0);    /*  4 */
    vmb_else(&b);                                  /*  5 -> 7 */
    vmb_op(&b, VM_OP_MOV, R(2), R(0), 0, 0, 0);    /*  6 */
    vmb_endif(&b);                                 /*  7 */
    vmb_jz(&b, S(0));                              /*  8 -> 10 */
    vmb_jelse(&b);                                 /*  9 -> 11 */
    vmb_control(&b, VM_OP_BARRIER);                /* 10 */
    vmb_jend(&b);                                  /* */
    vmb_loop(&b, S(1), zero, S(0));                /* 11 -> 16 */
    vmb_ifleave(&b, R(1));                         /* 12 -> 16 */
    vmb_op(&b, VM_OP_ADD, R(3), R(0), S(1), 0, 0); /* 13 */
    vmb_endif(&b);                                 /* 14 */
    vmb_next(&b);                                  /* 15 -> 12 */
    vmb_vloop(&b, R(4), zero, R(0));               /* 16 -> 19 */
    vmb_op(&b, VM_OP_ADD, R(3), R(4), R(2), 0, 0); /* 17 */
    vmb_vnext(&b);                                 /* 18 -> 17 */
    vmb_jz(&b, S(0));                              /* 19 -> 21 */
    vmb_control(&b, VM_OP_RET);                    /* 20 */
    vmb_jend(&b);                                  /* */
    return vmb_end(&b);                            /* 21 */
}

static struct vm_header *nested_with(const struct change *changes, size_t count, uint32_t variant)
{
    if (variant > count) return NULL;
    struct vm_header *block = nested();
    if (variant == 0) return block;
    const struct change *change = &changes[variant - 1];
    struct vm_insn *insn = vmb_at(block, change->pc);
    uint16_t *fields[] = {&insn->op, &insn->flags, &insn->d, &insn->a, &insn->b, &insn->c};
    if (change->field == IMM)
        insn->imm = change->value;
    else
        *fields[change->field] = (uint16_t)change->value;
    return block;
}

#define RULE_BY_NESTED(name, ...)                                                                  \
    static struct vm_header *rule_##name(uint32_t variant)                                         \
    {                                                                                              \
        static const struct change list[] = {__VA_ARGS__};                                         \
        return nested_with(list, sizeof list / sizeof list[0], variant);                           \
    }

RULE_BY_NESTED(TARGET, {3, IMM, 7}, {3, IMM, 6}, {3, IMM, 0}, {5, IMM, 8}, {5, IMM, 0}, {8, IMM, 8},
               {8, IMM, 22}, {8, IMM, 0xFFFFFFFFu}, {9, IMM, 9}, {11, IMM, 15}, {11, IMM, 12},
               {11, IMM, 0xFFFFFFFFu}, {15, IMM, 11}, {15, IMM, 13}, {16, IMM, 16}, {18, IMM, 16})
RULE_BY_NESTED(COUNTER, {15, A, 0x8001}, {15, D, 0x8002}, {18, A, 0x8000}, {18, D, 1}, {16, D, 0},
               {11, B, 0x8003})
RULE_BY_NESTED(COST, {3, C, 3}, {3, C, 5}, {7, C, 0}, {21, C, 2}, {15, C, 0xFFFF})

/* A loop that is left, by a jz inside where so asked; the leave is instruction 2 or 3. */
static struct vm_header *leaving(int inside)
{
    struct vmb b = vmb_begin(64, 1, 1);
    uint16_t zero = vmb_u(&b, 0);
    vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 0);
    vmb_loop(&b, S(1), zero, S(0));
    if (inside) vmb_jz(&b, S(0));
    vmb_leave(&b, S(0));
    if (inside) vmb_jend(&b);
    vmb_control(&b, VM_OP_BARRIER);
    vmb_next(&b);
    vmb_control(&b, VM_OP_STEP);
    return vmb_end(&b);
}

static struct vm_header *rule_LEAVE(uint32_t variant)
{
    static const struct change list[] = {{12, IMM, 15}, {12, IMM, 21}};
    if (variant > 7) return NULL;
    if (variant < 3) return nested_with(list, 2, variant);
    struct vm_header *block = leaving(variant == 7);
    if (variant < 6) vmb_at(block, 2)->imm += variant == 3 ? 1u : variant == 4 ? 0u - 1u : 0u - 3u;
    if (variant == 6) { /* behind the loop */
        *vmb_at(block, 5) = *vmb_at(block, 2);
        vmb_at(block, 5)->imm = 6;
    }
    return block;
}

/* Instructions that close nothing, or what is not theirs; things left open. */
static struct vm_header *rule_NESTING(uint32_t variant)
{
    static const struct change list[] = {
        {14, OP, VM_OP_STEP},  /* ifleave without endif */
        {20, OP, VM_OP_ENDIF}, /* endif of nothing */
        {4, OP, VM_OP_ELSE},   /* see below */
        {8, IMM, 11},          /* jz over its jump: no else */
        {9, IMM, 13},          /* an else that ends inside a loop */
        {8, IMM, 12},          /* ends inside a loop */
        {3, OP, VM_OP_JZ},     /* see below */
    };
    struct vm_header *block = nested_with(list, sizeof list / sizeof list[0], variant);
    if (variant == 3) { /* two elses: costs and targets right */
        struct vm_insn other = {VM_OP_ELSE, 0, 0, 0, 0, 1, 7};
        *vmb_at(block, 4) = other;
        vmb_at(block, 3)->imm = 4;
        vmb_at(block, 5)->c = 1;
    }
    if (variant == 7) vmb_at(block, 3)->a = 0x8002; /* an else of a jz */
    return block;
}

static struct vm_header *rule_LEVELS(uint32_t variant)
{
    struct vm_header *block = variant < 2 ? nested() : NULL;
    WITH(block, variant == 1, level_count, 0);
    return block;
}

static struct vm_header *rule_DEPTH(uint32_t variant)
{
    struct vmb b = vmb_begin(1, 1, 1);
    uint32_t deep = VM_MAX_NESTING + variant;
    if (variant == 2) return NULL;
    for (uint32_t i = 0; i < deep; i++)
        vmb_jz(&b, vmb_u(&b, 0));
    for (uint32_t i = 0; i < deep; i++)
        vmb_jend(&b);
    return vmb_end(&b);
}

/* A barrier in each construct; the ones where all lanes are may have it. */
static struct vm_header *rule_BARRIER(uint32_t variant)
{
    struct vmb b = vmb_begin(8, 1, 1);
    uint16_t zero = vmb_u(&b, 0), one = vmb_u(&b, 1);
    if (variant > 4) return NULL;
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);
    vmb_loop(&b, S(0), zero, one);
    if (variant == 1) vmb_if(&b, R(0));
    if (variant == 2) vmb_if(&b, R(0)), vmb_else(&b);
    if (variant == 3) vmb_ifleave(&b, R(0));
    if (variant == 4) vmb_vloop(&b, R(1), zero, R(0));
    vmb_jz(&b, S(0));
    vmb_control(&b, VM_OP_BARRIER);
    vmb_jend(&b);
    if (variant >= 1 && variant <= 3) vmb_endif(&b);
    if (variant == 4) vmb_vnext(&b);
    vmb_next(&b);
    vmb_control(&b, VM_OP_BARRIER);
    return vmb_end(&b);
}

static struct vm_header *rule_END(uint32_t variant)
{
    struct vm_header *block = variant < 3 ? nested() : NULL;
    if (variant == 1) vmb_at(block, 20)->op = VM_OP_END;
    if (variant == 2) vmb_at(block, 21)->op = VM_OP_RET;
    return block;
}

/* How r1 comes to be defined, or not, before it is read as a word at the end. */
static struct vm_header *rule_UNDEFINED(uint32_t variant)
{
    struct vmb b = vmb_begin(8, 1, 1);
    uint16_t zero = vmb_u(&b, 0), half = vmb_f(&b, 0.5f);
    if (variant > 9) return NULL;
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 0);
    switch (variant) {
    case 0: /* on both branches, of each kind of if */
        vmb_if(&b, R(0));
        vmb_op(&b, VM_OP_ADD, R(1), R(0), zero, 0, 0);
        vmb_else(&b);
        vmb_op(&b, VM_OP_EQ, R(1), R(0), zero, 0, 0);
        vmb_endif(&b);
        vmb_jz(&b, S(0));
        vmb_op(&b, VM_OP_ADD, R(2), R(1), zero, 0, 0);
        vmb_jelse(&b);
        vmb_op(&b, VM_OP_MOV, R(2), zero, 0, 0, 0);
        vmb_jend(&b);
        vmb_op(&b, VM_OP_NOT, R(2), R(2), 0, 0, 0);
        break;
    case 1: /* never */
        break;
    case 2: /* on one branch */
        vmb_if(&b, R(0));
        vmb_op(&b, VM_OP_ADD, R(1), R(0), zero, 0, 0);
        vmb_endif(&b);
        break;
    case 3: /* on the other */
        vmb_jz(&b, S(0));
        vmb_jelse(&b);
        vmb_op(&b, VM_OP_ADD, R(1), R(0), zero, 0, 0);
        vmb_jend(&b);
        break;
    case 4: /* in a loop that may not run */
        vmb_loop(&b, S(1), zero, S(0));
        vmb_op(&b, VM_OP_ADD, R(1), R(0), zero, 0, 0);
        vmb_next(&b);
        break;
    case 5: /* in its first round */
        vmb_vloop(&b, R(2), zero, R(0));
        vmb_op(&b, VM_OP_NOT, R(3), R(1), 0, 0, 0);
        vmb_op(&b, VM_OP_ADD, R(1), R(0), zero, 0, 0);
        vmb_vnext(&b);
        break;
    case 6: /* two types */
        vmb_if(&b, R(0));
        vmb_op(&b, VM_OP_ADD, R(1), R(0), zero, 0, 0);
        vmb_else(&b);
        vmb_op(&b, VM_OP_MOV, R(1), half, 0, 0, 0);
        vmb_op(&b, VM_OP_FABS, R(1), R(1), 0, 0, 0);
        vmb_endif(&b);
        break;
    case 7: /* the first branch overwrites it for the lanes of the second */
        vmb_op(&b, VM_OP_ADD, R(1), R(0), zero, 0, 0);
        vmb_if(&b, R(0));
        vmb_op(&b, VM_OP_FABS, R(1), half, 0, 0, 0);
        vmb_else(&b);
        vmb_op(&b, VM_OP_NOT, R(2), R(1), 0, 0, 0);
        vmb_endif(&b);
        break;
    case 8: /* the first round overwrites it for the second */
        vmb_op(&b, VM_OP_ADD, R(1), R(0), zero, 0, 0);
        vmb_loop(&b, S(1), zero, S(0));
        vmb_op(&b, VM_OP_NOT, R(2), R(1), 0, 0, 0);
        vmb_op(&b, VM_OP_FABS, R(1), half, 0, 0, 0);
        vmb_next(&b);
        break;
    default: /* the same by way of a copy of a copy: found in the third look */
        vmb_op(&b, VM_OP_MOV, R(1), R(0), 0, 0, 0);
        vmb_op(&b, VM_OP_MOV, R(2), zero, 0, 0, 0);
        vmb_op(&b, VM_OP_ADD, R(3), R(0), zero, 0, 0);
        vmb_loop(&b, S(1), zero, S(0));
        vmb_op(&b, VM_OP_ADD, R(3), R(3), R(1), 0, 0);
        vmb_op(&b, VM_OP_MOV, R(1), R(2), 0, 0, 0);
        vmb_op(&b, VM_OP_FABS, R(4), half, 0, 0, 0);
        vmb_op(&b, VM_OP_MOV, R(2), R(4), 0, 0, 0);
        vmb_next(&b);
    }
    vmb_op(&b, VM_OP_NOT, R(5), R(1), 0, 0, 0);
    return vmb_end(&b);
}

/* Instruction 16 of mixed() selects between floats, 11 takes floats, 6 words. */
static struct vm_header *rule_TYPE(uint32_t variant)
{
    static const struct change list[] = {
        {12, B, 0}, {11, A, 3}, {15, A, 0}, {16, A, 0}, {16, C, 0}, {17, B, 4}, {14, B, 4},
    };
    struct vm_header *block;
    if (variant < 8) return changed(list, sizeof list / sizeof list[0], variant);
    if (variant > 8) return NULL;
    block = mixed(); /* a subnormal constant is no float */
    ((uint32_t *)(void *)((char *)block + block->constant_offset))[1] = 1;
    return block;
}

static struct vm_header *rule_MASKED(uint32_t variant)
{
    struct vmb b = vmb_begin(8, 1, 1);
    if (variant > 3) return NULL;
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);
    if (variant != 1) vmb_op(&b, VM_OP_MOV, R(1), vmb_u(&b, 0), 0, 0, 0);
    if (variant == 2) vmb_op(&b, VM_OP_FABS, R(1), R(1), 0, 0, 0);
    if (variant == 3) vmb_masked(&b, VM_OP_DADD, R(1), vmb_u(&b, 0), vmb_u(&b, 0), 0, 0);
    vmb_if(&b, R(0));
    vmb_masked(&b, VM_OP_ADD, R(1), R(0), R(0), 0, 0);
    vmb_endif(&b);
    if (variant == 3) vmb_u(&b, 7);
    return vmb_end(&b);
}

static struct vm_header *rule_LOCKED(uint32_t variant)
{
    struct vmb b = vmb_begin(8, 1, 1);
    uint16_t zero = vmb_u(&b, 0);
    if (variant > 7) return NULL;
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 0);
    vmb_loop(&b, S(1), zero, S(0));
    vmb_vloop(&b, R(1), S(1), R(0));
    if (variant == 1) vmb_op(&b, VM_OP_MOV, S(1), zero, 0, 0, 0);
    if (variant == 2) vmb_op(&b, VM_OP_MOV, S(0), zero, 0, 0, 0);
    if (variant == 3) vmb_op(&b, VM_OP_MOV, R(1), zero, 0, 0, 0);
    if (variant == 4) vmb_masked(&b, VM_OP_MOV, R(0), zero, 0, 0, 0);
    if (variant == 5) vmb_loop(&b, S(1), zero, zero), vmb_next(&b);
    if (variant == 6) vmb_vloop(&b, R(0), zero, zero), vmb_vnext(&b);
    if (variant == 7) vmb_op(&b, VM_OP_DNOT, R(0), zero, 0, 0, 0), vmb_u(&b, 9);
    vmb_vnext(&b);
    vmb_next(&b);
    vmb_op(&b, VM_OP_MOV, R(0), zero, 0, 0, 0); /* behind them it may be written */
    vmb_op(&b, VM_OP_MOV, S(0), zero, 0, 0, 0);
    return vmb_end(&b);
}

/* A row of copies in a loop that takes one look for each of them: many are too many. */
static struct vm_header *rule_SETTLE(uint32_t variant)
{
    struct vmb b = vmb_begin(8, 1, 1);
    uint32_t copies = variant == 0 ? 100 : 900;
    uint16_t zero = vmb_u(&b, 0);
    if (variant > 1) return NULL;
    for (uint32_t i = 0; i <= copies; i++)
        vmb_op(&b, VM_OP_MOV, R(i), zero, 0, 0, 0);
    vmb_loop(&b, S(0), zero, zero);
    for (uint32_t i = 0; i < copies; i++)
        vmb_op(&b, VM_OP_MOV, R(i), R(i + 1), 0, 0, 0);
    vmb_op(&b, VM_OP_FABS, R(copies + 1), zero, 0, 0, 0);
    vmb_op(&b, VM_OP_MOV, R(copies), R(copies + 1), 0, 0, 0);
    vmb_next(&b);
    return vmb_end(&b);
}

#endif
