/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads and writes whole files for the subcommands that take paths. Pipes work like files; what
 * could not be read or written wholly is always a complaint.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_ROOM = 64 << 10 };

static int complain(const char *verb, const char *path, const char *at, int error)
{
    char message[400];
    int standard = strcmp(path, "-") == 0;

    if (standard)
        snprintf(message, sizeof message, "cannot %s standard %s: %s", verb,
                 strcmp(verb, "read") == 0 ? "input" : "output", strerror(error));
    else
        snprintf(message, sizeof message, "cannot %s `%.300s`: %s", verb, path, strerror(error));
    cli_complain(message, at, NULL);
    return error == ENOMEM ? CLI_EXIT_ENVIRONMENT : CLI_EXIT_IO;
}

/* Room for what the file says it holds and one byte more, so that its end is found by one read. */
static size_t first_room(int fd, size_t limit)
{
    struct stat status;
    size_t room = FIRST_ROOM;

    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        room = (size_t)status.st_size + 1;
    return limit != CLI_NO_LIMIT && room > limit + 1 ? limit + 1 : room;
}

/* Returns an errno value, or 0. */
static int read_all(int fd, size_t limit, struct cli_bytes *bytes)
{
    size_t room = first_room(fd, limit), have = 0;
    unsigned char *data = malloc(room);
    int error = data == NULL ? ENOMEM : 0;

    while (error == 0 && have <= limit) {
        if (have == room) {
            unsigned char *more = room > SIZE_MAX / 2 ? NULL : realloc(data, 2 * room);
            if (more == NULL) {
                error = ENOMEM;
                break;
            }
            data = more;
            room *= 2;
        }
        ssize_t got = read(fd, data + have, room - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = errno;
        if (got <= 0) break;
        have += (size_t)got;
    }
    if (error != 0) {
        free(data);
        return error;
    }
    bytes->data = data;
    bytes->length = limit != CLI_NO_LIMIT && have > limit ? limit + 1 : have;
    return 0;
}

int cli_file_read(const char *path, size_t limit, const char *at, struct cli_bytes *bytes)
{
    int standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) return complain("read", path, at, errno);
    int error = read_all(fd, limit, bytes);
    if (!standard) close(fd);
    return error == 0 ? CLI_EXIT_DONE : complain("read", path, at, error);
}

int cli_file_exists(const char *path)
{
    return access(path, F_OK) == 0 || errno != ENOENT;
}

int cli_file_is(const char *path, const struct stat *other)
{
    struct stat status;
    int error = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &status) : stat(path, &status);

    return error == 0 && S_ISREG(other->st_mode) && status.st_dev == other->st_dev &&
           status.st_ino == other->st_ino;
}

int cli_file_is_stdout(const char *path)
{
    struct stat status, standard;

    if (strcmp(path, "-") == 0) return 1;
    if (stat(path, &status) != 0 || fstat(STDOUT_FILENO, &standard) != 0) return 0;
    return !S_ISCHR(status.st_mode) && status.st_dev == standard.st_dev &&
           status.st_ino == standard.st_ino;
}

int cli_write_all(int fd, const void *data, size_t length)
{
    const unsigned char *from = data;
    size_t done = 0;

    while (done < length) {
        ssize_t put = write(fd, from + done, length - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        done += (size_t)put;
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    (void)remove(path);
    return 0;
}

static int remove_near(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    if (type == FTW_F || type == FTW_SL) (void)remove(path);
    return type == FTW_D && where->level > 0 ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
}

void cli_tree_remove(const char *path)
{
    /* A tree of many files takes its time; large ones beside it need not wait for that. */
    (void)nftw(path, remove_near, 16, FTW_PHYS | FTW_ACTIONRETVAL);
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *cli_file_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? strdup(".") : strndup(path, (size_t)(slash - path) + 1);
}

/* Where a file that is not there would be made: its folder and name, links followed as far as they
 * lead. 0 if that cannot be told. */
static int place_of_new(const char *path, char place[PATH_MAX])
{
    /* Of what is missing glibc leaves the first part, whose folder is there. */
    return realpath(path, place) == NULL && errno == ENOENT && place[0] == '/';
}

/* An errno value if no file can be made there, or 0. */
static int folder_refuses(const char *path)
{
    char place[PATH_MAX] = "";
    struct stat status;
    const char *at = path;

    if (lstat(path, &status) == 0 && place_of_new(path, place)) at = place; /* behind a link */
    char *folder = cli_file_folder(at);
    int error = folder == NULL ? ENOMEM : 0;

    if (error == 0 && access(folder, W_OK | X_OK) != 0) error = errno;
    free(folder);
    return error;
}

int cli_file_same_new(const char *a, const char *b)
{
    char first[PATH_MAX] = "", second[PATH_MAX] = "";

    return place_of_new(a, first) && place_of_new(b, second) && strcmp(first, second) == 0;
}

int cli_file_writable(const char *path)
{
    struct stat status;
    size_t length = strlen(path);
    int error = stat(path, &status) == 0 ? 0 : errno;

    if (error == 0 && S_ISDIR(status.st_mode))
        error = EISDIR;
    else if (error == 0 && access(path, W_OK) != 0)
        error = errno;
    else if (error == ENOENT && length > 0 && path[length - 1] != '/')
        error = folder_refuses(path);
    return error == 0 ? CLI_EXIT_DONE : complain("write", path, NULL, error);
}

int cli_file_write(const char *path, const void *data, size_t length)
{
    if (strcmp(path, "-") == 0) {
        /* Whether it got through is found when stdout is closed. */
        fwrite(data, 1, length, stdout);
        return cli_flush() == 0 ? CLI_EXIT_DONE : CLI_EXIT_IO;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return complain("write", path, NULL, errno);
    int error = cli_write_all(fd, data, length);
    if (close(fd) != 0 && error == 0) error = errno;
    return error == 0 ? CLI_EXIT_DONE : complain("write", path, NULL, error);
}

/* Writes a new file beside the old one and gives it the old one's name. Returns an errno value, or
 * 0. */
static int replace(const char *path, const void *data, size_t length)
{
    static const char tail[] = ".XXXXXX";
    struct stat status;
    size_t len = strlen(path);

    if (stat(path, &status) != 0) return errno;
    char *beside = malloc(len + sizeof tail);
    if (beside == NULL) return ENOMEM;
    memcpy(beside, path, len);
    memcpy(beside + len, tail, sizeof tail);
    int fd = mkstemp(beside);
    int error = fd < 0 ? errno : cli_write_all(fd, data, length);
    /* The owner too, where we may; before the mode, some of which it would take away. */
    if (error == 0 && fchown(fd, status.st_uid, status.st_gid) != 0 && errno != EPERM)
        error = errno;
    if (error == 0 && fchmod(fd, status.st_mode & 07777) != 0) error = errno;
    /* The new name must not be on the disk before the bytes are. */
    if (error == 0 && fsync(fd) != 0) error = errno;
    if (fd >= 0 && close(fd) != 0 && error == 0) error = errno;
    if (error == 0 && rename(beside, path) != 0) error = errno;
    if (error != 0 && fd >= 0) unlink(beside);
    free(beside);
    return error;
}

int cli_file_replace(const char *path, const void *data, size_t length)
{
    char *real = realpath(path, NULL);
    int error = real == NULL ? errno : replace(real, data, length);

    free(real);
    return error == 0 ? CLI_EXIT_DONE : complain("write", path, NULL, error);
}
