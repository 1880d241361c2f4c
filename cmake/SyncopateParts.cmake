# What is built depends on what is installed: the core needs a C compiler and CMake, everything else may be missing.
# Each part that is left out is reported in one line on standard error, which is visible even when the rest of the
# configure output is hidden. Developers' presets require all parts, so that no test is skipped unnoticed.

# syncopate_leave_out(PART WHY OPTION PACKAGES): say that PART is not built.
#   OPTION    turns the part off permanently, and this message with it
#   PACKAGES  the missing Debian packages
function(syncopate_leave_out part why option packages)
    set(line "Syncopate is built without ${part}: ${why}; Debian: apt-get install ${packages}")
    if(SYNCOPATE_ALL_PARTS)
        message(FATAL_ERROR "${line}; or -D${option}=OFF")
    endif()
    message(NOTICE "${line}")
endfunction()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

set(SYNCOPATE_HAS_MPI OFF)
if(SYNCOPATE_MPI)
    find_package(MPI QUIET COMPONENTS C)
    if(NOT MPI_C_FOUND)
        syncopate_leave_out("MPI" "none was found" SYNCOPATE_MPI "libopenmpi-dev openmpi-bin")
    elseif(MPI_C_VERSION VERSION_LESS 3.0)
        syncopate_leave_out("MPI" "MPI ${MPI_C_VERSION} was found, 3.0 or later is needed"
                            SYNCOPATE_MPI "libopenmpi-dev openmpi-bin")
    else()
        set(SYNCOPATE_HAS_MPI ON)
    endif()
endif()

set(SYNCOPATE_HAS_ENGINE OFF)
if(SYNCOPATE_ENGINE)
    set(without "training (no train, advise or data)")
    find_package(OneDNN QUIET)
    find_package(ZLIB QUIET)
    find_package(Nettle QUIET)
    if(OneDNN_FOUND AND (OneDNN_VERSION VERSION_LESS 2.6 OR OneDNN_VERSION VERSION_GREATER_EQUAL 4))
        syncopate_leave_out("${without}" "oneDNN ${OneDNN_VERSION} was found, 2.6 or later, below 4, is needed"
                            SYNCOPATE_ENGINE libdnnl-dev)
    elseif(NOT OneDNN_FOUND)
        syncopate_leave_out("${without}" "oneDNN was not found" SYNCOPATE_ENGINE libdnnl-dev)
    elseif(NOT ZLIB_FOUND)
        syncopate_leave_out("${without}" "zlib was not found" SYNCOPATE_ENGINE zlib1g-dev)
    elseif(NOT Nettle_FOUND)
        syncopate_leave_out("${without}" "nettle was not found" SYNCOPATE_ENGINE nettle-dev)
    else()
        set(SYNCOPATE_HAS_ENGINE ON)
    endif()
endif()

set(SYNCOPATE_HAS_PNG OFF)
if(SYNCOPATE_HAS_ENGINE AND SYNCOPATE_PNG)
    find_package(PNG QUIET)
    if(PNG_FOUND)
        set(SYNCOPATE_HAS_PNG ON)
    else()
        syncopate_leave_out("PNG pictures" "libpng was not found" SYNCOPATE_PNG libpng-dev)
    endif()
endif()

set(SYNCOPATE_HAS_JPEG OFF)
if(SYNCOPATE_HAS_ENGINE AND SYNCOPATE_JPEG)
    find_package(JPEG QUIET)
    if(JPEG_FOUND)
        set(SYNCOPATE_HAS_JPEG ON)
    else()
        syncopate_leave_out("JPEG pictures" "libjpeg was not found" SYNCOPATE_JPEG libjpeg-dev)
    endif()
endif()

set(SYNCOPATE_HAS_JANSSON OFF) # for weight and model files, if training is built
find_package(Jansson QUIET)
if(Jansson_FOUND)
    set(SYNCOPATE_HAS_JANSSON ON)
endif()

set(SYNCOPATE_HAS_REPORT OFF)
if(SYNCOPATE_REPORT)
    if(Jansson_FOUND)
        set(SYNCOPATE_HAS_REPORT ON)
    else()
        syncopate_leave_out("report, safetensors and model files" "jansson was not found" SYNCOPATE_REPORT libjansson-dev)
    endif()
endif()

set(SYNCOPATE_HAS_PYTHON OFF)
if(SYNCOPATE_PYTHON_PACKAGE)
    set(without "the library of the Python package")
    find_package(Python3 QUIET COMPONENTS Interpreter)
    if(NOT Python3_Interpreter_FOUND)
        syncopate_leave_out("${without}" "Python was not found" SYNCOPATE_PYTHON_PACKAGE python3)
    elseif(Python3_VERSION VERSION_LESS 3.9)
        syncopate_leave_out("${without}" "Python ${Python3_VERSION} was found, 3.9 or later is needed"
                            SYNCOPATE_PYTHON_PACKAGE python3)
    else()
        set(SYNCOPATE_HAS_PYTHON ON)
    endif()
endif()
