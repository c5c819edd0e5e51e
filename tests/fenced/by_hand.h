/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* For tests of gvmfenced: a client's messages, sent by the test itself. */
#ifndef TESTS_FENCED_BY_HAND_H
#define TESTS_FENCED_BY_HAND_H

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "message.h"
#include "runs.h"

#define HELLO_DESCRIPTORS 16

static inline int connect_to_manager(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, socket_path);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Ask for 16 MiB, with @count descriptors where one is wanted: the window's. */
static inline void send_hello(int fd, const int *descriptors, size_t count)
{
	struct fenced_request hello = { .call = FENCED_HELLO,
					.a = FENCED_VERSION,
					.b = 16ull << 20 };
	char control[CMSG_SPACE(HELLO_DESCRIPTORS * sizeof(int))] = "";
	struct iovec part = { &hello, FENCED_REQUEST_HEAD };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(head), descriptors, count * sizeof(int));
	ck_assert_int_eq(sendmsg(fd, &message, 0), (ssize_t)FENCED_REQUEST_HEAD);
}

/* Connect with a window of these flags of memfd_create(). Returns the connection. */
static inline int say_hello(unsigned int flags, u32 *ret_result)
{
	static struct fenced_reply reply;
	int window = memfd_create("window", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags),
	    fd = connect_to_manager();

	ck_assert(!ftruncate(window, (off_t)FENCED_WINDOW) &&
		  !fcntl(window, F_ADD_SEALS, F_SEAL_SHRINK));
	send_hello(fd, &window, 1);
	ck_assert_int_ge(recv(fd, &reply, sizeof(reply), 0), (ssize_t)FENCED_REPLY_HEAD);
	*ret_result = reply.result;
	close(window);
	return fd;
}

#endif
