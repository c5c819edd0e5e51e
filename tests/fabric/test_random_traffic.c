// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Random reads and writes over random fabrics: each link carries the bytes of the transfers that
 * go over it, none is quicker than its links allow, no element has more tags in use than it has,
 * and nothing is left at the end.
 */
#include "fabric_world.h"

#include "gvm/port.h"

#define SEEDS	     400u
#define TRANSFERS    12u
#define WORLD_HOSTS  4u
#define WORLD_NAME   32
#define SPAN	     (8 * MIB) /* of memory that is mapped for others */
#define BYTES_LIMIT  40000u
#define ROUNDS_LIMIT 3u

static u64 random_state, seed;

static u32 draw(u32 limit)
{
	return (u32)(gvm_port_draw(&random_state) % limit);
}

static u64 draw_power(u32 low, u32 high)
{
	return 1ull << (low + draw(high - low + 1));
}

/* Addresses that a device may use, by the element that they are at in its host. */
static u32 devices[FABRIC_ELEMENTS_MAX], device_count;
static u64 windows[WORLD_HOSTS][FABRIC_ELEMENTS_MAX];
static u32 window_count[WORLD_HOSTS];

static void draw_config(struct fabric_config *config)
{
	*config = (struct fabric_config){
		.switch_ns = draw(200),
		.root_ns = draw(300),
		.ntb_ns = draw(400),
		.memory_ns = draw(500),
		.store_ns = draw(200),
		.device_ns = draw(400),
		.payload = (u32)draw_power(6, 12),
		.read_request = 64 + draw(4033),
		.read_tags = 1 + draw(40),
		.completion = 64 + draw(1000),
		.root_read = draw(3) ? 64 + draw(200) : 0,
		.root_tags = 1 + draw(40),
		.root_write = draw(3) ? 64 + draw(200) : 0,
		.link_overhead = draw(100000),
	};
}

static u32 draw_below(u32 host)
{
	u32 below;

	do
		below = draw(fabric.element_count);
	while (fabric.elements[below].host != host ||
	       fabric.elements[below].kind > FABRIC_SWITCH);
	return below;
}

static void add_host(u32 number)
{
	char name[WORLD_NAME];
	u32 host;

	snprintf(name, sizeof(name), "host %u", number);
	host = fabric_add_host(&fabric, name, GIB, draw(2));
	window_count[host] = 0;
	for (u32 i = draw(3); i; i--)
		fabric_add_switch(&fabric, "switch", draw_below(host), 1 + draw(5),
				  (u32)draw_power(0, 4));
	for (u32 i = 1 + draw(2); i; i--) {
		u32 device = fabric_add_device(&fabric, "device", draw_below(host), 1 + draw(5),
					       (u32)draw_power(0, 4), SPAN);

		devices[device_count++] = device;
		windows[host][window_count[host]++] = fabric.elements[device].base;
	}
	windows[host][window_count[host]++] = 0;
}

static u32 add_bridge(u32 host)
{
	return fabric_add_ntb(&fabric, "bridge", draw_below(host), 1 + draw(5),
			      (u32)draw_power(0, 4), draw_power(24, 26), (u32)draw_power(1, 6));
}

/* Lead parts of a bridge's window to some of the first @targets windows of the other host. */
static void open_windows(u32 bridge, u32 host, u32 other, u32 targets)
{
	for (u32 i = 0; i < 3; i++) {
		u64 bytes = 1 + draw(SPAN - 1), offset = draw((u32)(SPAN - bytes)), address;

		if (!fabric_ntb_map(&fabric, bridge, windows[other][draw(targets)] + offset,
				    bytes, &address))
			windows[host][window_count[host]++] = address;
	}
}

static void build_random(void)
{
	struct fabric_config config;
	u32 hosts = 1 + draw(WORLD_HOSTS);

	draw_config(&config);
	fabric_init(&fabric, &config);
	device_count = 0;
	for (u32 i = 0; i < hosts; i++)
		add_host(i);
	for (u32 i = 0; i < hosts; i++)
		for (u32 k = i + 1; k < hosts; k++) {
			u32 bridge = add_bridge(i), far = add_bridge(k);
			u32 own = window_count[i], others = window_count[k];

			fabric_join(&fabric, bridge, far, 1 + draw(5), (u32)draw_power(0, 4));
			open_windows(bridge, i, k, others);
			open_windows(far, k, i, own);
		}
	for (u32 i = 0; i < device_count; i++)
		ck_assert_int_eq(fabric_domain_add(&fabric, devices[i], 0, U64_MAX), 0);
}

/* What links have to carry, by wire, in the order of fabric.elements: up, down, cable. */
static u64 expected[FABRIC_ELEMENTS_MAX][3];

static void expect_wire(const struct fabric_wire *wire, u64 bytes)
{
	for (u32 i = 0; i < fabric.element_count; i++) {
		const struct fabric_element *element = &fabric.elements[i];

		if (wire == &element->up)
			expected[i][0] += bytes;
		else if (wire == &element->down)
			expected[i][1] += bytes;
		else if (wire == &element->cable)
			expected[i][2] += bytes;
	}
}

static void expect_wires(void)
{
	for (u32 i = 0; i < fabric.element_count; i++) {
		const struct fabric_element *element = &fabric.elements[i];

		ck_assert_msg(element->up.data == expected[i][0] &&
				      element->down.data == expected[i][1] &&
				      element->cable.data == expected[i][2],
			      "seed %llu, element %u", seed, i);
	}
}

