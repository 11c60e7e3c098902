# Language level, warnings, sanitizers and hardening, shared by every target through tess_flags.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)

add_library(tess_flags INTERFACE)
target_compile_definitions(tess_flags INTERFACE _GNU_SOURCE)
target_include_directories(tess_flags INTERFACE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)

# Results must not depend on what the optimiser likes: no contraction (fused multiply-add is
# spelled out where it is meant), never fast-math. The two -fno flags change no result.
target_compile_options(tess_flags INTERFACE
    -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-omit-frame-pointer
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
target_compile_options(tess_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
    -Wdouble-promotion -Wconversion -Wcast-qual -Wwrite-strings)
if(TESSERA_WERROR)
    target_compile_options(tess_flags INTERFACE -Werror)
endif()
if(TESSERA_PORTABLE) # see base/portable_hypot.c
    target_link_options(tess_flags INTERFACE -Wl,--wrap=hypot)
endif()
if(TESSERA_NATIVE)
    target_compile_options(tess_flags INTERFACE -march=native)
endif()

if(TESSERA_SANITIZE)
    target_compile_options(tess_flags INTERFACE
        -fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all -g1 -O1
        # GCC loses track of what was written once the code is instrumented.
        $<$<C_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    target_link_options(tess_flags INTERFACE -fsanitize=${TESSERA_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(tess_flags INTERFACE -fstack-protector-strong)
    target_compile_definitions(tess_flags INTERFACE _FORTIFY_SOURCE=2)
    target_link_options(tess_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        target_compile_options(tess_flags INTERFACE -fcf-protection)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
        target_compile_options(tess_flags INTERFACE -mbranch-protection=standard)
    endif()
endif()
if(TESSERA_COVERAGE)
    target_compile_options(tess_flags INTERFACE --coverage -O0 -g)
    target_link_options(tess_flags INTERFACE --coverage)
endif()

# One object library per folder of src/. Who may include whom is checked by tools/check_floors.
#   tess_add_floor(runtime a.c b.c)
function(tess_add_floor name)
    set(sources ${ARGN})
    # Fuzzing is of readers: of a system the folders that they call, or the linker would say so.
    if(TESSERA_FUZZ AND name MATCHES "^system_")
        list(FILTER sources INCLUDE REGEX "^((bids|epochs|files|montage|settings|store|text)/|study/(config|texts)\\.c)")
    endif()
    add_library(tess_${name} OBJECT ${sources})
    target_link_libraries(tess_${name} PRIVATE tess_flags Threads::Threads)
    set_property(GLOBAL APPEND PROPERTY TESS_FLOORS tess_${name})
endfunction()

# Every file of the folder that matches the patterns must be in the list named first: one that was
# forgotten would otherwise vanish without a word.
function(tess_all_listed listed)
    file(GLOB forgotten CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${ARGN})
    list(REMOVE_ITEM forgotten ${${listed}})
    if(forgotten)
        list(JOIN forgotten " " forgotten)
        message(FATAL_ERROR "${CMAKE_CURRENT_LIST_FILE} lists no ${forgotten}")
    endif()
endfunction()
