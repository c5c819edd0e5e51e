// SPDX-License-Identifier: MIT OR GPL-2.0
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool fuzz_accepted;

void fuzz_file_open(struct fuzz_file *file, const void *data, size_t size)
{
	file->fd = memfd_create("fuzz", 0);
	FUZZ_ASSERT(file->fd >= 0);
	FUZZ_ASSERT(write(file->fd, data, size) == (ssize_t)size);
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

void fuzz_file_close(struct fuzz_file *file)
{
	close(file->fd);
}

void fuzz_check_mistake(int status, const struct sim_error *err)
{
	size_t length = strlen(err->text);

	FUZZ_ASSERT(status == -SIM_EXIT_USER);
	FUZZ_ASSERT(length > 0 && length < sizeof(err->text));
	for (size_t i = 0; i < length; i++)
		FUZZ_ASSERT((unsigned char)err->text[i] >= ' ' && err->text[i] != 0x7f);
}
