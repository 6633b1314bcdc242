/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The conformance corpus through the lowering: whatever it makes passes the verifier, keeps its
 * promises along random paths, and prints. The directory of the corpus is the first argument.
 */
#include <dirent.h>

#include "tap.h"
#include "vm/vm.h"
#include "vm_walk.h"

#define PATHS 8u

static struct vyre_memory memory;
static struct vm_walk walk_room;
static uint32_t lowered, refused;

static size_t read_file(const char *path, char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    if (!file) bail("cannot open %s", path);
    size_t length = fread(bytes, 1, room, file);
    fclose(file);
    return length;
}

static int count_bytes(void *ctx, const char *text, size_t length)
{
    (void)text;
    *(size_t *)ctx += length;
    return 0;
}

static void check_program(const char *name, const struct vm_program *program,
                          const struct ir_program *tree)
{
    vyre_error err = {0};
    const char *broken = NULL;
    size_t printed = 0;
    vyre_status status = vyre_vm_verify(&memory, program->header, program->header->bytes, &err);
    for (uint32_t i = 0; i < PATHS && !status && !broken; i++)
        broken = vm_walk(&walk_room, program->header, 0x9E3779B97F4A7C15u * (i + 1));
    if (!ok(status == VYRE_OK && !broken, "%s passes and keeps its promises", name))
        note("%s", status ? err.message : broken);
    if (vyre_vm_print(program, tree, count_bytes, &printed, &err) || printed < 100)
        ok(0, "%s prints", name);
}

/* Programs that do not decode or validate are other tests' business. */
static void check_file(const char *directory, const char *name, uint32_t strict)
{
    static char bytes[1u << 22];
    char path[4096];
    struct ir_validate_options options = {.subgroups = 1, .most = 1};
    struct vm_lower_options lower = {.strict = strict};
    struct ir_program *tree = NULL;
    struct vm_program *program = NULL;
    vyre_error err = {0};
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        bail("the path of the corpus is too long");
    size_t length = read_file(path, bytes, sizeof bytes);
    if (vyre_ir_decode(&memory, bytes, length, &tree, &err)) return;
    if (vyre_ir_validate(tree, &options, &err) == VYRE_OK) {
        vyre_status status = vyre_vm_lower(tree, &lower, &program, &err);
        if (status) {
            refused++;
            ok(status == VYRE_E_VM_UNSUPPORTED || status == VYRE_E_VM_LIMIT,
               "%s is not lowered: %s", name, err.message);
        } else {
            lowered++;
            check_program(name, program, tree);
        }
    }
    vyre_vm_free(program);
    vyre_ir_program_free(tree);
}

int main(int argc, char **argv)
{
    vyre_error err;
    DIR *directory = argc > 1 ? opendir(argv[1]) : NULL;
    if (!directory) skip_all("the conformance corpus is not here");
    if (vyre_memory_init(&memory, NULL, &err)) bail("%s", err.message);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".vir") != 0) continue;
        check_file(argv[1], entry->d_name, 0);
        check_file(argv[1], entry->d_name, 1);
    }
    closedir(directory);
    note("%u lowered, %u not", (unsigned)lowered, (unsigned)refused);
    ok(lowered > 10 * refused, "most programs are lowered");
    is_u64(vyre_memory_live(&memory), 0, "nothing is left behind");
    return done();
}
