// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the ROW I/O scheduler's policy core, with a clock of their own
 * and without a block device.
 */
#include <kunit/test.h>
#include <linux/ioprio.h>
#include <linux/math64.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/time64.h>

#include "../row-policy.h"

#define MS	NSEC_PER_MSEC
#define NR_RQS	128

/**
 * struct row_test - a scheduler with requests to put in
 * @rp:		the scheduler
 * @now:	its clock, ns
 * @clock_reads: times that it has looked at the clock
 * @rqs:	the requests
 * @used:	number of @rqs handed out
 */
struct row_test {
	struct row_policy	rp;
	u64			now;
	unsigned int		clock_reads;
	struct request		*rqs;
	unsigned int		used;
};

static u64 row_test_clock(struct row_policy *rp)
{
	struct row_test *t = container_of(rp, struct row_test, rp);

	t->clock_reads++;

	return t->now;
}

static int row_test_init(struct kunit *test)
{
	struct row_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->rqs = kunit_kcalloc(test, NR_RQS, sizeof(*t->rqs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->rqs);

	row_policy_init(&t->rp, row_test_clock);
	/* Long after any time that a field initialised to 0 stands for. */
	t->now = 1000ULL * NSEC_PER_SEC;
	test->priv = t;

	return 0;
}

static void row_test_prepare(struct row_test *t, struct request *rq,
			     enum row_queue_id id)
{
	INIT_LIST_HEAD(&rq->queuelist);
	row_rq_set_state(rq, ROW_RQ_NEW);
	row_rq_set_queue(rq, &t->rp.queue[id]);
}

static struct request *row_test_new(struct kunit *test, enum row_queue_id id)
{
	struct row_test *t = test->priv;
	struct request *rq = &t->rqs[t->used];

	KUNIT_ASSERT_LT(test, t->used, NR_RQS);
	t->used++;
	row_test_prepare(t, rq, id);

	return rq;
}

static void row_test_put(struct row_test *t, struct request *rq, bool at_head)
{
	row_policy_insert(&t->rp, rq, at_head, t->now);
	row_policy_update(&t->rp);
}

static struct request *row_test_add(struct kunit *test, enum row_queue_id id)
{
	struct request *rq = row_test_new(test, id);

	row_test_put(test->priv, rq, false);

	return rq;
}

static void row_test_add_many(struct kunit *test, enum row_queue_id id,
			      unsigned int nr)
{
	while (nr--)
		row_test_add(test, id);
}

static struct request *row_test_dispatch(struct row_test *t)
{
	return row_policy_dispatch(&t->rp);
}

static bool row_test_finish(struct row_test *t, struct request *rq)
{
	return row_policy_finish(&t->rp, rq);
}

/* The queue of a request, or ROW_NR_QUEUES if there is no request. */
static int row_test_id(struct row_test *t, struct request *rq)
{
	return rq ? row_rq_queue(rq)->id : ROW_NR_QUEUES;
}

/* Dispatch a request, let the device end it, and say where it was from. */
static int row_test_serve(struct row_test *t)
{
	struct request *rq = row_test_dispatch(t);
	int id = row_test_id(t, rq);

	if (rq)
		row_test_finish(t, rq);

	return id;
}

/* Without waiting for reads, so that a test sees one thing only. */
static void row_test_no_idle(struct row_test *t)
{
	t->rp.tun.read_idle = 0;
}

static void row_test_quanta(struct row_test *t, unsigned int quantum)
{
	unsigned int i;

	for (i = 0; i < ROW_NR_QUEUES; i++)
		t->rp.tun.quantum[i] = quantum;
}

/* Classification */

/* The queues are those for the classes real-time, best-effort and idle. */
struct row_class_row {
	const char		*name;
	blk_opf_t		opf;
	enum row_queue_id	queue[3];
};

static const struct row_class_row row_class_rows[] = {
	{ "read", REQ_OP_READ,
	  { ROW_HP_READ, ROW_RP_READ, ROW_LP_READ } },
	{ "sync read", REQ_OP_READ | REQ_SYNC,
	  { ROW_HP_READ, ROW_RP_READ, ROW_LP_READ } },
	{ "readahead", REQ_OP_READ | REQ_RAHEAD,
	  { ROW_HP_READ, ROW_RP_READ, ROW_LP_READ } },
	{ "write", REQ_OP_WRITE,
	  { ROW_HP_SWRITE, ROW_RP_WRITE, ROW_LP_SWRITE } },
	{ "sync write", REQ_OP_WRITE | REQ_SYNC,
	  { ROW_HP_SWRITE, ROW_RP_SWRITE, ROW_LP_SWRITE } },
	{ "fua write", REQ_OP_WRITE | REQ_FUA,
	  { ROW_HP_SWRITE, ROW_RP_SWRITE, ROW_LP_SWRITE } },
	{ "preflush write", REQ_OP_WRITE | REQ_PREFLUSH,
	  { ROW_HP_SWRITE, ROW_RP_SWRITE, ROW_LP_SWRITE } },
	{ "discard", REQ_OP_DISCARD,
	  { ROW_HP_SWRITE, ROW_RP_WRITE, ROW_LP_SWRITE } },
	{ "sync discard", REQ_OP_DISCARD | REQ_SYNC,
	  { ROW_HP_SWRITE, ROW_RP_WRITE, ROW_LP_SWRITE } },
	{ "secure erase", REQ_OP_SECURE_ERASE | REQ_SYNC,
	  { ROW_HP_SWRITE, ROW_RP_WRITE, ROW_LP_SWRITE } },
	{ "write zeroes", REQ_OP_WRITE_ZEROES | REQ_SYNC,
	  { ROW_HP_SWRITE, ROW_RP_WRITE, ROW_LP_SWRITE } },
	{ "zone append", REQ_OP_ZONE_APPEND | REQ_SYNC,
	  { ROW_HP_SWRITE, ROW_RP_SWRITE, ROW_LP_SWRITE } },
	{ "zone reset", REQ_OP_ZONE_RESET | REQ_SYNC,
	  { ROW_HP_SWRITE, ROW_RP_SWRITE, ROW_LP_SWRITE } },
};

KUNIT_ARRAY_PARAM_DESC(row_class, row_class_rows, name);

static void row_test_class(struct kunit *test)
{
	const struct row_class_row *row = test->param_value;
	unsigned int level;

	for (level = 0; level < IOPRIO_NR_LEVELS; level++) {
		u16 rt = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_RT, level);
		u16 be = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, level);
		u16 none = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, level);
		u16 idle = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, level);

		KUNIT_EXPECT_EQ(test, row_policy_classify(row->opf, rt),
				row->queue[0]);
		KUNIT_EXPECT_EQ(test, row_policy_classify(row->opf, be),
				row->queue[1]);
		KUNIT_EXPECT_EQ(test, row_policy_classify(row->opf, none),
				row->queue[1]);
		KUNIT_EXPECT_EQ(test, row_policy_classify(row->opf, idle),
				row->queue[2]);
	}
}

