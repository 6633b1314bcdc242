/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The interpreter of the device source, compiled for several processors. All give the same bits.
 */
#ifndef VYRE_BACKEND_CPU_INTERPRETER_H
#define VYRE_BACKEND_CPU_INTERPRETER_H

#include "device/frame.h"

typedef uint32_t (*vyre_interpreter)(struct dev_frame *frame);

uint32_t vyre_interpret_portable(struct dev_frame *frame);
uint32_t vyre_interpret_avx2(struct dev_frame *frame);
uint32_t vyre_interpret_avx512(struct dev_frame *frame);

/* The fastest one that this processor can run. */
vyre_interpreter vyre_interpreter_choose(void);

/* All that this processor can run, by name; for tests. NULL at the end. */
vyre_interpreter vyre_interpreter_at(unsigned index, const char **name);

#endif
