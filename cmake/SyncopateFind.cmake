# syncopate_find_result(NAME): what a find module does after searching for NAME_LIBRARY and NAME_INCLUDE_DIR:
# it sets NAME_FOUND and defines the target NAME::NAME. It uses header and library, so that pkg-config is not needed.
include(FindPackageHandleStandardArgs)
macro(syncopate_find_result name)
    mark_as_advanced(${name}_LIBRARY ${name}_INCLUDE_DIR)
    find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE_DIR ${ARGN})
    if(${name}_FOUND AND NOT TARGET ${name}::${name})
        add_library(${name}::${name} UNKNOWN IMPORTED)
        set_target_properties(${name}::${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
            INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
    endif()
endmacro()
