// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of mmc-sim's partitions: what is read back, what a power cut
 * leaves, and in what order.
 */
#include <kunit/test.h>

#include <linux/sizes.h>

#include "../card.h"

#define SECTORS_PER_PAGE	(PAGE_SIZE / MMC_SIM_SECTOR)
#define PAGES			12
#define AREA			(PAGES * PAGE_SIZE)
#define NR			(PAGES * SECTORS_PER_PAGE)

static int store_test_init(struct kunit *test)
{
	struct mmc_sim_store *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	if (!s || mmc_sim_store_init(s, SZ_1G, 0))
		return -ENOMEM;
	test->priv = s;
	return 0;
}

static void store_test_exit(struct kunit *test)
{
	if (test->priv)
		mmc_sim_store_destroy(test->priv);
}

/* Whatever was done: tree, list and counter agree, and epochs are in order. */
static void check(struct kunit *test, struct mmc_sim_store *s)
{
	struct mmc_sim_page *p, *prev = NULL;
	unsigned long index;
	u64 dirty = 0;
	size_t in_tree = 0;

	xa_for_each(&s->buffer, index, p) {
		KUNIT_EXPECT_EQ(test, index, p->index);
		in_tree++;
	}
	KUNIT_EXPECT_EQ(test, in_tree, list_count_nodes(&s->order));

	list_for_each_entry(p, &s->order, node) {
		unsigned int sectors = bitmap_weight(p->dirty, SECTORS_PER_PAGE);

		KUNIT_EXPECT_PTR_EQ(test, xa_load(&s->buffer, p->index), (void *)p);
		KUNIT_EXPECT_NE(test, sectors, 0);
		if (prev)
			KUNIT_EXPECT_GE(test, p->epoch, prev->epoch);
		dirty += sectors * MMC_SIM_SECTOR;
		prev = p;
	}
	KUNIT_EXPECT_EQ(test, s->dirty, dirty);

	xa_for_each(&s->flash, index, p)
		KUNIT_EXPECT_TRUE(test, list_empty(&p->node));
}

/* One line for an area of any size. */
static void expect_same(struct kunit *test, const u8 *got, const u8 *want,
			u32 len)
{
	u32 i;

	for (i = 0; i < len && got[i] == want[i]; i++)
		;
	KUNIT_EXPECT_EQ_MSG(test, i, len, "%#x instead of %#x", got[i % len],
			    want[i % len]);
}

static void put(struct kunit *test, u64 sector, u8 value, bool durable)
{
	u8 buf[MMC_SIM_SECTOR];

	memset(buf, value, sizeof(buf));
	KUNIT_ASSERT_EQ(test, 0,
			mmc_sim_store_write(test->priv, sector * MMC_SIM_SECTOR,
					    buf, sizeof(buf), durable));
}

/* The byte that all of a sector has, or -1. */
static int get(struct kunit *test, u64 sector)
{
	u8 buf[MMC_SIM_SECTOR];

	mmc_sim_store_read(test->priv, sector * MMC_SIM_SECTOR, buf, sizeof(buf));
	return memchr_inv(buf, buf[0], sizeof(buf)) ? -1 : buf[0];
}

static void drop(struct kunit *test, u64 sector, u64 nr)
{
	mmc_sim_store_drop(test->priv, sector * MMC_SIM_SECTOR,
			   nr * MMC_SIM_SECTOR);
}

/* ---------------------------------------------------------------- contents */

