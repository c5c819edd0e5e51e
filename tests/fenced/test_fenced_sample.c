// SPDX-License-Identifier: MIT OR GPL-2.0
/* gvmfenced: launches that are counted, and the wild accesses that they find. */
#include "runs.h"

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

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, counted_launches_find_wild_accesses);
	tcase_add_test(tests, gvmd_looks_for_wild_accesses);
	tcase_add_test(tests, a_share_of_launches_is_counted);
	tcase_add_test(tests, a_module_that_writes_to_its_variables_is_not_sampled);
}

int main(void)
{
	return suite_run("fenced_sample", setup, teardown, add_tests);
}
