// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: how long things take.
 *
 * A bus that carries one transfer at a time, and flash with channels that work
 * in parallel on pages. Page n is always on channel n modulo their number, so
 * what is next to each other is spread and two accesses to one page collide.
 * In front of the flash there may be a write buffer, which is the volatile
 * cache of 6.6.34, that the channels empty in the background.
 *
 * Nothing here waits: functions take a time, reserve what they use, and return
 * a time.
 */
#include <linux/align.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "card.h"

/* Command and response of 48 bits, N_CR and N_RC of 8 clocks each. */
#define CMD_CLOCKS		(48 + 8 + 48 + 8)

#define ERASE_GROUP_SECTORS	(SZ_512K / MMC_SIM_SECTOR)

/*
 * An erase command does no more than so many erase groups at once. What is
 * larger is unmapped, and erased when the card finds time.
 */
#define ERASE_MAX_GROUPS	64

#define NO_SECTOR		U64_MAX

/* ---------------------------------------------------------------- presets */

struct preset {
	struct mmc_sim_config cfg;
	bool free_bus;
};

/*
 * A preset decides the bus, the cache and all that takes time, and leaves alone
 * what has no part in its figures, such as the capacity.
 *
 * Rates below are in us a KiB, kB and MB are as in the figure they refer to.
 * Each request has two commands (CMD23, and CMD18 or CMD25) of CMD_CLOCKS, and
 * the software takes some 10 to 15 us from the end of one to the start of the
 * next.
 *
 * Values without a figure behind them are marked "assumed".
 */
