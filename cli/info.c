/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre info`: what this machine offers to vyre. It tries each thing and reports what happened;
 * a thing that is missing comes with the reason found and a fix. Missing things are no failure:
 * the exit code is 0 unless the output could not be written.
 */
#include "info.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

enum { CAP_IPC_LOCK_BIT = 14 };

static struct {
    int json;
    int host;         /* --host was given */
    const char *type; /* of the last fact */
} sink;

static const struct {
    const char *type, *heading;
} headings[] = {
    {"backend", "backends"}, {"device", "GPUs"},         {"io_uring", "io_uring"},
    {"stream", "streams"},   {"processor", "processor"}, {"system", "system"},
};

static void emit_json(const struct info_fact *fact)
{
    cli_json_begin(fact->type);
    cli_json_text("name", fact->name);
    if (fact->state != INFO_PLAIN) cli_json_flag("supported", fact->state == INFO_YES);
    if (fact->value[0] != '\0') cli_json_text("value", fact->value);
    if (fact->choice != NULL) cli_json_text("choice", fact->choice);
    for (size_t i = 0; i < 2 && fact->text[i].key != NULL; i++)
        cli_json_text(fact->text[i].key, fact->text[i].text);
    for (size_t i = 0; i < 8 && fact->number[i].key != NULL; i++)
        cli_json_count(fact->number[i].key, fact->number[i].count);
    if (fact->reason[0] != '\0') cli_json_text("reason", fact->reason);
    if (fact->fix[0] != '\0') cli_json_text("fix", fact->fix);
    cli_json_end();
}

static void emit_note(const char *label, const char *text)
{
    if (*text == '\0') return;
    printf("    %s%-8s%s%s\n", cli_tone(stdout, CLI_TONE_QUIET), label,
           cli_tone(stdout, CLI_TONE_OFF), text);
}

void info_emit(const struct info_fact *fact)
{
    static const char *const words[] = {[INFO_PLAIN] = "", [INFO_YES] = "yes", [INFO_NO] = "no"};
    static const enum cli_tone tones[] = {CLI_TONE_OFF, CLI_TONE_GOOD, CLI_TONE_WARN};

    if (sink.json) {
        emit_json(fact);
        return;
    }
    if (sink.type == NULL || strcmp(sink.type, fact->type) != 0) {
        const char *heading = fact->type;
        for (size_t i = 0; i < sizeof headings / sizeof headings[0]; i++)
            if (strcmp(headings[i].type, fact->type) == 0) heading = headings[i].heading;
        printf("\n%s%s%s\n", cli_tone(stdout, CLI_TONE_TITLE), heading,
               cli_tone(stdout, CLI_TONE_OFF));
        sink.type = fact->type;
    }
    printf("  %-20s%s%s%s", fact->name, cli_tone(stdout, tones[fact->state]), words[fact->state],
           cli_tone(stdout, CLI_TONE_OFF));
    if (fact->value[0] != '\0')
        printf("%*s%s", fact->state == INFO_PLAIN ? 0 : 5 - (int)strlen(words[fact->state]), "",
               fact->value);
    putchar('\n');
    emit_note("reason", fact->reason);
    emit_note("fix", fact->fix);
}

static void put_words(char *to, size_t room, const char *text)
{
    static const char variable[] = "VYRE_HOST";
    const char *found = sink.host ? strstr(text, variable) : NULL;

    if (found == NULL)
        snprintf(to, room, "%.*s", (int)room - 1, text);
    else
        snprintf(to, room, "%.*s--host%s", (int)(found - text), text, found + sizeof variable - 1);
}

void info_missing(struct info_fact *fact, const char *reason, const char *fix)
{
    fact->state = INFO_NO;
    put_words(fact->reason, sizeof fact->reason, reason);
    put_words(fact->fix, sizeof fact->fix, fix);
}

int info_process_status(const char *key, int base, uint64_t *value)
{
    char line[256];
    int found = -1;
    FILE *file = fopen("/proc/self/status", "re");

    if (file == NULL) return -1;
    while (found != 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        *value = strtoull(line + strlen(key), NULL, base);
        found = 0;
    }
    fclose(file);
    return found;
}

/* mute: what was heard of a device host that did not answer, or NULL. It is not asked again: each
 * time takes seconds. */
static void backend(enum vyre_backend which, const char *name, const vyre_error *mute)
{
    struct info_fact fact = {.type = "backend", .name = name};
    vyre_caps caps = {.size = sizeof caps};
    vyre_error err;

    if (mute != NULL) {
        info_missing(&fact, mute->message, mute->fix);
    } else if (vyre_backend_caps(which, &caps, &err) != VYRE_OK) {
        info_missing(&fact, err.message, err.fix);
    } else if (!caps.supported) {
        info_missing(&fact, caps.reason, caps.fix);
    } else {
        fact.state = INFO_YES;
        snprintf(fact.value, sizeof fact.value, "%s; up to %u workers, %u by default", caps.device,
                 caps.max_workers, caps.default_workers);
        fact.number[0].key = "max_workers";
        fact.number[0].count = caps.max_workers;
        fact.number[1].key = "default_workers";
        fact.number[1].count = caps.default_workers;
    }
    info_emit(&fact);
}

/* What `--backend auto` comes to: a runtime is opened and asked. */
static void backend_choice(const vyre_error *mute)
{
    struct info_fact fact = {.type = "backend", .name = "auto"};
    vyre_options options = VYRE_OPTIONS_INIT;
    vyre_description description = {.size = sizeof description};
    vyre *runtime = NULL;
    vyre_error err;

    if (mute != NULL) options.backend = VYRE_BACKEND_CPU;
    if (vyre_open(&runtime, &options, &err) == VYRE_OK &&
        vyre_describe(runtime, &description, &err) == VYRE_OK) {
        fact.state = INFO_YES;
        fact.choice = description.backend == VYRE_BACKEND_CUDA ? "cuda" : "cpu";
        if (mute != NULL)
            snprintf(description.choice, sizeof description.choice, "auto chose cpu: %.120s",
                     mute->message);
        put_words(fact.value, sizeof fact.value, description.choice);
    } else {
        info_missing(&fact, err.message, err.fix);
    }
    vyre_close(runtime);
    info_emit(&fact);
}

static void operating_system(void)
{
    struct info_fact fact = {.type = "system", .name = "kernel"};
    struct utsname system;

    if (uname(&system) != 0) return;
    snprintf(fact.value, sizeof fact.value, "%.40s %.70s, %.40s", system.sysname, system.release,
             system.machine);
    info_emit(&fact);
}

static void lock_limit(void)
{
    struct info_fact fact = {.type = "system", .name = "memory lock limit"};
    char soft[32] = "unlimited", hard[32] = "unlimited";
    uint64_t capabilities = 0;
    struct rlimit limit;
    int exempt = info_process_status("CapEff:", 16, &capabilities) == 0 &&
                 (capabilities >> CAP_IPC_LOCK_BIT & 1) != 0;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
    if (limit.rlim_cur != RLIM_INFINITY) {
        cli_format_bytes((double)limit.rlim_cur, soft, sizeof soft);
        fact.number[0].key = "bytes";
        fact.number[0].count = limit.rlim_cur;
    }
    if (limit.rlim_max != RLIM_INFINITY)
        cli_format_bytes((double)limit.rlim_max, hard, sizeof hard);
    int raisable = limit.rlim_cur != limit.rlim_max;
    snprintf(fact.value, sizeof fact.value, "%s%s%s%s", soft, raisable ? ", can be raised to " : "",
             raisable ? hard : "", exempt ? "; CAP_IPC_LOCK lifts it" : "");
    info_emit(&fact);
}

int vyre_cli_info(const struct cli_args *args)
{
    vyre_error err;

    sink.json = args->json;
    sink.host = args->host != NULL;
    sink.type = NULL;
    if (args->host != NULL && setenv("VYRE_HOST", args->host, 1) != 0) {
        cli_complain("there is no memory for the name of the host", args->host, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    if (args->json)
        cli_json_header("info");
    else
        printf("%svyre %s%s\n", cli_tone(stdout, CLI_TONE_TITLE), vyre_version(),
               cli_tone(stdout, CLI_TONE_OFF));
    const vyre_error *mute = info_devices_ask(&err) == VYRE_E_TIMEOUT ? &err : NULL;
    backend(VYRE_BACKEND_CPU, "cpu", NULL);
    backend(VYRE_BACKEND_CUDA, "cuda", mute);
    backend_choice(mute);
    info_devices();
    info_uring();
    info_stream();
    info_processor();
    operating_system();
    lock_limit();
    return CLI_EXIT_DONE;
}
