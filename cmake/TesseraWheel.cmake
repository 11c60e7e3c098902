# What scikit-build-core puts into a wheel: the extension and its modules, the command and its manual, and for C users
# headers, the shared library and tessera.pc, which tessera.get_include() and
# tessera.get_pkgconfig_dir() find. The CUDA module says so where it is built.

set(tess_wheel_lib tessera/lib)

install(TARGETS tessera_core LIBRARY DESTINATION tessera COMPONENT python)
if(TARGET tess_hdf5_helper)
    install(TARGETS tess_hdf5_helper RUNTIME DESTINATION tessera/plugins COMPONENT python)
endif()
if(TARGET tessera_cli)
    install(TARGETS tessera_cli RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
    include(TesseraManual)
    tessera_install_manual(${SKBUILD_DATA_DIR}/share/man COMPONENT python)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tessera
        DESTINATION tessera/include COMPONENT python FILES_MATCHING PATTERN "*.h")
install(TARGETS tessera_shared
        LIBRARY DESTINATION ${tess_wheel_lib} COMPONENT python NAMELINK_SKIP)

# The library is where pip put it, which no loader knows: programs remember.
get_target_property(soversion tessera_shared SOVERSION)
set(TESSERA_PC_LIBS "-l:libtessera.so.${soversion} -Wl,-rpath,\${libdir}")
set(TESSERA_PC_TO_PREFIX ../..)
set(CMAKE_INSTALL_LIBDIR lib)
set(CMAKE_INSTALL_INCLUDEDIR include)
set(TESSERA_PLUGIN_DIR plugins)
configure_file(${PROJECT_SOURCE_DIR}/cmake/tessera.pc.in
               ${PROJECT_BINARY_DIR}/generated/wheel/tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/wheel/tessera.pc
        DESTINATION ${tess_wheel_lib}/pkgconfig COMPONENT python)
