# Images of the kernels, compiled when moeplan is built where nvcc or hipcc is found: one an
# architecture that the compiler knows. Without either, or with -DMOEPLAN_IMAGES=OFF, the table is
# empty and kernels are compiled when moeplan runs. Gives `images`, the sources to add.
set(wanted ON)
if(MOEPLAN_SANITIZE) # they see nothing of an image
    set(wanted OFF)
endif()
option(MOEPLAN_IMAGES "Compile the GPU kernels where nvcc or hipcc is found" ${wanted})
set(images ${CMAKE_CURRENT_BINARY_DIR}/gpu_images.c)
set(image_folder ${CMAKE_CURRENT_BINARY_DIR}/images)
set(image_rows)
set(image_files)
file(MAKE_DIRECTORY ${image_folder})
find_program(NVCC nvcc HINTS $ENV{CUDA_PATH}/bin $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
find_program(HIPCC hipcc HINTS $ENV{ROCM_PATH}/bin /opt/rocm/bin)

# knows VARIABLE COMMAND...: whether it succeeds; asked once
function(moeplan_knows variable)
    if(NOT DEFINED ${variable})
        execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${image_folder}
            RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
        string(COMPARE EQUAL "${status}" 0 known)
        set(${variable} ${known} CACHE INTERNAL "")
    endif()
endfunction()

# image COMPILER ARCHITECTURE TEXT COMMAND...: a row, and how it is compiled
macro(moeplan_image compiler architecture source)
    set(image ${image_folder}/${architecture}.image)
    add_custom_command(OUTPUT ${image} VERBATIM
        DEPENDS ${source} ${PROJECT_SOURCE_DIR}/src/exec/gpu/image.cmake
        COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DOUT=${image} "-DCOMPILE=${ARGN}"
            -P ${PROJECT_SOURCE_DIR}/src/exec/gpu/image.cmake
        COMMENT "Compiling kernels for ${architecture}")
    list(APPEND image_files ${image})
    list(APPEND image_rows ${compiler} ${architecture})
endmacro()

set(trial ${image_folder}/trial.cu)
if(MOEPLAN_IMAGES AND (NVCC OR HIPCC))
    file(WRITE ${trial} "extern \"C\" __global__ void k(int *a) { *a = 1; }\n")
endif()
if(MOEPLAN_IMAGES AND NVCC)
    foreach(number 80 90a 100a)
        set(command ${NVCC} -x cu -cubin -gencode=arch=compute_${number},code=sm_${number})
        moeplan_knows(NVCC_KNOWS_${number} ${command} ${trial} -o trial.image)
        if(NVCC_KNOWS_${number})
            moeplan_image(nvcc sm_${number} ${embedded_text} ${command} -diag-suppress 177
                -Xptxas -v --keep)
        endif()
    endforeach()
endif()
set(unknown)
if(MOEPLAN_IMAGES AND HIPCC)
    foreach(name gfx90a gfx942 gfx950)
        set(command ${HIPCC} -x hip --genco -O3 --offload-arch=${name})
        moeplan_knows(HIPCC_KNOWS_${name} ${command} ${trial} -o trial.image)
        if(HIPCC_KNOWS_${name})
            moeplan_image(hipcc ${name} ${embedded_text} ${command}
                -include hip/hip_runtime.h -save-temps)
        else()
            list(APPEND unknown ${name})
        endif()
    endforeach()
endif()
if(unknown) # Debian 12's hipcc 5.2 is older than gfx942
    string(JOIN ", " unknown ${unknown})
    message(STATUS "${HIPCC} does not know ${unknown}: kernels for these are compiled by HIPRTC "
        "when moeplan runs")
endif()

set(text "/* Written by images.cmake. */\n#include <stddef.h>\n\n#include \"exec/gpu/images.h\"\n")
set(table)
set(rest ${image_rows})
while(rest)
    list(POP_FRONT rest compiler architecture)
    string(APPEND text "GPU_IMAGE(${architecture}, \"${image_folder}/${architecture}.image\")\n")
    string(APPEND table "    {\"${architecture}\", \"${compiler}\", image_${architecture}, end_${architecture}},\n")
endwhile()
string(APPEND text "\nconst struct gpu_image gpu_images[] = {\n${table}    {NULL, NULL, NULL, NULL}};\n")
file(GENERATE OUTPUT ${images} CONTENT "${text}")
set_source_files_properties(${images} PROPERTIES OBJECT_DEPENDS "${image_files}")
add_custom_target(moeplan_images DEPENDS ${image_files})
message(STATUS "Kernel images: ${image_rows}")
