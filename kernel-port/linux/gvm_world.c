// SPDX-License-Identifier: MIT OR GPL-2.0
/* The kernel half of the port: its functions that are not inline. See gvm_world.h. */
#include "gvm/port.h"

const struct gvm_port_alloc_hook *gvm_port_alloc_hook;

/* A user may choose the size. __GFP_NOWARN: a refused size does not fill the log. */
void *gvm_alloc(size_t bytes)
{
	if (gvm_port_alloc_hook)
		return gvm_port_alloc_hook->alloc(bytes);
	return kvzalloc(bytes, GFP_KERNEL | __GFP_NOWARN);
}

void gvm_free(void *memory)
{
	if (gvm_port_alloc_hook)
		gvm_port_alloc_hook->release(memory);
	else
		kvfree(memory);
}

/*
 * More entries than the core and the drivers over it have names of locks. Names beyond the last
 * entry share its class. Then lockdep may report locks that have nothing to do with each other,
 * so a warning comes first.
 */
static struct gvm_lock_class gvm_lock_classes[32];
static u32 gvm_lock_class_count;
static DEFINE_SPINLOCK(gvm_lock_class_lock);

static struct gvm_lock_class *gvm_lock_class_locked(const char *name)
{
	struct gvm_lock_class *last = &gvm_lock_classes[ARRAY_SIZE(gvm_lock_classes) - 1];
	u32 i;

	for (i = 0; i < gvm_lock_class_count; i++)
		if (strncmp(gvm_lock_classes[i].name, name, sizeof(last->name) - 1) == 0)
			return &gvm_lock_classes[i];
	if (WARN_ONCE(i == ARRAY_SIZE(gvm_lock_classes), "no lock class left for %s", name))
		return last;
	gvm_lock_class_count++;
	strscpy(gvm_lock_classes[i].name, name, sizeof(last->name));
	return &gvm_lock_classes[i];
}

struct gvm_lock_class *gvm_lock_class(const char *name)
{
	struct gvm_lock_class *found;

	spin_lock(&gvm_lock_class_lock);
	found = gvm_lock_class_locked(name);
	spin_unlock(&gvm_lock_class_lock);
	return found;
}

/*
 * The holder is only for the trace: read without the lock, it may be out of date by a moment.
 */
static void gvm_mutex_wait_begin(struct gvm_mutex *lock)
{
	int holder = READ_ONCE(lock->holder);

	if (holder)
		gvm_trace_lock(lock->name, "wait", holder);
}

static void gvm_mutex_taken(struct gvm_mutex *lock)
{
	WRITE_ONCE(lock->holder, task_pid_nr(current));
	gvm_trace_lock(lock->name, "take", lock->holder);
}

void gvm_mutex_lock(struct gvm_mutex *lock)
{
	gvm_mutex_wait_begin(lock);
	mutex_lock(&lock->mutex);
	gvm_mutex_taken(lock);
}

int gvm_mutex_lock_killable(struct gvm_mutex *lock)
{
	int status;

	gvm_mutex_wait_begin(lock);
	status = mutex_lock_killable(&lock->mutex);
	if (!status)
		gvm_mutex_taken(lock);
	return status;
}

bool gvm_mutex_trylock(struct gvm_mutex *lock)
{
	bool taken = mutex_trylock(&lock->mutex);

	if (taken)
		gvm_mutex_taken(lock);
	return taken;
}

void gvm_mutex_unlock(struct gvm_mutex *lock)
{
	gvm_trace_lock(lock->name, "release", lock->holder);
	WRITE_ONCE(lock->holder, 0);
	mutex_unlock(&lock->mutex);
}

/* The head's lock is held over both steps, so that a waiter cannot free it in between. */
void gvm_complete_all(struct gvm_completion *completion)
{
	unsigned long flags;

	spin_lock_irqsave(&completion->head.lock, flags);
	completion->done = true;
	wake_up_all_locked(&completion->head);
	spin_unlock_irqrestore(&completion->head.lock, flags);
}

int gvm_completion_wait(struct gvm_completion *completion)
{
	bool done;

	might_sleep();
	spin_lock_irq(&completion->head.lock);
	(void)wait_event_interruptible_locked_irq(completion->head,
						  completion->done || gvm_worker_should_stop());
	done = completion->done;
	spin_unlock_irq(&completion->head.lock);
	return done ? 0 : -EINTR;
}

static int gvm_worker_thread(void *data)
{
	struct gvm_worker *worker = data;

	worker->function(worker->data);
	return 0;
}

/*
 * The reference keeps the task for gvm_worker_stop() when the function returns by itself.
 * kthread_create() can also say -EINTR, to a caller that is being killed: no thread either way.
 */
int gvm_worker_start(struct gvm_worker *worker, const char *name, void (*function)(void *data),
		     void *data)
{
	struct task_struct *task;

	worker->function = function;
	worker->data = data;
	task = kthread_create(gvm_worker_thread, worker, "%s", name);
	if (IS_ERR(task))
		return -ENOMEM;
	worker->task = get_task_struct(task);
	wake_up_process(task);
	return 0;
}

void gvm_worker_stop(struct gvm_worker *worker)
{
	kthread_stop(worker->task);
	put_task_struct(worker->task);
	worker->task = NULL;
}
