/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Diagnostics as people read them: the line, the mark under the span, long lines, tabs, characters
 * of many bytes, bytes that a terminal must not get, colours, and what is refused.
 */
#include "support.h"

struct sink {
    char text[1 << 14];
    size_t used;
    uint32_t calls;
    uint32_t stop_at; /* the call that says no; 0: none */
};

static int keep(void *ctx, const char *text, size_t length)
{
    struct sink *sink = ctx;
    if (++sink->calls == sink->stop_at || length >= sizeof sink->text - sink->used) return 1;
    memcpy(sink->text + sink->used, text, length);
    sink->used += length;
    sink->text[sink->used] = '\0';
    return 0;
}

/* A diagnostic about the first place where the source says `span`. */
static vyre_diagnostic about(const char *source, const char *span, size_t length)
{
    vyre_diagnostic told = {.severity = VYRE_SEVERITY_ERROR,
                            .line = 1,
                            .column = 1,
                            .length = length,
                            .code = "L020",
                            .message = "nothing is called `z` here",
                            .fix = "did you mean `y`?",
                            .file = "a.vyre"};
    const char *at = strstr(source, span);
    if (!at) bail("no %s in the source", span);
    told.offset = (size_t)(at - source);
    for (const char *c = source; c < at; c++) {
        told.column = *c == '\n' ? 1 : told.column + 1;
        told.line += *c == '\n';
    }
    return told;
}

static const char *shown(const vyre_diagnostic *told, const char *source, uint32_t style)
{
    static struct sink sink;
    vyre_error err;
    size_t length = strlen(source);
    char *exact = malloc(length ? length : 1);
    memcpy(exact, source, length);
    sink = (struct sink){.used = 0};
    must(vyre_diagnostic_write(told, exact, length, style, keep, &sink, &err), &err);
    free(exact);
    return sink.text;
}

static void is_shown(const char *name, const char *source, const char *span, size_t length,
                     const char *expected)
{
    vyre_diagnostic told = about(source, span, length);
    const char *head = "nothing is called `z` here [L020]\n", *text = shown(&told, source, 0);
    const char *rest = strstr(text, head);
    if (!ok(rest != NULL, "%s: begins with place and message", name)) return;
    is_str(rest + strlen(head), expected, "%s", name);
}

static const char saxpy[] = "kernel saxpy(f32 a, in f32 x[], inout f32 y[])\n"
                            "{\n"
                            "    y[i] = a * x[i] + z[i];\n"
                            "}\n";

static void whole(void)
{
    vyre_diagnostic told = about(saxpy, "z[i]", 1);
    is_str(shown(&told, saxpy, 0),
           "a.vyre:3:23: error: nothing is called `z` here [L020]\n"
           "    3 |     y[i] = a * x[i] + z[i];\n"
           "      |                       ^\n"
           "      fix: did you mean `y`?\n",
           "all of it");
    told.fix = "";
    told.file = "";
    told.length = 4;
    told.severity = VYRE_SEVERITY_WARNING;
    is_str(shown(&told, saxpy, 0),
           "3:23: warning: nothing is called `z` here [L020]\n"
           "    3 |     y[i] = a * x[i] + z[i];\n"
           "      |                       ^~~~\n",
           "a warning without fix and file");
    told.fix = NULL;
    told.file = NULL;
    told.line = 123456;
    is_str(shown(&told, saxpy, 0),
           "123456:23: warning: nothing is called `z` here [L020]\n"
           "    123456 |     y[i] = a * x[i] + z[i];\n"
           "           |                       ^~~~\n",
           "a high line number, and no pointers");
    told = about(saxpy, "z[i]", 4);
    is_str(shown(&told, saxpy, VYRE_DIAGNOSTIC_COLOR),
           "\033[1ma.vyre:3:23: \033[0m\033[1;31merror: \033[0m\033[1mnothing is called `z` "
           "here\033[0m [L020]\n"
           "\033[34m    3 |\033[0m     y[i] = a * x[i] + z[i];\n"
           "\033[34m      |\033[0m                       \033[1;32m^~~~\033[0m\n"
           "      \033[36mfix: \033[0mdid you mean `y`?\n",
           "with colours");
}

