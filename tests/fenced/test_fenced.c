// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvmfenced over a driver library of the host's memory: what clients compute, what they cannot
 * reach, and what is left when they or their kernels end badly.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "message.h"
#include "suite.h"

static char folder[64], socket_path[128];
static pid_t manager;

struct client {
	pid_t pid;
	FILE *to, *from;
	char out[2048];
	int status;
};

static const char *log_text(void)
{
	static char text[65536];
	char path[128];
	FILE *file;
	size_t length = 0;

	snprintf(path, sizeof(path), "%s/log", folder);
	file = fopen(path, "r");
	if (file) {
		length = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
	}
	text[length] = '\0';
	return text;
}

static int count_in_log(const char *words)
{
	int count = 0;

	for (const char *at = log_text(); (at = strstr(at, words)); at++)
		count++;
	return count;
}

static void await_log(const char *words, int count)
{
	for (int i = 0; i < 1000 && count_in_log(words) < count; i++)
		usleep(10000);
	ck_assert_msg(count_in_log(words) >= count, "no '%s' in: %s", words, log_text());
}

/* @option and @value are more of them, or NULL; so is the folder of control files. */
static void start_manager_with(const char *mode, const char *limit, const char *option,
			       const char *value, bool control)
{
	char path[128], files[128];
	const char *last[] = { option, value, NULL, NULL, NULL };
	u32 at = !option ? 0 : !value ? 1 : 2;

	int before = count_in_log("serving");

	snprintf(path, sizeof(path), "%s/log", folder);
	snprintf(files, sizeof(files), "%s/control", folder);
	if (control) {
		last[at] = "--control";
		last[at + 1] = files;
	}
	manager = fork();
	if (!manager) {
		int log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

		dup2(log, 2);
		setenv("LD_LIBRARY_PATH", FAKE, 1);
		execl(MANAGER, MANAGER, "serve", "--socket", socket_path, "--mode", mode,
		      "--memory", strcmp(mode, "4g") ? "128M" : "16G", "--limit", limit,
		      last[0], last[1], last[2], last[3], NULL);
		_exit(127);
	}
	await_log("serving", before + 1);
}

static void start_manager(const char *mode, const char *limit)
{
	start_manager_with(mode, limit, NULL, NULL, false);
}

static void stop_manager(void)
{
	kill(manager, SIGTERM);
	waitpid(manager, NULL, 0);
}

static void setup(void)
{
	signal(SIGPIPE, SIG_IGN); /* a client may be dead */
	strcpy(folder, "");
	suite_make_folder(folder, sizeof(folder));
	snprintf(socket_path, sizeof(socket_path), "%s/socket", folder);
}

static void teardown(void)
{
	suite_remove_folder(folder);
}

static void start(struct client *client, const char *task, int number, const char *memory)
{
	int to[2], from[2];
	char text[16];

	ck_assert_int_eq(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	client->pid = fork();
	if (!client->pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		setenv("LD_LIBRARY_PATH", CLIENT_LIBRARY, 1);
		setenv("GVM_FENCED_SOCKET", socket_path, 1);
		setenv("GVM_FENCED_MEMORY", memory, 1);
		snprintf(text, sizeof(text), "%d", number);
		execl(CLIENT, CLIENT, task, text, NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	client->to = fdopen(to[1], "w");
	client->from = fdopen(from[0], "r");
	*client->out = '\0';
}

static void wait_ready(struct client *client)
{
	char line[256];

	while (fgets(line, sizeof(line), client->from)) {
		if (!strcmp(line, "ready\n"))
			return;
		strcat(client->out, line);
	}
	ck_abort_msg("the client ended early: %s%s", client->out, log_text());
}

static void finish(struct client *client)
{
	char line[256];

	fputs("go\n", client->to);
	fflush(client->to);
	while (fgets(line, sizeof(line), client->from))
		strcat(client->out, line);
	fclose(client->to);
	fclose(client->from);
	waitpid(client->pid, &client->status, 0);
}

static void run(struct client *client, const char *task, int number, const char *memory)
{
	start(client, task, number, memory);
	finish(client);
}

/* What the client's 1000 numbers are after @rounds, as one sum. */
static unsigned int sum_after(int rounds)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 1000; i++) {
		unsigned int number = i;

		for (int round = 0; round < rounds; round++)
			number = number * 3 + i;
		sum = sum * 31 + number;
	}
	return sum;
}

static unsigned int sum_of(unsigned int number)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 1000; i++)
		sum = sum * 31 + number;
	return sum;
}

