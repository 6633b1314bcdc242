/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A stream in a process that may not do everything: files that it may not read, no io_uring, no
 * memory to lock, few descriptors, small files and file systems to write to. Each case is a process
 * of its own, which gives up its rights before it opens a runtime.
 */
#include "stream_faults.h"

#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHUNK      16384u
#define NOBODY     65534u
#define FIRST_USER 1000000u

/* Runs tests in a process of its own; its results count here. */
static void in_child(const char *name, void (*tests)(void))
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0) bail("a pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) bail("fork");
    if (child == 0) {
        tests();
        fflush(NULL);
        _exit(write(pair[1], &tap, sizeof tap) == (ssize_t)sizeof tap ? 0 : 1);
    }
    close(pair[1]);
    ssize_t got = read(pair[0], &tap, sizeof tap);
    int status = 0;
    close(pair[0]);
    waitpid(child, &status, 0);
    ok(got == (ssize_t)sizeof tap && status == 0, "the process with %s ended as it should", name);
}

/* Becomes somebody without rights. */
static void drop_rights(void)
{
    /* Locked memory is counted by user: one that no other run of this test is. */
    uid_t user = FIRST_USER + (uid_t)getpid();
    if (geteuid() != 0) return;
    if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        (setresuid(user, user, user) != 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0))
        bail("cannot become nobody");
}

static void set_limit(int resource, rlim_t value)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) bail("getrlimit");
    limit.rlim_cur = value;
    if (setrlimit(resource, &limit) != 0) bail("setrlimit");
}

static vyre_stream_report report_of(vyre_stream *stream)
{
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_error err;
    must(vyre_stream_query(stream, &report, &err), &err);
    return report;
}

/* Files that may not be read.
 * ------------------------------------------------------------------------------------------------
 */

static void forbidden(vyre *rt, uint32_t io)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    options.flags = VYRE_STREAM_RECURSE;
    vyre_stream *stream = open_stream(rt, &options);
    add_path(stream, scratch_path("rights"));
    end_sources(stream);
    catch_rest(stream, &caught);
    was_read(&caught, scratch_path("rights/a"), 100, 1);
    has_failed(&caught, scratch_path("rights/b"), EACCES);
    has_failed(&caught, scratch_path("rights/closed"), EACCES);
    was_read(&caught, scratch_path("rights/open/x"), 5 * CHUNK, 2);
    was_read(&caught, scratch_path("rights/z"), 200, 3);
    is_u64(caught.count, 5, "%s: what is in the closed directory is not known", way);
    finish(stream, &caught, "files that may not be read");
}

static void permission(void)
{
    drop_rights();
    vyre *rt = open_cpu(1);
    each_way(rt, forbidden);
    vyre_close(rt);
}

static void make_forbidden(void)
{
    int fd = make_directory(scratch.fd, "rights");
    int closed = make_directory(fd, "closed"), open = make_directory(fd, "open");
    make_filled(fd, "a", 100, 1);
    make_filled(fd, "b", 100, 1);
    make_filled(fd, "z", 200, 3);
    make_filled(closed, "x", 100, 1);
    make_filled(open, "x", 5 * CHUNK, 2);
    if (fchmodat(fd, "b", 0, 0) != 0 || fchmod(closed, 0) != 0 || fchmod(scratch.fd, 0755) != 0)
        bail("chmod");
    close(closed);
    close(open);
    close(fd);
}

/* No memory to lock.
 * ------------------------------------------------------------------------------------------------
 */

static void read_something(vyre *rt, const vyre_stream_options *options)
{
    struct catch caught = {0};
    vyre_stream *stream = open_stream(rt, options);
    add_path(stream, scratch_path("rights/open/x"));
    add_path(stream, scratch_path("rights/a"));
    end_sources(stream);
    catch_rest(stream, &caught);
    was_read(&caught, scratch_path("rights/open/x"), 5 * CHUNK, 2);
    was_read(&caught, scratch_path("rights/a"), 100, 1);
    vyre_stream_report report = report_of(stream);
    note("%s", report.choice);
    finish(stream, &caught, "what is left");
}

