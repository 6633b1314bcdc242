/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the two files of `vyre verify` share: the words for what a program has and does, and its
 * JSON Lines.
 */
#ifndef VYRE_CLI_VERIFY_H
#define VYRE_CLI_VERIFY_H

#include "kernel.h"

enum { VERIFY_MOST_FINDINGS = 100 };

/** What a line or a record is about. */
struct verify_subject {
    const char *path;
    const char *kernel; /**< NULL where it has no name, or no other is in the file */
    int told;           /**< 1: what there is to say about the source was said before */
};

/** A bit and its word, on the line or in the table, and in JSON. */
struct verify_word {
    uint32_t bit;
    const char *word;
};
extern const struct verify_word verify_facts[]; /**< of a program: enum vyre_kernel_fact */
extern const struct verify_word verify_uses[];  /**< of a buffer: enum vyre_kernel_buffer_flag */
extern const size_t verify_fact_count, verify_use_count;

void verify_fingerprint(const vyre_kernel_info *info, char text[65]);

void verify_json_accepted(const struct verify_subject *subject, const struct kernel *kernel,
                          int explain);
void verify_json_rejected(const struct verify_subject *subject, const struct kernel *kernel);

#endif
