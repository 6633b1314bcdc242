/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The part of `vyre info` about streams: the way that a stream would read here, asked of the
 * library itself, reads past the page cache, tried on a file, and reads into a GPU's memory. Called
 * by info.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "info.h"
#include "stream.h"

enum { BLOCK = 4096 };

static void reading(void)
{
    struct info_fact fact = {.type = "stream", .name = "reading", .state = INFO_YES};
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;
    char ring[160];

    if (vyre_stream_probe(NULL, &report, &err) != VYRE_OK) {
        info_missing(&fact, err.message, err.fix);
    } else if (report.io == VYRE_STREAM_IO_PREAD) {
        fact.choice = "pread";
        snprintf(fact.value, sizeof fact.value, "by threads that call pread");
    } else {
        fact.choice = "uring";
        snprintf(fact.value, sizeof fact.value, "by io_uring: %s",
                 stream_ring_text(report.ring, ring));
    }
    snprintf(fact.reason, sizeof fact.reason, "%.*s", (int)sizeof fact.reason - 1, report.choice);
    info_emit(&fact);
}

/* Reads one block of a file without a name past the page cache. 0 or a positive errno. */
static int try_direct(const char *place)
{
    void *block = NULL;
    int error = 0, fd = open(place, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0) return errno;
    if (posix_memalign(&block, BLOCK, BLOCK) != 0) error = ENOMEM;
    if (error == 0) memset(block, 1, BLOCK);
    if (error == 0 && pwrite(fd, block, BLOCK, 0) != BLOCK) error = errno;
    /* A block that has no place on the disk yet would be read from the page cache. */
    if (error == 0 && fsync(fd) != 0) error = errno;
    if (error == 0 && fcntl(fd, F_SETFL, O_DIRECT) != 0) error = errno;
    if (error == 0 && pread(fd, block, BLOCK, 0) != BLOCK) error = errno;
    free(block);
    close(fd);
    return error;
}

static void direct(void)
{
    struct info_fact fact = {.type = "stream", .name = "O_DIRECT", .state = INFO_YES};
    const char *place = getenv("TMPDIR");

    if (place == NULL || *place == '\0') place = "/tmp";
    int error = try_direct(place);
    snprintf(fact.value, sizeof fact.value, "in `%.120s`; each file system decides for itself",
             place);
    if (error != 0) {
        fact.state = INFO_NO;
        snprintf(fact.reason, sizeof fact.reason, "a file in `%.100s` could not be read so: %s",
                 place, strerror(error));
        snprintf(fact.fix, sizeof fact.fix,
                 "keep the files on a file system with O_DIRECT, such as ext4 or xfs, or leave "
                 "--direct out");
        fact.value[0] = '\0';
    }
    info_emit(&fact);
}

static void gpu_direct(void)
{
    struct info_fact fact = {.type = "stream", .name = "GPUDirect", .state = INFO_PLAIN};

    snprintf(fact.value, sizeof fact.value,
             "not used (nvidia-fs is %s): bytes go to pinned host memory, which GPUs see",
             access("/proc/driver/nvidia-fs", F_OK) == 0 ? "loaded" : "not loaded");
    info_emit(&fact);
}

void info_stream(void)
{
    reading();
    direct();
    gpu_direct();
}