/* Enough for a ring, and not for chunks: they are not registered. */
static void little_locked_memory(void)
{
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_AUTO);
    vyre_stream *stream = NULL;
    vyre_error err;
    options.depth = 256;
    set_limit(RLIMIT_MEMLOCK, 1u << 20);
    drop_rights();
    if (!has_uring()) {
        skip("there is no io_uring here");
        return;
    }
    vyre *rt = open_cpu(1);
    way = "auto, little memory to lock";
    read_something(rt, &options);
    stream = open_stream(rt, &options);
    vyre_stream_report report = report_of(stream);
    ok(report.io == VYRE_STREAM_IO_URING && (report.ring & VYRE_RING_FIXED_BUFFERS) == 0 &&
           strcasestr(report.choice, "memlock"),
       "%s: the report names the limit: %s", way, report.choice);
    vyre_stream_close(stream);
    options.io = VYRE_STREAM_IO_URING;
    options.ring = VYRE_RING_FIXED_BUFFERS;
    stream = NULL;
    refused(vyre_stream_open(rt, &options, &stream, &err), VYRE_E_SYSTEM, &err,
            "fixed buffers are demanded: %s", err.message);
    ok(stream == NULL && strcasestr(err.message, "memlock"), "and the cause is named");
    options.ring = 0;
    way = "io_uring, little memory to lock";
    read_something(rt, &options);
    vyre_close(rt);
}

/* None at all: on some kernels there is not even a ring. */
static void no_locked_memory(void)
{
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_AUTO);
    vyre_stream *stream = NULL;
    vyre_error err;
    set_limit(RLIMIT_MEMLOCK, 0);
    drop_rights();
    vyre *rt = open_cpu(1);
    way = "auto, no memory to lock";
    read_something(rt, &options);
    stream = open_stream(rt, &options);
    vyre_stream_report report = report_of(stream);
    ok((report.ring & VYRE_RING_FIXED_BUFFERS) == 0 && strcasestr(report.choice, "memlock"),
       "%s: the report names the limit: %s", way, report.choice);
    vyre_stream_close(stream);
    options.io = VYRE_STREAM_IO_URING;
    options.ring = VYRE_RING_FIXED_BUFFERS;
    stream = NULL;
    refused(vyre_stream_open(rt, &options, &stream, &err), VYRE_E_SYSTEM, &err,
            "fixed buffers are demanded: %s", err.message);
    ok(stream == NULL && (strcasestr(err.message, "memlock") || strstr(err.fix, "ulimit -l")),
       "and the cause is named: %s", err.fix);
    vyre_close(rt);
}

/* No io_uring.
 * ------------------------------------------------------------------------------------------------
 */

/* From now on a system call fails with this errno. */
static void forbid(uint32_t call, uint32_t error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        bail("seccomp: %s", strerror(errno));
}

static void without_uring(uint32_t error)
{
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_AUTO);
    vyre_stream_report report = VYRE_STREAM_REPORT_INIT;
    vyre_stream *stream = NULL;
    vyre_error err;
    forbid(SYS_io_uring_setup, error);
    vyre *rt = open_cpu(1);
    way = "auto, no io_uring";
    must(vyre_stream_probe(&options, &report, &err), &err);
    ok(report.io == VYRE_STREAM_IO_PREAD && strstr(report.choice, "io_uring"),
       "it is known beforehand: %s", report.choice);
    read_something(rt, &options);
    stream = open_stream(rt, &options);
    report = report_of(stream);
    ok(report.io == VYRE_STREAM_IO_PREAD && report.ring == 0 && strstr(report.choice, "io_uring"),
       "%s: the report says that it reads with pread, and why: %s", way, report.choice);
    vyre_stream_close(stream);
    options.io = VYRE_STREAM_IO_URING;
    options.ring = 0;
    stream = NULL;
    refused(vyre_stream_open(rt, &options, &stream, &err), VYRE_E_SYSTEM, &err,
            "io_uring is demanded: %s", err.message);
    ok(stream == NULL && err.domain == VYRE_DOMAIN_ERRNO && err.code == (int32_t)error,
       "the errno is %s; the fix: %s", strerrorname_np((int)error), err.fix);
    options.io = VYRE_STREAM_IO_PREAD;
    way = "pread, no io_uring";
    read_something(rt, &options);
    vyre_close(rt);
}

static void setup_not_permitted(void)
{
    without_uring(EPERM);
}

static void setup_not_there(void)
{
    without_uring(ENOSYS);
}

