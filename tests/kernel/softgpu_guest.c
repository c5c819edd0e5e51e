// SPDX-License-Identifier: MIT OR GPL-2.0
/* See softgpu_guest.h. */
#define _GNU_SOURCE
#include "softgpu_guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SOFTGPU_EVENTS_MAX 65536
#define SOFTGPU_TRIES	   10000

const NvProcessorUuid softgpu_uuid = { .uuid = SOFTGPU_UUID };

uint64_t softgpu_init_flags = UVM_INIT_FLAGS_DISABLE_HMM;
unsigned int softgpu_instance;
static uint8_t softgpu_uuid_instance; /* of the instance that was registered last */

static int softgpu_devices[SOFTGPU_MOST_GPUS] = { -1, -1, -1 };
static int softgpu_device = -1; /* of the GPU in use */
static unsigned int softgpu_number;

NvProcessorUuid softgpu_uuid_of(unsigned int number)
{
	NvProcessorUuid uuid = softgpu_uuid;

	uuid.uuid[SOFTGPU_UUID_NUMBER] += (uint8_t)number;
	uuid.uuid[SOFTGPU_UUID_INSTANCE] = softgpu_uuid_instance;
	return uuid;
}

bool softgpu_use(unsigned int number)
{
	if (softgpu_devices[number] < 0)
		return false;
	softgpu_number = number;
	softgpu_device = softgpu_devices[number];
	return true;
}

unsigned int softgpu_used(void)
{
	return softgpu_number;
}

int softgpu_status(int fd, unsigned long command, void *params, const NV_STATUS *status)
{
	/* While the machine sleeps, or is about to. */
	for (unsigned int i = 0; ioctl(fd, command, params); i++) {
		if (errno != EAGAIN || i == SOFTGPU_TRIES)
			return -errno;
		usleep(1000);
	}
	return (int)*status;
}

/* The major number of a character device, or -1. */
static int softgpu_major(const char *name)
{
	char line[128], found[64];
	int result = -1;
	int number;
	FILE *file = fopen("/proc/devices", "re");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%d %63s", &number, found) == 2 && strcmp(found, name) == 0)
			result = number;
	if (file)
		fclose(file);
	return result;
}

int softgpu_load_uvm(const char *parameters)
{
	unsigned long batches = guest_number("GVM_TEST_FAULT_BATCHES", 0);
	char some[64] = "";
	char all[256];

	if (batches)
		snprintf(some, sizeof(some), " uvm_perf_fault_max_batches_per_service=%lu",
			 batches);
	snprintf(all, sizeof(all), "uvm_enable_builtin_tests=1 %s%s%s", parameters,
		 guest_number("GVM_TEST_NO_HMM", 0) ? " uvm_disable_hmm=1" : "", some);
	return guest_load("nvidia-uvm", all);
}

bool softgpu_open(void)
{
	int major = softgpu_major("nvidia-uvm");

	unlink("/dev/nvidia-uvm");
	softgpu_devices[0] = open("/dev/softgpu", O_RDWR | O_CLOEXEC);
	softgpu_devices[1] = open("/dev/softgpu1", O_RDWR | O_CLOEXEC);
	softgpu_devices[2] = open("/dev/softgpu2", O_RDWR | O_CLOEXEC);
	return softgpu_use(0) && major >= 0 &&
	       mknod("/dev/nvidia-uvm", S_IFCHR | 0600, makedev((unsigned int)major, 0)) == 0;
}

void softgpu_close(void)
{
	for (unsigned int i = 0; i < SOFTGPU_MOST_GPUS; i++)
		if (softgpu_devices[i] >= 0)
			close(softgpu_devices[i]);
}

