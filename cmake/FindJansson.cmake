# Jansson by its header and library, so that nobody needs pkg-config: Jansson_FOUND and the target Jansson::Jansson.
# SYNCOPATE_STATIC_JANSSON takes the archive where there is one.
if(SYNCOPATE_STATIC_JANSSON)
    find_library(Jansson_LIBRARY NAMES libjansson.a jansson)
else()
    find_library(Jansson_LIBRARY jansson)
endif()
find_path(Jansson_INCLUDE_DIR jansson.h)
mark_as_advanced(Jansson_LIBRARY Jansson_INCLUDE_DIR)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Jansson REQUIRED_VARS Jansson_LIBRARY Jansson_INCLUDE_DIR)
if(Jansson_FOUND AND NOT TARGET Jansson::Jansson)
    add_library(Jansson::Jansson UNKNOWN IMPORTED)
    set_target_properties(Jansson::Jansson PROPERTIES IMPORTED_LOCATION ${Jansson_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${Jansson_INCLUDE_DIR})
endif()