/* Rings can be made, but not used: no hang, and either way an answer. */
static void enter_not_permitted(void)
{
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_AUTO);
    forbid(SYS_io_uring_enter, EPERM);
    vyre *rt = open_cpu(1);
    way = "auto, io_uring_enter is forbidden";
    read_something(rt, &options);
    vyre_close(rt);
}

/* Nothing can be registered with a ring. */
static void register_not_permitted(void)
{
    vyre_stream_options options = small_chunks(VYRE_STREAM_IO_AUTO);
    forbid(SYS_io_uring_register, EPERM);
    vyre *rt = open_cpu(1);
    way = "auto, io_uring_register is forbidden";
    read_something(rt, &options);
    vyre_close(rt);
}

/* Fewer descriptors than files.
 * ------------------------------------------------------------------------------------------------
 */

static void make_crowd(void)
{
    int fd = make_directory(scratch.fd, "crowd");
    for (uint32_t i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "%03u", i);
        int child = i % 10 ? dup(fd) : make_directory(fd, name);
        make_filled(child, i % 10 ? name : "x", i % 7 ? 50 + i : 3 * CHUNK + i, i);
        close(child);
    }
    close(fd);
}

static uint32_t room; /* descriptors that are left */

static void crowded(vyre *rt, uint32_t io)
{
    for (uint32_t tree = 0; tree < 2; tree++) {
        struct catch caught = {0};
        vyre_stream_options options = small_chunks(io);
        uint32_t whole = 0;
        options.flags = tree ? VYRE_STREAM_RECURSE : 0;
        options.depth = 64;
        vyre_stream *stream = open_stream(rt, &options);
        int next = dup(0);
        close(next);
        set_limit(RLIMIT_NOFILE, (rlim_t)next + room);
        if (tree) add_path(stream, scratch_path("crowd"));
        for (uint32_t i = 0; i < 300 && !tree; i++)
            add_path(stream, scratch_path(i % 10 ? "crowd/%03u" : "crowd/%03u/x", i));
        end_sources(stream);
        catch_rest(stream, &caught);
        for (uint32_t i = 0; i < 300; i++) {
            uint64_t size = i % 7 ? 50 + i : 3 * CHUNK + i;
            unsigned char *bytes = filled(size, i);
            const char *path = scratch_path(i % 10 ? "crowd/%03u" : "crowd/%03u/x", i);
            if (reads_as(&caught, path, bytes, size))
                whole++;
            else if (whole + 5 > i)
                say_caught(&caught, path);
            free(bytes);
        }
        is_u64(whole, 300, "%s: 300 files %s with %u descriptors to spare", way,
               tree ? "of a tree" : "that were named", room);
        finish(stream, &caught, "more files than descriptors");
        set_limit(RLIMIT_NOFILE, 256);
    }
}

static void few_descriptors(void)
{
    vyre *rt = open_cpu(1);
    static const uint32_t rooms[] = {1, 6, 12}; /* with one a stream has just what a tree needs */
    for (uint32_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        room = rooms[i];
        each_way(rt, crowded);
    }
    vyre_close(rt);
}

/* Nowhere to write to.
 * ------------------------------------------------------------------------------------------------
 */

static const char upper[] = "@workgroup(256) @guard(loud)\n"
                            "kernel upper(in u8 text[], out u8 loud[])\n"
                            "{\n"
                            "    const u32 byte = text[i];\n"
                            "    loud[i] = select(byte - 97 < 26, byte - 32, byte);\n"
                            "}\n";

static struct {
    int fd;
    int error;
    uint64_t least, most; /* bytes that can be written */
    rlim_t limit;         /* on files, once the stream is open; 0: none */
} sink;

