/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a VIR0 program, with its digest set right. What decodes is validated
 * with and without subgroups, for one finding and for many. What must hold:
 *
 * - a status of OK or E_IR_INVALID, and findings exactly with the latter, never more than asked
 * for;
 * - every finding has a rule, a text and a place, and the error is about the first;
 * - a program that is valid without subgroups is valid with them;
 * - all memory comes back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blake3.h"
#include "ir/program.h"

#define MAX_BYTES 65536u

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(void *ctx, const struct ir_finding *finding)
{
    REQUIRE(finding->rule > IR_RULE_NONE && finding->rule < IR_RULE_END);
    REQUIRE(strcmp(vyre_ir_rule_code(finding->rule), "V000") != 0);
    REQUIRE(finding->message[0] != '\0' && finding->path[0] != '\0');
    ++*(uint32_t *)ctx;
}

static vyre_status judge(const struct ir_program *program, uint32_t subgroups, uint32_t most)
{
    uint32_t count = 0;
    struct ir_validate_options options = {subgroups, most, look, &count};
    vyre_error err = {0};
    vyre_status status = vyre_ir_validate(program, &options, &err);
    REQUIRE(status == VYRE_OK || status == VYRE_E_IR_INVALID);
    REQUIRE((status == VYRE_OK) == (count == 0) && count <= most);
    REQUIRE(status == err.status && (status == VYRE_OK) == (err.message[0] == '\0'));
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[MAX_BYTES];
    struct vyre_memory memory;
    struct ir_program *program = NULL;
    if (size < IR_HEADER_BYTES || size > sizeof bytes) return 0;
    memcpy(bytes, data, size);
    vyre_blake3(bytes + IR_HEADER_BYTES, size - IR_HEADER_BYTES, bytes + 8);
    REQUIRE(vyre_memory_init(&memory, NULL, NULL) == VYRE_OK);
    if (vyre_ir_decode(&memory, bytes, size, &program, NULL) == VYRE_OK) {
        vyre_status without = judge(program, 0, 1), with = judge(program, 1, 1);
        REQUIRE(without != VYRE_OK || with == VYRE_OK);
        REQUIRE(judge(program, 0, 100) == without && judge(program, 1, 100) == with);
    }
    vyre_ir_program_free(program);
    REQUIRE(vyre_memory_live(&memory) == 0);
    return 0;
}
