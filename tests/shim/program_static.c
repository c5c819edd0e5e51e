// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A program without a dynamic loader that has the GPU's device open,
 * FAKE_DEVICE, until its input ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	const char *device = getenv("FAKE_DEVICE");
	char line[16];

	if (!device || open(device, O_RDONLY | O_CLOEXEC) < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