/* The cycle */

static void row_test_order_in_cycle(struct kunit *test)
{
	struct row_test *t = test->priv;
	int i;

	row_test_no_idle(t);
	row_test_quanta(t, 1);
	for (i = ROW_NR_QUEUES - 1; i >= 0; i--)
		row_test_add_many(test, i, 2);

	/* Two cycles, each in the order of the queues. */
	for (i = 0; i < 2 * ROW_NR_QUEUES; i++)
		KUNIT_EXPECT_EQ(test, i % ROW_NR_QUEUES, row_test_serve(t));
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), NULL);
}

static void row_test_fifo_in_queue(struct kunit *test)
{
	struct row_test *t = test->priv;
	int i;

	row_test_add_many(test, ROW_RP_READ, 5);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), &t->rqs[i]);
}

struct row_quantum_row {
	const char		*name;
	enum row_queue_id	id;
};

static const struct row_quantum_row row_quantum_rows[] = {
	{ "hp_read", ROW_HP_READ },
	{ "hp_swrite", ROW_HP_SWRITE },
	{ "rp_read", ROW_RP_READ },
	{ "rp_swrite", ROW_RP_SWRITE },
	{ "rp_write", ROW_RP_WRITE },
	{ "lp_read", ROW_LP_READ },
	{ "lp_swrite", ROW_LP_SWRITE },
};

KUNIT_ARRAY_PARAM_DESC(row_quantum, row_quantum_rows, name);

/* A queue gets its quantum in each cycle, while the others want theirs. */
static void row_test_quantum(struct kunit *test)
{
	const struct row_quantum_row *row = test->param_value;
	struct row_test *t = test->priv;
	int i, cycle, served;

	row_test_no_idle(t);
	row_test_quanta(t, 1);
	t->rp.tun.quantum[row->id] = 5;
	for (i = 0; i < ROW_NR_QUEUES; i++)
		row_test_add_many(test, i, i == row->id ? 15 : 3);

	for (cycle = 0; cycle < 3; cycle++) {
		for (served = 0, i = 0; i < ROW_NR_QUEUES + 4; i++)
			served += row_test_serve(t) == row->id;
		KUNIT_EXPECT_EQ(test, served, 5);
	}
}

static void row_test_preemption_keeps_count(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_no_idle(t);
	row_test_quanta(t, 3);
	row_test_add_many(test, ROW_RP_WRITE, 4);
	row_test_add(test, ROW_LP_READ);

	/* rp_read was empty at its turn. rp_write is at one of three. */
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
	row_test_add(test, ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_WRITE].preempted, 1);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_WRITE].served, 1);

	/* It goes on with two more, then the cycle goes on. */
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_LP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

static void row_test_spent_queue_does_not_preempt(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_no_idle(t);
	row_test_quanta(t, 2);
	row_test_add_many(test, ROW_RP_READ, 2);
	row_test_add_many(test, ROW_RP_WRITE, 2);

	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
	row_test_add(test, ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_WRITE].preempted, 0);
}

static void row_test_empty_queues_end_the_cycle(struct kunit *test)
{
	struct row_test *t = test->priv;
	unsigned long cycle;

	row_test_quanta(t, 2);
	row_test_add(test, ROW_RP_READ);
	cycle = t->rp.cycle;
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_READ].served, 1);
	row_test_add(test, ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, t->rp.cycle, cycle + 1);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_READ].served, 0);
}

/* The example in Documentation/block/row-iosched.rst. */
static void row_test_documented_example(struct kunit *test)
{
	static const enum row_queue_id expected[] = {
		ROW_RP_READ, ROW_RP_READ, ROW_RP_READ, ROW_RP_SWRITE,
		ROW_RP_WRITE, ROW_HP_READ, ROW_RP_WRITE,
		ROW_RP_READ, ROW_RP_WRITE,
	};
	struct row_test *t = test->priv;
	int i;

	row_test_no_idle(t);
	t->rp.tun.quantum[ROW_RP_READ] = 3;
	t->rp.tun.quantum[ROW_RP_WRITE] = 2;

	row_test_add_many(test, ROW_RP_WRITE, 3);
	row_test_add_many(test, ROW_RP_READ, 4);
	row_test_add(test, ROW_RP_SWRITE);

	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		if (i == 5)
			row_test_add(test, ROW_HP_READ);
		KUNIT_EXPECT_EQ_MSG(test, expected[i], row_test_serve(t),
				    "request %d", i);
	}
}

/* Idling */

/* Two reads in quick succession, both ended: the next one is worth a wait. */
static void row_test_frequent_reader(struct kunit *test, enum row_queue_id id)
{
	struct row_test *t = test->priv;

	row_test_add(test, id);
	KUNIT_ASSERT_EQ(test, row_test_serve(t), id);
	t->now += 1 * MS;
	row_test_add(test, id);
	KUNIT_ASSERT_EQ(test, row_test_serve(t), id);
}

