// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Memory of one process in another, by CUDA's IPC: programs that know nothing of the shim, on a
 * driver library that refuses it for managed memory.
 */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runs.h"

/* "IPC_HANDLE=..." of the handle that a program has printed last. */
static const char *handle_of(const struct program *program)
{
	static char variable[256];
	const char *line = NULL, *next = program->out;

	while ((next = strstr(next, "handle ")) && (next == program->out || next[-1] == '\n'))
		line = next++;
	ck_assert_msg(line, "no handle in '%s'", program->out);
	snprintf(variable, sizeof(variable), "IPC_HANDLE=%.128s", line + strlen("handle "));
	return variable;
}

/* The @index-th sum that a program has printed. */
static const char *sum_of(const struct program *program, int index)
{
	static char sums[2][16];
	static int turn;
	const char *next = program->out;

	for (next = strstr(next, "sum "); next && index--; next = strstr(next + 1, "sum "))
		;
	ck_assert_msg(next, "too few sums in '%s'", program->out);
	turn = !turn;
	snprintf(sums[turn], sizeof(sums[turn]), "%.12s", next);
	return sums[turn];
}

static void assert_says(const struct program *program, const char *text)
{
	ck_assert_msg(strstr(program->out, text), "no '%s' in '%s' %s", text, program->out,
		      content("log"));
}

/* The application's memory keeps its address and content, and looks as it did before. */
START_TEST(two_processes_share_memory)
{
	static const struct {
		int kib;
		const char *exporter, *opener, *current;
	} runs[] = { { 2048, "linked", "ask", "2097152\n" },
		     { 3001, "ask", "dlsym", "3073024\n" },
		     { 20480, "dlsym", "linked", "20971520\n" },
		     { 71680, "ask", "ask", "73400320\n" } };
	struct program exporter, opener;
	char seen[128];

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		forget_files();
		start(&exporter, true, runs[i].exporter, "ipc_export", runs[i].kib, NULL);
		wait_ready(&exporter);
		assert_says(&exporter, "export 0\n");
		assert_says(&exporter, "again 1\n");
		snprintf(seen, sizeof(seen),
			 "managed 0 type 2 size %d %d start 1 can 1 handles 0 context 1\n",
			 1024 * runs[i].kib, 1024 * runs[i].kib);
		ck_assert_int_eq(strncmp(exporter.out, seen, strlen(seen)), 0);
		ck_assert_ptr_nonnull(strstr(exporter.out + 1, seen)); /* and then */
		await(&exporter, "gmem.current", runs[i].current);
		start(&opener, true, runs[i].opener, "ipc_open", 1, handle_of(&exporter));
		wait_ready(&opener);
		ck_assert_str_eq(sum_of(&opener, 0), sum_of(&exporter, 0));
		*strstr(seen, "can 1") = '\0';
		assert_says(&opener, seen);
		go_on(&exporter);
		wait_ready(&exporter);
		ck_assert_str_ne(sum_of(&exporter, 1), sum_of(&exporter, 0));
		assert_says(&exporter, "freed 1\n");
		await(&exporter, "gmem.current", "0\n");
		/* It is there for the other one still. */
		go_on(&opener);
		finish(&opener);
		ck_assert_str_eq(sum_of(&opener, 1), sum_of(&exporter, 1));
		assert_says(&opener, "close 0\nclose 1\n");
		ck_assert_int_eq(last_number("report", " live "), 0);
		go_on(&exporter);
		finish(&exporter);
		ck_assert_int_eq(last_number("report", " live "), 0);
	}
	assert_nothing_left();
}
END_TEST

START_TEST(small_memory_is_refused_in_one_line)
{
	struct program program;
	const char *line;

	for (int kib = 1; kib < 2048; kib += 2046) {
		forget_files();
		start(&program, true, "ask", "ipc_export", kib, NULL);
		wait_ready(&program);
		assert_says(&program, "export 1\n");
		assert_says(&program, "can 0");
		go_to_end(&program);
		ck_assert_str_eq(sum_of(&program, 1), sum_of(&program, 0));
		line = strstr(content("log"), "cuIpcGetMemHandle: below 2 MiB");
		ck_assert_msg(line && strstr(line, "GVM_SHIM_MANAGED=0"), "%s", content("log"));
		ck_assert_ptr_null(strstr(line + 1, "cuIpcGetMemHandle: "));
	}
}
END_TEST

