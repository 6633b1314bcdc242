/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The files that `vyre bench ingest` reads: a large one and a tree of small ones, made in a
 * directory of their own and written to the disk before anything is measured; a guard
 * removes them if this process cannot. Their text is lines of small letters, so that a search has
 * ordinary work to do; the sum of all its words is kept, so that every reader can be checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bench_ingest.h"
#include "files.h"

enum { PIECE = 1 << 20, PER_DIRECTORY = 500 };

static struct ingest_files *files_of(struct bench *bench)
{
    return &((struct ingest_state *)bench->state)->files;
}

static int complain(const char *doing, const char *path)
{
    char message[400];
    int error = errno;

    snprintf(message, sizeof message, "cannot %s: %s", doing, strerror(error));
    cli_complain(message, path,
                 error == ENOSPC ? "use --dir to name another place, or smaller --bytes and --files"
                                 : "use --dir to name a directory that can be written");
    return CLI_EXIT_IO;
}

int ingest_make_root(struct bench *bench)
{
    struct ingest_files *files = files_of(bench);
    const char *place = bench->args->dir;

    if (place == NULL) place = getenv("TMPDIR");
    if (place == NULL || *place == '\0') place = "/tmp";
    if (strlen(place) + 64 > sizeof files->root) {
        errno = ENAMETOOLONG;
        return complain("make a directory", place);
    }
    int code = cli_guard_start(&files->guard);
    if (code != CLI_EXIT_DONE) return code;
    snprintf(files->root, sizeof files->root, "%s/vyre-bench-XXXXXX", place);
    if (mkdtemp(files->root) == NULL) {
        files->root[0] = '\0';
        return complain("make a directory in it", place);
    }
    cli_guard_give(&files->guard, files->root);
    snprintf(files->large, sizeof files->large, "%s/large", files->root);
    snprintf(files->tree, sizeof files->tree, "%s/tree", files->root);
    snprintf(files->list, sizeof files->list, "%s/list", files->root);
    return 0;
}

void ingest_remove_root(struct bench *bench)
{
    struct ingest_files *files = files_of(bench);

    cli_progress("removing the files");
    if (files->root[0] != '\0') cli_tree_remove(files->root);
    files->root[0] = '\0';
    cli_guard_end(&files->guard);
    cli_progress(NULL);
}

/* Room is asked for ahead: a disk that is filled up harms others. */
static int check_room(const struct ingest_files *files, uint64_t bytes)
{
    struct statvfs room;

    if (statvfs(files->root, &room) != 0) return complain("look at its free space", files->root);
    if ((uint64_t)room.f_bavail * room.f_frsize > bytes + bytes / 8) return 0;
    errno = ENOSPC;
    return complain("make files for the benchmark", files->root);
}

/* The next bytes of the text; 64 - 1 letters a line. Returns the sum of their words. */
static uint32_t fill(unsigned char *bytes, size_t length, uint64_t *random)
{
    uint32_t sum = 0, word;

    for (size_t i = 0; i < length; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (unsigned char)(i % 64 == 63 ? '\n' : 'a' + (*random >> 59) % 26);
    }
    for (size_t i = 0; i + 4 <= length; i += 4) {
        memcpy(&word, bytes + i, sizeof word);
        sum += word;
    }
    return sum;
}

static int fill_large(struct ingest_files *files, int fd, uint64_t length)
{
    uint64_t random = 7;
    unsigned char *piece = malloc(PIECE);

    if (piece == NULL) return complain("make a file", files->large);
    uint32_t sum = fill(piece, PIECE, &random);
    /* Every piece begins with its number, so that no two are the same. */
    for (uint64_t done = 0; done < length; done += PIECE) {
        uint32_t first, number = (uint32_t)(done / PIECE);
        memcpy(&first, piece, sizeof first);
        sum += number - first;
        memcpy(piece, &number, sizeof number);
        if (cli_write_all(fd, piece, PIECE) != 0) {
            free(piece);
            return complain("write a file", files->large);
        }
        files->large_sum += sum;
    }
    free(piece);
    files->large_bytes = length;
    return fsync(fd) == 0 ? 0 : complain("write a file to the disk", files->large);
}

int ingest_make_large(struct bench *bench)
{
    struct ingest_files *files = files_of(bench);
    uint64_t length = bench->args->bytes / PIECE * PIECE;

    if (files->large_bytes != 0) return 0;
    int code = check_room(files, length);
    if (code != 0) return code;
    cli_progress("making the large file");
    int fd = open(files->large, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return complain("make a file", files->large);
    code = fill_large(files, fd, length);
    if (close(fd) != 0 && code == 0) code = complain("write a file", files->large);
    return code;
}

/* The tree.
 * ------------------------------------------------------------------------------------------- */

struct planting {
    struct ingest_files *files;
    FILE *list;
    uint64_t random;
    unsigned char bytes[INGEST_FILE_BYTES];
};

static int plant_file(struct planting *planting, const char *directory, uint32_t number)
{
    struct ingest_files *files = planting->files;
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%05u.txt", directory, (unsigned)number);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return complain("make a file", path);
    files->tree_sum += fill(planting->bytes, sizeof planting->bytes, &planting->random);
    int failed = cli_write_all(fd, planting->bytes, sizeof planting->bytes) != 0;
    if (close(fd) != 0 || failed) return complain("write a file", path);
    fwrite(path, 1, strlen(path) + 1, planting->list);
    files->tree_files++;
    return 0;
}

static int plant(struct planting *planting, uint32_t count)
{
    struct ingest_files *files = planting->files;
    char directory[PATH_MAX - 32], line[80];

    if (mkdir(files->tree, 0700) != 0) return complain("make a directory", files->tree);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(directory, sizeof directory, "%s/%04u", files->tree,
                 (unsigned)(i / PER_DIRECTORY));
        if (i % PER_DIRECTORY == 0) {
            snprintf(line, sizeof line, "making the tree: %u of %u files", (unsigned)i,
                     (unsigned)count);
            cli_progress(line);
            if (mkdir(directory, 0700) != 0) return complain("make a directory", directory);
        }
        int code = plant_file(planting, directory, i % PER_DIRECTORY);
        if (code != 0) return code;
    }
    return 0;
}

/* What is still to be written would be written while something is measured. */
static void settle(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    cli_progress("writing the files to the disk");
    if (fd < 0) return;
    (void)syncfs(fd);
    close(fd);
}

int ingest_make_tree(struct bench *bench)
{
    struct ingest_files *files = files_of(bench);
    struct planting *planting;

    if (files->tree_files != 0) return 0;
    int code = check_room(files, (uint64_t)bench->args->files * INGEST_FILE_BYTES);
    if (code != 0) return code;
    planting = calloc(1, sizeof *planting);
    if (planting == NULL) return complain("make a tree", files->tree);
    planting->files = files;
    planting->random = 11;
    planting->list = fopen(files->list, "we");
    code = planting->list == NULL ? complain("make a file", files->list)
                                  : plant(planting, bench->args->files);
    if (planting->list != NULL && fclose(planting->list) != 0 && code == 0)
        code = complain("write a file", files->list);
    free(planting);
    if (code == 0) settle(files->root);
    return code;
}