START_TEST(every_call_does_what_cuda_does)
{
	static const char *const modes[] = { "fence", "once", "check", "modulo", "noprot" };
	struct client client;
	char expected[128];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		bool once = !strcmp(modes[i], "once");

		start_manager(modes[i], "10s");
		run(&client, "all", 300, "20M");
		stop_manager();
		ck_assert_msg(!client.status, "%s %s", client.out, log_text());
		ck_assert_ptr_nonnull(strstr(client.out, "a GPU of the host's memory"));
		snprintf(expected, sizeof(expected), "sum %u\n", sum_after(300));
		ck_assert_msg(strstr(client.out, expected), "%s: %s", modes[i], client.out);
		ck_assert_ptr_nonnull(strstr(client.out, "1.5 ms\na free of nothing 1\n"));
		/* 20 MiB make 32; with margins 36 MiB make 64. */
		snprintf(expected, sizeof(expected), "%u of %u\n", once ? 48u << 20 : 32u << 20,
			 once ? 48u << 20 : 32u << 20);
		ck_assert_msg(strstr(client.out, expected), "%s: %s", modes[i], client.out);
	}
}
END_TEST

/*
 * One client pokes at all addresses around; the others' memory stays as it is.
 * Without a fence it does not.
 */
START_TEST(a_hostile_client_reaches_nobody)
{
	struct client victims[2], hostile;
	char expected[64];

	for (int fenced = 0; fenced < 2; fenced++) {
		start_manager(fenced ? "fence" : "noprot", "10s");
		start(&victims[0], "victim", 1234567, "16M");
		wait_ready(&victims[0]);
		run(&hostile, "hostile", fenced ? 32 : 16, "16M");
		start(&victims[1], "victim", 7654321, "16M");
		wait_ready(&victims[1]);
		run(&hostile, "hostile", fenced ? 32 : 16, "16M");
		finish(&victims[0]);
		finish(&victims[1]);
		stop_manager();
		snprintf(expected, sizeof(expected), "sum %u\n", sum_of(1234567));
		ck_assert_int_eq(strstr(victims[0].out, expected) != NULL, fenced);
		if (!fenced)
			continue;
		ck_assert_msg(!hostile.status, "%s %s", hostile.out, log_text());
		snprintf(expected, sizeof(expected), "sum %u\n", sum_of(7654321));
		ck_assert_ptr_nonnull(strstr(victims[1].out, expected));
		ck_assert_ptr_nonnull(strstr(hostile.out, "outside 1 1 1 1\n"));
		ck_assert_ptr_null(strstr(hostile.out, "0 of 256"));
		ck_assert_ptr_nonnull(strstr(hostile.out, "refused code 218\n"));
		ck_assert_ptr_nonnull(strstr(hostile.out, "code without PTX 209\n"));
	}
}
END_TEST

/*
 * Modes once and 4g may keep the constant offset of an access. It leads over the end of the
 * client's partition then: to no data of a neighbour, and to nothing that is not the manager's.
 */
