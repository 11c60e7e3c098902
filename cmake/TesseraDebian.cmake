# Debian packages of the installed tree: library and its modules, dev, command. ./dev wheel --deb runs
# cpack and lintian.

set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(library_package libtessera${soversion})
set(packages_of_library ${library_package})
set(packages_of_dev libtessera-dev)
set(packages_of_command tessera)

set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_VENDOR "the Tessera developers")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the Tessera developers <tessera@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "native autoreject, decode, xpcs and clifford")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library dev command)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY =)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(about "Rejection and repair of EEG and MEG epochs, clusterless decoding of
spikes, fits of two-time X-ray correlations, and layers over Clifford
algebras, on one engine. This package has")
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "${about}
the shared library and the helper that reads HDF5 files.")
set(CPACK_COMPONENT_DEV_DESCRIPTION "${about}
headers, the static library, tessera.pc and a CMake package.")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "${about}
the command tessera.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${packages_of_library})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# Modules are of one version: one library has them.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_PROVIDES tessera-modules)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONFLICTS tessera-modules)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_REPLACES tessera-modules)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME ${packages_of_dev})
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libyaml-dev, libdeflate-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEV_DEPENDS library)
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME ${packages_of_command})
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_COMPONENT_COMMAND_DEPENDS library)

# Every package has its own copyright and changelog.
set(debian ${PROJECT_BINARY_DIR}/generated/debian)
string(TIMESTAMP date "%a, %d %b %Y 00:00:00 +0000" UTC)
file(WRITE ${debian}/changelog "tessera (${PROJECT_VERSION}-1) unstable; urgency=medium

  * See CHANGELOG.md of the sources.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license)
file(WRITE ${debian}/copyright "Tessera, by the Tessera developers. The licence is BSD 3-clause:\n\n${license}")
file(WRITE ${debian}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${debian}/triggers)
find_program(GZIP_PROGRAM gzip REQUIRED)
execute_process(COMMAND ${GZIP_PROGRAM} -9nf ${debian}/changelog COMMAND_ERROR_IS_FATAL ANY)
foreach(component library dev command)
    install(FILES ${debian}/copyright
            DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${packages_of_${component}}
            COMPONENT ${component})
    install(FILES ${debian}/changelog.gz
            DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${packages_of_${component}}
            RENAME changelog.Debian.gz COMPONENT ${component})
endforeach()

# What TesseraManual has put there before.
install(CODE "
    file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1/*.1\")
    execute_process(COMMAND ${GZIP_PROGRAM} -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)"
    COMPONENT command)

include(CPack)