#define FIX "      fix: did you mean `y`?\n"

static void spans(void)
{
    is_shown("a span of several lines ends with the first", saxpy, "z[i];", 7,
             "    3 |     y[i] = a * x[i] + z[i];\n"
             "      |                       ^~~~~\n" FIX);
    is_shown("an empty span", saxpy, "z[i];", 0,
             "    3 |     y[i] = a * x[i] + z[i];\n"
             "      |                       ^\n" FIX);
    is_shown("the end of a line", "a;\nb\nc;\n", "\nc", 1,
             "    2 | b\n"
             "      |  ^\n" FIX);
    is_shown("the end of a line with a carriage return", "a;\r\nb\r\nc;\r\n", "\nc", 1,
             "    2 | b\n"
             "      |  ^\n" FIX);
    is_shown("an empty line", "a;\n\nc;\n", "\nc", 1,
             "    2 |\n"
             "      | ^\n" FIX);
    vyre_diagnostic told = about("a;\nb", "b", 0);
    told.offset = 4;
    told.column = 2;
    ok(strstr(shown(&told, "a;\nb", 0), "    2 | b\n      |  ^\n") != NULL,
       "the end of the source");
    told.offset = 0;
    told.line = 1;
    ok(strstr(shown(&told, "", 0), "    1 |\n      | ^\n") != NULL, "an empty source");
}

static void characters(void)
{
    is_shown("tabs go to the next stop", "\tab\tc z\t;\n", "z", 1,
             "    1 |     ab  c z ;\n"
             "      |           ^\n" FIX);
    is_shown("a tab as span", "ab\tc\n", "\t", 1,
             "    1 | ab  c\n"
             "      |   ^~\n" FIX);
    is_shown("characters of several bytes", "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\" z\n", "z", 1,
             "    1 | \"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\" z\n"
             "      |       ^\n" FIX);
    is_shown("a span of them", "\"\xC3\xA4\xE2\x82\xAC\" z\n", "\"", 7,
             "    1 | \"\xC3\xA4\xE2\x82\xAC\" z\n"
             "      | ^~~~\n" FIX);
    is_shown("a mark upon a letter", "/* e\xCC\x81 */ z\n", "z", 1,
             "    1 | /* e\xCC\x81 */ z\n"
             "      |         ^\n" FIX);
    is_shown("what a terminal would obey", "\033[2J\a\x7F z\n", "z", 1,
             "    1 | ?[2J?? z\n"
             "      |        ^\n" FIX);
    is_shown("the same as characters of two and three bytes",
             "\xC2\x9B"
             "2J \xE2\x80\xAE z\n",
             "z", 1,
             "    1 | ?2J ? z\n"
             "      |       ^\n" FIX);
    is_shown("bytes that are not UTF-8", "\xFF\xC3 \xE2\x82 \xC0\x80 z\n", "z", 1,
             "    1 | ?? ?? ?? z\n"
             "      |          ^\n" FIX);
    is_shown("one of them as span, the last of the source", "a \xE2", "\xE2", 1,
             "    1 | a ?\n"
             "      |   ^\n" FIX);
    vyre_diagnostic told = about("z", "z", 1);
    told.message = "a\033[31m\nb";
    told.file = "a\nb";
    is_str(shown(&told, "z", 0), "a?b:1:1: error: a?[31m?b [L020]\n    1 | z\n      | ^\n" FIX,
           "messages and file names do not reach the terminal either");
}

/* A line of `length` characters, all 'a' but for a z. */
static const char *line_with_z(size_t length, size_t at)
{
    static char line[4096];
    memset(line, 'a', length);
    line[at] = 'z';
    line[length] = '\n';
    line[length + 1] = '\0';
    return line;
}

