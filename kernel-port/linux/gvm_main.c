// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * gvm.ko: the driver core as a kernel module. GPU drivers register with it: gvm_registry.h.
 *
 * A file that a user has opened keeps the module loaded, but not a module whose init fails. So
 * nothing can be opened before init can fail no more: the files of debugfs refuse to be opened
 * until they are published, and /dev/gvm is made last, in one step.
 */
#include "gvm/port.h"

#include <linux/module.h>

#include "gvm_admin_files.h"
#include "gvm_dev_file.h"
#include "gvm_members.h"

static int __init gvm_init(void)
{
	int ret;

	gvm_mutex_init(&gvm_registry_mutex, "gvm registry");
	ret = gvm_admin_files_init();
	if (ret)
		return ret;
	ret = gvm_dev_file_init();
	if (ret)
		gvm_admin_files_exit();
	else
		gvm_admin_files_publish();
	return ret;
}

/* Devices hold the module through the symbols that their drivers use, so none is left. */
static void __exit gvm_exit(void)
{
	gvm_admin_files_exit();
	gvm_dev_file_exit();
}

module_init(gvm_init);
module_exit(gvm_exit);

MODULE_DESCRIPTION("GPU sharing between containers: the gvmsim driver core");
MODULE_AUTHOR("The gvmsim authors");
MODULE_LICENSE("Dual MIT/GPL");
