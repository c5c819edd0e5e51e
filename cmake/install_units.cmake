# SPDX-License-Identifier: MIT OR GPL-2.0
# Install systemd's units: where systemd looks below /usr and /usr/local. A unit names its program in full, so the
# prefix, which the installation may change, is put in. Takes GVM_UNITS (files) and GVM_UNITS_BINDIR.
foreach(unit IN LISTS GVM_UNITS)
	get_filename_component(name "${unit}" NAME)
	set(installed "${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${name}")
	file(READ "${unit}" text)
	string(REPLACE "/usr/bin/" "${CMAKE_INSTALL_PREFIX}/${GVM_UNITS_BINDIR}/" text "${text}")
	message(STATUS "Installing: $ENV{DESTDIR}${installed}")
	file(WRITE "$ENV{DESTDIR}${installed}" "${text}")
	list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${installed}")
endforeach()
