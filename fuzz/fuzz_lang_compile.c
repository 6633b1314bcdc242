/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a source of the kernel language, compiled for the only kernel and for
 * each by its name. What must hold:
 *
 * - a status of OK, E_SOURCE with at least one error told, or E_NOT_FOUND with none;
 * - every diagnostic has its place in the source, and can be shown;
 * - what compiles decodes, is valid, and is lowered, or refused with E_VM_UNSUPPORTED or
 *   E_VM_LIMIT; the verifier takes whatever the lowering makes;
 * - the same source gives the same bytes, and all memory comes back.
 */
#include "lang_check.h"
#include "lang_mutate.h"

#define MAX_BYTES 16384u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_lowering(struct vyre_memory *memory, const struct ir_program *tree)
{
    struct vm_lower_options options = {0};
    struct vm_program *program = NULL;
    vyre_error err = {0};
    vyre_status status = vyre_vm_lower(tree, &options, &program, &err);
    if (status) {
        if (status != VYRE_E_VM_UNSUPPORTED && status != VYRE_E_VM_LIMIT)
            fprintf(stderr, "%s\n", err.message);
        REQUIRE(status == VYRE_E_VM_UNSUPPORTED || status == VYRE_E_VM_LIMIT);
        return;
    }
    status = vyre_vm_verify(memory, program->header, program->header->bytes, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    REQUIRE(status == VYRE_OK || status == VYRE_E_VM_LIMIT);
    vyre_vm_free(program);
}

static int check_kernel(struct vyre_memory *memory, const char *text, size_t length,
                        const char *kernel)
{
    struct lang_output *output = lang_check_compile(memory, text, length, kernel);
    if (!output) return 0;
    struct lang_output *again = lang_check_compile(memory, text, length, kernel);
    REQUIRE(again && again->length == output->length);
    REQUIRE(memcmp(again->bytes, output->bytes, output->length) == 0);
    vyre_lang_free(again);
    struct ir_program *tree = lang_check_tree(memory, output, length);
    check_lowering(memory, tree);
    vyre_ir_program_free(tree);
    vyre_lang_free(output);
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct lang_names names = {.count = 0};
    struct vyre_memory memory;
    if (size > MAX_BYTES) return 0;
    REQUIRE(vyre_memory_init(&memory, NULL, NULL) == VYRE_OK);
    int alone = check_kernel(&memory, text, size, NULL);
    REQUIRE(vyre_lang_kernels(&memory, text, size, lang_check_name, &names, NULL) == VYRE_OK);
    REQUIRE(!alone || names.count <= 1);
    for (uint32_t i = 0; i < names.count && names.count > 1; i++)
        (void)check_kernel(&memory, text, size, names.names[i]);
    if (alone && names.count) REQUIRE(check_kernel(&memory, text, size, names.names[0]));
    REQUIRE(vyre_memory_live(&memory) == 0);
    return 0;
}

#ifdef VYRE_LIBFUZZER
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    return lang_mutate(data, size, most, seed);
}
#endif
