/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The resident kernel as it was compiled, inside the library: PTX for every GPU, and a relocatable
 * cubin for compute capability 9.0 where nvcc was there to make it.
 */
#ifndef VYRE_BACKEND_CUDA_IMAGE_H
#define VYRE_BACKEND_CUDA_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct vyre_cuda_image {
    const unsigned char *bytes;
    size_t length;
    int type; /* VYRE_CU_INPUT_PTX, which ends with a NUL, or VYRE_CU_INPUT_CUBIN */
};

/* The best one for a device. */
struct vyre_cuda_image vyre_cuda_image_for(uint32_t compute_major, uint32_t compute_minor);

#endif
