# Jansson: Jansson_FOUND and the target Jansson::Jansson. SYNCOPATE_STATIC_JANSSON takes the archive where there is one.
include(SyncopateFind)
if(SYNCOPATE_STATIC_JANSSON)
    find_library(Jansson_LIBRARY NAMES libjansson.a jansson)
else()
    find_library(Jansson_LIBRARY jansson)
endif()
find_path(Jansson_INCLUDE_DIR jansson.h)
syncopate_find_result(Jansson)
