// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The part of the port that both user-space worlds share; see gvm_common.h. It calls no world,
 * so that a world and its lock checker can call it.
 */
#include "engine/port/gvm_common.h"

#include <stdio.h>
#include <stdlib.h>

u64 gvm_port_yield_seed;

int scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	int length;

	if (size == 0)
		return 0;
	va_start(args, fmt);
	length = vsnprintf(buf, size, fmt, args);
	va_end(args);
	if (length < 0)
		return 0;
	return (size_t)length < size ? length : (int)(size - 1);
}

u64 gvm_port_draw(u64 *state)
{
	u64 z = *state += 0x9E3779B97F4A7C15ull;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

/* Each line is one write, so lines of several threads stay whole. */
void gvm_port_log(const char *level, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	fprintf(stderr, "gvm: %s%s\n", level, line);
}

void gvm_port_assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "gvm: broken invariant: %s (%s:%d)\n", what, file, line);
	abort();
}
