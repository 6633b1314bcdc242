/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Statuses and errors: names and texts come from status.def and from nowhere else.
 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct row {
    vyre_status value;
    const char *name;
    const char *text;
    const char *fix;
};

static const struct row rows[] = {
#define VYRE_STATUS(name, value, text, fix) {value, "VYRE_" #name, text, fix},
#include "vyre/status.def"
#undef VYRE_STATUS
};

static const struct row *find(vyre_status status)
{
    static const struct row unknown = {0, "VYRE_E_?", "not a status of this library",
                                       "use a library of the same version as the header"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value == status) return &rows[i];
    return &unknown;
}

const char *vyre_status_name(vyre_status status)
{
    return find(status)->name;
}

const char *vyre_status_text(vyre_status status)
{
    return find(status)->text;
}

const char *vyre_status_fix(vyre_status status)
{
    return find(status)->fix;
}

static void set(vyre_error *err, vyre_status status, const char *format, va_list args)
{
    memset(err, 0, sizeof *err);
    err->status = status;
    vsnprintf(err->message, sizeof err->message, format, args);
    snprintf(err->fix, sizeof err->fix, "%s", find(status)->fix);
}

vyre_status vyre_fail(vyre_error *err, vyre_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set(err, status, format, args);
        va_end(args);
    }
    return status;
}

vyre_status vyre_fail_with(vyre_error *err, vyre_status status, const char *fix, const char *format,
                           ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set(err, status, format, args);
        va_end(args);
        snprintf(err->fix, sizeof err->fix, "%s", fix);
    }
    return status;
}

vyre_status vyre_fail_at(vyre_error *err, vyre_status status, uint32_t place_kind, uint64_t place,
                         const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set(err, status, format, args);
        va_end(args);
        err->place_kind = place_kind;
        err->place = place;
    }
    return status;
}

vyre_status vyre_fail_errno(vyre_error *err, int errno_value, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set(err, VYRE_E_SYSTEM, format, args);
        va_end(args);
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(errno_value));
        err->domain = VYRE_DOMAIN_ERRNO;
        err->code = errno_value;
    }
    return VYRE_E_SYSTEM;
}

void vyre_fail_fix(vyre_error *err, const char *format, ...)
{
    if (!err) return;
    va_list args;
    va_start(args, format);
    vsnprintf(err->fix, sizeof err->fix, format, args);
    va_end(args);
}
