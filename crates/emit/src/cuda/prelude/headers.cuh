#ifndef WARPSIGHT_HOST
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#endif
