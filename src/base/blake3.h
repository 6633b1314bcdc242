/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * BLAKE3 with a digest of 256 bits, without key: what seals a VIR0 program and names it in caches.
 * Nothing here allocates or fails; one thread uses one struct vyre_blake3.
 */
#ifndef VYRE_BASE_BLAKE3_H
#define VYRE_BASE_BLAKE3_H

#include <stddef.h>
#include <stdint.h>

#define VYRE_BLAKE3_BYTES  32u
#define VYRE_BLAKE3_CHUNK  1024u
#define VYRE_BLAKE3_LEVELS 54u /* 2^54 chunks are 2^64 bytes */

struct vyre_blake3 {
    uint64_t chunks; /* hashed, their digests lie on the stack */
    uint32_t held;   /* bytes of the last chunk, which waits until more follows */
    uint32_t levels;
    uint8_t chunk[VYRE_BLAKE3_CHUNK];
    uint8_t stack[VYRE_BLAKE3_LEVELS + 1][VYRE_BLAKE3_BYTES]; /* of whole subtrees, large first */
};

void vyre_blake3_init(struct vyre_blake3 *hash);
void vyre_blake3_update(struct vyre_blake3 *hash, const void *bytes, size_t length);

/* The digest of all bytes so far; the hash may go on afterwards. */
void vyre_blake3_final(const struct vyre_blake3 *hash, uint8_t digest[VYRE_BLAKE3_BYTES]);

/* The digest of these bytes; NULL is allowed where there are none. */
void vyre_blake3(const void *bytes, size_t length, uint8_t digest[VYRE_BLAKE3_BYTES]);

#endif