static void erased_byte(struct kunit *test)
{
	struct mmc_sim_store *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u8 buf[MMC_SIM_SECTOR + 1];

	KUNIT_ASSERT_NOT_NULL(test, s);
	KUNIT_ASSERT_EQ(test, 0, mmc_sim_store_init(s, SZ_1M, 0xff));
	mmc_sim_store_read(s, PAGE_SIZE - 3, buf, sizeof(buf));
	KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0xff, sizeof(buf)));

	/* Also around what was written, programmed from the buffer or not. */
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_write(s, 5, "a", 1, true));
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_write(s, SZ_64K + 5, "b", 1, false));
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_flush(s));
	mmc_sim_store_read(s, 0, buf, sizeof(buf));
	KUNIT_EXPECT_EQ(test, buf[5], 'a');
	KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0xff, 5));
	KUNIT_EXPECT_NULL(test, memchr_inv(buf + 6, 0xff, sizeof(buf) - 6));
	mmc_sim_store_read(s, SZ_64K, buf, sizeof(buf));
	KUNIT_EXPECT_EQ(test, buf[5], 'b');
	KUNIT_EXPECT_NULL(test, memchr_inv(buf, 0xff, 5));
	KUNIT_EXPECT_NULL(test, memchr_inv(buf + 6, 0xff, sizeof(buf) - 6));
	mmc_sim_store_destroy(s);
}

static const struct write_case {
	const char *name;
	u32 pos;
	u32 len;
	u32 sectors;		/* that it touches */
} write_cases[] = {
	{ "one sector", 3 * 512, 512, 1 },
	{ "inside a sector", 512 + 100, 30, 1 },
	{ "across two sectors", 1000, 100, 2 },
	{ "end of a sector", 1000, 24, 1 },
	{ "start of a sector", 1024, 24, 1 },
	{ "a page", PAGE_SIZE, PAGE_SIZE, SECTORS_PER_PAGE },
	{ "across pages", 2 * PAGE_SIZE - 700, 1400, 4 },
	{ "many pages", 512, 6 * PAGE_SIZE, 6 * SECTORS_PER_PAGE },
	{ "many bytes", 777, 3 * PAGE_SIZE, 3 * SECTORS_PER_PAGE + 1 },
};

KUNIT_ARRAY_PARAM_DESC(write_case, write_cases, name);

/* Written over a pattern, at each level, the neighbours keep theirs. */
static void write_read(struct kunit *test)
{
	const struct write_case *c = test->param_value;
	struct mmc_sim_store *s = test->priv;
	u8 *want = kunit_kmalloc(test, AREA, GFP_KERNEL);
	u8 *got = kunit_kmalloc(test, AREA, GFP_KERNEL);
	unsigned int under, over;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, want);
	KUNIT_ASSERT_NOT_NULL(test, got);
	for (under = 0; under < 2; under++) {
		for (over = 0; over < 2; over++) {
			for (i = 0; i < AREA; i++)
				want[i] = i * 7 + under + i / 251;
			KUNIT_ASSERT_EQ(test, 0,
					mmc_sim_store_write(s, 0, want, AREA, under));
			memset(want + c->pos, 0xa5 + over, c->len);
			KUNIT_ASSERT_EQ(test, 0,
					mmc_sim_store_write(s, c->pos, want + c->pos,
							    c->len, over));
			mmc_sim_store_read(s, 0, got, AREA);
			expect_same(test, got, want, AREA);
			check(test, s);

			KUNIT_ASSERT_EQ(test, 0, mmc_sim_store_flush(s));
			KUNIT_EXPECT_EQ(test, s->dirty, 0);
			mmc_sim_store_read(s, 0, got, AREA);
			expect_same(test, got, want, AREA);
		}
	}
}

static void dirty_counts_sectors(struct kunit *test)
{
	const struct write_case *c = test->param_value;
	struct mmc_sim_store *s = test->priv;
	u8 *buf = kunit_kzalloc(test, AREA, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0,
				mmc_sim_store_write(s, c->pos, buf, c->len, false));
		KUNIT_EXPECT_EQ(test, s->dirty, c->sectors * MMC_SIM_SECTOR);
	}
	KUNIT_ASSERT_EQ(test, 0,
			mmc_sim_store_write(s, c->pos, buf, c->len, true));
	KUNIT_EXPECT_EQ(test, s->dirty, 0);
}

