# syncopate_compile(TARGET): the flags that all our code is built with.
# No contraction of a*b+c into one rounding: the portable and the AVX2 kernels must give the same bits.
function(syncopate_compile target)
    target_compile_definitions(${target} PRIVATE _POSIX_C_SOURCE=200809L)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
        $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
        $<$<C_COMPILER_ID:Clang>:-Wenum-float-conversion> # in -Wextra from clang 19 on
        -ffp-contract=off -fno-math-errno)
    if(SYNCOPATE_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(SYNCOPATE_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${SYNCOPATE_SANITIZE}
            -fno-omit-frame-pointer -fno-sanitize-recover=all)
        target_link_options(${target} PRIVATE -fsanitize=${SYNCOPATE_SANITIZE})
    endif()
endfunction()
