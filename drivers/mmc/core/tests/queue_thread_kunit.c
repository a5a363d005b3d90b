// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what the thread model decides without a card: what a bio
 * consists of, which bios become one I/O, and how much can wait.
 */

#include <kunit/test.h>
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/gfp.h>

#include "../queue-thread.h"

#define PAGES_ORDER	2
#define NR_BIOS		(MMC_THREAD_DEPTH + 2)

/* Only compared, never looked into */
#define BDEV		((struct block_device *)0x1000)
#define OTHER_BDEV	((struct block_device *)0x2000)

/**
 * struct thread_test - what a test has
 * @fifo: an empty FIFO
 * @lim: limits that are wide enough not to matter
 * @bios: bios without data
 * @bvecs: one for each of @bios
 * @pages: memory that is contiguous
 */
struct thread_test {
	struct mmc_thread_fifo fifo;
	struct queue_limits lim;
	struct bio bios[NR_BIOS];
	struct bio_vec bvecs[NR_BIOS];
	struct page *pages;
};

static int thread_test_init(struct kunit *test)
{
	struct thread_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;

	t->pages = alloc_pages(GFP_KERNEL, PAGES_ORDER);
	KUNIT_ASSERT_NOT_NULL(test, t->pages);

	t->lim = (struct queue_limits) {
		.max_sectors		= 1024,
		.max_discard_sectors	= 4096,
		.max_segments		= 64,
		.max_segment_size	= 65536,
		.seg_boundary_mask	= U32_MAX,
	};
	mmc_thread_fifo_init(&t->fifo);

	return 0;
}

static void thread_test_exit(struct kunit *test)
{
	struct thread_test *t = test->priv;

	if (t && t->pages)
		__free_pages(t->pages, PAGES_ORDER);
}

/* A bio of @bytes, which are at @offset of the pages unless it is an erase */
static struct bio *make_bio(struct thread_test *t, unsigned int nr,
			    blk_opf_t opf, sector_t sector, unsigned int bytes,
			    unsigned int offset)
{
	struct bio *bio = &t->bios[nr];

	bio_init(bio, NULL, &t->bvecs[nr], 1, opf);
	bio->bi_bdev = BDEV;
	bio->bi_iter.bi_sector = sector;
	bio->bi_iter.bi_size = bytes;
	if (bytes && (bio_op(bio) == REQ_OP_READ ||
		      bio_op(bio) == REQ_OP_WRITE)) {
		bvec_set_page(&t->bvecs[nr], t->pages, bytes, offset);
		bio->bi_vcnt = 1;
	}

	return bio;
}

static enum mmc_thread_added add(struct thread_test *t, struct bio *bio)
{
	return mmc_thread_fifo_add(&t->fifo, bio,
				   mmc_thread_count_segs(bio, &t->lim),
				   &t->lim);
}

struct steps_row {
	const char *name;
	blk_opf_t opf;
	unsigned int nr_sectors;
	bool fua;
	unsigned int steps;
};

#define PRE	MMC_THREAD_PREFLUSH
#define DATA	MMC_THREAD_DATA
#define POST	MMC_THREAD_POSTFLUSH

static const struct steps_row steps_rows[] = {
	{ "read", REQ_OP_READ, 8, false, DATA },
	{ "write", REQ_OP_WRITE, 8, false, DATA },
	{ "discard", REQ_OP_DISCARD, 8, false, DATA },
	{ "flush", REQ_OP_WRITE | REQ_PREFLUSH, 0, false, PRE },
	{ "flush, card has FUA", REQ_OP_WRITE | REQ_PREFLUSH, 0, true, PRE },
	{ "flush with FUA", REQ_OP_WRITE | REQ_PREFLUSH | REQ_FUA, 0, false,
	  PRE },
	{ "preflush", REQ_OP_WRITE | REQ_PREFLUSH, 8, false, PRE | DATA },
	{ "preflush, card has FUA", REQ_OP_WRITE | REQ_PREFLUSH, 8, true,
	  PRE | DATA },
	{ "FUA", REQ_OP_WRITE | REQ_FUA, 8, false, DATA | POST },
	{ "FUA, card has FUA", REQ_OP_WRITE | REQ_FUA, 8, true, DATA },
	{ "both", REQ_OP_WRITE | REQ_PREFLUSH | REQ_FUA, 8, false,
	  PRE | DATA | POST },
	{ "both, card has FUA", REQ_OP_WRITE | REQ_PREFLUSH | REQ_FUA, 8, true,
	  PRE | DATA },
	{ "FUA read", REQ_OP_READ | REQ_FUA, 8, false, DATA },
	{ "read after flush", REQ_OP_READ | REQ_PREFLUSH, 8, false,
	  PRE | DATA },
	{ "nothing", REQ_OP_WRITE, 0, false, 0 },
};

