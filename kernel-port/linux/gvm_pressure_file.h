/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Pressure descriptors, which /dev/gvm hands out; what they do: gvm_ioctl.h. */
#ifndef GVM_PRESSURE_FILE_H
#define GVM_PRESSURE_FILE_H

#include "gvm/device.h"

struct gvm_pressure_request;

/*
 * A descriptor on which the calling process reads the pressure on its container. Returns it or
 * the errors of GVM_IOCTL_PRESSURE_OPEN. CONTEXT: process.
 */
long gvm_pressure_file_open(const struct gvm_pressure_request *request);

/*
 * The device goes: on return the descriptors of its containers read their end. LOCKING: the
 * registry's mutex is not held. CONTEXT: process.
 */
void gvm_pressure_file_disconnect(struct gvm_device *device);

#endif