/* ------------------------------------------------------------ programming */

static void durable_hides_buffered(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 1);
	put(test, 7, 1, false);
	put(test, 8, 2, false);
	put(test, 7, 3, true);
	KUNIT_EXPECT_EQ(test, s->dirty, MMC_SIM_SECTOR);
	KUNIT_EXPECT_EQ(test, get(test, 7), 3);
	KUNIT_EXPECT_EQ(test, get(test, 8), 2);
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_flush(s));
	KUNIT_EXPECT_EQ(test, get(test, 7), 3);
	mmc_sim_store_power_cut(s, &rnd);
	KUNIT_EXPECT_EQ(test, get(test, 7), 3);
	KUNIT_EXPECT_EQ(test, get(test, 8), 2);
}

static void commit_then_drop(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	unsigned int nr = SECTORS_PER_PAGE + 4, i;

	for (i = 0; i < nr; i++)
		put(test, i, 9, false);
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_commit(s, 0, 3 * MMC_SIM_SECTOR));
	KUNIT_EXPECT_EQ(test, s->dirty, (nr - 3) * MMC_SIM_SECTOR);
	check(test, s);
	drop(test, 3, nr - 3);
	KUNIT_EXPECT_EQ(test, s->dirty, 0);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ_MSG(test, get(test, i), i < 3 ? 9 : 0,
				    "sector %u", i);
	check(test, s);
}

/* Into a page that flash has, and the last sectors of the page. */
static void commit_into_page(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;

	put(test, 0, 1, true);
	put(test, 0, 2, false);
	put(test, 1, 2, false);
	put(test, 2, 2, false);
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_commit(s, MMC_SIM_SECTOR,
						      MMC_SIM_SECTOR));
	drop(test, 0, SECTORS_PER_PAGE);
	KUNIT_EXPECT_EQ(test, get(test, 0), 1);
	KUNIT_EXPECT_EQ(test, get(test, 1), 2);
	KUNIT_EXPECT_EQ(test, get(test, 2), 0);
}

static void drain_oldest_first(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	unsigned int far = 5 * SECTORS_PER_PAGE;

	put(test, far, 1, false);
	mmc_sim_store_barrier(s);
	put(test, 0, 2, false);
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_drain(s, MMC_SIM_SECTOR));
	KUNIT_EXPECT_EQ(test, s->dirty, MMC_SIM_SECTOR);
	drop(test, 0, NR);
	KUNIT_EXPECT_EQ(test, get(test, far), 1);
	KUNIT_EXPECT_EQ(test, get(test, 0), 0);
}

static void drain_stops(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		put(test, i * SECTORS_PER_PAGE, 1, false);
	for (i = PAGES; i--; ) {
		KUNIT_EXPECT_EQ(test, 0,
				mmc_sim_store_drain(s, i * MMC_SIM_SECTOR));
		KUNIT_EXPECT_EQ(test, s->dirty, i * MMC_SIM_SECTOR);
	}
}

/* ---------------------------------------------------------------- barriers */

static void overwrite_after_barrier(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	unsigned int other = 3 * SECTORS_PER_PAGE;

	put(test, other, 1, false);
	mmc_sim_store_barrier(s);
	put(test, 0, 2, false);
	mmc_sim_store_barrier(s);
	put(test, 0, 3, false);
	KUNIT_EXPECT_EQ(test, s->dirty, MMC_SIM_SECTOR);
	KUNIT_EXPECT_EQ(test, get(test, 0), 3);
	drop(test, 0, NR);
	KUNIT_EXPECT_EQ(test, get(test, 0), 2);
	KUNIT_EXPECT_EQ(test, get(test, other), 1);
}

