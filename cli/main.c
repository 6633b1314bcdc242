/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The command `vyre`: parses, prints a text or runs one subcommand, and ends with the exit code
 * that tells how it went. Nothing here or in the subcommands uses more of libvyre than its public
 * headers.
 */
#include <stdio.h>

#include "cli.h"
#include "help.h"
#include "output.h"
#include "parse.h"

typedef int (*handler_fn)(const struct cli_args *args);

static const handler_fn handlers[] = {
#define CLI_COMMAND(name, words, handler, operands, summary, about) handler,
#include "options.def"
};

/* The table bounds --workers for all machines; the backend knows what this one takes. */
static int check_workers(const struct cli_args *args)
{
    uint32_t most = 0;

    if (args->workers == VYRE_DEFAULT) return CLI_EXIT_DONE;
    for (int backend = VYRE_BACKEND_CPU; backend <= VYRE_BACKEND_CUDA; backend++) {
        vyre_caps caps = {.size = sizeof caps};
        if (args->backend != VYRE_BACKEND_AUTO && args->backend != (uint32_t)backend) continue;
        if (vyre_backend_caps((enum vyre_backend)backend, &caps, NULL) != VYRE_OK) continue;
        if (caps.supported && caps.max_workers > most) most = caps.max_workers;
    }
    /* No backend at all is another complaint, which opening a runtime makes. */
    if (most == 0 || args->workers <= most) return CLI_EXIT_DONE;
    return cli_misuse("--workers takes a whole number from 1 to %u on this machine, not `%u`", most,
                      args->workers);
}

static int run_parsed(const struct cli_args *args)
{
    if (args->help || args->long_help) {
        cli_help(stdout, args);
        return CLI_EXIT_DONE;
    }
    if (args->version) {
        printf("vyre %s\n", vyre_version());
        return CLI_EXIT_DONE;
    }
    if (args->command == CLI_COMMANDS) {
        cli_help(stderr, args);
        return CLI_EXIT_MISUSE;
    }
    int code = check_workers(args);
    return code == CLI_EXIT_DONE ? handlers[args->command](args) : code;
}

static int run(int argc, char **argv)
{
    struct cli_args args;

    cli_output_set_color(CLI_COLOR_AUTO); /* for complaints about the command line itself */
    int code = cli_parse(argc, argv, &args);
    cli_output_set_color(args.color);
    if (code == CLI_EXIT_DONE) code = run_parsed(&args);
    cli_args_free(&args);
    return code;
}

int main(int argc, char **argv)
{
    cli_output_prepare();
    return cli_output_finish(run(argc, argv));
}
