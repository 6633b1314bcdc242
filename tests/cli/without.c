/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Runs a command on a machine that lacks something, for the tests of `vyre info`:
 *
 *   without eperm COMMAND...    a seccomp filter answers io_uring_setup with EPERM
 *   without enosys COMMAND...   the same with ENOSYS
 *   without memlock COMMAND...  64 KiB of locked memory, and no capability that lifts the limit
 *
 * Exit code: the command's, or 77 if this machine does not allow to take it away.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SKIPPED = 77, CAP_IPC_LOCK_NUMBER = 14 };

static int deny_uring(unsigned error)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int limit_memory(void)
{
    struct rlimit limit = {65536, 65536};

    /* Dropped from the bounding set it is lost at exec. Who may not drop it does not have it. */
    if (prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK_NUMBER, 0, 0, 0) != 0 && errno != EPERM) return -1;
    return setrlimit(RLIMIT_MEMLOCK, &limit);
}

int main(int argc, char **argv)
{
    int code = -1;

    if (argc < 3) {
        fputs("usage: without eperm|enosys|memlock COMMAND...\n", stderr);
        return 2;
    }
    if (strcmp(argv[1], "eperm") == 0)
        code = deny_uring(EPERM);
    else if (strcmp(argv[1], "enosys") == 0)
        code = deny_uring(ENOSYS);
    else if (strcmp(argv[1], "memlock") == 0)
        code = limit_memory();
    if (code != 0) {
        fprintf(stderr, "without: cannot take away %s: %s\n", argv[1], strerror(errno));
        return SKIPPED;
    }
    execvp(argv[2], argv + 2);
    fprintf(stderr, "without: cannot run %s: %s\n", argv[2], strerror(errno));
    return 2;
}
