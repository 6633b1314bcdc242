/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What of a program lies in a warp's room (warp_frame.h): for any program no part lies over another
 * or outside, nothing is turned away that there is a place for, and what the next workgroup of the
 * program needs comes first. Headers that nobody verified lead nowhere else than into the room.
 */
#include "device/chunk.h"
#include "device/warp_frame.h"
#include "tap.h"

static uint32_t below(uint64_t *state, uint32_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 33) % limit);
}

static struct vm_header some_program(uint64_t *state)
{
    struct vm_header program;
    memset(&program, 0, sizeof program);
    program.lanes = 1 + below(state, below(state, 4) ? 256 : VM_MAX_LANES);
    program.register_count = below(state, below(state, 4) ? 80 : VM_MAX_REGISTERS + 1);
    program.scalar_count = below(state, 200);
    program.level_count = below(state, 10);
    program.buffer_count = below(state, 12);
    program.code_count = 1 + below(state, 600);
    program.shared_bytes = below(state, 2) ? 16 * below(state, 1024) : 0;
    return program;
}

static uint32_t some_room(uint64_t *state)
{
    return 6144 + 128 * below(state, 300);
}

struct extent {
    uint64_t from, to;
};

/* Where everything in the room lies. Returns how many. */
static uint32_t extents(const struct dev_warp_layout *at, struct extent *extent)
{
    uint32_t count = 0;
    for (uint32_t part = 0; part < DEV_PARTS; part++) {
        if (at->near_at[part] == DEV_NONE) continue;
        extent[count].from = at->near_at[part];
        extent[count++].to = at->near_at[part] + at->bytes[part];
    }
    return count;
}

/* Parts apart from each other, at multiples of 16 bytes, within what is used, that in the room. */
static int apart(const struct dev_warp_layout *at, uint32_t room)
{
    struct extent extent[DEV_PARTS];
    uint32_t count = extents(at, extent);
    for (uint32_t i = 0; i < count; i++) {
        if (extent[i].from % 16 != 0 || extent[i].to > at->used) return 0;
        for (uint32_t k = 0; k < i; k++)
            if (extent[i].from < extent[k].to && extent[k].from < extent[i].to) return 0;
    }
    return at->used <= room;
}

/* Whether some registers lie in the room, and some do not. */
static int is_split(const struct dev_warp_layout *at)
{
    return at->near_registers != 0 && at->far_registers != 0;
}

/* Every register has one place; where one has none in the room there is none left. */
static int registers_placed(const struct vm_header *program, const struct dev_warp_layout *at,
                            uint32_t room)
{
    const int near = at->near_at[DEV_PART_REGISTERS] != DEV_NONE;
    const uint32_t kept = near ? at->near_registers : at->far_registers;
    return at->near_registers + at->far_registers == dev_row_count(program) &&
           near == (at->near_registers != 0) &&
           (at->far_registers == 0 || room - at->used < dev_row_bytes(program)) &&
           at->bytes[DEV_PART_REGISTERS] == kept * dev_row_bytes(program);
}

/* Bytes of the room up to the end of the code, if all of that lay there. */
static uint64_t up_to_code(const struct vm_header *program)
{
    uint64_t bytes = 0;
    for (uint32_t part = 0; part <= DEV_PART_CODE; part++)
        bytes += (dev_part_bytes(program, part) + 15) / 16 * 16;
    return bytes;
}

/* Code that is not in the room is too long for it, or leaves registers no place. Where it is there
 * is a place before it too, and the loop reads two behind it. */
static int code_placed(const struct vm_header *program, const struct dev_warp_layout *at,
                       uint32_t room)
{
    const uint64_t some = dev_row_bytes(program);
    const uint64_t all = dev_part_bytes(program, DEV_PART_REGISTERS);
    const int fits = up_to_code(program) + (all < some ? all : some) <= room;
    const uint64_t least = (1 + program->code_count + 2ull) * sizeof(struct dev_op);
    return (at->near_at[DEV_PART_CODE] != DEV_NONE) == fits && at->bytes[DEV_PART_CODE] >= least;
}

/* Bytes of the room that the parts before the registers take. */
static uint64_t up_to_registers(const struct vm_header *program, const struct dev_warp_layout *at)
{
    uint64_t bytes = 0;
    for (uint32_t part = 0; part < DEV_PART_REGISTERS; part++)
        if (at->near_at[part] != DEV_NONE) bytes += (dev_part_bytes(program, part) + 15) / 16 * 16;
    return bytes;
}

