// SPDX-License-Identifier: MIT OR GPL-2.0
/* gvmcollect reads and writes plain files alone: its hosts need no zstd. */
#include "results/packed.h"

#include <errno.h>
#include <stddef.h>

FILE *packed_write(FILE *below)
{
	(void)below;
	errno = ENOTSUP;
	return NULL;
}

FILE *packed_read(FILE *below)
{
	(void)below;
	errno = ENOTSUP;
	return NULL;
}
