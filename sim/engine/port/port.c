// SPDX-License-Identifier: MIT OR GPL-2.0
/* The port over the simulation engine; see gvm_world.h. */
#include "gvm/port.h"

const struct gvm_spinlock *gvm_port_spin_held;
bool gvm_port_yield_at_spinlocks;
struct gvm_port_recorder gvm_port_recorder;

void gvm_port_assert_may_sleep(void)
{
	GVM_ASSERT(!gvm_port_spin_held);
}

/*
 * With a yield seed, an actor yields once in YIELD_CHANCE places, for less than YIELD_MAX_NS.
 */
#define YIELD_CHANCE 4u
#define YIELD_MAX_NS 20000u

/*
 * Code between two waits is atomic here, so actors interleave at the same few places in every
 * run. With a yield they also interleave where a preemptive kernel would let them.
 */
void gvm_port_yield(void)
{
	static struct eng_waitq no_wakes;
	static u64 random;
	u64 chance;

	if (!gvm_port_yield_seed || !eng_self() || gvm_port_spin_held)
		return;
	if (!random)
		random = gvm_port_yield_seed;
	chance = gvm_port_draw(&random);
	if (chance % YIELD_CHANCE == 0)
		eng_wait(&no_wakes, eng_now() + (chance >> 8) % YIELD_MAX_NS, false);
}

/* The locks that the running actor holds. */
static struct gvm_locks *port_locks(void)
{
	_Static_assert(sizeof(struct gvm_locks) <= ENG_LOCAL_BYTES, "does not fit an actor");
	return eng_local();
}

void gvm_mutex_init(struct gvm_mutex *lock, const char *name)
{
	*lock = (struct gvm_mutex){ .class = gvm_lock_class(name) };
}

void gvm_port_mutex_lock(struct gvm_mutex *lock, const char *place)
{
	gvm_port_assert_may_sleep();
	gvm_port_yield();
	gvm_locks_add(port_locks(), lock, lock->class, place);
	GVM_ASSERT(!lock->held || lock->owner != eng_self());
	/* An unlock hands the lock over, so a woken actor owns it already. */
	while (lock->held && lock->owner != eng_self())
		eng_wait(&lock->waitq, ENG_NEVER, false);
	lock->held = true;
	lock->owner = eng_self();
}

bool gvm_port_mutex_trylock(struct gvm_mutex *lock, const char *place)
{
	if (lock->held)
		return false;
	/* There is no yield before this, so no other actor can take the lock in between. */
	gvm_locks_add(port_locks(), lock, lock->class, place);
	lock->held = true;
	lock->owner = eng_self();
	return true;
}

void gvm_mutex_unlock(struct gvm_mutex *lock)
{
	GVM_ASSERT(lock->held && lock->owner == eng_self());
	gvm_locks_remove(port_locks(), lock);
	if (lock->waitq.first)
		eng_pay_debt();
	lock->owner = lock->waitq.first;
	lock->held = lock->owner != NULL;
	eng_wake_one(&lock->waitq);
	gvm_port_yield();
}

void gvm_waitqueue_init(struct gvm_waitqueue *wq)
{
	*wq = (struct gvm_waitqueue){ 0 };
}

void gvm_wake_up_all(struct gvm_waitqueue *wq)
{
	gvm_port_assert_may_sleep(); /* waking many takes long: not under a spinlock */
	gvm_wake_up_one(wq);
}

void gvm_wake_up_one(struct gvm_waitqueue *wq)
{
	wq->wakes++;
	eng_wake_all(&wq->waitq);
}

u64 gvm_port_wakes(struct gvm_waitqueue *wq)
{
	return wq->wakes;
}

int gvm_port_wait(struct gvm_waitqueue *wq, u64 wakes, u64 date, bool interruptible)
{
	gvm_port_assert_may_sleep();
	if (wq->wakes != wakes)
		return 0;
	return eng_wait(&wq->waitq, date, interruptible);
}

void gvm_completion_init(struct gvm_completion *completion)
{
	*completion = (struct gvm_completion){ 0 };
}

void gvm_complete_all(struct gvm_completion *completion)
{
	completion->done = true;
	eng_wake_all(&completion->waitq);
}

int gvm_completion_wait(struct gvm_completion *completion)
{
	int status = 0;

	gvm_port_assert_may_sleep();
	while (!completion->done && !status)
		status = eng_wait(&completion->waitq, ENG_NEVER, true);
	return status;
}

int gvm_worker_start(struct gvm_worker *worker, const char *name, void (*function)(void *data),
		     void *data)
{
	gvm_port_assert_may_sleep();
	worker->actor = eng_spawn(name, function, data);
	return worker->actor ? 0 : -ENOMEM;
}

bool gvm_worker_should_stop(void)
{
	gvm_port_yield();
	return eng_interrupted();
}

bool gvm_give_way(void)
{
	gvm_port_assert_may_sleep();
	gvm_port_yield();
	return eng_interrupted();
}

void gvm_worker_stop(struct gvm_worker *worker)
{
	gvm_port_assert_may_sleep();
	eng_interrupt(worker->actor);
	eng_join(worker->actor);
	worker->actor = NULL;
}

u64 gvm_ktime_ns(void)
{
	return eng_now();
}

void gvm_cost(enum gvm_cost kind, u32 n)
{
	const u64 *costs = eng_inherited();

	if (costs)
		eng_add_debt(costs[kind] * n);
}
