/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* A client's modules, functions and launches. */
#ifndef KERNEL_PORT_FENCED_TENANT_CODE_H
#define KERNEL_PORT_FENCED_TENANT_CODE_H

#include "share.h"

/* Load PTX: patched, verified, with the bounds of the tenant's partition. */
cu_result tenant_load(struct tenant *tenant, u64 bytes, u64 *ret_module);
cu_result tenant_unload(struct tenant *tenant, u64 module);
cu_result tenant_function(struct tenant *tenant, const struct fenced_request *request,
			  struct fenced_reply *reply);
cu_result tenant_launch(struct tenant *tenant, const struct fenced_request *request);
struct tenant_function *tenant_function_of(struct tenant *tenant, u64 number);
void tenant_unload_all(struct tenant *tenant);

#endif
