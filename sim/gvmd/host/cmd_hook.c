// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * "gvmd hook", see cmd_hook.h.
 *
 * A container's runtime (runc, crun) calls the hooks "createRuntime" when the container's
 * cgroup is there and its program has not started. That is the moment at which gvm.ko has to
 * learn of the cgroup: a process that has opened the GPU keeps the container that it had.
 *
 *     kubelet, podman --> config.json: annotations, environment
 *                             |
 *     runc, crun  --state--> gvmd hook --> "+PATH gmem.limit.high=20G" in /sys/kernel/gvm/cgroups
 *                             |
 *     the program starts <----'
 *
 * A hook that fails keeps the container from starting. So a container that was to have a limit
 * never runs without. The reason is in the system's log. Nothing is to be undone: the module
 * lets go of a cgroup that has been removed.
 */
#include "gvmd/host/cmd_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "config/units.h"
#include "engine/error.h"
#include "gvmd/host/host_gpus.h"
#include "gvmd/host/wishes.h"

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	HOOK_OPTIONS,
	{ NULL, NULL, false, NULL },
};

const struct command command_hook = {
	.name = "gvmd hook",
	.summary = "give a container its limits before it starts: an OCI hook",
	.about =
"Reads the state of a container on standard input, as a runtime hands it to its hooks, and the\n"
"config.json of its bundle. It makes the container's cgroup a container of gvm.ko and writes what\n"
"annotations and environment ask for. A container that asks for nothing is left alone. If a limit\n"
"cannot be set, the hook fails, and the container does not start.\n",
	.options = options,
	.more =
"The strongest word for memory counts: annotation gvm.gmem.limit.high, GVM_LIMIT in the\n"
"environment, the annotations gpu-memory (MiB) and gpu-fraction, then CUDA_DEVICE_MEMORY_LIMIT,\n"
"CUDA_DEVICE_MEMORY_LIMIT_0 and so on, and GPU_PORTION in the environment. For time:\n"
"gvm.compute.weight, then CUDA_DEVICE_SM_LIMIT. An annotation gvm.FILE writes any control file.\n"
"GVM_LIMIT=0:8G,1:4G and variables with a number are limits of single GPUs of the container.\n",
	.examples = "    gvmd hook --memory 80G <state.json\n",
	.run = run,
};
/* clang-format on */

/* What the runtime tells. */
struct hook_container {
	json_t *state;	/* owned */
	json_t *config; /* owned */
	json_t *annotations;
	const json_t *environment;
	pid_t pid;
	char cgroup[PATH_MAX];
};

int hook_take_option(const struct command *command, struct hook_target *target,
		     const char *option, const char *value, struct sim_error *err)
{
	if (!strcmp(option, "root"))
		target->root = value;
	else if (!strcmp(option, "gpus"))
		target->gpus = value;
	else if (units_parse_size(value, &target->gpu_bytes) || !target->gpu_bytes)
		return command_bad_value(command, option, err, "'%s' is no size, e.g. 80G",
					 value);
	return 0;
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	return hook_take_option(&command_hook, data, option, value, err);
}

/* The path of a process in the hierarchy of version 2. */
static int read_cgroup(struct hook_container *container, struct sim_error *err)
{
	char path[64], line[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)container->pid);
	file = fopen(path, "r");
	if (!file)
		return sim_runtime_error(err, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::/", 4))
			snprintf(container->cgroup, sizeof(container->cgroup), "%s", line + 3);
	}
	fclose(file);
	if (!container->cgroup[0] || !container->cgroup[1])
		return sim_runtime_error(err, "%s: the container has no cgroup of version 2",
					 path);
	return 0;
}

static int read_container(FILE *state, struct hook_container *container, struct sim_error *err)
{
	char path[PATH_MAX];
	const char *bundle;
	json_error_t wrong;
	json_int_t pid;

	container->state = json_loadf(state, 0, &wrong);
	if (!container->state)
		return sim_user_error(err, "the state of the container cannot be read: %s",
				      wrong.text);
	pid = json_integer_value(json_object_get(container->state, "pid"));
	bundle = json_string_value(json_object_get(container->state, "bundle"));
	container->pid = (pid_t)pid;
	if (pid <= 0 || pid > INT_MAX || !bundle)
		return sim_user_error(err, "the state has no pid or no bundle");
	if ((size_t)snprintf(path, sizeof(path), "%s/config.json", bundle) >= sizeof(path))
		return sim_user_error(err, "%s: %s", bundle, strerror(ENAMETOOLONG));
	/* "Unlimited" is 2^64 - 1 there, which is no json_int_t. */
	container->config = json_load_file(path, JSON_DECODE_INT_AS_REAL, &wrong);
	if (!container->config)
		return sim_runtime_error(err, "%s: %s", path, wrong.text);
	container->annotations = json_object_get(container->config, "annotations");
	container->environment =
		json_object_get(json_object_get(container->config, "process"), "env");
	return 0;
}

/*
 * The container that holds a pod's namespaces runs nothing of the user's. Names: CRI of
 * containerd and of CRI-O.
 */
