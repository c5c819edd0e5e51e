# SPDX-License-Identifier: MIT OR GPL-2.0
# Install systemd's units, where systemd looks below /usr and /usr/local, and the OCI hook and runtime. They name programs in full, so
# the prefix, which the installation may change, is put in. Takes GVM_UNITS and GVM_HOOKS (files), and GVM_BINDIR.
function(install_with_prefix file folder)
	get_filename_component(name "${file}" NAME)
	set(installed "${CMAKE_INSTALL_PREFIX}/${folder}/${name}")
	file(READ "${file}" text)
	string(REPLACE "/usr/bin/" "${CMAKE_INSTALL_PREFIX}/${GVM_BINDIR}/" text "${text}")
	message(STATUS "Installing: $ENV{DESTDIR}${installed}")
	file(WRITE "$ENV{DESTDIR}${installed}" "${text}")
	if(text MATCHES "^#!")
		file(CHMOD "$ENV{DESTDIR}${installed}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
			GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
	endif()
	list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${installed}")
	set(CMAKE_INSTALL_MANIFEST_FILES "${CMAKE_INSTALL_MANIFEST_FILES}" PARENT_SCOPE)
endfunction()

foreach(unit IN LISTS GVM_UNITS)
	install_with_prefix("${unit}" lib/systemd/system)
endforeach()
foreach(hook IN LISTS GVM_HOOKS)
	install_with_prefix("${hook}" share/gvmsim/oci)
endforeach()
