/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Filling in a vyre_error. Every failing path of the library goes through one of these calls, so
 * that status, message and fix are always set together. They return the status, so a caller writes
 * `return vyre_fail(err, VYRE_E_RANGE, "depth is %u, at most %u", depth, max);`.
 */
#ifndef VYRE_BASE_ERROR_H
#define VYRE_BASE_ERROR_H

#include "vyre/status.h"

#if defined(__GNUC__)
#    define VYRE_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#    define VYRE_PRINTF(text, first)
#endif

/* Sets status and message; the fix is the status's own. err may be NULL. */
vyre_status vyre_fail(vyre_error *err, vyre_status status, const char *format, ...)
    VYRE_PRINTF(3, 4);

/* As vyre_fail, with a fix that fits the site better than the status's own. */
vyre_status vyre_fail_with(vyre_error *err, vyre_status status, const char *fix, const char *format,
                           ...) VYRE_PRINTF(4, 5);

/* As vyre_fail, with the place where it happened (enum vyre_error_place). */
vyre_status vyre_fail_at(vyre_error *err, vyre_status status, uint32_t place_kind, uint64_t place,
                         const char *format, ...) VYRE_PRINTF(5, 6);

/* VYRE_E_SYSTEM with errno's number, name of the call and text. */
vyre_status vyre_fail_errno(vyre_error *err, int errno_value, const char *format, ...)
    VYRE_PRINTF(3, 4);

/* Replaces the fix of an error that is already set by one that fits the site better. */
void vyre_fail_fix(vyre_error *err, const char *format, ...) VYRE_PRINTF(2, 3);

#endif
