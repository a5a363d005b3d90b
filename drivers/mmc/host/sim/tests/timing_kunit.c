// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of mmc-sim's timing: each function against values worked out by
 * hand, and each preset against the figures that it is made for.
 */
#include <kunit/test.h>

#include <linux/math64.h>
#include <linux/sizes.h>

#include "../card.h"

#define US(x)		((x) * 1000ULL)

/* Pages of 4 KiB over a bus of 1 GB/s: 4096 ns each. */
#define PAGE_SECTORS_4K	8
#define GB_PER_S	1000000

struct ctx {
	struct mmc_sim_config cfg;
	struct mmc_sim_timing t;
};

static int timing_test_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	c->cfg.channels = 1;
	c->cfg.page_kib = 4;
	c->cfg.bus_kbps = GB_PER_S;
	test->priv = c;
	return 0;
}

/* To be called when the settings are made. */
static struct mmc_sim_timing *start(struct ctx *c)
{
	const struct mmc_ios ios = {
		.clock = 200000000,
		.bus_width = MMC_BUS_WIDTH_8,
		.timing = MMC_TIMING_MMC_HS400,
	};

	mmc_sim_timing_init(&c->t, &c->cfg);
	mmc_sim_timing_ios(&c->t, &ios);
	return &c->t;
}

/* --------------------------------------------------------------------- bus */

static const struct ios_case {
	const char *name;
	u32 clock;
	u8 width;
	u8 timing;
	u32 bus_kbps;
	u64 ps;
} ios_cases[] = {
	{ "400 kHz, 1 bit", 400000, MMC_BUS_WIDTH_1, MMC_TIMING_LEGACY, 0, 20000000 },
	{ "25 MHz, 4 bits", 25000000, MMC_BUS_WIDTH_4, MMC_TIMING_LEGACY, 0, 80000 },
	{ "HS, 50 MHz, 8 bits", 50000000, MMC_BUS_WIDTH_8, MMC_TIMING_MMC_HS, 0, 20000 },
	{ "DDR52, 50 MHz, 8 bits", 50000000, MMC_BUS_WIDTH_8, MMC_TIMING_MMC_DDR52, 0, 10000 },
	{ "DDR52, 50 MHz, 4 bits", 50000000, MMC_BUS_WIDTH_4, MMC_TIMING_MMC_DDR52, 0, 20000 },
	{ "HS200, 200 MHz, 8 bits", 200000000, MMC_BUS_WIDTH_8, MMC_TIMING_MMC_HS200, 0, 5000 },
	{ "HS400, 200 MHz, 8 bits", 200000000, MMC_BUS_WIDTH_8, MMC_TIMING_MMC_HS400, 0, 2500 },
	{ "constant rate", 400000, MMC_BUS_WIDTH_1, MMC_TIMING_LEGACY, 100000, 10000 },
};

KUNIT_ARRAY_PARAM_DESC(ios_case, ios_cases, name);

static void rate_of_ios(struct kunit *test)
{
	const struct ios_case *p = test->param_value;
	struct ctx *c = test->priv;
	struct mmc_ios ios = {
		.clock = p->clock, .bus_width = p->width, .timing = p->timing,
	};

	c->cfg.bus_kbps = p->bus_kbps;
	mmc_sim_timing_init(&c->t, &c->cfg);
	mmc_sim_timing_ios(&c->t, &ios);
	KUNIT_EXPECT_EQ(test, c->t.bus_ps_per_byte, p->ps);

	/* A clock that is off and on again changes nothing. */
	ios.clock = 0;
	mmc_sim_timing_ios(&c->t, &ios);
	KUNIT_EXPECT_EQ(test, c->t.bus_ps_per_byte, p->ps);
}