/* As with device memory: it gives the same address, and has to be closed as often. */
START_TEST(memory_is_opened_twice)
{
	struct program exporter, opener;

	start(&exporter, true, "ask", "ipc_export", 4096, NULL);
	wait_ready(&exporter);
	start(&opener, true, "ask", "ipc_open", 3, handle_of(&exporter));
	wait_ready(&opener);
	go_on(&opener);
	finish(&opener);
	assert_says(&opener, "close 0\nclose 0\nclose 0\nclose 1\n");
	go_to_end(&exporter);
}
END_TEST

START_TEST(the_exporter_cannot_open_its_memory)
{
	struct program program;

	run(&program, true, "ask", "ipc_self", 2, NULL);
	ck_assert_str_eq(program.out, "open 201\nflags 1\nopen 201\nflags 1\n");
	run(&program, true, "ask", "ipc_self", 1, "GVM_SHIM_MANAGED=0");
	assert_says(&program, "open 201\n");
}
END_TEST

/* Without managed memory, and for handles of processes that have no shim. */
START_TEST(handles_of_the_driver_stay_the_drivers)
{
	static const bool shims[][2] = { { true, true }, { false, true }, { true, false } };
	struct program exporter, opener;
	char variables[256];

	for (size_t i = 0; i < sizeof(shims) / sizeof(shims[0]); i++) {
		start(&exporter, shims[i][0], "ask", "ipc_export", 4096, "GVM_SHIM_MANAGED=0");
		wait_ready(&exporter);
		assert_says(&exporter, "handle 647269766572"); /* "driver" */
		snprintf(variables, sizeof(variables), "%s IPC_DRIVER=1", handle_of(&exporter));
		run(&opener, shims[i][1], "ask", "ipc_open", 1, variables);
		ck_assert_str_eq(opener.out, "open 0\nat 7770000\n");
		run(&opener, shims[i][1], "ask", "ipc_first", 2, variables);
		ck_assert_str_eq(opener.out, "open 0\nat 7770001\nopen 0\nat 7770001\n");
		go_to_end(&exporter);
	}
}
END_TEST

START_TEST(the_first_version_of_the_call_opens_memory_too)
{
	struct program exporter, opener;

	start(&exporter, true, "ask", "ipc_export", 4096, NULL);
	wait_ready(&exporter);
	run(&opener, true, "ask", "ipc_first", 2, handle_of(&exporter));
	ck_assert_str_eq(opener.out, "open 0\nsecond 9e3779b1\nopen 0\nsecond 9e3779b1\n");
	/* A process without managed memory opens it as well. */
	snprintf(opener.out, sizeof(opener.out), "%s GVM_SHIM_MANAGED=0", handle_of(&exporter));
	run(&opener, true, "ask", "ipc_first", 1, strdup(opener.out));
	ck_assert_str_eq(opener.out, "open 0\nsecond 9e3779b1\n");
	go_to_end(&exporter);
}
END_TEST

/* Each byte of the handle counts, but for those of the process's number and the unused ones. */
START_TEST(a_wrong_handle_opens_nothing)
{
	struct program exporter, opener;
	char variable[256];

	start(&exporter, true, "ask", "ipc_export", 2048, NULL);
	wait_ready(&exporter);
	for (int byte = 0; byte < 40; byte += 3) {
		char *digit;

		snprintf(variable, sizeof(variable), "%s", handle_of(&exporter));
		digit = variable + strlen("IPC_HANDLE=") + 2 * byte;
		*digit = *digit == '0' ? '1' : '0';
		forget_files();
		run(&opener, true, "ask", "ipc_open", 1, variable);
		/* Without the magic it is the driver's. */
		assert_says(&opener, byte < 8 ? "open 1\n" : "open 400\n");
		if (byte >= 8)
			ck_assert_ptr_nonnull(
				strstr(content("log"), byte < 16 ? "has ended, or is in" :
								   "has no such memory"));
	}
	run(&opener, true, "ask", "ipc_first", 1, handle_of(&exporter));
	go_to_end(&exporter);
	forget_files();
}
END_TEST