/* Workgroup memory that is not there has no place, or would take registers too much of theirs. */
static int shared_placed(const struct vm_header *program, const struct dev_warp_layout *at,
                         uint32_t room)
{
    const uint64_t bytes = program->shared_bytes;
    const int here = at->near_at[DEV_PART_SHARED] != DEV_NONE;
    const uint64_t rest = room - up_to_registers(program, at), row = dev_row_bytes(program);
    if (at->far_registers == 0) return here || bytes > room - at->used;
    if (row > rest) return here == (bytes <= rest);
    return here == (bytes <= room / 4 && bytes + row <= rest);
}

/* What a workgroup leaves to the next comes before what it does not. */
static int lasting_first(const struct dev_warp_layout *at)
{
    static const uint32_t passing[] = {DEV_PART_REGISTERS, DEV_PART_SHARED};
    for (uint32_t part = 0; part <= DEV_PART_CODE; part++)
        if (at->near_at[part] != DEV_NONE && at->near_at[part] + at->bytes[part] > at->lasting)
            return 0;
    for (uint32_t i = 0; i < 2; i++)
        if (at->near_at[passing[i]] < at->lasting) return 0; /* DEV_NONE is above all */
    return 1;
}

static void check_programs(void)
{
    uint64_t state = 1;
    uint32_t overlaps = 0, lost = 0, code = 0, shared = 0, lasting = 0, split = 0, whole = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        const struct vm_header program = some_program(&state);
        const uint32_t room = some_room(&state);
        const struct dev_warp_layout at = dev_warp_layout(&program, room);
        overlaps += !apart(&at, room);
        lost += !registers_placed(&program, &at, room);
        code += !code_placed(&program, &at, room);
        shared += !shared_placed(&program, &at, room);
        lasting += !lasting_first(&at);
        split += (uint32_t)is_split(&at);
        whole += (uint32_t)dev_layout_near(&at);
    }
    ok(split > 10000 && whole > 10000, "%u programs with some registers in the room, %u whole ones",
       split, whole);
    is_u64(overlaps, 0, "parts that lie over each other or outside");
    is_u64(lost, 0, "programs with a register too many or too few");
    is_u64(code, 0, "programs whose code was turned away without need");
    is_u64(shared, 0, "programs whose workgroup memory was");
    is_u64(lasting, 0, "programs that leave the next workgroup something behind their registers");
}

/* Where rows of a chunk lie there are only registers, for programs of the usual size. */
static void check_rows(void)
{
    const uint32_t room = 14464; /* of an H200 */
    struct vm_header program;
    memset(&program, 0, sizeof program);
    program.lanes = 256;
    program.scalar_count = program.code_count = 100;
    program.buffer_count = 4;
    uint32_t kept = 0;
    for (program.register_count = 16; program.register_count <= 64; program.register_count++) {
        const struct dev_warp_layout at = dev_warp_layout(&program, room);
        kept += is_split(&at) && at.lasting <= room - sizeof(struct dev_rows);
    }
    is_u64(kept, 64 - 16 + 1, "programs whose code outlives chunks of other slots");
}

/* Words that are large, or about to wrap, in any place. */
static void check_damaged(void)
{
    static const uint32_t odd[] = {0,           1,           31,         32,         33,
                                   0xFFFFFFFFu, 0xFFFFFFE1u, 0x80000000, 0x40000000, 0x20000000,
                                   0x7FFFFFFFu, 1024,        1025,       0x04000000, 0x02000000};
    uint64_t state = 2;
    uint32_t outside = 0, unsound = 0;
    for (uint32_t i = 0; i < 300000; i++) {
        struct vm_header program;
        uint32_t word[sizeof program / 4];
        for (uint32_t k = 0; k < sizeof word / 4; k++)
            word[k] = below(&state, 3) ? odd[below(&state, sizeof odd / sizeof *odd)]
                                       : below(&state, 0x7FFFFFFFu);
        memcpy(&program, word, sizeof program);
        const uint32_t room = below(&state, 20) ? some_room(&state) : 0;
        const struct dev_warp_layout at = dev_warp_layout(&program, room);
        outside += at.used > room;
        unsound += !dev_header_sound(&program, 1u << 20, 1u << 30, at.far_at[DEV_PARTS]);
    }
    is_u64(outside, 0, "damaged headers that go beyond the room");
    ok(unsound > 290000, "%u of 300000 are known to be damaged", unsound);
}

int main(void)
{
    check_programs();
    check_rows();
    check_damaged();
    return done();
}