static const struct cmd_case {
	const char *name;
	u32 clock;
	u32 cmd_ns;
	u64 ns;
} cmd_cases[] = {
	{ "400 kHz", 400000, 0, 280000 },
	{ "52 MHz", 52000000, 0, 2154 },
	{ "200 MHz", 200000000, 0, 560 },
	{ "set", 400000, 77, 77 },
	{ "clock off", 0, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(cmd_case, cmd_cases, name);

static void command(struct kunit *test)
{
	const struct cmd_case *p = test->param_value;
	struct ctx *c = test->priv;
	struct mmc_ios ios = { .clock = p->clock };

	c->cfg.cmd_ns = p->cmd_ns;
	mmc_sim_timing_init(&c->t, &c->cfg);
	mmc_sim_timing_ios(&c->t, &ios);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_cmd(&c->t), p->ns);
}

static void bus_takes_turns(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct mmc_sim_timing *t;

	c->cfg.block_gap_ns = 100;
	t = start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(t, 1000, 512, 1), 1612);
	/* Ready before that, so it waits; later, so it does not. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(t, 1100, 1024, 2), 2836);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(t, 5000, 8, 1), 5108);
}

/* -------------------------------------------------------------------- read */

static const struct read_case {
	const char *name;
	u32 channels;
	u32 bus_kbps;
	u32 sector;
	u32 nr;
	u64 start;
} read_cases[] = {
	/* read_setup_us 10, read_us 50: page k of a channel at 10 + 50 (k + 1) */
	{ "one page", 1, GB_PER_S, 0, 8, US(60) },
	{ "part of a page", 1, GB_PER_S, 4, 2, US(60) },
	{ "two halves", 1, GB_PER_S, 4, 8, US(110) - 2048 },
	{ "8 pages, 1 channel", 1, GB_PER_S, 0, 64, US(410) - 7 * 4096 },
	{ "8 pages, 2 channels", 2, GB_PER_S, 0, 64, US(210) - 6 * 4096 },
	{ "8 pages, 4 channels", 4, GB_PER_S, 0, 64, US(110) - 4 * 4096 },
	{ "8 pages, 8 channels", 8, GB_PER_S, 0, 64, US(60) },
	{ "slow bus hides flash", 1, 50000, 0, 64, US(60) },
};

KUNIT_ARRAY_PARAM_DESC(read_case, read_cases, name);

static void read_start(struct kunit *test)
{
	const struct read_case *p = test->param_value;
	struct ctx *c = test->priv;

	c->cfg.channels = p->channels;
	c->cfg.bus_kbps = p->bus_kbps;
	c->cfg.read_us = 50;
	c->cfg.read_setup_us = 10;
	start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(&c->t, 0, p->sector, p->nr),
			p->start);
}

static const struct parallel_case {
	const char *name;
	u32 channels;
	u32 other;		/* page */
	u64 start;
} parallel_cases[] = {
	{ "1 channel", 1, 1, US(110) },
	{ "2 channels", 2, 1, US(60) },
	{ "2 channels, same", 2, 2, US(110) },
	{ "4 channels", 4, 2, US(60) },
	{ "8 channels", 8, 7, US(60) },
	{ "8 channels, same", 8, 8, US(110) },
};

KUNIT_ARRAY_PARAM_DESC(parallel_case, parallel_cases, name);

static void reads_in_parallel(struct kunit *test)
{
	const struct parallel_case *p = test->param_value;
	struct ctx *c = test->priv;

	c->cfg.channels = p->channels;
	c->cfg.read_us = 50;
	c->cfg.read_setup_us = 10;
	start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(&c->t, 0, 0, 8), US(60));
	KUNIT_EXPECT_EQ(test,
			mmc_sim_time_read(&c->t, 0, p->other * PAGE_SECTORS_4K, 8),
			p->start);
}

/* Pages of 50 us; the first is being read and three more wait. */
static struct mmc_sim_timing *start_reading(struct ctx *c, u32 channels)
{
	struct mmc_sim_timing *t;
	u32 i;

	c->cfg.channels = channels;
	c->cfg.read_us = 50;
	c->cfg.program_us = 100;
	t = start(c);
	for (i = 0; i < 4; i++)
		mmc_sim_time_read(t, 0, i * channels * PAGE_SECTORS_4K, 8);
	return t;
}

