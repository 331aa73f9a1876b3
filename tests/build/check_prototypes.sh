#!/bin/sh
# check_prototypes.sh ROOT: the functions that moeplan opens at run time, by prototypes of its
# own, against the headers of CUDA, NVRTC, NCCL, HIP, HIPRTC and OpenCL, whichever are there:
# as many parameters, each as wide and of the same kind, what pointers point to as wide; and
# the numbers that are passed. Skipped without a C++ compiler or any of the headers.
root=${1:?usage: check_prototypes.sh ROOT}
compiler=$(command -v g++ || command -v clang++) || {
    echo 'no C++ compiler is installed: skipped'
    exit 77
}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
toolkit=$(dirname "$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")/include

# table NAME FILE: the X-macro of that name; struct_of NAME FILE: the struct of that name.
table() {
    awk -v begin="#define $1(X)" 'index($0, begin) == 1 { on = 1 }
        on { print } on && !/\\$/ { exit }' "$root/$2"
}
struct_of() {
    awk -v begin="struct $1 {" 'index($0, begin) == 1 { on = 1 }
        on { print } on && /^};/ { exit }' "$root/$2"
}

cat > "$scratch/agree.h" <<'HEADER'
#include <stddef.h>
#include <stdint.h>
#include <type_traits>
template <class T, class = void> struct wide { static constexpr size_t of = 0; };
template <class T> struct wide<T, decltype(void(sizeof(T)))> {
    static constexpr size_t of = std::is_void<T>::value ? 0 : sizeof(T);
};
/* An argument of type A is what a parameter of type B takes. */
template <class A, class B> constexpr bool passes()
{
    if (std::is_floating_point<A>::value != std::is_floating_point<B>::value) return false;
    if (std::is_class<A>::value || std::is_class<B>::value) return sizeof(A) == sizeof(B);
    if (std::is_pointer<A>::value && std::is_pointer<B>::value) {
        constexpr size_t a = wide<typename std::remove_pointer<A>::type>::of,
                         b = wide<typename std::remove_pointer<B>::type>::of;
        return !a || !b || a == b;
    }
    if (std::is_pointer<B>::value) return sizeof(A) == sizeof(B);
    return sizeof(A) >= sizeof(B);
}
template <class R, class... A, class S, class... B>
constexpr bool agree(R (*)(A...), S (*)(B...))
{
    if constexpr (sizeof...(A) != sizeof...(B) || sizeof(R) != sizeof(S)) return false;
    else return (passes<A, B>() && ...);
}
#define HOLD(result, name, parameters) \
    static_assert(agree(static_cast<result(*) parameters>(nullptr), decltype(&name)(nullptr)), \
                  #name);
HEADER
{
    table NATIVE_FUNCTIONS src/exec/gpu/native.h
    table NCCL_FUNCTIONS src/exec/transport/nccl.c
    table CL_FUNCTIONS src/exec/gpu/opencl.c
    struct_of id src/exec/transport/nccl.c
    struct_of functions src/exec/gpu/compile.c | sed 's/struct functions/struct compiling/'
} > "$scratch/tables.h"

held=''
failed=0
# hold API: what is on standard input, compiled
hold() {
    { cat "$scratch/agree.h"; cat; } > "$scratch/$1.cc"
    held="$held $1"
    "$compiler" -std=c++17 -fsyntax-only -w -I"$scratch" -I"$toolkit" "$scratch/$1.cc" \
        2> "$scratch/err" && return
    echo "$1: a prototype is not the header's"
    grep -E 'error' "$scratch/err" | head -n 10
    failed=1
}
# compiling PREFIX IMAGE: what NVRTC and HIPRTC have under names that begin so
compiling() {
    for pair in create:$1CreateProgram compile:$1CompileProgram log_size:$1GetProgramLogSize \
        log:$1GetProgramLog image_size:$2Size image:$2; do
        echo "static_assert(agree(decltype(compiling::${pair%:*})(nullptr),"
        echo "    decltype(&${pair#*:})(nullptr)), \"${pair#*:}\");"
    done
}
# HIP's header overloads its functions in C++: as C has it, its own lines alone.
as_c() {
    cc -E -xc -D__HIP_PLATFORM_AMD__ "$1" 2> /dev/null | awk '/^# [0-9]+ "/ { own = /\/hip\// }
        own && !/^#/ { print }'
}

[ ! -e "$toolkit/cuda.h" ] || hold cuda << 'CODE'
#include <cuda.h>
#include "tables.h"
#define ROW(field, parameters, cuda, hip) HOLD(int, cuda, parameters)
NATIVE_FUNCTIONS(ROW)
HOLD(int, cuFuncSetAttribute, (void *kernel, int attribute, int value))
HOLD(int, cuDeviceGetAttribute, (int *value, int attribute, int device))
HOLD(int, cuDevicePrimaryCtxRetain, (void **context, int device))
HOLD(int, cuGetErrorName, (int code, const char **text))
HOLD(int, cuTensorMapEncodeTiled,
     (void *map, int type, uint32_t dims, uint64_t memory, const uint64_t *sizes,
      const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
      int swizzle, int fetch, int outside))
static_assert(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8);
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16);
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75);
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
static_assert(CUDA_ERROR_OUT_OF_MEMORY == 2 && CUDA_ERROR_NOT_READY == 600);
static_assert(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED == 704);
static_assert(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 == 9 && CU_TENSOR_MAP_SWIZZLE_128B == 3);
static_assert(CU_TENSOR_MAP_INTERLEAVE_NONE == 0 && CU_TENSOR_MAP_L2_PROMOTION_L2_256B == 3);
static_assert(CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE == 0 && sizeof(CUtensorMap) == 128);
CODE
[ ! -e "$toolkit/nvrtc.h" ] || {
    {
        printf '#include <nvrtc.h>\n#include "tables.h"\n'
        compiling nvrtc nvrtcGetCUBIN
    } > "$scratch/compiler"
    hold nvrtc < "$scratch/compiler"
}
[ ! -e "$toolkit/nccl.h" ] || hold nccl << 'CODE'
#include <nccl.h>
#include "tables.h"
NCCL_FUNCTIONS(HOLD)
static_assert(sizeof(ncclUniqueId) == sizeof(id) && ncclUint8 == 1);
CODE
[ ! -e /usr/include/CL/cl.h ] || hold opencl << 'CODE'
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include "tables.h"
CL_FUNCTIONS(HOLD)
CODE
[ ! -e /usr/include/hip/hip_runtime_api.h ] || {
    as_c /usr/include/hip/hip_runtime_api.h > "$scratch/hip.h"
    hold hip << 'CODE'
#define _Bool bool
extern "C" {
#include "hip.h"
}
#include "tables.h"
#define ROW(field, parameters, cuda, hip) HOLD(int, hip, parameters)
NATIVE_FUNCTIONS(ROW)
static_assert(hipErrorOutOfMemory == 2 && hipErrorNotReady == 600);
static_assert(hipErrorPeerAccessAlreadyEnabled == 704);
CODE
}
[ ! -e /usr/include/hip/hiprtc.h ] || {
    {
        printf '#define __HIP_PLATFORM_AMD__\n#include <hip/hiprtc.h>\n#include "tables.h"\n'
        compiling hiprtc hiprtcGetCode
    } > "$scratch/compiler"
    hold hiprtc < "$scratch/compiler"
}
[ -n "$held" ] || { echo 'none of the headers is installed: skipped'; exit 77; }
echo "held:$held"
exit $failed
