// SPDX-License-Identifier: MIT OR GPL-2.0
/* See trace_parse.h. */
#include "trace/trace_parse.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TRACE_NS_PER_SEC 1000000000ull

static const char *trace_parse_fraction(const char *text, u64 *ret_ns)
{
	u64 unit = TRACE_NS_PER_SEC / 10;
	u64 ns = 0;

	if (!*text)
		return "is not a number";
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return "is not a number";
		if (!unit && *text != '0')
			return "is finer than a nanosecond";
		ns += unit * (u64)(*text - '0');
		unit /= 10;
	}
	*ret_ns = ns;
	return NULL;
}

/* Parse the digits up to the end or a point; *@ret_rest is where they stop. */
static const char *trace_parse_whole(const char *text, u64 *ret_value, const char **ret_rest)
{
	bool overflow = false;
	u64 value = 0;
	const char *p;

	for (p = text; *p >= '0' && *p <= '9'; p++) {
		overflow |= __builtin_mul_overflow(value, 10, &value);
		overflow |= __builtin_add_overflow(value, (u64)(*p - '0'), &value);
	}
	if (p == text && *p == '-' && p[1] >= '0' && p[1] <= '9')
		return "is negative";
	if (p == text || (*p && *p != '.'))
		return "is not a number";
	if (overflow)
		return "is too large";
	*ret_value = value;
	*ret_rest = p;
	return NULL;
}

const char *trace_parse_seconds(const char *text, u64 *ret_ns)
{
	u64 whole, fraction = 0;
	const char *problem, *rest;

	problem = trace_parse_whole(text, &whole, &rest);
	if (!problem && *rest == '.')
		problem = trace_parse_fraction(rest + 1, &fraction);
	if (problem)
		return problem;
	if (__builtin_mul_overflow(whole, TRACE_NS_PER_SEC, &whole) ||
	    __builtin_add_overflow(whole, fraction, &whole))
		return "is too large";
	*ret_ns = whole;
	return NULL;
}

const char *trace_parse_nanoseconds(const char *text, u64 *ret_ns)
{
	const char *rest, *problem = trace_parse_whole(text, ret_ns, &rest);

	return problem || !*rest ? problem : "is not a whole number";
}

static u64 days_of_month(u64 year, u64 month)
{
	static const u8 days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month == 2 && leap ? 29 : days[month - 1];
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, of 1970 or later. */
static u64 days_since_1970(u64 year, u64 month, u64 day)
{
	/* Years begin in March, so that the leap day is their last one. */
	u64 y = month > 2 ? year : year - 1;
	u64 m = (month + 9) % 12;

	return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

const char *trace_parse_date(const char *text, u64 *ret_ns)
{
	static const char form[] = "dddd-dd-dd dd:dd:dd";
	static const char utc[] = "+00:00";
	u64 part[6] = { 0 }, fraction_ns = 0, days, ns;
	char fraction[32] = "0";
	size_t part_index = 0, length, tail;
	const char *problem;

	for (size_t i = 0; form[i]; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == 'd' ? !digit : text[i] != form[i])
			return "is not a date";
		if (form[i] == 'd')
			part[part_index] = part[part_index] * 10 + (u64)(text[i] - '0');
		else
			part_index++;
	}
	text += strlen(form);
	length = strlen(text);
	tail = strlen(utc);
	if (length >= tail && !strcmp(text + length - tail, utc))
		length -= tail;
	if (length && (*text != '.' || length >= sizeof(fraction)))
		return "is not a date";
	if (length)
		snprintf(fraction, sizeof(fraction), "%.*s", (int)length - 1, text + 1);
	problem = trace_parse_fraction(fraction, &fraction_ns);
	if (problem)
		return problem;
	if (part[0] < 1970 || part[0] > 2500 || !part[1] || part[1] > 12 || !part[2] ||
	    part[2] > days_of_month(part[0], part[1]) || part[3] > 23 || part[4] > 59 ||
	    part[5] > 60)
		return "is not a date";
	days = days_since_1970(part[0], part[1], part[2]);
	ns = ((days * 24 + part[3]) * 60 + part[4]) * 60 + part[5];
	*ret_ns = ns * TRACE_NS_PER_SEC + fraction_ns;
	return NULL;
}

const char *trace_parse_tokens(const char *text, u32 *ret_tokens)
{
	u64 whole, fraction = 0;
	const char *problem, *rest;

	problem = trace_parse_whole(text, &whole, &rest);
	if (!problem && *rest == '.')
		problem = trace_parse_fraction(rest + 1, &fraction);
	if (!problem && fraction)
		problem = "is not a whole number";
	if (!problem && whole > U32_MAX)
		problem = "is too large";
	if (!problem)
		*ret_tokens = (u32)whole;
	return problem;
}
