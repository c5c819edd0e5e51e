// SPDX-License-Identifier: MIT OR GPL-2.0
/* See rm_stand_in.h. */
#include "rm_stand_in.h"

#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#define LEAST_US      16    /* RM gives no less */
#define WRONG_ARG     0x1fu /* NV_ERR_INVALID_ARGUMENT */
#define NOT_SUPPORTED 0x56u
#define REFUSED	      0x65u /* NV_ERR_TIMEOUT */
#define AT_A_TIME     64

struct alloc {
	unsigned int client, parent, object, class;
	unsigned long long parameters;
	unsigned int rest[6];
};

struct freed {
	unsigned int client, parent, object, status;
};

struct control {
	unsigned int client, object, command, flags;
	unsigned long long parameters;
	unsigned int size, status;
};

struct disable {
	unsigned char disable;
	unsigned int count;
	unsigned char only_scheduling, rewind_put;
	unsigned long long preempt_event;
	unsigned int client[AT_A_TIME], channel[AT_A_TIME];
};

struct rm_made rm_made[RM_OBJECTS];
int rm_file = -1;
int rm_controls, rm_strays, rm_skips, rm_refuses;

static struct rm_made *find(unsigned int client, unsigned int handle)
{
	for (int i = 0; i < RM_OBJECTS; i++)
		if (rm_made[i].class && rm_made[i].client == client &&
		    rm_made[i].object == handle)
			return &rm_made[i];
	return NULL;
}

/* As RM: first the objects below this one, then itself. */
static void remove_object(struct rm_made *object)
{
	object->class = 0;
	for (int i = 0; i < RM_OBJECTS; i++)
		if (rm_made[i].class && rm_made[i].client == object->client &&
		    rm_made[i].parent == object->object)
			remove_object(&rm_made[i]);
}

void rm_lose(unsigned int client, unsigned int object)
{
	remove_object(find(client, object));
}

void rm_forget_all(void)
{
	memset(rm_made, 0, sizeof(rm_made));
	rm_controls = rm_strays = rm_skips = rm_refuses = 0;
}

static int take_alloc(struct alloc *call)
{
	for (int i = 0; i < RM_OBJECTS; i++)
		if (!rm_made[i].class) {
			rm_made[i] = (struct rm_made){
				call->client, call->parent, call->object, call->class, 0, false
			};
			call->rest[4] = 0;
			return 0;
		}
	return -1;
}

static void take_free(struct freed *call)
{
	struct rm_made *object = find(call->client, call->object);

	call->status = object ? 0 : WRONG_ARG;
	if (object)
		remove_object(object);
}

/* The device that an object is on. */
static const struct rm_made *device_of(const struct rm_made *object)
{
	while (object && object->class != RM_CLASS_DEVICE)
		object = find(object->client, object->parent);
	return object;
}

static unsigned int take_disable(const struct rm_made *subdevice, const struct disable *call)
{
	if (subdevice->class != RM_CLASS_SUBDEVICE)
		return NOT_SUPPORTED;
	for (unsigned int i = 0; i < call->count; i++) {
		struct rm_made *channel = find(call->client[i], call->channel[i]);

		if (!channel || channel->class != RM_CLASS_CHANNEL ||
		    device_of(channel) != device_of(subdevice)) {
			rm_strays++;
			return WRONG_ARG;
		}
		channel->off = call->disable;
	}
	return 0;
}

static unsigned int take_schedule(const struct rm_made *object)
{
	for (int i = 0; i < RM_OBJECTS; i++)
		if (rm_made[i].class == RM_CLASS_CHANNEL &&
		    rm_made[i].client == object->client &&
		    (&rm_made[i] == object || rm_made[i].parent == object->object))
			rm_made[i].off = false;
	return 0;
}

static unsigned int take_control(struct rm_made *object, unsigned int command, void *parameters)
{
	unsigned long long *us = parameters;

	switch (command) {
	case 0xa06c0103u:
		object->slice_us = *us < LEAST_US ? LEAST_US : *us;
		break;
	case 0xa06c0104u:
		*us = object->slice_us;
		break;
	case 0x2080110bu:
		return take_disable(object, parameters);
	case 0xa06c0101u:
	case 0xa06f0103u:
		return take_schedule(object);
	default:
		return NOT_SUPPORTED;
	}
	return object->class == RM_CLASS_GROUP ? 0 : WRONG_ARG;
}

static void receive_control(int fd, struct control *call)
{
	struct rm_made *object = find(call->client, call->object);

	rm_controls++;
	if (rm_skips > 0) {
		rm_skips--;
	} else if (rm_refuses > 0) {
		rm_refuses--;
		call->status = REFUSED;
		return;
	}
	call->status = object && fd == rm_file ?
			       take_control(object, call->command,
					    (void *)(uintptr_t)call->parameters) :
			       WRONG_ARG;
	rm_strays += call->status == WRONG_ARG;
}

int rm_call(int fd, unsigned long request, void *argument)
{
	if (_IOC_NR(request) == 0x2b)
		return take_alloc(argument);
	if (_IOC_NR(request) == 0x29)
		take_free(argument);
	else
		receive_control(fd, argument);
	return 0;
}

void rm_make(unsigned int client, unsigned int parent, unsigned int handle, unsigned int class)
{
	struct alloc call = { .client = client,
			      .parent = parent,
			      .object = handle,
			      .class = class };

	(void)ioctl(rm_file, _IOWR('F', 0x2b, struct alloc), &call);
}

void rm_give_up(unsigned int client, unsigned int handle)
{
	struct freed call = { .client = client, .object = handle };

	(void)ioctl(rm_file, _IOWR('F', 0x29, struct freed), &call);
}

void rm_schedule(unsigned int client, unsigned int handle)
{
	const struct rm_made *object = find(client, handle);
	unsigned char parameters[3] = { 1, 0, 0 };
	struct control call = {
		.client = client,
		.object = handle,
		.command =
			object && object->class == RM_CLASS_GROUP ? 0xa06c0101u : 0xa06f0103u,
		.parameters = (uintptr_t)parameters,
		.size = sizeof(parameters),
	};

	(void)ioctl(rm_file, _IOWR('F', 0x2a, struct control), &call);
}

int rm_channels(bool off)
{
	int count = 0;

	for (int i = 0; i < RM_OBJECTS; i++)
		count += rm_made[i].class == RM_CLASS_CHANNEL && rm_made[i].off == off;
	return count;
}