static void row_test_idle_starts(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_frequent_reader(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_WRITE);
	KUNIT_EXPECT_FALSE(test, t->rp.ready);
	KUNIT_EXPECT_EQ(test, t->rp.hold, ROW_HOLD_IDLE);
	KUNIT_EXPECT_EQ(test, t->rp.hold_queue, ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, t->rp.wake_at, t->now + t->rp.tun.read_idle);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), NULL);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_READ].idled, 1);
}

static void row_test_idle_ends_by_arrival(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_frequent_reader(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_WRITE);
	t->now += 1 * MS;
	row_test_add(test, ROW_RP_READ);
	KUNIT_EXPECT_TRUE(test, t->rp.ready);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	/* And it waits for the one after that. */
	KUNIT_EXPECT_FALSE(test, t->rp.ready);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_READ].idled, 2);
}

static void row_test_idle_ends_by_timer(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_frequent_reader(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_WRITE);
	t->now = t->rp.wake_at - 1;
	KUNIT_EXPECT_FALSE(test, row_policy_update(&t->rp));
	t->now++;
	KUNIT_EXPECT_TRUE(test, row_policy_update(&t->rp));
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

static void row_test_idle_counts_from_completion(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *read;

	row_test_frequent_reader(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_WRITE);
	read = row_test_dispatch(t);
	KUNIT_ASSERT_NOT_NULL(test, read);

	/*
	 * The device takes longer than read_idle. It will say when it is done,
	 * so the timer is for the write's limit.
	 */
	KUNIT_EXPECT_EQ(test, t->rp.hold, ROW_HOLD_IDLE);
	KUNIT_EXPECT_EQ(test, t->rp.wake_at, t->now + t->rp.tun.write_expire);
	t->now += 100 * MS;
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), NULL);
	t->now += 1 * MS;
	KUNIT_EXPECT_FALSE(test, row_test_finish(t, read));
	t->now += t->rp.tun.read_idle - 1;
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), NULL);
	t->now++;
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

/* One that reads ahead is no slow reader because the device is slow. */
static void row_test_idle_for_readahead(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *read, *next;
	int i;

	read = row_test_add(test, ROW_RP_READ);
	row_test_dispatch(t);
	for (i = 0; i < 3; i++) {
		t->now += 2 * t->rp.tun.read_idle_freq;
		next = row_test_add(test, ROW_RP_READ);
		row_test_finish(t, read);
		KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), next);
		read = next;
	}
	row_test_add(test, ROW_RP_WRITE);
	row_test_finish(t, read);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), NULL);
}

static void row_test_no_idle_for_slow_reader(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_add(test, ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	t->now += t->rp.tun.read_idle_freq;
	row_test_add(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_WRITE);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

static void row_test_no_idle_when_quantum_spent(struct kunit *test)
{
	struct row_test *t = test->priv;

	t->rp.tun.quantum[ROW_RP_READ] = 2;
	row_test_add(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_WRITE);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

static void row_test_no_idle_for_low_priority(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_frequent_reader(test, ROW_LP_READ);
	row_test_add(test, ROW_LP_SWRITE);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_LP_SWRITE);
}

static void row_test_idle_does_not_hold_higher(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_frequent_reader(test, ROW_RP_READ);
	row_test_add(test, ROW_HP_SWRITE);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_HP_SWRITE);
	row_test_frequent_reader(test, ROW_HP_READ);
	row_test_add(test, ROW_HP_SWRITE);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), NULL);
}

static void row_test_reader_alone_sets_no_timer(struct kunit *test)
{
	struct row_test *t = test->priv;
	int i;

	for (i = 0; i < 50; i++) {
		row_test_add(test, ROW_RP_READ);
		KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
		KUNIT_EXPECT_EQ(test, t->rp.wake_at, 0);
		t->now += MS / 10;
	}
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_READ].idled, 0);
}

/* Where nothing waits for anything else, nothing looks at the clock. */
static void row_test_alone_reads_no_clock(struct kunit *test)
{
	const struct row_quantum_row *row = test->param_value;
	struct row_test *t = test->priv;
	struct request *rq = row_test_new(test, row->id);
	int i;

	for (i = 0; i < 50; i++) {
		row_test_put(t, rq, false);
		KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), rq);
		row_rq_set_state(rq, ROW_RQ_ENDED);
		rq->fifo_time = t->now;
		row_test_finish(t, rq);
		t->now += MS / 10;
	}
	KUNIT_EXPECT_EQ(test, t->clock_reads, 0);
}

/* A new limit holds for requests that come after it, and for the pace at once. */
static void row_test_retune(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_no_idle(t);
	t->rp.tun.quantum[ROW_RP_READ] = UINT_MAX;
	row_test_add_many(test, ROW_RP_WRITE, 10);
	row_test_add_many(test, ROW_RP_READ, 10);
	t->rp.tun.write_expire = 100 * MS;
	row_policy_retune(&t->rp);
	row_policy_update(&t->rp);
	t->now += 10 * MS - 1;
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	t->now++;
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

/* Reads whose quantum is spent use the wait for those whose is not. */
static void row_test_spent_reads_use_the_wait(struct kunit *test)
{
	struct row_test *t = test->priv;

	t->rp.tun.quantum[ROW_HP_READ] = 1;
	row_test_frequent_reader(test, ROW_RP_READ);
	row_test_add_many(test, ROW_HP_READ, 2);
	row_test_add(test, ROW_RP_WRITE);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_HP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_HP_READ);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), NULL);
}

/* Bounds */

static const struct row_quantum_row row_bounded_rows[] = {
	{ "hp_swrite", ROW_HP_SWRITE },
	{ "rp_swrite", ROW_RP_SWRITE },
	{ "rp_write", ROW_RP_WRITE },
	{ "lp_read", ROW_LP_READ },
	{ "lp_swrite", ROW_LP_SWRITE },
};

KUNIT_ARRAY_PARAM_DESC(row_bounded, row_bounded_rows, name);