static void read_first(struct kunit *test)
{
	struct mmc_sim_timing *t = start_reading(test->priv, 1);

	/* After the page that is being read, and before the other three. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_first(t, US(20), 800, 8),
			US(100));
	KUNIT_EXPECT_EQ(test, t->channel_free[0], US(250));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(50), 0, 8), 0);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(100), 8, 8), US(50));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(200), 24, 8), US(50));

	/* Behind the one that came before it, in front of the same three. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_first(t, US(60), 1000, 16),
			US(200) - 4096);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(150), 8, 8),
			US(100));

	/* An ordinary read is the last. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, US(60), 1600, 8), US(400));
}

/* A read is only delayed on the channels that it shares. */
static void read_first_channels(struct kunit *test)
{
	struct mmc_sim_timing *t = start_reading(test->priv, 2);

	/* Pages 1 and 3 are on the other channel, which is free. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_first(t, US(20), 8, 8), US(70));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(200), 48, 8), 0);
	/* Four pages: two of them there until 150 us, two here until 170 us. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_first(t, US(20), 160, 32),
			US(170) - 3 * 4096);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(200), 48, 8),
			US(100));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(200), 8, 8), 0);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(200), 8, 16),
			US(100));
}

/* A program and an erase are not interrupted: priority is no HPI. */
static void read_first_is_no_hpi(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct mmc_sim_timing *t;

	c->cfg.erase_us = 700;
	t = start_reading(c, 1);
	/* The page is in at 4.096 us, and programmed after the four reads. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write(t, 4096, 0, 8, false),
			US(300));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_first(t, US(20), 800, 8),
			US(350));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_erase(t, US(1000), 1), US(1700));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_first(t, US(1010), 0, 8),
			US(1750));
	/* Nothing is under way after a reset. */
	mmc_sim_timing_reset(t, US(1020));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_first(t, US(1020), 400, 8),
			US(1070));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(2000), 0, 8), 0);
}

/* With nobody to overtake, priority makes no difference. */
static void read_first_alone(struct kunit *test)
{
	const struct read_case *p = test->param_value;
	struct ctx *c = test->priv;

	c->cfg.channels = p->channels;
	c->cfg.bus_kbps = p->bus_kbps;
	c->cfg.read_us = 50;
	c->cfg.read_setup_us = 10;
	start(c);
	KUNIT_EXPECT_EQ(test,
			mmc_sim_time_read_first(&c->t, 0, p->sector, p->nr),
			p->start);
	/* Not even another one of high priority is overtaken. */
	KUNIT_EXPECT_GE(test,
			mmc_sim_time_read_first(&c->t, 0, p->sector, p->nr),
			p->start + US(50));
}

/* Nor does it when the page is there already. */
static void read_first_ahead(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct mmc_sim_timing *t;

	c->cfg.read_us = 50;
	c->cfg.read_setup_us = 10;
	c->cfg.read_ahead_kib = 16;
	t = start(c);
	mmc_sim_time_read(t, 0, 0, 28);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_first(t, US(1000), 28, 36),
			US(1000));
	/* Eight pages were read, the halved one once. */
	KUNIT_EXPECT_EQ(test, t->channel_free[0], US(410));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read_lost(t, US(2000), 0, 8), 0);
}

static void read_ahead(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct mmc_sim_timing *t;

	c->cfg.read_us = 50;
	c->cfg.read_setup_us = 10;
	c->cfg.read_ahead_kib = 16;
	t = start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, 0, 0, 32),
			US(210) - 3 * 4096);
	/* In sequence: all 4 pages have been read long ago. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, US(1000), 32, 32), US(1000));
	/* 8 pages, of which 4 were: the others take until 1200. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, US(2000), 64, 64),
			US(2200) - 7 * 4096);
	/* So soon that the channel is not yet done with the second page. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, US(2210), 128, 16),
			US(2300) - 4096);
	/* Elsewhere: setup, page. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, US(4000), 800, 8), US(4060));
}

/* The second half of a page needs no second read of it. */
static void read_ahead_in_page(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct mmc_sim_timing *t;

	c->cfg.read_us = 50;
	c->cfg.read_ahead_kib = 4;
	t = start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, 0, 0, 4), US(50));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, US(10), 4, 4), US(50));
	KUNIT_EXPECT_EQ(test, t->channel_free[0], US(50));
}

/* ------------------------------------------------------------------- write */