static void durable_after_barrier(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;

	put(test, 0, 1, false);
	put(test, 9, 1, true);
	KUNIT_EXPECT_EQ(test, s->dirty, MMC_SIM_SECTOR);
	mmc_sim_store_barrier(s);
	put(test, 10, 2, false);
	put(test, 40, 2, true);
	KUNIT_EXPECT_EQ(test, s->dirty, MMC_SIM_SECTOR);
	drop(test, 0, NR);
	KUNIT_EXPECT_EQ(test, get(test, 0), 1);
	KUNIT_EXPECT_EQ(test, get(test, 10), 0);
}

static void commit_after_barrier(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	unsigned int far = 4 * SECTORS_PER_PAGE;

	put(test, far, 1, false);
	mmc_sim_store_barrier(s);
	put(test, 0, 2, false);
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_commit(s, 0, MMC_SIM_SECTOR));
	KUNIT_EXPECT_EQ(test, s->dirty, 0);
	KUNIT_EXPECT_EQ(test, get(test, far), 1);
}

/* ------------------------------------------------------------------- erase */

static void erase_sectors(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	unsigned int i, from = 3, to = 3 * SECTORS_PER_PAGE + 1;

	for (i = 0; i < NR; i++)
		put(test, i, 1, i < NR / 2);
	for (i = 0; i < NR; i += 2)
		put(test, i, 2, false);
	KUNIT_EXPECT_EQ(test, 0,
			mmc_sim_store_erase(s, from * MMC_SIM_SECTOR,
					    (to - from) * MMC_SIM_SECTOR));
	check(test, s);
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_EQ_MSG(test, get(test, i),
				    i >= from && i < to ? 0 : i & 1 ? 1 : 2,
				    "sector %u", i);
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_flush(s));
	for (i = from; i < to; i++)
		KUNIT_EXPECT_EQ_MSG(test, get(test, i), 0, "sector %u", i);
	KUNIT_EXPECT_NULL(test, xa_load(&s->flash, 1));
}

static void erase_frees_pages(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;

	put(test, 0, 1, true);
	put(test, SZ_1M, 1, true);
	put(test, SZ_1M + 1, 1, false);
	/* By index this would take minutes. */
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_erase(s, 0, 1ULL << 50));
	KUNIT_EXPECT_TRUE(test, xa_empty(&s->flash));
	KUNIT_EXPECT_TRUE(test, xa_empty(&s->buffer));
	KUNIT_EXPECT_EQ(test, s->dirty, 0);
}

static void erase_after_barrier(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;

	put(test, 0, 1, false);
	mmc_sim_store_barrier(s);
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_erase(s, SZ_1M, MMC_SIM_SECTOR));
	KUNIT_EXPECT_EQ(test, s->dirty, 0);
	KUNIT_EXPECT_EQ(test, get(test, 0), 1);
}

/* ---------------------------------------------------------------- reserve */

static void reserve_is_kept(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	unsigned int full = s->nr_reserve, i;

	KUNIT_EXPECT_GT(test, full, 0);
	KUNIT_EXPECT_EQ(test, full, list_count_nodes(&s->reserve));
	for (i = 0; i < NR; i++)
		put(test, i, 1, i & 1);
	KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_erase(s, 0, AREA));
	flush_work(&s->refill);
	KUNIT_EXPECT_EQ(test, s->nr_reserve, full);
	KUNIT_EXPECT_EQ(test, full, list_count_nodes(&s->reserve));
}

/* -------------------------------------------------------------- power cut */

