// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Does Boost.Context have the two functions that sim/engine/fibre.c declares, and do they work?
 */
#include <stddef.h>

struct transfer {
	void *context;
	void *data;
};
void *make_fcontext(void *stack_top, size_t bytes, void (*function)(struct transfer from));
struct transfer jump_fcontext(void *to, void *data);

static _Alignas(64) char stack[65536];

static void add_one(struct transfer from)
{
	int *number = from.data;

	for (;;) {
		++*number;
		from = jump_fcontext(from.context, number);
	}
}

int main(void)
{
	int number = 0;
	struct transfer from = {
		.context = make_fcontext(stack + sizeof(stack), sizeof(stack), add_one),
	};

	for (int i = 0; i < 3; i++) {
		from = jump_fcontext(from.context, &number);
		if (from.data != &number)
			return 1;
	}
	return number == 3 ? 0 : 1;
}
