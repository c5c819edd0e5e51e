// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The number of a GPU: among the host's, and among those of a container. Folders
 * take the place of NVIDIA's.
 */
#include <sys/stat.h>

#include "shim.h"
#include "suite.h"

static char folder[64], gpus[80], dev[80];

const struct shim_real *shim_real(void)
{
	return NULL;
}

static void add_gpu(const char *address, const char *information)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", gpus, address);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/information", gpus, address);
	suite_put_file(path, information);
}

static void add_node(const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", dev, name);
	suite_put_file(path, "");
}

/* Four GPUs, whose minors do not follow their addresses, as on some hosts. */
static void setup(void)
{
	suite_make_folder(folder, sizeof(folder));
	snprintf(gpus, sizeof(gpus), "%s/gpus", folder);
	snprintf(dev, sizeof(dev), "%s/dev", folder);
	mkdir(gpus, 0755);
	mkdir(dev, 0755);
	add_gpu("0000:07:00.0", "Model: \t\t A\nDevice Minor: \t 1\n");
	add_gpu("0000:0f:00.0", "Model: \t\t A\nDevice Minor: \t 0\n");
	add_gpu("0000:47:00.0", "Model: \t\t A\nDevice Minor: \t 3\n");
	add_gpu("0000:B7:00.0", "Device Minor: \t 2\n");
}

static void teardown(void)
{
	suite_remove_folder(folder);
}

START_TEST(gpus_are_numbered_by_address)
{
	ck_assert_int_eq(number_among(gpus, NULL, "0000:07:00.0"), 0);
	ck_assert_int_eq(number_among(gpus, NULL, "0000:0F:00.0"), 1);
	ck_assert_int_eq(number_among(gpus, NULL, "0000:b7:00.0"), 3);
	ck_assert_int_eq(number_among(gpus, NULL, "0000:c7:00.0"), -1);
	ck_assert_int_eq(number_among(dev, NULL, "0000:07:00.0"), -1);
}
END_TEST

/* A container that has the second and the last GPU. */
START_TEST(a_container_numbers_its_own_gpus)
{
	add_node("nvidia0");
	add_node("nvidia2");
	ck_assert_int_eq(number_among(gpus, dev, "0000:0f:00.0"), 0);
	ck_assert_int_eq(number_among(gpus, dev, "0000:b7:00.0"), 1);
	ck_assert_int_eq(number_among(gpus, dev, "0000:47:00.0"), -1);
}
END_TEST

/* A GPU of which nothing can be read may be the container's. */
START_TEST(unknown_gpus_count)
{
	add_node("nvidia2");
	add_gpu("0000:0a:00.0", "Model: \t\t A\n");
	ck_assert_int_eq(number_among(gpus, dev, "0000:b7:00.0"), 1);
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, gpus_are_numbered_by_address);
	tcase_add_test(tests, a_container_numbers_its_own_gpus);
	tcase_add_test(tests, unknown_gpus_count);
}

int main(void)
{
	return suite_run("shim_number", setup, teardown, add_tests);
}
