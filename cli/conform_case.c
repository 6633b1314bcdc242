/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * One case of `vyre conform`: a program that must be rejected, must fail, or must give certain
 * outputs. The manifest also says which buffers go in and out and how many workgroups run; the
 * program's own idea of each must agree.
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define CASE_TIMEOUT_NS 60000000000ull

struct run_case {
    struct conform_device *device;
    const char *dir;
    const struct conform_row *row;
    struct conform_result *result;
    struct kernel kernel;
    struct cli_bytes in, out;
    struct kernel_bound *bound;
    struct kernel_run run;
};

static int read_part(const struct run_case *c, const char *suffix, size_t limit,
                     struct cli_bytes *bytes)
{
    char path[4096], at[400];
    int len = snprintf(path, sizeof path, "%s/%s%s", c->dir, c->row->name, suffix);

    if (len < 0 || (size_t)len >= sizeof path)
        return conform_bad_row(c->row, "the path of this case is too long");
    snprintf(at, sizeof at, "%.300s:%u", c->row->manifest, c->row->line);
    return cli_file_read(path, limit, at, bytes);
}

/* Reads a file of buffers that must be as long as the list says. */
static int read_buffers(const struct run_case *c, const char *suffix, const char *list,
                        struct cli_bytes *bytes)
{
    struct conform_item item;
    size_t sum = 0;

    while (conform_next(&list, &item))
        sum += item.bytes;
    int code = read_part(c, suffix, sum, bytes);
    if (code == CLI_EXIT_DONE && bytes->length != sum)
        return conform_bad_row(c->row, "%.100s%s has %s%zu byte%s, and the manifest says %zu",
                               c->row->name, suffix, bytes->length > sum ? "more than " : "",
                               bytes->length > sum ? sum : bytes->length,
                               cli_plural(bytes->length > sum ? sum : bytes->length), sum);
    return code;
}

static int is_named(const vyre_kernel_buffer_info *buffer, const struct conform_item *item)
{
    return strlen(buffer->name) == item->name_length &&
           memcmp(buffer->name, item->name, item->name_length) == 0;
}

/* Gives the inputs to the buffers that take some, both in order. Returns 0 after saying why not. */
static int bind_inputs(struct run_case *c)
{
    const uint32_t none = VYRE_KERNEL_BUFFER_WORKGROUP | VYRE_KERNEL_BUFFER_OUTPUT;
    const char *list = c->row->inputs;
    struct conform_item item;
    size_t at = 0;

    for (uint32_t i = 0; i < c->kernel.info.buffers; i++) {
        const vyre_kernel_buffer_info *buffer = &c->kernel.buffers[i];
        if ((buffer->flags & VYRE_KERNEL_BUFFER_OUTPUT) != 0)
            c->bound[i].length = (size_t)buffer->bytes;
        if ((buffer->flags & none) != 0) continue;
        if (!conform_next(&list, &item) || !is_named(buffer, &item)) {
            conform_say(c->result, CONFORM_FAIL, "`%.100s` takes an input, and has none here",
                        buffer->name);
            return 0;
        }
        c->bound[i].bytes = c->in.data + at;
        c->bound[i].length = item.bytes;
        at += item.bytes;
    }
    if (!conform_next(&list, &item)) return 1;
    conform_say(c->result, CONFORM_FAIL, "there is an input `%.*s`, and nothing takes it",
                (int)(item.name_length < 100 ? item.name_length : 100), item.name);
    return 0;
}

static int check_grid(struct run_case *c)
{
    uint32_t own[3], *grid = c->run.grid;

    if (kernel_grid(&c->kernel, c->bound, own, &c->run.err) != VYRE_OK) {
        conform_say(c->result, CONFORM_FAIL, "no grid: %s", c->run.err.message);
        return 0;
    }
    if (memcmp(own, grid, sizeof own) == 0) return 1;
    conform_say(c->result, CONFORM_FAIL, "the grid is %u,%u,%u, not %u,%u,%u", own[0], own[1],
                own[2], grid[0], grid[1], grid[2]);
    return 0;
}

