/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Text for people: tones, complaints, the progress line, numbers with units, and the end of stdout.
 * All files of the command print through stdio and these functions. It keeps two promises: a
 * complaint is whole lines of printable text on stderr, and output that could not be written is
 * never taken for success.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
    int color_out, color_err;
    int progress;
    int progress_shown;
    int write_error; /* errno of the first write to stdout that failed */
} output;

void cli_output_prepare(void)
{
    /* A closed descriptor would be given to the next file opened, and we would write into that. A
     * descriptor open the wrong way round fails every use instead. */
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        if (open("/dev/null", fd == 1 ? O_RDONLY : O_WRONLY) != fd) _exit(CLI_EXIT_IO);
    }
    signal(SIGPIPE, SIG_IGN);
}

void cli_output_set_color(uint32_t color)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    int dumb = term == NULL || strcmp(term, "dumb") == 0;
    int wanted = color == CLI_COLOR_AUTO && !dumb && (no_color == NULL || *no_color == '\0');

    output.color_out = color == CLI_COLOR_ALWAYS || (wanted && isatty(STDOUT_FILENO));
    output.color_err = color == CLI_COLOR_ALWAYS || (wanted && isatty(STDERR_FILENO));
    output.progress = !dumb && isatty(STDERR_FILENO);
}

const char *cli_tone(FILE *stream, enum cli_tone tone)
{
    static const char *const codes[] = {
        [CLI_TONE_OFF] = "\033[0m",   [CLI_TONE_TITLE] = "\033[1m", [CLI_TONE_QUIET] = "\033[2m",
        [CLI_TONE_GOOD] = "\033[32m", [CLI_TONE_WARN] = "\033[33m", [CLI_TONE_BAD] = "\033[31m",
    };

    return (stream == stderr ? output.color_err : output.color_out) ? codes[tone] : "";
}

int cli_flush(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    if (output.write_error == 0) output.write_error = errno != 0 ? errno : EIO;
    return -1;
}

int cli_write_failed(int error)
{
    if (output.write_error == 0) output.write_error = error != 0 ? error : EIO;
    return CLI_EXIT_IO;
}

/* How much of a progress line fits: one that wraps is not erased as a whole. */
static int progress_room(void)
{
    struct winsize window;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col < 2) return 79;
    return window.ws_col - 1;
}

void cli_progress(const char *line)
{
    if (!output.progress) return;
    if (line == NULL && !output.progress_shown) return;
    /* What was printed must not be drawn over the progress line, nor be erased with it. */
    cli_flush();
    fprintf(stderr, "\r\033[K%s%.*s%s", cli_tone(stderr, CLI_TONE_QUIET), progress_room(),
            line == NULL ? "" : line, cli_tone(stderr, CLI_TONE_OFF));
    fflush(stderr);
    output.progress_shown = line != NULL;
}

void cli_put_clean(FILE *stream, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        fputc(c < 0x20 || c == 0x7f ? '?' : c, stream);
    }
}

static void put_clean(const char *text)
{
    cli_put_clean(stderr, text);
    fputc('\n', stderr);
}

void cli_complain(const char *message, const char *at, const char *fix)
{
    const char *quiet = cli_tone(stderr, CLI_TONE_QUIET);
    const char *off = cli_tone(stderr, CLI_TONE_OFF);

    cli_progress(NULL);
    cli_flush();
    fprintf(stderr, "vyre: %serror:%s ", cli_tone(stderr, CLI_TONE_BAD), off);
    put_clean(message);
    if (at != NULL && *at != '\0') {
        fprintf(stderr, "  %sat:%s  ", quiet, off);
        put_clean(at);
    }
    if (fix != NULL && *fix != '\0') {
        fprintf(stderr, "  %sfix:%s ", quiet, off);
        put_clean(fix);
    }
}

void cli_warn(const char *message)
{
    cli_progress(NULL);
    cli_flush();
    fprintf(stderr, "vyre: %swarning:%s ", cli_tone(stderr, CLI_TONE_WARN),
            cli_tone(stderr, CLI_TONE_OFF));
    put_clean(message);
}

