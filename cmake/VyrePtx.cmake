# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Native operations for examples and tests: with nvcc their PTX is compiled, without it the
# checked-in file (scripts/gen-ptx) is used.

# vyre_ptx(<variable> <name>): compiles <name>.cu of this directory; <variable> is the PTX's path.
function(vyre_ptx variable name)
    get_property(nvcc GLOBAL PROPERTY VYRE_NVCC)
    set(ptx "${CMAKE_CURRENT_SOURCE_DIR}/${name}.ptx")
    if(nvcc)
        set(source "${CMAKE_CURRENT_SOURCE_DIR}/${name}.cu")
        get_filename_component(file "${name}.ptx" NAME)
        set(ptx "${CMAKE_CURRENT_BINARY_DIR}/${file}")
        add_custom_command(OUTPUT "${ptx}"
            COMMAND "${nvcc}" -rdc=true -ptx -arch=compute_75 -std=c++17
                "-I${PROJECT_SOURCE_DIR}/include" -MD -MF "${ptx}.d" -MT "${ptx}"
                -o "${ptx}" "${source}"
            DEPENDS "${source}" DEPFILE "${ptx}.d" VERBATIM
            COMMENT "Compiling ${name}.cu to PTX")
    endif()
    set(${variable} "${ptx}" PARENT_SCOPE)
endfunction()
