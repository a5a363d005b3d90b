// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the rules by which the MMC block driver starts requests: each
 * class of states with each type of request against a verdict that was written
 * down by hand, and what must hold in any sequence of events.
 */
#include <kunit/test.h>

#include <linux/prandom.h>
#include <linux/string.h>

#include "../dispatch.h"

/* ------------------------------------------------------------------- table */

static const struct verdict_case {
	const char *name;
	unsigned int depth;
	unsigned int sync, dcmd, async;		/* in flight */
	bool waiting, recovery;
	enum mmc_verdict on_sync, on_dcmd, on_async;
} verdict_cases[] = {
#define S MMC_START
#define REC MMC_WAIT_RECOVERY
#define SYNC MMC_WAIT_SYNC
#define IDLE MMC_WAIT_IDLE
#define DCMD MMC_WAIT_DCMD
#define DEPTH MMC_WAIT_DEPTH
	/*			  depth  in flight  w  r  verdict on */
	/*				 s  d  a	  sync  dcmd   async */
	{ "idle",			4, 0, 0, 0, 0, 0, S,    S,     S },
	{ "one",			4, 0, 0, 1, 0, 0, IDLE, S,     S },
	{ "one-free",			4, 0, 0, 3, 0, 0, IDLE, S,     S },
	{ "full",			4, 0, 0, 4, 0, 0, IDLE, DEPTH, DEPTH },
	{ "over",			4, 0, 0, 5, 0, 0, IDLE, DEPTH, DEPTH },
	{ "dcmd",			4, 0, 1, 0, 0, 0, IDLE, DCMD,  S },
	{ "dcmd-one-free",		4, 0, 1, 2, 0, 0, IDLE, DCMD,  S },
	{ "dcmd-full",			4, 0, 1, 3, 0, 0, IDLE, DCMD,  DEPTH },
	{ "sync",			4, 1, 0, 0, 0, 0, SYNC, SYNC,  SYNC },
	{ "idle-waiting",		4, 0, 0, 0, 1, 0, S,    SYNC,  SYNC },
	{ "one-waiting",		4, 0, 0, 1, 1, 0, IDLE, SYNC,  SYNC },
	{ "one-free-waiting",		4, 0, 0, 3, 1, 0, IDLE, SYNC,  SYNC },
	{ "full-waiting",		4, 0, 0, 4, 1, 0, IDLE, SYNC,  SYNC },
	{ "over-waiting",		4, 0, 0, 5, 1, 0, IDLE, SYNC,  SYNC },
	{ "dcmd-waiting",		4, 0, 1, 0, 1, 0, IDLE, SYNC,  SYNC },
	{ "dcmd-one-free-waiting",	4, 0, 1, 2, 1, 0, IDLE, SYNC,  SYNC },
	{ "dcmd-full-waiting",		4, 0, 1, 3, 1, 0, IDLE, SYNC,  SYNC },
	{ "sync-waiting",		4, 1, 0, 0, 1, 0, SYNC, SYNC,  SYNC },
	{ "idle-recovery",		4, 0, 0, 0, 0, 1, REC,  REC,   REC },
	{ "one-recovery",		4, 0, 0, 1, 0, 1, REC,  REC,   REC },
	{ "one-free-recovery",		4, 0, 0, 3, 0, 1, REC,  REC,   REC },
	{ "full-recovery",		4, 0, 0, 4, 0, 1, REC,  REC,   REC },
	{ "over-recovery",		4, 0, 0, 5, 0, 1, REC,  REC,   REC },
	{ "dcmd-recovery",		4, 0, 1, 0, 0, 1, REC,  REC,   REC },
	{ "dcmd-one-free-recovery",	4, 0, 1, 2, 0, 1, REC,  REC,   REC },
	{ "dcmd-full-recovery",		4, 0, 1, 3, 0, 1, REC,  REC,   REC },
	{ "sync-recovery",		4, 1, 0, 0, 0, 1, REC,  REC,   REC },
	{ "idle-waiting-recovery",	4, 0, 0, 0, 1, 1, REC,  REC,   REC },
	{ "one-waiting-recovery",	4, 0, 0, 1, 1, 1, REC,  REC,   REC },
	{ "one-free-waiting-recovery",	4, 0, 0, 3, 1, 1, REC,  REC,   REC },
	{ "full-waiting-recovery",	4, 0, 0, 4, 1, 1, REC,  REC,   REC },
	{ "over-waiting-recovery",	4, 0, 0, 5, 1, 1, REC,  REC,   REC },
	{ "dcmd-waiting-recovery",	4, 0, 1, 0, 1, 1, REC,  REC,   REC },
	{ "dcmd-free-waiting-recovery",	4, 0, 1, 2, 1, 1, REC,  REC,   REC },
	{ "dcmd-full-waiting-recovery",	4, 0, 1, 3, 1, 1, REC,  REC,   REC },
	{ "sync-waiting-recovery",	4, 1, 0, 0, 1, 1, REC,  REC,   REC },
	{ "depth1-idle",		1, 0, 0, 0, 0, 0, S,    S,     S },
	{ "depth1-full",		1, 0, 0, 1, 0, 0, IDLE, DEPTH, DEPTH },
	{ "depth1-dcmd",		1, 0, 1, 0, 0, 0, IDLE, DCMD,  DEPTH },
	{ "depth1-sync",		1, 1, 0, 0, 0, 0, SYNC, SYNC,  SYNC },
	{ "depth1-idle-waiting",	1, 0, 0, 0, 1, 0, S,    SYNC,  SYNC },
	{ "depth1-full-waiting",	1, 0, 0, 1, 1, 0, IDLE, SYNC,  SYNC },
	{ "depth1-dcmd-waiting",	1, 0, 1, 0, 1, 0, IDLE, SYNC,  SYNC },
	{ "depth1-sync-waiting",	1, 1, 0, 0, 1, 0, SYNC, SYNC,  SYNC },
	{ "depth1-idle-recovery",	1, 0, 0, 0, 0, 1, REC,  REC,   REC },
	{ "depth1-full-recovery",	1, 0, 0, 1, 0, 1, REC,  REC,   REC },
	{ "depth1-dcmd-recovery",	1, 0, 1, 0, 0, 1, REC,  REC,   REC },
	{ "depth1-sync-recovery",	1, 1, 0, 0, 0, 1, REC,  REC,   REC },
	{ "depth1-idle-both",		1, 0, 0, 0, 1, 1, REC,  REC,   REC },
	{ "depth1-full-both",		1, 0, 0, 1, 1, 1, REC,  REC,   REC },
	{ "depth1-dcmd-both",		1, 0, 1, 0, 1, 1, REC,  REC,   REC },
	{ "depth1-sync-both",		1, 1, 0, 0, 1, 1, REC,  REC,   REC },
#undef S
#undef REC
#undef SYNC
#undef IDLE
#undef DCMD
#undef DEPTH
};

