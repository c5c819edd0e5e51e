// SPDX-License-Identifier: MIT OR GPL-2.0
/* gvmfenced: what is left when clients or kernels end badly, or say what no client says. */
#include <dirent.h>
#include <sys/resource.h>

#include "by_hand.h"

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
	ck_assert_msg(strstr(next.out, "0 bytes are not zero"), "%s %s", next.out, log_end());
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
	ck_assert_msg(!next.status, "%s %s", next.out, log_end());
	stop_manager();
}

START_TEST(a_kernel_that_never_ends_is_survived)
{
	survive("spin", "its kernel has not ended after");
}
END_TEST

/* The endless kernel has no mark: it was launched before the mark of the short one had passed. */
START_TEST(a_kernel_behind_a_short_one_that_never_ends_is_survived)
{
	survive("late-spin", "its kernel has not ended after");
}
END_TEST

/* As in CUDA: cuMemset() comes after it, so it has no result before the kernel has one. */
START_TEST(the_default_stream_waits_for_the_others)
{
	survive("default-stream", "its kernel has not ended after");
}
END_TEST

START_TEST(a_broken_context_is_survived)
{
	survive("fault", "error 700 has broken the context");
}
END_TEST

/*
 * A client may send anything. Bytes that are no message end its connection, and nothing else.
 */
START_TEST(messages_of_any_bytes_harm_nobody)
{
	struct client client;
	unsigned char bytes[sizeof(struct fenced_request) + 8];
	u64 state = 1;

	start_manager("fence", "10s");
	for (int i = 0; i < 300; i++) {
		int fd = connect_to_manager();

		for (size_t at = 0; at < sizeof(bytes); at++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			bytes[at] = i % 3 ? (u8)(state >> 56) : 0;
		}
		(void)!send(fd, bytes, (size_t)(state >> 33) % sizeof(bytes), MSG_NOSIGNAL);
		close(fd);
	}
	run(&client, "all", 3, "16M");
	ck_assert_msg(!client.status, "%s %s", client.out, log_end());
	ck_assert_int_eq(count_in_log("serving"), 1);
	stop_manager();
}
END_TEST

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
	const int descriptors[HELLO_DESCRIPTORS] = { 0 };
	int fd = connect_to_manager();

	send_hello(fd, descriptors, HELLO_DESCRIPTORS);
	close(fd);
}

START_TEST(descriptors_of_a_client_do_not_stay)
{
	int before;

	start_manager("once", "30s");
	send_descriptors(); /* what the manager opens for its first client stays */
	await_log("has left", 1);
	before = count_descriptors();
	for (int i = 0; i < 8; i++)
		send_descriptors();
	await_log("has left", 9);
	ck_assert_int_eq(count_descriptors(), before);
	stop_manager();
}
END_TEST

/*
 * A hole in a window of huge pages has no page any more, and the pool may be empty: an access of
 * the manager there would end it.
 */
START_TEST(a_window_of_huge_pages_is_refused)
{
	int probe = memfd_create("probe", MFD_CLOEXEC | MFD_HUGETLB);
	u32 result;

	if (probe < 0)
		return; /* this kernel has none */
	close(probe);
	start_manager("once", "30s");
	close(say_hello(0, &result));
	ck_assert_uint_eq(result, 0);
	close(say_hello(MFD_HUGETLB, &result));
	ck_assert_uint_eq(result, 1);
	await_log("its window is of huge pages", 1);
	stop_manager();
}
END_TEST

/* It would crash again and again. */
START_TEST(a_driver_that_crashes_at_the_start_ends_the_manager)
{
	int status = 0;

	setenv("FAKE_CRASH", "1", 1);
	launch_manager("once", "30s", NULL, NULL, false);
	unsetenv("FAKE_CRASH");
	await_log("the GPU cannot be served", 1);
	ck_assert_int_eq(count_in_log("starting again"), 0);
	ck_assert_int_eq(waitpid(manager, &status, 0), manager);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 2);
	ck_assert_int_ne(access(socket_path, F_OK), 0);
}
END_TEST

#define FEW_DESCRIPTORS 40

static void start_manager_with_few_descriptors(void)
{
	struct rlimit few, old;

	getrlimit(RLIMIT_NOFILE, &old);
	few = (struct rlimit){ FEW_DESCRIPTORS, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &few);
	start_manager("once", "30s");
	setrlimit(RLIMIT_NOFILE, &old);
}

