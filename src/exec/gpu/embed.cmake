# cmake -DOUT=FILE -DALL=FILE -DSOURCE_DIR=DIR -P embed.cmake: writes the kernels' texts as C
# arrays, their own #include lines left out: a program is its texts, one after the other; and all
# programs as one text, ALL, for compilers that are there when moeplan is built.
set(headers
    src/exec/gpu/kernels/port.h src/work/list/args.h src/exec/gpu/kernels/call.h
    src/exec/gpu/kernels/tensor.cl src/exec/gpu/kernels/format.cl src/exec/gpu/kernels/tally.cl
    src/exec/gpu/kernels/curve.cl src/exec/gpu/kernels/schedule.cl
    src/exec/gpu/kernels/tile.cl)
set(names rows convert router maps blocks combine activation norm product peak_sm80
    peak_sm90 peak_cdna)

set(text "/* Written by embed.cmake. */\n#include \"exec/gpu/sources.h\"\n\n")
set(all "#define GPU_TEXT\n")
function(embed path name)
    file(READ ${SOURCE_DIR}/${path} content)
    string(REGEX REPLACE "#[ ]*include[^\n]*" "" content "${content}")
    set(all "${all}${content}" PARENT_SCOPE)
    file(WRITE ${OUT}.part "${content}")
    file(READ ${OUT}.part hex HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(REGEX REPLACE "(................................................................................)" "\\1\n" hex "${hex}")
    set(text "${text}static const unsigned char text_${name}[] = {\n${hex}0};\n" PARENT_SCOPE)
endfunction()

set(begin)
foreach(header ${headers})
    get_filename_component(name ${header} NAME_WE)
    embed(${header} h_${name})
    string(APPEND begin "    {\"${header}\", (const char *)text_h_${name}, sizeof text_h_${name} - 1},\n")
endforeach()
foreach(name ${names})
    embed(src/exec/gpu/kernels/${name}.cl ${name})
    string(APPEND text "const struct gpu_text gpu_program_${name}[] = {\n${begin}    {\"${name}.cl\", (const char *)text_${name}, sizeof text_${name} - 1},\n    {NULL, NULL, 0}};\n")
endforeach()
file(REMOVE ${OUT}.part)
file(WRITE ${OUT} "${text}")
file(WRITE ${ALL} "${all}")
