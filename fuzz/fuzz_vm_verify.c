/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a block of bytecode, as they are and with header, costs and flags made
 * right. The verifier must not crash and not change the block; what it lets pass must print, and
 * must keep its promises along random paths (tests/vm_walk.h).
 */
#include "../tests/vm_walk.h"

#include "wire_checks.h"

#define BLOCK_BYTES_MAX 16384u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vm_walk walk;

static int ignore(void *ctx, const char *text, size_t length)
{
    (void)ctx;
    REQUIRE(length > 0 && text[length - 1] == '\n');
    return 0;
}

static void check_block(const struct vm_header *block, size_t size, vyre_error *err)
{
    struct vyre_memory memory;
    struct vm_program program = {NULL, (struct vm_header *)(uintptr_t)block, NULL};
    REQUIRE(vyre_memory_init(&memory, NULL, NULL) == VYRE_OK);
    vyre_status status = vyre_vm_verify(&memory, block, size, err);
    REQUIRE(vyre_memory_live(&memory) == 0);
    REQUIRE(status == VYRE_OK || status == VYRE_E_VM_INVALID || status == VYRE_E_VM_LIMIT);
    if (status && err) REQUIRE(err->status == status && err->message[0] == 'B' && err->fix[0]);
    if (status) return;
    for (uint64_t seed = 0; seed < 4; seed++) {
        const char *broken = vm_walk(&walk, block, seed * 0x9E3779B97F4A7C15u);
        if (broken) fprintf(stderr, "%s\n", broken);
        REQUIRE(broken == NULL);
    }
    REQUIRE(vyre_vm_print(&program, NULL, ignore, NULL, NULL) == VYRE_OK);
}

/* The bytes behind the header as code; what follows from it is computed. */
static void repair(struct vm_header *block, size_t size)
{
    uint32_t found[32];
    uint32_t last = 0;
    block->bytes = (uint32_t)size;
    block->workgroup[0] %= 32;
    block->workgroup[1] = block->workgroup[2] = 1;
    block->lanes = block->workgroup[0];
    block->stride = (block->lanes + 15u) / 16u * 16u;
    block->register_count %= 32;
    block->scalar_count %= 32;
    block->constant_count = block->scalar_count / 2;
    block->level_count = VM_MAX_LEVELS;
    block->buffer_count = block->view_count = block->scalar_params = 0;
    block->shared_bytes = 0;
    block->constant_offset = sizeof *block;
    block->code_offset = sizeof *block;
    block->code_count = (uint32_t)((size - sizeof *block) / sizeof(struct vm_insn));
    if (block->code_count <= 4) return;
    block->code_count -= 4; /* the constants */
    block->constant_offset += 16u * block->code_count;
    block->buffer_offset = (block->constant_offset + 4u * block->constant_count + 7u) / 8u * 8u;
    struct vm_insn *code = (struct vm_insn *)(void *)(block + 1);
    for (uint32_t pc = 0; pc < block->code_count; pc++) {
        code[pc].op %= VM_OPCODES;
        if (!vm_is_control(code[pc].op)) continue;
        code[pc].c = (uint16_t)(pc + 1 - last);
        last = pc + 1;
    }
    block->flags = vyre_vm_derive(block, found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static _Alignas(64) unsigned char block[BLOCK_BYTES_MAX];
    static unsigned char before[BLOCK_BYTES_MAX];
    if (size > BLOCK_BYTES_MAX) size = BLOCK_BYTES_MAX;
    if (size) memcpy(block, data, size);
    vyre_error *err = check_err(data, size);
    check_block((const struct vm_header *)(const void *)block, size, err);
    REQUIRE(size == 0 || memcmp(block, data, size) == 0);
    if (size < sizeof(struct vm_header)) return 0;
    repair((struct vm_header *)(void *)block, size);
    memcpy(before, block, size);
    check_block((const struct vm_header *)(const void *)block, size, err);
    REQUIRE(memcmp(block, before, size) == 0);
    return 0;
}
