/* What one kernel source needs to be OpenCL C, CUDA, HIP and plain C at once.
 *
 * Kernels are written in the part that all four share: no function pointers, recursion or
 * varargs; numbers of 16 and 8 bits as integers and shifts; work-group memory and barriers, no
 * warp operations; 32-bit integer atomics only; sizes and offsets of 64 bits; a pointer is a
 * buffer and an offset; four words of 32 bits at once, by x, y, z and w. In plain C a kernel is
 * performed by fibres (tests), item by item. */
#ifndef MOEPLAN_EXEC_GPU_KERNELS_PORT_H
#define MOEPLAN_EXEC_GPU_KERNELS_PORT_H

#if defined(__OPENCL_C_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef ulong gpu_u64;
typedef long gpu_i64;
typedef uint gpu_u32;
typedef int gpu_i32;
typedef ushort gpu_u16;
typedef uchar gpu_u8;
typedef uint4 gpu_u32x4;
typedef float4 gpu_f32x4;
#define GLOBAL __global
#define LOCAL __local
#define DEVICE static
#define ENTRY(items) __kernel __attribute__((reqd_work_group_size(items, 1, 1)))
#define LOCAL_MEMORY(name, bytes)                                                              \
    __local double name[((bytes) + 7) / 8] __attribute__((aligned(16)))
#define UNROLL
#define ROLL
#define ITEMS ((gpu_u32)get_local_size(0))
#if defined(POCL_DEVICE_ADDRESS_BITS)
/* PoCL 3.1 takes a branch that is kept over a barrier for that of another item: read anew every
 * time, the item's number makes no such branch. */
static gpu_u32 item_now(void)
{
    volatile gpu_u32 item = (gpu_u32)get_local_id(0);
    return item;
}
#define ITEM item_now()
#else
#define ITEM ((gpu_u32)get_local_id(0))
#endif
#define GROUP ((gpu_u64)get_group_id(0))
#define GROUPS ((gpu_u64)get_num_groups(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define TAKE_FLAG(at) (atomic_cmpxchg((volatile __global int *)(at), 0, 1) == 0)
#define COUNT_ONE(at) ((void)atomic_inc((volatile __global int *)(at)))
#define AS_BITS(value) as_uint(value)
#define AS_FLOAT(bits) as_float(bits)
#define EXPF(x) exp((float)(x))
#define EXP(x) exp((double)(x))
#define LOG1P(x) log1p((double)(x))
#define SQRT(x) sqrt((double)(x))
#define TANHF(x) tanh((float)(x))
#define FABSF(x) fabs((float)(x))
#define FMAXF(x, y) fmax((float)(x), (float)(y))
#define COPYSIGNF(x, y) copysign((float)(x), (float)(y))
#define PRODUCT(x, y) ((x) * (y))
#define PEAK_CONSTANT const

#elif defined(__CUDACC__) || defined(__HIPCC__) || defined(__CUDACC_RTC__) ||                  \
    defined(__HIPCC_RTC__)
typedef unsigned long long gpu_u64;
typedef long long gpu_i64;
typedef unsigned int gpu_u32;
typedef int gpu_i32;
typedef unsigned short gpu_u16;
typedef unsigned char gpu_u8;
typedef uint4 gpu_u32x4;
typedef float4 gpu_f32x4;
#define GLOBAL
#define LOCAL
#define DEVICE static __device__ __forceinline__
#define ENTRY(items) extern "C" __global__ __launch_bounds__(items)
#define LOCAL_MEMORY(name, bytes) alignas(16) __shared__ double name[((bytes) + 7) / 8]
#define UNROLL _Pragma("unroll")
#define ROLL _Pragma("unroll 1")
#define ITEM ((gpu_u32)threadIdx.x)
#define ITEMS ((gpu_u32)blockDim.x)
#define GROUP ((gpu_u64)blockIdx.x)
#define GROUPS ((gpu_u64)gridDim.x)
#define BARRIER() __syncthreads()
#define TAKE_FLAG(at) (atomicCAS((int *)(at), 0, 1) == 0)
#define COUNT_ONE(at) ((void)atomicAdd((int *)(at), 1))
#define AS_BITS(value) __float_as_uint(value)
#define AS_FLOAT(bits) __uint_as_float(bits)
#define EXPF(x) expf(x)
#define EXP(x) exp((double)(x))
#define LOG1P(x) log1p((double)(x))
#define SQRT(x) sqrt((double)(x))
#define TANHF(x) tanhf(x)
#define FABSF(x) fabsf(x)
#define FMAXF(x, y) fmaxf(x, y)
#define COPYSIGNF(x, y) copysignf(x, y)
#define PRODUCT(x, y) __fmul_rn(x, y) /* no part of a sum with one rounding */
#define PEAK_UNROLL _Pragma("unroll")
#define PEAK_ROLL _Pragma("unroll 1")
#if defined(__CUDACC__)
#define PEAK_CONSTANT const __grid_constant__
#else
#define PEAK_CONSTANT const
#endif

#else /* plain C, by fibres: the including file says what a group is */
#include <stdint.h>
typedef uint64_t gpu_u64;
typedef int64_t gpu_i64;
typedef uint32_t gpu_u32;
typedef int32_t gpu_i32;
typedef uint16_t gpu_u16;
typedef uint8_t gpu_u8;
struct gpu_words {
    uint32_t x, y, z, w;
} __attribute__((may_alias));
struct gpu_floats {
    float x, y, z, w;
};
#define gpu_u32x4 struct gpu_words
#define gpu_f32x4 struct gpu_floats
#define GLOBAL
#define LOCAL
#define DEVICE static
#define ENTRY(items)
#define LOCAL_MEMORY(name, bytes) double *name = fibre_local(bytes)
#define UNROLL
#define ROLL
#define ITEM (fibre_item())
#define ITEMS (fibre_items())
#define GROUP (fibre_group())
#define GROUPS (fibre_groups())
#define BARRIER() fibre_barrier(__LINE__)
#define TAKE_FLAG(at) (*(int32_t *)(void *)(at) == 0 ? (*(int32_t *)(void *)(at) = 1) : 0)
#define COUNT_ONE(at) ((void)++*(int32_t *)(void *)(at))
#define AS_BITS(value) fibre_bits(value)
#define AS_FLOAT(bits) fibre_float(bits)
#define EXPF(x) expf(x)
#define EXP(x) exp(x)
#define LOG1P(x) log1p(x)
#define SQRT(x) sqrt(x)
#define TANHF(x) tanhf(x)
#define FABSF(x) fabsf(x)
#define FMAXF(x, y) fmaxf(x, y)
#define COPYSIGNF(x, y) copysignf(x, y)
#define PRODUCT(x, y) ((x) * (y))
#define PEAK_UNROLL
#define PEAK_ROLL
#define PEAK_CONSTANT const
#endif

/* The widths that headers shared with the host are written in. */
#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__) ||      \
    defined(GPU_TEXT) /* whole programs, given to nvcc */
#define uint64_t gpu_u64
#define uint32_t gpu_u32
#define uint16_t gpu_u16
#define uint8_t gpu_u8
#define int64_t gpu_i64
#define int32_t gpu_i32
struct size { /* an expression of the host's, no use here */
    uint32_t node;
};
#endif

#endif