static const struct write_case {
	const char *name;
	u32 channels;
	u32 sector;
	u32 nr;
	s64 busy;
} write_cases[] = {
	/*
	 * program_us 100, write_setup_us 20. The end of the transfer is 0;
	 * the page before the last came 4096 ns earlier, and so on.
	 */
	{ "one page", 1, 0, 8, US(120) },
	{ "part of a page", 1, 3, 1, US(120) },
	{ "2 pages, 1 channel", 1, 0, 16, US(220) - 4096 },
	{ "2 half pages, 1 channel", 1, 4, 8, US(220) - 2048 },
	{ "2 pages, 2 channels", 2, 0, 16, US(120) },
	{ "8 pages, 1 channel", 1, 0, 64, US(820) - 7 * 4096 },
	{ "8 pages, 2 channels", 2, 0, 64, US(420) - 6 * 4096 },
	{ "8 pages, 4 channels", 4, 0, 64, US(220) - 4 * 4096 },
	{ "8 pages, 8 channels", 8, 0, 64, US(120) },
};

KUNIT_ARRAY_PARAM_DESC(write_case, write_cases, name);

static void write_through(struct kunit *test)
{
	const struct write_case *p = test->param_value;
	struct ctx *c = test->priv;

	c->cfg.channels = p->channels;
	c->cfg.program_us = 100;
	c->cfg.write_setup_us = 20;
	start(c);
	KUNIT_EXPECT_EQ(test,
			mmc_sim_time_write(&c->t, US(1000), p->sector, p->nr, false),
			US(1000) + p->busy);
}

static const struct random_case {
	const char *name;
	u32 random_write_us;
	u32 random_write_kib;
	u32 gc_us;
	u32 nr;
	bool sequential;
	u64 busy;
} random_cases[] = {
	/* program_us 100, 8 channels: 1 or 2 pages take 100 us */
	{ "nothing to pay", 0, 0, 0, 8, false, US(100) },
	{ "sequential", 1000, 0, 40, 8, true, US(100) },
	{ "random", 1000, 0, 0, 8, false, US(1100) },
	{ "random, half of a block", 1000, 8, 0, 8, false, US(600) },
	{ "random, a whole block", 1000, 8, 40, 16, false, US(100) },
	{ "garbage of a page", 0, 0, 40, 8, false, US(140) },
	{ "garbage of half a page", 0, 0, 40, 4, false, US(120) },
	{ "garbage of 2 pages", 0, 0, 40, 16, false, US(180) },
	{ "both, quarter of a block", 1000, 16, 40, 8, false, US(880) },
};

KUNIT_ARRAY_PARAM_DESC(random_case, random_cases, name);

static void random_write(struct kunit *test)
{
	const struct random_case *p = test->param_value;
	struct ctx *c = test->priv;
	u32 sector = p->sequential ? 80 : 160;

	c->cfg.channels = 8;
	c->cfg.program_us = 100;
	c->cfg.random_write_us = p->random_write_us;
	c->cfg.random_write_kib = p->random_write_kib;
	c->cfg.gc_us = p->gc_us;
	start(c);
	mmc_sim_time_write(&c->t, 0, 72, 8, false);
	KUNIT_EXPECT_EQ(test,
			mmc_sim_time_write(&c->t, US(5000), sector, p->nr, false),
			US(5000) + p->busy);
}

/* 64 KiB of buffer; 2 channels x 4 KiB in 100 us empty it in 800 us. */
static struct mmc_sim_timing *start_cached(struct ctx *c)
{
	c->cfg.channels = 2;
	c->cfg.program_us = 100;
	c->cfg.write_setup_us = 20;
	c->cfg.flush_us = 30;
	c->cfg.cache_kib = 64;
	return start(c);
}

static void buffer_full(struct kunit *test)
{
	struct mmc_sim_timing *t = start_cached(test->priv);

	/* Fits; 8 KiB too much, which take 100 us to program; then again. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write(t, 0, 0, 128, true), US(20));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write(t, 0, 128, 16, true), US(100));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, US(100)), SZ_64K);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write(t, US(100), 144, 16, true),
			US(200));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, US(200)), SZ_64K);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, US(600)), SZ_32K);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, US(999)), 82);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, US(1000)), 0);
}

static void buffer_room(struct kunit *test)
{
	struct mmc_sim_timing *t = start_cached(test->priv);

	mmc_sim_time_write(t, 0, 0, 128, true);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write_room(t, US(400), 64), US(400));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write_room(t, US(400), 80), US(500));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write_room(t, US(400), 128), US(800));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write_room(t, US(400), 4096), US(800));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write_room(t, US(900), 4096), US(900));
}

static void flush(struct kunit *test)
{
	struct mmc_sim_timing *t = start_cached(test->priv);

	KUNIT_EXPECT_EQ(test, mmc_sim_time_flush(t, US(10)), US(40));
	mmc_sim_time_write(t, US(100), 0, 128, true);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_flush(t, US(500)), US(930));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_flush(t, US(930)), US(960));
	/* A durable write is no business of the buffer. */
	mmc_sim_time_write(t, US(1000), 128, 8, false);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, US(1000)), 0);
}