static const struct preset presets[] = {
	{
		/* Software alone: whatever the card does takes no time. */
		.cfg = {
			.preset = "instant",
			.bus = MMC_SIM_BUS_HS400ES,
			.bus_width = 8,
			.cache_kib = 1024,
			.channels = 1,
			.page_kib = 16,
		},
		.free_bus = true,
	}, {
		/*
		 * An eMMC of 2012 on DDR52, 8 bits. One program reads and one
		 * writes, 3000 x 128 KiB each (393.2 MB), with schedulers that
		 * do not prefer reads: 12.12 and 25.18 MB/s (noop), 12.02 and
		 * 24.6 MB/s (deadline). So the writer ends after 393.2 / 25.18
		 * = 15.6 s and the reader after 393.2 / 12.12 = 32.4 s: the
		 * reader has the card to itself when the writer is done. With
		 * writes at 24.2 MB/s (16.2 s) and reads alone at 27.3 MB/s
		 * (14.4 s), it ends after 30.6 s: 12.84 MB/s.
		 *
		 * Bus: 52 MHz x 2 edges x 8 bits = 104 MB/s, with 20 clocks for
		 * start, CRC, end and gap of a block (400 ns): 512 B in 5.3 us,
		 * 10.6 us/KiB. Neither direction is limited by it.
		 *
		 * Read: one channel, 8 KiB in 300 us is 27.3 MB/s; read-ahead
		 * keeps it at that whatever the size of a request is.
		 *
		 * Write: no cache (eMMC 4.41). Requests of 512 KiB are 64
		 * pages: 64 x 330 us + 85 us for the first to arrive + 400 us
		 * of setup + 19 us of commands and software = 21.62 ms,
		 * 24.2 MB/s.
		 *
		 * The two schedulers order writes differently and the writer
		 * is as fast with both, so that a write out of order cannot
		 * cost much: 300 us, one page.
		 *
		 * Assumed: read_setup_us, erase_us.
		 */
		.cfg = {
			.preset = "emmc-ddr50",
			.bus = MMC_SIM_BUS_DDR52,
			.bus_width = 8,
			.cache_kib = 0,
			.channels = 1,
			.page_kib = 8,
			.read_us = 300,
			.program_us = 330,
			.erase_us = 1000,
			.read_setup_us = 150,
			.write_setup_us = 400,
			.random_write_us = 300,
			.random_write_kib = 512,
			.read_ahead_kib = 128,
			.block_gap_ns = 400,
		},
	}, {
		/*
		 * An eMMC 5.1 on HS400ES, one request at a time (no CQE).
		 *
		 * Random read, 10 jobs, 4k/8k/16k: 18585/35041/63880 kB/s are
		 * 215.2/228.3/250.5 us a request: 2.93 us/KiB and 203.6 us.
		 * Bus: 200 MHz x 2 x 8 bits takes 1.28 us for 512 B, so the gap
		 * is 2.93 / 2 - 1.28 = 185 ns a block.
		 *
		 * Sequential read, 265 MB/s, is slower than the bus (349 MB/s),
		 * so flash is the limit, and read-ahead keeps it busy: 2
		 * channels x 16 KiB in 124 us are 264.3 MB/s. 203.6 us less
		 * 124 us for a page, 1.2 us of commands and 10 us of software
		 * leave 68 us of setup for a read that is not sequential.
		 *
		 * Sequential write, 96.6 MB/s, is what the cache is emptied
		 * with: 32 KiB in 339 us, 10.6 us/KiB.
		 *
		 * Random write, 10 jobs, 4k/8k/16k: 16465/19210/22672 kB/s are
		 * 242.9/416.4/705.7 us a request. The cache is full then, so
		 * this is the work of emptying it: 10.6 us/KiB and
		 * (1 - size / 512 KiB) x (R + G x size); the remainders are
		 * 202.1/336.9/553.5 us. G = 29 us/KiB (464 us a page), R = 90 us
		 * give 206/322/554, that is 246.8/401.7/706.2 us a request.
		 *
		 * Assumed: write_setup_us, flush_us, erase_us, cache_kib.
		 */
		.cfg = {
			.preset = "emmc-hs400",
			.bus = MMC_SIM_BUS_HS400ES,
			.bus_width = 8,
			.cache_kib = 1024,
			.channels = 2,
			.page_kib = 16,
			.read_us = 124,
			.program_us = 339,
			.erase_us = 500,
			.read_setup_us = 68,
			.write_setup_us = 30,
			.random_write_us = 90,
			.random_write_kib = 512,
			.gc_us = 464,
			.read_ahead_kib = 128,
			.flush_us = 200,
			.block_gap_ns = 185,
		},
	}, {
		/*
		 * A 2 GB SD card, as an eMMC on a 4-bit high speed bus; direct
		 * I/O with records of 4 to 16384 KiB, requests of 512 KiB.
		 *
		 * Read: 4k 5991, 64k 16737, 512k 18471, 4096k 21510, 16384k
		 * 23053 kB/s are 668 us, 3.82, 27.7, 190 and 711 ms. Per
		 * request of 512 KiB these are 27.7, 23.8 and 22.2 ms: no time
		 * a command and a KiB can give all three, and a card has no way
		 * to know that a request is part of a larger record (the host
		 * had: it prepared the next request while one ran). 520 us and
		 * 47.03 us/KiB give 708 us, 3.53, 24.6, 197 and 787 ms: within
		 * 10 % but for 512k, which is 12.7 % faster.
		 * Bus: 52 MHz x 4 bits takes 19.69 us for 512 B, so the gap is
		 * 47.03 / 2 - 19.69 = 3.823 us a block. 520 us less 100 us for
		 * a page, 4 us of commands and 15 us of software leave 400 us.
		 * Random reads have the same figures: no read-ahead.
		 *
		 * Write: 4k 1960, 64k 6286, 512k 7204, 4096k 7553, 16384k 7357
		 * kB/s are 2.04, 10.2, 71.1, 542 and 2227 ms: 133 us/KiB (532
		 * us a page of 4 KiB, one channel, hiding the bus) and 1450 us
		 * a request. Less 188 us for the first page to arrive, 4 us
		 * and 15 us leave 1243 us. It gives 1.98, 9.96, 69.5, 556 and
		 * 2225 ms.
		 *
		 * Random write: 4k 40, 64k 678, 512k 7209 kB/s are 100, 94.4
		 * and 71.0 ms; above the same written sequentially, 98, 84.4
		 * and 1.5 ms: the rest of a block of 512 KiB is copied, at
		 * 191 us/KiB, which is 97.8 ms for a whole one.
		 *
		 * Assumed: erase_us.
		 */
		.cfg = {
			.preset = "slow-flash",
			.bus = MMC_SIM_BUS_HS,
			.bus_width = 4,
			.cache_kib = 0,
			.channels = 1,
			.page_kib = 4,
			.read_us = 100,
			.program_us = 532,
			.erase_us = 2000,
			.read_setup_us = 400,
			.write_setup_us = 1243,
			.random_write_us = 97800,
			.random_write_kib = 512,
			.block_gap_ns = 3823,
		},
	}, {
		/*
		 * For software that should see depth: each command takes so
		 * long and any number of them run in parallel. The latency is
		 * setup and not pages, since random pages would meet on a
		 * channel, 32 channels or not.
		 */
		.cfg = {
			.preset = "fixed-20us",
			.bus = MMC_SIM_BUS_HS400ES,
			.bus_width = 8,
			.cache_kib = 1024,
			.channels = 32,
			.page_kib = 4,
			.read_setup_us = 20,
			.write_setup_us = 20,
			.flush_us = 20,
		},
		.free_bus = true,
	}, {
		.cfg = {
			.preset = "fixed-200us",
			.bus = MMC_SIM_BUS_HS400ES,
			.bus_width = 8,
			.cache_kib = 1024,
			.channels = 32,
			.page_kib = 4,
			.read_setup_us = 200,
			.write_setup_us = 200,
			.flush_us = 200,
		},
		.free_bus = true,
	},
};

