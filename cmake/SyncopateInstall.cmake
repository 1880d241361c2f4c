# The pkg-config and CMake files by which other builds find the library, and `cmake --build . --target uninstall`.
include(CMakePackageConfigHelpers)
set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/syncopate)
set(made ${PROJECT_BINARY_DIR}/packaging)

# Relative to the file's own location, so that the installation can be moved.
file(RELATIVE_PATH up_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(packaging/syncopate.pc.in ${made}/syncopate.pc @ONLY)
install(FILES ${made}/syncopate.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

configure_package_config_file(packaging/syncopateConfig.cmake.in ${made}/syncopateConfig.cmake
                              INSTALL_DESTINATION ${cmake_folder})
write_basic_package_version_file(${made}/syncopateConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${made}/syncopateConfig.cmake ${made}/syncopateConfigVersion.cmake
        DESTINATION ${cmake_folder} COMPONENT development)
install(EXPORT syncopateTargets NAMESPACE syncopate:: DESTINATION ${cmake_folder} COMPONENT development)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT library)

# Removes what the last install wrote, and the folders that are then empty.
add_custom_target(uninstall VERBATIM
    COMMAND ${CMAKE_COMMAND} -DMANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
            -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake)