static void power_cut_is_random(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	unsigned int all = 0, none = 0, some = 0, torn = 0;
	struct rnd_state rnd;
	unsigned int i, run;

	prandom_seed_state(&rnd, 42);
	for (run = 0; run < 200; run++) {
		unsigned int alive = 0;
		u64 lost;

		KUNIT_ASSERT_EQ(test, 0, mmc_sim_store_erase(s, 0, AREA));
		for (i = 0; i < 2 * SECTORS_PER_PAGE; i++)
			put(test, i, 1, false);
		lost = mmc_sim_store_power_cut(s, &rnd);
		KUNIT_EXPECT_EQ(test, s->dirty, 0);
		KUNIT_EXPECT_TRUE(test, xa_empty(&s->buffer));
		for (i = 0; i < 2 * SECTORS_PER_PAGE; i++) {
			KUNIT_EXPECT_NE(test, get(test, i), -1);
			alive += get(test, i) == 1;
			/* Sectors of a page do not share their fate. */
			torn += i % SECTORS_PER_PAGE && get(test, i) != get(test, i - 1);
		}
		KUNIT_EXPECT_EQ(test, alive + lost, 2 * SECTORS_PER_PAGE);
		all += !lost;
		none += !alive;
		some += lost && alive;
	}
	KUNIT_EXPECT_GT(test, all, 0);
	KUNIT_EXPECT_GT(test, none, 0);
	KUNIT_EXPECT_GT(test, some, 0);
	KUNIT_EXPECT_GT(test, torn, 0);
}

static void power_cut_keeps_flushed(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	struct rnd_state rnd;
	unsigned int run;

	prandom_seed_state(&rnd, 3);
	for (run = 1; run < 100; run++) {
		put(test, 1, run, false);
		KUNIT_EXPECT_EQ(test, 0, mmc_sim_store_flush(s));
		put(test, 2, run, false);
		mmc_sim_store_barrier(s);
		put(test, 3, run, true);
		put(test, 4, run, false);
		mmc_sim_store_power_cut(s, &rnd);
		KUNIT_EXPECT_EQ(test, get(test, 1), run);
		KUNIT_EXPECT_EQ(test, get(test, 2), run);
		KUNIT_EXPECT_EQ(test, get(test, 3), run);
	}
}

/* -------------------------------------------------------------- properties */

/* Random operations on bytes: what is read is what an array would have. */
static void random_against_array(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	u8 *want = kunit_kzalloc(test, AREA, GFP_KERNEL);
	u8 *got = kunit_kzalloc(test, AREA, GFP_KERNEL);
	struct rnd_state rnd;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, want);
	KUNIT_ASSERT_NOT_NULL(test, got);
	prandom_seed_state(&rnd, 11);
	for (i = 0; i < 4000; i++) {
		u32 op = prandom_u32_state(&rnd) % 16;
		u32 pos = prandom_u32_state(&rnd) % AREA;
		u32 len = prandom_u32_state(&rnd) % (2 * PAGE_SIZE) + 1;
		int err = 0;

		if (op & 1)
			len = len % 1500 + 1;
		len = min_t(u32, len, AREA - pos);
		switch (op) {
		case 0 ... 9:
			memset(want + pos, i, len);
			err = mmc_sim_store_write(s, pos, want + pos, len, op < 3);
			break;
		case 10:
			pos = round_down(pos, MMC_SIM_SECTOR);
			len = round_up(len, MMC_SIM_SECTOR);
			len = min_t(u32, len, AREA - pos);
			memset(want + pos, 0, len);
			err = mmc_sim_store_erase(s, pos, len);
			break;
		case 11:
			mmc_sim_store_barrier(s);
			break;
		case 12:
		case 13:
			err = mmc_sim_store_commit(s, pos, len);
			break;
		case 14:
			err = mmc_sim_store_drain(s, pos / 2);
			KUNIT_EXPECT_LE(test, s->dirty, (u64)pos / 2);
			break;
		case 15:
			if (i % 8 == 0) {
				err = mmc_sim_store_flush(s);
				KUNIT_EXPECT_EQ(test, s->dirty, 0);
			}
			break;
		}
		KUNIT_ASSERT_EQ(test, err, 0);
		mmc_sim_store_read(s, pos, got, AREA - pos);
		if (memcmp(got, want + pos, AREA - pos)) {
			KUNIT_FAIL(test, "step %u, operation %u at %u + %u", i,
				   op, pos, len);
			return;
		}
		check(test, s);
	}
}

