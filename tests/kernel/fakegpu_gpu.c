// SPDX-License-Identifier: MIT OR GPL-2.0
/* The GPU under test is gvm_fakegpu.ko. hooked_gpu.c is the other one. */
#include "fakegpu_guest.h"

#include <unistd.h>

static long gvm_objects, gpu_objects;
static long gvm_loaded_objects; /* gvm_objects once the GPU is loaded */

const char *const gpu_module = "gvm_fakegpu";

bool gpu_can(enum gpu_ability ability)
{
	(void)ability;
	return true;
}

size_t gpu_words_out(uint64_t *ret_words, size_t max)
{
	(void)ret_words;
	(void)max;
	return 0;
}

/* The GPU leaves a chunk free behind each mapping. */
uint64_t gpu_next_va(int context)
{
	return tenant_map(context, CHUNK) + 2 * CHUNK;
}

uint64_t gpu_context_bytes(void)
{
	return CHUNK;
}

uint32_t gpu_times(uint32_t times)
{
	return times;
}

void gpu_load(const char *parameters)
{
	int error;

	gvm_objects = guest_count_objects("gvm");
	error = guest_load("gvm_fakegpu", parameters);
	guest_check(error == 0, "load gvm_fakegpu %s: %s", parameters, guest_error_name(error));
	gpu_objects = guest_count_objects("gvm_fakegpu");
	gvm_loaded_objects = guest_count_objects("gvm");
}

/* All chunks are free. The GPU's end leaves no object of its own and none in the core. */
void gpu_unload(void)
{
	struct gvm_fakegpu_info info = gpu_info();

	guest_check(info.free_chunks == info.chunks, "%u of %u chunks are free at the end",
		    info.free_chunks, info.chunks);
	guest_log("# faults %llu, lost %llu, replays %llu, MB in %llu, out %llu, cleared %llu, "
		  "switches %llu",
		  info.faults, info.lost_faults, info.replays, info.bytes_in >> 20,
		  info.bytes_out >> 20, info.bytes_cleared >> 20, info.switches);
	guest_expect_no_leak("gvm_fakegpu", gpu_objects);
	guest_expect_no_leak("gvm", gvm_loaded_objects);
	guest_expect_unload("gvm_fakegpu", 0);
	guest_expect_no_leak("gvm", gvm_objects);
}

bool gpu_check(void)
{
	int error;
	int fd;

	error = fakegpu_open_device(0, &fd);
	if (error)
		return false;
	error = fakegpu_check(fd);
	close(fd);
	return error == 0;
}

struct gvm_fakegpu_info gpu_info(void)
{
	struct gvm_fakegpu_info info = { 0 };
	int fd;

	if (fakegpu_open_device(0, &fd) == 0) {
		fakegpu_info(fd, &info);
		close(fd);
	}
	return info;
}
