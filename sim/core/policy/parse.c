// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Parsers of the numbers in control files.
 *
 * Layer: policy. Never waits, never calls back, takes no lock.
 *
 *
 * A number or an error
 *
 * A text is a number or an error. Nothing is skipped, guessed or cut short: "6 G", "+6",
 * "0x10", "1.5G" and "6GB" are errors. "k" is an error as well, since it means 1000 to some
 * people and 1024 to others. A number that does not fit is -ERANGE, never a smaller number.
 *
 *
 * How it differs from the papers (GVM Table 2) and the published driver
 *
 *   1. The published driver takes bytes in decimal and nothing else. Here K, M, G and "max"
 *      work as in cgroup v2, and 6e9 as in scripts of experiments.
 *   2. The papers' compute.timeslice is in ms. A bare number is in ms here, too; a unit may
 *      follow.
 */
#include "gvm/control.h"

/*
 * Take decimal digits, at least one, off *text. A number that does not fit is U64_MAX and
 * -ERANGE.
 */
static int parse_digits(const char **text, u64 *ret_value)
{
	u64 value = 0;
	int error = 0;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		u64 digit = (u64)(**text - '0');

		if (error || value > (U64_MAX - digit) / 10)
			error = -ERANGE;
		else
			value = value * 10 + digit;
	}
	*ret_value = error ? U64_MAX : value;
	return error;
}

static int parse_scale(u64 *value, u64 factor)
{
	if (*value > div64_u64(U64_MAX, factor))
		return -ERANGE;
	*value *= factor;
	return 0;
}

/* Take "e" and an exponent off *text. Multiplies *value by ten to the power of the exponent. */
static int parse_exponent(const char **text, u64 *value)
{
	u64 exponent;

	(*text)++;
	if (parse_digits(text, &exponent) == -EINVAL)
		return -EINVAL;
	for (; exponent && *value; exponent--) {
		if (parse_scale(value, 10))
			return -ERANGE;
	}
	return 0;
}

/* Take a suffix of a number of bytes, if there is one, off *text and apply it to *bytes. */
static int parse_bytes_suffix(const char **text, u64 *bytes)
{
	switch (**text) {
	case 'K':
		(*text)++;
		return parse_scale(bytes, 1ull << 10);
	case 'M':
		(*text)++;
		return parse_scale(bytes, 1ull << 20);
	case 'G':
		(*text)++;
		return parse_scale(bytes, 1ull << 30);
	case 'e':
	case 'E':
		return parse_exponent(text, bytes);
	default:
		return 0;
	}
}

/* The result of a parser from the errors of its two steps. -EINVAL goes before -ERANGE. */
static int parse_end(const char *rest, int number_error, int suffix_error)
{
	if (*rest || suffix_error == -EINVAL)
		return -EINVAL;
	return number_error ? number_error : suffix_error;
}

/* CONTEXT: atomic. */
int gvm_parse_u64(const char *text, u64 *ret_value)
{
	u64 value;
	int error;

	error = parse_digits(&text, &value);
	error = parse_end(text, error, 0);
	if (!error)
		*ret_value = value;
	return error;
}

/* CONTEXT: atomic. */
int gvm_parse_bytes(const char *text, u64 *ret_bytes)
{
	u64 bytes;
	int error, suffix_error;

	if (strcmp(text, "max") == 0) {
		*ret_bytes = GVM_NO_LIMIT;
		return 0;
	}
	error = parse_digits(&text, &bytes);
	if (error == -EINVAL)
		return error;
	suffix_error = parse_bytes_suffix(&text, &bytes);
	error = parse_end(text, error, suffix_error);
	if (!error)
		*ret_bytes = bytes;
	return error;
}

/* Take a unit off *text. Returns the unit in us; without one it is ms. */
static u64 parse_time_unit(const char **text)
{
	bool is_us = strcmp(*text, "us") == 0;

	if (is_us || strcmp(*text, "ms") == 0)
		*text += 2;
	return is_us ? 1 : 1000;
}

/* CONTEXT: atomic. */
int gvm_parse_timeslice_us(const char *text, u64 *ret_us)
{
	u64 value;
	int error, unit_error;

	error = parse_digits(&text, &value);
	if (error == -EINVAL)
		return error;
	unit_error = parse_scale(&value, parse_time_unit(&text));
	error = parse_end(text, error, unit_error);
	if (!error)
		*ret_us = value;
	return error;
}
