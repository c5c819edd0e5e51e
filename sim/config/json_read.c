// SPDX-License-Identifier: MIT OR GPL-2.0
#include "config/json_read.h"

json_t *cfg_json_read(FILE *stream, json_error_t *ret_bad)
{
	static const unsigned char mark[] = { 0xef, 0xbb, 0xbf };
	size_t known = 0;
	int byte = getc(stream);

	/* No JSON begins with these bytes. A pipe takes one byte back, so only one is. */
	while (known < sizeof(mark) && byte == mark[known]) {
		known++;
		byte = getc(stream);
	}
	if (byte != EOF)
		ungetc(byte, stream);
	return json_loadf(stream, JSON_REJECT_DUPLICATES, ret_bad);
}
