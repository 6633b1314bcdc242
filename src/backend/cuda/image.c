/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The files of the resident kernel, put into the library by the assembler. The build defines their
 * paths; VYRE_CUBIN_SM90 only where nvcc made one.
 */
#include "backend/cuda/image.h"

#include "backend/cuda/driver.h"

/* A symbol for the bytes of a file, one behind them, and a NUL between the two. */
#define EMBED(name, path)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            ".hidden " #name "\n"                                                                  \
            ".globl " #name "\n" #name ":\n"                                                       \
            ".incbin \"" path "\"\n"                                                               \
            ".hidden " #name "_end\n"                                                              \
            ".globl " #name "_end\n" #name "_end:\n"                                               \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const unsigned char name[], name##_end[]

EMBED(vyre_megakernel_ptx, VYRE_PTX);
#if defined(VYRE_CUBIN_SM90)
EMBED(vyre_megakernel_sm90, VYRE_CUBIN_SM90);
#endif

struct vyre_cuda_image vyre_cuda_image_for(uint32_t compute_major, uint32_t compute_minor)
{
    struct vyre_cuda_image image = {
        vyre_megakernel_ptx,
        (size_t)((uintptr_t)vyre_megakernel_ptx_end - (uintptr_t)vyre_megakernel_ptx) + 1,
        VYRE_CU_INPUT_PTX};
#if defined(VYRE_CUBIN_SM90)
    if (compute_major == 9 && compute_minor == 0)
        image = (struct vyre_cuda_image){
            vyre_megakernel_sm90,
            (size_t)((uintptr_t)vyre_megakernel_sm90_end - (uintptr_t)vyre_megakernel_sm90),
            VYRE_CU_INPUT_CUBIN};
#else
    (void)compute_major, (void)compute_minor;
#endif
    return image;
}