KUNIT_ARRAY_PARAM_DESC(steps, steps_rows, name);

static void steps_test(struct kunit *test)
{
	const struct steps_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, mmc_thread_steps(row->opf, row->nr_sectors,
					       row->fua), row->steps);
}

struct merge_row {
	const char *name;
	blk_opf_t first;
	blk_opf_t second;
	/* In units of 512 bytes; the first starts at 1000 */
	unsigned int first_len;
	unsigned int second_len;
	int distance;
	struct block_device *bdev;
	unsigned int max_sectors;
	unsigned int max_segments;
	bool merge;
};

#define R	REQ_OP_READ
#define W	REQ_OP_WRITE
#define D	REQ_OP_DISCARD
#define FLUSH	(REQ_OP_WRITE | REQ_PREFLUSH)

static const struct merge_row merge_rows[] = {
	{ "reads", R, R, 8, 8, 0, BDEV, 1024, 64, true },
	{ "writes", W, W, 8, 8, 0, BDEV, 1024, 64, true },
	{ "discards", D, D, 8, 8, 0, BDEV, 1024, 64, true },
	{ "read and write", R, W, 8, 8, 0, BDEV, 1024, 64, false },
	{ "write and read", W, R, 8, 8, 0, BDEV, 1024, 64, false },
	{ "write and discard", W, D, 8, 8, 0, BDEV, 1024, 64, false },
	{ "write zeroes", REQ_OP_WRITE_ZEROES, REQ_OP_WRITE_ZEROES, 8, 8, 0,
	  BDEV, 1024, 64, false },
	{ "secure erase", REQ_OP_SECURE_ERASE, REQ_OP_SECURE_ERASE, 8, 8, 0,
	  BDEV, 1024, 64, false },
	{ "hole", W, W, 8, 8, 1, BDEV, 1024, 64, false },
	{ "overlap", W, W, 8, 8, -1, BDEV, 1024, 64, false },
	{ "before", W, W, 8, 8, -16, BDEV, 1024, 64, false },
	{ "other partition", W, W, 8, 8, 0, OTHER_BDEV, 1024, 64, false },
	{ "just small enough", W, W, 8, 8, 0, BDEV, 16, 64, true },
	{ "too large", W, W, 8, 8, 0, BDEV, 15, 64, false },
	{ "much too large", W, W, 8, 8, 0, BDEV, 7, 64, false },
	{ "few enough segments", W, W, 8, 8, 0, BDEV, 1024, 2, true },
	{ "too many segments", W, W, 8, 8, 0, BDEV, 1024, 1, false },
	{ "segments of a discard", D, D, 8, 8, 0, BDEV, 1024, 1, true },
	{ "sync", W, W | REQ_SYNC, 8, 8, 0, BDEV, 1024, 64, true },
	{ "metadata", W | REQ_META, W | REQ_META, 8, 8, 0, BDEV, 1024, 64,
	  true },
	{ "data and metadata", W, W | REQ_META, 8, 8, 0, BDEV, 1024, 64,
	  false },
	{ "metadata and data", W | REQ_META, W, 8, 8, 0, BDEV, 1024, 64,
	  false },
	{ "failfast", R, R | REQ_FAILFAST_DEV, 8, 8, 0, BDEV, 1024, 64,
	  false },
	{ "not to be merged", W, W | REQ_NOMERGE, 8, 8, 0, BDEV, 1024, 64,
	  false },
	{ "first not to be merged", W | REQ_NOMERGE, W, 8, 8, 0, BDEV, 1024,
	  64, false },
	{ "FUA", W | REQ_FUA, W | REQ_FUA, 8, 8, 0, BDEV, 1024, 64, false },
	{ "write and FUA", W, W | REQ_FUA, 8, 8, 0, BDEV, 1024, 64, false },
	{ "write and preflush", W, FLUSH, 8, 8, 0, BDEV, 1024, 64, false },
	{ "preflush and write", FLUSH, W, 8, 8, 0, BDEV, 1024, 64, false },
	{ "flushes", FLUSH, FLUSH, 0, 0, 0, BDEV, 1024, 64, true },
	{ "flushes of partitions", FLUSH, FLUSH, 0, 0, 0, OTHER_BDEV, 1024, 64,
	  false },
	{ "write and flush", W, FLUSH, 8, 0, 0, BDEV, 1024, 64, false },
	{ "flush and write", FLUSH, W, 0, 8, 0, BDEV, 1024, 64, false },
	{ "flush and preflush", FLUSH, FLUSH, 0, 8, 0, BDEV, 1024, 64, false },
	{ "preflush and flush", FLUSH, FLUSH, 8, 0, 0, BDEV, 1024, 64, false },
};