/* The least time of @bytes on the way @path, in ps. */
static u64 least_ps(const struct fabric_path *path, u64 bytes, bool read)
{
	bool memory = fabric.elements[path->target].kind == FABRIC_ROOT;
	u64 slowest = U64_MAX, ways = 0;

	for (u32 i = 0; i < path->count; i++) {
		const struct fabric_step *step = &path->steps[i];
		u64 rate = read ? step->back->rate : step->wire->rate;

		ways += step->wire_ps + step->cross_ps;
		slowest = rate < slowest ? rate : slowest;
	}
	ways *= read ? 2 : 1;
	if (read)
		ways += (memory ? fabric.config.memory_ns : fabric.config.device_ns) * 1000;
	else
		ways += memory ? fabric.config.store_ns * 1000 : 0;
	return ways + bytes * 1000000 / slowest * 1000000;
}

struct random_transfer {
	struct fabric_transfer transfer;
	u64 bytes; /* of a round */
	u64 begun_ns;
	u64 least; /* ps of a round */
	u32 rounds;
	int right; /* the status that it has to have */
	u64 mapped;
};

static u32 under_way;
static struct eng_waitq waitq;

/* Follow the ways of a transfer: what it has to do, and how long it takes at least. */
static void expect_transfer(struct random_transfer *random)
{
	const struct fabric_transfer *transfer = &random->transfer;
	struct fabric_path path;

	random->least = random->mapped = 0;
	random->right = 0;
	while (!random->right && random->mapped < random->bytes) {
		random->right = fabric_route(&fabric, transfer->from,
					     transfer->address + random->mapped,
					     random->bytes - random->mapped, &path);
		if (random->right)
			break;
		for (u32 i = 0; i < path.count; i++)
			expect_wire(transfer->read ? path.steps[i].back : path.steps[i].wire,
				    path.bytes);
		random->least += least_ps(&path, path.bytes, transfer->read);
		random->mapped += path.bytes;
	}
}

static void begin_round(struct random_transfer *random)
{
	random->transfer.bytes = random->bytes;
	random->begun_ns = eng_now();
	expect_transfer(random);
	fabric_begin(&fabric, &random->transfer);
}

static void end_round(struct fabric_transfer *transfer)
{
	struct random_transfer *random =
		container_of(transfer, struct random_transfer, transfer);
	u64 took_ps = (eng_now() - random->begun_ns) * 1000;

	ck_assert_msg(transfer->status == random->right, "seed %llu: %d, not %d", seed,
		      transfer->status, random->right);
	ck_assert_msg(transfer->done == random->mapped, "seed %llu: %llu of %llu bytes", seed,
		      transfer->done, random->mapped);
	ck_assert_msg(took_ps >= random->least, "seed %llu: %llu ps, at least %llu", seed,
		      took_ps, random->least);
	if (random->rounds--) {
		begin_round(random);
		return;
	}
	under_way--;
	eng_wake_all(&waitq);
}

static void draw_transfer(struct random_transfer *random)
{
	u32 from = devices[draw(device_count)], host = fabric.elements[from].host;

	if (!draw(4))
		from = fabric.hosts[host].root;
	*random = (struct random_transfer){
		.transfer = {
			.from = from,
			.address = windows[host][draw(window_count[host])] + draw(SPAN),
			.read = draw(2),
			.request_bytes = draw(2) ? 1 + draw(4096) : 0,
			.tags = draw(8),
			.on_end = end_round,
		},
		.bytes = 1 + draw(BYTES_LIMIT),
		.rounds = draw(ROUNDS_LIMIT),
	};
	random->transfer.think_ps = random->transfer.tags ? draw(2) * draw(1000000) : 0;
}

static void expect_idle(void)
{
	for (u32 i = 0; i < fabric.element_count; i++) {
		const struct fabric_element *element = &fabric.elements[i];
		u32 tags = element->kind == FABRIC_ROOT ? fabric.config.root_tags :
							  fabric.config.read_tags;

		for (u32 k = 0; k <= FABRIC_ROOTS_MAX; k++) {
			ck_assert_uint_eq(element->tags[k].used, 0);
			ck_assert_ptr_null(element->tags[k].first);
		}
		ck_assert_uint_eq(element->transfers, 0);
		ck_assert_uint_le(element->tags_most, tags);
	}
	ck_assert(eng_timers_next(&fabric.events) == ENG_NEVER);
}

static void random_traffic(void)
{
	static struct random_transfer transfers[TRANSFERS];

	memset(expected, 0, sizeof(expected));
	build_random();
	under_way = TRANSFERS;
	for (u32 i = 0; i < TRANSFERS; i++) {
		draw_transfer(&transfers[i]);
		begin_round(&transfers[i]);
		if (draw(2))
			eng_sleep_until(eng_now() + draw(2000));
	}
	while (under_way)
		(void)eng_wait(&waitq, ENG_NEVER, false);
	expect_wires();
	expect_idle();
}

START_TEST(random_transfers_over_random_fabrics_keep_their_bytes_and_times)
{
	for (seed = 1; seed <= SEEDS; seed++) {
		random_state = seed;
		simulate(random_traffic);
	}
}
END_TEST

static void add_tests(TCase *tests)
{
	tcase_add_test(tests, random_transfers_over_random_fabrics_keep_their_bytes_and_times);
}

int main(void)
{
	return suite_run("random_traffic", NULL, NULL, add_tests);
}
