// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvmfenced: one process has the one CUDA context, and runs the kernels of all
 * clients in it (Guardian 4).
 *
 *     parent   has the socket; starts a child, and starts it again when it has ended
 *     child    has the context; a thread for each client (tenant.c), one that watches (watch.c)
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/units.h"
#include "control.h"
#include "tenant.h"
#include "terminal/command.h"
#include "terminal/program.h"
#include "watch.h"

static int run(int argc, char **argv, struct sim_error *err);

/* clang-format off */
static const struct command_option options[] = {
	{ "socket", "PATH", false, "Where clients connect; " FENCED_SOCKET " by default." },
	{ "mode", "MODE", false,
"How clients are fenced: fence, once (default), 4g, check, modulo or count, as in gvmfence;\n"
"noprot: no fence, to measure what one costs." },
	{ "program", "NAME=MODE", true,
"Another mode for clients whose program is a file called NAME: fence, check, modulo or count." },
	{ "memory", "SIZE", false, "Memory for all partitions, a power of two; half of the GPU by default." },
	{ "limit", "TIME", false, "The longest that a client's kernels may run at a stretch; 30s by default." },
	{ "gpu", "NUMBER", false, "Which GPU; 0 by default." },
	{ "local-stores", NULL, false,
"Serve kernels that have local memory and stores to it through a register, too. ptxas may keep\n"
"bounds there, so a hostile client could leave its partition." },
	{ "control", "FOLDER", false,
"A folder for what users see of clients and set while they run: FOLDER/PID/GPU/fence.stat and\n"
"fence.sample. With it, launches can be counted." },
	{ "sample", "NUMBER", false,
"Count one launch of NUMBER, at random; 0, none, by default. A counted launch is fenced, and finds\n"
"addresses outside of the partition. A write to fence.sample changes it." },
	{ NULL, NULL, false, NULL },
};

static const struct command command_serve = {
	.name = "gvmfenced serve",
	.summary = "kernels of several processes in one CUDA context, each fenced",
	.about =
"gvmfenced has one CUDA context and runs the kernels of all its clients in it, side by side. Each client\n"
"gets a partition of memory, and its code is patched and verified so that it cannot leave that.\n"
"Programs that use CUDA's driver library find the client library in its place: LD_LIBRARY_PATH.\n"
"SIGTERM and SIGINT end it. SIGHUP, as of a terminal that closes, does not: clients would lose their\n"
"memory. It has no file of settings to read again; fence.sample is read whenever it changes.\n",
	.options = options,
	.examples =
"    gvmfenced serve --mode once --memory 64G\n"
"    GVM_FENCED_MEMORY=4G LD_LIBRARY_PATH=/usr/lib/gvmsim/fenced ./program\n",
	.run = run,
};

static const struct command *const commands[] = { &command_serve, NULL };

static const struct command gvmfenced = {
	.name = "gvmfenced",
	.operands = "COMMAND ...",
	.about =
"gvmfenced runs the kernels of several processes in one CUDA context, each fenced into a partition of\n"
"memory. It needs a GPU and its driver, and no privileges.\n",
	.examples = "    gvmfenced serve --mode once --memory 64G\n",
	.commands = commands,
};
/* clang-format on */

#define GPU_NUMBER_MAX 1023u

struct fenced_args {
	const char *socket;
	enum gvm_fence_mode mode;
	struct gpu_program programs[GPU_PROGRAMS];
	u32 program_count;
	u64 memory, limit_ns;
	int gpu;
	bool local_stores;
	const char *control;
	u32 sample_every;
};

/*
 * Modes once and 4g keep offsets of accesses, which need margins at the ends of all partitions,
 * and noprot protects no other client: these are for all, by --mode.
 */
static int take_program(struct fenced_args *args, const char *value, struct sim_error *err)
{
	const char *equals = strrchr(value, '=');
	int mode = equals ? gvm_fence_mode_find(equals + 1) : -1;
	struct gpu_program *program = &args->programs[args->program_count];

	if (mode != GVM_FENCE_MASK && mode != GVM_FENCE_CHECK && mode != GVM_FENCE_MODULO &&
	    mode != GVM_FENCE_COUNT)
		return command_bad_value(&command_serve, "program", err,
					 "'%s' is not NAME=MODE with fence, check, modulo or "
					 "count",
					 value);
	if (equals == value || equals - value >= (int)GPU_PROGRAM_NAME ||
	    memchr(value, '/', (size_t)(equals - value)))
		return command_bad_value(&command_serve, "program", err,
					 "'%s': a name has 1 to %u characters, and no '/'",
					 value, GPU_PROGRAM_NAME - 1);
	if (args->program_count == GPU_PROGRAMS)
		return command_bad_value(&command_serve, "program", err,
					 "up to %u programs have a mode of their own",
					 GPU_PROGRAMS);
	snprintf(program->name, sizeof(program->name), "%.*s", (int)(equals - value), value);
	program->mode = (enum gvm_fence_mode)mode;
	for (u32 i = 0; i < args->program_count; i++)
		if (!strcmp(args->programs[i].name, program->name))
			return command_bad_value(&command_serve, "program", err,
						 "'%s' has two modes", program->name);
	args->program_count++;
	return 0;
}