int softgpu_register(struct softgpu_tenant *tenant, unsigned int client)
{
	UVM_REGISTER_GPU_PARAMS gpu = { .rmCtrlFd = -1, .hSmcPartRef = softgpu_instance };
	UVM_REGISTER_GPU_VASPACE_PARAMS space = { .rmCtrlFd = -1,
						  .hClient = client,
						  .hVaSpace = client };
	int status;

	softgpu_uuid_instance = 0;
	gpu.gpu_uuid = softgpu_uuid_of(softgpu_number);
	status = softgpu_uvm(tenant->fd, UVM_REGISTER_GPU, &gpu);
	softgpu_uuid_instance = gpu.gpu_uuid.uuid[SOFTGPU_UUID_INSTANCE];
	space.gpuUuid = softgpu_uuid_of(softgpu_number);
	tenant->client = client;
	if (!status)
		status = softgpu_uvm(tenant->fd, UVM_REGISTER_GPU_VASPACE, &space);
	return status ? status : softgpu_register_channel(tenant);
}

int softgpu_register_channel(struct softgpu_tenant *tenant)
{
	UVM_REGISTER_CHANNEL_PARAMS channel = {
		.gpuUuid = softgpu_uuid_of(softgpu_number),
		.rmCtrlFd = -1,
		.hClient = tenant->client,
		.hChannel = tenant->channels + 1 + softgpu_number,
	};

	return softgpu_uvm(tenant->fd, UVM_REGISTER_CHANNEL, &channel);
}

int softgpu_attach_behind(struct softgpu_tenant *tenant, unsigned int client,
			  unsigned int channels)
{
	/* On a kernel with HMM our hooks refuse a tenant that wants it. */
	UVM_INITIALIZE_PARAMS init = { .flags = softgpu_init_flags };
	UVM_MM_INITIALIZE_PARAMS mm = { 0 };
	int status;

	tenant->channels = channels;
	tenant->fd = open("/dev/nvidia-uvm", O_RDWR | O_CLOEXEC);
	tenant->mm = open("/dev/nvidia-uvm", O_RDWR | O_CLOEXEC);
	mm.uvmFd = tenant->fd;
	status = softgpu_uvm(tenant->fd, UVM_INITIALIZE, &init);
	if (!status)
		status = softgpu_uvm(tenant->mm, UVM_MM_INITIALIZE, &mm);
	return status ? status : softgpu_register(tenant, client);
}

int softgpu_attach(struct softgpu_tenant *tenant, unsigned int client)
{
	return softgpu_attach_behind(tenant, client, 0);
}

void softgpu_detach(struct softgpu_tenant *tenant)
{
	close(tenant->mm);
	close(tenant->fd);
}

uint64_t *softgpu_managed_at(struct softgpu_tenant *tenant, uintptr_t address, size_t bytes)
{
	UVM_VALIDATE_VA_RANGE_PARAMS range = { .base = address, .length = bytes };
	void *p = MAP_FAILED;

	/*
	 * UVM wants the offset into the file to be the address. While the machine sleeps it
	 * makes a mapping without memory, and says so only when it is asked.
	 */
	for (unsigned int i = 0; i < SOFTGPU_TRIES; i++) {
		p = mmap((void *)address, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED_NOREPLACE, tenant->fd, (off_t)address);
		if (p == MAP_FAILED ||
		    softgpu_uvm(tenant->fd, UVM_VALIDATE_VA_RANGE, &range) == 0)
			break;
		munmap(p, bytes);
		p = MAP_FAILED;
	}
	return p == MAP_FAILED ? NULL : p;
}

uint64_t *softgpu_managed(struct softgpu_tenant *tenant, size_t bytes)
{
	static uintptr_t next = SOFTGPU_FIRST_ADDRESS;
	uintptr_t address = next;

	next += SOFTGPU_ADDRESS_STEP;
	return softgpu_managed_at(tenant, address, bytes);
}

int softgpu_migrate(struct softgpu_tenant *tenant, void *p, size_t bytes, bool to_gpu)
{
	UVM_MIGRATE_PARAMS params = { .base = (uintptr_t)p,
				      .length = bytes,
				      .cpuNumaNode = -1 };

	params.destinationUuid =
		to_gpu ? softgpu_uuid_of(softgpu_number) : NV_PROCESSOR_UUID_CPU_DEFAULT;
	return softgpu_uvm(tenant->fd, UVM_MIGRATE, &params);
}

