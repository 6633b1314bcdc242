/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The control buffer: size, encode, decode, and the strict readers of single words. A reader wants
 * only the words it reads, so it also serves buffers that end after them. A call that fails has
 * written nothing. Public; the runtime makes its images of the control words by it.
 */
#include <string.h>

#include "wire/bytes.h"

/* Words 0..140 are fields of vyre_wire_control at the same offsets (layout.h). */
#define FIELD_WORDS 141u

static uint32_t field(const vyre_wire_control *control, size_t word)
{
    uint32_t value;
    memcpy(&value, (const unsigned char *)control + 4 * word, sizeof value);
    return value;
}

static void set_field(vyre_wire_control *control, size_t word, uint32_t value)
{
    memcpy((unsigned char *)control + 4 * word, &value, sizeof value);
}

vyre_status vyre_wire_control_size(size_t observable_words, size_t *bytes, vyre_error *err)
{
    size_t size;
    vyre_status status = vyre_bytes_check_pointer(bytes, "bytes", err);
    if (status) return status;
    if (observable_words > VYRE_CONTROL_MAX_OBSERVABLE)
        return vyre_fail(err, VYRE_E_WIRE_OVERFLOW, "%zu observable words, at most %u",
                         observable_words, VYRE_CONTROL_MAX_OBSERVABLE);
    status = vyre_bytes_size_of_words(VYRE_CONTROL_WORDS + observable_words, &size, err);
    if (status) return status;
    *bytes = size;
    return VYRE_OK;
}

vyre_status vyre_wire_control_init(vyre_wire_control *control, int shutdown, uint32_t tenant_count,
                                   size_t observable_words, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(control, "control", err);
    if (status) return status;
    status = vyre_bytes_check_cap(observable_words, "observable words", err);
    if (status) return status;

    memset(control, 0, sizeof *control);
    control->shutdown = shutdown != 0;
    control->tenant_base = VYRE_CONTROL_TENANT_MASKS;
    for (uint32_t i = 0; i < VYRE_CONTROL_TENANT_MASK_COUNT && i < tenant_count; i++)
        control->tenant_masks[i] = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < VYRE_CONTROL_TENANT_QUOTA_COUNT && i < tenant_count; i++)
        control->tenant_quotas[i] = VYRE_CONTROL_DEFAULT_QUOTA;
    control->observable_words = (uint32_t)observable_words;
    return VYRE_OK;
}

vyre_status vyre_wire_control_encode(void *bytes, size_t length, const vyre_wire_control *control,
                                     vyre_error *err)
{
    size_t needed;
    vyre_status status = vyre_bytes_check_pointer(control, "control", err);
    if (status) return status;
    status = vyre_bytes_check_cap(control->observable_words, "observable words", err);
    if (status) return status;
    status = vyre_wire_control_size(control->observable_words, &needed, err);
    if (status) return status;
    status = vyre_bytes_check_exact(bytes, length, needed, "the control buffer", err);
    if (status) return status;

    for (size_t word = 0; word < FIELD_WORDS; word++)
        vyre_bytes_set_word(bytes, word, field(control, word));
    memset((unsigned char *)bytes + 4 * FIELD_WORDS, 0, length - 4 * FIELD_WORDS);
    return VYRE_OK;
}

vyre_status vyre_wire_control_decode(const void *bytes, size_t length, vyre_wire_control *control,
                                     vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(control, "control", err);
    if (status) return status;
    status = vyre_bytes_check_has(bytes, length, 0, VYRE_CONTROL_WORDS, err);
    if (status) return status;
    size_t observable_words = length / 4 - VYRE_CONTROL_WORDS;
    if (observable_words > VYRE_CONTROL_MAX_OBSERVABLE)
        return vyre_fail(err, VYRE_E_WIRE_OVERFLOW,
                         "the buffer has %zu observable words, at most %u", observable_words,
                         VYRE_CONTROL_MAX_OBSERVABLE);

    for (size_t word = 0; word < FIELD_WORDS; word++)
        set_field(control, word, vyre_bytes_word(bytes, word));
    control->observable_words = (uint32_t)observable_words;
    return VYRE_OK;
}

