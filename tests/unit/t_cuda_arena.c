/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The arena of small pieces of device memory: no two pieces overlap, what is given back is found
 * again, empty granules are handed out, and nothing of the books is lost.
 */
#include "support.h"

#include "backend/cuda/arena.h"

#define PIECES 512u

struct piece {
    uint64_t address;
    size_t bytes;
};

static struct vyre_memory memory;

static bool overlap(const struct piece *a, const struct piece *b)
{
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static void test_simple(void)
{
    struct vyre_arena arena = {&memory, NULL};
    vyre_error err;
    is_u64(vyre_arena_take(&arena, 100), 0, "an empty arena has no piece");
    must(vyre_arena_add(&arena, 0x10000000, &err), &err);
    uint64_t a = vyre_arena_take(&arena, 1), b = vyre_arena_take(&arena, 257);
    uint64_t c = vyre_arena_take(&arena, 256);
    is_u64(a, 0x10000000, "the first piece begins the granule");
    is_u64(b, a + 256, "the second follows");
    is_u64(c, b + 512, "pieces are whole units");
    is_u64(vyre_arena_give(&arena, b, 257), 0, "a granule with pieces is kept");
    is_u64(vyre_arena_take(&arena, 512), b, "first fit");
    is_u64(vyre_arena_take(&arena, VYRE_ARENA_GRANULE), 0, "no room for a whole granule");
    must(vyre_arena_add(&arena, 0x20000000, &err), &err);
    is_u64(vyre_arena_take(&arena, VYRE_ARENA_GRANULE), 0x20000000, "a whole granule");
    is_u64(vyre_arena_give(&arena, 0x20000000, VYRE_ARENA_GRANULE), 0x20000000,
           "an empty granule is handed out");
    vyre_arena_give(&arena, a, 1);
    vyre_arena_give(&arena, b, 512);
    is_u64(vyre_arena_give(&arena, c, 256), 0, "the last granule is kept");
    is_u64(vyre_arena_empty(&arena), 0x10000000, "until the end");
    is_u64(vyre_arena_empty(&arena), 0, "then there is none");
}

static void test_random(uint64_t seed)
{
    struct vyre_arena arena = {&memory, NULL};
    struct piece pieces[PIECES] = {{0, 0}};
    uint64_t state = seed, next = 0x40000000;
    uint32_t granules = 0, overlaps = 0, outside = 0;
    vyre_error err;
    for (uint32_t step = 0; step < 20000; step++) {
        struct piece *piece = &pieces[random_below(&state, PIECES)];
        if (piece->address) {
            if (vyre_arena_give(&arena, piece->address, piece->bytes)) granules--;
            piece->address = 0;
            continue;
        }
        piece->bytes = 1 + random_below(&state, random_below(&state, 8) ? 4096 : 1u << 20);
        piece->address = vyre_arena_take(&arena, piece->bytes);
        if (!piece->address) {
            must(vyre_arena_add(&arena, next, &err), &err);
            next += 2 * VYRE_ARENA_GRANULE;
            granules++;
            piece->address = vyre_arena_take(&arena, piece->bytes);
        }
        if (piece->address < 0x40000000 || piece->address % VYRE_ARENA_UNIT) outside++;
        for (uint32_t i = 0; i < PIECES; i++)
            if (&pieces[i] != piece && pieces[i].address && overlap(piece, &pieces[i])) overlaps++;
    }
    is_u64(overlaps, 0, "no two pieces overlap");
    is_u64(outside, 0, "every piece is aligned and inside a granule");
    for (uint32_t i = 0; i < PIECES; i++)
        if (pieces[i].address && vyre_arena_give(&arena, pieces[i].address, pieces[i].bytes))
            granules--;
    is_u64(granules, 1, "all granules but the last were handed out");
    ok(vyre_arena_empty(&arena) != 0, "the last at the end");
}

int main(int argc, char **argv)
{
    uint64_t seed = tap_seed(argc, argv);
    vyre_memory_init(&memory, NULL, NULL);
    test_simple();
    test_random(seed);
    is_u64(vyre_memory_live(&memory), 0, "no books are left");
    return done();
}
