// SPDX-License-Identifier: MIT OR GPL-2.0
/* Preloaded: a kernel before 6.5, where a socket has no descriptor of its peer's process. */
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

#define PEERPIDFD 77

int getsockopt(int fd, int level, int option, void *value, socklen_t *size)
{
	int (*next)(int, int, int, void *, socklen_t *) =
		(int (*)(int, int, int, void *, socklen_t *))dlsym(RTLD_NEXT, "getsockopt");

	if (level == SOL_SOCKET && option == PEERPIDFD) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return next(fd, level, option, value, size);
}