static const struct preset *find_preset(const char *name)
{
	unsigned int i;

	for (i = 0; name && i < ARRAY_SIZE(presets); i++)
		if (sysfs_streq(name, presets[i].cfg.preset))
			return &presets[i];
	return NULL;
}

/**
 * mmc_sim_preset_name() - name of a preset
 * @i: number, from 0
 *
 * Return: the name, or NULL if there are not so many.
 */
const char *mmc_sim_preset_name(unsigned int i)
{
	return i < ARRAY_SIZE(presets) ? presets[i].cfg.preset : NULL;
}

/**
 * mmc_sim_preset() - set what a preset decides
 * @cfg: settings to change; others than those of the preset stay
 * @name: name of the preset; a newline at its end does not matter
 *
 * Context: Any.
 * Return: 0, or -EINVAL for a name that does not exist, after one line in the
 * log that has those that do.
 */
int mmc_sim_preset(struct mmc_sim_config *cfg, const char *name)
{
	const struct preset *preset = find_preset(name);
	const struct mmc_sim_config *set;
	char known[128] = "";
	unsigned int i;

	if (!preset) {
		for (i = 0; i < ARRAY_SIZE(presets); i++) {
			strlcat(known, " ", sizeof(known));
			strlcat(known, presets[i].cfg.preset, sizeof(known));
		}
		pr_err(MMC_SIM_NAME ": preset \"%s\" is unknown; there are:%s\n",
		       name, known);
		return -EINVAL;
	}

	set = &preset->cfg;
	cfg->preset = set->preset;
	cfg->bus = set->bus;
	cfg->bus_width = set->bus_width;
	cfg->cache_kib = set->cache_kib;
	cfg->channels = set->channels;
	cfg->page_kib = set->page_kib;
	cfg->read_us = set->read_us;
	cfg->program_us = set->program_us;
	cfg->erase_us = set->erase_us;
	cfg->read_setup_us = set->read_setup_us;
	cfg->write_setup_us = set->write_setup_us;
	cfg->random_write_us = set->random_write_us;
	cfg->random_write_kib = set->random_write_kib;
	cfg->gc_us = set->gc_us;
	cfg->read_ahead_kib = set->read_ahead_kib;
	cfg->flush_us = set->flush_us;
	cfg->cmd_ns = set->cmd_ns;
	cfg->block_gap_ns = set->block_gap_ns;
	cfg->bus_kbps = set->bus_kbps;
	return 0;
}