START_TEST(offsets_that_are_kept_reach_nobody)
{
	static const char *const modes[] = { "once", "4g" };
	struct client victim, hostile;
	char expected[64];

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		for (int offset = -2000; offset <= 2000; offset += 4000)
			for (int first = 0; first < 2; first++) {
				int left = count_in_log("has left");

				start_manager(modes[i], "10s");
				/* The victim is behind the hostile one, or in front of it. */
				if (first)
					start(&victim, "victim", 1234567, "16M");
				else
					start(&hostile, "stay", 1, "16M");
				wait_ready(first ? &victim : &hostile);
				if (!first) {
					start(&victim, "victim", 1234567, "16M");
					wait_ready(&victim);
					finish(&hostile);
					await_log("has left", left + 1);
				}
				run(&hostile, "beyond", offset, "16M");
				finish(&victim);
				stop_manager();
				ck_assert_msg(strstr(hostile.out, "poked"), "%s %s",
					      hostile.out, log_text());
				snprintf(expected, sizeof(expected), "sum %u\n",
					 sum_of(1234567));
				ck_assert_msg(strstr(victim.out, expected), "%s, %d: %s",
					      modes[i], offset, victim.out);
				ck_assert_int_eq(
					count_in_log("outside of all reserved addresses"), 0);
			}
}
END_TEST

/* The manager has places for 4096 functions of a client. */
START_TEST(functions_that_are_gone_or_known_take_no_place)
{
	struct client client;

	start_manager("fence", "10s");
	run(&client, "functions", 5000, "16M");
	stop_manager();
	ck_assert_msg(!client.status, "%s %s", client.out, log_text());
	ck_assert_ptr_nonnull(strstr(client.out, "asked for 5000 times\n"));
}
END_TEST

/* A message has room for 256 parameters of a kernel, and for 4096 bytes of them. */
START_TEST(a_kernel_with_more_parameters_than_fit_is_refused)
{
	struct client client;

	start_manager("fence", "10s");
	run(&client, "parameters", 1, "16M");
	await_log(" 2 refused; ", 1);
	stop_manager();
	ck_assert_msg(strstr(client.out, "parameters_256: 0\nparameters_257: 801\n"
					 "bytes_4104: 801\n"),
		      "%s", client.out);
	ck_assert_ptr_nonnull(strstr(log_text(), "refused: kernel parameters_257 has more than "
						 "256 parameters\n"));
	ck_assert_ptr_nonnull(strstr(log_text(), "refused: kernel bytes_4104 has parameters of "
						 "more than 4096 bytes\n"));
}
END_TEST

/* ptxas may have spilled bounds to local memory, which such a store could change. */
START_TEST(a_kernel_that_may_reach_spilled_bounds_is_refused)
{
	struct client client;

	start_manager("once", "10s");
	run(&client, "local", 1, "16M");
	stop_manager();
	ck_assert_msg(strstr(client.out, "local stores: code 0\n"), "%s", client.out);
	ck_assert_msg(strstr(client.out, "local stores and local memory: code 218\n"), "%s",
		      client.out);
	ck_assert_ptr_nonnull(
		strstr(log_text(), "refused: kernel poke has 496 bytes of local"));
	start_manager_with("once", "10s", "--local-stores", NULL, false);
	run(&client, "local", 1, "16M");
	stop_manager();
	ck_assert_msg(strstr(client.out, "local stores and local memory: code 0\n"), "%s",
		      client.out);
}
END_TEST

static void control_path(const struct client *client, const char *name, char path[192])
{
	snprintf(path, 192, "%s/control/%d/0/%s", folder, client->pid, name);
}

/* Wait until the client's fence.stat has these lines. */
static void await_stat(const struct client *client, const char *lines)
{
	char path[192], text[512] = "";

	control_path(client, "fence.stat", path);
	for (int i = 0; i < 1000; i++) {
		FILE *file = fopen(path, "r");
		size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

		text[length] = '\0';
		if (file)
			fclose(file);
		if (strstr(text, lines))
			return;
		usleep(10000);
	}
	ck_abort_msg("no '%s' in '%s'", lines, text);
}

static void set_sample(const struct client *client, const char *value)
{
	char path[192];
	FILE *file;

	control_path(client, "fence.sample", path);
	file = fopen(path, "w");
	ck_assert_msg(file, "%s", path);
	fputs(value, file);
	fclose(file);
}