static int outputs_agree(struct run_case *c, uint32_t ulp)
{
    const char *list = c->row->outputs;
    struct conform_item item;
    size_t at = 0;
    int agree = 1;

    for (uint32_t i = 0; i < c->kernel.info.buffers && agree; i++) {
        const vyre_kernel_buffer_info *buffer = &c->kernel.buffers[i];
        size_t start, length;
        if ((buffer->flags & VYRE_KERNEL_BUFFER_RETURNED) == 0) continue;
        length = kernel_result(&c->run, i, &start);
        if (!conform_next(&list, &item) || !is_named(buffer, &item) || item.bytes != length) {
            conform_say(c->result, CONFORM_FAIL,
                        "`%.100s` returns %zu byte%s, and the manifest says otherwise",
                        buffer->name, length, cli_plural(length));
            return 0;
        }
        unsigned char *got = malloc(length + 1);
        if (got == NULL || kernel_fetch(&c->run, i, got) != VYRE_OK) {
            conform_say(c->result, CONFORM_FAIL, "cannot read `%.100s`: %s", buffer->name,
                        got == NULL ? "no memory" : c->run.err.message);
            free(got);
            return 0;
        }
        struct conform_pair pair = {buffer->name,   got, c->out.data + at, length,
                                    buffer->stride, ulp};
        agree = conform_compare(&pair, c->result);
        free(got);
        at += length;
    }
    if (!agree || !conform_next(&list, &item)) return agree;
    conform_say(c->result, CONFORM_FAIL, "there is an output `%.*s`, and nothing returns it",
                (int)(item.name_length < 100 ? item.name_length : 100), item.name);
    return 0;
}

/* Loads and runs. Returns an exit code; *ended tells whether there is a completion to look at. */
static int run_program(struct run_case *c, int *ended)
{
    int code = conform_device_open(c->device, c->kernel.info.frame_bytes);
    if (code != CLI_EXIT_DONE) return code;
    c->run.runtime = c->device->runtime;
    c->run.kernel = &c->kernel;
    c->run.bound = c->bound;
    c->run.timeout_ns = CASE_TIMEOUT_NS;
    vyre_status status = kernel_run(&c->run);
    c->result->ns = c->run.ns;
    *ended = status == VYRE_OK;
    if (status == VYRE_OK) return CLI_EXIT_DONE;
    if (status == VYRE_E_UNSUPPORTED)
        return conform_say(c->result, CONFORM_SKIP, "%s", c->run.err.message);
    conform_say(c->result, CONFORM_FAIL, "%s: %s", c->run.doing, c->run.err.message);
    if (!c->run.stuck) return CLI_EXIT_DONE;
    cli_complain("a case neither ended nor could be cancelled", c->row->name, NULL);
    return CLI_EXIT_LOST;
}

static int say_end(const struct run_case *c)
{
    const vyre_completion *end = &c->run.end;
    char at[KERNEL_PLACE_ROOM];

    if (end->outcome != VYRE_FAULTED)
        return conform_say(c->result, CONFORM_FAIL, "the run was %s", kernel_outcome_name(end));
    kernel_fault_place(&c->run, at);
    return conform_say(c->result, CONFORM_FAIL, "it faulted with %s at %s",
                       vyre_fault_name(end->fault), at);
}

static int ulp_of(const struct conform_row *row, uint32_t *ulp)
{
    *ulp = strcmp(row->compare, "ulp4") == 0 ? 4 : strcmp(row->compare, "ulp128") == 0 ? 128 : 0;
    return *ulp > 0 || strcmp(row->compare, "exact") == 0;
}

/* What `run` and `run-error` have in common: everything up to the completion. */
static int start(struct run_case *c, int *ended)
{
    *ended = 0;
    if (!conform_grid(c->row, c->run.grid))
        return conform_bad_row(c->row, "a case that runs needs a grid, not `-`");
    c->bound = calloc((size_t)c->kernel.info.buffers + 1, sizeof *c->bound);
    if (c->bound == NULL) {
        cli_complain("there is no memory left", NULL, NULL);
        return CLI_EXIT_ENVIRONMENT;
    }
    if (!bind_inputs(c) || !check_grid(c)) return CLI_EXIT_DONE;
    return run_program(c, ended);
}

