/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The parts of the desk (desk.h), called by hand: which words of a slot the poller may pass over,
 * which warps are aides, and a room that is made ready for a program that changed after the poller
 * had looked at it.
 */
#include "resident_rig.h"

enum { ROOM = DEV_ROOM_LEAST, LANES = 64 };

/* A block of bytecode: its header, and one instruction. */
struct block {
    struct vm_header header;
    struct vm_insn code[1];
};

static struct block some_block(uint32_t registers)
{
    struct block block;
    memset(&block, 0, sizeof block);
    block.header.lanes = block.header.workgroup[0] = LANES;
    block.header.workgroup[1] = block.header.workgroup[2] = 1;
    block.header.register_count = registers;
    block.header.code_count = 1;
    block.header.code_offset = block.header.constant_offset = block.header.buffer_offset =
        (uint32_t)offsetof(struct block, code);
    block.header.serial = 7;
    block.code[0].op = VM_OP_END;
    return block;
}

/* An aide has no frame in device memory: what does not fit its room is not run. */
static void check_room(void)
{
    struct dev_frame *frame = aligned_alloc(64, ROOM);
    uint32_t fits = 0, refused = 0;
    if (!frame) bail("out of memory");
    for (uint32_t registers = 1; registers <= 64; registers++) {
        struct block code = some_block(registers);
        struct dev_block block = {&code.header, sizeof code, ROOM, 1u << 20};
        memset(frame, 0, ROOM);
        if (dev_warp_prepare(frame, &block, NULL))
            fits += frame->quick != 0 && frame->far_parts == 0;
        else
            refused += !dev_desk_fits(&code.header, ROOM) && frame->serial == 0;
    }
    ok(fits > 0 && refused > 0 && fits + refused == 64,
       "%u programs fit a room that is all there is, %u are refused", fits, refused);
    free(frame);
}

static void check_numbers(void)
{
    uint32_t wrong = 0;
    for (uint32_t warps = 1; warps <= DEV_AIDES + 1; warps *= 2) {
        uint32_t seen = 0;
        for (uint32_t warp = 0; warp < 4 * warps; warp++) {
            uint32_t aide = dev_aide_number(warp, warps);
            if (aide >= DEV_AIDES) continue;
            wrong += warp == 0 || warp >= warps || aide >= warps - 1 || (seen >> aide & 1);
            seen |= 1u << aide;
        }
        wrong += seen != (1u << (warps - 1)) - 1;
    }
    is_u64(wrong, 0, "each warp beside the poller is one aide, and no other is");
}

static void check_words(void)
{
    uint32_t wrong = 0;
    for (uint32_t word = 0; word < VYRE_SLOT_WORDS; word++) {
        uint64_t half = dev_desk_ignores(word / 2) >> (word % 2 * 32) & 0xFFFFFFFFu;
        int free_to_change = word == VYRE_SLOT_TENANT || word >= VYRE_SLOT_ARG0 + DEV_ARG_SCALARS;
        wrong += half != (free_to_change ? 0xFFFFFFFFu : 0);
    }
    is_u64(wrong, 0, "a slot may differ from the last one in its seal and its scalars");
}

int main(void)
{
    check_room();
    check_numbers();
    check_words();
    return done();
}
