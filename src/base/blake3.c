/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * BLAKE3: chunks of 1,024 bytes are the leaves of a binary tree whose left subtrees are always
 * whole powers of two. Subtrees of up to 64 chunks are hashed level by level with as many lanes as
 * the processor has; what does not fill the lanes goes one by one.
 *
 * The invariant of a running hash: the stack holds one digest for every bit that is set in
 * `chunks`, and at least one byte follows them, in `chunk` or still to come; so nothing on the
 * stack can turn out to be the root.
 */
#include "base/blake3.h"

#include <string.h>

#define BLOCK       64u
#define CHUNK_START 1u
#define CHUNK_END   2u
#define PARENT      4u
#define ROOT        8u
#define SUBTREE     64u /* chunks hashed at once at most */

/* The rounds are unrolled and every index in them is constant: checks of them find nothing, and
 * take a compiler a minute. */
#define UNCHECKED     __attribute__((no_sanitize("undefined")))
#define ALWAYS_INLINE UNCHECKED __attribute__((always_inline)) static inline

static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

/* Which word of the block goes where, for each of the seven rounds. */
static const uint8_t schedule[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},
    {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},
    {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

struct mix_at {
    uint8_t a, b, c, d;
};

/* What all inputs hashed side by side have in common. */
struct wide_job {
    size_t blocks;     /* in each input */
    uint32_t flags;    /* of every block */
    uint32_t counting; /* chunks: numbered, with flags on the first and last block */
};

struct wide_out {
    uint8_t *out;
    uint64_t counter; /* of the first chunk */
};

static const struct wide_job chunk_job = {VYRE_BLAKE3_CHUNK / BLOCK, 0, 1};
static const struct wide_job parent_job = {1, PARENT, 0};

ALWAYS_INLINE uint32_t load(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

ALWAYS_INLINE void store(uint8_t *bytes, uint32_t word)
{
    bytes[0] = (uint8_t)word;
    bytes[1] = (uint8_t)(word >> 8);
    bytes[2] = (uint8_t)(word >> 16);
    bytes[3] = (uint8_t)(word >> 24);
}

/* One block; `cv` goes in and out. */
struct block_tail {
    uint64_t counter;
    uint32_t length;
    uint32_t flags;
};

ALWAYS_INLINE uint32_t turn(uint32_t word, uint32_t by)
{
    return word >> by | word << (32 - by);
}

ALWAYS_INLINE void mix(uint32_t *v, const struct mix_at at, uint32_t x, uint32_t y)
{
    v[at.a] += v[at.b] + x;
    v[at.d] = turn(v[at.d] ^ v[at.a], 16);
    v[at.c] += v[at.d];
    v[at.b] = turn(v[at.b] ^ v[at.c], 12);
    v[at.a] += v[at.b] + y;
    v[at.d] = turn(v[at.d] ^ v[at.a], 8);
    v[at.c] += v[at.d];
    v[at.b] = turn(v[at.b] ^ v[at.c], 7);
}

ALWAYS_INLINE void mix_round(uint32_t *v, const uint32_t *m, const uint8_t *s)
{
    mix(v, (struct mix_at){0, 4, 8, 12}, m[s[0]], m[s[1]]);
    mix(v, (struct mix_at){1, 5, 9, 13}, m[s[2]], m[s[3]]);
    mix(v, (struct mix_at){2, 6, 10, 14}, m[s[4]], m[s[5]]);
    mix(v, (struct mix_at){3, 7, 11, 15}, m[s[6]], m[s[7]]);
    mix(v, (struct mix_at){0, 5, 10, 15}, m[s[8]], m[s[9]]);
    mix(v, (struct mix_at){1, 6, 11, 12}, m[s[10]], m[s[11]]);
    mix(v, (struct mix_at){2, 7, 8, 13}, m[s[12]], m[s[13]]);
    mix(v, (struct mix_at){3, 4, 9, 14}, m[s[14]], m[s[15]]);
}

UNCHECKED static void compress(uint32_t cv[8], const uint8_t block[BLOCK],
                               const struct block_tail *tail)
{
    uint32_t m[16];
    for (size_t i = 0; i < 16; i++)
        m[i] = load(block + 4 * i);
    uint32_t v[16] = {cv[0],
                      cv[1],
                      cv[2],
                      cv[3],
                      cv[4],
                      cv[5],
                      cv[6],
                      cv[7],
                      start[0],
                      start[1],
                      start[2],
                      start[3],
                      (uint32_t)tail->counter,
                      (uint32_t)(tail->counter >> 32),
                      tail->length,
                      tail->flags};
    mix_round(v, m, schedule[0]);
    mix_round(v, m, schedule[1]);
    mix_round(v, m, schedule[2]);
    mix_round(v, m, schedule[3]);
    mix_round(v, m, schedule[4]);
    mix_round(v, m, schedule[5]);
    mix_round(v, m, schedule[6]);
    for (size_t i = 0; i < 8; i++)
        cv[i] = v[i] ^ v[8 + i];
}

static void write_cv(const uint32_t cv[8], uint8_t *out)
{
    for (size_t i = 0; i < 8; i++)
        store(out + 4 * i, cv[i]);
}

/* One chunk of up to 1,024 bytes, also an empty one. */
static void hash_chunk(const uint8_t *bytes, size_t length, const struct block_tail *how,
                       uint8_t *out)
{
    uint32_t cv[8];
    memcpy(cv, start, sizeof cv);
    struct block_tail tail = {how->counter, BLOCK, CHUNK_START};
    for (; length > BLOCK; length -= BLOCK, bytes += BLOCK) {
        compress(cv, bytes, &tail);
        tail.flags = 0;
    }
    uint8_t last[BLOCK] = {0};
    if (length) memcpy(last, bytes, length);
    tail.length = (uint32_t)length;
    tail.flags |= CHUNK_END | how->flags;
    compress(cv, last, &tail);
    write_cv(cv, out);
}

/* The parent of two digests that lie side by side; `out` may be `pair`. */
static void hash_parent(const uint8_t *pair, uint32_t flags, uint8_t *out)
{
    uint32_t cv[8];
    memcpy(cv, start, sizeof cv);
    compress(cv, pair, &(struct block_tail){0, BLOCK, PARENT | flags});
    write_cv(cv, out);
}

/* The widths
 * --------------------------------------------------------------------------------------------- */

#define LANES      4
#define LANES_NAME wide_4
#define LANES_TARGET
#include "base/blake3_lanes.h"

#if defined(__x86_64__)
#    define LANES        8
#    define LANES_NAME   wide_8
#    define LANES_TARGET __attribute__((target("avx2")))
#    include "base/blake3_lanes.h"
#    define LANES        16
#    define LANES_NAME   wide_16
#    define LANES_TARGET __attribute__((target("avx512f,avx512vl")))
#    include "base/blake3_lanes.h"
#endif

/* `count` inputs that lie one after the other; their digests too. The lanes that the processor has,
 * the widest first; the narrow ones take what the wide ones leave. */
static size_t hash_wide(const struct wide_job *job, const uint8_t *in, size_t count,
                        struct wide_out at)
{
    size_t stride = job->blocks * BLOCK, i = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        for (; i + 16 <= count; i += 16)
            wide_16(job, in + i * stride, at.counter + i, at.out + i * VYRE_BLAKE3_BYTES);
    if (__builtin_cpu_supports("avx2"))
        for (; i + 8 <= count; i += 8)
            wide_8(job, in + i * stride, at.counter + i, at.out + i * VYRE_BLAKE3_BYTES);
#endif
    for (; i + 4 <= count; i += 4)
        wide_4(job, in + i * stride, at.counter + i, at.out + i * VYRE_BLAKE3_BYTES);
    return i;
}

/* The tree
 * --------------------------------------------------------------------------------------------- */

/* The digest of `count` whole chunks, a power of two up to SUBTREE, that are not the root. */
static void hash_subtree(const uint8_t *bytes, uint64_t counter, size_t count, uint8_t *out)
{
    uint8_t cvs[SUBTREE * VYRE_BLAKE3_BYTES];
    size_t i = hash_wide(&chunk_job, bytes, count, (struct wide_out){cvs, counter});
    for (; i < count; i++) {
        struct block_tail how = {counter + i, 0, 0};
        hash_chunk(bytes + i * VYRE_BLAKE3_CHUNK, VYRE_BLAKE3_CHUNK, &how,
                   cvs + i * VYRE_BLAKE3_BYTES);
    }
    /* Each level is written over the one below it, never past what has been read. */
    for (; count > 1; count /= 2) {
        i = hash_wide(&parent_job, cvs, count / 2, (struct wide_out){cvs, 0});
        for (; i < count / 2; i++)
            hash_parent(cvs + i * BLOCK, 0, cvs + i * VYRE_BLAKE3_BYTES);
    }
    memcpy(out, cvs, VYRE_BLAKE3_BYTES);
}

/* Puts a subtree of `count` chunks on the stack, and joins subtrees of equal size. */
static void push(struct vyre_blake3 *hash, const uint8_t *cv, size_t count)
{
    memcpy(hash->stack[hash->levels++], cv, VYRE_BLAKE3_BYTES);
    hash->chunks += count;
    for (uint64_t total = hash->chunks / count; total % 2 == 0; total /= 2) {
        hash->levels--;
        hash_parent(hash->stack[hash->levels - 1], 0, hash->stack[hash->levels - 1]);
    }
}

/* The largest subtree that may begin at the next chunk and has bytes after it. */
static size_t subtree_size(uint64_t chunks, size_t length)
{
    size_t count = SUBTREE;
    while (count > 1 && (chunks % count != 0 || count * VYRE_BLAKE3_CHUNK >= length))
        count /= 2;
    return count;
}

void vyre_blake3_init(struct vyre_blake3 *hash)
{
    hash->chunks = 0;
    hash->held = 0;
    hash->levels = 0;
}

void vyre_blake3_update(struct vyre_blake3 *hash, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint8_t cv[VYRE_BLAKE3_BYTES];
    while (length > 0) {
        if (hash->held == VYRE_BLAKE3_CHUNK) {
            hash_subtree(hash->chunk, hash->chunks, 1, cv);
            push(hash, cv, 1);
            hash->held = 0;
        }
        if (hash->held == 0 && length > VYRE_BLAKE3_CHUNK) {
            size_t count = subtree_size(hash->chunks, length);
            hash_subtree(at, hash->chunks, count, cv);
            push(hash, cv, count);
            at += count * VYRE_BLAKE3_CHUNK;
            length -= count * VYRE_BLAKE3_CHUNK;
            continue;
        }
        size_t take = VYRE_BLAKE3_CHUNK - hash->held;
        if (take > length) take = length;
        memcpy(hash->chunk + hash->held, at, take);
        hash->held += (uint32_t)take;
        at += take;
        length -= take;
    }
}

void vyre_blake3_final(const struct vyre_blake3 *hash, uint8_t digest[VYRE_BLAKE3_BYTES])
{
    uint8_t pair[2 * VYRE_BLAKE3_BYTES];
    uint32_t levels = hash->levels;
    struct block_tail how = {hash->chunks, 0, levels == 0 ? ROOT : 0};
    hash_chunk(hash->chunk, hash->held, &how, pair + VYRE_BLAKE3_BYTES);
    while (levels > 0) {
        memcpy(pair, hash->stack[--levels], VYRE_BLAKE3_BYTES);
        hash_parent(pair, levels == 0 ? ROOT : 0, pair + VYRE_BLAKE3_BYTES);
    }
    memcpy(digest, pair + VYRE_BLAKE3_BYTES, VYRE_BLAKE3_BYTES);
}

void vyre_blake3(const void *bytes, size_t length, uint8_t digest[VYRE_BLAKE3_BYTES])
{
    struct vyre_blake3 hash;
    vyre_blake3_init(&hash);
    if (length > 0) vyre_blake3_update(&hash, bytes, length);
    vyre_blake3_final(&hash, digest);
}
