/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The oracle against the conformance corpus: every case that runs gives what is expected by its own
 * rule, every case that ends in an error ends in one.
 *
 * Argument: the directory of the corpus.
 */
#include "tap.h"

#include "oracle/corpus.h"
#include "oracle/oracle.h"

#define STEPS 200000000u

static struct vyre_memory memory;

static struct ir_program *program_of(const struct corpus *corpus, const struct corpus_case *test)
{
    struct ir_program *program = NULL;
    struct ir_validate_options options = {.subgroups = 1, .most = 1};
    size_t length = 0;
    vyre_error err = {0};
    unsigned char *bytes = corpus_file(corpus, test->name, "vir", &length);
    if (bytes == NULL) {
        ok(0, "%s: there is a program", test->name);
        return NULL;
    }
    if (vyre_ir_decode(&memory, bytes, length, &program, &err) ||
        vyre_ir_validate(program, &options, &err)) {
        ok(0, "%s decodes and is valid: %.200s", test->name, err.message);
        vyre_ir_program_free(program);
        program = NULL;
    }
    free(bytes);
    return program;
}

static void check(const struct corpus *corpus, const struct corpus_case *test,
                  const struct ir_program *program)
{
    struct corpus_buffers buffers;
    char why[256] = "";
    int fails = strcmp(test->kind, "run-error") == 0;
    if (!corpus_buffers(corpus, test, program, &buffers)) {
        ok(0, "%s: its inputs fit its buffers", test->name);
        return;
    }
    struct oracle_run run = {.program = program,
                             .grid = {test->grid[0], test->grid[1], test->grid[2]},
                             .buffers = buffers.buffers,
                             .bytes = buffers.bytes,
                             .step_limit = STEPS};
    int error = oracle_run(&run);
    if (fails)
        ok(error != ORACLE_OK && error != ORACLE_STEPS, "%s ends in an error: %s", test->name,
           oracle_error_name(run.error));
    else if (error)
        ok(0, "%s runs without error; item %u: %s", test->name, (unsigned)run.error_id,
           oracle_error_name(run.error));
    else
        ok(corpus_compare(corpus, test, program, &buffers, why), "%s (%s) %s", test->name,
           test->compare, why);
    corpus_buffers_free(&buffers);
}

static unsigned check_all(const char *directory, const char *manifest)
{
    struct corpus corpus;
    struct corpus_case test;
    unsigned count = 0;
    if (corpus_open(&corpus, directory, manifest))
        skip_all("there is no %s in %s", manifest, directory);
    while (corpus_next(&corpus, &test)) {
        if (strncmp(test.kind, "run", 3) != 0) continue;
        struct ir_program *program = program_of(&corpus, &test);
        count++;
        if (program == NULL) continue;
        check(&corpus, &test, program);
        vyre_ir_program_free(program);
    }
    corpus_close(&corpus);
    return count;
}

int main(int argc, char **argv)
{
    vyre_error err;
    if (argc < 2) skip_all("no directory of a corpus was given");
    if (vyre_memory_init(&memory, NULL, &err)) bail("memory: %s", err.message);
    unsigned count = check_all(argv[1], "manifest.tsv");
    count += check_all(argv[1], "manifest_extra.tsv");
    ok(count > 0, "there are cases: %u", count);
    is_u64(vyre_memory_live(&memory), 0, "nothing is left allocated");
    return done();
}
