# oneDNN by its headers and library, in any version: OneDNN_FOUND, OneDNN_VERSION and the target OneDNN::OneDNN.
# Not find_package(dnnl): if oneDNN was built with OpenCL, as Debian's is, that also requires the OpenCL
# headers, which are not needed to call it.
include(SyncopateFind)
find_library(OneDNN_LIBRARY dnnl)
# Version 1 has its headers one folder higher.
find_path(OneDNN_INCLUDE_DIR NAMES oneapi/dnnl/dnnl_version.h dnnl_version.h)

set(OneDNN_VERSION)
foreach(header oneapi/dnnl/dnnl_version.h dnnl_version.h)
    if(NOT OneDNN_VERSION AND OneDNN_INCLUDE_DIR AND EXISTS ${OneDNN_INCLUDE_DIR}/${header})
        foreach(part MAJOR MINOR PATCH)
            file(STRINGS ${OneDNN_INCLUDE_DIR}/${header} line REGEX "^#define +DNNL_VERSION_${part} +[0-9]+")
            if(line MATCHES "([0-9]+) *$")
                list(APPEND OneDNN_VERSION ${CMAKE_MATCH_1})
            endif()
        endforeach()
        list(JOIN OneDNN_VERSION "." OneDNN_VERSION)
    endif()
endforeach()

syncopate_find_result(OneDNN VERSION_VAR OneDNN_VERSION)
