/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Who gets what in `vyre exec`: every --in, --out, --set and --size finds its buffer by name and
 * must suit it, and every buffer that needs contents or a size must have got some. Then the input
 * files are read.
 */
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "parse.h"

enum { IN, OUT, SET, SIZE };
static const char *const forms[] = {"--in", "--out", "--set", "--size"};
static const char *const values[] = {"FILE", "FILE", "VALUE", "ELEMENTS"};

static int check_list(const struct cli_list *list, int option)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *equals = strchr(list->item[i], '=');
        if (equals == NULL || equals == list->item[i] || equals[1] == '\0')
            return cli_misuse("%s takes NAME=%s, not `%s`", forms[option], values[option],
                              list->item[i]);
    }
    return CLI_EXIT_DONE;
}

static size_t count_dashes(const struct cli_list *list)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++) {
        size_t len = strlen(list->item[i]);
        count += len >= 2 && strcmp(list->item[i] + len - 2, "=-") == 0;
    }
    return count;
}

int exec_check_words(const struct cli_args *args)
{
    int code = check_list(&args->in, IN);

    if (code == CLI_EXIT_DONE) code = check_list(&args->out, OUT);
    if (code == CLI_EXIT_DONE) code = check_list(&args->set, SET);
    if (code == CLI_EXIT_DONE) code = check_list(&args->size, SIZE);
    if (code != CLI_EXIT_DONE) return code;
    if (count_dashes(&args->in) + (strcmp(args->operands.item[0], "-") == 0) > 1)
        return cli_misuse("standard input can be read only once; give `-` to one file");
    if (args->json && count_dashes(&args->out) > 0)
        return cli_misuse("--json and --out NAME=- would both write to standard output");
    return CLI_EXIT_DONE;
}

/* The buffer that a NAME=... word names, and what stands behind the sign. A name may itself hold
 * one, so the longest name that fits counts. */
static uint32_t find(const struct exec *exec, const char *word, const char **value)
{
    uint32_t found = exec->kernel.info.buffers;
    size_t longest = 0;

    for (uint32_t i = 0; i < exec->kernel.info.buffers; i++) {
        size_t len = strlen(exec->kernel.buffers[i].name);
        if (strncmp(exec->kernel.buffers[i].name, word, len) != 0 || word[len] != '=') continue;
        if (found < exec->kernel.info.buffers && len < longest) continue;
        found = i;
        longest = len;
        *value = word + len + 1;
    }
    return found;
}

/* The names that an option can take, as far as there is room. */
static const char *names_for(const struct exec *exec, int option, char text[200])
{
    static const uint32_t wanted[] = {[IN] = 0,
                                      [OUT] = VYRE_KERNEL_BUFFER_RETURNED,
                                      [SET] = VYRE_KERNEL_BUFFER_SCALAR,
                                      [SIZE] = 0};
    const uint32_t never =
        VYRE_KERNEL_BUFFER_WORKGROUP | (option == SIZE ? VYRE_KERNEL_BUFFER_SCALAR : 0);
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < exec->kernel.info.buffers; i++) {
        const vyre_kernel_buffer_info *buffer = &exec->kernel.buffers[i];
        if ((buffer->flags & wanted[option]) != wanted[option]) continue;
        if ((buffer->flags & never) != 0) continue;
        if (len + strlen(buffer->name) + 8 > 200) {
            snprintf(text + len, 200 - len, ", ...");
            break;
        }
        len += (size_t)snprintf(text + len, 200 - len, "%s%s", len > 0 ? ", " : "", buffer->name);
    }
    return text[0] == '\0' ? "none" : text;
}

static int unknown_name(const struct exec *exec, int option, const char *word)
{
    static const char *const kinds[] = {"buffers", "results", "parameters", "buffers"};
    struct cli_guess guess = {NULL, 0};
    char typed[100], names[200];

    snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word, "="), word);
    for (uint32_t i = 0; i < exec->kernel.info.buffers; i++)
        cli_guess_offer(&guess, typed, exec->kernel.buffers[i].name);
    names_for(exec, option, names);
    if (guess.name != NULL)
        return cli_misuse("%s: there is no `%s`; did you mean `%s`? The program's %s: %s",
                          forms[option], typed, guess.name, kinds[option],
                          names_for(exec, option, names));
    return cli_misuse("%s: there is no `%s`; the program's %s: %s", forms[option], typed,
                      kinds[option], names_for(exec, option, names));
}

