/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A growing array of a trace. It begins in memory. A large one moves into a file
 * without a name, which is mapped: its elements keep their addresses, and pages that
 * were read can leave memory. So a trace of ten million requests needs no more memory
 * than one of a quarter of a million.
 */
#ifndef SIM_TRACE_TRACE_STORE_H
#define SIM_TRACE_TRACE_STORE_H

#include <stdbool.h>
#include <stddef.h>

/* Arrays of more bytes go into a file, and so many bytes of one are in memory at once. */
#define TRACE_STORE_MEMORY ((size_t)8 << 20)

/* Start with zeros, and a folder if there may be a file. */
struct trace_store {
	void *data;
	size_t room;	    /* bytes */
	const char *folder; /* of the file; borrowed. NULL: the array stays in memory */
	bool mapped;	    /* the array is in the file */
	int file;
};

/*
 * Make room for @room bytes, more than there is; the content may move. If the file cannot be
 * made or grow, the array stays in memory, or comes back. False: out of
 * memory, nothing changed.
 */
bool trace_store_grow(struct trace_store *store, size_t room);

/* Let the pages of the file leave memory. The content stays. */
void trace_store_forget(const struct trace_store *store);

void trace_store_free(struct trace_store *store);

#endif