/* -------------------------------------------------------------- arithmetic */

static u64 us_to_ns(u32 us)
{
	return (u64)us * NSEC_PER_USEC;
}

static u64 page_bytes(const struct mmc_sim_timing *t)
{
	return (u64)t->cfg->page_kib * SZ_1K;
}

static u64 buffer_size(const struct mmc_sim_timing *t)
{
	return (u64)t->cfg->cache_kib * SZ_1K;
}

static u64 bus_ns(const struct mmc_sim_timing *t, u64 bytes, u64 blocks)
{
	return DIV_ROUND_UP_ULL(bytes * t->bus_ps_per_byte, 1000) +
	       blocks * t->cfg->block_gap_ns;
}

/* The same for data from flash, in blocks of a sector. */
static u64 media_bus_ns(const struct mmc_sim_timing *t, u64 bytes)
{
	return bus_ns(t, bytes, div_u64(bytes, MMC_SIM_SECTOR));
}

/* Bring the write buffer to @now. It empties evenly over its work. */
static void buffer_sync(struct mmc_sim_timing *t, u64 now)
{
	u64 ns;

	if (now <= t->buffer_time)
		return;
	ns = now - t->buffer_time;
	t->buffer_time = now;
	if (ns >= t->buffer_work) {
		t->buffer_level = 0;
		t->buffer_work = 0;
		return;
	}
	t->buffer_level -= mul_u64_u64_div_u64(t->buffer_level, ns,
					       t->buffer_work);
	t->buffer_work -= ns;
}

/* When no more than @target bytes are left in the buffer. */
static u64 buffer_reaches(const struct mmc_sim_timing *t, u64 target)
{
	if (t->buffer_level <= target)
		return t->buffer_time;
	return t->buffer_time + t->buffer_work -
	       mul_u64_u64_div_u64(t->buffer_work, target, t->buffer_level);
}

static bool draining(const struct mmc_sim_timing *t, u64 at)
{
	return t->buffer_work && at >= t->drain_start &&
	       at < t->buffer_time + t->buffer_work;
}

static u32 page_channel(const struct mmc_sim_timing *t, u64 page)
{
	u32 channel;

	div_u64_rem(page, t->cfg->channels, &channel);
	return channel;
}

/*
 * When a channel that could begin work of @ns at @at begins with it. While the
 * buffer is emptied a page program is under way on every channel: it is
 * finished, but no other goes first, and the buffer takes so much longer.
 */
static u64 channel_begin(struct mmc_sim_timing *t, u64 at, u64 ns)
{
	u64 program = us_to_ns(t->cfg->program_us);

	if (program && draining(t, at)) {
		u64 begun;

		div64_u64_rem(at - t->drain_start, program, &begun);
		if (begun)
			at += program - begun;
		t->buffer_work += div_u64(ns, t->cfg->channels);
	}
	return at;
}

/*
 * Occupy a page's channel for @ns, from @at or when it is free. Returns the
 * end.
 */
static u64 channel_use(struct mmc_sim_timing *t, u64 page, u64 at, u64 ns)
{
	u64 *free = &t->channel_free[page_channel(t, page)];

	*free = channel_begin(t, max(at, *free), ns) + ns;
	return *free;
}

/* The same for a program: a read of high priority waits for its end. */
static u64 channel_hold(struct mmc_sim_timing *t, u64 page, u64 at, u64 ns)
{
	u64 end = channel_use(t, page, at, ns);

	t->channel_held[page_channel(t, page)] = end;
	return end;
}

