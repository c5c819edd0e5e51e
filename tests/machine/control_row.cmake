# SPDX-License-Identifier: MIT OR GPL-2.0
# control_row.cmake: the core's table of control files (SOURCE) with one more row, as OUTPUT. Nothing
# else is changed, so a test that builds with OUTPUT shows what a new row brings by itself.
file(READ ${SOURCE} text)
string(REPLACE "/* clang-format off */" "static u64 test_level = 1;

static int test_level_show(struct gvm_container *container, char *buf, size_t size)
{
	(void)container;
	return scnprintf(buf, size, \"%llu\\n\", test_level);
}

static int test_level_store(struct gvm_container *container, u64 value)
{
	(void)container;
	test_level = value;
	return 0;
}
/* clang-format off */" changed "${text}")
string(REPLACE "	{ .name = \"gcgroup.stat\"" "	{ .name = \"gmem.level\", .alias = \"memory.level\", .mode = 0644,
	  .kind = GVM_CONTROL_NUMBER, .unit = \"\", .min = 1, .max = 9,
	  .summary = \"a file of the test's\",
	  .show = test_level_show, .store = test_level_store },
	{ .name = \"gcgroup.stat\"" changed "${changed}")
string(REGEX MATCHALL "test_level_store" found "${changed}")
list(LENGTH found count)
if(NOT count EQUAL 2)
	message(FATAL_ERROR "${SOURCE} has another shape than control_row.cmake knows")
endif()
file(WRITE ${OUTPUT} "${changed}")