static void random_fills_buffer(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct mmc_sim_timing *t;

	c->cfg.random_write_us = 300;
	t = start_cached(c);
	/* 8 KiB need 100 us, and 300 us more. */
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write(t, 0, 800, 16, true), US(20));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, US(100)), 6144);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_flush(t, US(100)), US(430));
}

/*
 * A read finds the channel programming since 0: it waits for the end of the
 * program, goes before the next, and the buffer is so much later empty.
 */
static const struct drain_case {
	const char *name;
	u32 channels;
	u64 now;
	u64 start;
	u64 flush;
} drain_cases[] = {
	{ "at once", 1, 0, US(50), US(1650) },
	{ "amid the first", 1, US(30), US(150), US(1650) },
	{ "amid the third", 1, US(299), US(350), US(1650) },
	{ "between two", 1, US(300), US(350), US(1650) },
	{ "when empty", 1, US(1600), US(1650), US(1600) },
	{ "amid the first of 4", 4, US(30), US(150), US(412) + 500 },
};

KUNIT_ARRAY_PARAM_DESC(drain_case, drain_cases, name);

static void read_while_draining(struct kunit *test)
{
	const struct drain_case *p = test->param_value;
	struct ctx *c = test->priv;
	struct mmc_sim_timing *t;

	c->cfg.channels = p->channels;
	c->cfg.read_us = 50;
	c->cfg.program_us = 100;
	c->cfg.cache_kib = 64;
	t = start(c);
	mmc_sim_time_write(t, 0, 0, 128, true);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, p->now, 800, 8), p->start);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_flush(t, p->now), p->flush);
}

/* A page is on the bus while the next is read: the slower one decides. */
static void bus_and_flash_overlap(struct kunit *test)
{
	struct ctx *c = test->priv;
	u64 now;

	c->cfg.channels = 2;
	c->cfg.read_us = 50;
	start(c);
	now = mmc_sim_time_read(&c->t, 0, 0, 64);
	now = mmc_sim_time_bus(&c->t, now, 64 * 512, 64);
	/* Pages 6 and 7 at 200 us, and both have to move. */
	KUNIT_EXPECT_EQ(test, now, US(200) + 2 * 4096);
}

static const struct erase_case {
	const char *name;
	u64 nr;
	u64 ns;
} erase_cases[] = {
	{ "nothing", 0, 0 },
	{ "one sector", 1, US(70) },
	{ "a group", 1024, US(70) },
	{ "more than a group", 1025, US(140) },
	{ "32 MiB", 65536, US(4480) },
	{ "512 GiB", 1ULL << 30, US(4480) },
};

KUNIT_ARRAY_PARAM_DESC(erase_case, erase_cases, name);

static void erase(struct kunit *test)
{
	const struct erase_case *p = test->param_value;
	struct ctx *c = test->priv;

	c->cfg.erase_us = 70;
	c->cfg.read_us = 50;
	start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_erase(&c->t, 0, p->nr), p->ns);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(&c->t, 0, 0, 8),
			p->ns + US(50));
}

static void reset(struct kunit *test)
{
	struct mmc_sim_timing *t = start_cached(test->priv);

	mmc_sim_time_write(t, 0, 0, 128, true);
	mmc_sim_time_bus(t, 0, SZ_1M, 2048);
	mmc_sim_timing_reset(t, US(200));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, US(200)), 0);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_flush(t, US(200)), US(230));
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(t, US(200), 1, 1), US(200) + 1);
}

/* ----------------------------------------------------------------- presets */