/* Its memory after the stores of "wild": those outside of the partition came to @word. */
static unsigned int sum_of_wild(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < 1000; i++)
		sum = sum * 31 + (i == 1 ? 5 : i == 2 ? 6 : 0);
	return sum;
}

/* The setting is the user's, and may change while the client runs. No result changes. */
START_TEST(counted_launches_find_wild_accesses)
{
	static const char *const modes[] = { "once", "fence", "modulo" };
	char expected[160], path[192];
	unsigned long long own = 0;
	struct client client;

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		start_manager_with(modes[i], "10s", NULL, NULL, true);
		start(&client, "wild", 70, "32M");
		wait_ready(&client);
		sscanf(client.out, "at %llu", &own);
		await_stat(&client, "every: 0\nlaunches: 140\nsampled: 0\n");
		set_sample(&client, "nothing\n");
		set_sample(&client, "1\n");
		await_stat(&client, "every: 1\n");
		fputs("go\n", client.to);
		fflush(client.to);
		wait_ready(&client);
		snprintf(expected, sizeof(expected),
			 "sampled: 140\nfound_launches: 70\nfound_accesses: 70\nlast_address: "
			 "0x%llx\n",
			 own + (1ull << 45) + 8);
		await_stat(&client, expected);
		control_path(&client, "fence.stat", path);
		finish(&client);
		/* It is said after the client has gone. */
		await_log("140 of its launches were counted, 70 of them had wild accesses, 70 "
			  "in all\n",
			  (int)i + 1);
		stop_manager();
		snprintf(expected, sizeof(expected), "sum %u\n", sum_of_wild());
		if (strcmp(modes[i], "modulo"))
			ck_assert_msg(strstr(client.out, expected), "%s: %s", modes[i],
				      client.out);
		ck_assert_int_ne(access(path, F_OK), 0);
	}
}
END_TEST

/* gvmd over the manager's files: the policy "detect" raises the share once something was found. */
START_TEST(gvmd_looks_for_wild_accesses)
{
	static const char policy[] =
		"{\"policy\": \"detect\", \"every\": 2, \"alarm\": 1, \"hold\": \"600s\"}";
	char path[128], root[128], container[64];
	struct client client;
	int status;
	FILE *file;
	pid_t gvmd;

	snprintf(path, sizeof(path), "%s/detect.json", folder);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(policy, file);
	fclose(file);
	start_manager_with("once", "10s", NULL, NULL, true);
	start(&client, "wild", 100, "32M");
	wait_ready(&client);
	await_stat(&client, "launches: 200\nsampled: 0\n");
	snprintf(root, sizeof(root), "%s/control", folder);
	snprintf(container, sizeof(container), "app=%d", client.pid);
	gvmd = fork();
	if (!gvmd) {
		execl(GVMD, GVMD, "run", path, "--root", root, "--container", container,
		      "--quiet", NULL);
		_exit(127);
	}
	await_stat(&client, "every: 2\n");
	fputs("go\n", client.to);
	fflush(client.to);
	wait_ready(&client);
	/* About half of its launches were counted, and some of those are wild. */
	await_stat(&client, "every: 1\n");
	finish(&client);
	/* Its only container has gone. */
	ck_assert_int_eq(waitpid(gvmd, &status, 0), gvmd);
	ck_assert_int_eq(status, 0);
	stop_manager();
}
END_TEST

/* One of ten on average, at random: neither none nor all of a program's repeated kernels. */
START_TEST(a_share_of_launches_is_counted)
{
	unsigned int sampled = 0, found = 0;
	struct client client;
	const char *said;

	start_manager_with("once", "10s", "--sample", "10", false);
	start(&client, "wild", 1000, "32M");
	wait_ready(&client);
	fputs("go\n", client.to);
	finish(&client);
	await_log("were counted", 1);
	stop_manager();
	said = strstr(log_text(), "client 1: ");
	for (; said; said = strstr(said + 1, "client 1: "))
		if (sscanf(said,
			   "client 1: %u of its launches were counted, %u of them had wild",
			   &sampled, &found) == 2)
			break;
	/*
	 * One of ten is to be counted, of 4000 launches. The draws repeat: their seed is the
	 * client's number.
	 */
	ck_assert_uint_gt(sampled, 320);
	ck_assert_uint_lt(sampled, 480);
	ck_assert_uint_gt(found, sampled / 3);
	ck_assert_uint_lt(found, 2 * sampled / 3);
}
END_TEST

