/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * From the command line to the options of a runtime. Called by every command that opens one.
 */
#include "cli.h"

vyre_options cli_runtime_options(const struct cli_args *args)
{
    vyre_options options = VYRE_OPTIONS_INIT;

    options.backend = args->backend;
    options.place = args->place;
    options.device = args->device;
    options.host = args->host;
    options.workers = args->workers;
    return options;
}

int cli_auto_is_cpu(const struct cli_args *args)
{
    return args->backend == VYRE_BACKEND_AUTO && args->device == NULL;
}

vyre_options cli_program_options(const struct cli_args *args)
{
    vyre_options options = cli_runtime_options(args);

    /* A command runs one program once: on a GPU that means a device host to start and a longer way
     * for each slot, which only large grids make up for. Who names a GPU gets it, and who names a
     * host that one. The results are the same. */
    if (cli_auto_is_cpu(args)) {
        options.backend = VYRE_BACKEND_CPU;
        if (options.host != NULL && options.place == VYRE_PLACE_AUTO)
            options.place = VYRE_PLACE_HOST;
    }
    return options;
}