/* Whether a buffer is one that the option can be about. */
static int unsuitable(const struct exec *exec, int option, const vyre_kernel_buffer_info *buffer)
{
    char names[200];

    if ((buffer->flags & VYRE_KERNEL_BUFFER_WORKGROUP) != 0)
        return cli_misuse("%s: `%s` is workgroup memory: it starts zeroed in every workgroup",
                          forms[option], buffer->name);
    if (option == OUT && (buffer->flags & VYRE_KERNEL_BUFFER_RETURNED) == 0)
        return cli_misuse("--out: `%s` is no result; the program's results: %s", buffer->name,
                          names_for(exec, OUT, names));
    if (option == SET && (buffer->flags & VYRE_KERNEL_BUFFER_SCALAR) == 0)
        return cli_misuse("--set: `%s` is no scalar parameter; use --in %s=FILE", buffer->name,
                          buffer->name);
    if (option == SIZE && (buffer->flags & VYRE_KERNEL_BUFFER_SCALAR) != 0)
        return cli_misuse("--size: `%s` is a scalar parameter; use --set %s=VALUE", buffer->name,
                          buffer->name);
    return CLI_EXIT_DONE;
}

static const char **place_of(struct exec_use *use, int option)
{
    const char **const places[] = {
        [IN] = &use->in, [OUT] = &use->out, [SET] = &use->value, [SIZE] = &use->size};
    return places[option];
}

static int give(struct exec *exec, int option, const struct cli_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *value = NULL;
        uint32_t found = find(exec, list->item[i], &value);
        if (found == exec->kernel.info.buffers) return unknown_name(exec, option, list->item[i]);
        const vyre_kernel_buffer_info *buffer = &exec->kernel.buffers[found];
        const char **place = place_of(&exec->uses[found], option);
        int code = unsuitable(exec, option, buffer);
        if (code != CLI_EXIT_DONE) return code;
        if (*place != NULL) return cli_misuse("%s names `%s` twice", forms[option], buffer->name);
        *place = value;
    }
    return CLI_EXIT_DONE;
}

static int missing(const struct exec *exec)
{
    for (uint32_t i = 0; i < exec->kernel.info.buffers; i++) {
        const vyre_kernel_buffer_info *buffer = &exec->kernel.buffers[i];
        const struct exec_use *use = &exec->uses[i];
        if (use->in != NULL && use->value != NULL)
            return cli_misuse("`%s` has both --in and --set; give one of them", buffer->name);
        if (use->in != NULL && use->size != NULL)
            return cli_misuse("`%s` has both --in and --size; its file is its size", buffer->name);
        if (use->in != NULL || use->value != NULL || use->size != NULL ||
            (buffer->flags & VYRE_KERNEL_BUFFER_WORKGROUP) != 0)
            continue;
        if ((buffer->flags & VYRE_KERNEL_BUFFER_OUTPUT) != 0 && buffer->count > 0) continue;
        if ((buffer->flags & VYRE_KERNEL_BUFFER_OUTPUT) != 0)
            return cli_misuse(
                "the program leaves the size of the output `%s` (%s) open; add --size "
                "%s=ELEMENTS",
                buffer->name, buffer->type, buffer->name);
        if ((buffer->flags & VYRE_KERNEL_BUFFER_SCALAR) != 0)
            return cli_misuse("the parameter `%s` (%s) has no value; add --set %s=VALUE",
                              buffer->name, buffer->type, buffer->name);
        return cli_misuse("the buffer `%s` (%s) has no contents; add --in %s=FILE, or --size "
                          "%s=ELEMENTS for zeros",
                          buffer->name, buffer->type, buffer->name, buffer->name);
    }
    return CLI_EXIT_DONE;
}

/* What is read must still be there when the results are written, whatever becomes of the run. A
 * buffer may go back to the file that it came from. */
