/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The text that `vyre demo` searches, in a pinned buffer: a file of the user's, read straight into
 * it, or a generated one. Called by the tour before and in its chapter on searching.
 */
#include "demo.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GENERATED_BYTES = 16 << 20, LARGEST_BYTES = 256 << 20, LONGEST_PATTERN = 64 };

static int unreadable(const char *path, const char *why)
{
    char message[400];

    snprintf(message, sizeof message, "cannot read `%s`: %s", path, why);
    cli_complain(message, NULL, "name a readable regular file after --file, or leave it out");
    return CLI_EXIT_IO;
}

int tour_text_check(struct tour *tour)
{
    const char *path = tour->args->file;
    const char *pattern = tour->args->pattern == NULL ? "needle" : tour->args->pattern;
    struct stat status;

    if (*pattern == '\0' || strlen(pattern) > LONGEST_PATTERN) {
        char message[80];
        snprintf(message, sizeof message, "--pattern takes 1 to %d bytes, not %zu", LONGEST_PATTERN,
                 strlen(pattern));
        cli_complain(message, NULL, NULL);
        return CLI_EXIT_MISUSE;
    }
    tour->pattern = pattern;
    if (path == NULL) return CLI_EXIT_DONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return unreadable(path, strerror(errno));
    int code = CLI_EXIT_DONE;
    if (fstat(fd, &status) != 0)
        code = unreadable(path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        code = unreadable(path, "it is not a regular file");
    close(fd);
    return code;
}

static int make_buffer(struct tour *tour, size_t bytes)
{
    void *memory = NULL;

    TOUR_TRY(tour,
             vyre_buffer_create(tour->runtime, bytes == 0 ? 1 : bytes, VYRE_PINNED,
                                &tour->text_buffer, &tour->err),
             "cannot make a pinned buffer for the text");
    TOUR_TRY(tour, vyre_buffer_map(tour->text_buffer, &memory, &tour->err),
             "cannot map the text's buffer");
    tour->text = memory;
    tour->text_bytes = bytes;
    return CLI_EXIT_DONE;
}

/* Reads until the buffer is full or the file ends: it may have become shorter. */
static int read_file(struct tour *tour, int fd)
{
    size_t have = 0;

    while (have < tour->text_bytes) {
        ssize_t got = read(fd, tour->text + have, tour->text_bytes - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return unreadable(tour->args->file, strerror(errno));
        if (got == 0) break;
        have += (size_t)got;
    }
    tour->text_bytes = have;
    return CLI_EXIT_DONE;
}

static int load_file(struct tour *tour)
{
    struct stat status;
    int fd = open(tour->args->file, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return unreadable(tour->args->file, strerror(errno));
    int code = CLI_EXIT_DONE;
    if (fstat(fd, &status) != 0) code = unreadable(tour->args->file, strerror(errno));
    if (code == CLI_EXIT_DONE) {
        off_t size = status.st_size < LARGEST_BYTES ? status.st_size : LARGEST_BYTES;
        code = make_buffer(tour, (size_t)size);
    }
    if (code == CLI_EXIT_DONE) code = read_file(tour, fd);
    close(fd);
    return code;
}

/* Words from a fixed seed, so that every run searches the same text; now and then one of them is
 * the pattern. */
static void generate(char *text, size_t bytes, const char *pattern)
{
    static const char *const words[] = {"hay",    "straw", "need", "field", "nee",  "stack",
                                        "noodle", "wind",  "barn", "seed",  "reed", "\n"};
    uint64_t state = 0x9E3779B97F4A7C15u;
    size_t at = 0;

    while (at < bytes) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const char *word = (state >> 20) % 5000 == 0 ? pattern : words[(state >> 40) % 12];
        size_t len = strlen(word);
        if (len > bytes - at) len = bytes - at;
        memcpy(text + at, word, len);
        at += len;
        if (at < bytes) text[at++] = ' ';
    }
}

int tour_text_load(struct tour *tour)
{
    if (tour->args->file != NULL) return load_file(tour);
    TOUR_STEP(make_buffer(tour, GENERATED_BYTES));
    generate(tour->text, tour->text_bytes, tour->pattern);
    return CLI_EXIT_DONE;
}