/*
 * Read a page before those that the channel has yet to read, and after the one
 * that it is reading at @at. These are all of the same length and follow on
 * each other, so it is known when that one ends.
 */
static u64 channel_overtake(struct mmc_sim_timing *t, u64 page, u64 at, u64 ns)
{
	u32 channel = page_channel(t, page);
	u64 *free = &t->channel_free[channel];
	u64 *held = &t->channel_held[channel];
	u64 left;

	at = max(at, *held);
	if (at >= *free)
		return channel_hold(t, page, at, ns);

	div64_u64_rem(*free - at, ns, &left);
	at = channel_begin(t, at + left, ns);
	if (!t->channel_lost[channel])
		t->channel_begun[channel] = at;
	t->channel_lost[channel] += ns;
	*free += ns;
	*held = at + ns;
	return *held;
}

/*
 * What a write costs above the same in sequence. random_write_us is the price
 * of the copy of a block of random_write_kib, of which the new data need not be
 * copied; gc_us is that of the garbage that the data leaves elsewhere.
 */
static u64 random_ns(const struct mmc_sim_timing *t, u64 bytes)
{
	u64 block = (u64)t->cfg->random_write_kib * SZ_1K;
	u64 ns = us_to_ns(t->cfg->random_write_us);

	ns += div64_u64(bytes * us_to_ns(t->cfg->gc_us), page_bytes(t));
	if (!block)
		return ns;
	if (bytes >= block)
		return 0;
	return mul_u64_u64_div_u64(ns, block - bytes, block);
}

/* --------------------------------------------------------------- interface */

/**
 * mmc_sim_timing_init() - start the clockwork of a card
 * @t: to set up
 * @cfg: settings, constant from now on
 *
 * The bus and commands are free of charge with the presets that say so
 * ("instant" and the "fixed" ones) while bus_kbps, block_gap_ns and cmd_ns are
 * 0. If the flash takes no time then either, the card is instant: every
 * function returns the time that it was given.
 *
 * The bus has no rate before mmc_sim_timing_ios().
 *
 * Context: Any.
 */
void mmc_sim_timing_init(struct mmc_sim_timing *t,
			 const struct mmc_sim_config *cfg)
{
	const struct preset *preset = find_preset(cfg->preset);

	memset(t, 0, sizeof(*t));
	t->cfg = cfg;
	t->free_bus = preset && preset->free_bus && !cfg->bus_kbps &&
		      !cfg->block_gap_ns && !cfg->cmd_ns;
	t->instant = t->free_bus && !cfg->read_us && !cfg->program_us &&
		     !cfg->erase_us && !cfg->read_setup_us &&
		     !cfg->write_setup_us && !cfg->random_write_us &&
		     !cfg->gc_us && !cfg->flush_us;
	mmc_sim_timing_reset(t, 0);
}

/**
 * mmc_sim_timing_reset() - the card lost its power or was reset
 * @t: timing
 * @now: when, in ns
 *
 * Nothing is under way then, and the write buffer is empty.
 *
 * Context: Any; the caller holds the lock that protects @t.
 */
void mmc_sim_timing_reset(struct mmc_sim_timing *t, u64 now)
{
	unsigned int i;

	t->bus_free = now;
	for (i = 0; i < MMC_SIM_MAX_CHANNELS; i++) {
		t->channel_free[i] = now;
		t->channel_held[i] = now;
		t->channel_begun[i] = now;
		t->channel_lost[i] = 0;
	}
	t->buffer_level = 0;
	t->buffer_work = 0;
	t->buffer_time = now;
	t->drain_start = now;
	t->next_write = NO_SECTOR;
	t->next_read = NO_SECTOR;
	t->page_ready = now;
}

/**
 * mmc_sim_timing_ios() - take over clock, width and timing of the bus
 * @t: timing
 * @ios: what the host set
 *
 * The rate is constant if bus_kbps is set, in units of 1000 bytes a second.
 * While the clock is off the last rate stays.
 *
 * Context: Any; the caller holds the lock that protects @t.
 */
