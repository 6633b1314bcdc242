/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Buffers, programs and binding sets in a real vyre-host: a program that really runs, and all that
 * the host must not let the device see. Argument: the path of vyre-host.
 */
#include "kernels.h"

#include "host_test.h"
#include "runtime/internal.h"

enum { PROGRAM_OPCODE = 0x1000, H_BUFFER = 0x10001, H_PROGRAM = 0x10002, H_SET = 0x10003 };

static vyre_error err;

static uint32_t install(struct peer *peer, uint32_t handle, uint32_t kind, uint32_t number,
                        uint64_t bytes)
{
    uint32_t args[VYRE_SLOT_ARGS] = {handle, kind, 1, kind == DEV_BUFFER ? 3 : 0, 0, number};
    args[6] = (uint32_t)bytes;
    args[8] = kind == DEV_PROGRAM ? PROGRAM_OPCODE : 0;
    return peer_call(peer, DEV_SYS_INSTALL, args, VYRE_SLOT_ARGS);
}

/* Installs a binding set that is made of these. */
static uint32_t bind_set(struct peer *peer, uint32_t program, uint32_t count, uint32_t rights,
                         uint32_t handle)
{
    uint64_t room[(sizeof(struct dev_bindings) + 2 * sizeof(struct dev_bound)) / 8] = {0};
    struct dev_bindings *set = (void *)room;
    set->program = program;
    set->count = count;
    set->bound[0] = (struct dev_bound){1, 1, handle, rights};
    int fd = memory_of(room, sizeof room);
    uint32_t bytes = (uint32_t)(sizeof *set + count * sizeof set->bound[0]);
    vyre_status status = peer_block(peer, 30, VYRE_BLOCK_BINDINGS, bytes, fd, &err);
    close(fd);
    if (status) return DEV_NONE;
    uint32_t result = install(peer, H_SET, DEV_BINDINGS, 30, 0);
    if (result) must(peer_forget(peer, 30, &err), &err);
    return result;
}

static void try_sets(struct peer *peer, struct peer_queue *queue)
{
    const uint32_t *entry, run[5] = {2, 1, 1, H_SET, 0};
    ok(bind_set(peer, H_PROGRAM, 0, 3, H_BUFFER) != 0, "a set with too few buffers");
    ok(bind_set(peer, H_PROGRAM, 2, 3, H_BUFFER) != 0, "a set with too many buffers");
    ok(bind_set(peer, H_PROGRAM, 1, 3, 0) != 0, "a set without the buffer");
    ok(bind_set(peer, H_PROGRAM, 1, 1, H_BUFFER) != 0, "a set with too few rights");
    ok(bind_set(peer, H_PROGRAM, 1, 3, 0x10004) != 0, "a set with too small a buffer");
    ok(bind_set(peer, H_PROGRAM, 1, 3, 0x10005) != 0, "a set with no buffer");
    is_u64(bind_set(peer, H_PROGRAM, 1, 3, H_BUFFER), 0, "a binding set");
    if (!peer_run(peer, queue, PROGRAM_OPCODE, run, 5, &entry)) bail("the program hangs");
    is_u64(entry[VYRE_COMPLETION_STATUS] & 0xFFFF, VYRE_SLOT_DONE, "the program runs");
    struct host_copy copy = {10, 0, 256};
    works(peer_ask(peer, HOST_READ, &copy, sizeof copy, &err), &err, "its buffer is read");
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 64; i++)
        wrong += ((const uint32_t *)peer->staging.base)[i] != i + 100;
    is_u64(wrong, 0, "with what it wrote");
}

/* Drops: TAKEN, then ANSWER, then the blocks are free. */
static void try_drops(struct peer *peer)
{
    static const uint32_t handles[3] = {H_SET, H_BUFFER, H_PROGRAM}, blocks[3] = {30, 10, 20};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t taken, stale[1] = {handles[i] + 0x10000};
        refused(peer_forget(peer, blocks[i], &err), VYRE_E_BUSY, &err, "block %u is in use",
                blocks[i]);
        ok(peer_call(peer, DEV_SYS_DROP, stale, 1) != 0, "an old handle is not dropped");
        peer_slot(peer, DEV_SYS_DROP, &handles[i], 1);
        is_u64(peer_answer(peer, &taken), 0, "handle 0x%x is dropped", handles[i]);
        is_u64(taken, 1, "after it was taken");
        ok(peer_call(peer, DEV_SYS_DROP, &handles[i], 1) != 0, "once");
        works(peer_forget(peer, blocks[i], &err), &err, "then its block can go");
    }
}

static void try_bytecode(struct peer *peer, const struct vm_header *code)
{
    struct vm_header *bad = malloc(code->bytes);
    uint32_t accepted = 0;
    uint64_t state = 1;
    for (uint32_t i = 0; i < 200; i++) {
        memcpy(bad, code, code->bytes);
        ((uint8_t *)bad)[random_below(&state, code->bytes)] ^= (uint8_t)(1 << (i % 8));
        int fd = memory_of(bad, code->bytes);
        vyre_status status = peer_block(peer, 50, VYRE_BLOCK_PROGRAM, code->bytes, fd, &err);
        close(fd);
        if (status == VYRE_E_INTERNAL) bail("no answer to damaged bytecode: %s", err.message);
        if (!status) {
            accepted++;
            must(peer_forget(peer, 50, &err), &err);
        }
    }
    ok(accepted < 200, "damaged bytecode is refused (%u of 200 changes do no harm)", accepted);
    int fd = memory_of(code, code->bytes);
    refused(peer_block(peer, 50, VYRE_BLOCK_PROGRAM, code->bytes - 4, fd, &err), VYRE_E_VM_INVALID,
            &err, "cut bytecode");
    refused(peer_block(peer, 50, VYRE_BLOCK_PROGRAM, 8, fd, &err), VYRE_E_VM_INVALID, &err,
            "the beginning of bytecode");
    refused(peer_block(peer, 50, VYRE_BLOCK_BINDINGS, code->bytes, fd, &err), VYRE_E_SIZE, &err,
            "bytecode for a binding set");
    close(fd);
    free(bad);
}

