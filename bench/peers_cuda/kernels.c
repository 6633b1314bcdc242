/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The kernels of `vyre-peers`, as text that the driver compiles. They are the least that does the
 * job: whatever they cost, no kernel can cost less.
 *
 * ping_pong: one thread polls a word of host memory and stores what it saw into another, until it
 * sees 0xFFFFFFFF. The word is all there is to say, so relaxed accesses are enough;
 * ping_pong_strict orders them as one must whose word stands for other memory, which costs two
 * fences.
 */
#include "cuda_peers.h"

#define PING_PONG(name, load, store)                                                               \
    ".visible .entry " name "(.param .u64 ping, .param .u64 pong)\n"                               \
    "{\n"                                                                                          \
    "    .reg .u64 %flag, %answer;\n"                                                              \
    "    .reg .u32 %seen, %last;\n"                                                                \
    "    .reg .pred %same, %end;\n"                                                                \
    "    ld.param.u64 %flag, [ping];\n"                                                            \
    "    ld.param.u64 %answer, [pong];\n"                                                          \
    "    cvta.to.global.u64 %flag, %flag;\n"                                                       \
    "    cvta.to.global.u64 %answer, %answer;\n"                                                   \
    "    mov.u32 %last, 0;\n"                                                                      \
    "look:\n"                                                                                      \
    "    " load ".sys.global.u32 %seen, [%flag];\n"                                                \
    "    setp.eq.u32 %same, %seen, %last;\n"                                                       \
    "    @%same bra look;\n"                                                                       \
    "    setp.eq.u32 %end, %seen, 0xFFFFFFFF;\n"                                                   \
    "    @%end bra leave;\n"                                                                       \
    "    mov.u32 %last, %seen;\n"                                                                  \
    "    " store ".sys.global.u32 [%answer], %seen;\n"                                             \
    "    bra look;\n"                                                                              \
    "leave:\n"                                                                                     \
    "    ret;\n"                                                                                   \
    "}\n"

const char cuda_kernels_ptx[] = ".version 6.5\n"
                                ".target sm_75\n"
                                ".address_size 64\n"
                                ".visible .entry empty()\n"
                                "{\n"
                                "    ret;\n"
                                "}\n" PING_PONG("ping_pong", "ld.relaxed", "st.relaxed")
                                    PING_PONG("ping_pong_strict", "ld.acquire", "st.release");

/* Lets the next kernel begin at once, then waits for the one before it to have ended. */
const char cuda_dependent_ptx[] = ".version 7.8\n"
                                  ".target sm_90\n"
                                  ".address_size 64\n"
                                  ".visible .entry dependent()\n"
                                  "{\n"
                                  "    griddepcontrol.launch_dependents;\n"
                                  "    griddepcontrol.wait;\n"
                                  "    ret;\n"
                                  "}\n";
