// SPDX-License-Identifier: MIT OR GPL-2.0
/* The part of the port that both user-space worlds share; see gvm_common.h. */
#include "gvm/port.h"

#include <stdio.h>
#include <stdlib.h>

const struct gvm_port_alloc_hook *gvm_port_alloc_hook;
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

void *gvm_alloc(size_t bytes)
{
	gvm_port_assert_may_sleep();
	if (gvm_port_alloc_hook)
		return gvm_port_alloc_hook->alloc(bytes);
	return calloc(1, bytes);
}

void gvm_free(void *memory)
{
	if (gvm_port_alloc_hook)
		gvm_port_alloc_hook->release(memory);
	else
		free(memory);
}

u64 gvm_port_date_in(u64 ns)
{
	u64 now = gvm_ktime_ns();

	return ns > U64_MAX - now ? U64_MAX : now + ns;
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
	fprintf(stderr, "gvm: broken invariant: %s (%s:%d, at %llu ns)\n", what, file, line,
		gvm_ktime_ns());
	abort();
}