static void preset_names(struct kunit *test)
{
	static const char * const names[] = {
		"instant", "emmc-ddr50", "emmc-hs400", "slow-flash",
		"fixed-20us", "fixed-200us",
	};
	struct ctx *c = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		KUNIT_EXPECT_STREQ(test, mmc_sim_preset_name(i), names[i]);
		c->cfg.capacity_mib = 77;
		KUNIT_EXPECT_EQ(test, mmc_sim_preset(&c->cfg, names[i]), 0);
		KUNIT_EXPECT_STREQ(test, c->cfg.preset, names[i]);
		KUNIT_EXPECT_EQ(test, c->cfg.capacity_mib, 77);
	}
	KUNIT_EXPECT_NULL(test, mmc_sim_preset_name(i));
	KUNIT_EXPECT_EQ(test, mmc_sim_preset(&c->cfg, "emmc-hs400\n"), 0);
}

static void preset_unknown(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct mmc_sim_config before;

	KUNIT_ASSERT_EQ(test, mmc_sim_preset(&c->cfg, "emmc-ddr50"), 0);
	before = c->cfg;
	KUNIT_EXPECT_EQ(test, mmc_sim_preset(&c->cfg, "emmc"), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmc_sim_preset(&c->cfg, ""), -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, &c->cfg, &before, sizeof(before));
}

static void instant(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct mmc_sim_timing *t = &c->t;

	KUNIT_ASSERT_EQ(test, mmc_sim_preset(&c->cfg, "instant"), 0);
	start(c);
	KUNIT_EXPECT_TRUE(test, t->instant);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_cmd(t), 0);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, 5, 100, 1000), 5);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(t, 5, SZ_1M, 2048), 5);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write(t, 5, 9, 100000, true), 5);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write(t, 5, 9, 100000, false), 5);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write_room(t, 5, 100000), 5);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_flush(t, 5), 5);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_erase(t, 5, 100000), 5);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_dirty(t, 5), 0);

	/* With one setting it is not any more, but the bus still is free. */
	c->cfg.read_us = 7;
	start(c);
	KUNIT_EXPECT_FALSE(test, t->instant);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(t, 5, 0, 8), 7005);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(t, 7005, SZ_1M, 2048), 7005);

	c->cfg.bus_kbps = GB_PER_S;
	start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(t, 0, 4096, 8), 4096);

	/* Zeroes alone do not make it so: then the clock decides. */
	c->cfg.read_us = 0;
	c->cfg.bus_kbps = 0;
	c->cfg.preset = NULL;
	start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(t, 0, 4096, 8), 10240);
}

static void fixed_latency(struct kunit *test)
{
	struct ctx *c = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, mmc_sim_preset(&c->cfg, "fixed-20us"), 0);
	start(c);
	/* Even on the same channel, and in sequence. */
	for (i = 0; i < 32; i++)
		KUNIT_EXPECT_EQ(test, mmc_sim_time_read(&c->t, 100, i * 8, 8),
				US(20) + 100);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_bus(&c->t, 100, SZ_1M, 2048), 100);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_write(&c->t, 100, 0, 8, true),
			US(20) + 100);

	KUNIT_ASSERT_EQ(test, mmc_sim_preset(&c->cfg, "fixed-200us"), 0);
	start(c);
	KUNIT_EXPECT_EQ(test, mmc_sim_time_read(&c->t, 100, 0, 8),
			US(200) + 100);
}

/*
 * What the presets are made for. Software takes @sw_us between requests; with
 * several jobs only that which is not hidden.
 */
