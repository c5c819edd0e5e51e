// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Addresses that stay with a thread, while the driver frees them and takes them again (pinned.c).
 *
 * Without this they would be nobody's between the two calls, and the kernel could give them to
 * another thread's mmap(): a measured fact, not a fear. Beside four threads that took addresses,
 * an H200's driver had others for the allocation, and the program was lost.
 *
 * libcuda.so calls mmap() and munmap() by their dynamic symbols, as any library does. So those
 * of a preloaded library are called in their place. In the thread that holds a range they do:
 *
 *     munmap() in it               maps PROT_NONE over it: it is free for nobody
 *     mmap() with it as a hint     takes it, by MAP_FIXED, once all of it was unmapped so
 *
 * Driver 580 makes these calls (traced on an H200): cuMemFree() of managed memory maps PROT_NONE
 * over the range, and then unmaps it. cuMemAddressReserve() maps PROT_NONE with the wish as a
 * hint. Both are made by the thread that calls the driver, and for the whole range at once. All
 * other ways to get addresses (mmap() of other threads, stacks, malloc(), the driver's calls in
 * other threads) ask the kernel, which has these in use.
 *
 * It relies on nothing that is not looked at: held_end() says what the driver did. One that makes
 * system calls itself, or is loaded with RTLD_DEEPBIND, or leaves the work to another thread, is
 * found out by a trial with a range that is not in use. So is a library that rewrites the driver's
 * calls of mmap() or the code of ours.
 *
 * Outside of a hold each call goes to the next definition: the C library's, or that of another
 * library which looks at such calls, as a sanitizer's. Before our constructor it is a system call.
 * A thread-local variable costs no call and no memory here (initial-exec), so malloc() of any
 * kind may stand above us.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

typedef void *(*map_call)(void *start, size_t bytes, int access, int flags, int fd,
			  off_t offset);
typedef int (*unmap_call)(void *start, size_t bytes);

/* What the calling thread holds; bytes 0: nothing. */
static __thread struct {
	u64 start, bytes;
	u64 kept;  /* bytes that were unmapped, and are ours */
	u64 taken; /* and that were mapped again */
} held __attribute__((tls_model("initial-exec")));

static _Atomic(map_call) next_map;
static _Atomic(unmap_call) next_unmap;

_Static_assert(sizeof(off_t) == 8, "mmap() is mmap64()");

/* A library with a dlsym() of its own may answer with our calls. */
void held_init(void)
{
	map_call map = (map_call)dlsym(RTLD_NEXT, "mmap");
	unmap_call unmap = (unmap_call)dlsym(RTLD_NEXT, "munmap");

	if (map != mmap && map != mmap64)
		next_map = map;
	if (unmap != munmap)
		next_unmap = unmap;
}

void held_begin(u64 start, u64 bytes)
{
	held.start = start;
	held.bytes = bytes;
	held.kept = 0;
	held.taken = 0;
}

static void *map(void *start, size_t bytes, int access, int flags, int fd, off_t offset)
{
	map_call next = next_map;

	if (next)
		return next(start, bytes, access, flags, fd, offset);
	return (void *)syscall(SYS_mmap, start, bytes, access, flags, fd, offset);
}

static int unmap(void *start, size_t bytes)
{
	unmap_call next = next_unmap;

	return next ? next(start, bytes) : (int)syscall(SYS_munmap, start, bytes);
}

static bool all_is_kept(void)
{
	return held.kept - held.taken == held.bytes;
}

enum held_end held_end(void)
{
	enum held_end end = HELD_UNSEEN;

	if (all_is_kept()) {
		unmap((void *)(uintptr_t)held.start, held.bytes);
		end = HELD_KEPT;
	} else if (held.taken && held.kept == held.taken) {
		end = HELD_TAKEN;
	}
	held.bytes = 0;
	return end;
}

/* The driver reserves all of it at once. */
static void *map_held(void *start, size_t bytes, int access, int flags, int fd, off_t offset)
{
	bool ours = held.bytes && (u64)(uintptr_t)start == held.start && bytes == held.bytes &&
		    !(flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) && all_is_kept();
	void *at = map(start, bytes, access, ours ? flags | MAP_FIXED : flags, fd, offset);

	if (ours && at != MAP_FAILED)
		held.taken += bytes;
	return at;
}

SHIM_EXPORT void *mmap(void *start, size_t bytes, int access, int flags, int fd, off_t offset)
{
	return map_held(start, bytes, access, flags, fd, offset);
}

SHIM_EXPORT void *mmap64(void *start, size_t bytes, int access, int flags, int fd, off_t offset)
{
	return map_held(start, bytes, access, flags, fd, offset);
}

SHIM_EXPORT int munmap(void *start, size_t bytes)
{
	u64 first = (u64)(uintptr_t)start;

	if (!held.bytes || first < held.start || first - held.start > held.bytes ||
	    bytes > held.bytes - (first - held.start))
		return unmap(start, bytes);
	if (map(start, bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -1;
	held.kept += bytes;
	return 0;
}
