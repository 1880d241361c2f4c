# Nettle: Nettle_FOUND and the target Nettle::Nettle.
include(SyncopateFind)
find_library(Nettle_LIBRARY nettle)
find_path(Nettle_INCLUDE_DIR nettle/sha2.h)
syncopate_find_result(Nettle)
