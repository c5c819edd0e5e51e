// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Parent and child share one step in memory. The parent copies the containers in and sends a
 * byte; the child runs the policy's step and sends a byte back:
 *
 *     parent   sample -> copy in -> byte ......... poll, at most the deadline -> check -> write
 *     child                             step, byte
 *
 * No byte within the deadline: the policy hangs, and is killed. The end of the socket: it has
 * crashed; a child that lives on without its socket is killed. The parent trusts nothing of
 * what the child leaves in the memory: it takes the writes alone, ends their texts, and bounds
 * their number.
 */
#include "gvmd/host/host_child.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/error.h"
#include "gvmd/plan.h"

/* A policy may load slowly, as from a disk that sleeps. */
#define LOAD_DEADLINE_NS 30000000000ull
#define NS_PER_MS	 1000000ull

struct host_shared {
	struct gvmd_step step;
	int status; /* of loading, or of the step */
	struct sim_error err;
	char policy[GVMD_NAME_MAX];
	u64 period_ns;
	u64 deadline_ns;
};

static u64 clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* The life of the child. It dies with the parent, and leaves signals of the terminal to it. */
__attribute__((noreturn)) static void child_main(struct host_shared *shared, const char *file,
						 int socket)
{
	const char *names[GVMD_CONTAINERS_MAX];
	struct gvmd_plan plan;
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (u32 i = 0; i < shared->step.container_count; i++)
		names[i] = shared->step.containers[i].name;
	shared->status = gvmd_plan_load(&plan, file, &shared->err);
	if (!shared->status)
		shared->status = gvmd_plan_check_containers(
			&plan, names, shared->step.container_count, &shared->err);
	if (!shared->status) {
		snprintf(shared->policy, sizeof(shared->policy), "%s", plan.policy->name);
		shared->period_ns = plan.period_ns;
		shared->deadline_ns = plan.deadline_ns;
	}
	while (write(socket, &byte, 1) == 1 && read(socket, &byte, 1) == 1 && !shared->status)
		shared->status = plan.policy->step(plan.state, &shared->step);
	_exit(0);
}

/* Wait for the child's byte. Returns 0, or -errno with the reason in @why. */
static int child_await(struct host_child *child, u64 deadline_ns, char why[GVMD_WHY_MAX])
{
	struct pollfd wait = { .fd = child->socket, .events = POLLIN };
	u64 end_ns = clock_ns() + deadline_ns, now_ns;
	int ended, ready = 0;
	char byte;

	while (ready <= 0 && (now_ns = clock_ns()) < end_ns)
		ready = poll(&wait, 1, (int)((end_ns - now_ns) / NS_PER_MS + 1));
	if (ready <= 0) {
		snprintf(why, GVMD_WHY_MAX, "it hangs: no answer within %llu ms",
			 deadline_ns / NS_PER_MS);
		return -ETIMEDOUT;
	}
	if (read(child->socket, &byte, 1) == 1)
		return 0;
	/* It may live on without its socket. One that is exiting keeps its status. */
	kill(child->pid, SIGKILL);
	ended = 0;
	waitpid(child->pid, &ended, 0);
	child->pid = 0;
	if (WIFSIGNALED(ended))
		snprintf(why, GVMD_WHY_MAX, "it crashed: %s", strsignal(WTERMSIG(ended)));
	else
		snprintf(why, GVMD_WHY_MAX, "it ended its process with %d", WEXITSTATUS(ended));
	return -ECHILD;
}

int host_child_start(struct host_child *child, const char *file, const struct gvmd_step *step,
		     struct sim_error *err)
{
	char why[GVMD_WHY_MAX];
	int sockets[2], status;

	*child = (struct host_child){ .socket = -1 };
	child->shared = mmap(NULL, sizeof(*child->shared), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (child->shared == MAP_FAILED) {
		child->shared = NULL;
		return sim_runtime_error(err, "out of memory");
	}
	child->shared->step = *step;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return sim_runtime_error(err, "no socket: %s", strerror(errno));
	child->socket = sockets[0];
	child->pid = fork();
	if (!child->pid) {
		close(sockets[0]);
		child_main(child->shared, file, sockets[1]);
	}
	close(sockets[1]);
	if (child->pid < 0)
		return sim_runtime_error(err, "no process for the policy: %s", strerror(errno));
	if (child_await(child, LOAD_DEADLINE_NS, why))
		return sim_runtime_error(err, "%.400s: the policy cannot be loaded: %s", file,
					 why);
	status = child->shared->status;
	if (status) {
		child->shared->err.text[sizeof(err->text) - 1] = '\0';
		*err = child->shared->err;
		return status == -SIM_EXIT_USER ? status : -SIM_EXIT_RUNTIME;
	}
	snprintf(child->policy, sizeof(child->policy), "%.*s", GVMD_NAME_MAX - 1,
		 child->shared->policy);
	child->period_ns = child->shared->period_ns;
	child->deadline_ns = child->shared->deadline_ns;
	return 0;
}

int host_child_step(struct host_child *child, struct gvmd_step *step)
{
	struct gvmd_step *shared = &child->shared->step;
	char byte = 0;
	int status;

	*shared = *step;
	if (send(child->socket, &byte, 1, MSG_NOSIGNAL) != 1)
		return gvmd_fail(step, -ECHILD, "it has ended");
	status = child_await(child, child->deadline_ns, step->why);
	if (status)
		return status;
	memcpy(step->why, shared->why, sizeof(step->why));
	step->why[sizeof(step->why) - 1] = '\0';
	step->write_count = shared->write_count;
	if (step->write_count > GVMD_WRITES_MAX)
		return gvmd_fail(step, -EINVAL, "it says that it asks for %u writes",
				 step->write_count);
	memcpy(step->writes, shared->writes, sizeof(step->writes));
	for (u32 i = 0; i < step->write_count; i++) {
		step->writes[i].file[GVMD_NAME_MAX - 1] = '\0';
		step->writes[i].text[GVMD_TEXT_MAX - 1] = '\0';
		if (strchr(step->writes[i].file, '/'))
			return gvmd_fail(step, -EINVAL, "it writes outside of the container");
	}
	status = child->shared->status;
	return status > 0 ? -EINVAL : status;
}

void host_child_stop(struct host_child *child)
{
	if (child->socket >= 0)
		close(child->socket);
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
		waitpid(child->pid, NULL, 0);
	}
	if (child->shared)
		munmap(child->shared, sizeof(*child->shared));
	*child = (struct host_child){ .socket = -1 };
}
