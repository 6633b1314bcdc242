/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Fuzz target: any bytes as a VIR0 program, as they are and with a digest that fits. What decodes
 * must encode, and what that gives must decode and encode to itself; its text is ASCII and every
 * item of it has a path.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blake3.h"
#include "ir/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition) check((condition) ? 1 : 0, #condition)

static void check(int holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "fuzz_ir_decode: %s\n", what);
    abort();
}

static struct vyre_memory memory;

static uint8_t *encode(const struct ir_program *program, size_t *length)
{
    vyre_error err;
    CHECK(vyre_ir_encode(program, NULL, 0, length, &err) == VYRE_OK);
    uint8_t *bytes = malloc(*length);
    CHECK(bytes != NULL);
    CHECK(vyre_ir_encode(program, bytes, *length, length, &err) == VYRE_OK);
    return bytes;
}

static int ascii(void *ctx, const char *text, size_t length)
{
    (void)ctx;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '\n' && (text[i] < 0x20 || text[i] > 0x7e)) return 1;
    return 0;
}

static void read_it(const struct ir_program *program)
{
    char path[128];
    uint32_t items = program->node_count + program->expr_count;
    CHECK(vyre_ir_print(program, ascii, NULL, NULL) == VYRE_OK);
    for (uint32_t id = 0; id < items && id < 64; id++) {
        vyre_ir_path(program, id, path, sizeof path);
        CHECK(strncmp(path, "entry[", 6) == 0);
    }
    vyre_ir_path(program, items, path, sizeof path);
    CHECK(path[0] == '\0');
}

static void dispatch(const struct ir_program *program)
{
    uint32_t grid[3];
    uint64_t *bytes = calloc(program->buffer_count + 1, sizeof *bytes);
    CHECK(bytes != NULL);
    for (uint32_t i = 0; i < program->buffer_count; i++)
        bytes[i] = vyre_ir_buffer_bytes(&program->buffers[i]);
    if (vyre_ir_grid(program, bytes, grid, NULL) == VYRE_OK)
        CHECK(grid[0] > 0 && grid[1] > 0 && grid[2] > 0);
    free(bytes);
}

static void decode(const uint8_t *data, size_t size)
{
    struct ir_program *program = NULL, *again = NULL;
    vyre_error err;
    vyre_status status = vyre_ir_decode(&memory, data, size, &program, &err);
    CHECK((status == VYRE_OK) == (program != NULL));
    if (status != VYRE_OK) {
        CHECK(err.status == status && err.message[0] != '\0' && err.fix[0] != '\0');
        return;
    }
    size_t first_length, second_length;
    uint8_t *first = encode(program, &first_length);
    CHECK(vyre_ir_decode(&memory, first, first_length, &again, &err) == VYRE_OK);
    uint8_t *second = encode(again, &second_length);
    CHECK(first_length == second_length && memcmp(first, second, first_length) == 0);
    read_it(program);
    dispatch(program);
    vyre_ir_program_free(program);
    vyre_ir_program_free(again);
    free(first);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CHECK(vyre_memory_init(&memory, NULL, NULL) == VYRE_OK);
    decode(data, size);
    if (size >= IR_HEADER_BYTES) {
        uint8_t *copy = malloc(size);
        CHECK(copy != NULL);
        memcpy(copy, data, size);
        memcpy(copy, "VYRE\4\0\4", 8);
        vyre_blake3(copy + IR_HEADER_BYTES, size - IR_HEADER_BYTES, copy + 8);
        decode(copy, size);
        free(copy);
    }
    CHECK(vyre_memory_live(&memory) == 0);
    return 0;
}
