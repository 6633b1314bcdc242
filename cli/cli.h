/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of the command `vyre` share: the parsed command line, the table behind it, and the
 * ways to print. Everything here is for the command alone; it stands on the public API of libvyre.
 */
#ifndef VYRE_CLI_H
#define VYRE_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "vyre/stream.h"
#include "vyre/vyre.h"

/* Names from options.def. table.h has the rows.
 * ------------------------------------------------------------------------------------------- */

enum cli_command {
#define CLI_COMMAND(name, words, handler, operands, summary, about) CLI_COMMAND_##name,
#include "options.def"
    CLI_COMMANDS
};

/** What the process returns; exit codes are documented in the manual page. */
enum cli_exit {
#define CLI_EXIT(name, code, text) CLI_EXIT_##name = (code),
#include "options.def"
    CLI_EXIT_LAST_ = 255
};

/** Words of the command line in the order given: the operands, or the values of an option that may
 * be given several times. */
struct cli_list {
    const char **item;
    size_t count;
};

/** The parsed command line. Fields of options that the command does not take hold their defaults.
 */
struct cli_args {
    uint32_t command;    /**< enum cli_command; CLI_COMMANDS where none was named */
    char group[64];      /**< then the first words of several commands, such as "bench", or "" */
    uint32_t backend;    /**< enum vyre_backend */
    uint32_t place;      /**< enum vyre_place */
    uint32_t workers;    /**< VYRE_DEFAULT where it was not given */
    uint32_t elements;   /**< of the largest problem; VYRE_DEFAULT where it was not given */
    uint32_t color;      /**< enum cli_color */
    int json;            /**< 1: JSON Lines on stdout and nothing else there */
    int help;            /**< 1: -h was given */
    int long_help;       /**< 1: --help was given */
    int version;         /**< 1: --version was given */
    int quick;           /**< 1: shorter measurements in the tour */
    double seconds;      /**< for one measurement */
    int pin;             /**< 1: measuring threads stay on CPUs of their own */
    const char *device;  /**< NULL: the first GPU */
    const char *host;    /**< NULL: the usual vyre-host */
    const char *only;    /**< NULL: every line */
    const char *file;    /**< NULL: a generated text */
    const char *pattern; /**< NULL: the tour's own */
    struct cli_list operands; /**< what stands after the command: files, or a directory */
    int explain;              /**< 1: the whole report */
    int no_subgroups;         /**< 1: refuse subgroup operations */
    int program;              /**< 1: statements instead of bytecode */
    int strict;               /**< 1: an access out of bounds is a fault */
    int check;                /**< 1: change nothing, only report */
    const char *output;       /**< NULL: the name of the source with .vir */
    const char *kernel;       /**< NULL: the only one */
    const char *grid;         /**< "X,Y,Z"; NULL: as VIR0's rule says */
    const char *filter;       /**< NULL: every case */
    struct cli_list in;       /**< NAME=FILE */
    struct cli_list out;      /**< NAME=FILE */
    struct cli_list set;      /**< NAME=VALUE */
    struct cli_list size;     /**< NAME=ELEMENTS */
    double timeout;           /**< seconds; 0: none */
    uint64_t chunk;           /**< bytes of a chunk */
    uint32_t depth;           /**< chunks */
    int lines;                /**< 1: no line is cut */
    uint64_t record;          /**< bytes of a record, which is not cut; 0: none */
    uint64_t overlap;         /**< bytes that a chunk has in common with the one before */
    uint32_t io;              /**< enum vyre_stream_io */
    int direct;               /**< 1: past the page cache where that is possible */
    int follow;               /**< 1: symbolic links in a tree are followed */
    int merge;                /**< 1: small files share a run */
    int unordered;            /**< 1: results as they come */
    uint32_t as;              /**< enum cli_form: how results are shown */
    int verbose;              /**< 1: more talk */
    int quiet;                /**< 1: no report */
    const char *dir;          /**< where files are made; NULL: the usual place for such */
    uint64_t bytes;           /**< of the file that is read */
    uint32_t files;           /**< of the tree that is read */
    const char *control;      /**< NULL: not given, as the next four */
    const char *ring;
    const char *windows; /**< opcodes, parted by commas */
    const char *previous_control;
    const char *previous_ring;
};

/** How results are shown; the words of --as. */
enum cli_form {
    CLI_FORM_AUTO,
    CLI_FORM_VALUES,
    CLI_FORM_HEX,
    CLI_FORM_U64,
    CLI_FORM_I64,
    CLI_FORM_RAW
};

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

/* The subcommands: each returns an exit code. stdout is flushed and checked after they return; one
 * that takes long also calls cli_flush after each line.
 * ------------------------------------------------------------------------------------------- */

