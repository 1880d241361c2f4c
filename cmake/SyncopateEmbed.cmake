# syncopate_embed(TARGET PREFIX FILE...): files as arrays of bytes in the program. FILE report/page.css with PREFIX
# report becomes report_page_css[], with a NUL after its last byte, and its size report_page_css_bytes, without the NUL.
# CMake itself writes the arrays by running this file as a script, so that no other tool is needed to build.
if(CMAKE_SCRIPT_MODE_FILE)
    file(READ ${INPUT} hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    file(WRITE ${OUTPUT} "#include <stddef.h>\n"
        "extern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_bytes;\n"
        "const unsigned char ${NAME}[] = {\n${bytes}0};\nconst size_t ${NAME}_bytes = sizeof ${NAME} - 1;\n")
    return()
endif()

set(syncopate_embed_script ${CMAKE_CURRENT_LIST_FILE})

function(syncopate_embed target prefix)
    foreach(file ${ARGN})
        get_filename_component(input ${file} ABSOLUTE)
        get_filename_component(name ${file} NAME)
        string(MAKE_C_IDENTIFIER ${prefix}_${name} name)
        set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
        add_custom_command(OUTPUT ${output} VERBATIM
            COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DNAME=${name}
                    -P ${syncopate_embed_script}
            DEPENDS ${input} ${syncopate_embed_script})
        target_sources(${target} PRIVATE ${output})
    endforeach()
endfunction()
