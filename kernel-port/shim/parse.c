// SPDX-License-Identifier: MIT OR GPL-2.0
/* Numbers, sizes and times as people write them: in the environment, and in control files. */
#include <ctype.h>
#include <string.h>

#include "shim.h"

#define TIMESLICE_MAX_US 16000000ull

bool shim_parse_number(const char *text, u64 max, u64 *ret_number)
{
	u64 number = 0;

	if (!*text)
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		u64 digit = (u64)(*text - '0');

		if (digit > max || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret_number = number;
	return !*text;
}

/* As in scenarios: K, M, G, T are powers of 1024, and 8e9 has a decimal exponent. */
bool shim_parse_bytes(const char *text, u64 *ret_bytes)
{
	static const char suffixes[] = "KMGT";
	char digits[24];
	size_t length = strspn(text, "0123456789");
	u64 factor = 1;
	u64 power;

	if (!strcmp(text, "max")) {
		*ret_bytes = SHIM_NO_LIMIT;
		return true;
	}
	if (!length || length >= sizeof(digits))
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	text += length;
	if (*text == 'e' || *text == 'E') {
		if (!shim_parse_number(text + 1, 18, &power))
			return false;
		while (power--)
			factor *= 10;
	} else if (*text) {
		const char *suffix = strchr(suffixes, *text);

		if (!suffix || text[1])
			return false;
		factor = 1ull << (10 * (suffix - suffixes + 1));
	}
	if (!shim_parse_number(digits, (SHIM_NO_LIMIT - 1) / factor, ret_bytes))
		return false;
	*ret_bytes *= factor;
	return true;
}

bool shim_parse_timeslice(const char *text, u64 *ret_us)
{
	size_t length = strspn(text, "0123456789");
	char digits[16];
	u64 factor;

	if (!length || length >= sizeof(digits))
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (!text[length] || !strcmp(text + length, "ms"))
		factor = 1000;
	else if (!strcmp(text + length, "us"))
		factor = 1;
	else
		return false;
	if (!shim_parse_number(digits, TIMESLICE_MAX_US / factor, ret_us) || !*ret_us)
		return false;
	*ret_us *= factor;
	return true;
}

void shim_wrong(const char *name, const char *value, const char *allowed)
{
	shim_warn("%s=%." SHIM_SHOWN "s is ignored; allowed: %s", name, value, allowed);
}
