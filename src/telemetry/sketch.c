/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The count-min sketch over storage of the caller. The invariant: an estimate is never below what
 * was added, up to UINT64_MAX, where a counter stays. Public.
 */
#include "telemetry/sketch.h"

#include <string.h>

#include "base/checked.h"
#include "wire/bytes.h"

vyre_status vyre_sketch_check(const vyre_sketch *sketch, const char *name, vyre_error *err)
{
    size_t counters;
    vyre_status status = vyre_bytes_check_pointer(sketch, name, err);
    if (status) return status;
    if (sketch->counters && sketch->depth != 0 && sketch->width != 0 &&
        !__builtin_mul_overflow(sketch->depth, sketch->width, &counters) &&
        counters <= sketch->room)
        return VYRE_OK;
    return vyre_fail_with(err, VYRE_E_STATE, "call vyre_sketch_reshape first",
                          "%s is %zu by %zu counters, its storage has %zu", name, sketch->depth,
                          sketch->width, sketch->counters ? sketch->room : 0);
}

vyre_status vyre_sketch_size(size_t depth, size_t width, size_t *counters, vyre_error *err)
{
    size_t product, bytes;
    vyre_status status = vyre_bytes_check_pointer(counters, "counters", err);
    if (status) return status;
    if (depth == 0 || width == 0)
        return vyre_fail_with(err, VYRE_E_RANGE, "use a depth and a width of 1 or more",
                              "a sketch of %zu rows by %zu counters", depth, width);
    if (!vyre_mul_size(depth, width, &product) || !vyre_mul_size(product, sizeof(uint64_t), &bytes))
        return vyre_fail(err, VYRE_E_OVERFLOW, "%zu rows of %zu counters have too many bytes",
                         depth, width);
    *counters = product;
    return VYRE_OK;
}

vyre_status vyre_sketch_reshape(vyre_sketch *sketch, size_t depth, size_t width, vyre_error *err)
{
    size_t counters = 0;
    vyre_status status = vyre_bytes_check_pointer(sketch, "sketch", err);
    if (!status) status = vyre_sketch_size(depth, width, &counters, err);
    if (!status) status = vyre_bytes_check_list(sketch->counters, sketch->room, "counters", err);
    if (status) return status;
    if (counters > sketch->room)
        return vyre_fail(err, VYRE_E_TOO_SMALL,
                         "%zu rows of %zu counters take %zu, the storage has %zu", depth, width,
                         counters, sketch->room);
    sketch->depth = depth;
    sketch->width = width;
    memset(sketch->counters, 0, counters * sizeof(uint64_t));
    return VYRE_OK;
}

vyre_status vyre_sketch_clear(vyre_sketch *sketch, vyre_error *err)
{
    vyre_status status = vyre_sketch_check(sketch, "sketch", err);
    if (status) return status;
    memset(sketch->counters, 0, sketch->depth * sketch->width * sizeof(uint64_t));
    return VYRE_OK;
}

vyre_status vyre_sketch_add(vyre_sketch *sketch, uint32_t key, uint64_t amount, vyre_error *err)
{
    vyre_status status = vyre_sketch_check(sketch, "sketch", err);
    if (status) return status;
    sketch_add(sketch, key, amount);
    return VYRE_OK;
}

vyre_status vyre_sketch_estimate(const vyre_sketch *sketch, uint32_t key, uint64_t *estimate,
                                 vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(estimate, "estimate", err);
    if (!status) status = vyre_sketch_check(sketch, "sketch", err);
    if (status) return status;
    uint64_t least = UINT64_MAX;
    const uint64_t *row = sketch->counters;
    for (size_t i = 0; i < sketch->depth; i++, row += sketch->width) {
        uint64_t counter = row[sketch_column(i, key, sketch->width)];
        if (counter < least) least = counter;
    }
    *estimate = least;
    return VYRE_OK;
}

vyre_status vyre_sketch_merge(vyre_sketch *sketch, const vyre_sketch *other, vyre_error *err)
{
    vyre_status status = vyre_sketch_check(sketch, "sketch", err);
    if (!status) status = vyre_sketch_check(other, "other", err);
    if (status) return status;
    if (sketch->depth != other->depth || sketch->width != other->width)
        return vyre_fail(err, VYRE_E_SKETCH_SHAPE, "a sketch of %zu by %zu and one of %zu by %zu",
                         sketch->depth, sketch->width, other->depth, other->width);
    for (size_t i = 0; i < sketch->depth * sketch->width; i++)
        sketch->counters[i] = vyre_add_saturating_u64(sketch->counters[i], other->counters[i]);
    return VYRE_OK;
}