/* A single request under reads without end is sent when its time is up. */
static void row_test_expiry(struct kunit *test)
{
	const struct row_quantum_row *row = test->param_value;
	struct row_test *t = test->priv;
	struct request *read = row_test_new(test, ROW_HP_READ);
	u64 expire, start = t->now;
	int id;

	t->rp.tun.quantum[ROW_HP_READ] = UINT_MAX;
	expire = (BIT(row->id) & ROW_LOW) ? t->rp.tun.lp_expire :
					    t->rp.tun.write_expire;
	row_test_put(t, read, false);
	row_test_add(test, row->id);

	while ((id = row_test_serve(t)) == ROW_HP_READ) {
		KUNIT_ASSERT_LT(test, t->now, start + expire);
		t->now += 1 * MS;
		row_test_put(t, read, false);
	}
	KUNIT_EXPECT_EQ(test, id, row->id);
	KUNIT_EXPECT_EQ(test, t->now, start + expire);
	KUNIT_EXPECT_EQ(test, t->rp.queue[row->id].expired, 1);
}

/* A burst of writes is spread over its time, not sent at the end of it. */
static void row_test_burst_is_spread(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *read = row_test_new(test, ROW_RP_READ);
	u64 last = t->now, start = t->now, least = U64_MAX;
	int writes = 0, id;

	t->rp.tun.quantum[ROW_RP_READ] = UINT_MAX;
	row_test_add_many(test, ROW_RP_WRITE, 50);
	row_test_put(t, read, false);

	while (writes < 50) {
		id = row_test_serve(t);
		KUNIT_ASSERT_LE(test, t->now, start + t->rp.tun.write_expire);
		if (id == ROW_RP_WRITE) {
			writes++;
			least = min(least, t->now - last);
			last = t->now;
			continue;
		}
		KUNIT_ASSERT_EQ(test, id, ROW_RP_READ);
		t->now += 1 * MS;
		row_test_put(t, read, false);
	}
	KUNIT_EXPECT_EQ(test, least, div_u64(t->rp.tun.write_expire, 50));
}

/* The pace of a burst does not outlive it. */
static void row_test_pace_ends_with_burst(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_no_idle(t);
	row_test_add_many(test, ROW_RP_WRITE, 10);
	while (row_test_serve(t) != ROW_NR_QUEUES)
		;

	row_test_add(test, ROW_RP_WRITE);
	row_test_add(test, ROW_RP_READ);
	t->now += t->rp.tun.write_expire - 1;
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	row_test_add(test, ROW_RP_READ);
	t->now++;
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

/* Nor does that of many requests outlive them where fewer have followed. */
static void row_test_pace_falls(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct row_queue *q = &t->rp.queue[ROW_RP_WRITE];
	int i;

	row_test_no_idle(t);
	row_test_add_many(test, ROW_RP_WRITE, 10);
	for (i = 0; i < 8; i++)
		row_test_serve(t);
	row_test_add_many(test, ROW_RP_WRITE, 2);
	KUNIT_EXPECT_EQ(test, q->nr, 4);
	KUNIT_EXPECT_EQ(test, q->peak, 10);
	/* The tenth was in the queue when it was longest. */
	row_test_serve(t);
	KUNIT_EXPECT_EQ(test, q->peak, 10);
	row_test_serve(t);
	KUNIT_EXPECT_EQ(test, q->peak, 4);
	KUNIT_EXPECT_EQ(test, q->interval, t->rp.tun.write_expire >> 2);
}

/* A write that is late, but has its turn anyway, is not served out of turn. */
static void row_test_late_in_turn(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_add(test, ROW_RP_WRITE);
	t->now += 2 * t->rp.tun.write_expire;
	row_test_add(test, ROW_LP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_WRITE].expired, 0);
}

/* Writes that are all late take turns with reads. */
static void row_test_reads_survive_overload(struct kunit *test)
{
	struct row_test *t = test->priv;
	int i;

	row_test_no_idle(t);
	t->rp.tun.quantum[ROW_RP_READ] = UINT_MAX;
	row_test_add_many(test, ROW_RP_WRITE, 20);
	t->now += 2 * t->rp.tun.write_expire;
	row_test_add_many(test, ROW_RP_READ, 20);

	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
		KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	}
}

static void row_test_expiry_breaks_idling(struct kunit *test)
{
	struct row_test *t = test->priv;

	t->rp.tun.read_idle = 500 * MS;
	t->rp.tun.read_idle_freq = 500 * MS;
	t->rp.tun.write_expire = 100 * MS;
	row_test_frequent_reader(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_WRITE);
	KUNIT_EXPECT_FALSE(test, t->rp.ready);
	KUNIT_EXPECT_EQ(test, t->rp.wake_at, t->now + 100 * MS);
	t->now = t->rp.wake_at;
	KUNIT_EXPECT_TRUE(test, row_policy_update(&t->rp));
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

/* A write's pace yields to a real-time read, its time limit does not. */
static void row_test_rt_read_before_pace(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *read = row_test_new(test, ROW_HP_READ);

	t->rp.tun.quantum[ROW_HP_READ] = UINT_MAX;
	row_test_add_many(test, ROW_RP_WRITE, 10);
	t->now += t->rp.tun.write_expire >> 1;
	row_test_put(t, read, false);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_HP_READ);
	t->now += t->rp.tun.write_expire >> 1;
	row_test_put(t, read, false);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

/* Write depth */

static void row_test_write_depth_beside_reads(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *write, *read;

	row_test_no_idle(t);
	row_test_quanta(t, 4);
	read = row_test_add(test, ROW_RP_READ);
	row_test_add_many(test, ROW_RP_WRITE, 4);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), read);
	write = row_test_dispatch(t);
	KUNIT_EXPECT_EQ(test, row_test_id(t, write), ROW_RP_WRITE);

	KUNIT_EXPECT_FALSE(test, t->rp.ready);
	KUNIT_EXPECT_EQ(test, t->rp.hold, ROW_HOLD_WRITES);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), NULL);

	/* The write's completion is what lets the next one go. */
	KUNIT_EXPECT_TRUE(test, row_test_finish(t, write));
	KUNIT_EXPECT_EQ(test, row_test_id(t, row_test_dispatch(t)),
			ROW_RP_WRITE);
	KUNIT_EXPECT_EQ(test, t->rp.writes_in_flight, 1);
}

