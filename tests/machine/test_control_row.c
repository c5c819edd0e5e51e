// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A new control file is a new row of the core's table and nothing else. This program is built
 * with a table that has one row more (control_row.cmake): "gmem.level", alias "memory.level", a
 * number from 1 to 9. Everything else is as in gvmsim.
 */
#include <stdlib.h>
#include <unistd.h>

#include "config/load.h"
#include "engine/error.h"
#include "gvm/control.h"
#include "machine/machine.h"
#include "results/results.h"
#include "runner.h"

static const char scenario[] =
	"{\"name\": \"row\", \"duration\": \"1s\", \"gpu\": {\"profile\": \"a100-40g\"},"
	" \"system.name\": \"ghost\", \"output.controls\": true,"
	" \"containers\": {\"one\": {\"gmem.level\": 3,"
	"   \"app\": {\"type\": \"pages\", \"bytes\": \"4M\"}}},"
	" \"events\": [{\"at\": \"510ms\", \"container\": \"one\", \"file\": \"memory.level\","
	"   \"value\": 7}]}";

static char folder[] = "/tmp/test_control_row.XXXXXX";
static struct config config;
static struct sim_error err;
static volatile int not_interrupted;

static int load_with(const char *set)
{
	const struct cfg_override override = { .path_and_value = set };
	FILE *stream;
	int status;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	stream = fopen("s.json", "w");
	ck_assert_ptr_nonnull(stream);
	ck_assert_int_ge(fputs(scenario, stream), 0);
	ck_assert_int_eq(fclose(stream), 0);
	status =
		config_load(&machine_registry, "s.json", &override, set ? 1 : 0, &config, &err);
	ck_assert_int_eq(unlink("s.json") | chdir("/"), 0);
	return status;
}

START_TEST(a_row_is_a_key_with_its_bounds_and_its_alias)
{
	ck_assert_int_eq(load_with("containers.one.memory.level=12"), -SIM_EXIT_USER);
	ck_assert_str_eq(err.text, "--set:containers.one.gmem.level: 12 is out of range, "
				   "allowed: an integer from 1 to 9");
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

START_TEST(a_row_is_known_to_help_and_documents)
{
	struct cfg_schema schema;
	const struct cfg_key *key;

	ck_assert_int_eq(cfg_schema_init(&schema, &machine_registry), 0);
	key = cfg_schema_find(&schema, "containers.one.gmem.level", NULL);
	ck_assert_ptr_nonnull(key);
	ck_assert_str_eq(key->help, "a file of the test's");
	ck_assert_ptr_eq(key->control, gvm_control_find("memory.level"));
	cfg_schema_destroy(&schema);
}
END_TEST

/* Does controls.csv hold the line @line? */
static bool is_recorded(const char *line)
{
	char file[64], text[256];
	bool found = false;
	FILE *stream;

	snprintf(file, sizeof(file), "%s/controls.csv", folder);
	stream = fopen(file, "r");
	ck_assert_ptr_nonnull(stream);
	while (!found && fgets(text, sizeof(text), stream))
		found = !strcmp(text, line);
	fclose(stream);
	return found;
}

START_TEST(a_row_is_written_at_start_and_by_events_and_recorded)
{
	struct summary summary;
	struct machine machine;
	struct writer writer;
	char command[64];

	ck_assert_int_eq(load_with(NULL), 0);
	ck_assert_int_eq(
		machine_run(&machine, &config, NULL, NULL, NULL, &not_interrupted, &err), 0);
	ck_assert_int_eq(summary_compute(&summary, &machine, &err), 0);
	ck_assert_uint_eq(summary.ignored_count, 0);
	ck_assert_int_eq(results_prepare(&writer, folder, &err), 0);
	ck_assert_int_eq(results_write(&writer, &machine, &summary, NULL, &err), 0);
	ck_assert(is_recorded("100000000,one,gmem.level,3\n"));
	ck_assert(is_recorded("600000000,one,gmem.level,7\n"));
	summary_destroy(&summary);
	machine_destroy(&machine);
	config_destroy(&config);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

TEST_MAIN("control_row", a_row_is_a_key_with_its_bounds_and_its_alias,
	  a_row_is_known_to_help_and_documents,
	  a_row_is_written_at_start_and_by_events_and_recorded)
