// SPDX-License-Identifier: MIT OR GPL-2.0
/* The command line of "gvmsim trace": its output, and its messages about mistakes. */
#include "cli/cmd_trace.h"
#include "terminal/program.h"
#include "trace_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char cli_out[FILE_BYTES_MAX];
static char cli_err[FILE_BYTES_MAX];

/* Make the stream @fd write into a file of the folder. Returns a copy of the old stream. */
static int divert(int fd)
{
	char path[128];
	int saved = dup(fd), file;

	snprintf(path, sizeof(path), "%s/std%d", folder, fd);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(file, 0);
	ck_assert_int_ge(dup2(file, fd), 0);
	close(file);
	return saved;
}

static void restore(int fd, int saved, char *text)
{
	char path[128];

	dup2(saved, fd);
	close(saved);
	snprintf(path, sizeof(path), "%s/std%d", folder, fd);
	text[get_file(path, text, FILE_BYTES_MAX)] = '\0';
}

static const struct command *const commands[] = { &command_trace, NULL };
static const struct command gvmsim = { .name = "gvmsim", .commands = commands };

/* Run gvmsim with the words @args up to NULL, filling cli_out and cli_err. */
static int cli(const char *const *args)
{
	char words[8][600], *argv[9];
	int argc = 0, ret, out, err;

	for (; args[argc]; argc++)
		argv[argc] = strcpy(words[argc], args[argc]);
	argv[argc] = NULL;
	fflush(NULL);
	out = divert(STDOUT_FILENO);
	err = divert(STDERR_FILENO);
	ret = program_main(&gvmsim, argc, argv);
	fflush(NULL);
	restore(STDOUT_FILENO, out, cli_out);
	restore(STDERR_FILENO, err, cli_err);
	return ret;
}

#define CLI(...) cli((const char *const[]){ "gvmsim", "trace", __VA_ARGS__, NULL })

START_TEST(cli_import_reports_its_counts)
{
	struct trace trace;
	char expected[512];
	struct stat st;

	ck_assert_int_eq(CLI("import", FIRST400, out_path), SIM_EXIT_OK);
	ck_assert_int_eq(stat(out_path, &st), 0);
	snprintf(expected, sizeof(expected),
		 "requests             383\n"
		 "failures skipped     17\n"
		 "bad rows skipped     0\n"
		 "attribution          BurstGPT (Wang et al., CC-BY-4.0)\n"
		 "bytes                16840 in, %jd out\n",
		 (intmax_t)st.st_size);
	ck_assert_str_eq(cli_out, expected);
	ck_assert_str_eq(cli_err, "");
	must_read(out_path, &trace);
	ck_assert_uint_eq(trace.count, 383);
	trace_destroy(&trace);
}
END_TEST

START_TEST(cli_import_takes_an_attribution_and_skips_bad_rows)
{
	struct trace trace;

	put_file(in_path, HEAD6 ROW6("5") "oops\n", strlen(HEAD6 ROW6("5") "oops\n"));
	ck_assert_int_eq(CLI("import", in_path, out_path), SIM_EXIT_USER);
	ck_assert_int_ne(access(out_path, F_OK), 0);
	ck_assert_int_eq(CLI("import", "--skip-bad", in_path, "--attribution", "me, CC0",
			     out_path),
			 SIM_EXIT_OK);
	must_read(out_path, &trace);
	ck_assert_uint_eq(trace.bad_rows, 1);
	ck_assert_str_eq(trace.attribution, "me, CC0");
	trace_destroy(&trace);
}
END_TEST

/* A measurement has no author. */
START_TEST(cli_import_takes_a_container_of_a_results_folder)
{
	static const char text[] =
		"container,kind,arrival_ns,prompt_tokens,output_tokens,outcome\n"
		"a,request,7,10,3,completed\n"
		"b,request,9,20,1,completed\n"
		"b,request,9,30,0,failed\n";
	char expected[256];
	struct trace trace;
	struct stat st;

	put_file(in_path, text, strlen(text));
	ck_assert_int_eq(CLI("import", in_path, out_path), SIM_EXIT_USER);
	ck_assert_int_ne(access(out_path, F_OK), 0);
	ck_assert_int_eq(CLI("import", in_path, out_path, "--container", "b"), SIM_EXIT_OK);
	ck_assert_int_eq(stat(out_path, &st), 0);
	snprintf(expected, sizeof(expected),
		 "requests             1\n"
		 "failures skipped     1\n"
		 "bad rows skipped     0\n"
		 "bytes                %zu in, %jd out\n",
		 strlen(text), (intmax_t)st.st_size);
	ck_assert_str_eq(cli_out, expected);
	must_read(out_path, &trace);
	assert_request(&trace, 0, 0, 20, 1, 1);
	trace_destroy(&trace);
}
END_TEST

START_TEST(cli_import_refuses_an_attribution_that_does_not_fit)
{
	char text[513];

	memset(text, 'x', 512);
	text[512] = '\0';
	ck_assert_int_eq(CLI("import", FIRST400, out_path, "--attribution", text),
			 SIM_EXIT_USER);
	ck_assert_str_eq(
		cli_err,
		"gvmsim: trace import: option '--attribution': 512 bytes, allowed are 511\n");
}
END_TEST

