// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * For programs that are linked with some files of the shim only: what these call in the others.
 * There is one device, nothing is shared, and no partition is fenced.
 */
#include "fence.h"

void shim_log(const char *fmt, ...)
{
	(void)fmt;
}

bool shim_size_of(const struct shim_sizes *sizes, int device, u64 total, u64 *ret_bytes)
{
	(void)device;
	(void)total;
	*ret_bytes = sizes->all.given ? sizes->all.bytes : *ret_bytes;
	return sizes->all.given;
}

void shim_wake_if_idle(void)
{
}

int streams_next_device(int device)
{
	return device < 0 ? 0 : -1;
}

bool streams_any_capture(void)
{
	return false;
}

bool streams_disturb(void)
{
	return true;
}

void streams_disturbed(void)
{
}

unsigned int streams_relax(const struct shim_real *real)
{
	(void)real;
	return CU_CAPTURE_RELAXED;
}

void streams_strict(const struct shim_real *real, unsigned int mode)
{
	(void)real;
	(void)mode;
}

void streams_note_device(int device)
{
	(void)device;
}

bool shared_wanted(void)
{
	return false;
}

bool shared_charge(int device, u64 bytes, u64 limit)
{
	(void)device;
	return bytes <= limit;
}

void shared_uncharge(int device, u64 bytes)
{
	(void)device;
	(void)bytes;
}

u64 shared_used(int device)
{
	(void)device;
	return 0;
}

cu_result partition_alloc(const struct shim_real *real, int device, size_t bytes,
			  cu_ptr *ret_ptr)
{
	(void)real;
	(void)device;
	(void)bytes;
	(void)ret_ptr;
	return CU_OUT_OF_MEMORY;
}

bool partition_holds(cu_ptr ptr)
{
	(void)ptr;
	return false;
}

bool partition_free(cu_ptr ptr)
{
	(void)ptr;
	return false;
}

bool partition_room(const struct shim_real *real, int device, u64 *ret_whole, u64 *ret_used)
{
	(void)real;
	(void)device;
	(void)ret_whole;
	(void)ret_used;
	return false;
}
