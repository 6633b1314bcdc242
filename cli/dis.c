/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * `vyre dis`: prints a program as text, the bytecode or the statements. Only one that was accepted
 * has a text.
 */
#include "kernel.h"

static int put(void *ctx, const char *text, size_t length)
{
    (void)ctx;
    return fwrite(text, 1, length, stdout) == length ? 0 : -1;
}

int vyre_cli_dis(const struct cli_args *args)
{
    const char *path = args->operands.item[0];
    struct kernel_wish wish = {0, 1, args->kernel};
    struct kernel kernel;
    vyre_error err;

    int code = kernel_read(path, wish, &kernel);
    if (code == CLI_EXIT_NO) code = kernel_complain(path, &kernel);
    if (code == CLI_EXIT_DONE) {
        source_show(&kernel.source); /* its warnings */
        enum vyre_kernel_text text = args->program ? VYRE_TEXT_PROGRAM : VYRE_TEXT_BYTECODE;
        vyre_status status = vyre_kernel_print(kernel.kernel, text, put, NULL, &err);
        /* E_SYSTEM: stdout took no more, which is told when it is closed. */
        if (status == VYRE_E_SYSTEM)
            code = CLI_EXIT_IO;
        else if (status != VYRE_OK)
            code = cli_fail("cannot print the program", &err);
    }
    kernel_free(&kernel);
    return code;
}
