/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The scalar oracle of the tests as a peer of `vyre bench vm`: a program is decoded once and then
 * run statement by statement, one invocation at a time.
 */
#include <stdlib.h>

#include "oracle/oracle.h"
#include "vm_peers.h"

struct vm_oracle {
    struct vyre_memory memory;
    struct ir_program *program;
};

struct vm_oracle *vm_oracle_open(const void *bytes, size_t length, const char **why)
{
    struct vm_oracle *oracle = calloc(1, sizeof *oracle);
    *why = "no memory for the oracle";
    if (oracle == NULL) return NULL;
    if (vyre_memory_init(&oracle->memory, NULL, NULL) == VYRE_OK &&
        vyre_ir_decode(&oracle->memory, bytes, length, &oracle->program, NULL) == VYRE_OK)
        return oracle;
    *why = "the oracle cannot read the program";
    free(oracle);
    return NULL;
}

void vm_oracle_close(struct vm_oracle *oracle)
{
    if (oracle == NULL) return;
    vyre_ir_program_free(oracle->program);
    free(oracle);
}

int vm_oracle_run(struct vm_oracle *oracle, struct vm_oracle_run *run)
{
    struct oracle_run inner = {.program = oracle->program,
                               .grid = {run->groups, 1, 1},
                               .buffers = run->buffer,
                               .bytes = run->bytes,
                               .schedule = ORACLE_IN_TURN};
    return oracle_run(&inner) == ORACLE_OK ? 0 : -1;
}
