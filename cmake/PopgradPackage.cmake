# Debian packages by CPack: popgrad has the program with manual, completions, schemas and pages,
# popgrad-dev the headers, static libraries and CMake's description of them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The popgrad developers <popgrad@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "checks theorems about transformer training dynamics")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL tool development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(CPACK_DEBIAN_TOOL_PACKAGE_NAME popgrad)
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_COMPONENT_TOOL_DESCRIPTION "Verdicts on statements, trajectories, landscapes and figures, from the command line.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME popgrad-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libboost-dev, libeigen3-dev, libgmp-dev, libmpfr-dev, libmpfi-dev, libginac-dev, librandom123-dev, libcli11-dev, nlohmann-json3-dev, libfmt-dev, libzip-dev, libcsv-dev, libnlopt-cxx-dev, libomp-dev, pkg-config")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers and static libraries for programs and theories of one's own.")
include(CPack)
