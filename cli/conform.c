/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre conform`: runs a directory of conformance cases and counts. Cases of the family q, whose
 * expected results are accidents of another implementation, are counted apart and decide nothing.
 */
#include "conform.h"

#include <string.h>

struct counts {
    uint32_t of[3];    /* by enum conform_verdict */
    uint32_t quirk[3]; /* the same, of family q */
    size_t cases;
};

static int is_quirk(const struct conform_row *row)
{
    return strcmp(row->family, "q") == 0;
}

static void print_case(const struct cli_args *args, const struct conform_row *row,
                       const struct conform_result *result)
{
    static const char *const words[] = {"pass", "FAIL", "skip"};
    static const char *const quirks[] = {"quirk-pass", "quirk-differs", "quirk-skip"};
    static const char *const verdicts[] = {"pass", "fail", "skip"};
    static const enum cli_tone tones[] = {CLI_TONE_GOOD, CLI_TONE_BAD, CLI_TONE_WARN};
    int quirk = is_quirk(row);

    if (args->json) {
        cli_json_begin("case");
        cli_json_text("name", row->name);
        cli_json_text("family", row->family);
        cli_json_text("kind", row->kind);
        cli_json_text("verdict", quirk ? quirks[result->verdict] : verdicts[result->verdict]);
        cli_json_text("why", result->why[0] != '\0' ? result->why : NULL);
        cli_json_count("ns", result->ns);
        cli_json_end();
        return;
    }
    printf("%s%s%s ", cli_tone(stdout, quirk ? CLI_TONE_QUIET : tones[result->verdict]),
           quirk ? quirks[result->verdict] : words[result->verdict],
           cli_tone(stdout, CLI_TONE_OFF));
    cli_put_clean(stdout, row->name);
    if (result->why[0] != '\0') {
        fputs(": ", stdout);
        cli_put_clean(stdout, result->why);
    }
    putchar('\n');
}

static void print_summary(const struct cli_args *args, const struct counts *counts)
{
    uint32_t quirks = counts->quirk[0] + counts->quirk[1] + counts->quirk[2];

    if (args->json) {
        cli_json_begin("summary");
        cli_json_count("passed", counts->of[CONFORM_PASS]);
        cli_json_count("failed", counts->of[CONFORM_FAIL]);
        cli_json_count("skipped", counts->of[CONFORM_SKIP]);
        cli_json_count("quirks_passed", counts->quirk[CONFORM_PASS]);
        cli_json_count("quirks_differing", counts->quirk[CONFORM_FAIL]);
        cli_json_count("quirks_skipped", counts->quirk[CONFORM_SKIP]);
        cli_json_end();
        return;
    }
    if (quirks > 0)
        printf("quirks: %u passed, %u differ, %u skipped\n", counts->quirk[CONFORM_PASS],
               counts->quirk[CONFORM_FAIL], counts->quirk[CONFORM_SKIP]);
    printf("%u passed, %u failed, %u skipped\n", counts->of[CONFORM_PASS], counts->of[CONFORM_FAIL],
           counts->of[CONFORM_SKIP]);
}

int conform_device_open(struct conform_device *device, uint64_t frame_bytes)
{
    uint64_t most = KERNEL_MOST_FRAME_BYTES, bytes = 1u << 20;

    if (device->runtime != NULL && frame_bytes <= device->frame_bytes) return CLI_EXIT_DONE;
    while (bytes < frame_bytes && bytes < most)
        bytes *= 2;
    vyre_close(device->runtime);
    device->runtime = NULL;
    device->frame_bytes = bytes;
    return kernel_open(device->args, bytes, &device->runtime);
}

static int run_manifest(struct conform_device *device, const struct conform_manifest *manifest,
                        struct counts *counts)
{
    const struct cli_args *args = device->args;

    for (size_t i = 0; i < manifest->count; i++) {
        const struct conform_row *row = &manifest->rows[i];
        struct conform_result result;
        char progress[120];

        if (args->filter != NULL && strstr(row->name, args->filter) == NULL) continue;
        snprintf(progress, sizeof progress, "[%zu/%zu] %.60s ...", i + 1, manifest->count,
                 row->name);
        cli_progress(progress);
        int code = conform_case(device, args->operands.item[0], row, &result);
        cli_progress(NULL);
        if (code != CLI_EXIT_DONE) return code;
        print_case(args, row, &result);
        if (cli_flush() != 0) return CLI_EXIT_IO;
        (is_quirk(row) ? counts->quirk : counts->of)[result.verdict]++;
        counts->cases++;
    }
    return CLI_EXIT_DONE;
}

static int nothing_ran(const struct cli_args *args)
{
    char message[300];

    if (args->filter == NULL) {
        snprintf(message, sizeof message, "`%.200s` lists no case", args->operands.item[0]);
        cli_complain(message, NULL, NULL);
        return CLI_EXIT_IO;
    }
    snprintf(message, sizeof message, "no case has `%.100s` in its name", args->filter);
    cli_complain(message, NULL, NULL);
    return CLI_EXIT_NO;
}

/* Both manifests are read before the first case runs, so that a bad line is found at once. */
static int conform(const struct cli_args *args, struct conform_manifest manifests[2])
{
    const char *dir = args->operands.item[0];
    struct counts counts = {0};
    struct conform_device device = {args, NULL, 0};
    char extra[4200];

    snprintf(extra, sizeof extra, "%.4096s/manifest_extra.tsv", dir);
    int code = conform_manifest_read(dir, "manifest.tsv", &manifests[0]);
    if (code == CLI_EXIT_DONE && cli_file_exists(extra))
        code = conform_manifest_read(dir, "manifest_extra.tsv", &manifests[1]);
    if (code == CLI_EXIT_DONE) code = conform_device_open(&device, 0);
    if (code != CLI_EXIT_DONE) return code;
    if (args->json) cli_json_header("conform");
    for (int i = 0; i < 2 && code == CLI_EXIT_DONE; i++)
        code = run_manifest(&device, &manifests[i], &counts);
    vyre_close(device.runtime);
    if (code != CLI_EXIT_DONE) return code;
    if (counts.cases == 0) return nothing_ran(args);
    print_summary(args, &counts);
    return counts.of[CONFORM_FAIL] == 0 ? CLI_EXIT_DONE : CLI_EXIT_NO;
}

int vyre_cli_conform(const struct cli_args *args)
{
    struct conform_manifest manifests[2];

    memset(manifests, 0, sizeof manifests);
    int code = conform(args, manifests);
    conform_manifest_free(&manifests[0]);
    conform_manifest_free(&manifests[1]);
    return code;
}
