/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Several BLAKE3 inputs side by side, one in each lane of vectors that the compiler maps to what
 * the target has. blake3.c includes this once for every width, with
 *
 *     LANES        how many
 *     LANES_NAME   name of the function to make
 *     LANES_TARGET attribute with the instructions it may use, or nothing
 *
 * All state is in arrays with constant indices after inlining, so that it lives in registers.
 */
#define LANES_JOIN_(a, b) a##b
#define LANES_JOIN(a, b)  LANES_JOIN_(a, b)
#define vec               LANES_JOIN(LANES_NAME, _vec)
#define lanes_mix         LANES_JOIN(LANES_NAME, _mix)
#define lanes_round       LANES_JOIN(LANES_NAME, _round)
#define lanes_load        LANES_JOIN(LANES_NAME, _load)
#define lanes_block       LANES_JOIN(LANES_NAME, _block)

typedef uint32_t vec __attribute__((vector_size(4 * LANES)));

/* Vectors go by pointer: by value their ABI would depend on the target. */
ALWAYS_INLINE void lanes_mix(vec *v, const struct mix_at at, const vec *x, const vec *y)
{
    v[at.a] += v[at.b] + *x;
    v[at.d] ^= v[at.a];
    v[at.d] = (v[at.d] >> 16) | (v[at.d] << 16);
    v[at.c] += v[at.d];
    v[at.b] ^= v[at.c];
    v[at.b] = (v[at.b] >> 12) | (v[at.b] << 20);
    v[at.a] += v[at.b] + *y;
    v[at.d] ^= v[at.a];
    v[at.d] = (v[at.d] >> 8) | (v[at.d] << 24);
    v[at.c] += v[at.d];
    v[at.b] ^= v[at.c];
    v[at.b] = (v[at.b] >> 7) | (v[at.b] << 25);
}

ALWAYS_INLINE void lanes_round(vec *v, const vec *m, const uint8_t *s)
{
    lanes_mix(v, (struct mix_at){0, 4, 8, 12}, &m[s[0]], &m[s[1]]);
    lanes_mix(v, (struct mix_at){1, 5, 9, 13}, &m[s[2]], &m[s[3]]);
    lanes_mix(v, (struct mix_at){2, 6, 10, 14}, &m[s[4]], &m[s[5]]);
    lanes_mix(v, (struct mix_at){3, 7, 11, 15}, &m[s[6]], &m[s[7]]);
    lanes_mix(v, (struct mix_at){0, 5, 10, 15}, &m[s[8]], &m[s[9]]);
    lanes_mix(v, (struct mix_at){1, 6, 11, 12}, &m[s[10]], &m[s[11]]);
    lanes_mix(v, (struct mix_at){2, 7, 8, 13}, &m[s[12]], &m[s[13]]);
    lanes_mix(v, (struct mix_at){3, 4, 9, 14}, &m[s[14]], &m[s[15]]);
}

/* Word `word` of the block of every lane. */
ALWAYS_INLINE void lanes_load(vec *m, const uint8_t *bytes, size_t stride)
{
    const uint8_t *p = bytes;
#if LANES == 4
    *m = (vec){load(p), load(p + stride), load(p + 2 * stride), load(p + 3 * stride)};
#else
    vec words = {0};
#    pragma GCC unroll 16
    for (size_t lane = 0; lane < LANES; lane++)
        words[lane] = load(p + lane * stride);
    *m = words;
#endif
}

ALWAYS_INLINE void lanes_block(vec *cv, const uint8_t *bytes, size_t stride, const vec *tail)
{
    vec m[16];
#pragma GCC unroll 16
    for (size_t word = 0; word < 16; word++)
        lanes_load(&m[word], bytes + 4 * word, stride);
    vec v[16];
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++)
        v[i] = cv[i];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        v[8 + i] = (vec){0} + start[i];
        v[12 + i] = tail[i];
    }
    lanes_round(v, m, schedule[0]);
    lanes_round(v, m, schedule[1]);
    lanes_round(v, m, schedule[2]);
    lanes_round(v, m, schedule[3]);
    lanes_round(v, m, schedule[4]);
    lanes_round(v, m, schedule[5]);
    lanes_round(v, m, schedule[6]);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; i++)
        cv[i] = v[i] ^ v[8 + i];
}

/* LANES inputs of job->blocks whole blocks each, one right after the other; their digests, 32 bytes
 * each, go to `out`. */
LANES_TARGET UNCHECKED static void LANES_NAME(const struct wide_job *job, const uint8_t *in,
                                              uint64_t counter, uint8_t *out)
{
    size_t stride = job->blocks * BLOCK;
    uint32_t low[LANES], high[LANES];
    vec cv[8], tail[4];
    for (size_t i = 0; i < 8; i++)
        cv[i] = (vec){0} + start[i];
    for (size_t lane = 0; lane < LANES; lane++) {
        uint64_t number = job->counting ? counter + lane : 0;
        low[lane] = (uint32_t)number;
        high[lane] = (uint32_t)(number >> 32);
    }
    memcpy(&tail[0], low, sizeof low);
    memcpy(&tail[1], high, sizeof high);
    tail[2] = (vec){0} + BLOCK;
    for (size_t block = 0; block < job->blocks; block++) {
        uint32_t flags = job->flags;
        if (job->counting && block == 0) flags |= CHUNK_START;
        if (job->counting && block + 1 == job->blocks) flags |= CHUNK_END;
        tail[3] = (vec){0} + flags;
        lanes_block(cv, in + block * BLOCK, stride, tail);
    }
    for (size_t lane = 0; lane < LANES; lane++)
        for (size_t i = 0; i < 8; i++)
            store(out + lane * VYRE_BLAKE3_BYTES + 4 * i, cv[i][lane]);
}

#undef vec
#undef lanes_mix
#undef lanes_round
#undef lanes_load
#undef lanes_block
#undef LANES
#undef LANES_NAME
#undef LANES_TARGET
