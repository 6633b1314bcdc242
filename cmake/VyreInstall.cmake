# SPDX-License-Identifier: MIT OR Apache-2.0
#
# What `cmake --install` puts where: both libraries, the public headers with the tables they
# include, vyre.pc, the CMake package, the command with its manual page and completion, the device
# host, the peers of the benchmark.

include(CMakePackageConfigHelpers)

set(public_headers
    buffer.h
    compile.h
    cuda.h
    evidence.h
    fault.def
    policy.def
    policy.h
    program.h
    queue.h
    runtime.h
    share.h
    sketch.h
    snapshot.h
    source.h
    status.def
    status.h
    stream.h
    telemetry.h
    tenant.h
    vyre.h
    wire.h
)
list(TRANSFORM public_headers PREPEND "${PROJECT_SOURCE_DIR}/include/vyre/")
install(FILES ${public_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/vyre")

install(TARGETS vyre vyre_static EXPORT vyre-targets)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/vyre")
install(EXPORT vyre-targets NAMESPACE vyre:: FILE vyreTargets.cmake DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/vyreConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/vyreConfig.cmake" INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/vyreConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/vyreConfig.cmake"
    "${PROJECT_BINARY_DIR}/vyreConfigVersion.cmake" DESTINATION "${package_dir}")

# The installed tree may be moved: vyre.pc finds its prefix from its own place.
set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${pc_dir}")
    set(VYRE_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH to_prefix "/prefix/${pc_dir}" "/prefix")
    set(VYRE_PC_PREFIX "\${pcfiledir}/${to_prefix}")
endif()
foreach(dir INCLUDEDIR LIBDIR)
    set(VYRE_PC_${dir} "${CMAKE_INSTALL_${dir}}")
    if(NOT IS_ABSOLUTE "${VYRE_PC_${dir}}")
        string(PREPEND VYRE_PC_${dir} "\${prefix}/")
    endif()
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/vyre.pc.in" "${PROJECT_BINARY_DIR}/vyre.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/vyre.pc" DESTINATION "${pc_dir}")

install(TARGETS vyre_cli)
install(TARGETS vyre_host vyre_cuda_peers RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/vyre")
install(FILES "${PROJECT_SOURCE_DIR}/man/vyre.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES "${PROJECT_SOURCE_DIR}/cli/completion/vyre.bash"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME vyre)
# Documents and examples side by side, as in the tree: they have links to each other.
file(GLOB documents CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md")
install(FILES ${documents} DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    FILES_MATCHING PATTERN "*.vyre" PATTERN "*.c" PATTERN "*.cu" PATTERN "*.ptx" PATTERN "*.vir")
install(FILES "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/LICENSE"
    "${PROJECT_SOURCE_DIR}/LICENSE-MIT" "${PROJECT_SOURCE_DIR}/LICENSE-APACHE"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/editors" DESTINATION "${CMAKE_INSTALL_DATADIR}/vyre")
