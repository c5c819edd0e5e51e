/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Numbers and dates of traces in text. Each function returns NULL, or a problem, worded to
 * follow the quoted text; then what it was to set is untouched.
 */
#ifndef SIM_TRACE_TRACE_PARSE_H
#define SIM_TRACE_TRACE_PARSE_H

#include "engine/types.h"

/*
 * Parse decimal seconds, "12" or "12.034", into nanoseconds without rounding. No sign, space
 * or exponent; digits below the nanosecond must be zeros.
 */
const char *trace_parse_seconds(const char *text, u64 *ret_ns);

/* Parse whole nanoseconds. */
const char *trace_parse_nanoseconds(const char *text, u64 *ret_ns);

/*
 * Parse "2023-11-16 18:15:46.6805900", also with "+00:00" at its end, into nanoseconds since
 * 1970.
 */
const char *trace_parse_date(const char *text, u64 *ret_ns);

/* Parse a whole number below 2^32; zeros after its point are fine. */
const char *trace_parse_tokens(const char *text, u32 *ret_tokens);

#endif
