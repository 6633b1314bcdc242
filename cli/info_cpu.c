/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The processor part of `vyre info`: its name, the cores this process may use, and the vector
 * extensions that the kernel lets programs use (the flags of /proc/cpuinfo). On x86-64 the
 * processor itself is asked too, so that an extension that is hidden can be told from one that
 * does not exist. Called by info.c.
 */
#include "info.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#    include <cpuid.h>
#endif

struct extension {
    const char *name;
    const char *flag;         /* in /proc/cpuinfo */
    unsigned leaf, word, bit; /* of CPUID; word 0..3: eax, ebx, ecx, edx */
};

static const struct extension extensions[] = {
#if defined(__x86_64__)
    {"SSE4.2", "sse4_2", 1, 2, 20},
    {"AVX", "avx", 1, 2, 28},
    {"FMA", "fma", 1, 2, 12},
    {"AVX2", "avx2", 7, 1, 5},
    {"AVX-512F", "avx512f", 7, 1, 16},
    {"AVX-512BW", "avx512bw", 7, 1, 30},
    {"AVX-512VL", "avx512vl", 7, 1, 31},
#else
    {"ASIMD", "asimd", 0, 0, 0},
    {"SVE", "sve", 0, 0, 0},
    {"SVE2", "sve2", 0, 0, 0},
#endif
};

/* The first line of /proc/cpuinfo that begins with one of two keys: what stands after its colon. */
static int cpuinfo(const char *key, const char *other_key, char *value, size_t size)
{
    static char line[16384];
    int found = -1;
    FILE *file = fopen("/proc/cpuinfo", "re");

    if (file == NULL) return -1;
    while (found != 0 && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (colon == NULL) continue;
        if (strncmp(line, key, strlen(key)) != 0 &&
            strncmp(line, other_key, strlen(other_key)) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(value, size, "%s", colon);
        found = 0;
    }
    fclose(file);
    return found;
}

static int has_flag(const char *flags, const char *flag)
{
    size_t len = strlen(flag);

    for (const char *at = flags; (at = strstr(at, flag)) != NULL; at += len)
        if ((at == flags || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0')) return 1;
    return 0;
}

/* Whether the processor itself claims the extension; -1 where it cannot be asked. */
static int asked_processor(const struct extension *extension)
{
#if defined(__x86_64__)
    unsigned word[4];
    if (!__get_cpuid_count(extension->leaf, 0, &word[0], &word[1], &word[2], &word[3])) return 0;
    return (int)(word[extension->word] >> extension->bit & 1u);
#else
    (void)extension;
    return -1;
#endif
}

static void emit_extension(const struct extension *extension, const char *flags)
{
    struct info_fact fact = {.type = "processor", .name = extension->name, .state = INFO_YES};

    if (!has_flag(flags, extension->flag)) {
        fact.state = INFO_NO;
        if (asked_processor(extension) == 1) {
            snprintf(fact.reason, sizeof fact.reason,
                     "the processor has it, but the kernel does not let programs use it");
            snprintf(fact.fix, sizeof fact.fix,
                     "look for clearcpuid or noxsave in /proc/cmdline and boot without them");
        } else if (has_flag(flags, "hypervisor")) {
            snprintf(fact.reason, sizeof fact.reason,
                     "this virtual machine's processor does not have it");
            snprintf(fact.fix, sizeof fact.fix,
                     "give the virtual machine the host's processor model; vyre runs without it");
        } else {
            snprintf(fact.reason, sizeof fact.reason, "this processor does not have it");
            snprintf(fact.fix, sizeof fact.fix, "none needed: vyre runs without it");
        }
    }
    info_emit(&fact);
}

static void cores(void)
{
    struct info_fact fact = {.type = "processor", .name = "cores"};
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    long usable = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : online;

    fact.number[0].key = "online";
    fact.number[0].count = (uint64_t)online;
    fact.number[1].key = "usable";
    fact.number[1].count = (uint64_t)usable;
    snprintf(fact.value, sizeof fact.value, "%ld online, %ld usable by this process", online,
             usable);
    if (usable < online) {
        snprintf(fact.reason, sizeof fact.reason,
                 "the affinity mask of this process leaves out %ld", online - usable);
        snprintf(fact.fix, sizeof fact.fix,
                 "start it without taskset, or widen the container's set of cores");
    }
    info_emit(&fact);
}

void info_processor(void)
{
    static char flags[16384];
    struct info_fact model = {.type = "processor", .name = "model"};

    if (cpuinfo("model name", "CPU implementer", model.value, sizeof model.value) == 0)
        info_emit(&model);
    cores();
    if (cpuinfo("flags", "Features", flags, sizeof flags) != 0) return;
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
        emit_extension(&extensions[i], flags);
}
