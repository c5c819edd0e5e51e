/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Quantities as people write them, read into unsigned 64-bit integers and printed back.
 *
 * All arithmetic is in integers and exact: a quantity that is not a whole number of its base
 * unit ("0.5" bytes, "0.1ns") is refused instead of rounded, so that a result never depends on
 * how a compiler treats floating-point numbers. A number is digits, perhaps a fraction, perhaps
 * a decimal exponent: "312e12", "1.5", "2.5e-3". One thing is rounded: "44.9G" is no whole
 * number of bytes, and is the next lower one.
 */
#ifndef SIM_CONFIG_UNITS_H
#define SIM_CONFIG_UNITS_H

#include <stddef.h>

#include "engine/types.h"

/* What a number of bytes, or of time, can end in, for people. */
#define UNITS_SIZES	 "K, M, G, T, KiB, MiB, GiB, TiB, KB, MB, GB, TB"
#define UNITS_DURATIONS	 "ns, us, ms, s, min, h"
#define UNITS_TIMESLICES "us, ms"

#define UNITS_TEXT_MAX	 32 /* the longest text of units_format_*(), with its zero byte */

enum units_status {
	UNITS_OK,
	UNITS_SYNTAX,	  /* not a number at all */
	UNITS_NEGATIVE,	  /* nothing here can be negative */
	UNITS_NO_UNIT,	  /* a bare number where a unit is needed */
	UNITS_BAD_SUFFIX, /* a number with an unknown unit */
	UNITS_NOT_WHOLE,  /* finer than the base unit */
	UNITS_OVERFLOW,	  /* more than 64 bits */
};

/*
 * Bytes: a bare number, or one with a unit. K, M, G and T are powers of 1024,
 * as in cgroup files, and so are KiB, MiB, GiB and TiB. KB, MB, GB and TB are
 * powers of 1000. "max" is U64_MAX.
 */
enum units_status units_parse_size(const char *text, u64 *ret_bytes);

/* Nanoseconds: a number with ns, us, ms, s, min or h. */
enum units_status units_parse_duration(const char *text, u64 *ret_ns);

/* Microseconds of a compute.timeslice file: with us or ms, a bare number is milliseconds. */
enum units_status units_parse_timeslice(const char *text, u64 *ret_us);

/* Parts per million: "0.7" is 700000. */
enum units_status units_parse_ppm(const char *text, u64 *ret_ppm);

enum units_status units_parse_integer(const char *text, u64 *ret_value);

/* The problem in words that follow the wrong text: "has no unit". */
const char *units_strstatus(enum units_status status);

/*
 * Write the shortest exact text: "583.75s", "0.7", "6000000000" or "max". The parser of the
 * same name reads the same number back. UNITS_TEXT_MAX is always room enough.
 */
void units_format_size(u64 bytes, char *text, size_t size);
void units_format_duration(u64 ns, char *text, size_t size);
void units_format_ppm(u64 ppm, char *text, size_t size);
void units_format_integer(u64 value, char *text, size_t size);

#endif