START_TEST(cli_import_does_not_overwrite_its_input)
{
	char text[64] = "";

	put_file(in_path, "precious", 8);
	ck_assert_int_eq(CLI("import", in_path, in_path), SIM_EXIT_USER);
	ck_assert_ptr_nonnull(strstr(cli_err, "cannot write: is the file to import\n"));
	get_file(in_path, text, sizeof(text));
	ck_assert_str_eq(text, "precious");
}
END_TEST

START_TEST(cli_info_prints_the_replayed_statistics)
{
	ck_assert_int_eq(CLI("info", SHIPPED, "--divide", "198.9"), SIM_EXIT_OK);
	ck_assert_str_eq(cli_out,
			 "attribution          BurstGPT (Wang et al., CC-BY-4.0), first 3256 "
			 "valid requests "
			 "as replayed in the GVM paper; rebuilt from public leftovers\n"
			 "requests             3256\n"
			 "failures skipped     0\n"
			 "bad rows skipped     0\n"
			 "times divided by     1989/10\n"
			 "span                 597.506 s, from 0.025 s\n"
			 "mean rate            5.4493 req/s\n"
			 "inter-arrival CV     5.38\n"
			 "\n"
			 "arrivals in windows        1 s      10 s      60 s     300 s\n"
			 "peak                        30       184       811      1661\n"
			 "index of dispersion       7.70     61.76    294.22      0.67\n"
			 "\n"
			 "tokens                     min      mean       p50       p90       "
			 "p99       max  "
			 "        sum\n"
			 "prompt                       8     642.0     457.5    1591.0    "
			 "2126.0      3407  "
			 "    2090478\n"
			 "response, generated          1     224.0     174.0     515.0    "
			 "1014.1      2048  "
			 "     729189\n"
			 "response, recorded           1     263.7     225.0     526.0    "
			 "1025.0      2048  "
			 "     858696\n");
}
END_TEST

/* Counts 1 0 1 in windows of 1 s: mean 2/3, variance 2/9. One window has no variance. */
START_TEST(cli_info_has_no_dispersion_of_one_window)
{
	static const char rows[] = "Timestamp,Request tokens,Response tokens\n0,1,1\n2,1,1\n";

	put_file(in_path, rows, sizeof(rows) - 1);
	ck_assert_int_eq(CLI("info", in_path), SIM_EXIT_OK);
	ck_assert_ptr_nonnull(strstr(cli_out, "\nindex of dispersion       0.33         -"
					      "         -         -\n"));
}
END_TEST

static const struct {
	const char *args[4];
	const char *message;
} misuse[] = {
	{ { NULL }, "trace: no command is given, allowed are import, info and --help" },
	{ { "describe" },
	  "trace: unknown command 'describe', allowed are import, info and --help" },
	{ { "import", "a" },
	  "trace import: 1 file names, expected 2, usage: gvmsim trace import IN OUT "
	  "[--skip-bad] [--attribution TEXT] [--container NAME]" },
	{ { "info", "a", "--divide" },
	  "trace info: option '--divide' needs a value, usage: gvmsim "
	  "trace info FILE [--divide NUMBER]" },
	{ { "info", "a", "--skip-bad" },
	  "trace info: option '--skip-bad' is not valid here, usage: "
	  "gvmsim trace info FILE [--divide NUMBER]" },
	{ { "info", "a", "-xh" },
	  "trace info: option '-x' is not valid here, usage: gvmsim trace info "
	  "FILE [--divide NUMBER]" },
	{ { "info", "a", "--divide=-2" },
	  "trace info: option '--divide': '-2' is negative, allowed are decimal numbers above "
	  "0 with up to 9 decimals, below 18446744073" },
	{ { "info", "/nonexistent" }, "/nonexistent: cannot open: No such file or directory" },
};

START_TEST(cli_misuse_is_one_line_and_exit_2)
{
	const char *const *args = misuse[_i].args;
	char expected[512];

	ck_assert_int_eq(CLI(args[0], args[1], args[2]), SIM_EXIT_USER);
	snprintf(expected, sizeof(expected), "gvmsim: %s\n", misuse[_i].message);
	ck_assert_str_eq(cli_err, expected);
	ck_assert_str_eq(cli_out, "");
}
END_TEST

START_TEST(cli_help_teaches_by_examples)
{
	ck_assert_int_eq(CLI("--help"), SIM_EXIT_OK);
	ck_assert_ptr_nonnull(strstr(cli_out, "--divide 200\n"));
	ck_assert_int_eq(CLI("import", "--help"), SIM_EXIT_OK);
	ck_assert_ptr_nonnull(strstr(cli_out, "Examples:\n"));
	ck_assert_str_eq(cli_err, "");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, cli_import_reports_its_counts);
	tcase_add_test(tests, cli_import_takes_an_attribution_and_skips_bad_rows);
	tcase_add_test(tests, cli_import_takes_a_container_of_a_results_folder);
	tcase_add_test(tests, cli_import_refuses_an_attribution_that_does_not_fit);
	tcase_add_test(tests, cli_import_does_not_overwrite_its_input);
	tcase_add_test(tests, cli_info_prints_the_replayed_statistics);
	tcase_add_test(tests, cli_info_has_no_dispersion_of_one_window);
	tcase_add_loop_test(tests, cli_misuse_is_one_line_and_exit_2, 0, COUNT(misuse));
	tcase_add_test(tests, cli_help_teaches_by_examples);
}

int main(void)
{
	return fixture_run("trace_cli", add_tests);
}
