/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shared by the fuzz targets. A target is one function that takes any bytes and aborts if a
 * promise is broken. libFuzzer calls it millions of times, replay.c with the files in corpus/.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/error.h"

/* The target: always 0. The name is libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Set by the target: was its last input accepted? A scenario and a trace are if they load, a
 * history of control files if one of its writes succeeds.
 */
extern bool fuzz_accepted;

#define FUZZ_ASSERT(condition)                                                             \
	do {                                                                               \
		if (!(condition)) {                                                        \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, \
				#condition);                                               \
			abort();                                                           \
		}                                                                          \
	} while (0)

/* A file in memory. Open until fuzz_file_close(). */
struct fuzz_file {
	int fd;
	char path[64]; /* opens it */
};

/* Make a file with these bytes. With none it can be written through its path. */
void fuzz_file_open(struct fuzz_file *file, const void *data, size_t size);
void fuzz_file_close(struct fuzz_file *file);

/* Assert that the failure is a user's mistake, told in one line that a terminal can show. */
void fuzz_check_mistake(int status, const struct sim_error *err);

#endif