START_TEST(memory_outlives_the_process_that_exported_it)
{
	struct program exporter, opener, late;
	char handle[256];

	start(&exporter, true, "ask", "ipc_export", 2048, NULL);
	wait_ready(&exporter);
	snprintf(handle, sizeof(handle), "%s", handle_of(&exporter));
	start(&opener, true, "ask", "ipc_open", 1, handle);
	wait_ready(&opener);
	kill(exporter.pid, SIGKILL);
	finish(&exporter);
	run(&late, true, "ask", "ipc_open", 1, handle);
	assert_says(&late, "open 400\n");
	ck_assert_ptr_nonnull(strstr(content("log"), "which exported this memory, has ended"));
	go_on(&opener);
	finish(&opener);
	assert_says(&opener, "close 0\nclose 1\n");
	ck_assert_str_ne(sum_of(&opener, 1), sum_of(&opener, 0)); /* by the opener */
}
END_TEST

START_TEST(freed_memory_is_not_opened)
{
	struct program exporter, opener;

	start(&exporter, true, "ask", "ipc_export", 2048, "IPC_ASYNC=1");
	wait_ready(&exporter);
	go_on(&exporter);
	wait_ready(&exporter);
	assert_says(&exporter, "freed 1\n");
	run(&opener, true, "ask", "ipc_open", 1, handle_of(&exporter));
	assert_says(&opener, "open 400\n");
	ck_assert_ptr_nonnull(strstr(content("log"), "has no such memory"));
	go_on(&exporter);
	finish(&exporter);
	ck_assert_int_eq(last_number("report", " live "), 0);
}
END_TEST

/* A byte of a handle. */
static unsigned char byte_of(const char *handle, int index)
{
	unsigned int byte;

	ck_assert_int_eq(sscanf(handle + strlen("IPC_HANDLE=") + 2 * index, "%2x", &byte), 1);
	return (unsigned char)byte;
}