KUNIT_ARRAY_PARAM_DESC(verdict_case, verdict_cases, name);

/* A word for a verdict, for the message when it is not the expected one */
static const char *verdict_name(enum mmc_verdict verdict)
{
	static const char * const names[] = {
		[MMC_START]		= "start",
		[MMC_WAIT_RECOVERY]	= "recovery",
		[MMC_WAIT_SYNC]		= "sync",
		[MMC_WAIT_IDLE]		= "idle",
		[MMC_WAIT_DCMD]		= "dcmd",
		[MMC_WAIT_DEPTH]	= "depth",
	};

	return names[verdict];
}

static void verdict(struct kunit *test)
{
	const struct verdict_case *c = test->param_value;
	struct mmc_dispatch d = {
		.depth = c->depth,
		.in_flight = { c->sync, c->dcmd, c->async },
		.sync_waiting = c->waiting,
		.recovery = c->recovery,
	};
	const struct mmc_dispatch before = d;

	KUNIT_EXPECT_STREQ(test,
			   verdict_name(mmc_dispatch_check(&d, MMC_ISSUE_SYNC)),
			   verdict_name(c->on_sync));
	KUNIT_EXPECT_STREQ(test,
			   verdict_name(mmc_dispatch_check(&d, MMC_ISSUE_DCMD)),
			   verdict_name(c->on_dcmd));
	KUNIT_EXPECT_STREQ(test,
			   verdict_name(mmc_dispatch_check(&d, MMC_ISSUE_ASYNC)),
			   verdict_name(c->on_async));
	/* To ask changes nothing. */
	KUNIT_EXPECT_MEMEQ(test, &d, &before, sizeof(d));
}

