# What `cmake --install` puts where: headers, shared and static library, the command, tessera.pc and
# the CMake package; modules say so themselves where they are built. Everything is found relative
# to itself, so that the installed tree may be moved.

# What goes into a wheel is said by TesseraWheel.cmake.
if(SKBUILD)
    return()
endif()

include(CMakePackageConfigHelpers)

set(TESSERA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
set(TESSERA_PLUGIN_DIR ${CMAKE_INSTALL_LIBDIR}/tessera/plugins)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tessera
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
install(TARGETS tessera_shared tessera_static EXPORT tesseraTargets
        LIBRARY COMPONENT library NAMELINK_COMPONENT dev
        ARCHIVE COMPONENT dev)
if(NOT TESSERA_DEBIAN) # there it is in the file copyright of every package
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# The command, and its completion printed by itself: what cannot run here has none.
if(TARGET tessera_cli)
    install(TARGETS tessera_cli COMPONENT command)
    if(NOT CMAKE_CROSSCOMPILING)
        set(completion ${PROJECT_BINARY_DIR}/generated/completion)
        install(CODE "
            file(MAKE_DIRECTORY \"${completion}\")
            execute_process(COMMAND \"$<TARGET_FILE:tessera_cli>\" completion bash
                            OUTPUT_FILE \"${completion}/tessera\" RESULT_VARIABLE failed)
            if(failed)
                message(WARNING \"tessera completion bash failed: no completion installed\")
                file(REMOVE \"${completion}/tessera\")
            endif()" COMPONENT command)
        install(FILES ${completion}/tessera
                DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
                COMPONENT command OPTIONAL)
    endif()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/TesseraManual.cmake)
tessera_install_manual(${CMAKE_INSTALL_MANDIR} COMPONENT command)

# pkg-config and CMake both need to know what the static library leaves to its user.
set(TESSERA_PC_REQUIRES_PRIVATE)
foreach(pair "ZLIB zlib" "LIBDEFLATE libdeflate" "YAML yaml-0.1")
    separate_arguments(pair UNIX_COMMAND "${pair}")
    list(GET pair 0 feature)
    list(GET pair 1 package)
    if(TESS_HAVE_${feature})
        list(APPEND TESSERA_PC_REQUIRES_PRIVATE ${package})
    endif()
endforeach()
set(TESSERA_STATIC_PACKAGES ${TESSERA_PC_REQUIRES_PRIVATE})
list(JOIN TESSERA_PC_REQUIRES_PRIVATE " " TESSERA_PC_REQUIRES_PRIVATE)

file(RELATIVE_PATH TESSERA_PC_TO_PREFIX
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TESSERA_PC_TO_PREFIX "${TESSERA_PC_TO_PREFIX}")
set(TESSERA_PC_LIBS -ltessera)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in
               ${PROJECT_BINARY_DIR}/generated/tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/tessera.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in
    ${PROJECT_BINARY_DIR}/generated/tesseraConfig.cmake
    INSTALL_DESTINATION ${TESSERA_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
# While 0.x, a minor release may break the interface, as the soname says too.
write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/generated/tesseraConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/tesseraConfig.cmake
              ${PROJECT_BINARY_DIR}/generated/tesseraConfigVersion.cmake
        DESTINATION ${TESSERA_CMAKE_DIR} COMPONENT dev)
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${TESSERA_CMAKE_DIR}
        COMPONENT dev)

if(TESSERA_DEBIAN)
    include(TesseraDebian)
endif()