static int run_must_succeed(struct run_case *c, int code)
{
    uint32_t ulp;
    int ended;

    if (!ulp_of(c->row, &ulp))
        return conform_say(c->result, CONFORM_SKIP, "unknown comparison `%.60s`", c->row->compare);
    int more = read_buffers(c, ".in", c->row->inputs, &c->in);
    if (more == CLI_EXIT_DONE) more = read_buffers(c, ".out", c->row->outputs, &c->out);
    if (more != CLI_EXIT_DONE) return more;
    if (code == CLI_EXIT_NO) {
        struct kernel_reason reason;
        kernel_reason(&c->kernel, &reason);
        return conform_say(c->result, CONFORM_FAIL, "rejected: %s%s%.120s: %.240s", reason.code,
                           reason.at[0] != '\0' ? " at " : "", reason.at, reason.message);
    }
    code = start(c, &ended);
    if (code != CLI_EXIT_DONE || !ended) return code;
    if (c->run.end.outcome != VYRE_DONE) return say_end(c);
    if (outputs_agree(c, ulp)) c->result->verdict = CONFORM_PASS;
    return CLI_EXIT_DONE;
}

static int run_must_fail(struct run_case *c, int code)
{
    int ended;
    int more = read_buffers(c, ".in", c->row->inputs, &c->in);

    if (more != CLI_EXIT_DONE) return more;
    if (code == CLI_EXIT_NO && kernel_is_decode_error(c->kernel.err.status))
        return conform_say(c->result, CONFORM_FAIL, "it is a program, and was refused as none: %s",
                           c->kernel.err.message);
    if (code == CLI_EXIT_NO && kernel_no(&c->kernel) == CLI_EXIT_BUG)
        return conform_say(c->result, CONFORM_FAIL, "bad bytecode: %s", c->kernel.err.message);
    if (code == CLI_EXIT_NO) return conform_say(c->result, CONFORM_PASS, "%s", "");
    code = start(c, &ended);
    if (code != CLI_EXIT_DONE || !ended) return code;
    if (c->run.end.outcome == VYRE_FAULTED) return conform_say(c->result, CONFORM_PASS, "%s", "");
    return conform_say(c->result, CONFORM_FAIL, "it should fail, and was %s",
                       kernel_outcome_name(&c->run.end));
}

static int must_be_rejected(struct run_case *c, int code, int decode)
{
    vyre_status status = c->kernel.err.status;

    if (code == CLI_EXIT_DONE)
        return conform_say(c->result, CONFORM_FAIL, "accepted, and should be rejected");
    if (decode ? kernel_is_decode_error(status) : status == VYRE_E_IR_INVALID)
        return conform_say(c->result, CONFORM_PASS, "%s", "");
    return conform_say(c->result, CONFORM_FAIL, "rejected for another reason: %s: %s",
                       vyre_status_name(status), c->kernel.err.message);
}

static int run_case(struct run_case *c)
{
    const char *kind = c->row->kind;
    struct kernel_wish wish = {0, 1, NULL};
    struct cli_bytes program = {NULL, 0};

    if (strncmp(c->row->name, "h_val_cap_", 10) == 0) wish.flags = VYRE_KERNEL_NO_SUBGROUPS;
    int code = read_part(c, ".vir", KERNEL_MOST_BYTES, &program);
    if (code != CLI_EXIT_DONE) return code;
    code = kernel_check(c->row->name, &program, wish, &c->kernel);
    free(program.data);
    if (code != CLI_EXIT_DONE && code != CLI_EXIT_NO) return code;
    if (strcmp(kind, "run") == 0 || strcmp(kind, "run-noncanonical") == 0)
        return run_must_succeed(c, code);
    if (strcmp(kind, "run-error") == 0) return run_must_fail(c, code);
    if (strcmp(kind, "reject-decode") == 0) return must_be_rejected(c, code, 1);
    if (strcmp(kind, "reject-validate") == 0) return must_be_rejected(c, code, 0);
    return conform_say(c->result, CONFORM_SKIP, "unknown kind `%.60s`", kind);
}

int conform_case(struct conform_device *device, const char *dir, const struct conform_row *row,
                 struct conform_result *result)
{
    struct run_case c;

    memset(&c, 0, sizeof c);
    memset(result, 0, sizeof *result);
    c.device = device;
    c.dir = dir;
    c.row = row;
    c.result = result;
    int code = run_case(&c);
    if (c.run.runtime != NULL) kernel_run_free(&c.run);
    free(c.bound);
    free(c.in.data);
    free(c.out.data);
    kernel_free(&c.kernel);
    return code;
}
