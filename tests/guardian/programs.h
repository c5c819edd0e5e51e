/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Random programs for the interpreter, and the memory that they run in. */
#ifndef TESTS_GUARDIAN_PROGRAMS_H
#define TESTS_GUARDIAN_PROGRAMS_H

#include "interpreter.h"
#include "ptx_fixture.h"

#define TEXT_MAX 16384u

struct program {
	char text[TEXT_MAX];
	size_t length;
	bool wild;
	u32 labels;
};

/*
 * Begin the numbers that draw() gives with the seed in @variable of the
 * environment, or with @seed. Returns it.
 */
u64 draw_from(const char *variable, u64 seed);
/* A number below @below. */
u64 draw(u64 below);

/* A program that stays inside of its memory, or a @wild one. */
void make_program(struct program *program, bool wild);

/* A partition with bounds for @mode and known contents of the memory in it. */
void make_world(struct world *world, enum patch_mode mode);

/*
 * Did it touch device memory outside of its partition, and of the margin
 * that @mode has around it?
 */
bool has_left(const struct world *world, enum patch_mode mode);

#endif