KUNIT_ARRAY_PARAM_DESC(merge, merge_rows, name);

static void merge_test(struct kunit *test)
{
	const struct merge_row *row = test->param_value;
	struct thread_test *t = test->priv;
	struct bio *first, *second;

	t->lim.max_sectors = row->max_sectors;
	t->lim.max_discard_sectors = row->max_sectors;
	t->lim.max_segments = row->max_segments;

	first = make_bio(t, 0, row->first, 1000, row->first_len << 9, 0);
	second = make_bio(t, 1, row->second,
			  1000 + row->first_len + row->distance,
			  row->second_len << 9, 0);
	second->bi_bdev = row->bdev;

	KUNIT_ASSERT_EQ(test, (int)add(t, first), (int)MMC_THREAD_QUEUED);
	KUNIT_EXPECT_EQ(test, (int)add(t, second),
			row->merge ? (int)MMC_THREAD_MERGED :
				     (int)MMC_THREAD_QUEUED);
}

struct gap_row {
	const char *name;
	unsigned long mask;
	unsigned int first_offset;
	unsigned int first_bytes;
	unsigned int second_offset;
	bool merge;
};

static const struct gap_row gap_rows[] = {
	{ "no boundary", 0, 512, 512, 512, true },
	{ "ends at it, starts at it", 4095, 512, 3584, 0, true },
	{ "ends before it", 4095, 0, 3584, 0, false },
	{ "starts after it", 4095, 0, 4096, 512, false },
	{ "neither", 4095, 0, 512, 512, false },
};

KUNIT_ARRAY_PARAM_DESC(gap, gap_rows, name);

static void gap_test(struct kunit *test)
{
	const struct gap_row *row = test->param_value;
	struct thread_test *t = test->priv;
	struct bio *first, *second;

	t->lim.virt_boundary_mask = row->mask;
	first = make_bio(t, 0, W, 0, row->first_bytes, row->first_offset);
	second = make_bio(t, 1, W, row->first_bytes >> 9, 512,
			  row->second_offset);

	KUNIT_ASSERT_EQ(test, (int)add(t, first), (int)MMC_THREAD_QUEUED);
	KUNIT_EXPECT_EQ(test, (int)add(t, second),
			row->merge ? (int)MMC_THREAD_MERGED :
				     (int)MMC_THREAD_QUEUED);
}

struct segs_row {
	const char *name;
	blk_opf_t opf;
	unsigned int offset;
	unsigned int bytes;
	unsigned int max_segment_size;
	unsigned long boundary_mask;
	unsigned int nr_segs;
};

