/* The table of engines, and how one is launched; see peak.h. */
#ifndef MOEPLAN_EXEC_GPU_ENGINE_H
#define MOEPLAN_EXEC_GPU_ENGINE_H

#include "exec/gpu/driver.h"
#include "exec/gpu/kernels.h"

enum engine_kind { ENGINE_GEMM, ENGINE_TURNED, ENGINE_WGRAD, ENGINE_GATED, ENGINE_KINDS };

struct engine {
    const char *name;          /* "wgmma" */
    const char *prefix;        /* of its kernels: "s90" */
    const char *architectures; /* how their names begin, between spaces */
    const char *compile_for;   /* at run time, instead of the device's; NULL: that */
    enum gpu_source source;
    uint32_t items, local_bytes; /* of a work-group; bytes that the launch adds */
    uint32_t tile_rows, tile_columns;
    uint32_t groups_a_unit; /* work-groups that stay on a unit */
    bool maps;              /* its loader is told of matrices */
};

/* The engines of an architecture, the best first: the first after `engine`, or of all. */
const struct engine *engine_next(const struct engine *engine, const char *architecture);

/* "wgrad", as in names of kernels. */
const char *engine_kind_name(enum engine_kind kind);

/* Whether a kernel is a product that engines may perform. */
bool engine_knows(enum kernel kernel);

/* Which kernel performs a product, if its operands are in 16 bits and whole pieces of 16 bytes.
 */
bool engine_takes(enum kernel kernel, const struct gpu_call *call, enum engine_kind *kind);

/* The work-groups of a launch: as many as stay at once, or as there are tiles. */
uint64_t engine_groups(const struct engine *engine, enum engine_kind kind,
                       const struct gpu_call *call, uint64_t units);

/* What is told of operand 0 or 1, or of what is written, which are not all there or sent. */
enum { ENGINE_RESULT = 2, ENGINE_KEPT, ENGINE_MAPS };
bool engine_maps(const struct gpu_call *call, enum engine_kind kind, unsigned operand);
struct gpu_matrix engine_matrix(const struct gpu_call *call, enum engine_kind kind,
                                unsigned operand, const uint64_t *memory);

#endif