static void row_test_whole_depth_without_reads(struct kunit *test)
{
	struct row_test *t = test->priv;
	int i;

	row_test_add_many(test, ROW_RP_WRITE, 64);
	for (i = 0; i < 64; i++)
		KUNIT_EXPECT_NOT_NULL(test, row_test_dispatch(t));
	KUNIT_EXPECT_EQ(test, t->rp.writes_in_flight, 64);
}

static void row_test_write_depth_ends_with_window(struct kunit *test)
{
	struct row_test *t = test->priv;

	row_test_add(test, ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	row_test_add_many(test, ROW_RP_WRITE, 2);
	KUNIT_EXPECT_NOT_NULL(test, row_test_dispatch(t));
	KUNIT_EXPECT_FALSE(test, t->rp.ready);
	KUNIT_EXPECT_EQ(test, t->rp.wake_at, t->now + t->rp.tun.read_window);
	t->now = t->rp.wake_at;
	KUNIT_EXPECT_TRUE(test, row_policy_update(&t->rp));
	KUNIT_EXPECT_NOT_NULL(test, row_test_dispatch(t));
}

static void row_test_low_reads_do_not_limit_writes(struct kunit *test)
{
	struct row_test *t = test->priv;
	int i;

	row_test_add_many(test, ROW_LP_READ, 2);
	row_test_add_many(test, ROW_RP_WRITE, 8);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_NOT_NULL(test, row_test_dispatch(t));
}

/* Reads use the time in which the writes whose turn it is may not be sent. */
static void row_test_reads_borrow_the_turn(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *write;
	int i;

	row_test_no_idle(t);
	row_test_quanta(t, 2);
	row_test_add_many(test, ROW_RP_READ, 10);
	row_test_add_many(test, ROW_RP_WRITE, 2);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	write = row_test_dispatch(t);
	KUNIT_EXPECT_EQ(test, row_test_id(t, write), ROW_RP_WRITE);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_READ);
	row_test_finish(t, write);
	KUNIT_EXPECT_EQ(test, row_test_serve(t), ROW_RP_WRITE);
}

/* Insertion at the head, requeues, merges */

static void row_test_at_head(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *rq;

	row_test_add_many(test, ROW_RP_SWRITE, 2);
	rq = row_test_new(test, ROW_RP_SWRITE);
	row_test_put(t, rq, true);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), rq);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), &t->rqs[0]);
}

static void row_test_requeue(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct row_queue *q = &t->rp.queue[ROW_RP_WRITE];
	struct request *rq;
	u64 limit;

	row_test_add_many(test, ROW_RP_WRITE, 3);
	rq = row_test_dispatch(t);
	limit = rq->fifo_time;
	KUNIT_EXPECT_EQ(test, t->rp.writes_in_flight, 1);

	/* It comes back in front and as old as it is. */
	t->now += 10 * MS;
	row_test_put(t, rq, true);
	KUNIT_EXPECT_EQ(test, t->rp.writes_in_flight, 0);
	KUNIT_EXPECT_EQ(test, q->in_flight, 0);
	KUNIT_EXPECT_EQ(test, q->nr, 3);
	KUNIT_EXPECT_EQ(test, q->inserted, 3);
	KUNIT_EXPECT_EQ(test, q->requeued, 1);
	KUNIT_EXPECT_EQ(test, rq->fifo_time, limit);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), rq);
	row_test_finish(t, rq);
	KUNIT_EXPECT_EQ(test, q->completed, 1);
	KUNIT_EXPECT_EQ(test, row_policy_check(&t->rp), 0);
}

/* blk-mq may send a requeued request again without telling the scheduler. */
static void row_test_requeue_bypasses(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct row_queue *q = &t->rp.queue[ROW_RP_WRITE];
	struct request *rq;

	row_test_add(test, ROW_RP_WRITE);
	rq = row_test_dispatch(t);
	KUNIT_EXPECT_EQ(test, q->in_flight, 1);
	row_test_finish(t, rq);
	/* The second half of a flush sequence ends the same request again. */
	row_test_finish(t, rq);
	KUNIT_EXPECT_EQ(test, q->in_flight, 0);
	KUNIT_EXPECT_EQ(test, q->completed, 1);
	KUNIT_EXPECT_EQ(test, row_policy_check(&t->rp), 0);
}

/* A requeue of the writes in flight ends a hold as their completion does. */
static void row_test_requeue_ends_hold(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *write;

	row_test_no_idle(t);
	row_test_add(test, ROW_RP_READ);
	row_test_add_many(test, ROW_RP_WRITE, 2);
	row_test_dispatch(t);
	write = row_test_dispatch(t);
	KUNIT_EXPECT_EQ(test, t->rp.hold, ROW_HOLD_WRITES);
	row_test_put(t, write, true);
	KUNIT_EXPECT_TRUE(test, t->rp.ready);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), write);
}

static void row_test_free_before_insert(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *rq = row_test_new(test, ROW_RP_READ);

	KUNIT_EXPECT_FALSE(test, row_test_finish(t, rq));
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_READ].completed, 0);
	KUNIT_EXPECT_EQ(test, row_policy_check(&t->rp), 0);
}