static void long_lines(void)
{
    char expected[600], text[128], waves[128];
    memset(text, 'a', sizeof text);
    memset(waves, '~', sizeof waves);
    snprintf(expected, sizeof expected, "    1 | %.99sz\n      | %*s\n" FIX, text, 100, "^");
    is_shown("100 characters are shown", line_with_z(100, 99), "z", 1, expected);
    snprintf(expected, sizeof expected, "    1 | z%.99s...\n      | ^\n" FIX, text);
    is_shown("of 101 the end is cut", line_with_z(101, 0), "z", 1, expected);
    snprintf(expected, sizeof expected, "    1 | ...%.99sz\n      | %*s\n" FIX, text, 103, "^");
    is_shown("or the start", line_with_z(101, 100), "z", 1, expected);
    snprintf(expected, sizeof expected, "    1 | ...%.40sz%.59s...\n      | %*s\n" FIX, text, text,
             44, "^");
    is_shown("or both", line_with_z(3000, 1500), "z", 1, expected);
    snprintf(expected, sizeof expected, "    1 | ...%.40sz%.59s...\n      | %*s%.59s\n" FIX, text,
             text, 44, "^", waves);
    is_shown("a span that is longer than the window", line_with_z(3000, 1500), "z", 700, expected);
    snprintf(expected, sizeof expected, "    1 | ...%.100s\n      | %*s\n" FIX, text, 104, "^");
    const char *line = line_with_z(3000, 1);
    is_shown("the end of a long line", line, "\n", 1, expected);
}

static void refusals(void)
{
    struct sink sink = {.used = 0};
    vyre_diagnostic told = about(saxpy, "z[i]", 1);
    size_t length = sizeof saxpy - 1;
    vyre_error err;
    refused(vyre_diagnostic_write(NULL, saxpy, length, 0, keep, &sink, &err), VYRE_E_NULL, &err,
            "no diagnostic");
    refused(vyre_diagnostic_write(&told, NULL, length, 0, keep, &sink, &err), VYRE_E_NULL, &err,
            "no source");
    refused(vyre_diagnostic_write(&told, saxpy, length, 0, NULL, &sink, &err), VYRE_E_NULL, &err,
            "no writer");
    refused(vyre_diagnostic_write(&told, saxpy, length, 2, keep, &sink, &err), VYRE_E_RANGE, &err,
            "an unknown style");
    told.length = length - told.offset + 1;
    refused(vyre_diagnostic_write(&told, saxpy, length, 0, keep, &sink, &err), VYRE_E_RANGE, &err,
            "a span past the end");
    told.length = 1;
    told.offset = length + 1;
    refused(vyre_diagnostic_write(&told, saxpy, length, 0, keep, &sink, &err), VYRE_E_RANGE, &err,
            "a span behind the end");
    told = about(saxpy, "z[i]", 1);
    told.message = NULL;
    refused(vyre_diagnostic_write(&told, saxpy, length, 0, keep, &sink, &err), VYRE_E_NULL, &err,
            "no message");
    told = about(saxpy, "z[i]", 1);
    told.code = NULL;
    refused(vyre_diagnostic_write(&told, saxpy, length, 0, keep, &sink, &err), VYRE_E_NULL, &err,
            "no code");
    is_u64(sink.calls, 0, "nothing was written");
    told = about(saxpy, "z[i]", 1);
    sink.stop_at = 1;
    refused(vyre_diagnostic_write(&told, saxpy, length, 0, keep, &sink, &err), VYRE_E_SYSTEM, &err,
            "a writer that says no");
    char long_text[2000];
    memset(long_text, 'm', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    told.message = long_text;
    sink = (struct sink){.stop_at = 2};
    refused(vyre_diagnostic_write(&told, saxpy, length, 0, keep, &sink, &err), VYRE_E_SYSTEM, &err,
            "one that says it later");
    is_u64(sink.calls, 2, "it is not called again");
    ok(vyre_diagnostic_write(&told, saxpy, length, 0, keep, &(struct sink){.stop_at = 1}, NULL) ==
           VYRE_E_SYSTEM,
       "nobody need hear why");
}

int main(void)
{
    whole();
    spans();
    characters();
    long_lines();
    refusals();
    return done();
}