static int take_option(void *data, const char *option, const char *value, struct sim_error *err)
{
	struct fenced_args *args = data;
	u64 number;
	int mode;

	if (!strcmp(option, "socket")) {
		args->socket = value;
		if (!*value || strlen(value) >= sizeof(((struct sockaddr_un *)0)->sun_path))
			return command_bad_value(&command_serve, option, err,
						 "it has 1 to 107 characters");
	} else if (!strcmp(option, "mode")) {
		mode = gvm_fence_mode_find(value);
		if (mode < 0 || mode == GVM_FENCE_NONE)
			return command_bad_value(&command_serve, option, err,
						 "'%s' is not known; fence, once, 4g, check, "
						 "modulo, count or noprot",
						 value);
		args->mode = (enum gvm_fence_mode)mode;
	} else if (!strcmp(option, "program")) {
		return take_program(args, value, err);
	} else if (!strcmp(option, "memory")) {
		if (units_parse_size(value, &args->memory) != UNITS_OK ||
		    args->memory & (args->memory - 1) || args->memory < GPU_GRANULE ||
		    args->memory > GPU_GRANULE << GVM_FENCE_BUDDY_DEPTH)
			return command_bad_value(&command_serve, option, err,
						 "'%s' is no power of two from 16M to 1T",
						 value);
	} else if (!strcmp(option, "limit")) {
		if (units_parse_duration(value, &args->limit_ns) != UNITS_OK || !args->limit_ns)
			return command_bad_value(&command_serve, option, err,
						 "'%s' is no time, such as 30s or 500ms",
						 value);
	} else if (!strcmp(option, "control")) {
		args->control = value;
		if (!*value)
			return command_bad_value(&command_serve, option, err, "is empty");
	} else if (!strcmp(option, "sample")) {
		if (units_parse_integer(value, &number) != UNITS_OK ||
		    number > SAMPLE_EVERY_MAX)
			return command_bad_value(&command_serve, option, err,
						 "'%s' is no number up to %u", value,
						 SAMPLE_EVERY_MAX);
		args->sample_every = (u32)number;
	} else if (!strcmp(option, "local-stores")) {
		args->local_stores = true;
	} else {
		if (units_parse_integer(value, &number) != UNITS_OK || number > GPU_NUMBER_MAX)
			return command_bad_value(&command_serve, option, err,
						 "'%s' is no number up to %u", value,
						 GPU_NUMBER_MAX);
		args->gpu = (int)number;
	}
	return 0;
}

/* The socket, which only this user may connect to. A dead one is removed. */
static int listen_on(const char *path, int *ret_fd, struct sim_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat info;
	mode_t mask;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
	    probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int status;
	bool good;

	strcpy(address.sun_path, path);
	if (fd < 0 || probe < 0) {
		close(fd);
		close(probe);
		return sim_runtime_error(err, "socket: %s", strerror(errno));
	}
	/* EAGAIN: a server that is stuck. EPROTOTYPE: one of another kind. */
	if (connect(probe, (struct sockaddr *)&address, sizeof(address)) &&
	    errno == ECONNREFUSED && !lstat(path, &info) && S_ISSOCK(info.st_mode))
		unlink(path);
	close(probe);
	mask = umask(0177);
	good = !bind(fd, (struct sockaddr *)&address, sizeof(address)) && !listen(fd, 64);
	umask(mask);
	*ret_fd = fd;
	if (good)
		return 0;
	status = errno;
	close(fd);
	return sim_user_error(err, "%s: %s", path,
			      status == EADDRINUSE ?
				      "another process listens there, or it is no socket" :
				      strerror(status));
}

#define ACCEPT_AGAIN_US 10000

/* Has the child opened the GPU? Memory that the parent shares with it. */
static volatile bool *has_opened;

