/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The tenants beside one that means harm to a device: each has buffers full of bytes that must stay
 * as they are, and adds in a word of its own in a thread of its own. Include it first.
 */
#ifndef VYRE_TESTS_BESIDE_H
#define VYRE_TESTS_BESIDE_H

#include "gpu.h"
#include "hostile.h"

enum { BUFFERS = 4, GUARD_BYTES = 5000 };

/* A tenant beside; its buffers are known to the attacker. */
struct neighbour {
    struct bystander live;
    vyre_buffer *buffers[BUFFERS];
    uint32_t tenant;
};

static unsigned char guard_byte(uint32_t tenant, uint32_t buffer, size_t at)
{
    return (unsigned char)(0x6A + 31 * tenant + 7 * buffer + at);
}

static void make_neighbour(struct neighbour *self, vyre *rt, uint32_t tenant)
{
    unsigned char bytes[GUARD_BYTES];
    vyre_buffer_options how = VYRE_BUFFER_OPTIONS_INIT;
    vyre_error err;
    memset(self, 0, sizeof *self);
    self->tenant = tenant;
    self->live.queue = gpu_queue(rt, 16, tenant, 0);
    how.tenant = tenant;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        how.kind = i % 2 == 0 ? VYRE_DEVICE : VYRE_PINNED;
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = guard_byte(tenant, i, k);
        must(vyre_buffer_create_with(rt, sizeof bytes, &how, &self->buffers[i], &err), &err);
        must(vyre_buffer_write(self->buffers[i], 0, bytes, sizeof bytes, &err), &err);
    }
}

/* Bytes that are not what they were. */
static uint32_t damage(const struct neighbour *self)
{
    unsigned char bytes[GUARD_BYTES];
    vyre_error err;
    uint32_t changed = 0;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        must(vyre_buffer_read(self->buffers[i], 0, bytes, sizeof bytes, &err), &err);
        for (size_t k = 0; k < sizeof bytes; k++)
            changed += bytes[k] != guard_byte(self->tenant, i, k);
    }
    return changed;
}

/* Words of a tenant that must all be 0, but the one that a tenant who `counts` counts in. */
static uint32_t foreign_words(vyre *rt, uint32_t tenant, bool counts)
{
    uint32_t words[256], changed = 0;
    vyre_error err;
    must(vyre_tenant_observables(rt, tenant, 0, 256, words, &err), &err);
    for (uint32_t i = 0; i < 256; i++)
        changed += words[i] != 0 && (i != BYSTANDER_WORD || !counts);
    return changed;
}

#endif
