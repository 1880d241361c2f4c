# `make package`: Debian packages, one for each part. Their dependencies are determined from the binaries
# (dpkg-shlibdeps), so that the list is right for the release it is built on. The library and the Python package
# need only libc: MPI is a plugin, in a separate package that the command recommends.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME syncopate)
set(CPACK_PACKAGE_VENDOR Syncopate)
set(CPACK_PACKAGE_CONTACT "Syncopate <maintainers@syncopate.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL library development command)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

# syncopate_package(COMPONENT NAME SECTION "what it is" [DEPENDS text] [RECOMMENDS text] [SUGGESTS text])
macro(syncopate_package component name section summary)
    cmake_parse_arguments(package "" "DEPENDS;RECOMMENDS;SUGGESTS" "" ${ARGN})
    string(TOUPPER ${component} upper)
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
    set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}")
    foreach(field DEPENDS RECOMMENDS SUGGESTS)
        if(package_${field})
            set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${package_${field}}")
        endif()
    endforeach()
endmacro()

set(library libsyncopate${PROJECT_VERSION_MAJOR})
set(same "(= ${PROJECT_VERSION})")
syncopate_package(library ${library} libs "Exchange of gradients over slow networks: the library"
                  SUGGESTS "${library}-mpi ${same}")
# Open MPI 4 cannot start even a single process without its launcher's package.
set(launcher openmpi-bin)
if(MPI_C_LIBRARIES MATCHES mpich)
    set(launcher mpich)
endif()
syncopate_package(mpi ${library}-mpi libs "Exchange of gradients over slow networks: workers under MPI"
                  DEPENDS "${library} ${same}" RECOMMENDS ${launcher})
syncopate_package(development libsyncopate-dev libdevel "Exchange of gradients over slow networks: headers"
                  DEPENDS "${library} ${same}")
syncopate_package(command syncopate science "Trains one neural network over a slow network: the command"
                  RECOMMENDS "${library}-mpi ${same}")
syncopate_package(python python3-syncopate python "Exchange of gradients over slow networks, for PyTorch"
                  DEPENDS "python3 (>= 3.9)" SUGGESTS "python3-torch, ${library}-mpi ${same}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
if(TARGET syncopate-mpi AND SYNCOPATE_MPI_PLUGIN)
    list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
if(SYNCOPATE_PYTHON_FOLDER)
    list(APPEND CPACK_COMPONENTS_ALL python)
endif()
include(CPack)
