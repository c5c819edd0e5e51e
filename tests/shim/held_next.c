// SPDX-License-Identifier: MIT OR GPL-2.0
/* A library that looks at mappings, as a sanitizer does: it counts the calls that come to it. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern unsigned long held_next_maps, held_next_unmaps;

unsigned long held_next_maps, held_next_unmaps;

void *mmap(void *start, size_t bytes, int access, int flags, int fd, off_t offset)
{
	held_next_maps++;
	return (void *)syscall(SYS_mmap, start, bytes, access, flags, fd, offset);
}

int munmap(void *start, size_t bytes)
{
	held_next_unmaps++;
	return (int)syscall(SYS_munmap, start, bytes);
}