unsigned int softgpu_resident(struct softgpu_tenant *tenant, void *p)
{
	static UVM_TEST_VA_RESIDENCY_INFO_PARAMS info;
	unsigned int where = 0;

	memset(&info, 0, sizeof(info));
	info.lookup_address = (uintptr_t)p;
	if (softgpu_uvm(tenant->fd, UVM_TEST_VA_RESIDENCY_INFO, &info))
		return 0;
	for (unsigned int i = 0; i < info.resident_on_count; i++) {
		unsigned int at = 0;

		while (at < SOFTGPU_MOST_GPUS) {
			NvProcessorUuid uuid = softgpu_uuid_of(at);

			if (memcmp(&info.resident_on[i], &uuid, sizeof(uuid)) == 0)
				break;
			at++;
		}
		where |= at < SOFTGPU_MOST_GPUS ? (unsigned int)SOFTGPU_ON_GPU << at :
						  SOFTGPU_ON_HOST;
	}
	return where;
}

void softgpu_touch_with(struct softgpu_tenant *tenant, struct softgpu_access *access)
{
	access->client = tenant->client;
	access->channel = tenant->channels + 1 + softgpu_number;
	if (ioctl(softgpu_device, SOFTGPU_ACCESS, access)) {
		guest_log("# access of the GPU: %s", guest_error_name(errno));
		access->errors++;
	}
}

struct softgpu_access softgpu_touch(struct softgpu_tenant *tenant, void *p, uint64_t count,
				    uint64_t stride, enum softgpu_op op, uint64_t value,
				    unsigned int window)
{
	struct softgpu_access access = { .va = (uintptr_t)p,
					 .count = count,
					 .stride = stride,
					 .value = value,
					 .step = 1,
					 .op = op,
					 .window = window };

	softgpu_touch_with(tenant, &access);
	return access;
}

struct softgpu_stats softgpu_stats(void)
{
	struct softgpu_stats stats = { 0 };

	ioctl(softgpu_device, SOFTGPU_STATS, &stats);
	return stats;
}

void softgpu_fail(enum softgpu_failure failure, unsigned int skip, unsigned int count)
{
	struct softgpu_fail fail = { .failure = failure, .skip = skip, .count = count };

	if (ioctl(softgpu_device, SOFTGPU_FAIL, &fail))
		guest_check(false, "a failure can be asked for: %s", guest_error_name(errno));
}

int softgpu_push(struct softgpu_push *push)
{
	return ioctl(softgpu_device, SOFTGPU_PUSH, push) ? errno : 0;
}

int softgpu_control(struct gvm_rm_control *call)
{
	return ioctl(softgpu_device, SOFTGPU_CONTROL, call) ? errno : 0;
}

int softgpu_rm_take(uint64_t bytes)
{
	__u64 number = bytes;

	return ioctl(softgpu_device, SOFTGPU_RM_TAKE, &number) ? errno : 0;
}

int softgpu_rm_take_range(uint64_t address, uint64_t bytes)
{
	struct softgpu_range range = { address, bytes };

	return ioctl(softgpu_device, SOFTGPU_RM_TAKE_RANGE, &range) ? errno : 0;
}

void softgpu_rm_give(void)
{
	ioctl(softgpu_device, SOFTGPU_RM_GIVE);
}

int softgpu_wait_idle(void)
{
	return ioctl(softgpu_device, SOFTGPU_IDLE) ? errno : 0;
}

int softgpu_sleep(bool sleep)
{
	__u32 number = sleep;

	return ioctl(softgpu_device, SOFTGPU_SLEEP, &number) ? errno : 0;
}

const struct softgpu_event *softgpu_events(size_t *ret_count)
{
	static struct softgpu_event events[SOFTGPU_EVENTS_MAX];
	ssize_t got = read(softgpu_device, events, sizeof(events));

	*ret_count = got > 0 ? (size_t)got / sizeof(*events) : 0;
	return events;
}