/* Its copy would have variables of its own: the program would go wrong. */
START_TEST(a_module_that_writes_to_its_variables_is_not_sampled)
{
	struct client client;

	start_manager_with("fence", "10s", "--sample", "1", true);
	start(&client, "variable", 10, "32M");
	wait_ready(&client);
	await_stat(&client, "launches: 20\nsampled: 0\n");
	await_stat(&client, "refused_modules: 1\n");
	ck_assert_int_eq(count_in_log("cannot be sampled: it writes to variables"), 1);
	kill(client.pid, SIGKILL);
	await_log("has left", 1);
	stop_manager();
}
END_TEST

/* A killed client's share is free at once, and the next one sees none of its bytes. */
START_TEST(a_dead_clients_share_is_free_and_cleared)
{
	struct client clients[2], refused, next;

	start_manager("fence", "10s");
	for (int i = 0; i < 2; i++) {
		start(&clients[i], "stay", 60, "64M");
		wait_ready(&clients[i]);
	}
	run(&refused, "fresh", 1, "16M");
	ck_assert_ptr_nonnull(strstr(refused.out, "error 2: cuInit(0)"));
	kill(clients[0].pid, SIGKILL);
	finish(&clients[0]);
	await_log("has left", 2); /* the refused one, and the dead one */
	run(&next, "fresh", 60, "64M");
	ck_assert_msg(strstr(next.out, "0 bytes are not zero"), "%s %s", next.out, log_text());
	/* The same addresses. */
	ck_assert_int_eq(strncmp(next.out, clients[0].out, strlen("at 1234567")), 0);
	finish(&clients[1]);
	ck_assert_ptr_nonnull(strstr(clients[1].out, "then 0"));
	stop_manager();
}
END_TEST

/* The context ends, all clients are told, and a new client is served. */
static void survive(const char *kernel, const char *said)
{
	struct client other, bad, next;

	start_manager("fence", "100ms");
	start(&other, "stay", 1, "16M");
	wait_ready(&other);
	run(&bad, kernel, 0, "16M");
	ck_assert_ptr_nonnull(strstr(bad.out, ": 709\nagain: 709\n"));
	await_log("serving", 2);
	ck_assert_int_eq(count_in_log(said), 1);
	finish(&other);
	ck_assert_ptr_nonnull(strstr(other.out, "then 709"));
	run(&next, "all", 3, "16M");
	ck_assert_msg(!next.status, "%s %s", next.out, log_text());
	stop_manager();
}

START_TEST(a_kernel_that_never_ends_is_survived)
{
	survive("spin", "its kernel has not ended after 0.1 s");
}
END_TEST

START_TEST(a_broken_context_is_survived)
{
	survive("fault", "error 700 has broken the context");
}
END_TEST

/*
 * Anything may come over the socket. What is no message ends the connection, and nothing else.
 */
START_TEST(messages_of_any_bytes_harm_nobody)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct client client;
	unsigned char bytes[sizeof(struct fenced_request) + 8];
	u64 state = 1;

	start_manager("fence", "10s");
	strcpy(address.sun_path, socket_path);
	for (int i = 0; i < 300; i++) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
		for (size_t at = 0; at < sizeof(bytes); at++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			bytes[at] = i % 3 ? (u8)(state >> 56) : 0;
		}
		(void)!send(fd, bytes, (size_t)(state >> 33) % sizeof(bytes), MSG_NOSIGNAL);
		close(fd);
	}
	run(&client, "all", 3, "16M");
	ck_assert_msg(!client.status, "%s %s", client.out, log_text());
	ck_assert_int_eq(count_in_log("serving"), 1);
	stop_manager();
}
END_TEST

