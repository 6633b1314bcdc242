/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the files of `vyre info` share. Each of them finds facts about the machine and hands them
 * to info_emit one by one, in the order in which they are printed.
 */
#ifndef VYRE_CLI_INFO_H
#define VYRE_CLI_INFO_H

#include "cli.h"

enum info_state {
    INFO_PLAIN, /**< a value, neither there nor missing */
    INFO_YES,
    INFO_NO /**< `reason` and `fix` say why and what helps */
};

/** One fact. Start from zero. */
struct info_fact {
    const char *type; /**< of the JSON record; facts of one heading stand together */
    const char *name;
    enum info_state state;
    char value[224];    /**< for people; may be empty */
    const char *choice; /**< what `auto` took, for programs, or NULL */
    char reason[288];
    char fix[200];
    struct {
        const char *key; /**< NULL: no more */
        uint64_t count;
    } number[8]; /**< what programs want as numbers */
    struct {
        const char *key; /**< NULL: no more */
        const char *text;
    } text[2]; /**< and as texts */
};

/** Prints a fact, as a line with its heading where that is new, or as a JSON record. */
void info_emit(const struct info_fact *fact);

/** What CapEff and Seccomp of /proc/self/status say: reads the value after `key` (with its colon)
 * in this base. Returns 0, or -1 if it is not there. */
int info_process_status(const char *key, int base, uint64_t *value);

/** Writes why a thing is missing, in the words of this command line: what came by --host is not
 * called VYRE_HOST. */
void info_missing(struct info_fact *fact, const char *reason, const char *fix);

/** Asks a device host for the GPUs; info_devices shows them. Statuses: as vyre_devices. */
vyre_status info_devices_ask(vyre_error *err);

void info_devices(void);   /**< GPUs */
void info_uring(void);     /**< io_uring and its features */
void info_stream(void);    /**< how streams read */
void info_processor(void); /**< cores and vector extensions */

#endif
