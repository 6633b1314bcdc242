/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The validator over the conformance corpus: what the reference rejects is rejected, what it
 * runs, or begins to run, is accepted. The directory of the corpus is the first argument.
 */
#include "ir/program.h"
#include "tap.h"

static struct vyre_memory memory;

/* NULL: there is no such file. */
static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    *length = 0;
    if (!file) return NULL;
    for (size_t got = 1; got > 0; *length += got) {
        bytes = realloc(bytes, *length + 65537);
        if (!bytes) bail("no memory for %s", path);
        got = fread(bytes + *length, 1, 65536, file);
    }
    bytes[*length] = '\0';
    fclose(file);
    return bytes;
}

/* Validates the program of that name; what it decodes to must decode. */
static vyre_status verdict(const char *path, uint32_t subgroups, vyre_error *err)
{
    struct ir_validate_options options = {.subgroups = subgroups, .most = 1};
    struct ir_program *program = NULL;
    size_t length;
    char *bytes = read_file(path, &length);
    if (!bytes) bail("%s is in the manifest, but not there", path);
    vyre_status status = vyre_ir_decode(&memory, bytes, length, &program, err);
    if (!status) status = vyre_ir_validate(program, &options, err);
    vyre_ir_program_free(program);
    free(bytes);
    return status;
}

static void judge(const char *directory, const char *name, const char *kind)
{
    char path[4096];
    vyre_error err = {0};
    int reject = strcmp(kind, "reject-validate") == 0;
    int capability = strncmp(name, "h_val_cap_", 10) == 0;
    if (!reject && strncmp(kind, "run", 3) != 0) return;
    if (snprintf(path, sizeof path, "%s/%s.vir", directory, name) >= (int)sizeof path)
        bail("the path of the corpus is too long");
    vyre_status status = verdict(path, !capability, &err);
    if (reject)
        ok(status == VYRE_E_IR_INVALID, "%s is rejected: %s", name, err.message);
    else if (!ok(status == VYRE_OK, "%s is accepted", name))
        note("%s", err.message);
    if (capability) ok(verdict(path, 1, &err) == VYRE_OK, "%s with subgroups is accepted", name);
}

static void walk(const char *directory, const char *manifest)
{
    char path[4096];
    size_t length;
    uint64_t before = tap.run;
    snprintf(path, sizeof path, "%s/%s", directory, manifest);
    char *text = read_file(path, &length);
    if (!text) bail("%s: cannot be read", path);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char name[256], family[32], kind[64];
        if (line[0] == '#') continue;
        if (sscanf(line, "%255[^\t]\t%31[^\t]\t%63[^\t]", name, family, kind) != 3)
            bail("%s: a line without three columns: %s", manifest, line);
        judge(directory, name, kind);
    }
    ok(tap.run > before, "%s has cases", manifest);
    free(text);
}

int main(int argc, char **argv)
{
    vyre_error err;
    if (argc < 2) bail("the first argument is the directory of the corpus");
    if (access(argv[1], R_OK) != 0) skip_all("there is no corpus at %s", argv[1]);
    if (vyre_memory_init(&memory, NULL, &err)) bail("%s", err.message);
    walk(argv[1], "manifest.tsv");
    walk(argv[1], "manifest_extra.tsv");
    is_u64(vyre_memory_live(&memory), 0, "all memory given back");
    return done();
}