/* More connections than the manager may have descriptors, and none says a word. */
START_TEST(clients_that_say_nothing_starve_nobody)
{
	struct client client;
	int silent[60];

	start_manager_with_few_descriptors();
	for (int i = 0; i < 60; i++)
		silent[i] = connect_to_manager();
	run(&client, "all", 3, "16M");
	ck_assert_msg(!client.status, "%s %s", client.out, log_end());
	for (int i = 0; i < 60; i++)
		close(silent[i]);
	stop_manager();
}
END_TEST

/* The client's connection takes the last descriptor, and its window needs one, too. */
START_TEST(the_last_descriptor_is_enough_for_a_client)
{
	int silent[FEW_DESCRIPTORS], count;
	struct client client;

	start_manager_with_few_descriptors();
	send_descriptors();
	await_log("has left", 1);
	count = FEW_DESCRIPTORS - 1 - count_descriptors();
	for (int i = 0; i < count; i++)
		silent[i] = connect_to_manager();
	run(&client, "all", 3, "16M");
	ck_assert_msg(!client.status, "%s %s", client.out, log_end());
	for (int i = 0; i < count; i++)
		close(silent[i]);
	stop_manager();
}
END_TEST

/* As of "gvmfenced serve 2>&1 | head -n 1": no client loses its memory for it. */
START_TEST(a_reader_of_its_lines_may_go)
{
	struct client client;
	char text[4096] = "";
	size_t length = 0;
	int lines[2], status;

	ck_assert_int_eq(pipe2(lines, O_CLOEXEC), 0);
	manager = fork();
	if (!manager) {
		signal(SIGPIPE, SIG_DFL);
		dup2(lines[1], 2);
		setenv("LD_LIBRARY_PATH", FAKE, 1);
		execl(MANAGER, MANAGER, "serve", "--socket", socket_path, "--memory", "128M",
		      NULL);
		_exit(127);
	}
	close(lines[1]);
	while (!strstr(text, "serving")) {
		ssize_t some = read(lines[0], text + length, sizeof(text) - 1 - length);

		ck_assert_int_gt(some, 0);
		length += (size_t)some;
		text[length] = '\0';
	}
	close(lines[0]);
	for (int i = 0; i < 2; i++) {
		run(&client, "all", 3, "16M");
		ck_assert_msg(!client.status, "%s", client.out);
	}
	kill(manager, SIGTERM);
	ck_assert_int_eq(waitpid(manager, &status, 0), manager);
	ck_assert_int_eq(status, 0);
	ck_assert_int_ne(access(socket_path, F_OK), 0);
}
END_TEST

/* The process that has the context. */
static pid_t child_of_manager(void)
{
	char path[64];
	FILE *stream;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", manager, manager);
	stream = fopen(path, "r");
	ck_assert_ptr_nonnull(stream);
	ck_assert_int_eq(fscanf(stream, "%d", &pid), 1);
	fclose(stream);
	return pid;
}

/* A terminal that closes sends it to both processes; "reload" of a service manager to the first. */
START_TEST(a_hangup_ends_no_client)
{
	struct client client;

	start_manager("fence", "10s");
	start(&client, "stay", 1, "16M");
	wait_ready(&client);
	kill(child_of_manager(), SIGHUP);
	kill(manager, SIGHUP);
	await_log("SIGHUP: goes on", 1);
	finish(&client);
	ck_assert_msg(strstr(client.out, "then 0"), "%s %s", client.out, log_end());
	ck_assert_int_eq(count_in_log("serving"), 1);
	ck_assert_int_eq(count_in_log("SIGHUP: goes on"), 1);
	stop_manager();
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, a_hangup_ends_no_client);
	tcase_add_test(tests, a_dead_clients_share_is_free_and_cleared);
	tcase_add_test(tests, a_kernel_that_never_ends_is_survived);
	tcase_add_test(tests, a_kernel_behind_a_short_one_that_never_ends_is_survived);
	tcase_add_test(tests, the_default_stream_waits_for_the_others);
	tcase_add_test(tests, a_broken_context_is_survived);
	tcase_add_test(tests, messages_of_any_bytes_harm_nobody);
	tcase_add_test(tests, descriptors_of_a_client_do_not_stay);
	tcase_add_test(tests, a_window_of_huge_pages_is_refused);
	tcase_add_test(tests, a_driver_that_crashes_at_the_start_ends_the_manager);
	tcase_add_test(tests, clients_that_say_nothing_starve_nobody);
	tcase_add_test(tests, a_reader_of_its_lines_may_go);
	tcase_add_test(tests, the_last_descriptor_is_enough_for_a_client);
}

int main(void)
{
	return suite_run("fenced_ends", setup, teardown, add_tests);
}