/* The memory starts at a multiple of 16 KiB */
static const struct segs_row segs_rows[] = {
	{ "none", W, 0, 0, 65536, U32_MAX, 0 },
	{ "one sector", W, 0, 512, 65536, U32_MAX, 1 },
	{ "all", W, 0, 16384, 65536, U32_MAX, 1 },
	{ "all, no limit", W, 0, 16384, UINT_MAX, ULONG_MAX, 1 },
	{ "as large as a segment", W, 0, 4096, 4096, U32_MAX, 1 },
	{ "larger than a segment", W, 0, 4608, 4096, U32_MAX, 2 },
	{ "many segments", W, 512, 8192, 1024, U32_MAX, 8 },
	{ "up to a boundary", W, 512, 3584, 65536, 4095, 1 },
	{ "across a boundary", W, 512, 4096, 65536, 4095, 2 },
	{ "across boundaries", W, 512, 12288, 65536, 4095, 4 },
	{ "boundary and size", W, 512, 4096, 1024, 4095, 5 },
	{ "discard", D, 0, 1048576, 65536, U32_MAX, 0 },
};

KUNIT_ARRAY_PARAM_DESC(segs, segs_rows, name);

static void segs_test(struct kunit *test)
{
	const struct segs_row *row = test->param_value;
	struct thread_test *t = test->priv;
	struct bio *bio;

	t->lim.max_segment_size = row->max_segment_size;
	t->lim.seg_boundary_mask = row->boundary_mask;
	bio = make_bio(t, 0, row->opf, 0, row->bytes, row->offset);

	KUNIT_EXPECT_EQ(test, mmc_thread_count_segs(bio, &t->lim),
			row->nr_segs);
}

/* As many as the depth can wait; what merges does not count */
static void bound_test(struct kunit *test)
{
	struct thread_test *t = test->priv;
	struct mmc_thread_io *tio;
	unsigned int i;

	for (i = 0; i < MMC_THREAD_DEPTH; i++)
		KUNIT_ASSERT_EQ(test,
				(int)add(t, make_bio(t, i, W, i * 16, 512, 0)),
				(int)MMC_THREAD_QUEUED);

	KUNIT_EXPECT_EQ(test,
			(int)add(t, make_bio(t, i, W, i * 16, 512, 0)),
			(int)MMC_THREAD_FULL);
	KUNIT_EXPECT_EQ(test,
			(int)add(t, make_bio(t, i + 1, W, (i - 1) * 16 + 1,
					     512, 0)),
			(int)MMC_THREAD_MERGED);

	/* What was taken is not done yet and still counts */
	tio = mmc_thread_fifo_take(&t->fifo);
	KUNIT_ASSERT_NOT_NULL(test, tio);
	KUNIT_EXPECT_EQ(test, (int)add(t, &t->bios[i]), (int)MMC_THREAD_FULL);

	mmc_thread_fifo_put(&t->fifo, tio);
	KUNIT_EXPECT_EQ(test, (int)add(t, &t->bios[i]),
			(int)MMC_THREAD_QUEUED);
}

/* First in, first out; bios of an I/O are linked in the order of sectors */
static void order_test(struct kunit *test)
{
	struct thread_test *t = test->priv;
	struct mmc_thread_io *tio;

	add(t, make_bio(t, 0, W, 100, 512, 0));
	add(t, make_bio(t, 1, R, 50, 512, 0));
	add(t, make_bio(t, 2, W, 101, 512, 0));
	add(t, make_bio(t, 3, W, 102, 1024, 0));

	tio = mmc_thread_fifo_take(&t->fifo);
	KUNIT_ASSERT_NOT_NULL(test, tio);
	KUNIT_EXPECT_PTR_EQ(test, tio->bios.head, &t->bios[0]);
	KUNIT_EXPECT_PTR_EQ(test, tio->bios.head->bi_next, &t->bios[2]);
	KUNIT_EXPECT_PTR_EQ(test, tio->bios.head->bi_next->bi_next, &t->bios[3]);
	KUNIT_EXPECT_PTR_EQ(test, tio->bios.tail, &t->bios[3]);
	KUNIT_EXPECT_EQ(test, (u64)tio->sector, 100);
	KUNIT_EXPECT_EQ(test, tio->nr_sectors, 4);
	KUNIT_EXPECT_EQ(test, tio->nr_segs, 3);

	tio = mmc_thread_fifo_take(&t->fifo);
	KUNIT_ASSERT_NOT_NULL(test, tio);
	KUNIT_EXPECT_PTR_EQ(test, tio->bios.head, &t->bios[1]);

	KUNIT_EXPECT_NULL(test, mmc_thread_fifo_take(&t->fifo));
}

