/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * cuFile, the library that NVIDIA offers for reading files into a GPU's memory: one thread reads a
 * file again and again, block after block, into a registered buffer on the device. Where the module
 * nvidia-fs is missing, cuFile reads through the host by itself; it does not say so, and neither
 * can this. The last block is compared with the file. libcufile is opened at run time.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "cuda_peers.h"

enum { BLOCK = 1 << 20, OPAQUE_FD = 1, OPEN_FLAGS = O_RDONLY | O_CLOEXEC };

/* Of cufile.h, what is used here. */
struct cufile_error {
    int err; /* 0: none */
    int cu_err;
};

struct cufile_description {
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
};

static struct {
    struct cufile_error (*open)(void);
    struct cufile_error (*handle_register)(void **handle, struct cufile_description *description);
    void (*handle_deregister)(void *handle);
    struct cufile_error (*buffer_register)(const void *memory, size_t bytes, int flags);
    ssize_t (*read)(void *handle, void *memory, size_t bytes, off_t offset, off_t at);
} cufile;

static const char *open_library(void)
{
    static const struct {
        const char *name;
        void *place;
    } symbols[] = {
        {"cuFileDriverOpen", &cufile.open},
        {"cuFileHandleRegister", &cufile.handle_register},
        {"cuFileHandleDeregister", &cufile.handle_deregister},
        {"cuFileBufRegister", &cufile.buffer_register},
        {"cuFileRead", &cufile.read},
    };
    void *library = dlopen("libcufile.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return "no libcufile.so.0: install libcufile of the CUDA toolkit";
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (symbol == NULL) return "libcufile.so.0 lacks a function: it is too old";
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    return NULL;
}

static const char *failed(const char *call, struct cufile_error error)
{
    static char text[128];
    if (error.err == 0) return NULL;
    snprintf(text, sizeof text, "%s gives error %d (driver %d)", call, error.err, error.cu_err);
    return text;
}

/* The file as cuFile wants it, and what is read of it. */
struct subject {
    int fd;
    void *handle;
    uint64_t memory; /* on the device */
    uint64_t blocks;
};

static const char *prepare(const char *path, struct subject *subject)
{
    struct cufile_description description = {0};
    struct stat status;
    const char *why = failed("cuFileDriverOpen", cufile.open());
    if (why != NULL) return why;
    subject->fd = open(path, OPEN_FLAGS | O_DIRECT);
    if (subject->fd < 0) subject->fd = open(path, OPEN_FLAGS);
    if (subject->fd < 0 || fstat(subject->fd, &status) != 0) return "the file cannot be opened";
    subject->blocks = (uint64_t)status.st_size / BLOCK;
    if (subject->blocks == 0) return "the file is shorter than a block";
    description.type = OPAQUE_FD;
    description.handle.fd = subject->fd;
    why = failed("cuFileHandleRegister", cufile.handle_register(&subject->handle, &description));
    if (why == NULL) why = cuda_failed("cuMemAlloc", cuda.cuMemAlloc_v2(&subject->memory, BLOCK));
    if (why == NULL)
        why = failed("cuFileBufRegister",
                     cufile.buffer_register((void *)(uintptr_t)subject->memory, BLOCK, 0));
    return why;
}

/* Whether the device holds what stands in the last block. */
static const char *check(const char *path, const struct subject *subject)
{
    unsigned char *device = malloc(BLOCK);
    unsigned char *host = malloc(BLOCK);
    const char *why = device == NULL || host == NULL ? "no memory to check a block" : NULL;
    int fd = open(path, OPEN_FLAGS);
    if (why == NULL)
        why = cuda_failed("cuMemcpyDtoH", cuda.cuMemcpyDtoH_v2(device, subject->memory, BLOCK));
    if (why == NULL && pread(fd, host, BLOCK, (off_t)((subject->blocks - 1) * BLOCK)) != BLOCK)
        why = "the file cannot be read to check a block";
    if (why == NULL && memcmp(device, host, BLOCK) != 0) why = "cuFile read something else";
    if (fd >= 0) close(fd);
    free(device);
    free(host);
    return why;
}

static const char *measure(const struct cuda_peers *peers, const struct subject *subject)
{
    uint64_t begin_ns = bench_clock_ns();
    uint64_t passes = 0;
    uint64_t now_ns = begin_ns;
    do {
        for (uint64_t block = 0; block < subject->blocks; block++) {
            ssize_t got = cufile.read(subject->handle, (void *)(uintptr_t)subject->memory, BLOCK,
                                      (off_t)(block * BLOCK), 0);
            if (got != BLOCK) return "cuFileRead did not read a whole block";
        }
        passes++;
        now_ns = bench_clock_ns();
    } while (now_ns - begin_ns < peers->duration_ns);
    print_figure("cufile",
                 (double)(passes * subject->blocks * BLOCK) * 1e3 / (double)(now_ns - begin_ns),
                 "MB/s");
    return NULL;
}

void measure_cufile(struct cuda_peers *peers, const char *path)
{
    struct subject subject = {-1, NULL, 0, 0};
    const char *why = open_library();
    if (why == NULL) why = prepare(path, &subject);
    if (why == NULL) why = measure(peers, &subject);
    if (why == NULL) why = check(path, &subject);
    if (why != NULL) print_absent("cufile", why);
    if (subject.handle != NULL) cufile.handle_deregister(subject.handle);
    if (subject.fd >= 0) close(subject.fd);
}