static bool is_sandbox(const struct hook_container *container)
{
	static const char *const names[] = { "io.kubernetes.cri.container-type",
					     "io.kubernetes.cri-o.ContainerType" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *type =
			json_string_value(json_object_get(container->annotations, names[i]));

		if (type && !strcmp(type, "sandbox"))
			return true;
	}
	return false;
}

/* Write a line to the module's list of cgroups. Returns 0 or an errno. */
static int write_line(const char *list, const char *line)
{
	size_t size = strlen(line);
	int fd = open(list, O_WRONLY | O_CLOEXEC);
	int failed = 0;

	if (fd < 0)
		return errno;
	if (write(fd, line, size) != (ssize_t)size)
		failed = errno ? errno : EIO;
	close(fd);
	return failed;
}

/*
 * The module refused a cgroup because one above or below it is a container. Is it one above?
 * "+PATH" is refused by EEXIST for that one, and by EBUSY for all others, so none becomes a
 * container by this question.
 */
static bool is_below_container(const char *list, const char *cgroup)
{
	char line[PATH_MAX + 2];

	snprintf(line, sizeof(line), "+%s", cgroup);
	for (char *slash; (slash = strrchr(line, '/')) && slash > line + 1;) {
		*slash = '\0';
		if (write_line(list, line) == EEXIST)
			return true;
	}
	return false;
}

/*
 * The line that makes the cgroup a container with these settings. A GPU of the container has
 * another number in the module, so it is named by its UUID. A number that the container has no
 * GPU for is left out; *line is "" if nothing is left.
 */
static int make_line(const struct hook_target *target, const struct hook_container *container,
		     const struct wishes *wishes, char *line, size_t size,
		     struct sim_error *err)
{
	struct host_gpus gpus = { .count = 0 };
	int length = snprintf(line, size, "+%s", container->cgroup);
	int path_length = length;
	int status = 0;

	for (size_t i = 0; i < wishes->count && !status; i++)
		if (wishes->wishes[i].gpu >= 0 && !gpus.count)
			status = host_gpus_find(target->gpus, container->config, &gpus, err);
	for (size_t i = 0; i < wishes->count && !status; i++) {
		const struct wish *wish = &wishes->wishes[i];

		if (wish->gpu >= (int)gpus.count)
			continue;
		length += snprintf(line + length, size - (size_t)length, " %s%s%s=%s",
				   wish->gpu < 0 ? "" : gpus.uuids[wish->gpu],
				   wish->gpu < 0 ? "" : "/", wish->file, wish->value);
	}
	if (length == path_length)
		*line = '\0';
	return status;
}

/*
 * Make the cgroup a container on every GPU, also on those that come with their first
 * process, with these settings. Where one above it is a container already, the limits of
 * that one hold for all below it.
 */
static int add_cgroup(const char *root, const char *cgroup, const char *line,
		      struct sim_error *err)
{
	char list[PATH_MAX];
	int failed;

	snprintf(list, sizeof(list), "%s/cgroups", root);
	failed = write_line(list, line);
	if (failed == ENOENT && access(list, F_OK))
		return sim_runtime_error(err, "%s is missing: gvm.ko is not loaded", list);
	if (failed == EBUSY && is_below_container(list, cgroup)) {
		fprintf(stderr,
			"gvmd hook: a cgroup above %s is a container: its limits hold\n",
			cgroup);
		return 0;
	}
	return failed ? sim_runtime_error(err, "%s: %s: %s", list, line, strerror(failed)) : 0;
}

static int give_limits(const struct hook_target *target, FILE *state,
		       struct hook_container *container, struct sim_error *err)
{
	char line[PATH_MAX + WISHES_MAX * (CTL_TEXT_MAX + HOST_GPU_UUID_MAX + 32)];
	struct wishes wishes;
	int status = read_container(state, container, err);

	if (status || is_sandbox(container))
		return status;
	status = wishes_read(container->annotations, container->environment, target->gpu_bytes,
			     &wishes, err);
	if (status || !wishes.count)
		return status;
	status = read_cgroup(container, err);
	if (!status)
		status = make_line(target, container, &wishes, line, sizeof(line), err);
	if (status || !*line)
		return status;
	return add_cgroup(target->root, container->cgroup, line, err);
}

int hook_give_limits(const struct hook_target *target, FILE *state, struct sim_error *err)
{
	struct hook_container container = { 0 };
	int status = give_limits(target, state, &container, err);

	if (status) /* crun does not show what a hook prints */
		syslog(LOG_ERR | LOG_DAEMON, "gvmd hook: %s", err->text);
	json_decref(container.state);
	json_decref(container.config);
	return status;
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct hook_target target = { .root = HOOK_ROOT, .gpus = HOST_GPUS };
	struct command_line line;
	int status = command_parse(&command_hook, argc, argv, take_option, &target, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_hook, err);
	if (line.operand_count)
		return command_mistake(&command_hook, err, "'%s' is not valid here",
				       line.operands[0]);
	return hook_give_limits(&target, stdin, err);
}