int vyre_cli_info(const struct cli_args *args);
int vyre_cli_demo(const struct cli_args *args);
int vyre_cli_bench_dispatch(const struct cli_args *args);
int vyre_cli_bench_vm(const struct cli_args *args);
int vyre_cli_build(const struct cli_args *args);
int vyre_cli_fmt(const struct cli_args *args);
int vyre_cli_verify(const struct cli_args *args);
int vyre_cli_dis(const struct cli_args *args);
int vyre_cli_exec(const struct cli_args *args);
int vyre_cli_stream(const struct cli_args *args);
int vyre_cli_bench_ingest(const struct cli_args *args);
int vyre_cli_conform(const struct cli_args *args);
int vyre_cli_snapshot(const struct cli_args *args);
int vyre_cli_bench_telemetry(const struct cli_args *args);

/** How a command opens its runtime: the defaults, with what the command line says (open.c). */
vyre_options cli_runtime_options(const struct cli_args *args);

/** The same for a command that runs a program once: `auto` is the CPU, unless a GPU is named. */
vyre_options cli_program_options(const struct cli_args *args);

/** Whether `auto` was the CPU there, without a look at what the machine has. */
int cli_auto_is_cpu(const struct cli_args *args);

/* Printing (output.c). stdout is data, stderr is talk.
 * ------------------------------------------------------------------------------------------- */

/** How a piece of text looks; all of them empty strings where there is no colour. */
enum cli_tone {
    CLI_TONE_OFF,   /**< back to plain */
    CLI_TONE_TITLE, /**< headings */
    CLI_TONE_QUIET, /**< what may be overlooked */
    CLI_TONE_GOOD,
    CLI_TONE_WARN,
    CLI_TONE_BAD
};

/** The escape sequence that starts a tone on stdout or stderr; "" where that stream has no colour.
 */
const char *cli_tone(FILE *stream, enum cli_tone tone);

/** Writes out what stands in stdout's buffer. 0, or -1 when nobody can read it any more: then the
 * command may as well end, with any exit code; the right one is found after it returned. */
int cli_flush(void);

/** Writes down that something which is not stdio could not write to stdout, and why; returns
 * CLI_EXIT_IO. It is told when stdout is closed. */
int cli_write_failed(int error);

/** Shows one line in place of the last one on stderr, if that is a terminal; NULL takes it away. */
void cli_progress(const char *line);

/** One complaint in the form that all of them have; `at` and `fix` may be NULL or empty. */
void cli_complain(const char *message, const char *at, const char *fix);

/** The same for what is no failure: one line on stderr that begins with "vyre: warning:". */
void cli_warn(const char *message);

/** Writes text that comes from outside: control characters become question marks, so that one line
 * stays one line. */
void cli_put_clean(FILE *stream, const char *text);

/** Where an error lies, such as "byte 40"; "" where it does not say. Returns `text`. */
const char *cli_place_text(const vyre_error *err, char text[48]);

/** Shows a failed call's error, after what the command was doing ("cannot open a queue"), and
 * returns the exit code that fits its status. */
int cli_fail(const char *doing, const vyre_error *err);

/** Writes a number with three digits and a decimal prefix, such as "48.2 M", and returns `text`. */
const char *cli_format_si(double value, char *text, size_t size);

/** The same with a unit to follow it at once, such as "48.2 M" or "512 ". */
const char *cli_format_rate(double value, char *text, size_t size);

/** Writes a time such as "1.84 us". */
const char *cli_format_ns(double ns, char *text, size_t size);

/** Writes a size such as "8.0 MiB". */
const char *cli_format_bytes(double bytes, char *text, size_t size);

/** The same without rounding, for what has a limit. */
const char *cli_format_exact(uint64_t bytes, char *text, size_t size);

/** The end of a noun: "" for one, "s" else. */
const char *cli_plural(uint64_t count);

/* JSON Lines (json.c), always to stdout. A record is begin, members, end. Keys are plain ASCII and
 * written as they are; texts are escaped, and bytes that are not UTF-8 become U+FFFD.
 * ------------------------------------------------------------------------------------------- */

/** The number of bytes of the UTF-8 character at `text`, or 0 if there is none: truncated,
 * overlong, a surrogate or past U+10FFFF. The zero at the end counts as one. */
size_t cli_utf8_length(const char *text);

/** The first record: {"type":"header","schema":1,"command":...,"version":...}. */
void cli_json_header(const char *command);
void cli_json_begin(const char *type);
void cli_json_text(const char *key, const char *value); /**< NULL is written as null */
void cli_json_count(const char *key, uint64_t value);
void cli_json_number(const char *key, double value); /**< null where it is not finite */
void cli_json_flag(const char *key, int value);
void cli_json_null(const char *key);
void cli_json_end(void);

/** A member that has members: an object for '{', an array for '['. All calls that take a key take
 * NULL between the two of an array. */
void cli_json_open(const char *key, char bracket);
void cli_json_close(char bracket);

#endif