void mmc_sim_timing_ios(struct mmc_sim_timing *t, const struct mmc_ios *ios)
{
	unsigned int lines = 1 << ios->bus_width;
	unsigned int edges = 1;

	t->clock = ios->clock;
	if (t->free_bus) {
		t->bus_ps_per_byte = 0;
		return;
	}
	if (t->cfg->bus_kbps) {
		t->bus_ps_per_byte = div_u64(1000000000ULL, t->cfg->bus_kbps);
		return;
	}
	if (!ios->clock)
		return;

	if (ios->timing == MMC_TIMING_MMC_DDR52 ||
	    ios->timing == MMC_TIMING_UHS_DDR50 ||
	    ios->timing == MMC_TIMING_MMC_HS400)
		edges = 2;
	t->bus_ps_per_byte = div64_u64(8 * 1000000000000ULL,
				       (u64)ios->clock * lines * edges);
}

/**
 * mmc_sim_time_cmd() - duration of a command and its response
 * @t: timing
 *
 * That is cmd_ns, or if it is 0 as many clocks as a short response needs.
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: ns.
 */
u64 mmc_sim_time_cmd(const struct mmc_sim_timing *t)
{
	if (t->cfg->cmd_ns)
		return t->cfg->cmd_ns;
	if (t->free_bus || !t->clock)
		return 0;
	return div_u64((u64)CMD_CLOCKS * NSEC_PER_SEC + t->clock - 1, t->clock);
}

/*
 * Read a page from @at on, or when its channel is free. A read of high priority
 * overtakes those that still have the channel at @overtake.
 */
static u64 page_read(struct mmc_sim_timing *t, u64 page, u64 at, u64 overtake)
{
	u64 read = us_to_ns(t->cfg->read_us);

	if (overtake == U64_MAX)
		return channel_use(t, page, at, read);
	if (t->channel_free[page_channel(t, page)] > overtake)
		return channel_overtake(t, page, overtake, read);
	return channel_hold(t, page, at, read);
}

static u64 read_media(struct mmc_sim_timing *t, u64 now, u64 sector, u32 nr,
		      bool first)
{
	const struct mmc_sim_config *cfg = t->cfg;
	u64 pos = sector * MMC_SIM_SECTOR;
	u64 end = pos + (u64)nr * MMC_SIM_SECTOR;
	bool ahead = cfg->read_ahead_kib && sector == t->next_read;
	u64 ahead_end = ahead ? pos + (u64)cfg->read_ahead_kib * SZ_1K : 0;
	u64 from, start, at;
	u64 page;

	t->next_read = sector + nr;
	if (t->instant || !nr)
		return now;

	buffer_sync(t, now);
	from = ahead ? now : now + us_to_ns(cfg->read_setup_us);
	start = from;
	if (!cfg->read_us)
		return start;

	page = div64_u64(pos, page_bytes(t));
	for (at = pos; at < end; at = ++page * page_bytes(t)) {
		u64 moved = media_bus_ns(t, at - pos);

		/* The last read may have left us in the middle of a page. */
		if (at >= ahead_end || at == page * page_bytes(t) ||
		    (first && t->page_ready > from))
			t->page_ready = page_read(t, page,
						  at < ahead_end ? 0 : from,
						  first ? from : U64_MAX);

		if (t->page_ready > moved)
			start = max(start, t->page_ready - moved);
	}
	return start;
}

/**
 * mmc_sim_time_read() - fetch data from flash
 * @t: timing
 * @now: when the card got to know of the read, in ns
 * @sector: first 512-byte sector
 * @nr: number of sectors
 *
 * Setup comes first, then the channels read the pages. The bus can move one
 * while the next is read, so this is the earliest start of a transfer that
 * never waits for a page, if the bus is free then.
 *
 * With read_ahead_kib, a read that goes on where the last one ended has no
 * setup, and the channels have read on by themselves, so far ahead, ever since
 * they had nothing else to do. What was read ahead for nothing costs nothing.
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: time in ns at which the transfer can start.
 */