/* A closed queue is one that starts neither a direct command nor a transfer. */
static void closed(struct kunit *test)
{
	const struct verdict_case *c = test->param_value;
	const struct mmc_dispatch d = {
		.depth = c->depth,
		.in_flight = { c->sync, c->dcmd, c->async },
		.sync_waiting = c->waiting,
		.recovery = c->recovery,
	};

	KUNIT_EXPECT_EQ(test, mmc_dispatch_closed(&d),
			c->sync || c->waiting || c->recovery);
	if (mmc_dispatch_closed(&d)) {
		KUNIT_EXPECT_NE(test, c->on_dcmd, MMC_START);
		KUNIT_EXPECT_NE(test, c->on_async, MMC_START);
	}
}

/* ------------------------------------------------------------- transitions */

static void changes(struct kunit *test)
{
	struct mmc_dispatch d;

	memset(&d, 0xff, sizeof(d));
	mmc_dispatch_init(&d, 3);
	KUNIT_EXPECT_EQ(test, d.depth, 3);
	KUNIT_EXPECT_EQ(test, mmc_dispatch_total(&d), 0);
	KUNIT_EXPECT_FALSE(test, mmc_dispatch_closed(&d));

	mmc_dispatch_start(&d, MMC_ISSUE_ASYNC);
	mmc_dispatch_start(&d, MMC_ISSUE_DCMD);
	mmc_dispatch_start(&d, MMC_ISSUE_ASYNC);
	KUNIT_EXPECT_EQ(test, d.in_flight[MMC_ISSUE_ASYNC], 2);
	KUNIT_EXPECT_EQ(test, d.in_flight[MMC_ISSUE_DCMD], 1);
	KUNIT_EXPECT_EQ(test, mmc_dispatch_total(&d), 3);

	/* Only a synchronous request holds others back. */
	mmc_dispatch_wait(&d, MMC_ISSUE_ASYNC);
	mmc_dispatch_wait(&d, MMC_ISSUE_DCMD);
	KUNIT_EXPECT_FALSE(test, d.sync_waiting);
	mmc_dispatch_wait(&d, MMC_ISSUE_SYNC);
	KUNIT_EXPECT_TRUE(test, d.sync_waiting);
	mmc_dispatch_give_up(&d, MMC_ISSUE_ASYNC);
	KUNIT_EXPECT_TRUE(test, d.sync_waiting);
	mmc_dispatch_give_up(&d, MMC_ISSUE_SYNC);
	KUNIT_EXPECT_FALSE(test, d.sync_waiting);

	mmc_dispatch_wait(&d, MMC_ISSUE_SYNC);
	mmc_dispatch_end(&d, MMC_ISSUE_ASYNC);
	mmc_dispatch_end(&d, MMC_ISSUE_ASYNC);
	mmc_dispatch_end(&d, MMC_ISSUE_DCMD);
	KUNIT_EXPECT_TRUE(test, d.sync_waiting);
	mmc_dispatch_start(&d, MMC_ISSUE_SYNC);
	KUNIT_EXPECT_FALSE(test, d.sync_waiting);
	KUNIT_EXPECT_TRUE(test, mmc_dispatch_closed(&d));
	mmc_dispatch_end(&d, MMC_ISSUE_SYNC);
	KUNIT_EXPECT_FALSE(test, mmc_dispatch_closed(&d));

	/* One of those who see errors has to start the recovery. */
	KUNIT_EXPECT_TRUE(test, mmc_dispatch_recover(&d));
	KUNIT_EXPECT_FALSE(test, mmc_dispatch_recover(&d));
	KUNIT_EXPECT_TRUE(test, mmc_dispatch_closed(&d));
	mmc_dispatch_recovered(&d);
	KUNIT_EXPECT_FALSE(test, mmc_dispatch_closed(&d));
	KUNIT_EXPECT_TRUE(test, mmc_dispatch_recover(&d));
}

