# One Debian package of everything that is installed: cpack -G DEB in the build folder.
set(CPACK_PACKAGE_NAME moeplan)
set(CPACK_PACKAGE_VENDOR moeplan)
set(CPACK_PACKAGE_CONTACT "moeplan <moeplan@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# What it starts with (held against dpkg-shlibdeps by tests/build/check_package.sh, and said here
# because that would make the MPI module's needs everybody's); what it opens when it is there.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34), libyaml-0-2 (>= 0.2.2)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin, libopenmpi3")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox | gnuplot, libopenblas0-pthread")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
