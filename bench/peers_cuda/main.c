/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre-peers`: what vyre on a GPU is measured against; see cuda_peers.h. JSON Lines on stdout: a
 * record `device`, then a record `figure` or `absent` for each measurement. Run by `vyre bench
 * dispatch --backend cuda`, `vyre bench vm --backend cuda` and `vyre bench ingest --backend cuda`.
 *
 * Without options it measures what `bench dispatch` needs, --seconds S each. --native S: the native
 * kernels, S seconds each, on arrays of at most --elements N. --cufile FILE: a file into the GPU's
 * memory by cuFile, for --seconds S. --power S: the mean power over S seconds. --ptx kernels or
 * --ptx dependent: a kernel's text. --device names another GPU than the first, by index or UUID.
 *
 * Exit code: 0 done, 2 misuse, 3 no device or no driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_peers.h"
#include "vm_gpu.h"

enum { DONE = 0, MISUSE = 2, NO_DEVICE = 3 };

/* Names, units and reasons hold nothing that JSON would have to escape, but to be sure. */
static void put_text(const char *key, const char *text)
{
    printf(",\"%s\":\"", key);
    for (; *text != '\0'; text++)
        putchar(*text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? '?' : *text);
    putchar('"');
}

void print_figure(const char *name, double value, const char *unit)
{
    fputs("{\"type\":\"figure\"", stdout);
    put_text("name", name);
    printf(",\"value\":%.6g", value);
    put_text("unit", unit);
    puts("}");
    fflush(stdout);
}

void print_absent(const char *name, const char *note)
{
    fputs("{\"type\":\"absent\"", stdout);
    put_text("name", name);
    put_text("note", note);
    puts("}");
    fflush(stdout);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void print_percentiles(const char *name, uint32_t *samples, size_t count)
{
    static const struct {
        const char *suffix;
        double part;
    } rows[] = {{"p50", 0.5}, {"p99", 0.99}, {"min", 0}};
    if (count == 0) {
        print_absent(name, "no time to measure it");
        return;
    }
    qsort(samples, count, sizeof samples[0], compare);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        size_t at = (size_t)(rows[i].part * (double)count);
        snprintf(text, sizeof text, "%s-%s", name, rows[i].suffix);
        print_figure(text, samples[at] / 1e3, "us");
    }
}

struct wish {
    const char *device;
    const char *ptx;
    const char *cufile; /* NULL: not that */
    double seconds;
    double power;  /* 0: not that */
    double native; /* 0: not that */
    double elements;
};

/* 0, or -1 for a command line that makes no sense. */
static int parse(struct wish *wish, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        double number = i + 1 < argc ? strtod(argv[i + 1], &end) : 0;
        int is_positive = end != NULL && end != argv[i + 1] && *end == '\0' && number > 0;
        int is_number = is_positive && number <= 60;
        if (i + 1 >= argc) return -1;
        if (strcmp(argv[i], "--device") == 0)
            wish->device = argv[i + 1];
        else if (strcmp(argv[i], "--ptx") == 0)
            wish->ptx = argv[i + 1];
        else if (strcmp(argv[i], "--cufile") == 0)
            wish->cufile = argv[i + 1];
        else if (strcmp(argv[i], "--seconds") == 0 && is_number)
            wish->seconds = number;
        else if (strcmp(argv[i], "--power") == 0 && is_number)
            wish->power = number;
        else if (strcmp(argv[i], "--native") == 0 && is_number)
            wish->native = number;
        else if (strcmp(argv[i], "--elements") == 0 && is_positive && number <= GPU_MOST_ELEMENTS)
            wish->elements = number;
        else
            return -1;
    }
    return 0;
}

static int print_ptx(const char *which)
{
    if (strcmp(which, "kernels") != 0 && strcmp(which, "dependent") != 0) return MISUSE;
    fputs(strcmp(which, "kernels") == 0 ? cuda_kernels_ptx : cuda_dependent_ptx, stdout);
    return DONE;
}

static void print_device(const struct cuda_peers *peers)
{
    fputs("{\"type\":\"device\"", stdout);
    put_text("name", peers->name);
    put_text("uuid", peers->uuid);
    printf(",\"compute\":%d.%d,\"cuda\":%d.%d}\n", peers->major, peers->minor, peers->driver / 1000,
           peers->driver % 1000 / 10);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static struct cuda_peers peers;
    struct wish wish = {NULL, NULL, NULL, 0.3, 0, 0, GPU_MOST_ELEMENTS};
    if (parse(&wish, argc, argv) != 0 || (wish.ptx != NULL && print_ptx(wish.ptx) == MISUSE)) {
        fputs("usage: vyre-peers [--device INDEX|UUID] [--seconds S | --power S | --native S "
              "[--elements N] | --cufile FILE]\n",
              stderr);
        return MISUSE;
    }
    if (wish.ptx != NULL) return DONE;
    const char *why = cuda_find(&peers, wish.device);
    if (why == NULL && wish.power > 0) {
        measure_power(&peers, (uint64_t)(wish.power * 1e9));
        return DONE;
    }
    if (why == NULL) why = cuda_begin(&peers);
    peers.samples = malloc(CUDA_PEERS_SAMPLES * sizeof peers.samples[0]);
    if (why == NULL && peers.samples == NULL) why = "no memory for samples";
    if (why != NULL) {
        print_absent("device", why);
        return NO_DEVICE;
    }
    peers.duration_ns = (uint64_t)((wish.native > 0 ? wish.native : wish.seconds) * 1e9);
    print_device(&peers);
    if (wish.cufile != NULL) {
        measure_cufile(&peers, wish.cufile);
    } else if (wish.native > 0) {
        measure_native(&peers, (uint64_t)wish.elements);
    } else {
        measure_launches(&peers);
        measure_graphs(&peers);
        measure_ping_pong(&peers);
    }
    /* The process ends without giving anything back: a kernel that never answered may still run. */
    fflush(stdout);
    _Exit(DONE);
}
