# Finds optional libraries and writes generated/tess_features.h. Each is a target tess_dep_<x>
# (empty when the library is absent), so that users of it need no condition.

include(CheckIncludeFile)
find_package(PkgConfig QUIET)
set(tess_feature_rows "" CACHE INTERNAL "")

function(tess_feature name found version why_not)
    if(TESSERA_WITH_${name} STREQUAL "ON" AND NOT found)
        message(FATAL_ERROR "TESSERA_WITH_${name}=ON but ${why_not}. "
                            "Install it or configure with -DTESSERA_WITH_${name}=AUTO.")
    endif()
    set(TESS_HAVE_${name} ${found} PARENT_SCOPE)
    set(TESS_VERSION_OF_${name} "${version}" PARENT_SCOPE)
    if(found)
        set(row "${name}: ${version}")
    elseif(TESSERA_WITH_${name} STREQUAL "OFF")
        set(row "${name}: off (asked for)")
    else()
        set(row "${name}: not built (${why_not})")
    endif()
    set(tess_feature_rows "${tess_feature_rows};${row}" CACHE INTERNAL "")
endfunction()

# The archives of a pkg-config module that was found, for TESSERA_PORTABLE: what a wheel brings must
# need nothing of the machine it is unpacked on.
function(tess_link_archives name module)
    target_include_directories(tess_dep_${name} SYSTEM INTERFACE ${TESS_PKG_${name}_INCLUDE_DIRS})
    foreach(library ${TESS_PKG_${name}_LIBRARIES})
        find_library(TESS_ARCHIVE_${library} lib${library}.a HINTS ${TESS_PKG_${name}_LIBRARY_DIRS})
        if(NOT TESS_ARCHIVE_${library})
            message(FATAL_ERROR "TESSERA_PORTABLE=ON but ${module} has no lib${library}.a. Install "
                                "it or configure with -DTESSERA_WITH_${name}=OFF.")
        endif()
        target_link_libraries(tess_dep_${name} INTERFACE ${TESS_ARCHIVE_${library}})
    endforeach()
endfunction()

# pkg-config libraries with one module each.
function(tess_find_pkg name module)
    add_library(tess_dep_${name} INTERFACE)
    set(found 0)
    set(version "")
    if(NOT TESSERA_WITH_${name} STREQUAL "OFF" AND PKG_CONFIG_FOUND)
        pkg_check_modules(TESS_PKG_${name} QUIET IMPORTED_TARGET ${module})
        if(TESS_PKG_${name}_FOUND)
            set(found 1)
            set(version "${TESS_PKG_${name}_VERSION}")
            if(TESSERA_PORTABLE)
                tess_link_archives(${name} ${module})
            else()
                target_link_libraries(tess_dep_${name} INTERFACE PkgConfig::TESS_PKG_${name})
            endif()
        endif()
    endif()
    tess_feature(${name} ${found} "${version}" "${module} not found by pkg-config")
    set(TESS_HAVE_${name} ${found} PARENT_SCOPE)
    set(TESS_VERSION_OF_${name} "${version}" PARENT_SCOPE)
endfunction()

tess_find_pkg(ZLIB zlib)
# libdeflate unpacks whole blocks; streams stay with zlib, without which it is not used.
if(NOT TESS_HAVE_ZLIB AND TESSERA_WITH_LIBDEFLATE STREQUAL "AUTO")
    set(TESSERA_WITH_LIBDEFLATE OFF)
endif()
tess_find_pkg(LIBDEFLATE libdeflate)
tess_find_pkg(YAML yaml-0.1)

# xxHash is used as a header only (XXH_INLINE_ALL): nothing is linked.
add_library(tess_dep_XXHASH INTERFACE)
set(found 0)
if(NOT TESSERA_WITH_XXHASH STREQUAL "OFF")
    check_include_file(xxhash.h TESS_XXHASH_HEADER)
    if(TESS_XXHASH_HEADER)
        set(found 1)
    endif()
endif()
tess_feature(XXHASH ${found} "header" "xxhash.h not found; checksums use CRC-32C")

# HDF5: linked by the program tessera-hdf5 alone.
set(found 0)
set(version "")
if(NOT TESSERA_WITH_HDF5 STREQUAL "OFF")
    find_package(HDF5 QUIET COMPONENTS C)
    if(HDF5_FOUND AND HDF5_VERSION VERSION_GREATER_EQUAL 1.10.5)
        set(found 1)
        set(version "${HDF5_VERSION}")
    endif()
endif()
tess_feature(HDF5 ${found} "${version}" "libhdf5 1.10.5 or later not found")

# MPI: linked by the module tessera-comm-mpi alone. That of this machine is of no use to another:
# what is cross-compiled, or portable, goes without.
set(found 0)
set(version "")
if(NOT TESSERA_WITH_MPI STREQUAL "OFF" AND NOT CMAKE_CROSSCOMPILING AND NOT TESSERA_PORTABLE)
    find_package(MPI 3.0 QUIET COMPONENTS C)
    if(MPI_C_FOUND)
        set(found 1)
        set(version "MPI ${MPI_C_VERSION}")
    endif()
endif()
tess_feature(MPI ${found} "${version}" "no mpicc of MPI 3 or later found")

# CUDA: the module tessera-backend-cuda.
set(found 0)
set(version "")
if(NOT TESSERA_WITH_CUDA STREQUAL "OFF")
    include(CheckLanguage)
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
        set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
    endif()
    if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND DEFINED ENV{TESSERA_CUDA_ARCHITECTURES})
        set(CMAKE_CUDA_ARCHITECTURES "$ENV{TESSERA_CUDA_ARCHITECTURES}")
    elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        # Code for 8.x (8.6 and 8.9 run that of 8.0) and 9.0; 7.5, and 10.0 and all later ones,
        # compile the PTX of 7.5 or 8.0 when they first run it.
        set(CMAKE_CUDA_ARCHITECTURES "75-virtual;80;90a-real")
    endif()
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        enable_language(CUDA)
        set(found 1)
        set(version "${CMAKE_CUDA_COMPILER_VERSION}")
        if(DEFINED ENV{TESSERA_CUDA_QUICK})
            set(TESSERA_CUDA_QUICK $ENV{TESSERA_CUDA_QUICK} CACHE BOOL
                "Kernels that are slow and compile in half the time: to see that they compile" FORCE)
        endif()
    endif()
endif()
tess_feature(CUDA ${found} "${version}" "nvcc not found")

# The commit is informative only; a source archive has none, and whoever builds from one may say.
set(TESSERA_COMMIT "" CACHE STRING "Commit the sources are from, where git cannot tell")
set(TESS_COMMIT "${TESSERA_COMMIT}")
if(NOT TESS_COMMIT)
    execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
                    OUTPUT_VARIABLE TESS_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT TESS_COMMIT)
    set(TESS_COMMIT unknown)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/tess_features.h.in
               ${PROJECT_BINARY_DIR}/generated/tess_features.h)

function(tess_print_features)
    message(STATUS "Tessera ${PROJECT_VERSION} (${TESS_COMMIT}), ${CMAKE_BUILD_TYPE}, "
                   "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, ${CMAKE_SYSTEM_PROCESSOR}")
    foreach(row ${tess_feature_rows})
        message(STATUS "  ${row}")
    endforeach()
endfunction()
