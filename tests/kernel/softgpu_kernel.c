// SPDX-License-Identifier: MIT OR GPL-2.0
/* See softgpu_kernel.h. */
#define _GNU_SOURCE
#include "softgpu_kernel.h"

#include <sys/mman.h>
#include <unistd.h>

#define MEMORY (2 * SOFTGPU_MB)

unsigned int softgpu_rm_control(unsigned int client, unsigned int object, unsigned int command,
				void *params, size_t bytes)
{
	struct gvm_rm_control call = { .client = client,
				       .object = object,
				       .command = command,
				       .params = (uintptr_t)params,
				       .params_bytes = (unsigned int)bytes };

	return softgpu_control(&call) ? ~0u : call.status;
}

static unsigned int parent_of(unsigned int client, unsigned int object)
{
	struct gvm_rm_handle_info info = { .object = object,
					   .index = GVM_RM_HANDLE_INFO_PARENT };

	return softgpu_rm_control(client, client, GVM_RM_CLIENT_GET_HANDLE_INFO, &info,
				  sizeof(info)) ?
		       0 :
		       info.result;
}

unsigned int softgpu_tsg_of(unsigned int client)
{
	return parent_of(client, 1);
}

unsigned int softgpu_schedule_tsg(unsigned int client)
{
	struct gvm_rm_schedule schedule = { .enable = true };

	return softgpu_rm_control(client, softgpu_tsg_of(client), GVM_RM_TSG_SCHEDULE,
				  &schedule, sizeof(schedule));
}

unsigned int softgpu_subdevice_of(unsigned int client)
{
	struct gvm_rm_child_handle child = { .parent =
						     parent_of(client, softgpu_tsg_of(client)),
					     .class_id = GVM_RM_CLASS_SUBDEVICE };

	return softgpu_rm_control(client, client, GVM_RM_CLIENT_GET_CHILD_HANDLE, &child,
				  sizeof(child)) ?
		       0 :
		       child.object;
}

uint64_t softgpu_get_timeslice(unsigned int client)
{
	struct gvm_rm_timeslice slice = { 0 };

	return softgpu_rm_control(client, softgpu_tsg_of(client), GVM_RM_TSG_GET_TIMESLICE,
				  &slice, sizeof(slice)) ?
		       0 :
		       slice.us;
}

size_t softgpu_switches(unsigned int client)
{
	const struct softgpu_event *event;
	size_t count, switches = 0;

	for (event = softgpu_events(&count); count--; event++)
		switches += event->kind == SOFTGPU_EVENT_SWITCH && event->a == client;
	return switches;
}

static void *kernel_main(void *data)
{
	struct softgpu_kernel *kernel = data;

	kernel->done = softgpu_touch(&kernel->tenant, kernel->memory, kernel->accesses, 0,
				     SOFTGPU_READ, 0, SOFTGPU_KERNEL_WINDOW);
	__atomic_store_n(&kernel->over, 1, __ATOMIC_RELEASE);
	return NULL;
}

void softgpu_kernel_init(struct softgpu_kernel *kernel, const struct softgpu_tenant *tenant)
{
	*kernel = (struct softgpu_kernel){ .tenant = *tenant };
	kernel->memory = softgpu_managed(&kernel->tenant, MEMORY);
	softgpu_touch(&kernel->tenant, kernel->memory, 512, SOFTGPU_PAGE, SOFTGPU_WRITE, 1,
		      SOFTGPU_KERNEL_WINDOW);
}

void softgpu_kernel_free(struct softgpu_kernel *kernel)
{
	munmap(kernel->memory, MEMORY);
}

void softgpu_kernel_begin(struct softgpu_kernel *kernel, uint64_t accesses)
{
	kernel->over = 0;
	kernel->accesses = accesses;
	guest_check(pthread_create(&kernel->thread, NULL, kernel_main, kernel) == 0,
		    "a kernel begins");
}

void softgpu_kernel_wait(struct softgpu_kernel *kernel)
{
	pthread_join(kernel->thread, NULL);
	guest_check(kernel->done.errors == 0 && kernel->done.faults == 0,
		    "a kernel ends without faults");
}

bool softgpu_kernel_is_over(struct softgpu_kernel *kernel)
{
	return __atomic_load_n(&kernel->over, __ATOMIC_ACQUIRE);
}

void softgpu_kernel_wait_running(struct softgpu_kernel *kernel)
{
	uint64_t before = softgpu_stats().tlb_hits;

	while (softgpu_stats().tlb_hits == before && !softgpu_kernel_is_over(kernel))
		usleep(1000);
}