/* The address of the socket of the process that made a handle: its name is after the magic. */
static socklen_t address_of(const char *handle, struct sockaddr_un *address)
{
	unsigned long long name = 0;
	int length;

	for (int i = 7; i >= 0; i--)
		name = name << 8 | byte_of(handle, 8 + i);
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
			  "gvm-shim-ipc-%016llx", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Requests that are none, of any length, with a descriptor or not. */
static void send_garbage(int socket, const struct sockaddr_un *to, socklen_t length, int seed)
{
	union {
		struct cmsghdr first;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char bytes[256];
	struct iovec part = { bytes, (size_t)(seed % 256) };
	struct msghdr head = { .msg_name = (void *)(uintptr_t)to,
			       .msg_namelen = length,
			       .msg_iov = &part,
			       .msg_iovlen = 1 };

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(seed * 31 + (int)i * 7);
	if (seed % 3 == 0)
		memcpy(bytes, "gvmipc1", 8);
	if (seed % 5 == 0)
		part.iov_len = 32; /* as long as a request */
	if (seed % 2) {
		head.msg_control = &control;
		head.msg_controllen = sizeof(control);
		control.first =
			(struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.first), &socket, sizeof(socket));
	}
	while (sendmsg(socket, &head, MSG_DONTWAIT) < 0 && errno == EAGAIN)
		usleep(100);
}

static int count_descriptors(pid_t pid)
{
	char path[64];
	DIR *fds;
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (readdir(fds))
		count++;
	closedir(fds);
	return count;
}

/* Ask as an opener does: with the magic and the key, which is after the name in a handle. */
static int ask_for(const char *handle)
{
	int socket_of_ours = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un to, own = { .sun_family = AF_UNIX };
	socklen_t length = address_of(handle, &to);
	unsigned char request[32] = "gvmipc1";

	for (int i = 0; i < 24; i++)
		request[8 + i] = byte_of(handle, 16 + i);
	ck_assert_int_eq(bind(socket_of_ours, (struct sockaddr *)&own, sizeof(sa_family_t)), 0);
	ck_assert_int_eq(sendto(socket_of_ours, request, sizeof(request), 0,
				(struct sockaddr *)&to, length),
			 sizeof(request));
	return socket_of_ours;
}

/* Requests are answered in turn, so its request was seen before ours. */
START_TEST(another_user_is_not_answered)
{
	struct program exporter;
	int theirs, ours;
	char text[64];

	if (geteuid())
		return; /* root alone can be another user */
	start(&exporter, true, "ask", "ipc_export", 2048, NULL);
	wait_ready(&exporter);
	ck_assert_int_eq(setresuid(65534, 65534, 0), 0);
	theirs = ask_for(handle_of(&exporter));
	ck_assert_int_eq(setresuid(0, 0, 0), 0);
	ours = ask_for(handle_of(&exporter));
	ck_assert_int_eq(recv(ours, text, sizeof(text), 0), 32);
	ck_assert_int_lt(recv(theirs, text, sizeof(text), MSG_DONTWAIT), 0);
	close(theirs);
	close(ours);
	go_to_end(&exporter);
}
END_TEST

START_TEST(a_hostile_client_does_no_harm)
{
	int socket_of_ours = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), clients[40];
	struct program exporter, opener;
	struct sockaddr_un to;
	socklen_t length;
	int before;

	start(&exporter, true, "ask", "ipc_export", 2048, NULL);
	wait_ready(&exporter);
	run(&opener, true, "ask", "ipc_first", 1, handle_of(&exporter));
	before = count_descriptors(exporter.pid);
	length = address_of(handle_of(&exporter), &to);
	for (int seed = 0; seed < 3000; seed++)
		send_garbage(socket_of_ours, &to, length, seed);
	/* Clients that connect, say nothing, and read nothing. */
	for (int i = 0; i < 40; i++) {
		clients[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		ck_assert_int_eq(connect(clients[i], (struct sockaddr *)&to, length), 0);
	}
	/* A stream is no datagram. */
	ck_assert_int_ne(connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
				 (struct sockaddr *)&to, length),
			 0);
	/* The queue of a process that stands still is full. Then it goes on. */
	kill(exporter.pid, SIGSTOP);
	while (sendto(socket_of_ours, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&to, length) > 0)
		;
	ck_assert_int_eq(errno, EAGAIN);
	start(&opener, true, "ask", "ipc_open", 1, handle_of(&exporter));
	usleep(50000);
	kill(exporter.pid, SIGCONT);
	wait_ready(&opener);
	assert_says(&opener, "open 0\n");
	go_on(&opener);
	finish(&opener);
	ck_assert_int_eq(count_descriptors(exporter.pid), before);
	go_to_end(&exporter);
	for (int i = 0; i < 40; i++)
		close(clients[i]);
	close(socket_of_ours);
}
END_TEST

/* The shim could not hold the address with such a driver: all stays as it is, and is said. */
START_TEST(where_an_address_cannot_be_held_nothing_is_exported)
{
	static const char *const drivers[][2] = {
		{ "FAKE_KEEPS_ADDRESSES=1", "does not free its address by the C library's" },
		{ "FAKE_SYSTEM_CALLS=1", "does not free its address by the C library's" },
		{ "FAKE_WISHES=0", "does not give its address back" },
	};
	struct program program;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		forget_files();
		start(&program, true, "ask", "ipc_export", 2048, drivers[i][0]);
		wait_ready(&program);
		assert_says(&program, "export 1\n");
		go_to_end(&program);
		ck_assert_str_eq(sum_of(&program, 1), sum_of(&program, 0));
		assert_says(&program, "freed 1\n");
		ck_assert_msg(strstr(content("log"), drivers[i][1]), "%s", content("log"));
		ck_assert_int_eq(last_number("report", " live "), 0);
	}
}
END_TEST

