/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a program printed while `vyre exec` or `vyre stream` ran it: the records of the debug log,
 * as text where the program came from a source that has the text, else as numbers. The device keeps
 * the newest records only, so it also says how many are gone.
 */
#include "kernel.h"

/* The text of one record; *known tells whether the kernel has it. */
static void record_text(const vyre_kernel *kernel, const vyre_log_record *record, char text[1024],
                        int *known)
{
    *known = vyre_kernel_print_text(kernel, record->format, record->a, record->b, text, 1024,
                                    NULL) == VYRE_OK;
    if (*known) return;
    snprintf(text, 1024, "print %u: %u (0x%x), %u (0x%x)", (unsigned)record->format,
             (unsigned)record->a, (unsigned)record->a, (unsigned)record->b, (unsigned)record->b);
}

/* Lines and tabs are the program's own wish; what could steer a terminal is not shown. */
static void put_lines(const char *text)
{
    char last = '\n';

    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        last = *text;
        fputc((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? '?' : c, stderr);
    }
    if (last != '\n') fputc('\n', stderr);
}

static void json_print(const vyre_log_record *record, const char *text)
{
    cli_json_begin("print");
    cli_json_count("number", record->format);
    cli_json_count("a", record->a);
    cli_json_count("b", record->b);
    cli_json_text("text", text);
    cli_json_end();
}

static void say_lost(uint64_t lost, int json)
{
    char message[160];

    if (lost == 0) return;
    if (json) {
        cli_json_begin("prints_lost");
        cli_json_count("count", lost);
        cli_json_end();
    }
    snprintf(message, sizeof message,
             "%llu earlier print%s lost: the debug log keeps the newest %u records",
             (unsigned long long)lost, lost == 1 ? " was" : "s were", VYRE_LOG_RECORDS);
    cli_warn(message);
}

void kernel_show_log(vyre *runtime, const vyre_kernel *kernel, int json)
{
    vyre_log_record records[VYRE_LOG_RECORDS];
    uint64_t cursor = 0, lost = 0;
    size_t count = 0;
    char text[1024];
    vyre_error err;
    int known;

    if (vyre_tenant_log(runtime, VYRE_TENANT_DEFAULT, &cursor, records, VYRE_LOG_RECORDS, &count,
                        &lost, &err) != VYRE_OK) {
        cli_fail("cannot read what the program printed", &err);
        return;
    }
    say_lost(lost, json);
    for (size_t i = 0; i < count; i++) {
        record_text(kernel, &records[i], text, &known);
        if (json)
            json_print(&records[i], known ? text : NULL);
        else
            put_lines(text);
    }
}