/* Every chunk comes; what could not be written says so; what could is there. */
static void written(vyre *rt, uint32_t io)
{
    struct catch caught = {0};
    vyre_stream_options options = small_chunks(io);
    vyre_program *program = NULL;
    vyre_error err;
    uint64_t failed = 0, others = 0, good = 0;
    must(vyre_program_compile(rt, upper, strlen(upper), NULL, NULL, &program, &err), &err);
    options.program = program;
    options.output = sink.fd;
    vyre_stream *stream = open_stream(rt, &options);
    if (sink.limit) set_limit(RLIMIT_FSIZE, sink.limit);
    add_path(stream, scratch_path("source"));
    end_sources(stream);
    for (vyre_chunk *chunk = NULL;; vyre_stream_release(stream, chunk)) {
        must(vyre_stream_next(stream, PATIENCE_NS, &chunk, &err), &err);
        if (!chunk) break;
        catch_chunk(&caught, chunk);
        failed += chunk->status == VYRE_E_SYSTEM && chunk->error == sink.error;
        others += chunk->status != VYRE_OK && chunk->error != sink.error;
        if (chunk->status == VYRE_OK) good += chunk->result_bytes;
    }
    if (sink.limit) set_limit(RLIMIT_FSIZE, RLIM_INFINITY);
    vyre_stream_report report = report_of(stream);
    is_u64(report.bytes, 16 * CHUNK, "%s: everything is read", way);
    ok(failed > 0 && others == 0, "%s: %" PRIu64 " results could not be written: %s", way, failed,
       strerror(sink.error));
    ok(good >= sink.least && good <= sink.most && report.bytes_written <= sink.most,
       "%s: %" PRIu64 " bytes could, %" PRIu64 " were", way, good, report.bytes_written);
    is_u64(report.files_found, report.files_read + report.files_failed + report.files_skipped,
           "%s: the counts add up", way);
    vyre_stream_close(stream);
    must(vyre_program_unload(program, &err), &err);
    catch_free(&caught);
}

static void write_all_ways(void (*open_sink)(void))
{
    vyre *rt = open_cpu(1);
    make_filled(scratch.fd, "source", 16 * CHUNK, 0);
    for (uint32_t i = 0; i < 2; i++) {
        way = i ? "pread" : "io_uring";
        if (!i && !has_uring()) continue;
        open_sink();
        written(rt, i ? VYRE_STREAM_IO_PREAD : VYRE_STREAM_IO_URING);
        close(sink.fd);
    }
    vyre_close(rt);
}

static void open_full(void)
{
    sink.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    sink.error = ENOSPC;
    sink.least = sink.most = 0;
    if (sink.fd < 0) bail("/dev/full");
}

static void device_full(void)
{
    write_all_ways(open_full);
}

/* A pipe that nobody reads: the signal that comes with it ends nobody. */
static void open_broken_pipe(void)
{
    int pair[2];
    if (pipe2(pair, O_CLOEXEC) != 0) bail("a pipe");
    close(pair[0]);
    sink.fd = pair[1];
    sink.error = EPIPE;
    sink.least = sink.most = 0;
}

static void broken_pipe(void)
{
    write_all_ways(open_broken_pipe);
}

static void open_limited(void)
{
    sink.fd = openat(scratch.fd, "limited", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    sink.error = EFBIG;
    sink.least = 5 * CHUNK;
    sink.most = 5 * CHUNK + CHUNK / 2;
    sink.limit = (rlim_t)sink.most;
}

/* The signal that comes with a file that is too large ends nobody either. */
static void file_limit(void)
{
    write_all_ways(open_limited);
}

static void open_small_disk(void)
{
    /* By its path: the scratch directory's descriptor is of the tree of mounts before. */
    sink.fd = open(scratch_path("disk/out"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    sink.error = ENOSPC;
    sink.least = 4 * CHUNK;
    sink.most = 5 * CHUNK + CHUNK / 2;
    if (sink.fd < 0) bail("a file on the small disk");
}

static void small_disk(void)
{
    char size[32];
    snprintf(size, sizeof size, "size=%u", 5 * CHUNK);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mkdirat(scratch.fd, "disk", 0700) != 0 ||
        mount("vyre", scratch_path("disk"), "tmpfs", 0, size) != 0) {
        skip("a file system cannot be mounted here");
        return;
    }
    write_all_ways(open_small_disk);
}

int main(void)
{
    scratch_make();
    make_forbidden();
    make_crowd();
    in_child("no rights", permission);
    in_child("little memory to lock", little_locked_memory);
    in_child("no memory to lock", no_locked_memory);
    in_child("io_uring not permitted", setup_not_permitted);
    in_child("no io_uring", setup_not_there);
    in_child("io_uring_register not permitted", register_not_permitted);
    in_child("io_uring_enter not permitted", enter_not_permitted);
    in_child("few descriptors", few_descriptors);
    in_child("a full device", device_full);
    in_child("a broken pipe", broken_pipe);
    in_child("a limit on files", file_limit);
    in_child("a small file system", small_disk);
    return done();
}