/*
 * A sector's possible contents: [0] is what flash has at least, the others came
 * later and may be in flash or not. Values are unique.
 */
#define VERSIONS	24

struct history {
	unsigned int nr;
	struct {
		u32 value;
		u32 epoch;
	} v[VERSIONS];
};

static u32 last(const struct history *h)
{
	return h->v[h->nr - 1].value;
}

static void settle(struct history *h, unsigned int i)
{
	h->nr -= i;
	memmove(&h->v[0], &h->v[i], h->nr * sizeof(h->v[0]));
}

static void settle_before(struct history *h, u32 epoch)
{
	unsigned int i, s;

	for (s = 0; s < NR; s++) {
		for (i = 0; i + 1 < h[s].nr && h[s].v[i + 1].epoch < epoch; i++)
			;
		settle(&h[s], i);
	}
}

static void settle_all(struct history *h)
{
	unsigned int s;

	for (s = 0; s < NR; s++)
		settle(&h[s], h[s].nr - 1);
}

static void start_again(struct history *h, u32 value)
{
	h->nr = 1;
	h->v[0].value = value;
	h->v[0].epoch = 0;
}

/* All words of a sector have the same value: sectors are never torn. */
static u32 get_value(struct kunit *test, u32 sector)
{
	u32 buf[MMC_SIM_SECTOR / sizeof(u32)];
	unsigned int i;

	mmc_sim_store_read(test->priv, sector * MMC_SIM_SECTOR, buf, sizeof(buf));
	for (i = 1; i < ARRAY_SIZE(buf); i++)
		KUNIT_ASSERT_EQ(test, buf[i], buf[0]);
	return buf[0];
}

/* What a sector has must be one of its versions; it is its only one then. */
static unsigned int resolve(struct kunit *test, struct history *h, u32 sector)
{
	u32 value = get_value(test, sector);
	unsigned int i;

	for (i = 0; i < h[sector].nr; i++)
		if (h[sector].v[i].value == value)
			return i;
	KUNIT_FAIL_AND_ABORT(test, "sector %u has %u", sector, value);
	return 0;
}

static void write_values(struct kunit *test, u32 sector, u32 nr, u32 *value,
			 bool durable, struct history *h, u32 epoch)
{
	u32 buf[MMC_SIM_SECTOR / sizeof(u32)];

	for (; nr; nr--, sector++) {
		++*value;
		memset32(buf, *value, ARRAY_SIZE(buf));
		KUNIT_ASSERT_EQ(test, 0,
				mmc_sim_store_write(test->priv,
						    sector * MMC_SIM_SECTOR, buf,
						    sizeof(buf), durable));
		if (durable) {
			start_again(&h[sector], *value);
		} else {
			h[sector].v[h[sector].nr].value = *value;
			h[sector].v[h[sector].nr++].epoch = epoch;
		}
	}
}

/*
 * Nothing that was programmed is lost, and if a sector of an epoch is lost no
 * sector of a later one survives.
 */
static void cut_and_judge(struct kunit *test, struct history *h,
			  struct rnd_state *rnd)
{
	u64 lost = mmc_sim_store_power_cut(test->priv, rnd);
	u32 first_lost = U32_MAX, last_alive = 0;
	u64 seen = 0;
	u32 s;

	for (s = 0; s < NR; s++) {
		unsigned int i = resolve(test, h, s);

		if (i)
			last_alive = max(last_alive, h[s].v[i].epoch);
		if (i + 1 < h[s].nr) {
			first_lost = min(first_lost, h[s].v[i + 1].epoch);
			seen++;
		}
		start_again(&h[s], h[s].v[i].value);
	}
	KUNIT_EXPECT_LE(test, last_alive, first_lost);
	KUNIT_EXPECT_EQ(test, lost, seen);
}

