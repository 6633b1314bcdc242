/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Runs a fuzz target over the files and directories named on the command line, where libFuzzer is
 * not linked, so that corpora are replayed by every compiler and under every sanitizer.
 *
 * The invariant: exit code 0 means that at least one input was read whole and none crashed; a path
 * that cannot be read, or no input at all, is 1.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int complain(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return -1;
}

/* The input lies in a block of exactly its size, so that a sanitizer sees a read past its end. */
static int replay_file(const char *path, size_t size)
{
    uint8_t *data = malloc(size ? size : 1);
    FILE *file = fopen(path, "rb");
    int result = -1;
    if (!data || !file || fread(data, 1, size, file) != size) {
        complain(path);
    } else {
        uint8_t *exact = size ? data : data + 1;
        LLVMFuzzerTestOneInput(exact, size);
        result = 1;
    }
    if (file) fclose(file);
    free(data);
    return result;
}

static int replay(const char *path);

static int replay_directory(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) return complain(path);
    int total = 0;
    for (int i = 0; i < count; i++) {
        char name[4096];
        int length = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && total >= 0) {
            errno = ENAMETOOLONG;
            int got = length < (int)sizeof name ? replay(name) : complain(path);
            total = got < 0 ? -1 : total + got;
        }
        free(entries[i]);
    }
    free(entries);
    return total;
}

/* Returns how many inputs were run, or -1. */
static int replay(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return complain(path);
    if (S_ISDIR(info.st_mode)) return replay_directory(path);
    return replay_file(path, (size_t)info.st_size);
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int got = replay(argv[i]);
        if (got < 0) return 1;
        total += got;
    }
    printf("%d inputs replayed\n", total);
    if (total == 0) fprintf(stderr, "usage: %s <file or directory>...\n", argv[0]);
    return total == 0;
}
