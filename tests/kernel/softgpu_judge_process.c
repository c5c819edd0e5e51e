// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The processes of a pattern: softgpu_judge.h. A child takes calls from a pipe until its parent
 * closes it, and answers by another one: a small kernel has no sockets.
 */
#define _GNU_SOURCE
#include "softgpu_judge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCK_BYTES (2 * SOFTGPU_MB)

static void process_write(const struct judge_call *call)
{
	uint64_t *p = (uint64_t *)call->address;

	for (size_t i = 0; i < call->walk.count; i++) {
		size_t page = call->walk.first + i * call->walk.step;

		*(volatile uint64_t *)(p + page * JUDGE_WORDS + 1) =
			judge_mark(call->range, page);
	}
}

static int process_advise(int fd, const struct judge_call *call)
{
	uintptr_t base = call->address;
	size_t bytes = call->blocks * BLOCK_BYTES;
	UVM_SET_PREFERRED_LOCATION_PARAMS prefer = { .requestedBase = base, .length = bytes };
	UVM_SET_ACCESSED_BY_PARAMS accessed = { .requestedBase = base,
						.length = bytes,
						.accessedByUuid = softgpu_uuid };
	UVM_ENABLE_READ_DUPLICATION_PARAMS duplicate = { .requestedBase = base,
							 .length = bytes };

	switch (call->advice) {
	case PATTERN_NO_ADVICE:
		break;
	case PATTERN_PREFER_GPU:
	case PATTERN_PREFER_CPU:
		prefer.preferredLocation = call->advice == PATTERN_PREFER_GPU ?
						   softgpu_uuid :
						   NV_PROCESSOR_UUID_CPU_DEFAULT;
		return softgpu_uvm(fd, UVM_SET_PREFERRED_LOCATION, &prefer);
	case PATTERN_ACCESSED_BY_GPU:
		return softgpu_uvm(fd, UVM_SET_ACCESSED_BY, &accessed);
	case PATTERN_READ_DUPLICATION:
		return softgpu_uvm(fd, UVM_ENABLE_READ_DUPLICATION, &duplicate);
	}
	return 0;
}

/* Writes bring a page back to life, so it is unmapped. */
static int process_discard(int fd, const struct judge_call *call)
{
#ifdef UVM_DISCARD
	UVM_DISCARD_PARAMS params = {
		.base = call->address + call->walk.first * BLOCK_BYTES,
		.length = call->walk.count * BLOCK_BYTES,
		.flags = UVM_DISCARD_FLAGS_UNMAP,
	};

	return softgpu_uvm(fd, UVM_DISCARD, &params);
#else
	(void)fd;
	(void)call;
	return -ENOSYS;
#endif
}

static int process_call(struct softgpu_tenant *tenant, const struct judge_call *call)
{
	void *p = (void *)call->address;
	size_t bytes = call->blocks * BLOCK_BYTES;

	switch (call->what) {
	case JUDGE_MAP:
		return softgpu_managed_at(tenant, call->address, bytes) ? 0 : -ENOMEM;
	case JUDGE_UNMAP:
		return munmap(p, bytes) ? -errno : 0;
	case JUDGE_WRITE:
		process_write(call);
		return 0;
	case JUDGE_ADVISE:
		return process_advise(tenant->fd, call);
	case JUDGE_MIGRATE:
		return softgpu_migrate(tenant, p, bytes, call->to_gpu);
	case JUDGE_DISCARD:
		return process_discard(tenant->fd, call);
	}
	return -EINVAL;
}

/* The child: its first answer says whether it has become a tenant. */
static void process_serve(int calls, int answers, unsigned int client, int (*enter)(void))
{
	struct softgpu_tenant tenant;
	struct judge_call call;
	int status = enter ? -enter() : 0;

	if (!status)
		status = softgpu_attach(&tenant, client);
	while (write(answers, &status, sizeof(status)) == sizeof(status) &&
	       read(calls, &call, sizeof(call)) == sizeof(call))
		status = process_call(&tenant, &call);
	_exit(0);
}

static int process_answer(const struct judge_process *process)
{
	int status;

	return read(process->answers, &status, sizeof(status)) == sizeof(status) ? status :
										   -ECHILD;
}

int judge_process_start(struct judge_process *process, unsigned int client, int (*enter)(void))
{
	int calls[2], answers[2];

	if (pipe2(calls, O_CLOEXEC))
		return -errno;
	if (pipe2(answers, O_CLOEXEC)) {
		close(calls[0]);
		close(calls[1]);
		return -errno;
	}
	process->tenant.client = client;
	process->calls = calls[1];
	process->answers = answers[0];
	process->pid = fork();
	if (process->pid == 0) {
		close(calls[1]);
		close(answers[0]);
		process_serve(calls[0], answers[1], client, enter);
	}
	close(calls[0]);
	close(answers[1]);
	return process->pid > 0 ? process_answer(process) : -errno;
}

int judge_process_ask(struct judge_process *process, const struct judge_call *call)
{
	if (!process->pid)
		return process_call(&process->tenant, call);
	if (write(process->calls, call, sizeof(*call)) != sizeof(*call))
		return -errno;
	return process_answer(process);
}

void judge_process_end(struct judge_process *process)
{
	close(process->calls);
	close(process->answers);
	waitpid(process->pid, NULL, 0);
}
