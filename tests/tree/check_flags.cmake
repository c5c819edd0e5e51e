# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Proves that the warning flags reach the compiler: reads compile_commands.json, the compiler's own
# account, and fails if a command of ours lacks one. Usage: cmake -DCOMMANDS=FILE -P check_flags.cmake
cmake_minimum_required(VERSION 3.25)

file(READ "${COMMANDS}" commands)
string(JSON count LENGTH "${commands}")
if(count LESS 40)
	message(FATAL_ERROR "only ${count} compile commands: is this the whole project?")
endif()
math(EXPR last "${count} - 1")
foreach(index RANGE ${last})
	string(JSON file GET "${commands}" ${index} file)
	string(JSON command GET "${commands}" ${index} command)
	foreach(flag -Wall -Wextra -Wshadow -Wconversion -Werror -std=gnu11)
		if(NOT command MATCHES " ${flag}( |$)")
			message(FATAL_ERROR "${file} is compiled without ${flag}: ${command}")
		endif()
	endforeach()
	if(command MATCHES " -w( |$)| -Wno-")
		message(FATAL_ERROR "${file} is compiled with warnings off: ${command}")
	endif()
endforeach()
message(STATUS "${count} compile commands carry all flags")