u64 mmc_sim_time_read(struct mmc_sim_timing *t, u64 now, u64 sector, u32 nr)
{
	return read_media(t, now, sector, nr, false);
}

/**
 * mmc_sim_time_read_first() - fetch data for a task of high priority
 * @t: timing
 * @now: when the card got to know of the task, in ns
 * @sector: first 512-byte sector
 * @nr: number of sectors
 *
 * The task is executed before those of no priority (6.6.39): each channel
 * reads its pages before all that it has yet to read for others. A page that is
 * being read, a program and an erase end first, and so do the reads of high
 * priority that came before. How long the others are delayed is to be asked
 * from mmc_sim_time_read_lost() before the next call.
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: time in ns at which the transfer can start.
 */
u64 mmc_sim_time_read_first(struct mmc_sim_timing *t, u64 now, u64 sector,
			    u32 nr)
{
	memset(t->channel_lost, 0, sizeof(t->channel_lost));
	return read_media(t, now, sector, nr, true);
}

/**
 * mmc_sim_time_read_lost() - by how long a read was delayed
 * @t: timing, after mmc_sim_time_read_first()
 * @ready: time in ns at which the transfer of the read could start before
 * @sector: first 512-byte sector of the read
 * @nr: number of its sectors
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: ns; 0 for a read that has none of its pages behind those that went
 * first.
 */
u64 mmc_sim_time_read_lost(const struct mmc_sim_timing *t, u64 ready,
			   u64 sector, u32 nr)
{
	u64 first = div64_u64(sector * MMC_SIM_SECTOR, page_bytes(t));
	u64 last = div64_u64((sector + nr) * MMC_SIM_SECTOR - 1, page_bytes(t));
	u64 lost = 0;
	u64 page;

	/* With as many pages as there are channels, each has one. */
	last = min(last, first + t->cfg->channels - 1);
	for (page = first; page <= last; page++) {
		u32 channel = page_channel(t, page);

		if (ready > t->channel_begun[channel])
			lost = max(lost, t->channel_lost[channel]);
	}
	return lost;
}

/**
 * mmc_sim_time_bus() - move data over the bus
 * @t: timing
 * @now: when the transfer could start, in ns
 * @bytes: length
 * @blocks: number of blocks that it is made of
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: time in ns at which it ends.
 */
u64 mmc_sim_time_bus(struct mmc_sim_timing *t, u64 now, u64 bytes, u32 blocks)
{
	if (t->instant)
		return now;

	t->bus_free = max(now, t->bus_free) + bus_ns(t, bytes, blocks);
	return t->bus_free;
}

static u64 write_buffered(struct mmc_sim_timing *t, u64 now, u64 bytes,
			  u64 extra)
{
	const struct mmc_sim_config *cfg = t->cfg;
	u64 work = extra + div64_u64(bytes * us_to_ns(cfg->program_us),
				     page_bytes(t) * cfg->channels);

	if (work) {
		if (!t->buffer_work)
			t->drain_start = now;
		t->buffer_level += bytes;
		t->buffer_work += work;
	}
	return max(now + us_to_ns(cfg->write_setup_us),
		   buffer_reaches(t, buffer_size(t)));
}

static u64 write_through(struct mmc_sim_timing *t, u64 now, u64 pos, u64 bytes,
			 u64 extra)
{
	u64 program = us_to_ns(t->cfg->program_us);
	u64 page = div64_u64(pos, page_bytes(t));
	u64 first = page;
	u64 done = now;
	u64 at;

	for (at = pos; program && at < pos + bytes; at = ++page * page_bytes(t)) {
		u64 next = min((page + 1) * page_bytes(t), pos + bytes);
		u64 later = media_bus_ns(t, pos + bytes - next);

		/* It came in before those that follow it. */
		done = max(done, channel_hold(t, page, now - min(now, later),
					      program));
	}

	/* No page goes first here: the card is busy until the copy is made. */
	if (extra)
		done = max(done, channel_hold(t, first, done, extra));
	return done + us_to_ns(t->cfg->write_setup_us);
}

