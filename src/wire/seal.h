/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The seal by which a submitted slot certifies itself. The poller reads a slot and its doorbell in
 * loads that nothing orders, so it may see some words of this lap and some of an older one. The
 * producer stores vyre_seal(words, lap) in word 2; the device computes it again over the words it
 * read and believes the slot only if the two agree. Called by the producer's side (runtime) and by
 * the poller (device); both must see the same words, so they live in the machine's own byte order.
 *
 * The hash is multilinear: the sum of 64-bit odd constants times 32-bit inputs, modulo 2^64, of
 * which the high half is kept. The inputs are the fifteen words other than word 2, and the lap. For
 * constants drawn at random, two different inputs agree with a probability of about 2^-32: if words
 * differ by d with z trailing zero bits (z at most 31), an odd random factor spreads d times itself
 * evenly over all bits above z, so over the whole high half. Our constants were drawn once and are
 * fixed, so a torn or stale read passes about once in four thousand million of them, and a slot
 * that was whole on a lap never passes for one of another lap by more than that chance.
 *
 * It detects accidents. It is no signature: the constants are public, and a producer that wants to
 * seal rubbish can. That harms only its own queue, because what a sealed slot says is checked like
 * any other.
 *
 * The seal is never 0, so zeroed memory is never a sealed slot. (0 becomes 1, which makes the
 * chance of the one seal value 1 twice that of the others.)
 *
 * In the common subset of C17 and CUDA C++; see opcode.h for VYRE_WIRE_FN. The constants are
 * literals in the code, because a table would need another qualifier on the device.
 */
#ifndef VYRE_WIRE_SEAL_H
#define VYRE_WIRE_SEAL_H

#include <stdint.h>

#include "vyre/wire.h"

#ifndef VYRE_WIRE_FN
#    define VYRE_WIRE_FN static inline
#endif

/* The first seventeen numbers of the splitmix64 generator from seed 0, their lowest bit set. Key n
 * belongs to word n, key 2 to the lap, key 16 is the start of the sum. They are part of the format
 * of a sealed ring: a host and a device with different keys never agree. */
#define VYRE_SEAL_KEY_0   0xE220A8397B1DCDAFull
#define VYRE_SEAL_KEY_1   0x6E789E6AA1B965F5ull
#define VYRE_SEAL_KEY_2   0x06C45D188009454Full
#define VYRE_SEAL_KEY_3   0xF88BB8A8724C81EDull
#define VYRE_SEAL_KEY_4   0x1B39896A51A8749Bull
#define VYRE_SEAL_KEY_5   0x53CB9F0C747EA2EBull
#define VYRE_SEAL_KEY_6   0x2C829ABE1F4532E1ull
#define VYRE_SEAL_KEY_7   0xC584133AC916AB3Dull
#define VYRE_SEAL_KEY_8   0x3EE5789041C98AC3ull
#define VYRE_SEAL_KEY_9   0xF3B8488C368CB0A7ull
#define VYRE_SEAL_KEY_10  0x657EECDD3CB13D09ull
#define VYRE_SEAL_KEY_11  0xC2D326E0055BDEF7ull
#define VYRE_SEAL_KEY_12  0x8621A03FE0BBDB7Bull
#define VYRE_SEAL_KEY_13  0x8E1F7555983AA92Full
#define VYRE_SEAL_KEY_14  0xB54E0F1600CC4D19ull
#define VYRE_SEAL_KEY_15  0x84BB3F97971D80ABull
#define VYRE_SEAL_KEY_SUM 0x7D29825C75521255ull

/* The seal that a sum of products comes to. */
VYRE_WIRE_FN uint32_t vyre_seal_of(uint64_t sum)
{
    uint32_t seal = (uint32_t)(sum >> 32);
    return seal != 0u ? seal : 1u;
}

/* slot16: the sixteen words of a slot; word 2 is not read. lap: how often the ring has wrapped. */
VYRE_WIRE_FN uint32_t vyre_seal(const uint32_t *slot16, uint32_t lap)
{
    uint64_t sum = VYRE_SEAL_KEY_SUM;

    sum += VYRE_SEAL_KEY_0 * (uint64_t)slot16[0];
    sum += VYRE_SEAL_KEY_1 * (uint64_t)slot16[1];
    sum += VYRE_SEAL_KEY_2 * (uint64_t)lap;
    sum += VYRE_SEAL_KEY_3 * (uint64_t)slot16[3];
    sum += VYRE_SEAL_KEY_4 * (uint64_t)slot16[4];
    sum += VYRE_SEAL_KEY_5 * (uint64_t)slot16[5];
    sum += VYRE_SEAL_KEY_6 * (uint64_t)slot16[6];
    sum += VYRE_SEAL_KEY_7 * (uint64_t)slot16[7];
    sum += VYRE_SEAL_KEY_8 * (uint64_t)slot16[8];
    sum += VYRE_SEAL_KEY_9 * (uint64_t)slot16[9];
    sum += VYRE_SEAL_KEY_10 * (uint64_t)slot16[10];
    sum += VYRE_SEAL_KEY_11 * (uint64_t)slot16[11];
    sum += VYRE_SEAL_KEY_12 * (uint64_t)slot16[12];
    sum += VYRE_SEAL_KEY_13 * (uint64_t)slot16[13];
    sum += VYRE_SEAL_KEY_14 * (uint64_t)slot16[14];
    sum += VYRE_SEAL_KEY_15 * (uint64_t)slot16[15];
    return vyre_seal_of(sum);
}

#endif