/* -------------------------------------------------------------- properties */

#define SEQUENCES	100000
#define STEPS		32

/* A queue and its card; kept apart from the state under test. */
struct walk {
	struct mmc_dispatch	d;
	struct rnd_state	rnd;
	unsigned int		depth;
	unsigned int		waiting[MMC_ISSUE_MAX];
	unsigned int		running[MMC_ISSUE_MAX];
	unsigned int		total;
	bool			parked;		/* a sync request is told to wait */
	unsigned int		ended_since;	/* while it was */
	bool			recovery;
	unsigned int		started, ended;
};

static unsigned int pick(struct walk *w, unsigned int n)
{
	return prandom_u32_state(&w->rnd) % n;
}

static bool may_start(struct walk *w, enum mmc_issue_type type)
{
	return mmc_dispatch_check(&w->d, type) == MMC_START;
}

static void end(struct walk *w, enum mmc_issue_type type)
{
	mmc_dispatch_end(&w->d, type);
	w->running[type]--;
	w->total--;
	w->ended++;
	if (w->parked)
		w->ended_since++;
}

static void try_start(struct walk *w, enum mmc_issue_type type)
{
	if (!w->waiting[type])
		return;

	if (may_start(w, type)) {
		mmc_dispatch_start(&w->d, type);
		w->waiting[type]--;
		w->running[type]++;
		w->total++;
		w->started++;
		if (type == MMC_ISSUE_SYNC)
			w->parked = false;
		return;
	}
	if (w->recovery)
		return;
	mmc_dispatch_wait(&w->d, type);
	if (type == MMC_ISSUE_SYNC && !w->parked) {
		w->parked = true;
		w->ended_since = 0;
	}
}

static void end_any(struct walk *w)
{
	unsigned int n, type;

	if (!w->total)
		return;
	n = pick(w, w->total);
	for (type = 0; n >= w->running[type]; type++)
		n -= w->running[type];
	/* One in eight is tried again. */
	if (!pick(w, 8))
		w->waiting[type]++;
	end(w, type);
}

static void fail(struct walk *w, struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mmc_dispatch_recover(&w->d), !w->recovery);
	w->recovery = true;
	/* Who waits for idle would wait for requests that are lost. */
	if (w->parked) {
		mmc_dispatch_give_up(&w->d, MMC_ISSUE_SYNC);
		w->parked = false;
	}
}

static void recover(struct walk *w)
{
	unsigned int type;

	if (!w->recovery)
		return;
	for (type = 0; type < MMC_ISSUE_MAX; type++) {
		while (w->running[type]) {
			w->waiting[type] += pick(w, 2);
			end(w, type);
		}
	}
	mmc_dispatch_recovered(&w->d);
	w->recovery = false;
}

