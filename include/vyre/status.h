/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/**
 * @file status.h
 * What went wrong, where, and what to do about it.
 *
 * Whatever can fail returns a vyre_status (0, or negative and fixed for ever) and takes a last
 * argument `vyre_error *err`, which may be NULL. The caller owns it; it needs no initialisation and
 * no free, and is written only when the call fails. Out-parameters change only on success, unless
 * the function says otherwise.
 */
#ifndef VYRE_STATUS_H
#define VYRE_STATUS_H

#include <stdint.h>

#if defined(__GNUC__)
#    define VYRE_API __attribute__((visibility("default")))
#else
#    define VYRE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t vyre_status;

enum {
#define VYRE_STATUS(name, value, text, fix) VYRE_##name = (value),
#include "vyre/status.def"
#undef VYRE_STATUS
    VYRE_STATUS_LAST_ = 0x7fffffff
};

/** Whose number vyre_error.code is. The domains never share one integer. */
enum vyre_error_domain {
    VYRE_DOMAIN_NONE = 0,  /**< code is 0 */
    VYRE_DOMAIN_ERRNO = 1, /**< code is an errno value */
    VYRE_DOMAIN_CUDA = 2   /**< code is a CUresult */
};

/** What vyre_error.place counts. */
enum vyre_error_place {
    VYRE_PLACE_NONE = 0,        /**< place is 0 */
    VYRE_PLACE_BYTE = 1,        /**< an offset in bytes */
    VYRE_PLACE_WORD = 2,        /**< an index of 32-bit words */
    VYRE_PLACE_SLOT = 3,        /**< an index of slots or records */
    VYRE_PLACE_INSTRUCTION = 4, /**< an instruction of a program */
    VYRE_PLACE_ARGUMENT = 5     /**< the n-th element of an argument list, from 0 */
};

#define VYRE_ERROR_MESSAGE_BYTES 232
#define VYRE_ERROR_FIX_BYTES     184

/** One failure. Plain data: copy it, keep it, throw it away. */
typedef struct vyre_error {
    vyre_status status;  /**< what the call returned */
    uint32_t domain;     /**< enum vyre_error_domain */
    int64_t code;        /**< errno or CUresult, as domain says */
    uint32_t place_kind; /**< enum vyre_error_place */
    uint32_t reserved;
    uint64_t place;                         /**< where, as place_kind says */
    char message[VYRE_ERROR_MESSAGE_BYTES]; /**< one line with the values in it */
    char fix[VYRE_ERROR_FIX_BYTES];         /**< one imperative line */
} vyre_error;

/** The status as it is written in C, such as "VYRE_E_QUEUE_FULL"; "VYRE_E_?" for a number that is
 * none. Any thread. */
VYRE_API const char *vyre_status_name(vyre_status status);

/** One line on what the status means; never NULL. Any thread. */
VYRE_API const char *vyre_status_text(vyre_status status);

/** One line on what usually helps; never NULL. Any thread. */
VYRE_API const char *vyre_status_fix(vyre_status status);

#ifdef __cplusplus
}
#endif

#endif