/* The eight newest are asked, and no more */
static void lookback_test(struct kunit *test)
{
	struct thread_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < 9; i++)
		add(t, make_bio(t, i, W, i * 16, 512, 0));

	KUNIT_EXPECT_EQ(test, (int)add(t, make_bio(t, 9, W, 17, 512, 0)),
			(int)MMC_THREAD_MERGED);
	KUNIT_EXPECT_EQ(test, (int)add(t, make_bio(t, 10, W, 1, 512, 0)),
			(int)MMC_THREAD_QUEUED);
}

/* Data does not get ahead of a flush; a flush can get ahead of data */
static void flush_order_test(struct kunit *test)
{
	struct thread_test *t = test->priv;

	add(t, make_bio(t, 0, W, 100, 512, 0));
	add(t, make_bio(t, 1, FLUSH, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, (int)add(t, make_bio(t, 2, W, 101, 512, 0)),
			(int)MMC_THREAD_QUEUED);
	KUNIT_EXPECT_EQ(test, (int)add(t, make_bio(t, 3, FLUSH, 0, 0, 0)),
			(int)MMC_THREAD_MERGED);
}

/* What the thread has taken does not change any more */
static void taken_test(struct kunit *test)
{
	struct thread_test *t = test->priv;
	struct mmc_thread_io *tio;

	add(t, make_bio(t, 0, W, 100, 512, 0));
	tio = mmc_thread_fifo_take(&t->fifo);
	KUNIT_ASSERT_NOT_NULL(test, tio);

	KUNIT_EXPECT_EQ(test, (int)add(t, make_bio(t, 1, W, 101, 512, 0)),
			(int)MMC_THREAD_QUEUED);
	KUNIT_EXPECT_EQ(test, tio->nr_sectors, 1);
}

/* Nothing merges with an operation that is no block I/O */
static void drv_op_test(struct kunit *test)
{
	struct thread_test *t = test->priv;
	struct mmc_thread_io op = {};

	list_add_tail(&op.node, &t->fifo.queued);
	KUNIT_EXPECT_EQ(test, (int)add(t, make_bio(t, 0, W, 0, 512, 0)),
			(int)MMC_THREAD_QUEUED);
	KUNIT_EXPECT_PTR_EQ(test, mmc_thread_fifo_take(&t->fifo), &op);
}

static struct kunit_case thread_cases[] = {
	KUNIT_CASE_PARAM(steps_test, steps_gen_params),
	KUNIT_CASE_PARAM(merge_test, merge_gen_params),
	KUNIT_CASE_PARAM(gap_test, gap_gen_params),
	KUNIT_CASE_PARAM(segs_test, segs_gen_params),
	KUNIT_CASE(bound_test),
	KUNIT_CASE(order_test),
	KUNIT_CASE(lookback_test),
	KUNIT_CASE(flush_order_test),
	KUNIT_CASE(taken_test),
	KUNIT_CASE(drv_op_test),
	{}
};

static struct kunit_suite thread_suite = {
	.name		= "mmc_queue_thread",
	.init		= thread_test_init,
	.exit		= thread_test_exit,
	.test_cases	= thread_cases,
};

kunit_test_suite(thread_suite);