static int check_output(const struct exec *exec, uint32_t buffer)
{
    const char *name = exec->kernel.buffers[buffer].name, *out = exec->uses[buffer].out;
    struct stat status;
    int there = stat(out, &status) == 0;

    if (cli_file_is_stdout(out)) {
        exec->uses[buffer].out = "-"; /* whatever else it is called */
        if (!exec->args->json) return CLI_EXIT_DONE;
        return cli_misuse("--json and --out %s=%.150s would both write to standard output", name,
                          out);
    }
    if (there && cli_file_is(exec->path, &status))
        return cli_misuse("--out %s=%.150s would replace the program itself; write to another file",
                          name, out);
    for (uint32_t i = 0; i < exec->kernel.info.buffers; i++) {
        const struct exec_use *use = &exec->uses[i];
        if (i != buffer && there && use->in != NULL && cli_file_is(use->in, &status))
            return cli_misuse("--out %s=%.150s would replace what `%s` is read from; write to "
                              "another file",
                              name, out, exec->kernel.buffers[i].name);
        if (i < buffer && use->out != NULL &&
            ((!there && cli_file_same_new(use->out, out)) ||
             (there && cli_file_is(use->out, &status))))
            return cli_misuse("--out: `%s` and `%s` would both be written to `%.150s`",
                              exec->kernel.buffers[i].name, name, out);
    }
    return cli_file_writable(out);
}

static int check_outputs(const struct exec *exec)
{
    int code = CLI_EXIT_DONE;

    for (uint32_t i = 0; i < exec->kernel.info.buffers && code == CLI_EXIT_DONE; i++)
        if (exec->uses[i].out != NULL) code = check_output(exec, i);
    return code;
}

int exec_bind(struct exec *exec)
{
    int code = give(exec, IN, &exec->args->in);

    if (code == CLI_EXIT_DONE) code = give(exec, OUT, &exec->args->out);
    if (code == CLI_EXIT_DONE) code = give(exec, SET, &exec->args->set);
    if (code == CLI_EXIT_DONE) code = give(exec, SIZE, &exec->args->size);
    if (code == CLI_EXIT_DONE) code = missing(exec);
    return code == CLI_EXIT_DONE ? check_outputs(exec) : code;
}

static int load_file(const vyre_kernel_buffer_info *buffer, struct exec_use *use)
{
    const int scalar = (buffer->flags & VYRE_KERNEL_BUFFER_SCALAR) != 0;
    char message[400];
    int code = cli_file_read(use->in, scalar ? buffer->bytes : CLI_NO_LIMIT, NULL, &use->bytes);

    if (code != CLI_EXIT_DONE) return code;
    if (scalar && use->bytes.length > buffer->bytes) use->bytes.length = buffer->bytes;
    if (use->bytes.length >= buffer->bytes) {
        if (buffer->stride == 0 || use->bytes.length % buffer->stride == 0) return code;
        snprintf(message, sizeof message,
                 "`%.200s` has %zu byte%s, and an element of `%.80s` has %u: the last %zu %s none",
                 use->in, use->bytes.length, cli_plural(use->bytes.length), buffer->name,
                 (unsigned)buffer->stride, use->bytes.length % buffer->stride,
                 use->bytes.length % buffer->stride == 1 ? "is" : "are");
        cli_warn(message);
        return code;
    }
    snprintf(message, sizeof message,
             "`%.200s` is too short for the buffer `%.80s`: %zu byte%s, and it needs %llu", use->in,
             buffer->name, use->bytes.length, cli_plural(use->bytes.length),
             (unsigned long long)buffer->bytes);
    cli_complain(message, NULL, NULL);
    return CLI_EXIT_IO;
}

int exec_load(struct exec *exec)
{
    for (uint32_t i = 0; i < exec->kernel.info.buffers; i++) {
        const vyre_kernel_buffer_info *buffer = &exec->kernel.buffers[i];
        struct exec_use *use = &exec->uses[i];
        struct kernel_bound *bound = &exec->bound[i];
        int code = CLI_EXIT_DONE;
        if ((buffer->flags & VYRE_KERNEL_BUFFER_WORKGROUP) != 0) continue;
        bound->length = (size_t)buffer->bytes;
        if (use->value != NULL) {
            /* A slot has room for so many; those of a program that has more are bound, all. */
            bound->by_slot = exec->kernel.info.scalars <= VYRE_RUN_MAX_SCALARS;
            code = exec_parse_value(buffer, use->value, &bound->scalar);
            if (!bound->by_slot) bound->bytes = &bound->scalar;
        } else if (use->in != NULL) {
            code = load_file(buffer, use);
            bound->bytes = use->bytes.data;
            bound->length = use->bytes.length;
        } else if (use->size != NULL) {
            uint32_t elements = 0;
            code = exec_parse_size(buffer, use->size, &elements);
            bound->length = (size_t)elements * buffer->stride;
        }
        if (code != CLI_EXIT_DONE) return code;
    }
    return CLI_EXIT_DONE;
}