static const struct figure {
	const char *name;
	const char *preset;
	u8 dir;
	bool random;
	u32 kib;		/* a record, in requests of 512 KiB at most */
	u32 unit;		/* bytes a second */
	u32 rate;
	u32 percent;		/* tolerance */
	u32 sw_us;
} figures[] = {
	/* The rate alone that fits the two in parallel, see timing.c. */
	{ "ddr50 read", "emmc-ddr50", READ, false, 128, 1000000, 28, 10, 15 },
	{ "ddr50 write", "emmc-ddr50", WRITE, false, 512, 10000, 2518, 10, 15 },

	{ "hs400 read 128k", "emmc-hs400", READ, false, 128, 1000000, 265, 10, 10 },
	{ "hs400 read 512k", "emmc-hs400", READ, false, 512, 1000000, 265, 10, 10 },
	{ "hs400 write", "emmc-hs400", WRITE, false, 512, 100000, 966, 10, 10 },
	{ "hs400 random read 4k", "emmc-hs400", READ, true, 4, 1024, 18585, 10, 10 },
	{ "hs400 random read 8k", "emmc-hs400", READ, true, 8, 1024, 35041, 10, 10 },
	{ "hs400 random read 16k", "emmc-hs400", READ, true, 16, 1024, 63880, 10, 10 },
	{ "hs400 random write 4k", "emmc-hs400", WRITE, true, 4, 1024, 16465, 10, 10 },
	{ "hs400 random write 8k", "emmc-hs400", WRITE, true, 8, 1024, 19210, 10, 10 },
	{ "hs400 random write 16k", "emmc-hs400", WRITE, true, 16, 1024, 22672, 10, 10 },

	{ "slow write 4k", "slow-flash", WRITE, false, 4, 1024, 1960, 10, 15 },
	{ "slow write 64k", "slow-flash", WRITE, false, 64, 1024, 6286, 10, 15 },
	{ "slow write 512k", "slow-flash", WRITE, false, 512, 1024, 7204, 10, 15 },
	{ "slow write 4096k", "slow-flash", WRITE, false, 4096, 1024, 7553, 10, 15 },
	{ "slow write 16384k", "slow-flash", WRITE, false, 16384, 1024, 7357, 10, 15 },
	{ "slow rewrite 16384k", "slow-flash", WRITE, false, 16384, 1024, 7818, 10, 15 },
	{ "slow read 4k", "slow-flash", READ, false, 4, 1024, 5991, 10, 15 },
	{ "slow read 64k", "slow-flash", READ, false, 64, 1024, 16737, 10, 15 },
	/* The one that no card can have together with the next two. */
	{ "slow read 512k", "slow-flash", READ, false, 512, 1024, 18471, 13, 15 },
	{ "slow read 4096k", "slow-flash", READ, false, 4096, 1024, 21510, 10, 15 },
	{ "slow read 16384k", "slow-flash", READ, false, 16384, 1024, 23053, 10, 15 },
	{ "slow random read 4k", "slow-flash", READ, true, 4, 1024, 5202, 10, 15 },
	{ "slow random read 64k", "slow-flash", READ, true, 64, 1024, 16738, 10, 15 },
	{ "slow random write 4k", "slow-flash", WRITE, true, 4, 1024, 40, 10, 15 },
	{ "slow random write 64k", "slow-flash", WRITE, true, 64, 1024, 678, 10, 15 },
	{ "slow random write 512k", "slow-flash", WRITE, true, 512, 1024, 7209, 10, 15 },
	{ "slow random write 4096k", "slow-flash", WRITE, true, 4096, 1024, 7688, 10, 15 },
};

KUNIT_ARRAY_PARAM_DESC(figure, figures, name);

static u64 request(struct ctx *c, u64 now, u8 dir, u64 sector, u32 nr)
{
	struct mmc_sim_timing *t = &c->t;

	now += 2 * mmc_sim_time_cmd(t);
	if (dir == READ)
		now = mmc_sim_time_read(t, now, sector, nr);
	now = mmc_sim_time_bus(t, now, (u64)nr * 512, nr);
	if (dir == WRITE)
		now = mmc_sim_time_write(t, now, sector, nr, c->cfg.cache_kib);
	return now;
}

static void start_preset(struct kunit *test, const char *name)
{
	struct ctx *c = test->priv;
	struct mmc_ios ios = { .clock = 52000000, .timing = MMC_TIMING_MMC_HS };

	KUNIT_ASSERT_EQ(test, mmc_sim_preset(&c->cfg, name), 0);
	if (c->cfg.bus == MMC_SIM_BUS_DDR52)
		ios.timing = MMC_TIMING_MMC_DDR52;
	if (c->cfg.bus == MMC_SIM_BUS_HS400ES) {
		ios.timing = MMC_TIMING_MMC_HS400;
		ios.clock = 200000000;
	}
	ios.bus_width = c->cfg.bus_width == 8 ? MMC_BUS_WIDTH_8 : MMC_BUS_WIDTH_4;
	mmc_sim_timing_init(&c->t, &c->cfg);
	mmc_sim_timing_ios(&c->t, &ios);
}