static void row_test_merge_takes_older_place(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct row_queue *q = &t->rp.queue[ROW_RP_WRITE];
	struct request *old, *rq;
	u64 limit;

	old = row_test_add(test, ROW_RP_WRITE);
	limit = old->fifo_time;
	t->now += 1 * MS;
	row_test_add(test, ROW_RP_WRITE);
	rq = row_test_add(test, ROW_RP_WRITE);

	row_policy_merged(&t->rp, rq, old);
	row_policy_update(&t->rp);
	row_test_finish(t, old);
	KUNIT_EXPECT_EQ(test, q->nr, 2);
	KUNIT_EXPECT_EQ(test, q->merged, 1);
	KUNIT_EXPECT_EQ(test, q->completed, 0);
	KUNIT_EXPECT_EQ(test, rq->fifo_time, limit);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), rq);
	KUNIT_EXPECT_EQ(test, row_policy_check(&t->rp), 0);
}

static void row_test_merge_keeps_older_place(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *rq, *young;

	rq = row_test_add(test, ROW_RP_READ);
	row_test_add(test, ROW_RP_READ);
	t->now += 1 * MS;
	young = row_test_add(test, ROW_RP_READ);

	row_policy_merged(&t->rp, rq, young);
	KUNIT_EXPECT_EQ(test, t->rp.reads, 2);
	KUNIT_EXPECT_PTR_EQ(test, row_test_dispatch(t), rq);
	KUNIT_EXPECT_EQ(test, row_policy_check(&t->rp), 0);
}

/* Writes do not grow while reads are arriving; everything else does. */
static void row_test_merge_limit(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *rq = row_test_add(test, ROW_RP_WRITE);
	unsigned int limit = t->rp.tun.write_merge_kb * SZ_1K;

	rq->cmd_flags = REQ_OP_WRITE;
	KUNIT_EXPECT_TRUE(test, row_policy_may_grow(&t->rp, rq, limit + 512));
	row_test_add(test, ROW_RP_READ);
	KUNIT_EXPECT_TRUE(test, row_policy_may_grow(&t->rp, rq, limit));
	KUNIT_EXPECT_FALSE(test, row_policy_may_grow(&t->rp, rq, limit + 512));
	rq->cmd_flags = REQ_OP_READ;
	KUNIT_EXPECT_TRUE(test, row_policy_may_grow(&t->rp, rq, limit + 512));
	rq->cmd_flags = REQ_OP_DISCARD;
	KUNIT_EXPECT_TRUE(test, row_policy_may_grow(&t->rp, rq, limit + 512));

	/* After the last read a second write in flight ends it. */
	row_test_serve(t);
	rq->cmd_flags = REQ_OP_WRITE;
	row_test_add_many(test, ROW_RP_WRITE, 2);
	t->now += t->rp.tun.read_window;
	row_test_dispatch(t);
	row_test_dispatch(t);
	KUNIT_EXPECT_TRUE(test, row_policy_may_grow(&t->rp, rq, limit + 512));
}

static void row_test_merge_at_insertion(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *rq, *next;

	rq = row_test_add(test, ROW_RP_WRITE);
	next = row_test_new(test, ROW_RP_WRITE);
	row_policy_merged(&t->rp, rq, next);
	row_test_finish(t, next);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_WRITE].merged, 0);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_WRITE].nr, 1);
	KUNIT_EXPECT_EQ(test, row_policy_check(&t->rp), 0);
}

/* A synchronous write makes the background write that absorbs it urgent. */
static void row_test_merge_promotes(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct request *rq, *next;

	rq = row_test_add(test, ROW_RP_WRITE);
	next = row_test_add(test, ROW_RP_SWRITE);
	row_policy_merged(&t->rp, rq, next);
	row_test_finish(t, next);
	KUNIT_EXPECT_EQ(test, row_test_id(t, rq), ROW_RP_SWRITE);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_SWRITE].nr, 1);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_WRITE].nr, 0);
	KUNIT_EXPECT_EQ(test, t->rp.pending, BIT(ROW_RP_SWRITE));
	KUNIT_EXPECT_EQ(test, row_policy_check(&t->rp), 0);

	/* The same with one that is only being inserted. */
	rq = row_test_add(test, ROW_RP_WRITE);
	next = row_test_new(test, ROW_RP_SWRITE);
	row_policy_merged(&t->rp, rq, next);
	KUNIT_EXPECT_EQ(test, row_test_id(t, rq), ROW_RP_SWRITE);
	KUNIT_EXPECT_EQ(test, t->rp.queue[ROW_RP_SWRITE].nr, 2);
	KUNIT_EXPECT_EQ(test, row_policy_check(&t->rp), 0);
}

/* Property test */

#define ROW_STEPS	1000000

/* What the test itself knows about a request. */
enum row_model_state { MODEL_OUT, MODEL_QUEUED, MODEL_FLYING };

/**
 * struct row_model - what the scheduler must agree with
 * @rnd:	source of the random steps; a fixed seed, so that a failure is
 *		found again
 * @state:	where each request is
 * @entered:	times that each request was given to the scheduler
 * @left:	times that it came out
 * @queued:	number of queued requests
 * @flying:	number of requests in flight
 * @passed:	the last request was sent before one that was past its limit
 */
struct row_model {
	struct rnd_state	rnd;
	enum row_model_state	state[NR_RQS];
	unsigned int		entered[NR_RQS];
	unsigned int		left[NR_RQS];
	unsigned int		queued;
	unsigned int		flying;
	bool			passed;
};

static int row_model_pick(struct row_model *m, enum row_model_state state)
{
	int i, start = prandom_u32_state(&m->rnd) % NR_RQS;

	for (i = start; i < start + NR_RQS; i++)
		if (m->state[i % NR_RQS] == state)
			return i % NR_RQS;

	return -1;
}

/*
 * Is anything held that no timer would release, nor the end of a read or of a
 * write that it waits for?
 */
static bool row_model_stuck(struct row_test *t)
{
	if (t->rp.ready || !t->rp.pending || t->rp.wake_at)
		return false;
	if (t->rp.hold == ROW_HOLD_IDLE)
		return !t->rp.queue[t->rp.hold_queue].in_flight;

	return !t->rp.writes_in_flight;
}

