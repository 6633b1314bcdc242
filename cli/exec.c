/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre exec`: one run of a program, from files to files. The command line is judged first, then
 * the program, then the input files; only then a runtime is opened. Output files are written after
 * the program ran to its end, and not otherwise; what it printed is always shown.
 */
#include "exec.h"

#include <stdlib.h>
#include <string.h>

#include "parse.h"

static int no_memory(void)
{
    cli_complain("there is no memory left", NULL, NULL);
    return CLI_EXIT_ENVIRONMENT;
}

static int prepare(struct exec *exec)
{
    const struct cli_args *args = exec->args;
    struct kernel_wish wish = {args->strict ? VYRE_KERNEL_STRICT : 0, 1, args->kernel};

    int code = exec_check_words(args);
    if (code != CLI_EXIT_DONE) return code;
    if (args->grid != NULL && (code = exec_parse_grid(args->grid, exec->grid)) != CLI_EXIT_DONE)
        return code;
    code = kernel_read(exec->path, wish, &exec->kernel);
    if (code == CLI_EXIT_NO) return kernel_complain(exec->path, &exec->kernel);
    if (code != CLI_EXIT_DONE) return code;
    source_show(&exec->kernel.source); /* its warnings */
    exec->uses = calloc((size_t)exec->kernel.info.buffers + 1, sizeof *exec->uses);
    exec->bound = calloc((size_t)exec->kernel.info.buffers + 1, sizeof *exec->bound);
    if (exec->uses == NULL || exec->bound == NULL) return no_memory();
    code = exec_bind(exec);
    if (code == CLI_EXIT_DONE) code = exec_load(exec);
    return code;
}

/* A program that this runtime cannot hold is rejected as others are. */
static int run_failed(struct exec *exec, vyre_status status)
{
    char message[120];

    if (status == VYRE_E_TIMEOUT) {
        int lost = exec->run.end.outcome == VYRE_LOST;
        snprintf(message, sizeof message, "the run did not end in %g s and was %s",
                 exec->args->timeout, lost ? "lost: the device did not answer" : "cancelled");
        cli_complain(message, NULL,
                     lost ? "run the command again"
                          : "look for a loop that does not end, or give it a longer --timeout");
        return CLI_EXIT_LOST;
    }
    if (status == VYRE_E_RANGE && exec->args->grid != NULL)
        return cli_misuse("--grid: %s", exec->run.err.message);
    int code = cli_fail(exec->run.doing, &exec->run.err);
    return status == VYRE_E_VM_LIMIT ? CLI_EXIT_NO : code;
}

/* Nothing for what was not compiled here. */
static void json_position(const vyre_kernel *kernel, uint32_t pc)
{
    vyre_position position = {"", 0, 0};

    if (vyre_kernel_position(kernel, pc, &position, NULL) != VYRE_OK || position.line == 0) return;
    cli_json_text("file", position.file);
    cli_json_count("line", position.line);
    cli_json_count("column", position.column);
}

static void json_result(const struct exec *exec)
{
    const vyre_completion *end = &exec->run.end;
    vyre_description description = VYRE_DESCRIPTION_INIT;
    char text[320];

    cli_json_begin("result");
    cli_json_text("outcome", kernel_outcome_name(end));
    cli_json_text("fault", end->outcome == VYRE_FAULTED ? vyre_fault_name(end->fault) : NULL);
    if (end->outcome == VYRE_FAULTED && kernel_fault_has_place(end)) {
        cli_json_count("pc", end->pc);
        vyre_kernel_place(exec->kernel.kernel, end->pc, text, sizeof text, NULL);
        cli_json_text("at", text);
        json_position(exec->kernel.kernel, end->pc);
        cli_json_count("workgroup", kernel_fault_group(&exec->run));
        cli_json_count("lane", end->result[5]);
        cli_json_count("detail", end->result[4]);
    }
    snprintf(text, sizeof text, "%u,%u,%u", exec->run.grid[0], exec->run.grid[1],
             exec->run.grid[2]);
    cli_json_text("grid", text);
    cli_json_count("workgroups", kernel_groups_run(&exec->run));
    cli_json_count("steps", end->steps);
    cli_json_count("out_of_bounds", end->out_of_bounds);
    cli_json_count("ns", exec->run.ns);
    if (cli_auto_is_cpu(exec->args))
        cli_json_text("backend", "auto chose cpu: for one run, unless --device names a GPU");
    else if (vyre_describe(exec->runtime, &description, NULL) == VYRE_OK)
        cli_json_text("backend", description.choice);
    cli_json_end();
}

static int report_end(const struct exec *exec)
{
    const vyre_completion *end = &exec->run.end;
    char message[400], at[KERNEL_PLACE_ROOM] = "";

    if (end->out_of_bounds > 0 && end->outcome == VYRE_DONE) {
        snprintf(message, sizeof message,
                 "%u access%s out of bounds read 0 or %s dropped; use --strict to find them",
                 end->out_of_bounds, end->out_of_bounds == 1 ? "" : "es",
                 end->out_of_bounds == 1 ? "was" : "were");
        cli_warn(message);
    }
    if (end->outcome == VYRE_DONE) return CLI_EXIT_DONE;
    if (end->outcome != VYRE_FAULTED) {
        snprintf(message, sizeof message, "the run was %s", kernel_outcome_name(end));
        cli_complain(message, NULL, NULL);
        return CLI_EXIT_LOST;
    }
    kernel_fault_message(&exec->run, message);
    if (kernel_fault_has_place(end)) kernel_fault_place(&exec->run, at);
    /* A line of a source can be looked at without help. */
    cli_complain(message, at,
                 kernel_fault_has_place(end) && exec->kernel.source.path == NULL
                     ? "look at the place with `vyre dis`"
                     : NULL);
    return CLI_EXIT_NO;
}

static int write_results(struct exec *exec)
{
    for (uint32_t i = 0; i < exec->kernel.info.buffers; i++) {
        size_t start, length;
        if (exec->uses[i].out == NULL) continue;
        length = kernel_result(&exec->run, i, &start);
        unsigned char *bytes = malloc(length + 1);
        if (bytes == NULL) return no_memory();
        int code = CLI_EXIT_DONE;
        if (kernel_fetch(&exec->run, i, bytes) != VYRE_OK)
            code = cli_fail(exec->run.doing, &exec->run.err);
        else
            code = cli_file_write(exec->uses[i].out, bytes, length);
        free(bytes);
        if (code != CLI_EXIT_DONE) return code;
    }
    return CLI_EXIT_DONE;
}

static int run(struct exec *exec)
{
    const struct cli_args *args = exec->args;

    exec->run.kernel = &exec->kernel;
    exec->run.bound = exec->bound;
    exec->run.timeout_ns = args->timeout > 0 ? (uint64_t)(args->timeout * 1e9) : VYRE_FOREVER;
    memcpy(exec->run.grid, exec->grid, sizeof exec->grid);
    if (args->grid == NULL &&
        kernel_grid(&exec->kernel, exec->bound, exec->run.grid, &exec->run.err) != VYRE_OK)
        return cli_fail("cannot tell how many workgroups to run", &exec->run.err);
    int code = kernel_open(args, exec->kernel.info.frame_bytes, &exec->runtime);
    if (code != CLI_EXIT_DONE) return code;
    exec->run.runtime = exec->runtime;
    vyre_status status = kernel_run(&exec->run);
    if (status == VYRE_OK || status == VYRE_E_TIMEOUT) {
        if (args->json) cli_json_header("exec");
        if (status == VYRE_OK || exec->run.end.outcome != VYRE_LOST) /* else it is stopped */
            kernel_show_log(exec->runtime, exec->kernel.kernel, args->json);
        if (args->json) json_result(exec);
    }
    if (status != VYRE_OK) return run_failed(exec, status);
    code = report_end(exec);
    return code == CLI_EXIT_DONE ? write_results(exec) : code;
}

int vyre_cli_exec(const struct cli_args *args)
{
    struct exec exec;

    memset(&exec, 0, sizeof exec);
    exec.args = args;
    exec.path = args->operands.item[0];
    int code = prepare(&exec);
    if (code == CLI_EXIT_DONE) code = run(&exec);
    if (exec.run.runtime != NULL) kernel_run_free(&exec.run);
    vyre_close(exec.runtime);
    for (uint32_t i = 0; exec.uses != NULL && i < exec.kernel.info.buffers; i++)
        free(exec.uses[i].bytes.data);
    free(exec.uses);
    free(exec.bound);
    kernel_free(&exec.kernel);
    return code;
}
