/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The peers of a device. Those of a GPU are measured by vyre-peers, a program of its own that
 * stands beside this command or in libexec: it is started, and its JSON Lines are read, while no
 * runtime is open (power: while one is). For a device host on the CPU the peer is the ping-pong of
 * two threads. Steps of the benchmark of a device.
 */
#include "bench_device.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "peers.h"

extern char **environ;

/* Where vyre-peers is: beside this program, or where it is installed. 0, or -1. */
static int find_program(char path[4096])
{
    static const char *const places[] = {"vyre-peers", VYRE_LIBEXEC "/vyre/vyre-peers"};
    char self[2048];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return -1;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL) return -1;
    slash[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, 4096, "%s%s", self, places[i]);
        if (access(path, X_OK) == 0) return 0;
    }
    return -1;
}

/* The text after "key": in a record; 0 where there is none. Texts hold no escapes. */
static int text_of(const char *record, const char *key, char *value, size_t size)
{
    char mark[32];
    snprintf(mark, sizeof mark, "\"%s\":\"", key);
    const char *at = strstr(record, mark);
    if (at == NULL) return 0;
    at += strlen(mark);
    snprintf(value, size, "%.*s", (int)strcspn(at, "\""), at);
    return 1;
}

static void read_record(const char *record, const struct bench_peers_sink *sink)
{
    char type[16];
    char name[64];
    char note[128];
    const char *value = strstr(record, "\"value\":");
    if (!text_of(record, "type", type, sizeof type) || !text_of(record, "name", name, sizeof name))
        return;
    if (strcmp(type, "figure") == 0 && value != NULL)
        sink->figure(sink->ctx, name, strtod(value + strlen("\"value\":"), NULL));
    if (strcmp(type, "absent") == 0 && text_of(record, "note", note, sizeof note))
        sink->absent(sink->ctx, name, note);
}

/* Starts the program; its stdout comes through *output. */
static int start(char *const argv[], pid_t *pid, FILE **output)
{
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failed = posix_spawn(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *output = failed ? NULL : fdopen(ends[0], "r");
    if (*output == NULL) close(ends[0]);
    return failed;
}

int bench_peers_run(const struct bench *bench, const char *const *options,
                    const struct bench_peers_sink *sink, char why[128])
{
    char path[4096];
    char record[1024];
    char *argv[BENCH_PEERS_OPTIONS + 4] = {path};
    pid_t pid = 0;
    FILE *output = NULL;
    int status = 0;
    uint32_t count = 1;
    for (uint32_t i = 0; i < BENCH_PEERS_OPTIONS && options[i] != NULL; i++)
        argv[count++] = (char *)(uintptr_t)options[i];
    if (bench->args->device != NULL) {
        argv[count++] = (char *)(uintptr_t) "--device";
        argv[count++] = (char *)(uintptr_t)bench->args->device;
    }
    if (find_program(path) != 0) {
        snprintf(why, 128, "vyre-peers is not installed beside vyre");
        return -1;
    }
    if (start(argv, &pid, &output) != 0) {
        snprintf(why, 128, "vyre-peers cannot be started");
        return -1;
    }
    while (output != NULL && fgets(record, sizeof record, output) != NULL)
        read_record(record, sink);
    if (output != NULL) fclose(output);
    while (waitpid(pid, &status, 0) < 0) {}
    if (WIFEXITED(status)) return 0; /* what was missing stood in its records */
    snprintf(why, 128, "vyre-peers ended by signal %d", WTERMSIG(status));
    return -1;
}

/* Where figures go, and a reason that is about the whole device. */
struct lines {
    struct bench *bench;
    uint32_t first;
};

static void add_figure(void *ctx, const char *name, double value)
{
    struct bench *bench = ((struct lines *)ctx)->bench;
    for (uint32_t line = 0; line < bench->table->line_count; line++) {
        const char *own = bench_line_name(bench, line);
        if (strncmp(own, "peer-", 5) == 0 && strcmp(own + 5, name) == 0)
            bench_add(bench, line, value);
    }
}

static void add_reason(void *ctx, const char *name, const char *note)
{
    struct lines *lines = ctx;
    struct bench *bench = lines->bench;
    char text[128];
    uint32_t at = lines->first;
    for (uint32_t line = 0; line < bench->table->line_count; line++) {
        const char *own = bench_line_name(bench, line);
        if (strncmp(own, "peer-", 5) != 0 || strncmp(own + 5, name, strlen(name)) != 0) continue;
        at = line;
        break;
    }
    snprintf(text, sizeof text, "not available: %.100s", note);
    bench_note(bench, at, text);
}

void bench_peers_measure(struct bench *bench, const char *const *options, uint32_t line)
{
    struct lines lines = {bench, line};
    struct bench_peers_sink sink = {add_figure, add_reason, &lines};
    char why[128];
    if (bench_peers_run(bench, options, &sink, why) != 0) bench_note(bench, line, why);
}

static int cpu_ping_pong(struct bench *bench)
{
    static const struct bench_percentiles lines = {
        DEVICE_PING_PONG, BENCH_NONE, DEVICE_PING_PONG_P99, BENCH_NONE, BENCH_NONE, 1e3};
    struct peer_run run = {bench->cpus, bench->slice_ns};
    size_t count = 0;
    if (peer_pingpong(&run, bench->samples, bench->sample_capacity, &count) != 0 || count == 0) {
        bench_note(bench, DEVICE_PING_PONG, "no thread to be had");
        return 0;
    }
    bench_add_percentiles(bench, &lines, bench->samples, count);
    bench_add(bench, DEVICE_PING_PONG_MIN, bench->samples[0] / 1e3); /* they are sorted now */
    bench_note(bench, DEVICE_PING_PONG, "of two threads; there is no GPU to compare with");
    return 0;
}

int bench_step_gpu_peers(struct bench *bench, uint32_t line)
{
    struct bench_device *device = bench->state;
    char seconds[32];
    const char *const options[] = {"--seconds", seconds, NULL};
    bench_device_close(bench);
    device->flood_rate = 0; /* a new round */
    if (device->description.backend != VYRE_BACKEND_CUDA) return cpu_ping_pong(bench);
    snprintf(seconds, sizeof seconds, "%.3f", (double)bench->slice_ns / 1e9);
    bench_peers_measure(bench, options, line);
    return 0;
}
