/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The values and names that `vyre stream` prints. A value is read byte by byte, little-endian, by
 * the type that the program declares or that --as names; a name may hold any bytes, and what is
 * printed for it is always one line of UTF-8 from which the bytes can be found again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

uint32_t stream_value_bytes(const struct stream_job *job)
{
    if (job->form == CLI_FORM_U64 || job->form == CLI_FORM_I64) return 8;
    return job->result->stride == 0 ? 1 : job->result->stride;
}

static uint64_t read_bits(const void *value, uint32_t bytes)
{
    const unsigned char *from = value;
    uint64_t bits = 0;

    for (uint32_t i = 0; i < bytes && i < 8; i++)
        bits |= (uint64_t)from[i] << 8 * i;
    return bits;
}

static int64_t read_signed(const void *value, uint32_t bytes)
{
    unsigned unused = 64 - 8 * bytes;

    return (int64_t)(read_bits(value, bytes) << unused) >> unused;
}

/* The fewest digits that read back as the same number. */
static void float_text(double number, int single, char text[48])
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 48, "%.*g", digits, number);
        if (single ? strtof(text, NULL) == (float)number : strtod(text, NULL) == number) return;
    }
}

/* Whether the type is this letter with as many bits as an element has. */
static int is_number(const struct stream_job *job, char letter)
{
    const char *type = job->result->type;
    uint32_t bytes = job->result->stride;

    return type[0] == letter && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
           strtoul(type + 1, NULL, 10) == 8 * bytes && strspn(type + 1, "0123456789") != 0 &&
           type[1 + strspn(type + 1, "0123456789")] == '\0';
}

static void hex_text(const void *value, uint32_t bytes, char text[48])
{
    const unsigned char *from = value;

    text[0] = '\0';
    for (uint32_t i = 0; i < bytes && i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", from[bytes - 1 - i]);
}

/* What a value is for JSON. */
enum written { AS_NUMBER, AS_TEXT, AS_NOTHING };

static enum written write_value(const struct stream_job *job, const void *value, char text[48])
{
    uint32_t bytes = stream_value_bytes(job);
    uint64_t bits = read_bits(value, bytes);

    if (job->form == CLI_FORM_U64 || (job->form == CLI_FORM_VALUES && is_number(job, 'u'))) {
        snprintf(text, 48, "%llu", (unsigned long long)bits);
    } else if (job->form == CLI_FORM_I64 || (job->form == CLI_FORM_VALUES && is_number(job, 'i'))) {
        snprintf(text, 48, "%lld", (long long)read_signed(value, bytes));
    } else if (job->form == CLI_FORM_VALUES && strcmp(job->result->type, "bool") == 0) {
        snprintf(text, 48, "%s", bits != 0 ? "true" : "false");
    } else if (job->form == CLI_FORM_VALUES && bytes >= 4 && is_number(job, 'f')) {
        double wide;
        float narrow;
        memcpy(&wide, &bits, sizeof wide);
        memcpy(&narrow, &bits, sizeof narrow);
        double number = bytes == 4 ? (double)narrow : wide;
        float_text(number, bytes == 4, text);
        return isfinite(number) ? AS_NUMBER : AS_NOTHING;
    } else {
        hex_text(value, bytes, text);
        return AS_TEXT;
    }
    return AS_NUMBER;
}

const char *stream_value_text(const struct stream_job *job, const void *value, char text[48])
{
    write_value(job, value, text);
    return text;
}

void stream_value_json(const struct stream_job *job, const void *values, uint64_t bytes)
{
    const unsigned char *at = values;
    uint32_t each = stream_value_bytes(job);
    char text[48];

    fputs(",\"values\":[", stdout);
    for (uint64_t i = 0; i + each <= bytes; i += each) {
        enum written how = write_value(job, at + i, text);
        const char *quote = how == AS_TEXT ? "\"" : "";
        printf("%s%s%s%s", i == 0 ? "" : ",", quote, how == AS_NOTHING ? "null" : text, quote);
    }
    putchar(']');
}

/* Names.
 * ------------------------------------------------------------------------------------------- */

/* One character of a name, or its escape. Returns how many bytes of the name it stands for. */
static size_t write_character(const char *name, char text[8])
{
    static const char plain[] = "\t\n\r\\", letters[] = "tnr\\";
    size_t len = cli_utf8_length(name);
    const char *known = strchr(plain, name[0]);

    if (known != NULL) {
        snprintf(text, 8, "\\%c", letters[known - plain]);
        return 1;
    }
    if (len == 0 || (unsigned char)name[0] < 0x20 || name[0] == 0x7f) {
        snprintf(text, 8, "\\x%02x", (unsigned char)name[0]);
        return 1;
    }
    /* U+0080 to U+009F steer terminals too. */
    if (len == 2 && (unsigned char)name[0] == 0xC2 && (unsigned char)name[1] < 0xA0) {
        snprintf(text, 8, "\\x%02x", (unsigned char)name[0]);
        return 1;
    }
    memcpy(text, name, len);
    text[len] = '\0';
    return len;
}

void stream_put_name(FILE *stream, const char *name)
{
    char text[8];

    while (*name != '\0') {
        name += write_character(name, text);
        fputs(text, stream);
    }
}

const char *stream_name_text(const char *name, char *text, size_t room)
{
    char piece[8];
    size_t used = 0;

    text[0] = '\0';
    while (*name != '\0') {
        size_t taken = write_character(name, piece), len = strlen(piece);
        if (used + len + 4 > room) {
            memcpy(text + used, "...", 4);
            break;
        }
        memcpy(text + used, piece, len + 1);
        used += len;
        name += taken;
    }
    return text;
}

void stream_json_name(const char *name)
{
    const char *at = name;
    size_t len = 1;

    cli_json_text("path", name);
    while (*at != '\0' && (len = cli_utf8_length(at)) != 0)
        at += len;
    if (*at == '\0') return;
    fputs(",\"path_bytes\":\"", stdout);
    for (at = name; *at != '\0'; at++)
        printf("%02x", (unsigned char)*at);
    putchar('"');
}
