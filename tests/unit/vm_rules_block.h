/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * For t_vm_verify.c: one function for each rule about the block, its tables and its flags. Variant
 * 0 passes, each further one breaks the rule, NULL comes after the last.
 */
#ifndef VYRE_TESTS_VM_RULES_BLOCK_H
#define VYRE_TESTS_VM_RULES_BLOCK_H

#include "tap.h"
#include "vm/verify.h"
#include "vm_build.h"

/* How the verifier is called, where that is what is wrong. */
static struct {
    size_t bytes; /* 0: as the header says */
    size_t shift; /* of the block's address */
} given;

/* out[i] = in[i] + 1, with all kinds of buffers there. */
static struct vm_header *plain(void)
{
    struct vmb b = vmb_begin(8, 4, 2);
    vmb_buffer(&b, VM_BUFFER_READ, 4, 64);
    vmb_buffer(&b, VM_BUFFER_WRITTEN, 4, 64);
    vmb_buffer(&b, VM_BUFFER_SHARED | VM_BUFFER_READ, 4, 40);
    vmb_buffer(&b, VM_BUFFER_SHARED | VM_BUFFER_READ | VM_BUFFER_WRITTEN, 4, 32);
    vmb_buffer(&b, VM_BUFFER_READ | VM_BUFFER_SCALAR, 4, 4);
    vmb_buffer(&b, VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC, 4, 4);
    vmb_op(&b, VM_OP_GLOBALID, R(0), 0, 0, 0, 0);
    vmb_op(&b, VM_OP_LD32, R(1), R(0), 0, 0, 0);
    vmb_op(&b, VM_OP_ADD, R(1), R(1), vmb_u(&b, 1), 0, 0);
    vmb_op(&b, VM_OP_ST32, 0, R(0), R(1), 0, 1);
    return vmb_end(&b);
}

/* Sets one field of a good block, or leaves it. */
#define WITH(block, condition, field, value)                                                       \
    do {                                                                                           \
        if (condition) (block)->field = (value);                                                   \
    } while (0)

static struct vm_header *rule_SIZE(uint32_t variant)
{
    struct vm_header *block = variant < 9 ? plain() : NULL;
    if (variant == 1) given.bytes = 79;
    if (variant == 2) given.bytes = block->bytes - 1u;
    if (variant == 3) given.bytes = block->bytes + 1u;
    WITH(block, variant == 4, code_offset, 64);
    WITH(block, variant == 5, constant_offset, block->constant_offset - 4);
    WITH(block, variant == 6, buffer_offset, block->buffer_offset + 8);
    WITH(block, variant == 7, constant_offset, 0xFFFFFFFCu);
    WITH(block, variant == 8, buffer_offset, 0xFFFFFFF8u);
    return block;
}

static struct vm_header *rule_ALIGNMENT(uint32_t variant)
{
    struct vm_header *block = variant < 5 ? plain() : NULL;
    if (variant == 1) given.shift = 8;
    WITH(block, variant == 2, code_offset, 88);
    WITH(block, variant == 3, constant_offset, block->constant_offset + 2);
    WITH(block, variant == 4, buffer_offset, block->buffer_offset + 4);
    return block;
}

static struct vm_header *rule_HEADER(uint32_t variant)
{
    struct vm_header *block = variant < 3 ? plain() : NULL;
    WITH(block, variant == 0, flags, block->flags | VM_PROGRAM_STRICT);
    WITH(block, variant == 1, flags, block->flags | 64);
    WITH(block, variant == 2, flags, block->flags | 0x80000000u);
    return block;
}

static struct vm_header *rule_LANES(uint32_t variant)
{
    struct vm_header *block = variant < 6 ? plain() : NULL;
    WITH(block, variant == 1, lanes, 63);
    WITH(block, variant == 2, stride, 48);
    WITH(block, variant == 3, stride, 80);
    WITH(block, variant == 4, workgroup[1], 0);
    if (variant == 5) block->workgroup[0] = block->lanes = block->stride = 0;
    return block;
}

static struct vm_header *rule_LIMIT(uint32_t variant)
{
    struct vm_header *block = variant < 11 ? plain() : NULL;
    WITH(block, variant == 0, register_count, VM_MAX_REGISTERS);
    WITH(block, variant == 0, scalar_count, VM_MAX_SCALARS);
    WITH(block, variant == 0, level_count, VM_MAX_LEVELS);
    WITH(block, variant == 0, shared_bytes, VM_MAX_SHARED);
    WITH(block, variant == 1, workgroup[0], 1025);
    WITH(block, variant == 2, workgroup[1], 0x10000);
    WITH(block, variant == 3, workgroup[2], 0xFFFFFFFFu);
    WITH(block, variant == 4, lanes, 1025);
    WITH(block, variant == 5, code_count, VM_MAX_CODE + 1);
    WITH(block, variant == 6, register_count, VM_MAX_REGISTERS + 1);
    WITH(block, variant == 7, scalar_count, VM_MAX_SCALARS + 1);
    WITH(block, variant == 8, level_count, VM_MAX_LEVELS + 1);
    WITH(block, variant == 9, buffer_count, VM_MAX_BUFFERS + 1);
    WITH(block, variant == 10, shared_bytes, VM_MAX_SHARED + 16);
    return block;
}

