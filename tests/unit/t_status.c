/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every row of status.def and fault.def has its name, texts and a value of its own, values that
 * were once given stay, and an error is filled in whole.
 */
#include "support.h"

#include <errno.h>

#include "base/error.h"

struct row {
    const char *name;
    int64_t value;
    const char *text;
    const char *fix;
};

static const struct row statuses[] = {
#define VYRE_STATUS(name, value, text, fix) {"VYRE_" #name, value, text, fix},
#include "vyre/status.def"
#undef VYRE_STATUS
};

static const struct row faults[] = {
#define VYRE_FAULT(name, value, text) {#name, value, text, ""},
#include "vyre/fault.def"
#undef VYRE_FAULT
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* In the order of their values, from 0 down: a name that moves or goes has changed the ABI. */
static const char *const pinned[] = {
    "VYRE_OK",          "VYRE_E_NULL",     "VYRE_E_RANGE",       "VYRE_E_SIZE",
    "VYRE_E_RESERVED",  "VYRE_E_CONFLICT", "VYRE_E_NO_MEMORY",   "VYRE_E_OVERFLOW",
    "VYRE_E_TOO_SMALL", "VYRE_E_SYSTEM",   "VYRE_E_UNSUPPORTED", "VYRE_E_NO_DEVICE",
    "VYRE_E_STATE",     "VYRE_E_BUSY",     "VYRE_E_TIMEOUT",     "VYRE_E_NOT_FOUND",
    "VYRE_E_EXISTS",    "VYRE_E_STOPPED",  "VYRE_E_QUEUE_FULL",  "VYRE_E_NOT_PERMITTED",
    "VYRE_E_LIMIT",     "VYRE_E_INTERNAL", "VYRE_E_MISALIGNED",
};
static const char *const pinned_wire[] = {
    "VYRE_E_WIRE_MISALIGNED",
    "VYRE_E_WIRE_MISSING_WORD",
    "VYRE_E_WIRE_LENGTH",
    "VYRE_E_WIRE_CAP",
    "VYRE_E_WIRE_SLOT_INDEX",
    "VYRE_E_WIRE_ARGS",
    "VYRE_E_WIRE_OPCODE",
    "VYRE_E_WIRE_SLOT_BUSY",
    "VYRE_E_WIRE_CAPACITY",
    "VYRE_E_WIRE_PACKED_COUNT",
    "VYRE_E_WIRE_PACKED_HEADER",
    "VYRE_E_WIRE_PACKED_ARGS",
    "VYRE_E_WIRE_CURSOR",
    "VYRE_E_WIRE_IO_SLOTS",
    "VYRE_E_WIRE_IO_INDEX",
    "VYRE_E_WIRE_IO_STATUS",
    "VYRE_E_WIRE_TASK_STATE",
    "VYRE_E_WIRE_TASK_COUNTER",
    "VYRE_E_WIRE_REPLAY_ZERO",
    "VYRE_E_WIRE_REPLAY_CAPACITY",
    "VYRE_E_WIRE_REPLAY_HEADER",
    "VYRE_E_WIRE_REPLAY_RECORD",
    "VYRE_E_WIRE_COMPLETION",
    "VYRE_E_WIRE_OVERFLOW",
    "VYRE_E_WIRE_PACKED_FORM",
    "VYRE_E_WIRE_OTHER_OPCODE",
    "VYRE_E_WIRE_SLOT_STATE",
    "VYRE_E_WIRE_LOG_FULL",
    "VYRE_E_WIRE_IO_OP",
    "VYRE_E_WIRE_IO_TWICE",
    "VYRE_E_WIRE_TASK_UNKNOWN",
    "VYRE_E_WIRE_REPLAY_VERSION",
    "VYRE_E_WIRE_REPLAY_SHORT",
    "VYRE_E_WIRE_REPLAY_EMPTY",
    "VYRE_E_WIRE_REPLAY_FAILURE",
    "VYRE_E_WIRE_REPLAY_END",
    "VYRE_E_WIRE_COMPLETION_FAULT",
    "VYRE_E_WIRE_COMPLETION_LAP",
    "VYRE_E_WIRE_WINDOW_PAYLOAD",
};
static const char *const pinned_faults[] = {
    "NONE",          "NOT_PUBLISHED", "SEAL",        "BAD_PRIORITY",  "UNKNOWN_OPCODE",
    "NOT_PERMITTED", "WORD_RANGE",    "BAD_HANDLE",  "HANDLE_RIGHTS", "BUFFER_BOUNDS",
    "DFA_TABLE",     "PACKED_FORM",   "DEADLINE",    "CANCELLED",     "STOPPED",
    "OPERATION",     "DIVISION",      "VALUE_RANGE", "OUT_OF_BOUNDS", "TRAP",
    "BAD_INDEX",     "ASYNC_TAG",     "GRID",        "BINDINGS",      "PARAMETERS",
};
static const char *const pinned_programs[] = {
    "VYRE_E_IR_SIZE",   "VYRE_E_IR_MAGIC",   "VYRE_E_IR_VERSION", "VYRE_E_IR_FLAGS",
    "VYRE_E_IR_DIGEST", "VYRE_E_IR_FORM",    "VYRE_E_IR_INVALID", "VYRE_E_VM_UNSUPPORTED",
    "VYRE_E_VM_LIMIT",  "VYRE_E_VM_INVALID", "VYRE_E_SOURCE",
};

static const char *const pinned_telemetry[] = {
    "VYRE_E_SNAPSHOT_EPOCH",
    "VYRE_E_POLICY_BUDGET",
    "VYRE_E_SKETCH_SHAPE",
    "VYRE_E_READBACK_COUNT",
};

/* One line: no line break, no end mark that a caller would add, no space at either end. */
static bool one_line(const char *text, size_t limit)
{
    size_t length = strlen(text);
    return length > 0 && length < limit && !strchr(text, '\n') && text[0] != ' ' &&
           text[length - 1] != ' ' && text[length - 1] != '.';
}

static bool unique(const struct row *rows, size_t count, size_t index)
{
    for (size_t i = 0; i < count; i++)
        if (i != index &&
            (rows[i].value == rows[index].value || strcmp(rows[i].name, rows[index].name) == 0 ||
             strcmp(rows[i].text, rows[index].text) == 0))
            return false;
    return true;
}

static void status_rows(void)
{
    for (size_t i = 0; i < COUNT(statuses); i++) {
        const struct row *row = &statuses[i];
        vyre_status value = (vyre_status)row->value;
        is_str(vyre_status_name(value), row->name, "status %d", value);
        is_str(vyre_status_text(value), row->text, "%s: text", row->name);
        is_str(vyre_status_fix(value), row->fix, "%s: fix", row->name);
        ok(one_line(row->text, VYRE_ERROR_MESSAGE_BYTES) &&
               one_line(row->fix, VYRE_ERROR_FIX_BYTES),
           "%s: texts are one line", row->name);
        ok(unique(statuses, COUNT(statuses), i), "%s: nothing else has its value", row->name);
        bool wire = strncmp(row->name, "VYRE_E_WIRE_", 12) == 0;
        bool program = strncmp(row->name, "VYRE_E_IR_", 10) == 0 ||
                       strncmp(row->name, "VYRE_E_VM_", 10) == 0 ||
                       strcmp(row->name, "VYRE_E_SOURCE") == 0;
        bool telemetry = strncmp(row->name, "VYRE_E_SNAPSHOT_", 16) == 0 ||
                         strncmp(row->name, "VYRE_E_POLICY_", 14) == 0 ||
                         strncmp(row->name, "VYRE_E_SKETCH_", 14) == 0 ||
                         strncmp(row->name, "VYRE_E_READBACK_", 16) == 0;
        vyre_status first = telemetry ? -100 : program ? -80 : wire ? -40 : 0;
        vyre_status last = telemetry ? -119 : program ? -99 : wire ? -79 : -39;
        ok(value <= first && value >= last, "%s: %d lies in its range", row->name, value);
    }
}

static void pins(void)
{
    for (size_t i = 0; i < COUNT(pinned); i++)
        is_str(vyre_status_name(-(vyre_status)i), pinned[i], "status -%zu stays", i);
    for (size_t i = 0; i < COUNT(pinned_wire); i++)
        is_str(vyre_status_name(-40 - (vyre_status)i), pinned_wire[i], "status -%zu stays", 40 + i);
    for (size_t i = 0; i < COUNT(pinned_programs); i++)
        is_str(vyre_status_name(-80 - (vyre_status)i), pinned_programs[i], "status -%zu stays",
               80 + i);
    for (size_t i = 0; i < COUNT(pinned_telemetry); i++)
        is_str(vyre_status_name(-100 - (vyre_status)i), pinned_telemetry[i], "status -%zu stays",
               100 + i);
    for (size_t i = 0; i < COUNT(pinned_faults); i++)
        is_str(vyre_fault_name((uint32_t)i), pinned_faults[i], "fault %zu stays", i);
}

static void fault_rows(void)
{
    for (size_t i = 0; i < COUNT(faults); i++) {
        const struct row *row = &faults[i];
        is_str(vyre_fault_name((uint32_t)row->value), row->name, "fault %d", (int)row->value);
        is_str(vyre_fault_text((uint32_t)row->value), row->text, "%s: text", row->name);
        ok(one_line(row->text, 160), "%s: its text is one line", row->name);
        ok(unique(faults, COUNT(faults), i), "%s: nothing else has its value", row->name);
        ok(row->value <= 0xFFFF, "%s: fits half a word", row->name);
    }
}

static void unknown_numbers(void)
{
    static const vyre_status strange[] = {1, -39, -79, -91, -99, -119, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < COUNT(strange); i++) {
        is_str(vyre_status_name(strange[i]), "VYRE_E_?", "%d is no status", strange[i]);
        ok(vyre_status_text(strange[i])[0] && vyre_status_fix(strange[i])[0], "it has texts");
    }
    static const uint32_t strange_faults[] = {COUNT(faults), 0xFFFF, 0x10000, UINT32_MAX};
    for (size_t i = 0; i < COUNT(strange_faults); i++) {
        is_str(vyre_fault_name(strange_faults[i]), "?", "%u is no fault", strange_faults[i]);
        ok(vyre_fault_text(strange_faults[i])[0], "it has a text");
    }
}

static void filling_in(void)
{
    vyre_error err;
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';

    memset(&err, 0xEE, sizeof err);
    refused(vyre_fail(&err, VYRE_E_RANGE, "%d is above %d", 7, 5), VYRE_E_RANGE, &err, "a failure");
    is_str(err.message, "7 is above 5", "the values are in the message");
    is_str(err.fix, vyre_status_fix(VYRE_E_RANGE), "the fix is the status's own");
    ok(err.domain == VYRE_DOMAIN_NONE && err.code == 0 && err.reserved == 0, "no other number");
    ok(err.place_kind == VYRE_PLACE_NONE && err.place == 0, "no place");

    refused(vyre_fail_at(&err, VYRE_E_NULL, VYRE_PLACE_WORD, 9, "word"), VYRE_E_NULL, &err,
            "a place");
    ok(err.place_kind == VYRE_PLACE_WORD && err.place == 9, "the place is there");

    refused(vyre_fail_errno(&err, ENOENT, "open(%s)", "x"), VYRE_E_SYSTEM, &err, "a system error");
    ok(err.domain == VYRE_DOMAIN_ERRNO && err.code == ENOENT, "errno is in its domain");
    ok(strstr(err.message, "open(x): ") == err.message, "the call comes first: %s", err.message);

    vyre_fail_fix(&err, "create %s first", "x");
    is_str(err.fix, "create x first", "a better fix");
    ok(err.code == ENOENT && err.status == VYRE_E_SYSTEM, "all else stays");

    refused(vyre_fail(&err, VYRE_E_RANGE, "%s", text), VYRE_E_RANGE, &err, "a message too long");
    is_u64(strlen(err.message), VYRE_ERROR_MESSAGE_BYTES - 1, "is cut");
    refused(vyre_fail_errno(&err, ENOENT, "%s", text), VYRE_E_SYSTEM, &err, "with errno, too");
    vyre_fail_fix(&err, "%s", text);
    is_u64(strlen(err.fix), VYRE_ERROR_FIX_BYTES - 1, "a fix too long is cut");

    is_u64(vyre_fail(NULL, VYRE_E_BUSY, "x"), (uint64_t)VYRE_E_BUSY, "nobody listens");
    is_u64(vyre_fail_at(NULL, VYRE_E_BUSY, 1, 1, "x"), (uint64_t)VYRE_E_BUSY, "nor to a place");
    is_u64(vyre_fail_errno(NULL, 1, "x"), (uint64_t)VYRE_E_SYSTEM, "nor to errno");
    vyre_fail_fix(NULL, "x");
}

int main(void)
{
    status_rows();
    fault_rows();
    pins();
    unknown_numbers();
    filling_in();
    return done();
}
