/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any bytes taken as the control buffer: decode, the strict readers, the
 * priority offsets. See wire_checks.h.
 */
#ifndef VYRE_FUZZ_WIRE_CHECK_CONTROL_H
#define VYRE_FUZZ_WIRE_CHECK_CONTROL_H

#include "wire_checks.h"

static inline void check_control_word(const uint8_t *data, size_t size, size_t word,
                                      vyre_status got, uint32_t value)
{
    vyre_status expected = size % 4           ? VYRE_E_WIRE_MISALIGNED
                           : size / 4 <= word ? VYRE_E_WIRE_MISSING_WORD
                                              : VYRE_OK;
    REQUIRE(got == expected);
    REQUIRE(value == (got ? 0x5A5A5A5A : check_word(data, word)));
}

static inline void check_control_readers(const uint8_t *data, size_t size)
{
    vyre_error *err = check_err(data, size);
    vyre_wire_metric metrics[VYRE_CONTROL_METRIC_COUNT];
    size_t index = size ? data[size - 1] * 3u : 0, count;
    uint32_t value = 0x5A5A5A5A;
    vyre_status status = vyre_wire_done_count_read(data, size, &value, err);
    check_control_word(data, size, 1, status, value);
    value = 0x5A5A5A5A;
    status = vyre_wire_epoch_read(data, size, &value, err);
    check_control_word(data, size, 128, status, value);
    value = 0x5A5A5A5A;
    status = vyre_wire_observable_read(data, size, index, &value, err);
    check_control_word(data, size, 160 + index, status, value);

    CHECK_MARK(metrics);
    CHECK_MARK(count);
    status = vyre_wire_metrics_read(data, size, metrics, &count, err);
    if (status) {
        REQUIRE(size % 4 != 0 || size < 512);
        REQUIRE(CHECK_UNTOUCHED(metrics) && CHECK_UNTOUCHED(count));
        return;
    }
    REQUIRE(size % 4 == 0 && size >= 512 && count <= VYRE_CONTROL_METRIC_COUNT);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(metrics[i].count != 0 && (i == 0 || metrics[i - 1].opcode < metrics[i].opcode));
        REQUIRE(metrics[i].count == check_word(data, 96 + metrics[i].opcode));
    }
}

static inline void check_control(const uint8_t *data, size_t size)
{
    if (size > CHECK_BYTES_MAX) size = CHECK_BYTES_MAX;
    vyre_error *err = check_err(data, size);
    vyre_wire_control control, again;
    CHECK_MARK(control);
    vyre_status status = vyre_wire_control_decode(data, size, &control, err);
    REQUIRE(status == (size % 4     ? VYRE_E_WIRE_MISALIGNED
                       : size < 640 ? VYRE_E_WIRE_MISSING_WORD
                                    : VYRE_OK));
    if (status) {
        REQUIRE(CHECK_UNTOUCHED(control));
    } else {
        REQUIRE(control.observable_words == size / 4 - 160);
        REQUIRE(vyre_wire_control_encode(check_copy, size, &control, err) == VYRE_OK);
        REQUIRE(memcmp(check_copy, data, 4 * 141) == 0);
        REQUIRE(vyre_wire_control_decode(check_copy, size, &again, err) == VYRE_OK);
        REQUIRE(memcmp(&control, &again, sizeof control) == 0);
    }
    check_control_readers(data, size);

    check_fresh_copy(data, size);
    status = vyre_wire_offsets_write(check_copy, size, size ? data[0] : 0, err);
    REQUIRE((status == VYRE_OK) == (size % 4 == 0 && size >= 4 * 135));
    if (status == VYRE_OK) memcpy(check_copy + 4 * 129, data + 4 * 129, 24);
    REQUIRE(check_unchanged(data, size));
}

#endif
