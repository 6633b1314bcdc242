/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The verifier's first part: the header and the tables of a block of any bytes. Nothing of the
 * block is read before it is known to lie inside.
 */
#include <stddef.h>

#include "vm/verify.h"

#define FIELD(name)   offsetof(struct vm_header, name)
#define PROGRAM_FLAGS 63u
#define BUFFER_FLAGS  31u

struct limit {
    const char *name;
    uint32_t offset;
    uint32_t most;
};

static uint32_t field_at(const struct vm_header *header, uint32_t offset)
{
    return *(const uint32_t *)(const void *)((const char *)header + offset);
}

static vyre_status check_limits(struct vm_check *check)
{
    static const struct limit limits[] = {
        {"workgroup[0]", FIELD(workgroup), VM_MAX_LANES},
        {"workgroup[1]", FIELD(workgroup) + 4, VM_MAX_LANES},
        {"workgroup[2]", FIELD(workgroup) + 8, VM_MAX_LANES},
        {"lanes", FIELD(lanes), VM_MAX_LANES},
        {"code_count", FIELD(code_count), VM_MAX_CODE},
        {"register_count", FIELD(register_count), VM_MAX_REGISTERS},
        {"scalar_count", FIELD(scalar_count), VM_MAX_SCALARS},
        {"level_count", FIELD(level_count), VM_MAX_LEVELS},
        {"buffer_count", FIELD(buffer_count), VM_MAX_BUFFERS},
        {"shared_bytes", FIELD(shared_bytes), VM_MAX_SHARED},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        uint32_t value = field_at(check->header, limits[i].offset);
        if (value > limits[i].most)
            return vyre_vm_reject(check, VM_AT_BYTE(LIMIT, limits[i].offset),
                                  "%s is %u, at most %u", limits[i].name, (unsigned)value,
                                  (unsigned)limits[i].most);
    }
    return VYRE_OK;
}

/* Sizes that belong together; the limits hold, so nothing here overflows. */
static vyre_status check_sizes(struct vm_check *check)
{
    const struct vm_header *h = check->header;
    uint64_t lanes = (uint64_t)h->workgroup[0] * h->workgroup[1] * h->workgroup[2];
    uint64_t stride = (lanes + VM_LANE_UNIT - 1) / VM_LANE_UNIT * VM_LANE_UNIT;
    if (lanes == 0 || lanes != h->lanes || stride != h->stride)
        return vyre_vm_reject(check, VM_AT_BYTE(LANES, FIELD(lanes)),
                              "%u x %u x %u lanes make %u with a stride of %u",
                              (unsigned)h->workgroup[0], (unsigned)h->workgroup[1],
                              (unsigned)h->workgroup[2], (unsigned)h->lanes, (unsigned)h->stride);
    if (h->flags & ~PROGRAM_FLAGS)
        return vyre_vm_reject(check, VM_AT_BYTE(HEADER, FIELD(flags)),
                              "the header has flags 0x%x, of which 0x%x are known",
                              (unsigned)h->flags, PROGRAM_FLAGS);
    if (h->code_count == 0 || h->constant_count > h->scalar_count || h->shared_bytes % 16 != 0)
        return vyre_vm_reject(check, VM_AT_BYTE(COUNTS, FIELD(code_count)),
                              "%u instructions, %u constants among %u scalars, %u bytes of "
                              "workgroup memory",
                              (unsigned)h->code_count, (unsigned)h->constant_count,
                              (unsigned)h->scalar_count, (unsigned)h->shared_bytes);
    return VYRE_OK;
}

static vyre_status check_tables(struct vm_check *check)
{
    const struct vm_header *h = check->header;
    const struct {
        const char *name;
        uint32_t field, offset, align;
        uint64_t bytes;
    } tables[] = {
        {"code", FIELD(code_offset), h->code_offset, 16, 16ull * h->code_count},
        {"constants", FIELD(constant_offset), h->constant_offset, 4, 4ull * h->constant_count},
        {"buffers", FIELD(buffer_offset), h->buffer_offset, 8, 24ull * h->buffer_count},
    };
    uint64_t end = sizeof *h;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (tables[i].offset % tables[i].align != 0)
            return vyre_vm_reject(check, VM_AT_BYTE(ALIGNMENT, tables[i].field),
                                  "the %s begin at byte %u, no multiple of %u", tables[i].name,
                                  (unsigned)tables[i].offset, (unsigned)tables[i].align);
        if (tables[i].offset < end || tables[i].offset + tables[i].bytes > h->bytes)
            return vyre_vm_reject(check, VM_AT_BYTE(SIZE, tables[i].field),
                                  "the %s take %llu bytes from byte %u on, where bytes %llu to %u "
                                  "are free",
                                  tables[i].name, (unsigned long long)tables[i].bytes,
                                  (unsigned)tables[i].offset, (unsigned long long)end,
                                  (unsigned)h->bytes);
        end = tables[i].offset + tables[i].bytes;
    }
    check->code = vm_code(h);
    check->constants = vm_constants(h);
    check->buffers = vm_buffers(h);
    return VYRE_OK;
}

