/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The log hook.
 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

void vyre_log_line(const struct vyre_log *log, enum vyre_log_level level, const char *format, ...)
{
    if (!log->write) return;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log->write(log->ctx, level, line);
}