static void row_model_insert(struct row_test *t, struct row_model *m)
{
	int i = row_model_pick(m, MODEL_OUT);

	if (i < 0)
		return;

	row_test_prepare(t, &t->rqs[i],
			 prandom_u32_state(&m->rnd) % ROW_NR_QUEUES);
	row_test_put(t, &t->rqs[i], prandom_u32_state(&m->rnd) % 16 == 0);
	m->state[i] = MODEL_QUEUED;
	m->entered[i]++;
	m->queued++;
}

static void row_model_requeue(struct row_test *t, struct row_model *m)
{
	int i = row_model_pick(m, MODEL_FLYING);

	if (i < 0)
		return;

	row_test_put(t, &t->rqs[i], true);
	m->state[i] = MODEL_QUEUED;
	m->flying--;
	m->queued++;
}

static void row_model_finish(struct row_test *t, struct row_model *m)
{
	int i = row_model_pick(m, MODEL_FLYING);

	if (i < 0)
		return;

	row_test_finish(t, &t->rqs[i]);
	m->state[i] = MODEL_OUT;
	m->left[i]++;
	m->flying--;
}

static void row_model_merge(struct row_test *t, struct row_model *m)
{
	int i = row_model_pick(m, MODEL_QUEUED);
	int j = row_model_pick(m, MODEL_QUEUED);

	if (i < 0 || i == j)
		return;
	/* Reads with reads and writes with writes, of one I/O priority. */
	if (row_rq_queue(&t->rqs[i]) != row_rq_queue(&t->rqs[j]) &&
	    (row_test_id(t, &t->rqs[i]) != ROW_RP_WRITE ||
	     row_test_id(t, &t->rqs[j]) != ROW_RP_SWRITE))
		return;

	row_policy_merged(&t->rp, &t->rqs[i], &t->rqs[j]);
	row_policy_update(&t->rp);
	row_test_finish(t, &t->rqs[j]);
	m->state[j] = MODEL_OUT;
	m->left[j]++;
	m->queued--;
}

/* Of the requests past their limit that may be sent, the first to go. */
static struct request *row_model_oldest(struct row_test *t, bool writes_blocked)
{
	struct request *oldest = NULL, *rq;
	unsigned int i;

	for (i = 0; i < ROW_NR_QUEUES; i++) {
		if (!(BIT(i) & ROW_BOUNDED) || !t->rp.queue[i].nr ||
		    (writes_blocked && (BIT(i) & ROW_WRITES)))
			continue;
		rq = list_first_entry(&t->rp.queue[i].fifo, struct request,
				      queuelist);
		if (rq->fifo_time <= t->now &&
		    (!oldest || rq->fifo_time < oldest->fifo_time))
			oldest = rq;
	}

	return oldest;
}

static void row_model_dispatch(struct kunit *test, struct row_model *m)
{
	struct row_test *t = test->priv;
	struct row_policy *rp = &t->rp;
	bool ready = rp->ready, timer = rp->wake_at && rp->wake_at <= t->now;
	bool reads, blocked, passed;
	struct request *rq, *oldest;
	int id, n;

	reads = rp->reads || t->now < rp->last_read + rp->tun.read_window;
	blocked = reads && rp->writes_in_flight >= rp->tun.write_depth;
	oldest = row_model_oldest(t, blocked);

	rq = row_test_dispatch(t);

	/* No polling: it says that it has something only if it has. */
	if (ready)
		KUNIT_ASSERT_NOT_NULL(test, rq);
	/* No leak in a hold: nothing comes out before its end. */
	if (!ready && !timer)
		KUNIT_ASSERT_PTR_EQ(test, rq, NULL);
	if (!rq) {
		KUNIT_ASSERT_PTR_EQ(test, oldest, NULL);
		return;
	}

	n = rq - t->rqs;
	id = row_test_id(t, rq);
	KUNIT_ASSERT_EQ(test, m->state[n], MODEL_QUEUED);
	m->state[n] = MODEL_FLYING;
	m->queued--;
	m->flying++;

	if (BIT(id) & ROW_WRITES)
		KUNIT_ASSERT_FALSE(test, blocked);

	/* At most one other request goes before one that is past its limit. */
	passed = oldest && oldest != rq;
	KUNIT_ASSERT_FALSE(test, passed && m->passed);
	m->passed = passed;

	/* A queue whose quantum is not spent has used less than that. */
	if (!(rp->spent & BIT(id)))
		KUNIT_ASSERT_LT(test, rp->queue[id].served,
				rp->tun.quantum[id]);
}

static void row_model_check(struct kunit *test, struct row_model *m)
{
	struct row_test *t = test->priv;
	unsigned int queued = 0, flying = 0, writes = 0, reads = 0, i;

	for (i = 0; i < ROW_NR_QUEUES; i++) {
		struct row_queue *q = &t->rp.queue[i];

		queued += q->nr;
		flying += q->in_flight;
		if (BIT(i) & ROW_WRITES)
			writes += q->in_flight;
		if (BIT(i) & ROW_READS)
			reads += q->nr + q->in_flight;
		KUNIT_ASSERT_EQ(test, !q->nr, !(t->rp.pending & BIT(i)));
		KUNIT_ASSERT_EQ(test, !q->nr, list_empty(&q->fifo));
		if (BIT(i) & ROW_BOUNDED)
			KUNIT_ASSERT_LE(test, q->nr, q->peak);
	}
	KUNIT_ASSERT_EQ(test, queued, m->queued);
	KUNIT_ASSERT_EQ(test, flying, m->flying);
	KUNIT_ASSERT_EQ(test, writes, t->rp.writes_in_flight);
	KUNIT_ASSERT_EQ(test, reads, t->rp.reads);
	KUNIT_ASSERT_EQ(test, row_policy_check(&t->rp), 0);
	KUNIT_ASSERT_FALSE(test, row_model_stuck(t));
}

