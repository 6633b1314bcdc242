/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a fuzz target over VIR0 programs mutates with, where libFuzzer is linked: bytes as they are,
 * or, where they decode, the tree behind them (vm_edit.h).
 */
#ifndef VYRE_FUZZ_VM_MUTATE_H
#define VYRE_FUZZ_VM_MUTATE_H

#include "base/blake3.h"
#include "vm_edit.h"

/* Makes the fixed part of a header right; the rest of the input decides alone. */
static inline void vm_mutate_header(uint8_t *data, size_t size)
{
    memcpy(data, "VYRE\4\0\4", 8);
    vyre_blake3(data + IR_HEADER_BYTES, size - IR_HEADER_BYTES, data + 8);
}

#ifdef VYRE_LIBFUZZER

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* The new size, or 0 where it does not decode or what it became cannot be written. */
static inline size_t vm_mutate_tree(uint8_t *data, size_t size, size_t most, uint32_t seed)
{
    static struct vm_edit edit;
    struct vyre_memory memory;
    struct ir_program *program = NULL;
    uint8_t bytes[4 * VM_EDIT_BYTES] = {0};
    size_t length = 0;
    if (size < IR_HEADER_BYTES || vyre_memory_init(&memory, NULL, NULL)) return 0;
    vm_mutate_header(data, size);
    if (vyre_ir_decode(&memory, data, size, &program, NULL)) return 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    /* The values are libFuzzer's to choose: it knows what the program compares with. */
    for (size_t i = 3; i < sizeof bytes; i += VM_EDIT_BYTES)
        (void)LLVMFuzzerMutate(bytes + i, 4, 4);
    vm_edit_collect(&edit, program, 0);
    vm_edit_apply(&edit, bytes, VM_EDIT_BYTES * (1 + seed % 4));
    if (vyre_ir_encode(program, data, most, &length, NULL)) length = 0;
    vyre_ir_program_free(program);
    return length;
}

static inline size_t vm_mutate(uint8_t *data, size_t size, size_t most, uint32_t seed)
{
    size_t length = seed % 4 ? vm_mutate_tree(data, size, most, seed / 4) : 0;
    return length ? length : LLVMFuzzerMutate(data, size, most);
}

#endif

#endif