/* The child: open the GPU and serve for ever. */
static int serve_clients(const struct fenced_args *args, int listener, struct sim_error *err)
{
	static struct gpu gpu;
	u64 next_id = 1;
	int status = gpu_open(&gpu, args->gpu, args->memory, args->mode, err);

	memcpy(gpu.programs, args->programs, sizeof(gpu.programs));
	gpu.program_count = args->program_count;
	gpu.local_stores = args->local_stores;
	gpu.sample_every = args->sample_every;
	gpu.samples = args->control || args->sample_every;
	if (status)
		return status;
	*has_opened = true;
	control_clean(args->gpu);
	if (watch_start(&gpu, args->limit_ns))
		return sim_runtime_error(err, "no thread");
	fprintf(stderr, "gvmfenced: %s: %llu bytes, mode %s, serving\n", gpu.name,
		gpu.table.config.bytes, gvm_fence_mode_name(gpu.mode));
	for (;;) {
		int fd = tenant_accept(listener);
		struct tenant *tenant = fd >= 0 ? calloc(1, sizeof(*tenant)) : NULL;
		struct ucred peer = { 0, 0, 0 };
		socklen_t size = sizeof(peer);
		pthread_t thread;

		if (!tenant) {
			if (fd >= 0)
				close(fd);
			/* Without descriptors or memory, until a client leaves. */
			usleep(ACCEPT_AGAIN_US);
			continue;
		}
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
		tenant->gpu = &gpu;
		tenant->id = next_id++;
		tenant->fd = fd;
		tenant->pid = peer.pid;
		if (pthread_create(&thread, NULL, tenant_run, tenant)) {
			close(fd);
			free(tenant);
			continue;
		}
		pthread_detach(thread);
	}
}

static volatile sig_atomic_t child_pid, ending;

/* The parent sees that its child has ended, and then that all is to end. */
static void end_all(int number)
{
	(void)number;
	ending = 1;
	if (child_pid > 0)
		kill(child_pid, SIGKILL);
}

/*
 * The terminal has closed, or a service manager wants settings to be read again. Clients keep
 * their memory. There is no file of settings: options hold until the end, and fence.sample is
 * read whenever it changes.
 */
static void hang_up(int number)
{
	static const char line[] = "gvmfenced: SIGHUP: goes on; it has no file of settings to "
				   "read again, and ends by SIGTERM or SIGINT\n";
	int error = errno;
	ssize_t written = write(STDERR_FILENO, line, sizeof(line) - 1);

	(void)number, (void)written; /* it fails if the terminal has gone */
	errno = error;
}

/* Would another child end like this one, which has ended with @status? */
static bool is_hopeless(int status)
{
	return !*has_opened || (WIFEXITED(status) && WEXITSTATUS(status) < WATCH_ENDLESS);
}

/* Start the child, and again after a kernel that never ended or broke the context. */
static int supervise(const struct fenced_args *args, int listener, struct sim_error *err)
{
	int status;

	has_opened = mmap(NULL, sizeof(*has_opened), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (has_opened == MAP_FAILED)
		return sim_runtime_error(err, "out of memory");
	signal(SIGTERM, end_all);
	signal(SIGINT, end_all);
	signal(SIGHUP, hang_up);
	/* A reader of the lines may go: no client is to lose its memory for it. */
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		pid_t parent = getpid(), child;

		*has_opened = false;
		child = fork();
		if (child < 0)
			return sim_runtime_error(err, "fork: %s", strerror(errno));
		if (!child) {
			signal(SIGTERM, SIG_DFL);
			signal(SIGINT, SIG_DFL);
			signal(SIGHUP, SIG_IGN);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			status = serve_clients(args, listener, err);
			fprintf(stderr, "gvmfenced: %s\n", err->text);
			_exit(-status);
		}
		child_pid = child;
		if (ending)
			kill(child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		child_pid = 0;
		if (ending || is_hopeless(status)) {
			control_clean(args->gpu);
			unlink(args->socket);
			return ending ? 0 : sim_user_error(err, "the GPU cannot be served");
		}
		fprintf(stderr, "gvmfenced: starting again\n");
	}
}

static int run(int argc, char **argv, struct sim_error *err)
{
	struct fenced_args args = { .socket = FENCED_SOCKET,
				    .mode = GVM_FENCE_ONCE,
				    .limit_ns = 30000000000ull };
	struct command_line line;
	int listener = -1, error = 0,
	    status = command_parse(&command_serve, argc, argv, take_option, &args, &line, err);

	if (status)
		return status;
	if (line.help)
		return command_print_help(&command_serve, err);
	if (line.operand_count)
		return command_mistake(&command_serve, err, "no operand is wanted");
	if (args.control)
		error = control_start(args.control, args.gpu);
	if (error)
		return sim_user_error(
			err, "%s: %s", args.control,
			error == EWOULDBLOCK ?
				"another gvmfenced has the files of this GPU there" :
				strerror(error));
	status = listen_on(args.socket, &listener, err);
	if (!status)
		status = supervise(&args, listener, err);
	control_stop();
	return status;
}

int main(int argc, char **argv)
{
	return program_main(&gvmfenced, argc, argv);
}
