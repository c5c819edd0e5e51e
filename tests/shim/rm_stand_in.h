/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A stand-in for NVIDIA's resource manager (RM): a table of objects, which takes the place of
 * system calls. Control calls do what an H200's driver does (h200-580-freeze.txt): channels are
 * disabled by their own subdevice alone, and a channel that is scheduled runs.
 */
#ifndef TESTS_SHIM_RM_STAND_IN_H
#define TESTS_SHIM_RM_STAND_IN_H

#include <stdbool.h>

#define RM_CLASS_CLIENT	   0x41u
#define RM_CLASS_DEVICE	   0x80u
#define RM_CLASS_SUBDEVICE 0x2080u
#define RM_CLASS_GROUP	   0xa06cu
#define RM_CLASS_CHANNEL   0xc86fu
#define RM_OBJECTS	   8192

struct rm_made {
	unsigned int client, parent, object, class;
	unsigned long long slice_us; /* of a group */
	bool off;		     /* a channel that may not run */
};

extern struct rm_made rm_made[RM_OBJECTS];
extern int rm_file;	/* what the application has open for RM */
extern int rm_controls; /* control calls that came, and those about no object that is there */
extern int rm_strays;
extern int rm_skips;   /* so many control calls from now on are taken, */
extern int rm_refuses; /* and so many after them end with a status */

/* An ioctl for RM, on a file. */
int rm_call(int fd, unsigned long request, void *argument);

/* What an application does, by ioctl(). */
void rm_make(unsigned int client, unsigned int parent, unsigned int object, unsigned int class);
void rm_give_up(unsigned int client, unsigned int object);
/* Put a channel, or all of a group, on the runlist. */
void rm_schedule(unsigned int client, unsigned int object);

/* Without a call: as where the file of a client is closed. */
void rm_lose(unsigned int client, unsigned int object);
void rm_forget_all(void);
/* How many channels there are that may run, or may not. */
int rm_channels(bool off);

#endif
