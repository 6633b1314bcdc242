/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What makes a vyre-host one that damages programs: linked with host_main.c and with the linker's
 * --wrap for the two functions below, so no other vyre-host has any of it. After a block of
 * bytecode has passed the verifier, some bits of the copy that goes to the device are flipped; the
 * copy that the host itself goes by stays as it was verified.
 *
 * VYRE_TEST_MUTATE is the seed; without it nothing is flipped. VYRE_TEST_MUTATE_PARTS says where:
 * `code` is the instructions and constants, `all`, the default, the header and the table of buffers
 * too. One program in eight stays whole.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/host_server.h"
#include "vm/vm.h"

/* The names are the linker's. */
vyre_status __real_host_server_init(struct host_server *server, int socket,
                                    const vyre_allocator *hooks, vyre_error *err);
vyre_status __wrap_host_server_init(struct host_server *server, int socket,
                                    const vyre_allocator *hooks, vyre_error *err);
vyre_status __real_vyre_vm_verify(struct vyre_memory *memory, const struct vm_header *block,
                                  size_t bytes, vyre_error *err);
vyre_status __wrap_vyre_vm_verify(struct vyre_memory *memory, const struct vm_header *block,
                                  size_t bytes, vyre_error *err);

static struct host_server *server_here;
static const struct vyre_port *port_before;
static struct vyre_port port_now;
static uint64_t state;
static int everywhere;

static uint32_t below(uint32_t limit)
{
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return limit ? (uint32_t)((z ^ (z >> 31)) % limit) : 0;
}

static void flip(unsigned char *block, uint32_t from, uint64_t bytes)
{
    if (bytes == 0) return;
    uint32_t bit = below((uint32_t)bytes * 8);
    block[from + bit / 8] ^= (unsigned char)(1u << bit % 8);
}

static void mutate(unsigned char *block, const struct vm_header *as_it_was)
{
    uint32_t flips = below(8) == 0 ? 0 : 1 + below(4) * below(2);
    for (uint32_t i = 0; i < flips; i++) {
        uint32_t part = below(16);
        if (part == 0 && everywhere)
            flip(block, 0, sizeof *as_it_was);
        else if (part < 3 && everywhere)
            flip(block, as_it_was->buffer_offset,
                 (uint64_t)as_it_was->buffer_count * sizeof(struct vm_buffer));
        else if (part < 5)
            flip(block, as_it_was->constant_offset, 4ull * as_it_was->constant_count);
        else
            flip(block, as_it_was->code_offset,
                 (uint64_t)as_it_was->code_count * sizeof(struct vm_insn));
    }
}

static vyre_status make(vyre *runtime, struct vyre_block *block, const void *contents,
                        vyre_error *err)
{
    if (block->kind != VYRE_BLOCK_PROGRAM || !contents)
        return port_before->block_make(runtime, block, contents, err);
    unsigned char *copy = malloc(block->bytes);
    if (!copy) abort();
    memcpy(copy, contents, block->bytes);
    mutate(copy, contents);
    vyre_status status = port_before->block_make(runtime, block, copy, err);
    free(copy);
    return status;
}

vyre_status __wrap_host_server_init(struct host_server *server, int socket,
                                    const vyre_allocator *hooks, vyre_error *err)
{
    server_here = server;
    return __real_host_server_init(server, socket, hooks, err);
}

/* The runtime is there before its first program: from then on its blocks are made here. */
vyre_status __wrap_vyre_vm_verify(struct vyre_memory *memory, const struct vm_header *block,
                                  size_t bytes, vyre_error *err)
{
    const char *seed = getenv("VYRE_TEST_MUTATE"), *parts = getenv("VYRE_TEST_MUTATE_PARTS");
    if (seed && !port_before && server_here && server_here->core) {
        state = strtoull(seed, NULL, 0);
        everywhere = !parts || strcmp(parts, "code") != 0;
        port_before = server_here->core->port;
        port_now = *port_before;
        port_now.block_make = make;
        server_here->core->port = &port_now;
    }
    return __real_vyre_vm_verify(memory, block, bytes, err);
}