static void preset_rate(struct kunit *test)
{
	const struct figure *f = test->param_value;
	u32 sectors = f->kib * 2, each = min(sectors, 1024U);
	/* The first part fills the buffer and is not counted. */
	u32 records = max(65536 / f->kib, 8U), skip = records / 4, i, done;
	struct ctx *c = test->priv;
	u64 now = 0, begun = 0, rate, sector = 0;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 1);
	start_preset(test, f->preset);
	for (i = 0; i < records; i++) {
		if (i == skip)
			begun = now;
		if (f->random)
			sector = (u64)(prandom_u32_state(&rnd) % 65536) * sectors;
		for (done = 0; done < sectors; done += each) {
			now += US(f->sw_us);
			now = request(c, now, f->dir, sector, each);
			sector += each;
		}
	}
	rate = div64_u64((u64)(records - skip) * f->kib * 1024 * NSEC_PER_SEC,
			 (now - begun) * f->unit);
	kunit_info(test, "%llu, should be %u\n", rate, f->rate);
	KUNIT_EXPECT_GE(test, rate * 100, (u64)f->rate * (100 - f->percent));
	KUNIT_EXPECT_LE(test, rate * 100, (u64)f->rate * (100 + f->percent));
}

/* 3000 x 128 KiB each way, and the writer is served first (see timing.c). */
static void ddr50_in_parallel(struct kunit *test)
{
	struct ctx *c = test->priv;
	u64 total = 3000ULL * SZ_128K;
	u64 now = 0, pos, rate;

	start_preset(test, "emmc-ddr50");
	for (pos = 0; pos < total; pos += SZ_512K)
		now = request(c, now + US(15), WRITE, pos / 512, 1024);
	for (pos = 0; pos < total; pos += SZ_128K)
		now = request(c, now + US(15), READ, pos / 512, 256);
	rate = div64_u64(total * 100000, now);
	kunit_info(test, "%llu0 kB/s\n", rate);
	/* In 10 kB/s: 12.12 and 12.02 MB/s. */
	KUNIT_EXPECT_GE(test, rate, 1212 * 9 / 10);
	KUNIT_EXPECT_LE(test, rate, 1202 * 11 / 10);
}

static struct kunit_case timing_test_cases[] = {
	KUNIT_CASE_PARAM(rate_of_ios, ios_case_gen_params),
	KUNIT_CASE_PARAM(command, cmd_case_gen_params),
	KUNIT_CASE(bus_takes_turns),
	KUNIT_CASE_PARAM(read_start, read_case_gen_params),
	KUNIT_CASE_PARAM(reads_in_parallel, parallel_case_gen_params),
	KUNIT_CASE(read_first),
	KUNIT_CASE(read_first_channels),
	KUNIT_CASE(read_first_is_no_hpi),
	KUNIT_CASE_PARAM(read_first_alone, read_case_gen_params),
	KUNIT_CASE(read_first_ahead),
	KUNIT_CASE(read_ahead),
	KUNIT_CASE(read_ahead_in_page),
	KUNIT_CASE_PARAM(write_through, write_case_gen_params),
	KUNIT_CASE_PARAM(random_write, random_case_gen_params),
	KUNIT_CASE(buffer_full),
	KUNIT_CASE(buffer_room),
	KUNIT_CASE(flush),
	KUNIT_CASE(random_fills_buffer),
	KUNIT_CASE_PARAM(read_while_draining, drain_case_gen_params),
	KUNIT_CASE(bus_and_flash_overlap),
	KUNIT_CASE_PARAM(erase, erase_case_gen_params),
	KUNIT_CASE(reset),
	KUNIT_CASE(preset_names),
	KUNIT_CASE(preset_unknown),
	KUNIT_CASE(instant),
	KUNIT_CASE(fixed_latency),
	KUNIT_CASE_PARAM(preset_rate, figure_gen_params),
	KUNIT_CASE(ddr50_in_parallel),
	{}
};

static struct kunit_suite timing_test_suite = {
	.name = "mmc_sim_timing",
	.init = timing_test_init,
	.test_cases = timing_test_cases,
};

kunit_test_suite(timing_test_suite);
