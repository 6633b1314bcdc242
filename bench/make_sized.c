/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Kernels that need a given number of registers a lane: the same work with more values alive. The
 * number is the end of a kernel's name. `vyre bench vm` asks each for its registers and says so
 * where they differ.
 *
 * saxpy_N  saxpy_grid of kernels_gpu.vyre, and a branch that no lane takes with N values alive
 * alu_N    a loop of plain arithmetic over N - 1 variables
 * warp_N   the same with 32 lanes a workgroup
 *
 * Workgroups have GPU_SIZED_LANES lanes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "make_sized.h"
#include "vm_gpu.h"

/* With v0 and on: see vm_gpu_alu, which computes the same. */
static void write_alu(FILE *file, unsigned registers, unsigned lanes, const char *name)
{
    unsigned values = registers - 1;
    fprintf(file, "@workgroup(%u)\nkernel %s(u32 rounds, out u32 result[])\n{\n    u32 v0 = i;\n",
            lanes, name);
    for (unsigned j = 1; j < values; j++)
        fprintf(file, "    u32 v%u = v%u * %u + %u;\n", j, j - 1, GPU_ALU_SEED_BY,
                GPU_ALU_SEED_ADD);
    fprintf(file, "    for (u32 round = 0; round < rounds; round++) {\n");
    for (unsigned sweep = 0; sweep < GPU_ALU_SWEEPS(values); sweep++)
        for (unsigned j = 0; j < values; j++) {
            fprintf(file, "        v%u ^= v%u;\n", j, (j + 1) % values);
            fprintf(file, "        v%u += v%u;\n", j, (j + 2) % values);
            fprintf(file, "        v%u *= %u;\n", j, GPU_ALU_BY);
        }
    fprintf(file, "    }\n    result[i] = v0");
    for (unsigned j = 1; j < values; j++)
        fprintf(file, " ^ v%u", j);
    fprintf(file, ";\n}\n");
}

/* The nested differences hold one value for each level; `first` is never that large. */
static void write_saxpy(FILE *file, unsigned registers, const char *name)
{
    unsigned levels = registers - 3; /* beside the index and two values of the work */
    unsigned lanes = GPU_SIZED_LANES(registers);
    fprintf(file,
            "@workgroup(%u)\n"
            "kernel %s(in f32 x[], in f32 y[], f32 a, u32 first, out f32 result[])\n{\n"
            "    u32 at = first + group_id.x * %u + local_id.x;\n",
            lanes, name, GPU_SHARE);
    for (unsigned k = 0; k < GPU_SHARE / lanes; k++)
        fprintf(file, "%s    result[at] = a * x[at] + y[at];\n",
                k == 0 ? "" : "    at += group_size.x;\n");
    fprintf(file, "    if (first == 0xFFFFFFFF) result[at] = ");
    for (unsigned k = 0; k < levels; k++)
        fprintf(file, "x[at + %u] - (", k);
    fprintf(file, "x[at + %u]", levels);
    for (unsigned k = 0; k < levels; k++)
        fputc(')', file);
    fprintf(file, ";\n}\n");
}

char *sized_source(const char *name, size_t *length)
{
    char *text = NULL;
    const char *end = strrchr(name, '_');
    unsigned registers = end != NULL ? (unsigned)strtoul(end + 1, NULL, 10) : 0;
    FILE *file = open_memstream(&text, length);
    if (file == NULL) return NULL;
    if (strncmp(name, "saxpy_", 6) == 0 && registers > 3)
        write_saxpy(file, registers, name);
    else if (strncmp(name, "alu_", 4) == 0 && registers > 3)
        write_alu(file, registers, GPU_SIZED_LANES(registers), name);
    else if (strncmp(name, "warp_", 5) == 0 && registers > 3)
        write_alu(file, registers, GPU_WARP_LANES, name);
    else
        fprintf(stderr, "make_programs: no kernel %s\n", name);
    if (fclose(file) == 0 && *length != 0) return text;
    free(text);
    return NULL;
}