/**
 * mmc_sim_time_write() - store data that the card has received
 * @t: timing
 * @now: end of the transfer, in ns
 * @sector: first 512-byte sector
 * @nr: number of sectors
 * @cached: it may stay in the volatile cache
 *
 * Without cache the channels program whole pages, each from the moment at which
 * it has come over the bus, and the card is busy until all are programmed. With
 * cache it is busy until the data has room there.
 *
 * A write that does not go on where the last one ended costs more, see
 * random_write_us, random_write_kib and gc_us.
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: time in ns at which the card is no longer busy.
 */
u64 mmc_sim_time_write(struct mmc_sim_timing *t, u64 now, u64 sector, u32 nr,
		       bool cached)
{
	u64 bytes = (u64)nr * MMC_SIM_SECTOR;
	bool random = sector != t->next_write;
	u64 extra;

	t->next_write = sector + nr;
	if (t->instant || !nr)
		return now;

	buffer_sync(t, now);
	extra = random ? random_ns(t, bytes) : 0;
	if (cached && t->cfg->cache_kib)
		return write_buffered(t, now, bytes, extra);
	return write_through(t, now, sector * MMC_SIM_SECTOR, bytes, extra);
}

/**
 * mmc_sim_time_write_room() - wait for room in the write buffer
 * @t: timing
 * @now: ns
 * @nr: number of sectors that are to be written
 *
 * What is larger than the buffer waits for it to be empty.
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: time in ns at which there is room; @now without a cache.
 */
u64 mmc_sim_time_write_room(struct mmc_sim_timing *t, u64 now, u32 nr)
{
	u64 size = buffer_size(t);

	if (t->instant || !size)
		return now;

	buffer_sync(t, now);
	size -= min((u64)nr * MMC_SIM_SECTOR, size);
	return max(now, buffer_reaches(t, size));
}

/**
 * mmc_sim_time_flush() - empty the write buffer
 * @t: timing
 * @now: ns
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: time in ns at which everything is programmed and flush_us are over.
 */
u64 mmc_sim_time_flush(struct mmc_sim_timing *t, u64 now)
{
	if (t->instant)
		return now;

	buffer_sync(t, now);
	return max(now, t->buffer_time + t->buffer_work) +
	       us_to_ns(t->cfg->flush_us);
}

/**
 * mmc_sim_time_erase() - erase, trim or discard
 * @t: timing
 * @now: ns
 * @nr: number of 512-byte sectors
 *
 * erase_us for each erase group of 512 KiB that was begun, up to a limit beyond
 * which the card only unmaps. The channels are occupied.
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: time in ns at which the card is no longer busy.
 */
u64 mmc_sim_time_erase(struct mmc_sim_timing *t, u64 now, u64 nr)
{
	u64 groups = min_t(u64, DIV_ROUND_UP_ULL(nr, ERASE_GROUP_SECTORS),
			   ERASE_MAX_GROUPS);
	u64 end = now + groups * us_to_ns(t->cfg->erase_us);
	unsigned int i;

	if (t->instant)
		return now;

	for (i = 0; i < t->cfg->channels; i++) {
		t->channel_free[i] = max(t->channel_free[i], end);
		t->channel_held[i] = t->channel_free[i];
	}
	return end;
}

/**
 * mmc_sim_time_dirty() - how much is in the write buffer
 * @t: timing
 * @now: ns
 *
 * Context: Any; the caller holds the lock that protects @t.
 * Return: bytes that are not programmed at @now.
 */
u64 mmc_sim_time_dirty(struct mmc_sim_timing *t, u64 now)
{
	buffer_sync(t, now);
	return t->buffer_level;
}
