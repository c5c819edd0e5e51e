#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Write a dictionary for a fuzzer: the program's own names of keys, systems, applications and control
# files, which come from its tables, and the values of NAME.dict.
# Usage: words.sh GVMSIM NAME > DICTIONARY
set -eu
gvmsim=$1
name=$2

words() {
	"$gvmsim" reference --words "$1"
}

cat "$(dirname "$0")/$name.dict"
case $name in
scenario)
	{
		words keys | tr . '\n' | grep -vx '[*#]'
		words control-files
	} | sort -u | sed 's/.*/"\\"&\\":"/'
	{
		words systems
		words applications
		words scenarios
	} | sed 's/.*/"\\"&\\""/'
	;;
control)
	words control-files | sed 's/.*/"&="/'
	;;
esac