/* What is wrong, or NULL. */
static const char *broken(struct walk *w)
{
	unsigned int type, waiting = 0, startable = 0;

	if (w->total > w->depth)
		return "more in flight than the depth";
	if (w->running[MMC_ISSUE_DCMD] > 1)
		return "two direct commands";
	if (w->running[MMC_ISSUE_SYNC] && w->total > 1)
		return "a synchronous request beside others";
	for (type = 0; type < MMC_ISSUE_MAX; type++) {
		if (w->d.in_flight[type] != w->running[type])
			return "a count is wrong";
		if (w->waiting[type]) {
			waiting++;
			startable += may_start(w, type);
		}
	}
	if (w->recovery) {
		if (startable)
			return "a start during recovery";
		return NULL;
	}
	if (waiting && !w->total && !startable)
		return "a stall";
	if (!w->parked && waiting && !w->total && startable != waiting)
		return "a request held back by nothing";
	if (w->parked && w->ended_since >= w->depth &&
	    !may_start(w, MMC_ISSUE_SYNC))
		return "a synchronous request that waits for too long";
	return NULL;
}

static const char *walk(struct walk *w, struct kunit *test)
{
	const char *problem = NULL;
	unsigned int i;

	for (i = 0; i < STEPS && !problem; i++) {
		switch (pick(w, 16)) {
		case 0 ... 4:
			/* Mostly transfers, so that there is a queue to wait for */
			w->waiting[pick(w, 4) ? MMC_ISSUE_ASYNC :
				   pick(w, MMC_ISSUE_MAX)]++;
			break;
		case 5 ... 10:
			try_start(w, pick(w, MMC_ISSUE_MAX));
			break;
		case 11 ... 13:
			end_any(w);
			break;
		case 14:
			if (!pick(w, 4))
				fail(w, test);
			break;
		default:
			recover(w);
			break;
		}
		problem = broken(w);
	}
	if (problem)
		return problem;

	/* Let it come to an end; what waits must have run by then. */
	recover(w);
	for (i = 0; w->total || w->waiting[MMC_ISSUE_SYNC] ||
	     w->waiting[MMC_ISSUE_DCMD] || w->waiting[MMC_ISSUE_ASYNC]; i++) {
		if (i > 64 * STEPS)
			return "no end";
		try_start(w, i % MMC_ISSUE_MAX);
		if (i % 2)
			end_any(w);
		problem = broken(w);
		if (problem)
			return problem;
	}
	if (mmc_dispatch_total(&w->d) || mmc_dispatch_closed(&w->d) ||
	    w->started != w->ended)
		return "not as before when all has ended";
	return NULL;
}

static void properties(struct kunit *test)
{
	static const unsigned int depths[] = { 1, 2, 3, 6, 31, 32 };
	unsigned long started = 0;
	const char *problem;
	unsigned int i;
	struct walk *w;

	w = kunit_kmalloc(test, sizeof(*w), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w);

	for (i = 0; i < SEQUENCES; i++) {
		memset(w, 0, sizeof(*w));
		prandom_seed_state(&w->rnd, 1 + i);
		w->depth = depths[i % ARRAY_SIZE(depths)];
		mmc_dispatch_init(&w->d, w->depth);

		problem = walk(w, test);
		started += w->started;
		if (problem) {
			KUNIT_FAIL(test, "%s: seed %u, depth %u, in flight %u/%u/%u",
				   problem, 1 + i, w->depth,
				   w->running[MMC_ISSUE_SYNC],
				   w->running[MMC_ISSUE_DCMD],
				   w->running[MMC_ISSUE_ASYNC]);
			return;
		}
		if (!(i % 4096))
			cond_resched();
	}
	/* The walk must have been somewhere. */
	KUNIT_EXPECT_GT(test, started, 4UL * SEQUENCES);
}

static struct kunit_case dispatch_test_cases[] = {
	KUNIT_CASE_PARAM(verdict, verdict_case_gen_params),
	KUNIT_CASE_PARAM(closed, verdict_case_gen_params),
	KUNIT_CASE(changes),
	KUNIT_CASE_SLOW(properties),
	{}
};

static struct kunit_suite dispatch_test_suite = {
	.name = "mmc_dispatch",
	.test_cases = dispatch_test_cases,
};

kunit_test_suite(dispatch_test_suite);
