/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What must hold for any bytes taken as the completion entry. See wire_checks.h.
 */
#ifndef VYRE_FUZZ_WIRE_CHECK_COMPLETION_H
#define VYRE_FUZZ_WIRE_CHECK_COMPLETION_H

#include "wire_checks.h"

static inline void check_completion(const uint8_t *data, size_t size)
{
    if (size > CHECK_BYTES_MAX) size = CHECK_BYTES_MAX;
    vyre_error *err = check_err(data, size);
    vyre_completion completion;
    uint32_t lap;
    CHECK_MARK(completion);
    CHECK_MARK(lap);
    vyre_status status = vyre_wire_completion_decode(data, size, &completion, &lap, err);
    if (status) {
        REQUIRE(CHECK_UNTOUCHED(completion) && CHECK_UNTOUCHED(lap));
        REQUIRE(size >= 64 || status == VYRE_E_TOO_SMALL);
        REQUIRE(size <= 64 || status == VYRE_E_WIRE_LENGTH);
        return;
    }
    REQUIRE(size == 64 && lap != 0 && completion.flags == 0);
    REQUIRE((completion.outcome == VYRE_DONE) == (completion.fault == VYRE_FAULT_NONE));
    REQUIRE(vyre_wire_completion_encode(check_copy, 64, &completion, lap, err) == VYRE_OK);
    REQUIRE(check_unchanged(data, 64));
}

#endif
