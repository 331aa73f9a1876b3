/* MPI that takes memory of devices, for tests: loaded before the MPI library, it says so when
 * it is asked, and gives MPI the bytes behind a look-alike device's address. Like the real one
 * it does not wait for what the device has begun. MOEPLAN_EMUL_FAULT=mpi_direct: it says that
 * it does not.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* driver.c's: where the bytes of an address are; NULL: it is no device's. */
static void *bytes_of(const void *address, size_t bytes)
{
    static void *(*find)(uint64_t address, size_t bytes);
    const char *folder = getenv("MOEPLAN_GPU_LIBRARIES");
    char path[4096];
    if (!find && folder) {
        snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
        void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        void *symbol = library ? dlsym(library, "emul_bytes_for_mpi") : NULL;
        memcpy(&find, &symbol, sizeof symbol);
    }
    return find ? find((uintptr_t)address, bytes) : NULL;
}

static int takes(void)
{
    const char *fault = getenv("MOEPLAN_EMUL_FAULT");
    return !fault || strcmp(fault, "mpi_direct") != 0;
}

int MPIX_Query_cuda_support(void);
int MPIX_Query_rocm_support(void);

int MPIX_Query_cuda_support(void)
{
    return takes();
}

int MPIX_Query_rocm_support(void)
{
    return takes();
}

int MPI_Isend(const void *from, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    const void *bytes = bytes_of(from, (size_t)n);
    return PMPI_Isend(bytes ? bytes : from, n, type, peer, tag, comm, request);
}

int MPI_Irecv(void *to, int n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    void *bytes = bytes_of(to, (size_t)n);
    return PMPI_Irecv(bytes ? bytes : to, n, type, peer, tag, comm, request);
}