/* It has done so in the trial. */
START_TEST(a_driver_that_does_not_reserve_again_ends_the_program)
{
	struct program program;

	start(&program, true, "ask", "ipc_export", 2048, "FAKE_WISHES=1");
	finish(&program);
	ck_assert(WIFSIGNALED(program.status) && WTERMSIG(program.status) == SIGABRT);
	ck_assert_ptr_nonnull(strstr(content("log"), "are lost: the driver does not reserve"));
	ck_assert_ptr_nonnull(strstr(content("stderr"), "are lost: the driver does not"));
	ck_assert_ptr_null(strstr(program.out, "export"));
}
END_TEST

/* Four threads take addresses as fast as they can. */
START_TEST(exports_keep_their_addresses_beside_threads_that_map)
{
	struct program program;

	run(&program, true, "ask", "ipc_beside_maps", 100, NULL);
	ck_assert_str_eq(program.out, "right 100\n");
}
END_TEST

/* Other addresses are reserved until the driver has none left that it would rather give. */
START_TEST(a_driver_that_has_room_elsewhere_gives_the_addresses_back)
{
	struct program program;

	run(&program, true, "ask", "ipc_beside_maps", 10, "FAKE_ROOM=7");
	ck_assert_str_eq(program.out, "right 10\n");
}
END_TEST

/*
 * mmap() and munmap() are the shim's: before its constructor has run, beyond 4 GiB of a file,
 * with wrong arguments, and in a child.
 */
START_TEST(mappings_of_a_program_are_as_without_the_shim)
{
	struct program with, without;

	run(&without, false, "linked", "maps", 1, NULL);
	run(&with, true, "linked", "maps", 1, NULL);
	ck_assert_str_eq(without.out, "the shim's 0\nearly 1 5 0\nfar 9 0 0\nwrong 1 22 22\n"
				      "child 0\n");
	ck_assert_str_eq(strchr(with.out, '\n'), strchr(without.out, '\n'));
	assert_says(&with, "the shim's 1\n");
}
END_TEST

/* A GPU that has no room for both the managed memory and its copy. */
START_TEST(without_room_memory_stays_managed)
{
	struct program program;

	start(&program, true, "ask", "ipc_export", 16384, "GVM_LIMIT=64M FAKE_MEMORY=8388608");
	wait_ready(&program);
	assert_says(&program, "export 2\n");
	go_to_end(&program);
	ck_assert_str_eq(sum_of(&program, 1), sum_of(&program, 0));
	assert_says(&program, "freed 1\n");
	ck_assert_int_eq(last_number("report", " live "), 0);
}
END_TEST

/* It is charged once, by what the application asked for. */
START_TEST(exported_memory_counts_once)
{
	struct program program;

	start(&program, true, "ask", "ipc_export", 3072, "GVM_LIMIT=3M");
	wait_ready(&program);
	assert_says(&program, "export 0\n");
	await(&program, "gmem.current", "3145728\n");
	go_to_end(&program);
	ck_assert_int_eq(last_number("log", " peak "), 3145728);
	ck_assert_int_eq(last_number("log", " current "), 0);
}
END_TEST

START_TEST(exported_memory_goes_with_its_context)
{
	struct program program;

	run(&program, true, "ask", "ipc_reset", 3, NULL);
	/* The driver of these tests lets managed memory be after a reset. */
	ck_assert_int_eq(last_number("report", " live "), 0);
	ck_assert_int_eq(last_number("log", " current "), 0);
}
END_TEST

START_TEST(memory_is_exported_before_a_capture_or_behind_it)
{
	struct program program;

	run(&program, true, "ask", "ipc_capture", 2, NULL);
	ck_assert_str_eq(program.out, "export 900\nexport 0\nexport 0\n");
	ck_assert_ptr_nonnull(strstr(content("log"), "while a stream is captured"));
}
END_TEST

