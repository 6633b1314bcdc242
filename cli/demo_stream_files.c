/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The files that `vyre demo` streams: a text and a tree of small files that it makes, the file that
 * --file names in place of the text if it is not too long for a short tour, and the command itself.
 * What the device is to find in them is found here by plain loops. Called by the tour's chapter on
 * streams.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demo_stream.h"
#include "files.h"

enum { PIECE = 1 << 20, LARGE_BYTES = 32 << 20, QUICK_BYTES = 8 << 20, LARGEST_BYTES = 256 << 20 };

static int complain(const char *doing, const char *path)
{
    char message[200];

    snprintf(message, sizeof message, "cannot %s: %s", doing, strerror(errno));
    cli_complain(message, path, "set TMPDIR to a directory that can be written");
    return CLI_EXIT_IO;
}

static uint64_t count_lines(const unsigned char *bytes, size_t length)
{
    uint64_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += bytes[i] == '\n';
    return count;
}

/* Words of small letters, and a line's end now and then. */
static void fill(unsigned char *bytes, size_t length, uint64_t *random)
{
    static const char letters[] = "etaoinshrdlu    \n";

    for (size_t i = 0; i < length; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)letters[(*random >> 33) % (sizeof letters - 1)];
    }
}

static int write_file(const char *path, int flags, const unsigned char *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    size_t done = 0;

    if (fd < 0) return -1;
    while (done < length) {
        ssize_t put = write(fd, bytes + done, length - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) break;
        done += (size_t)put;
    }
    int error = errno;
    int failed = close(fd) != 0 || done < length;
    if (done < length) errno = error;
    return failed ? -1 : 0;
}

/* Looks at a file that was there before; *bytes is how long it is. Returns -1 if that fails. */
static int look_at(const char *path, unsigned char *piece, uint64_t *bytes, uint64_t *lines)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = 0;

    if (fd < 0) return -1;
    *bytes = 0;
    for (;;) {
        got = read(fd, piece, PIECE);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        *bytes += (uint64_t)got;
        *lines += count_lines(piece, (size_t)got);
    }
    close(fd);
    return got < 0 ? -1 : 0;
}

static int make_large(struct tour *tour, struct tour_files *files, unsigned char *piece)
{
    uint64_t random = 3, bytes = tour->args->quick ? QUICK_BYTES : LARGE_BYTES;

    struct stat status;

    if (tour->args->file != NULL && stat(tour->args->file, &status) == 0 &&
        status.st_size <= LARGEST_BYTES) {
        files->large = tour->args->file;
        if (look_at(files->large, piece, &files->large_bytes, &files->lines) != 0)
            return complain("read a file", files->large);
        return CLI_EXIT_DONE;
    }
    /* The same piece again and again: making it is not what the tour is about. */
    fill(piece, PIECE, &random);
    for (uint64_t done = 0; done < bytes; done += PIECE) {
        piece[done / PIECE] ^= 1;
        files->lines += count_lines(piece, PIECE);
        if (write_file(files->large, O_APPEND, piece, PIECE) != 0)
            return complain("write a file", files->large);
    }
    files->large_bytes = bytes;
    return CLI_EXIT_DONE;
}

static int make_tree(struct tour_files *files, unsigned char *piece)
{
    char path[PATH_MAX];
    uint64_t random = 5;

    if (mkdir(files->tree, 0700) != 0) return complain("make a directory", files->tree);
    for (uint32_t i = 0; i < TOUR_FILES; i++) {
        size_t length = 1 + (size_t)(random >> 33) % TOUR_FILE_LONGEST;
        snprintf(path, sizeof path, "%s/%04u", files->tree, (unsigned)i);
        fill(piece, length, &random);
        if (write_file(path, O_TRUNC, piece, length) != 0) return complain("write a file", path);
        for (size_t k = 0; k < length; k++)
            files->sums[i] += piece[k];
        files->lines += count_lines(piece, length);
        files->tree_bytes += length;
    }
    return CLI_EXIT_DONE;
}

int tour_files_make(struct tour *tour, struct tour_files *files)
{
    const char *place = getenv("TMPDIR");
    unsigned char *piece = malloc(PIECE);

    memset(files, 0, sizeof *files);
    if (piece == NULL) return complain("make files", NULL);
    if (place == NULL || *place == '\0' || strlen(place) > PATH_MAX / 2) place = "/tmp";
    snprintf(files->root, sizeof files->root, "%s/vyre-demo-XXXXXX", place);
    int code = CLI_EXIT_DONE;
    if (mkdtemp(files->root) == NULL) {
        files->root[0] = '\0';
        code = complain("make a directory", place);
    }
    if (code == CLI_EXIT_DONE) cli_guard_give(&tour->guard, files->root);
    snprintf(files->tree, sizeof files->tree, "%s/tree", files->root);
    snprintf(files->loud, sizeof files->loud, "%s/loud", files->root);
    snprintf(files->text, sizeof files->text, "%s/text", files->root);
    files->large = files->text;
    if (code == CLI_EXIT_DONE) code = make_large(tour, files, piece);
    if (code == CLI_EXIT_DONE) code = make_tree(files, piece);
    ssize_t len = readlink("/proc/self/exe", files->self, sizeof files->self - 1);
    files->self[len > 0 ? len : 0] = '\0';
    uint64_t lines = 0;
    if (len > 0 && look_at(files->self, piece, &files->self_bytes, &lines) != 0)
        files->self[0] = '\0';
    if (files->self[0] != '\0') files->lines += lines;
    free(piece);
    return code;
}

void tour_files_remove(struct tour_files *files)
{
    if (files->root[0] == '\0') return;
    cli_tree_remove(files->root);
    files->root[0] = '\0';
}

static int same_bytes(FILE *quiet, FILE *loud, uint64_t *bytes)
{
    unsigned char from[16384], to[16384];

    for (;;) {
        size_t got = fread(from, 1, sizeof from, quiet), other = fread(to, 1, sizeof to, loud);
        if (got != other) return 0;
        if (got == 0) return !ferror(quiet) && !ferror(loud);
        for (size_t i = 0; i < got; i++) {
            unsigned capital = from[i] >= 'a' && from[i] <= 'z' ? from[i] - 32u : from[i];
            if (to[i] != capital) return 0;
        }
        *bytes += got;
    }
}

int tour_files_compare(const struct tour_files *files, uint64_t *bytes)
{
    FILE *quiet = fopen(files->large, "re"), *loud = fopen(files->loud, "re");
    int same = 0;

    *bytes = 0;
    if (quiet != NULL && loud != NULL) same = same_bytes(quiet, loud, bytes);
    if (quiet != NULL) fclose(quiet);
    if (loud != NULL) fclose(loud);
    return same;
}