static int connect_to_manager(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, socket_path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* How many descriptors the process has that serves: the manager's child. */
static int count_descriptors(void)
{
	char path[64], entry[16] = "";
	int count = 0, number, pid = 0;
	struct dirent *file;
	FILE *children;
	DIR *folder_of_it;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", manager, manager);
	children = fopen(path, "r");
	ck_assert(children && fscanf(children, "%d", &pid) == 1);
	fclose(children);
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	folder_of_it = opendir(path);
	ck_assert_ptr_nonnull(folder_of_it);
	while ((file = readdir(folder_of_it))) {
		snprintf(entry, sizeof(entry), "%.15s", file->d_name);
		count += sscanf(entry, "%d", &number) == 1;
	}
	closedir(folder_of_it);
	return count;
}

/* Say hello with as many descriptors as the kernel lets through. */
static void send_descriptors(void)
{
	struct fenced_request hello = { .call = FENCED_HELLO, .a = FENCED_VERSION };
	int descriptors[16], fd = connect_to_manager();
	char control[CMSG_SPACE(sizeof(descriptors))] = "";
	struct iovec part = { &hello, FENCED_REQUEST_HEAD };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	for (int i = 0; i < 16; i++)
		descriptors[i] = 0;
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(descriptors));
	memcpy(CMSG_DATA(head), descriptors, sizeof(descriptors));
	ck_assert_int_eq(sendmsg(fd, &message, 0), (ssize_t)FENCED_REQUEST_HEAD);
	close(fd);
}

START_TEST(descriptors_of_a_client_do_not_stay)
{
	int before;

	start_manager("once", "30s");
	before = count_descriptors();
	for (int i = 0; i < 8; i++)
		send_descriptors();
	await_log("has left", 8);
	ck_assert_int_eq(count_descriptors(), before);
	stop_manager();
}
END_TEST

/* More connections than the manager may have descriptors, and none says a word. */
START_TEST(clients_that_say_nothing_starve_nobody)
{
	struct rlimit few = { 40, 40 }, old;
	struct client client;
	int silent[60];

	getrlimit(RLIMIT_NOFILE, &old);
	few.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	start_manager("once", "30s");
	setrlimit(RLIMIT_NOFILE, &old);
	for (int i = 0; i < 60; i++)
		silent[i] = connect_to_manager();
	run(&client, "all", 3, "16M");
	ck_assert_msg(!client.status, "%s %s", client.out, log_text());
	for (int i = 0; i < 60; i++)
		close(silent[i]);
	stop_manager();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, every_call_does_what_cuda_does);
	tcase_add_test(tests, a_hostile_client_reaches_nobody);
	tcase_add_test(tests, offsets_that_are_kept_reach_nobody);
	tcase_add_test(tests, functions_that_are_gone_or_known_take_no_place);
	tcase_add_test(tests, a_kernel_with_more_parameters_than_fit_is_refused);
	tcase_add_test(tests, a_kernel_that_may_reach_spilled_bounds_is_refused);
	tcase_add_test(tests, counted_launches_find_wild_accesses);
	tcase_add_test(tests, gvmd_looks_for_wild_accesses);
	tcase_add_test(tests, a_share_of_launches_is_counted);
	tcase_add_test(tests, a_module_that_writes_to_its_variables_is_not_sampled);
	tcase_add_test(tests, a_dead_clients_share_is_free_and_cleared);
	tcase_add_test(tests, a_kernel_that_never_ends_is_survived);
	tcase_add_test(tests, a_broken_context_is_survived);
	tcase_add_test(tests, messages_of_any_bytes_harm_nobody);
	tcase_add_test(tests, descriptors_of_a_client_do_not_stay);
	tcase_add_test(tests, clients_that_say_nothing_starve_nobody);
}

int main(void)
{
	return suite_run("fenced", setup, teardown, add_tests);
}
