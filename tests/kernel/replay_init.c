// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The first process of a virtual machine that plays scenarios on a GPU made
 * of RAM; see replay.h.
 */
#include "replay.h"

int main(void)
{
	guest_mount();
	guest_watch_begin();
	guest_log("begin");
	guest_expect_load("gvm", 0);
	replay_all();
	guest_expect_unload("gvm", 0);
	guest_watch_end();
	guest_end();
	return 1;
}
