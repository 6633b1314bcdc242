# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Options, and the settings that every target of the tree is compiled with.

option(VYRE_TESTS "Build tests, fuzz targets and examples" ${PROJECT_IS_TOP_LEVEL})
option(VYRE_WERROR "Treat compiler warnings as errors" OFF)
option(VYRE_VARIANTS "Interpreters for AVX2 and AVX-512, besides the portable one" ON)
option(VYRE_FUZZ "Build fuzz targets with libFuzzer (clang only)" OFF)
set(VYRE_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize=, for example address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Assertions stay on in every build but Release.
string(REPLACE "-DNDEBUG" "" CMAKE_C_FLAGS_RELWITHDEBINFO "${CMAKE_C_FLAGS_RELWITHDEBINFO}")

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# The library is for Linux: futexes, memfds, eventfds.
add_compile_definitions(_GNU_SOURCE)
if(VYRE_SANITIZE MATCHES "thread")
    add_compile_definitions(VYRE_TSAN)
endif()

# No contraction: every backend rounds each operation by itself and gives the same bits.
add_compile_options(-ffp-contract=off)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wvla -Wwrite-strings)
if(VYRE_WERROR)
    add_compile_options(-Werror)
endif()

if(VYRE_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "VYRE_FUZZ needs clang; configure with --preset fuzz, or with "
            "-DCMAKE_C_COMPILER=clang")
    endif()
    set(sanitizers "fuzzer-no-link")
    if(VYRE_SANITIZE)
        string(APPEND sanitizers ",${VYRE_SANITIZE}")
    endif()
else()
    set(sanitizers "${VYRE_SANITIZE}")
endif()
if(sanitizers)
    add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${sanitizers})
endif()
