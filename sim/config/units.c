// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/units.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Holds 64 bits of digits times any unit, so only the result has to be checked for overflow. */
typedef unsigned __int128 units_wide;

/* A number as it was read: digits * 10^exponent. */
struct decimal {
	u64 digits;
	int exponent;
	const char *rest; /* the text after it */
};

struct unit {
	const char *suffix;
	u64 scale;
};

/* Any number with an exponent beyond this overflows or is not whole. */
#define EXPONENT_MAX 99

static const struct unit size_units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", 1u << 10 },
	{ "KiB", 1u << 10 },
	{ "KB", 1000 },
	{ "M", 1u << 20 },
	{ "MiB", 1u << 20 },
	{ "MB", 1000000 },
	{ "G", 1u << 30 },
	{ "GiB", 1u << 30 },
	{ "GB", 1000000000 },
	{ "T", 1ull << 40 },
	{ "TiB", 1ull << 40 },
	{ "TB", 1000000000000 },
	{ NULL, 0 },
};

/* The largest first. The formatter takes the first unit that is not larger than the value. */
static const struct unit duration_units[] = {
	{ "h", 3600000000000 },
	{ "min", 60000000000 },
	{ "s", 1000000000 },
	{ "ms", 1000000 },
	{ "us", 1000 },
	{ "ns", 1 },
	{ NULL, 0 },
};

static const struct unit timeslice_units[] = {
	{ "", 1000 },
	{ "ms", 1000 },
	{ "us", 1 },
	{ NULL, 0 },
};

static const struct unit ppm_units[] = {
	{ "", 1000000 },
	{ NULL, 0 },
};

static const struct unit integer_units[] = {
	{ "", 1 },
	{ NULL, 0 },
};

/* Read a run of digits. @step is 1 after the decimal point, where each lowers the exponent. */
static enum units_status decimal_digits(struct decimal *number, int step)
{
	if (!isdigit((unsigned char)*number->rest))
		return UNITS_SYNTAX;
	for (; isdigit((unsigned char)*number->rest); number->rest++) {
		u64 digit = (u64)(*number->rest - '0');

		if (__builtin_mul_overflow(number->digits, 10u, &number->digits) ||
		    __builtin_add_overflow(number->digits, digit, &number->digits))
			return UNITS_OVERFLOW;
		number->exponent -= step;
	}
	return UNITS_OK;
}

/* Read "312e12", "1.5" or "2.5e-3". An "e" without digits after it begins the suffix. */
static enum units_status decimal_parse(const char *text, struct decimal *ret_number)
{
	struct decimal *number = ret_number;
	enum units_status status;
	const char *at;
	bool negative;
	int exponent = 0;

	*number = (struct decimal){ .rest = text };
	if (text[0] == '-' && isdigit((unsigned char)text[1]))
		return UNITS_NEGATIVE;
	status = decimal_digits(number, 0);
	if (!status && *number->rest == '.') {
		number->rest++;
		status = decimal_digits(number, 1);
	}
	at = number->rest;
	if (status || (*at != 'e' && *at != 'E'))
		return status;
	at++;
	negative = *at == '-';
	if (*at == '-' || *at == '+')
		at++;
	if (!isdigit((unsigned char)*at))
		return UNITS_OK;
	for (; isdigit((unsigned char)*at); at++) {
		exponent = exponent * 10 + (*at - '0');
		if (exponent > EXPONENT_MAX)
			exponent = EXPONENT_MAX;
	}
	number->exponent += negative ? -exponent : exponent;
	number->rest = at;
	return UNITS_OK;
}

/*
 * Compute @number * @scale, exactly or not at all. With @round_down, the fraction of a base
 * unit is dropped, if there is a whole one beside it.
 */
static enum units_status decimal_scale(const struct decimal *number, u64 scale, bool round_down,
				       u64 *ret_value)
{
	units_wide value = (units_wide)number->digits * scale;
	int exponent = number->exponent;

	for (; value && exponent > 0; exponent--) {
		if (value > U64_MAX)
			return UNITS_OVERFLOW;
		value *= 10;
	}
	for (; value && exponent < 0; exponent++) {
		if (value % 10 && (!round_down || value < 10))
			return UNITS_NOT_WHOLE;
		value /= 10;
	}
	if (value > U64_MAX)
		return UNITS_OVERFLOW;
	*ret_value = (u64)value;
	return UNITS_OK;
}

/* @round_down: drop the fraction of a base unit where the text has a larger unit. */
static enum units_status units_parse(const char *text, const struct unit *units,
				     bool round_down, u64 *ret_value)
{
	struct decimal number;
	enum units_status status = decimal_parse(text, &number);

	if (status)
		return status;
	for (; units->suffix; units++) {
		if (!strcmp(number.rest, units->suffix))
			return decimal_scale(&number, units->scale,
					     round_down && units->scale > 1, ret_value);
	}
	return *number.rest ? UNITS_BAD_SUFFIX : UNITS_NO_UNIT;
}

enum units_status units_parse_size(const char *text, u64 *ret_bytes)
{
	if (!strcmp(text, "max")) {
		*ret_bytes = U64_MAX;
		return UNITS_OK;
	}
	return units_parse(text, size_units, true, ret_bytes);
}

enum units_status units_parse_duration(const char *text, u64 *ret_ns)
{
	return units_parse(text, duration_units, false, ret_ns);
}

enum units_status units_parse_timeslice(const char *text, u64 *ret_us)
{
	return units_parse(text, timeslice_units, false, ret_us);
}

enum units_status units_parse_ppm(const char *text, u64 *ret_ppm)
{
	return units_parse(text, ppm_units, false, ret_ppm);
}

enum units_status units_parse_integer(const char *text, u64 *ret_value)
{
	return units_parse(text, integer_units, false, ret_value);
}

const char *units_strstatus(enum units_status status)
{
	static const char *const text[] = {
		[UNITS_OK] = "is right",
		[UNITS_SYNTAX] = "is not a number",
		[UNITS_NEGATIVE] = "is negative",
		[UNITS_NO_UNIT] = "has no unit",
		[UNITS_BAD_SUFFIX] = "has an unknown suffix",
		[UNITS_NOT_WHOLE] = "is finer than can be represented",
		[UNITS_OVERFLOW] = "does not fit in 64 bits",
	};

	return text[status];
}

/* Write @value / @scale without trailing zeros, then @suffix. @scale is a power of ten. */
static void format_scaled(u64 value, u64 scale, const char *suffix, char *text, size_t size)
{
	u64 fraction = value % scale;
	int digits = 0;

	if (!fraction) {
		snprintf(text, size, "%llu%s", value / scale, suffix);
		return;
	}
	for (u64 power = scale; power > 1; power /= 10)
		digits++;
	for (; fraction % 10 == 0; fraction /= 10)
		digits--;
	snprintf(text, size, "%llu.%0*llu%s", value / scale, digits, fraction, suffix);
}

void units_format_size(u64 bytes, char *text, size_t size)
{
	if (bytes == U64_MAX)
		snprintf(text, size, "max");
	else
		units_format_integer(bytes, text, size);
}

/* Hours and minutes are never written: seconds are easier to compare. */
void units_format_duration(u64 ns, char *text, size_t size)
{
	const struct unit *unit = &duration_units[2];

	while (ns && unit->scale > ns)
		unit++;
	format_scaled(ns, unit->scale, unit->suffix, text, size);
}

void units_format_ppm(u64 ppm, char *text, size_t size)
{
	format_scaled(ppm, 1000000, "", text, size);
}

void units_format_integer(u64 value, char *text, size_t size)
{
	snprintf(text, size, "%llu", value);
}
