# syncopate_rows(RESULT DEF DIRECTORY): the source files that the rows of a .def list name.
# A row SYN_PART(topk) is the file DIRECTORY/topk.c. Editing the list configures anew.
function(syncopate_rows result def directory)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${def})
    file(STRINGS ${def} rows REGEX "^SYN_PART\\(")
    set(files)
    foreach(row ${rows})
        string(REGEX REPLACE "^SYN_PART\\(([a-z0-9_]+).*" "\\1" name "${row}")
        list(APPEND files ${directory}/${name}.c)
    endforeach()
    set(${result} ${files} PARENT_SCOPE)
endfunction()
