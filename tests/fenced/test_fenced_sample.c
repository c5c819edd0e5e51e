// SPDX-License-Identifier: MIT OR GPL-2.0
/* gvmfenced: launches that are counted, and the wild accesses that they find. */
#include <sched.h>
#include <sys/file.h>

#include "by_hand.h"

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

/* The copy of its count waits in a full queue. The watch must not wait for that. */
START_TEST(a_counted_kernel_that_never_ends_is_survived)
{
	struct client bad;

	setenv("FAKE_FULL", "1", 1);
	start_manager_with("once", "100ms", "--sample", "1", true);
	unsetenv("FAKE_FULL");
	start(&bad, "spin", 0, "16M");
	await_log("its kernel has not ended after", 1);
	await_log("serving", 2);
	finish(&bad);
	ck_assert_msg(strstr(bad.out, "spin: 709\n"), "%s", bad.out);
	stop_manager();
}
END_TEST

static void assert_no_files(const char *name)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/control/%s", folder, name);
	ck_assert_msg(access(path, F_OK), "%s is there", path);
}

/*
 * A manager in a container sees no process of the host: SO_PEERCRED says 0 of all of them. They
 * are served, and none has files that are another one's, too.
 */
START_TEST(clients_of_another_pid_namespace_have_no_files)
{
	int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	struct client clients[2];

	if (own < 0 || unshare(CLONE_NEWPID)) {
		close(own);
		return; /* it needs root */
	}
	start_manager_with("once", "10s", NULL, NULL, true);
	ck_assert_int_eq(setns(own, CLONE_NEWPID), 0);
	close(own);
	for (int i = 0; i < 2; i++) {
		start(&clients[i], "stay", 4, "16M");
		wait_ready(&clients[i]);
	}
	assert_no_files("0");
	for (int i = 0; i < 2; i++) {
		finish(&clients[i]);
		ck_assert_msg(strstr(clients[i].out, "then 0"), "%s", clients[i].out);
	}
	await_log("has left", 2);
	ck_assert_msg(count_in_log("its process is in a PID namespace that gvmfenced does not "
				   "see\n") == 2,
		      "%s", log_end());
	stop_manager();
}
END_TEST

/* One that the manager sees, by the number that the manager has for it. */
START_TEST(a_client_of_a_pid_namespace_below_has_files)
{
	int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	char path[192];
	struct client client;

	start_manager_with("once", "10s", NULL, NULL, true);
	if (own < 0 || unshare(CLONE_NEWPID)) {
		close(own);
		stop_manager();
		return; /* it needs root */
	}
	start(&client, "stay", 4, "16M");
	ck_assert_int_eq(setns(own, CLONE_NEWPID), 0);
	close(own);
	wait_ready(&client);
	await_stat(&client, "every: 0\n");
	assert_no_files("1");
	control_path(&client, "fence.stat", path);
	finish(&client);
	await_log("has left", 1);
	ck_assert_int_ne(access(path, F_OK), 0);
	stop_manager();
}
END_TEST

/* A client by hand of the process that is the test. */
static int open_client(void)
{
	u32 result;
	int fd = say_hello(0, &result);

	ck_assert_uint_eq(result, 0);
	return fd;
}

/* The files stay the first one's: they do not go with the second, and are free for the next. */
START_TEST(two_clients_of_a_process_do_not_share_files)
{
	struct client self = { .pid = getpid() };
	int first, second;

	start_manager_with("once", "10s", NULL, NULL, true);
	first = open_client();
	second = open_client();
	await_log("its process is another client, too\n", 1);
	close(second);
	await_log("has left", 1);
	await_stat(&self, "every: 0\n");
	set_sample(&self, "7\n");
	await_stat(&self, "every: 7\n");
	close(first);
	await_log("has left", 2);
	first = open_client();
	await_stat(&self, "every: 0\n");
	close(first);
	await_log("has left", 3);
	ck_assert_int_eq(count_in_log("another client, too\n"), 1);
	stop_manager();
}
END_TEST

/* Those of clients that are still there would tell of a manager that is not. */
START_TEST(a_manager_that_ends_leaves_no_files)
{
	char path[192];
	struct client client;

	start_manager_with("once", "10s", NULL, NULL, true);
	start(&client, "stay", 4, "16M");
	wait_ready(&client);
	await_stat(&client, "every: 0\n");
	stop_manager();
	control_path(&client, "fence.stat", path);
	ck_assert_int_ne(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%d", client.pid);
	assert_no_files(path);
	assert_no_files(".gpu0");
	ck_assert_int_ne(access(socket_path, F_OK), 0);
	finish(&client);
}
END_TEST

/* The second one would remove the files of the first one's clients. */
START_TEST(two_managers_do_not_share_files)
{
	struct client client;
	char path[128];
	pid_t first;
	int status, lock;

	start_manager_with("once", "10s", NULL, NULL, true);
	start(&client, "stay", 4, "16M");
	wait_ready(&client);
	await_stat(&client, "every: 0\n");
	first = manager;
	strcat(socket_path, ".2");
	launch_manager("once", "10s", NULL, NULL, true);
	await_log("control: another gvmfenced has the files of this GPU there\n", 1);
	ck_assert_int_eq(waitpid(manager, &status, 0), manager);
	ck_assert_int_eq(status, 2 << 8);
	ck_assert_int_ne(access(socket_path, F_OK), 0);
	set_sample(&client, "7\n");
	await_stat(&client, "every: 7\n");
	finish(&client);
	/* A manager that was killed has it until its child has ended, too. */
	kill(first, SIGKILL);
	waitpid(first, NULL, 0);
	snprintf(path, sizeof(path), "%s/control/.gpu0", folder);
	lock = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(flock(lock, LOCK_EX), 0);
	close(lock);
	start_manager_with("once", "10s", NULL, NULL, true);
	stop_manager();
	assert_no_files(".gpu0");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, counted_launches_find_wild_accesses);
	tcase_add_test(tests, gvmd_looks_for_wild_accesses);
	tcase_add_test(tests, a_share_of_launches_is_counted);
	tcase_add_test(tests, a_counted_kernel_that_never_ends_is_survived);
	tcase_add_test(tests, clients_of_another_pid_namespace_have_no_files);
	tcase_add_test(tests, a_client_of_a_pid_namespace_below_has_files);
	tcase_add_test(tests, two_clients_of_a_process_do_not_share_files);
	tcase_add_test(tests, a_manager_that_ends_leaves_no_files);
	tcase_add_test(tests, two_managers_do_not_share_files);
	tcase_add_test(tests, a_module_that_writes_to_its_variables_is_not_sampled);
}

int main(void)
{
	return suite_run("fenced_sample", setup, teardown, add_tests);
}