vyre_status vyre_wire_offsets_split(uint32_t slots, uint32_t offsets[VYRE_CONTROL_OFFSET_COUNT],
                                    vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(offsets, "offsets", err);
    if (status) return status;
    uint32_t start = 0;
    for (uint32_t priority = 0; priority < VYRE_PRIORITIES; priority++) {
        offsets[priority] = start;
        start += slots / VYRE_PRIORITIES;
        if (priority == VYRE_PRIORITY_NORMAL) start += slots % VYRE_PRIORITIES;
    }
    offsets[VYRE_PRIORITIES] = start;
    return VYRE_OK;
}

vyre_status vyre_wire_offsets_write(void *bytes, size_t length, uint32_t slots, vyre_error *err)
{
    uint32_t offsets[VYRE_CONTROL_OFFSET_COUNT];
    vyre_status status = vyre_bytes_check_has(bytes, length, VYRE_CONTROL_PRIORITY_OFFSETS,
                                              VYRE_CONTROL_OFFSET_COUNT, err);
    if (status) return status;
    status = vyre_wire_offsets_split(slots, offsets, err);
    if (status) return status;
    for (size_t i = 0; i < VYRE_CONTROL_OFFSET_COUNT; i++)
        vyre_bytes_set_word(bytes, VYRE_CONTROL_PRIORITY_OFFSETS + i, offsets[i]);
    return VYRE_OK;
}

static vyre_status read_word(const void *bytes, size_t length, size_t word, uint32_t *value,
                             vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(value, "the place for the value", err);
    if (status) return status;
    status = vyre_bytes_check_has(bytes, length, word, 1, err);
    if (status) return status;
    *value = vyre_bytes_word(bytes, word);
    return VYRE_OK;
}

vyre_status vyre_wire_done_count_read(const void *bytes, size_t length, uint32_t *count,
                                      vyre_error *err)
{
    return read_word(bytes, length, VYRE_CONTROL_DONE_COUNT, count, err);
}

vyre_status vyre_wire_epoch_read(const void *bytes, size_t length, uint32_t *epoch, vyre_error *err)
{
    return read_word(bytes, length, VYRE_CONTROL_EPOCH, epoch, err);
}

vyre_status vyre_wire_observable_read(const void *bytes, size_t length, size_t index,
                                      uint32_t *value, vyre_error *err)
{
    /* Words are numbered by 32 bits; 160 plus the index must not go past them. */
    if (index > VYRE_CONTROL_MAX_OBSERVABLE)
        return vyre_fail(err, VYRE_E_WIRE_OVERFLOW, "observable word %zu, at most %u", index,
                         VYRE_CONTROL_MAX_OBSERVABLE);
    return read_word(bytes, length, VYRE_CONTROL_OBSERVABLE + index, value, err);
}

vyre_status vyre_wire_metrics_read(const void *bytes, size_t length, vyre_wire_metric *metrics,
                                   size_t *count, vyre_error *err)
{
    vyre_status status = vyre_bytes_check_pointer(metrics, "metrics", err);
    if (status) return status;
    status = vyre_bytes_check_pointer(count, "count", err);
    if (status) return status;
    status =
        vyre_bytes_check_has(bytes, length, VYRE_CONTROL_METRICS, VYRE_CONTROL_METRIC_COUNT, err);
    if (status) return status;

    size_t found = 0;
    for (uint32_t opcode = 0; opcode < VYRE_CONTROL_METRIC_COUNT; opcode++) {
        uint32_t value = vyre_bytes_word(bytes, VYRE_CONTROL_METRICS + opcode);
        if (value == 0) continue;
        metrics[found].opcode = opcode;
        metrics[found].count = value;
        found++;
    }
    *count = found;
    return VYRE_OK;
}