/* A set whose program is gone: no other program may come under that handle while it is there. */
static void try_old_set(struct peer *peer, uint32_t bytes)
{
    const uint32_t handle[1] = {H_SET};
    is_u64(bind_set(peer, H_PROGRAM, 1, 3, H_BUFFER), 0, "a set for a program that is not there");
    is_u64(install(peer, H_PROGRAM, DEV_PROGRAM, 20, bytes), VYRE_FAULT_BAD_HANDLE,
           "keeps the handle from others");
    is_u64(peer_call(peer, DEV_SYS_DROP, handle, 1), 0, "until it is dropped");
    must(peer_forget(peer, 30, &err), &err);
}

/* What can be no handle, or not yet. */
static void try_handles(struct peer *peer, uint32_t bytes)
{
    is_u64(install(peer, H_PROGRAM, DEV_PROGRAM, 20, bytes), VYRE_FAULT_BAD_HANDLE,
           "a program before there are frames");
    uint64_t frames = 4 * 65536;
    must(peer_block(peer, 40, VYRE_BLOCK_FRAMES, frames - 1, -1, &err), &err);
    must(peer_block(peer, 41, VYRE_BLOCK_FRAMES, frames, -1, &err), &err);
    uint32_t where[2] = {0, 40};
    ok(peer_call(peer, DEV_SYS_FRAMES, where, 2) != 0, "frames that are too small");
    where[1] = 41;
    is_u64(peer_call(peer, DEV_SYS_FRAMES, where, 2), 0, "frames");
    ok(peer_call(peer, DEV_SYS_FRAMES, where, 2) != 0, "once");
    ok(install(peer, H_PROGRAM, DEV_PROGRAM, 10, 256) != 0, "a buffer is no program");
    ok(install(peer, H_PROGRAM, DEV_PROGRAM, 20, 64) != 0, "a program of another size");
    ok(install(peer, H_BUFFER, DEV_BUFFER, 20, 64) != 0, "a program is no buffer");
    ok(install(peer, H_BUFFER, DEV_BUFFER, 10, 257) != 0, "a buffer larger than its block");
    ok(install(peer, 0x10010, DEV_BUFFER, 10, 256) != 0, "a handle past the last");
    ok(install(peer, H_BUFFER, DEV_OPERATION, 10, 0) != 0, "a function that nobody linked");
    ok(install(peer, H_BUFFER, 0, 10, 256) != 0 && install(peer, H_BUFFER, 5, 10, 256) != 0,
       "handles of no kind");
}

static void try_modules(struct peer *peer, int fd, uint32_t bytes)
{
    struct host_module module = {bytes, "function"};
    refused(peer_ask_with(peer, HOST_MODULE, &module, sizeof module, fd, &err), VYRE_E_UNSUPPORTED,
            &err, "CUDA code on the CPU");
    memset(module.function, 'x', sizeof module.function);
    refused(peer_ask_with(peer, HOST_MODULE, &module, sizeof module, fd, &err), VYRE_E_RANGE, &err,
            "a function's name without an end");
}

static void try_program(const char *path)
{
    struct peer peer = peer_ready(path);
    struct peer_queue queue;
    struct code code = code_fill(64, 100);
    vyre_kernel *kernel;
    must(vyre_kernel_read(code.bytes, code.length, NULL, &kernel, &err), &err);
    const struct vm_header *header = kernel->code->header;
    must(peer_queue_open(&peer, &queue, 1, 1) != 0, &err);
    try_bytecode(&peer, header);
    int fd = memory_of(header, header->bytes);
    works(peer_block(&peer, 20, VYRE_BLOCK_PROGRAM, header->bytes, fd, &err), &err, "bytecode");
    works(peer_block(&peer, 10, VYRE_BLOCK_DEVICE, 256, -1, &err), &err, "a buffer");
    works(peer_block(&peer, 11, VYRE_BLOCK_DEVICE, 255, -1, &err), &err, "a smaller one");
    struct host_copy copy = {20, 0, 4};
    refused(peer_ask(&peer, HOST_WRITE, &copy, sizeof copy, &err), VYRE_E_NOT_PERMITTED, &err,
            "bytecode cannot be written");
    try_handles(&peer, header->bytes);
    is_u64(install(&peer, H_BUFFER, DEV_BUFFER, 10, 256), 0, "a buffer's handle");
    is_u64(install(&peer, 0x10004, DEV_BUFFER, 11, 255), 0, "another one's");
    ok(install(&peer, H_BUFFER, DEV_BUFFER, 10, 256) != 0, "not twice");
    try_old_set(&peer, header->bytes);
    is_u64(install(&peer, H_PROGRAM, DEV_PROGRAM, 20, header->bytes), 0, "a program's handle");
    try_sets(&peer, &queue);
    try_drops(&peer);
    try_modules(&peer, fd, header->bytes);
    close(fd);
    vyre_kernel_free(kernel);
    code_free(&code);
    vyre_memory_unmap(&peer.memory, &queue.rings);
    ok(ended_with(peer_end(&peer), 0), "it ends");
}

int main(int argc, char **argv)
{
    if (argc < 2) bail("usage: t_host_program <path of vyre-host>");
    unsetenv("VYRE_HOST_TEST");
    uint32_t before = count_descriptors();
    try_program(argv[1]);
    is_u64(count_descriptors(), before, "nothing is left open here");
    return done();
}
