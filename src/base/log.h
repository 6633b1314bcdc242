/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The log hook: lines go to the function the embedder gave at open, and nowhere else.
 */
#ifndef VYRE_BASE_LOG_H
#define VYRE_BASE_LOG_H

#include "base/error.h"
#include "vyre/runtime.h"

struct vyre_log {
    vyre_log_fn write; /* NULL: nobody listens */
    void *ctx;
};

void vyre_log_line(const struct vyre_log *log, enum vyre_log_level level, const char *format, ...)
    VYRE_PRINTF(3, 4);

#endif