static void random_with_power_cuts(struct kunit *test)
{
	struct mmc_sim_store *s = test->priv;
	struct history *h = kunit_kcalloc(test, NR, sizeof(*h), GFP_KERNEL);
	u32 value = 0, epoch = 1, i, k;
	struct rnd_state rnd;

	KUNIT_ASSERT_NOT_NULL(test, h);
	prandom_seed_state(&rnd, 5);
	for (k = 0; k < NR; k++)
		start_again(&h[k], 0);
	/* So that the epochs of both sides are the same numbers. */
	mmc_sim_store_barrier(s);

	for (i = 0; i < 6000; i++) {
		u32 op = prandom_u32_state(&rnd) % 32;
		u32 sector = prandom_u32_state(&rnd) % NR;
		u32 nr = min(prandom_u32_state(&rnd) % 12 + 1, NR - sector);
		u64 pos = (u64)sector * MMC_SIM_SECTOR;
		u64 len = (u64)nr * MMC_SIM_SECTOR;
		int err = 0;

		switch (op) {
		case 0 ... 15:
			write_values(test, sector, nr, &value, false, h, epoch);
			break;
		case 16:
			settle_before(h, epoch);
			write_values(test, sector, nr, &value, true, h, epoch);
			break;
		case 17:
			settle_before(h, epoch);
			err = mmc_sim_store_erase(s, pos, len);
			for (k = sector; k < sector + nr; k++)
				start_again(&h[k], 0);
			break;
		case 18 ... 22:
			mmc_sim_store_barrier(s);
			epoch++;
			break;
		case 23:
			err = mmc_sim_store_commit(s, pos, len);
			for (k = sector; k < sector + nr; k++)
				settle(&h[k], h[k].nr - 1);
			break;
		case 24:
			err = mmc_sim_store_drain(s, s->dirty / 2);
			break;
		case 25:
			mmc_sim_store_drop(s, pos, len);
			for (k = sector; k < sector + nr; k++)
				start_again(&h[k],
					    h[k].v[resolve(test, h, k)].value);
			break;
		case 26:
			err = mmc_sim_store_flush(s);
			settle_all(h);
			break;
		case 27:
			cut_and_judge(test, h, &rnd);
			break;
		}
		KUNIT_ASSERT_EQ(test, err, 0);

		for (k = 0; k < NR; k++) {
			KUNIT_ASSERT_EQ_MSG(test, get_value(test, k), last(&h[k]),
					    "step %u, operation %u, sector %u",
					    i, op, k);
			if (h[k].nr == VERSIONS) {
				KUNIT_ASSERT_EQ(test, 0, mmc_sim_store_flush(s));
				settle_all(h);
			}
		}
		check(test, s);
	}
}

static struct kunit_case store_test_cases[] = {
	KUNIT_CASE(erased_byte),
	KUNIT_CASE_PARAM(write_read, write_case_gen_params),
	KUNIT_CASE_PARAM(dirty_counts_sectors, write_case_gen_params),
	KUNIT_CASE(durable_hides_buffered),
	KUNIT_CASE(commit_then_drop),
	KUNIT_CASE(commit_into_page),
	KUNIT_CASE(drain_oldest_first),
	KUNIT_CASE(drain_stops),
	KUNIT_CASE(overwrite_after_barrier),
	KUNIT_CASE(durable_after_barrier),
	KUNIT_CASE(commit_after_barrier),
	KUNIT_CASE(erase_sectors),
	KUNIT_CASE(erase_frees_pages),
	KUNIT_CASE(erase_after_barrier),
	KUNIT_CASE(reserve_is_kept),
	KUNIT_CASE(power_cut_is_random),
	KUNIT_CASE(power_cut_keeps_flushed),
	KUNIT_CASE(random_against_array),
	KUNIT_CASE(random_with_power_cuts),
	{}
};

static struct kunit_suite store_test_suite = {
	.name = "mmc_sim_store",
	.init = store_test_init,
	.exit = store_test_exit,
	.test_cases = store_test_cases,
};

kunit_test_suite(store_test_suite);
