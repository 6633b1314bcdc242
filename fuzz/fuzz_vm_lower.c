/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a VIR0 program, with its header set right. What validates is lowered,
 * strict and not. What must hold:
 *
 * - the lowering succeeds, or refuses with E_VM_UNSUPPORTED or E_VM_LIMIT, a message and a fix;
 * - the verifier accepts whatever the lowering makes, and it keeps its promises along random paths;
 * - the same tree gives the same block, and all memory comes back.
 */
#include "../tests/vm_walk.h"

#include "vm_mutate.h"
#include "wire_checks.h"

#define MAX_BYTES 16384u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vm_walk walk;

static int ignore(void *ctx, const char *text, size_t length)
{
    (void)ctx;
    REQUIRE(length > 0 && text[length - 1] == '\n');
    return 0;
}

static void check_block(const struct ir_program *tree, const struct vm_program *program,
                        struct vyre_memory *memory)
{
    const struct vm_header *header = program->header;
    vyre_error err = {0};
    vyre_status status = vyre_vm_verify(memory, header, header->bytes, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    REQUIRE(status == VYRE_OK || status == VYRE_E_VM_LIMIT);
    if (status) return;
    const char *broken = vm_walk(&walk, header, 0x9E3779B97F4A7C15u);
    if (broken) fprintf(stderr, "%s\n", broken);
    REQUIRE(broken == NULL);
    REQUIRE(vyre_vm_print(program, tree, ignore, NULL, NULL) == VYRE_OK);
}

static void check_lowering(const struct ir_program *tree, uint32_t strict,
                           struct vyre_memory *memory)
{
    struct vm_lower_options options = {.strict = strict};
    struct vm_program *program = NULL, *again = NULL;
    vyre_error err = {0};
    vyre_status status = vyre_vm_lower(tree, &options, &program, &err);
    REQUIRE((status == VYRE_OK) == (program != NULL));
    REQUIRE(vyre_vm_lower(tree, &options, &again, NULL) == status);
    if (status) {
        REQUIRE(status == VYRE_E_VM_UNSUPPORTED || status == VYRE_E_VM_LIMIT);
        REQUIRE(err.status == status && err.message[0] != '\0' && err.fix[0] != '\0');
        return;
    }
    REQUIRE(again->header->bytes == program->header->bytes);
    REQUIRE(memcmp(again->header, program->header, program->header->bytes) == 0);
    check_block(tree, program, memory);
    vyre_vm_free(program);
    vyre_vm_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MAX_BYTES];
    struct ir_validate_options rules = {.subgroups = 1, .most = 1};
    struct vyre_memory memory;
    struct ir_program *tree = NULL;
    if (size < IR_HEADER_BYTES || size > sizeof bytes) return 0;
    memcpy(bytes, data, size);
    vm_mutate_header(bytes, size);
    REQUIRE(vyre_memory_init(&memory, NULL, NULL) == VYRE_OK);
    if (vyre_ir_decode(&memory, bytes, size, &tree, NULL) == VYRE_OK &&
        vyre_ir_validate(tree, &rules, NULL) == VYRE_OK) {
        check_lowering(tree, 0, &memory);
        check_lowering(tree, 1, &memory);
    }
    vyre_ir_program_free(tree);
    REQUIRE(vyre_memory_live(&memory) == 0);
    return 0;
}

#ifdef VYRE_LIBFUZZER
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    return vm_mutate(data, size, most, seed);
}
#endif