static struct vm_header *rule_COUNTS(uint32_t variant)
{
    struct vm_header *block = variant < 4 ? plain() : NULL;
    WITH(block, variant == 1, code_count, 0);
    WITH(block, variant == 2, constant_count, block->scalar_count + 1);
    WITH(block, variant == 3, shared_bytes, block->shared_bytes + 8);
    return block;
}

static struct vm_header *rule_BUFFER(uint32_t variant)
{
    struct vm_header *block = variant < 6 ? plain() : NULL;
    if (!block) return NULL;
    WITH(vmb_buffer_at(block, 0), variant == 1, flags, VM_BUFFER_READ | 32);
    WITH(vmb_buffer_at(block, 5), variant == 2, flags, VM_BUFFER_ATOMIC);
    WITH(vmb_buffer_at(block, 5), variant == 3, stride, 8);
    WITH(vmb_buffer_at(block, 5), variant == 4, stride, 0);
    WITH(vmb_buffer_at(block, 3), variant == 5, flags,
         VM_BUFFER_ATOMIC | VM_BUFFER_WRITTEN | VM_BUFFER_SHARED);
    return block;
}

static struct vm_header *rule_VIEW(uint32_t variant)
{
    struct vm_header *block = variant < 4 ? plain() : NULL;
    if (!block) return NULL;
    WITH(vmb_buffer_at(block, 1), variant == 1, view, 0);
    WITH(vmb_buffer_at(block, 5), variant == 2, view, 4);
    WITH(block, variant == 3, view_count, 5);
    return block;
}

static struct vm_header *rule_SHARED(uint32_t variant)
{
    struct vm_header *block = variant < 7 ? plain() : NULL;
    if (!block) return NULL;
    WITH(vmb_buffer_at(block, 3), variant == 1, view, 49 /* 48 is right */);
    WITH(vmb_buffer_at(block, 3), variant == 2, view, 32);
    WITH(vmb_buffer_at(block, 3), variant == 3, bytes, 33);
    WITH(vmb_buffer_at(block, 3), variant == 4, bytes, ~0ull - 16);
    WITH(vmb_buffer_at(block, 3), variant == 5, view, 0xFFFFFFF0u);
    WITH(block, variant == 6, shared_bytes, 64);
    return block;
}

static struct vm_header *rule_BITS(uint32_t variant)
{
    struct vm_header *block = variant < 2 ? plain() : NULL;
    if (!block) return NULL;
    if (variant == 0) vmb_buffer_at(block, 2)->stride = vmb_buffer_at(block, 2)->bits = 0;
    WITH(vmb_buffer_at(block, 2), variant == 1, bits, 0);
    return block;
}

static struct vm_header *rule_PARAMETER(uint32_t variant)
{
    struct vm_header *block = variant < 5 ? plain() : NULL;
    if (!block) return NULL;
    WITH(vmb_buffer_at(block, 4), variant == 1, bytes, 8);
    WITH(vmb_buffer_at(block, 4), variant == 2, flags, VM_BUFFER_SCALAR | VM_BUFFER_WRITTEN);
    WITH(vmb_buffer_at(block, 4), variant == 3, flags, VM_BUFFER_SCALAR | VM_BUFFER_SHARED);
    WITH(block, variant == 4, scalar_params, 2);
    return block;
}

/* A program that has everything the flags speak of, or nothing of it. */
static struct vm_header *facts(int busy, uint32_t flags)
{
    struct vmb b = vmb_begin(32, 1, 1);
    vmb_buffer(&b, VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC, 4, 4);
    vmb_op(&b, VM_OP_LOCALID, R(0), 0, 0, 0, 0);
    if (busy) {
        vmb_op(&b, VM_OP_SGADD, R(1), R(0), 0, 0, 0);
        vmb_op(&b, VM_OP_ATADD, R(2), vmb_u(&b, 0), R(1), 0, 0);
        vmb_control(&b, VM_OP_BARRIER);
        vmb_op(&b, VM_OP_GROUPID, S(0), 0, 0, 0, 0);
        vmb_loop(&b, S(1), vmb_u(&b, 0), S(0));
        vmb_next(&b);
    }
    struct vm_header *block = vmb_end(&b);
    block->flags = flags;
    return block;
}

static struct vm_header *rule_FACTS(uint32_t variant)
{
    uint32_t all = VM_PROGRAM_BARRIER | VM_PROGRAM_ATOMIC | VM_PROGRAM_SUBGROUP | VM_PROGRAM_LONG;
    switch (variant) {
    case 0:
        return facts(1, all);
    case 1:
        return facts(1, all | VM_PROGRAM_PURE);
    case 2:
        return facts(1, all & ~(uint32_t)VM_PROGRAM_BARRIER);
    case 3:
        return facts(1, all & ~(uint32_t)VM_PROGRAM_ATOMIC);
    case 4:
        return facts(1, all & ~(uint32_t)VM_PROGRAM_SUBGROUP);
    case 5:
        return facts(0, VM_PROGRAM_BARRIER);
    case 6:
        return facts(0, VM_PROGRAM_ATOMIC);
    case 7:
        return facts(0, VM_PROGRAM_SUBGROUP);
    case 8:
        return facts(0, VM_PROGRAM_LONG);
    case 9:
        return facts(1, all & ~(uint32_t)VM_PROGRAM_LONG);
    default:
        return NULL;
    }
}

#endif