/* To wait for the GPU would break the capture. */
START_TEST(memory_that_is_freed_in_a_capture_goes_behind_it)
{
	struct program program;

	run(&program, true, "ask", "ipc_free_captured", 2, NULL);
	ck_assert_str_eq(program.out,
			 "in the capture: mapped 1, free 1\nbehind it: mapped 0\n");
	ck_assert_int_eq(last_number("report", " live "), 0);
	ck_assert_int_eq(last_number("log", " current "), 0);
}
END_TEST

/* Its child is no exporter, and does not keep the socket. */
START_TEST(a_child_of_an_exporter_exports_nothing)
{
	struct program exporter, opener;
	char handle[256];

	start(&exporter, true, "ask", "ipc_fork", 2, NULL);
	wait_ready(&exporter);
	snprintf(handle, sizeof(handle), "%s", handle_of(&exporter));
	run(&opener, true, "ask", "ipc_first", 1, handle);
	assert_says(&opener, "open 0\n");
	go_on(&exporter);
	ck_assert_int_eq(waitpid(exporter.pid, &exporter.status, 0), exporter.pid);
	run(&opener, true, "ask", "ipc_open", 1, handle);
	assert_says(&opener, "open 400\n");
	fclose(exporter.to);
	fclose(exporter.from);
}
END_TEST

START_TEST(a_program_that_closes_all_descriptors_exports_nothing)
{
	struct program exporter, opener;

	for (int before = 0; before < 2; before++) {
		forget_files();
		start(&exporter, true, "ask", "ipc_close_all", before, NULL);
		wait_ready(&exporter);
		assert_says(&exporter, "export 1\n");
		ck_assert_ptr_nonnull(
			strstr(content("log"), "the shim's thread or socket is missing"));
		if (before) {
			run(&opener, true, "ask", "ipc_open", 1, handle_of(&exporter));
			assert_says(&opener, "open 400\n");
		}
		go_on(&exporter);
		finish(&exporter);
		assert_says(&exporter, "freed 0\n");
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, two_processes_share_memory);
	tcase_add_test(tests, small_memory_is_refused_in_one_line);
	tcase_add_test(tests, memory_is_opened_twice);
	tcase_add_test(tests, the_exporter_cannot_open_its_memory);
	tcase_add_test(tests, handles_of_the_driver_stay_the_drivers);
	tcase_add_test(tests, the_first_version_of_the_call_opens_memory_too);
	tcase_add_test(tests, a_wrong_handle_opens_nothing);
	tcase_add_test(tests, memory_outlives_the_process_that_exported_it);
	tcase_add_test(tests, freed_memory_is_not_opened);
	tcase_add_test(tests, another_user_is_not_answered);
	tcase_add_test(tests, a_hostile_client_does_no_harm);
	tcase_add_test(tests, where_an_address_cannot_be_held_nothing_is_exported);
	tcase_add_test(tests, a_driver_that_does_not_reserve_again_ends_the_program);
	tcase_add_test(tests, exports_keep_their_addresses_beside_threads_that_map);
	tcase_add_test(tests, a_driver_that_has_room_elsewhere_gives_the_addresses_back);
	tcase_add_test(tests, mappings_of_a_program_are_as_without_the_shim);
	tcase_add_test(tests, without_room_memory_stays_managed);
	tcase_add_test(tests, exported_memory_counts_once);
	tcase_add_test(tests, exported_memory_goes_with_its_context);
	tcase_add_test(tests, memory_is_exported_before_a_capture_or_behind_it);
	tcase_add_test(tests, memory_that_is_freed_in_a_capture_goes_behind_it);
	tcase_add_test(tests, a_child_of_an_exporter_exports_nothing);
	tcase_add_test(tests, a_program_that_closes_all_descriptors_exports_nothing);
}

int main(void)
{
	return suite_run("shim_ipc", setup, teardown, add_tests);
}