static int exit_code_of(vyre_status status)
{
    switch (status) {
    case VYRE_E_UNSUPPORTED:
    case VYRE_E_NO_DEVICE:
    case VYRE_E_NO_MEMORY:
    case VYRE_E_SYSTEM:
    case VYRE_E_LIMIT:
    case VYRE_E_NOT_FOUND: /* no vyre-host */
        return CLI_EXIT_ENVIRONMENT;
    case VYRE_E_TIMEOUT:
    case VYRE_E_LOST:
        return CLI_EXIT_LOST;
    default:
        return CLI_EXIT_BUG; /* the command asked for something impossible */
    }
}

const char *cli_place_text(const vyre_error *err, char text[48])
{
    static const char *const places[] = {
        [VYRE_PLACE_BYTE] = "byte",         [VYRE_PLACE_WORD] = "word",
        [VYRE_PLACE_SLOT] = "slot",         [VYRE_PLACE_INSTRUCTION] = "instruction",
        [VYRE_PLACE_ARGUMENT] = "argument",
    };

    text[0] = '\0';
    if (err->place_kind != VYRE_PLACE_NONE && err->place_kind <= VYRE_PLACE_ARGUMENT)
        snprintf(text, 48, "%s %llu", places[err->place_kind], (unsigned long long)err->place);
    return text;
}

int cli_fail(const char *doing, const vyre_error *err)
{
    char message[sizeof err->message + 128], at[48];

    snprintf(message, sizeof message, "%s: %s", doing, err->message);
    cli_complain(message, cli_place_text(err, at), err->fix);
    return exit_code_of(err->status);
}

int cli_output_finish(int code)
{
    cli_progress(NULL);
    cli_flush();
    errno = 0;
    if (fclose(stdout) != 0 && output.write_error == 0) output.write_error = errno;
    if (output.write_error == 0) return code;
    /* A reader that went away knows why; everybody else should hear of it. */
    if (output.write_error != EPIPE) {
        char message[128];
        snprintf(message, sizeof message, "cannot write to standard output: %s",
                 strerror(output.write_error));
        fprintf(stderr, "vyre: %serror:%s ", cli_tone(stderr, CLI_TONE_BAD),
                cli_tone(stderr, CLI_TONE_OFF));
        put_clean(message);
    }
    return CLI_EXIT_IO;
}

const char *cli_format_si(double value, char *text, size_t size)
{
    static const char *const prefix[] = {"", " k", " M", " G", " T"};
    size_t step = 0;

    while (value >= 999.5 && step + 1 < sizeof prefix / sizeof prefix[0]) {
        value /= 1000;
        step++;
    }
    snprintf(text, size, "%.*f%s",
             step == 0 || value >= 99.95 ? 0
             : value >= 9.995            ? 1
                                         : 2,
             value, prefix[step]);
    return text;
}

const char *cli_format_rate(double value, char *text, size_t size)
{
    cli_format_si(value, text, size);
    size_t len = strlen(text);
    if (strchr(text, ' ') == NULL && len + 1 < size) memcpy(text + len, " ", 2);
    return text;
}

const char *cli_format_ns(double ns, char *text, size_t size)
{
    static const char *const unit[] = {"ns", "us", "ms", "s"};
    size_t step = 0;

    while (ns >= 999.5 && step + 1 < sizeof unit / sizeof unit[0]) {
        ns /= 1000;
        step++;
    }
    snprintf(text, size, "%.*f %s",
             step == 0 || ns >= 99.95 ? 0
             : ns >= 9.995            ? 1
                                      : 2,
             ns, unit[step]);
    return text;
}

const char *cli_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

const char *cli_format_bytes(double bytes, char *text, size_t size)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t step = 0;

    while (bytes >= 1023.95 && step + 1 < sizeof unit / sizeof unit[0]) {
        bytes /= 1024;
        step++;
    }
    int whole = step == 0 || bytes - (double)(uint64_t)bytes < 0.05;
    snprintf(text, size, "%.*f %s", whole ? 0 : 1, bytes, unit[step]);
    if (strcmp(text, "1 bytes") == 0) snprintf(text, size, "1 byte");
    return text;
}

const char *cli_format_exact(uint64_t bytes, char *text, size_t size)
{
    static const char *const unit[] = {"byte", "KiB", "MiB", "GiB", "TiB"};
    size_t step = 0;

    while (bytes != 0 && bytes % 1024 == 0 && step + 1 < sizeof unit / sizeof unit[0]) {
        bytes /= 1024;
        step++;
    }
    snprintf(text, size, "%llu %s%s", (unsigned long long)bytes, unit[step],
             step == 0 ? cli_plural(bytes) : "");
    return text;
}
