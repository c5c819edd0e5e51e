// SPDX-License-Identifier: MIT OR GPL-2.0
/* Fibres over Boost.Context; see fibre.h. */
#include "engine/fibre.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBRE_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define FIBRE_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FIBRE_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define FIBRE_TSAN 1
#endif

#ifdef FIBRE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef FIBRE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* AddressSanitizer puts red zones around every local variable. */
#ifdef FIBRE_ASAN
#define FIBRE_STACK_BYTES (256ul << 10)
#else
#define FIBRE_STACK_BYTES (64ul << 10)
#endif
#define FIBRE_SIGNAL_STACK_BYTES (16ul << 10)

/*
 * Boost.Context's interface, the part with C linkage (boost/context/detail/fcontext.hpp). A
 * context is a stack pointer with the saved registers on top. A jump consumes the context it
 * jumps to, and hands the context it leaves to the other side. cmake/boost_context.c checks
 * this when the build is configured.
 */
struct fcontext_transfer {
	void *context;
	void *data;
};
void *make_fcontext(void *stack_top, size_t bytes,
		    void (*function)(struct fcontext_transfer from));
struct fcontext_transfer jump_fcontext(void *to, void *data);

/* A stack that no fibre uses. This struct lies in the stack's own topmost bytes. */
struct free_stack {
	struct free_stack *next;
};

static struct free_stack *free_stacks;
static const struct fibre *fibre_running; /* NULL: a thread's own stack */

/*
 * A stack of a fibre that has returned, or a new one with a guard page below. NULL: no memory.
 */
static void *stack_get(void)
{
	struct free_stack *unused = free_stacks;
	size_t guard = (size_t)sysconf(_SC_PAGESIZE);
	char *mapping;

	if (unused) {
		free_stacks = unused->next;
		return (char *)unused + sizeof(*unused) - FIBRE_STACK_BYTES;
	}
	mapping = mmap(NULL, guard + FIBRE_STACK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (mapping == MAP_FAILED)
		return NULL;
	if (mprotect(mapping, guard, PROT_NONE)) {
		munmap(mapping, guard + FIBRE_STACK_BYTES);
		return NULL;
	}
	return mapping + guard;
}

static void stack_put(void *stack)
{
	char *end = (char *)stack + FIBRE_STACK_BYTES;
	struct free_stack *unused = (void *)(end - sizeof(*unused));

#ifdef FIBRE_ASAN
	/*
	 * The frames of the last fibre never returned. Their red zones would trap the next
	 * fibre.
	 */
	ASAN_UNPOISON_MEMORY_REGION(stack, FIBRE_STACK_BYTES);
#endif
	unused->next = free_stacks;
	free_stacks = unused;
}

static void write_text(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

/*
 * Name the fibre whose stack is full, if the bad access is in its guard page. Then remove the
 * handler: the access faults again and ends the program.
 */
static void bad_access(int signal_number, siginfo_t *info, void *context)
{
	const char *address = info->si_addr;
	const char *stack = fibre_running ? fibre_running->stack : NULL;

	(void)context;
	if (stack && address < stack && address >= stack - sysconf(_SC_PAGESIZE)) {
		write_text("gvmsim: broken invariant: the stack of '");
		write_text(fibre_running->name);
		write_text("' is full\n");
	}
	signal(signal_number, SIG_DFL);
}

int fibre_watch_stacks(void)
{
#ifndef FIBRE_ASAN
	static char signal_stack[FIBRE_SIGNAL_STACK_BYTES];
	const stack_t other = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	struct sigaction action = { .sa_sigaction = bad_access,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	if (sigaltstack(&other, NULL) || sigaction(SIGSEGV, &action, NULL))
		return -EINVAL;
#else
	(void)bad_access;
#endif
	return 0;
}

/* Before a switch: tell the sanitizers which stack comes next. */
static void switch_begin(struct fibre *from, const struct fibre *to)
{
	(void)from;
	(void)to;
#ifdef FIBRE_ASAN
	/* A fibre that has returned leaves no fake stack behind. */
	__sanitizer_start_switch_fiber(from->returned ? NULL : &from->asan_fake_stack,
				       to->stack, to->stack_bytes);
#endif
#ifdef FIBRE_TSAN
	if (!from->tsan_fibre)
		from->tsan_fibre = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(to->tsan_fibre, 0);
#endif
}

/*
 * After a switch, on the new stack. @from is the fibre that was left; NULL: its stack is known
 * already.
 */
static void switch_end(struct fibre *self, struct fibre *from)
{
	(void)self;
	(void)from;
#ifdef FIBRE_ASAN
	const void *stack;
	size_t bytes;

	__sanitizer_finish_switch_fiber(self->asan_fake_stack, &stack, &bytes);
	/*
	 * The bounds of a thread's own stack are learnt from the first switch that leaves it.
	 */
	if (from && !from->stack_bytes) {
		from->stack = (void *)(uintptr_t)stack;
		from->stack_bytes = bytes;
	}
#endif
}

static void fibre_main(struct fcontext_transfer from)
{
	struct fibre *self = from.data;

	self->resumer->context = from.context;
	switch_end(self, self->resumer);
	self->function(self->data);
	self->returned = true;
	switch_begin(self, self->resumer);
	jump_fcontext(self->resumer->context, NULL);
}

int fibre_init(struct fibre *fibre, const char *name, void (*function)(void *data), void *data)
{
	void *stack = stack_get();

	if (!stack)
		return -ENOMEM;
	*fibre = (struct fibre){
		.stack = stack,
		.stack_bytes = FIBRE_STACK_BYTES,
		.function = function,
		.data = data,
		.name = name,
		.context = make_fcontext((char *)stack + FIBRE_STACK_BYTES, FIBRE_STACK_BYTES,
					 fibre_main),
	};
#ifdef FIBRE_TSAN
	fibre->tsan_fibre = __tsan_create_fiber(0);
#endif
	return 0;
}

void fibre_resume(struct fibre *self, struct fibre *fibre)
{
	struct fcontext_transfer from;

	fibre->resumer = self;
	fibre_running = fibre;
	switch_begin(self, fibre);
	from = jump_fcontext(fibre->context, fibre);
	switch_end(self, NULL);
	fibre_running = NULL;
	fibre->context = from.context;
	if (!fibre->returned)
		return;
	stack_put(fibre->stack);
	fibre->stack = NULL;
#ifdef FIBRE_TSAN
	__tsan_destroy_fiber(fibre->tsan_fibre);
#endif
}

void fibre_suspend(struct fibre *self)
{
	struct fcontext_transfer from;

	switch_begin(self, self->resumer);
	from = jump_fcontext(self->resumer->context, NULL);
	self->resumer->context = from.context;
	switch_end(self, self->resumer);
}