/* Flags and sizes of one buffer, whatever the others are. */
static vyre_status check_buffer(struct vm_check *check, uint32_t i)
{
    const struct vm_buffer *buffer = &check->buffers[i];
    uint64_t place = check->header->buffer_offset + (uint64_t)i * sizeof *buffer;
    uint32_t flags = buffer->flags;
    if (flags & ~BUFFER_FLAGS ||
        (flags & VM_BUFFER_ATOMIC &&
         ((flags & (VM_BUFFER_WRITTEN | VM_BUFFER_SHARED)) != VM_BUFFER_WRITTEN ||
          buffer->stride != 4)))
        return vyre_vm_reject(check, VM_AT_BYTE(BUFFER, place),
                              "buffer %u has flags 0x%x and a stride of %u", (unsigned)i,
                              (unsigned)flags, (unsigned)buffer->stride);
    if (buffer->stride != 0 && buffer->bits == 0)
        return vyre_vm_reject(check, VM_AT_BYTE(BITS, place),
                              "buffer %u has a stride of %u and elements of 0 bits", (unsigned)i,
                              (unsigned)buffer->stride);
    if (flags & VM_BUFFER_SCALAR &&
        (flags & (VM_BUFFER_SHARED | VM_BUFFER_WRITTEN) || buffer->bytes != 4))
        return vyre_vm_reject(check, VM_AT_BYTE(PARAMETER, place),
                              "buffer %u, a scalar parameter, has flags 0x%x and %llu bytes",
                              (unsigned)i, (unsigned)flags, (unsigned long long)buffer->bytes);
    return VYRE_OK;
}

static vyre_status check_buffers(struct vm_check *check)
{
    const struct vm_header *h = check->header;
    uint32_t views = 0, params = 0;
    uint64_t free_from = 0; /* workgroup memory */
    for (uint32_t i = 0; i < h->buffer_count; i++) {
        const struct vm_buffer *buffer = &check->buffers[i];
        uint64_t place = h->buffer_offset + (uint64_t)i * sizeof *buffer;
        vyre_status status = check_buffer(check, i);
        if (status) return status;
        params += (buffer->flags & VM_BUFFER_SCALAR) != 0;
        if ((buffer->flags & VM_BUFFER_SHARED) == 0) {
            if (buffer->view != views++)
                return vyre_vm_reject(check, VM_AT_BYTE(VIEW, place),
                                      "buffer %u has view %u where %u is next", (unsigned)i,
                                      (unsigned)buffer->view, (unsigned)(views - 1));
            continue;
        }
        if (buffer->view % 16 != 0 || buffer->view < free_from || buffer->view > h->shared_bytes ||
            buffer->bytes > h->shared_bytes - buffer->view)
            return vyre_vm_reject(check, VM_AT_BYTE(SHARED, place),
                                  "buffer %u takes %llu bytes from byte %u of workgroup memory on, "
                                  "where bytes %llu to %u are free",
                                  (unsigned)i, (unsigned long long)buffer->bytes,
                                  (unsigned)buffer->view, (unsigned long long)free_from,
                                  (unsigned)h->shared_bytes);
        free_from = buffer->view + buffer->bytes;
    }
    if (views != h->view_count)
        return vyre_vm_reject(check, VM_AT_BYTE(VIEW, FIELD(view_count)),
                              "%u buffers are bound, the header says %u", (unsigned)views,
                              (unsigned)h->view_count);
    if (params != h->scalar_params)
        return vyre_vm_reject(check, VM_AT_BYTE(PARAMETER, FIELD(scalar_params)),
                              "%u buffers are scalar parameters, the header says %u",
                              (unsigned)params, (unsigned)h->scalar_params);
    return VYRE_OK;
}

vyre_status vyre_vm_check_block(struct vm_check *check, size_t bytes)
{
    const struct vm_header *h = check->header;
    if ((uintptr_t)h % 16 != 0)
        return vyre_vm_reject(check, VM_AT_BYTE(ALIGNMENT, 0),
                              "the block begins %u bytes behind a multiple of 16",
                              (unsigned)((uintptr_t)h % 16));
    if (bytes < sizeof *h || h->bytes != bytes)
        return vyre_vm_reject(check, VM_AT_BYTE(SIZE, 0),
                              "a block of %zu bytes: the header has %zu and says %u", bytes,
                              sizeof *h, bytes < sizeof *h ? 0u : (unsigned)h->bytes);
    vyre_status status = check_limits(check);
    if (!status) status = check_sizes(check);
    if (!status) status = check_tables(check);
    if (!status) status = check_buffers(check);
    return status;
}
