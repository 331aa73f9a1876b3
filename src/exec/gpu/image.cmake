# cmake -DSOURCE=FILE -DOUT=FILE -DCOMPILE=LIST -P image.cmake: an image of the kernels. Where
# there is a compiler cache (CCACHE_DIR), the image of the same text by the same command is taken
# from there.
file(SHA256 ${SOURCE} hash)
string(SHA256 hash "${hash} ${COMPILE}")
set(kept "$ENV{CCACHE_DIR}/images/${hash}")
if(NOT "$ENV{CCACHE_DIR}" STREQUAL "" AND EXISTS ${kept})
    configure_file(${kept} ${OUT} COPYONLY)
    file(TOUCH ${OUT})
    return()
endif()
execute_process(COMMAND ${COMPILE} ${SOURCE} -o ${OUT} RESULT_VARIABLE status
    OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${said}")
endif()
if(NOT "$ENV{CCACHE_DIR}" STREQUAL "")
    file(MAKE_DIRECTORY "$ENV{CCACHE_DIR}/images")
    file(COPY ${OUT} DESTINATION "${OUT}.kept")
    get_filename_component(name ${OUT} NAME)
    file(RENAME "${OUT}.kept/${name}" ${kept})
    file(REMOVE_RECURSE "${OUT}.kept")
endif()
