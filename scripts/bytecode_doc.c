/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Prints the parts of docs/bytecode.md that come from tables: `limits` from bytecode.h, `compute`,
 * `memory` and `control` from opcodes.def, `rules` from rules_vm.def. Called by
 * scripts/gen-bytecode-doc only, and linked with src/vm/table.c.
 */
#include <stdio.h>
#include <string.h>

#include "vm/shape.h"
#include "vm/vm.h"

struct rule {
    unsigned number;
    const char *status, *text, *fix;
};

static const struct rule rules[] = {
#define VM_RULE(number, name, status, text, fix) {number, #status, text, fix},
#include "vm/rules_vm.def"
};

static void print_operand(const char *field, const struct vm_operand *operand)
{
    const char *type = operand->can == 0                       ? "t"
                       : operand->can == VM_CAN_F              ? "f"
                       : operand->can == (VM_CAN_U | VM_CAN_B) ? "b"
                                                               : "u";
    printf("%s:%s", field, type);
    if (operand->words > 1) printf("%u", (unsigned)operand->words);
    if (operand->bank == VM_BANK_VECTOR) printf(" vector");
    if (operand->bank == VM_BANK_SCALAR) printf(" scalar");
    if (operand->bank == VM_BANK_RESULT) printf(" as d");
}

static void print_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

static void print_row(uint32_t op)
{
    static const char *const fields[] = {"a", "b", "c"};
    static const char *const imms[] = {"", "number", "buffer", "target"};
    const struct vm_row *row = vyre_vm_row(op);
    struct vm_shape shape;
    const char *comma = "";
    vyre_vm_shape(op, &shape);
    printf("| `%s` | ", row->name);
    if (shape.result.words) print_operand("d", &shape.result);
    printf(" | ");
    for (uint32_t i = 0; i < shape.sources; i++) {
        printf("%s", comma);
        print_operand(fields[i], &shape.source[i]);
        comma = ", ";
    }
    if (shape.imm != VM_IMM_NONE) printf("%s%s", comma, imms[shape.imm]);
    printf(" | ");
    print_cell(row->what);
    printf(" |\n");
}

static void print_rows(uint32_t first, uint32_t last)
{
    printf("| name | result | operands | what it does |\n|---|---|---|---|\n");
    for (uint32_t op = first; op <= last; op++)
        print_row(op);
}

static void print_limits(void)
{
    printf("| what | at most |\n|---|---|\n");
    printf("| lanes of a workgroup | %u |\n", VM_MAX_LANES);
    printf("| registers | %u |\n", VM_MAX_REGISTERS);
    printf("| scalars, constants included | %u |\n", VM_MAX_SCALARS);
    printf("| instructions | %u |\n", VM_MAX_CODE);
    printf("| masks open at once | %u |\n", VM_MAX_LEVELS);
    printf("| ifs and loops open at once | %u |\n", VM_MAX_NESTING);
    printf("| buffers | %u |\n", VM_MAX_BUFFERS);
    printf("| bytes of workgroup memory | %u |\n", VM_MAX_SHARED);
}

static void print_rules(void)
{
    printf("| rule | what must hold | what helps |\n|---|---|---|\n");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        printf("| B%03u%s | %s | %s |\n", rules[i].number,
               strcmp(rules[i].status, "E_VM_LIMIT") == 0 ? " (limit)" : "", rules[i].text,
               rules[i].fix);
}

int main(int argc, char **argv)
{
    const char *part = argc == 2 ? argv[1] : "";
    if (strcmp(part, "limits") == 0)
        print_limits();
    else if (strcmp(part, "compute") == 0)
        print_rows(VM_OP_NONE + 1, VM_OP_MOV - 1);
    else if (strcmp(part, "memory") == 0)
        print_rows(VM_OP_MOV, VM_OP_IF - 1);
    else if (strcmp(part, "control") == 0)
        print_rows(VM_OP_IF, VM_OP_END);
    else if (strcmp(part, "rules") == 0)
        print_rules();
    else
        return 2;
    return ferror(stdout) || fflush(stdout) != 0;
}
