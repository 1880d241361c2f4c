# Jansson: Jansson_FOUND and the target Jansson::Jansson. SYNCOPATE_STATIC_JANSSON prefers the static library.
include(SyncopateFind)
if(SYNCOPATE_STATIC_JANSSON)
    find_library(Jansson_LIBRARY NAMES libjansson.a jansson)
else()
    find_library(Jansson_LIBRARY jansson)
endif()
find_path(Jansson_INCLUDE_DIR jansson.h)
syncopate_find_result(Jansson)