static void row_model_tune(struct row_test *t, struct row_model *m)
{
	struct row_tunables *tun = &t->rp.tun;
	unsigned int i;

	for (i = 0; i < ROW_NR_QUEUES; i++)
		tun->quantum[i] = 1 + prandom_u32_state(&m->rnd) % 32;
	tun->write_depth = 1 + prandom_u32_state(&m->rnd) % 8;
	tun->read_idle = (prandom_u32_state(&m->rnd) % 10) * MS;
	tun->read_idle_freq = (prandom_u32_state(&m->rnd) % 10) * MS;
	tun->read_window = (prandom_u32_state(&m->rnd) % 60) * MS;
	tun->write_expire = (1 + prandom_u32_state(&m->rnd) % 200) * MS;
	tun->lp_expire = (1 + prandom_u32_state(&m->rnd) % 200) * MS;
	row_policy_retune(&t->rp);
	row_policy_update(&t->rp);
}

/* After the last step everything must be able to leave, by time alone. */
static void row_model_drain(struct kunit *test, struct row_model *m)
{
	struct row_test *t = test->priv;
	unsigned int rounds = 0;

	while (m->queued || m->flying) {
		KUNIT_ASSERT_LT(test, rounds++, 100 * NR_RQS);
		row_model_dispatch(test, m);
		row_model_finish(t, m);
		if (!t->rp.ready && t->rp.wake_at > t->now) {
			t->now = t->rp.wake_at;
			row_policy_update(&t->rp);
		}
		row_model_check(test, m);
	}
}

static void row_test_random_steps(struct kunit *test)
{
	struct row_test *t = test->priv;
	struct row_model *m;
	unsigned int i;

	m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m);
	prandom_seed_state(&m->rnd, 20120607);

	for (i = 0; i < ROW_STEPS; i++) {
		u32 step = prandom_u32_state(&m->rnd) % 100;

		if (step < 30)
			row_model_insert(t, m);
		else if (step < 65)
			row_model_dispatch(test, m);
		else if (step < 85)
			row_model_finish(t, m);
		else if (step < 88)
			row_model_requeue(t, m);
		else if (step < 91)
			row_model_merge(t, m);
		else
			t->now += prandom_u32_state(&m->rnd) % (2 * MS);

		/* The timer is a little late, as timers are. */
		if (t->rp.wake_at && t->rp.wake_at < t->now - MS / 10)
			row_policy_update(&t->rp);
		if (i % 10000 == 0)
			row_model_tune(t, m);

		row_model_check(test, m);
	}

	row_model_drain(test, m);
	for (i = 0; i < NR_RQS; i++)
		KUNIT_EXPECT_EQ(test, m->entered[i], m->left[i]);
	KUNIT_EXPECT_EQ(test, t->rp.reads, 0);
	KUNIT_EXPECT_EQ(test, t->rp.writes_in_flight, 0);
}

static struct kunit_case row_test_cases[] = {
	KUNIT_CASE_PARAM(row_test_class, row_class_gen_params),
	KUNIT_CASE(row_test_order_in_cycle),
	KUNIT_CASE(row_test_fifo_in_queue),
	KUNIT_CASE_PARAM(row_test_quantum, row_quantum_gen_params),
	KUNIT_CASE(row_test_preemption_keeps_count),
	KUNIT_CASE(row_test_spent_queue_does_not_preempt),
	KUNIT_CASE(row_test_empty_queues_end_the_cycle),
	KUNIT_CASE(row_test_documented_example),
	KUNIT_CASE(row_test_idle_starts),
	KUNIT_CASE(row_test_idle_ends_by_arrival),
	KUNIT_CASE(row_test_idle_ends_by_timer),
	KUNIT_CASE(row_test_idle_counts_from_completion),
	KUNIT_CASE(row_test_idle_for_readahead),
	KUNIT_CASE(row_test_no_idle_for_slow_reader),
	KUNIT_CASE(row_test_no_idle_when_quantum_spent),
	KUNIT_CASE(row_test_no_idle_for_low_priority),
	KUNIT_CASE(row_test_idle_does_not_hold_higher),
	KUNIT_CASE(row_test_reader_alone_sets_no_timer),
	KUNIT_CASE_PARAM(row_test_alone_reads_no_clock, row_quantum_gen_params),
	KUNIT_CASE(row_test_retune),
	KUNIT_CASE(row_test_spent_reads_use_the_wait),
	KUNIT_CASE_PARAM(row_test_expiry, row_bounded_gen_params),
	KUNIT_CASE(row_test_burst_is_spread),
	KUNIT_CASE(row_test_pace_ends_with_burst),
	KUNIT_CASE(row_test_pace_falls),
	KUNIT_CASE(row_test_late_in_turn),
	KUNIT_CASE(row_test_reads_survive_overload),
	KUNIT_CASE(row_test_expiry_breaks_idling),
	KUNIT_CASE(row_test_rt_read_before_pace),
	KUNIT_CASE(row_test_write_depth_beside_reads),
	KUNIT_CASE(row_test_whole_depth_without_reads),
	KUNIT_CASE(row_test_write_depth_ends_with_window),
	KUNIT_CASE(row_test_low_reads_do_not_limit_writes),
	KUNIT_CASE(row_test_reads_borrow_the_turn),
	KUNIT_CASE(row_test_at_head),
	KUNIT_CASE(row_test_requeue),
	KUNIT_CASE(row_test_requeue_bypasses),
	KUNIT_CASE(row_test_requeue_ends_hold),
	KUNIT_CASE(row_test_free_before_insert),
	KUNIT_CASE(row_test_merge_takes_older_place),
	KUNIT_CASE(row_test_merge_keeps_older_place),
	KUNIT_CASE(row_test_merge_limit),
	KUNIT_CASE(row_test_merge_at_insertion),
	KUNIT_CASE(row_test_merge_promotes),
	KUNIT_CASE_SLOW(row_test_random_steps),
	{}
};

static struct kunit_suite row_test_suite = {
	.name = "row-iosched",
	.init = row_test_init,
	.test_cases = row_test_cases,
};

kunit_test_suite(row_test_suite);

MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_DESCRIPTION("KUnit tests of the ROW I/O scheduler");
MODULE_LICENSE("GPL");
