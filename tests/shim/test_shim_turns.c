// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The channel groups that the shim knows of, beside a stand-in for NVIDIA's resource manager
 * (RM): a table of objects, which takes the place of system calls. No control call may name an
 * object that is no channel group of the application any more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"
#include "suite.h"

#define CLIENT	  0x41u
#define DEVICE	  0x80u
#define GROUP	  0xa06cu
#define OBJECTS	  64
#define SLICE_US  2048
#define LEAST_US  16	/* RM gives no less */
#define WRONG_ARG 0x1fu /* NV_ERR_INVALID_ARGUMENT */

struct alloc {
	u32 client, parent, object, class;
	u64 parameters;
	u32 rest[6];
};

struct freed {
	u32 client, parent, object, status;
};

struct control {
	u32 client, object, command, flags;
	u64 parameters;
	u32 size, status;
};

struct object {
	u32 client, parent, object, class;
	u64 slice_us;
};

static struct object objects[OBJECTS];
static int rm = -1; /* what the application has open for RM */
static int controls, strays;

struct shim_settings shim_settings;

void shim_log(const char *fmt, ...)
{
	(void)fmt;
}

static char warning[256];

void shim_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(warning, sizeof(warning), fmt, args);
	va_end(args);
}

static struct object *find(u32 client, u32 handle)
{
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].class && objects[i].client == client &&
		    objects[i].object == handle)
			return &objects[i];
	return NULL;
}

/* As RM: first the objects below this one, then itself. */
static void remove_object(struct object *object)
{
	object->class = 0;
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].class && objects[i].client == object->client &&
		    objects[i].parent == object->object)
			remove_object(&objects[i]);
}

static void rm_alloc(struct alloc *call)
{
	int i = 0;

	while (i < OBJECTS && objects[i].class)
		i++;
	ck_assert_int_lt(i, OBJECTS);
	objects[i] =
		(struct object){ call->client, call->parent, call->object, call->class, 0 };
	call->rest[4] = 0;
}

static void rm_free(struct freed *call)
{
	struct object *object = find(call->client, call->object);

	call->status = object ? 0 : WRONG_ARG;
	if (object)
		remove_object(object);
}

static void rm_control(int fd, struct control *call)
{
	struct object *object = find(call->client, call->object);
	u64 *us = (u64 *)(uintptr_t)call->parameters;

	controls++;
	call->status = object && object->class == GROUP && fd == rm ? 0 : WRONG_ARG;
	if (call->status)
		strays++;
	else if (call->command == 0xa06c0103u)
		object->slice_us = *us < LEAST_US ? LEAST_US : *us;
	else
		*us = object->slice_us;
}

long syscall(long number, ...)
{
	unsigned long request;
	void *argument;
	va_list args;
	int fd;

	va_start(args, number);
	fd = va_arg(args, int);
	request = va_arg(args, unsigned long);
	argument = va_arg(args, void *);
	va_end(args);
	if (number != SYS_ioctl || _IOC_TYPE(request) != 'F') {
		errno = ENOSYS;
		return -1;
	}
	if (_IOC_NR(request) == 0x2b)
		rm_alloc(argument);
	else if (_IOC_NR(request) == 0x29)
		rm_free(argument);
	else
		rm_control(fd, argument);
	return 0;
}

static void make(u32 client, u32 parent, u32 handle, u32 class)
{
	struct alloc call = { .client = client,
			      .parent = parent,
			      .object = handle,
			      .class = class };

	ck_assert_int_eq(ioctl(rm, _IOWR('F', 0x2b, struct alloc), &call), 0);
}

static void give_up(u32 client, u32 handle)
{
	struct freed call = { .client = client, .object = handle };

	ck_assert_int_eq(ioctl(rm, _IOWR('F', 0x29, struct freed), &call), 0);
	ck_assert_uint_eq(call.status, 0);
}

static void setup(void)
{
	memset(objects, 0, sizeof(objects));
	controls = strays = 0;
	*warning = '\0';
	rm = open("/dev/null", O_RDWR | O_CLOEXEC);
	shim_settings.timeslice_us = SLICE_US;
	turns_reset();
	for (u32 client = 1; client <= 2; client++) {
		make(client, 0, client, CLIENT);
		make(client, client, 0x10, DEVICE);
		make(client, client, 0x11, DEVICE);
		make(client, 0x10, 0x20, GROUP);
		make(client, 0x11, 0x21, GROUP);
	}
}

static void teardown(void)
{
	close(rm);
}

/* Set all turns anew. Returns how many groups of RM's have them. */
static int set_all(void)
{
	int count = 0;

	for (int i = 0; i < OBJECTS; i++)
		objects[i].slice_us = 0;
	turns_changed();
	turns_apply();
	for (int i = 0; i < OBJECTS; i++)
		count += objects[i].class && objects[i].slice_us == SLICE_US;
	return count;
}

START_TEST(each_group_gets_its_slice)
{
	ck_assert_uint_eq(turns_groups(), 4);
	ck_assert_int_eq(set_all(), 4);
	ck_assert_int_eq(controls, 8); /* set, and read back */
	give_up(1, 0x20);
	ck_assert_uint_eq(turns_groups(), 3);
	ck_assert_int_eq(set_all(), 3);
	ck_assert_int_eq(strays, 0);
}
END_TEST

/* Its handle may be another object's then. */
START_TEST(a_group_goes_with_its_device)
{
	give_up(1, 0x10);
	make(1, 0x11, 0x20, 0xc86f);
	ck_assert_uint_eq(turns_groups(), 3);
	ck_assert_int_eq(set_all(), 3);
	ck_assert_int_eq(strays, 0);
}
END_TEST

START_TEST(a_group_goes_with_its_client)
{
	give_up(2, 2);
	ck_assert_uint_eq(turns_groups(), 2);
	ck_assert_int_eq(set_all(), 2);
	ck_assert_int_eq(strays, 0);
}
END_TEST

/* RM frees a client when its file is closed: no call says so. */
START_TEST(a_handle_that_comes_again_is_one_group)
{
	remove_object(find(1, 1));
	make(1, 0, 1, CLIENT);
	make(1, 1, 0x30, DEVICE);
	make(1, 0x30, 0x20, GROUP);
	ck_assert_uint_eq(turns_groups(), 4);
	set_all();
	give_up(1, 0x20);
	ck_assert_uint_eq(turns_groups(), 3);
}
END_TEST

/* The application has closed its file of RM, and has another one under the number. */
START_TEST(no_call_goes_to_a_file_that_is_not_the_drivers)
{
	int other = open("/dev/zero", O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(dup2(other, rm), rm);
	close(other);
	turns_changed();
	turns_apply();
	ck_assert_int_eq(controls, 0);
	ck_assert_uint_eq(turns_groups(), 0);
}
END_TEST

/* It is no lack of rights. */
START_TEST(a_slice_that_the_driver_changes_is_named)
{
	shim_settings.timeslice_us = 1;
	set_all();
	ck_assert_str_eq(warning,
			 "the timeslice of 4 channel groups is 16 us and not 1 us: the driver "
			 "has chosen it");
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, each_group_gets_its_slice);
	tcase_add_test(tests, a_group_goes_with_its_device);
	tcase_add_test(tests, a_group_goes_with_its_client);
	tcase_add_test(tests, a_handle_that_comes_again_is_one_group);
	tcase_add_test(tests, a_slice_that_the_driver_changes_is_named);
	tcase_add_test(tests, no_call_goes_to_a_file_that_is_not_the_drivers);
}

int main(void)
{
	return suite_run("shim_turns", setup, teardown, add_tests);
}
