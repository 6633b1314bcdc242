/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the tests of the validator share: bad(RULE, statements...) is a test that the program is
 * rejected, by that rule and no other; good(statements...) that it is accepted. The statements
 * stand in one region of a program with the buffers of start().
 */
#ifndef VYRE_TESTS_IR_VALIDATE_TEST_H
#define VYRE_TESTS_IR_VALIDATE_TEST_H

#include "ir_build.h"
#include "tap.h"

static struct vyre_memory memory;
static uint32_t hit[IR_RULE_END];

struct seen {
    uint32_t count;
    uint32_t rules[IR_RULE_END];
    uint32_t silent; /* findings without a text or a path */
    struct ir_finding first;
};

static void collect(void *ctx, const struct ir_finding *finding)
{
    struct seen *seen = ctx;
    if (seen->count++ == 0) seen->first = *finding;
    seen->rules[finding->rule]++;
    seen->silent += finding->message[0] == '\0' || finding->path[0] == '\0';
}

/* The finding's rule, text and fix are in the error. */
static int same_in_error(const vyre_error *err, const struct ir_finding *finding)
{
    const char *code = vyre_ir_rule_code(finding->rule);
    char path[24]; /* a long one is cut in the error */
    snprintf(path, sizeof path, ", at %.18s", finding->path);
    return err->status == VYRE_E_IR_INVALID && strncmp(err->message, code, 4) == 0 &&
           strstr(err->message, finding->message) && strstr(err->message, path) &&
           strcmp(err->fix, vyre_ir_rule_fix(finding->rule)) == 0 &&
           (finding->id == IR_NONE
                ? err->place_kind == VYRE_PLACE_NONE
                : err->place_kind == VYRE_PLACE_INSTRUCTION && err->place == finding->id);
}

static void judge(enum ir_rule rule, uint32_t subgroups, const char *text,
                  struct ir_program *program_)
{
    struct seen seen = {0};
    struct ir_validate_options options = {subgroups, 1000, collect, &seen};
    vyre_error err = {0};
    vyre_status status = vyre_ir_validate(program_, &options, &err);
    if (rule == IR_RULE_NONE) {
        if (!ok(status == VYRE_OK && seen.count == 0, "accepted: %s", text))
            note("%s", err.message);
    } else {
        /* Behind a limit nothing is looked at: at most three operands can stand right there. */
        int limit =
            rule == IR_RULE_NESTING || rule == IR_RULE_NODE_COUNT || rule == IR_RULE_EXPR_DEPTH;
        hit[rule]++;
        if (!ok(status == VYRE_E_IR_INVALID && seen.count > 0 && seen.rules[rule] == seen.count &&
                    seen.silent == 0 && (!limit || seen.count <= 3) &&
                    same_in_error(&err, &seen.first),
                "%s: %s", vyre_ir_rule_code(rule), text))
            note("%u findings, %u of this rule; %s", (unsigned)seen.count,
                 (unsigned)seen.rules[rule], err.message);
    }
    vyre_ir_program_free(program_);
}

static void start(void)
{
    begin(&memory);
    workgroup(8, 1, 1);
    in("a", IR_TYPE_U32, 8);
    in("i", IR_TYPE_I32, 8);
    in("x", IR_TYPE_F32, 8);
    in("q", IR_TYPE_U64, 8);
    in("b", IR_TYPE_BOOL, 8);
    in("v2", IR_TYPE_VEC2_U32, 8);
    in("v4", IR_TYPE_VEC4_U32, 8);
    in("u8", IR_TYPE_U8, 8);
    in("raw", IR_TYPE_BYTES, 8);
    uniform("un", IR_TYPE_U32, 4);
    shared("s", IR_TYPE_U32, 8);
    rw("d", IR_TYPE_U32, 8);
    rw("di", IR_TYPE_I32, 8);
    rw("db", IR_TYPE_BOOL, 8);
    rw("dyn", IR_TYPE_U32, 0);
    buffer("wo", IR_ACCESS_WRITE_ONLY, IR_TYPE_U32, 8);
    rw("draw", IR_TYPE_BYTES, 8);
    out("o", IR_TYPE_U32, 8);
}

#define bad(rule, ...) (start(), judge(IR_RULE_##rule, 1, #__VA_ARGS__, program(__VA_ARGS__)))
#define good(...)      (start(), judge(IR_RULE_NONE, 1, #__VA_ARGS__, program(__VA_ARGS__)))
#define value_of(e)    let("t", e)
#define A              load("a", gid(0))
#define I              load("i", gid(0))
#define X              load("x", gid(0))
#define Q              load("q", gid(0))
#define B              load("b", gid(0))
#define ATOMIC_ADD_D   atomic(IR_ATOMIC_ADD, "d", u32(0), u32(1))

#endif
