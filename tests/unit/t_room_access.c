/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loads and stores in a warp's room whose buffer is not of the elements that they are of, alone and
 * one after the other: code or bindings are no longer what was verified. Each must end as damaged
 * at its place and touch nothing: buffers end where memory ends, so one byte too far ends the test.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/resident.h"
#include "tap.h"

enum { ROOM = 16 << 10, FAR = 1 << 20, MOST_LANES = 256 };

static const struct access {
    uint16_t op;
    uint16_t bytes;
} accesses[] = {
    {VM_OP_LD8, 1},   {VM_OP_LD16, 2},   {VM_OP_LD32, 4},   {VM_OP_LDF32, 4},
    {VM_OP_LD64, 8},  {VM_OP_LD128, 16}, {VM_OP_ST8, 1},    {VM_OP_ST16, 2},
    {VM_OP_ST32, 4},  {VM_OP_STF32, 4},  {VM_OP_ST64, 8},   {VM_OP_ST128, 16},
    {VM_OP_ADDTO, 4}, {VM_OP_ATADD, 4},  {VM_OP_ATXCHG, 4}, {VM_OP_ATCAS, 4},
};

enum { ACCESSES = sizeof accesses / sizeof accesses[0], RUNS = ACCESSES * ACCESSES * 6 };

/* The program, as a device gets it. */
static struct {
    struct vm_header header;
    struct vm_insn code[4];
    struct vm_buffer buffer;
} block __attribute__((aligned(64)));

static struct dev_frame *room;
static unsigned char *far_away, *end_of_memory;
static struct dev_bindings *set;

static void *take(size_t bytes)
{
    void *memory = aligned_alloc(64, bytes);
    if (!memory) bail("out of memory");
    memset(memory, 0, bytes);
    return memory;
}

static void make_memory(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const int none = PROT_NONE, map = MAP_PRIVATE | MAP_ANONYMOUS;
    unsigned char *memory = mmap(NULL, 3 * page, none, map, -1, 0);
    if (memory == MAP_FAILED) bail("no memory");
    if (mprotect(memory + page, page, PROT_READ | PROT_WRITE) != 0) bail("mprotect");
    end_of_memory = memory + 2 * page;
    room = take(ROOM);
    far_away = take(FAR);
    set = take((sizeof *set + sizeof(struct dev_bound) + 63) / 64 * 64);
}

/* Where a lane's access goes: its own element, or for all of them the one behind the last, which a
 * scalar says. */
enum where { OWN, BEHIND, BEHIND_TO_SCALAR, WHERES };

static struct vm_insn access_insn(const struct access *access, enum where where, uint16_t number)
{
    struct vm_insn insn = {.op = access->op, .d = number, .b = number, .c = number};
    if (where != OWN) insn.a = VM_SCALAR;
    if (where == BEHIND_TO_SCALAR && access->op <= VM_OP_LD128) insn.d |= VM_SCALAR;
    return insn;
}

static uint16_t registers; /* many: some lie in device memory */

/* Two accesses of a buffer of elements of `stride` bytes, an element a lane. */
static void make_program(const struct access *first, const struct access *second, uint32_t stride,
                         uint32_t lanes, enum where where)
{
    struct vm_header *header = &block.header;
    const uint32_t bytes = (lanes * stride + 15) / 16 * 16;
    memset(&block, 0, sizeof block);
    header->bytes = sizeof block;
    header->workgroup[0] = header->lanes = header->stride = lanes;
    header->workgroup[1] = header->workgroup[2] = 1;
    header->code_count = 4;
    header->register_count = registers;
    header->scalar_count = registers;
    header->buffer_count = header->view_count = 1;
    header->code_offset = offsetof(__typeof__(block), code);
    header->constant_offset = sizeof *header;
    header->buffer_offset = offsetof(__typeof__(block), buffer);
    header->serial = 1;
    block.code[0] = (struct vm_insn){.op = VM_OP_GLOBALID};
    if (where != OWN) block.code[0] = (struct vm_insn){.op = VM_OP_BUFLEN, .d = VM_SCALAR};
    block.code[1] = access_insn(first, where, registers - 28);
    block.code[2] = access_insn(second, where, registers - 24);
    block.code[3] = (struct vm_insn){.op = VM_OP_END, .c = 1};
    block.buffer =
        (struct vm_buffer){.flags = VM_BUFFER_READ | VM_BUFFER_WRITTEN | VM_BUFFER_ATOMIC,
                           .stride = (uint16_t)stride,
                           .bits = (uint16_t)(8 * stride),
                           .bytes = bytes};
    set->count = 1;
    set->bound[0] = (struct dev_bound){.address = (uintptr_t)(end_of_memory - bytes),
                                       .bytes = bytes,
                                       .handle = 1,
                                       .rights = VYRE_RIGHT_READ | VYRE_RIGHT_WRITE};
}

/* Whether the run ends as it should. */
static bool run(const struct access *first, const struct access *second, uint32_t stride,
                uint32_t lanes, enum where where)
{
    static const uint32_t grid[3] = {1, 1, 1};
    static struct dev_run_args args;
    make_program(first, second, stride, lanes, where);
    const struct dev_block program = {&block.header, sizeof block, ROOM, FAR};
    memset(room, 0, ROOM);
    if (!dev_warp_prepare(room, &program, far_away)) return false;
    dev_warp_bind(room, &args, set);
    dev_warp_begin(room, 0, grid);
    room->limit = 100000;
    const uint32_t end = dev_warp_interpret(room);
    const uint32_t bad = first->bytes != stride ? 1 : second->bytes != stride ? 2 : 0;
    if (bad != 0)
        return end == DEV_FRAME_FAULT && room->fault == VYRE_FAULT_DAMAGED && room->fault_pc == bad;
    /* ADDTO is a load and a store. */
    const uint32_t outside = 2 + (first->op == VM_OP_ADDTO) + (second->op == VM_OP_ADDTO);
    return end == DEV_FRAME_ENDED && room->out_of_bounds == (where == OWN ? 0 : outside * lanes);
}

static void check(void)
{
    static const uint32_t lanes[] = {1, 4, 32, 33, 128, MOST_LANES};
    for (uint32_t stride = 1; stride <= 16; stride *= 2) {
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < RUNS; i++) {
            const struct access *first = &accesses[i % ACCESSES];
            const struct access *second = &accesses[i / ACCESSES % ACCESSES];
            const uint32_t width = lanes[i / ACCESSES / ACCESSES];
            for (uint32_t where = 0; where < WHERES; where++)
                wrong += !run(first, second, stride, width, (enum where)where);
        }
        is_u64(wrong, 0, "elements of %u bytes, %u registers: %u runs of two accesses", stride,
               registers, WHERES * RUNS);
    }
}

int main(void)
{
    make_memory();
    registers = 32;
    check();
    registers = 300;
    check();
    return done();
}
