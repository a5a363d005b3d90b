// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of what the MMC block driver sends for an I/O, how it checks the
 * result and what it does after an error. No card and no host are there: the
 * tests say what both can do, and what they answered.
 */

#include <kunit/test.h>
#include <linux/mmc/card.h>
#include <linux/mmc/host.h>
#include <linux/mmc/mmc.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>

#include "../block_test.h"
#include "../card.h"

#define CAPACITY	1048576
#define MAX_ENTRIES	128
#define TAG		23

#define RELIABLE	BIT(31)
#define TAGGED		BIT(29)

/* What a multi_io_quirk gets and answers */
#define QUIRK_READ_MAX	4
#define QUIRK_WRITE_MAX	1

/**
 * struct io_test - what a test has
 * @host: a host that can do CMD23 and has no limit that matters
 * @ops: its operations, with none of the optional ones
 * @card: an eMMC with enhanced reliable write
 * @lim: facts about its disk
 * @io: the I/O
 * @brq: what was built for it
 * @sg: its scatterlist
 */
struct io_test {
	struct mmc_host host;
	struct mmc_host_ops ops;
	struct mmc_card card;
	struct mmc_io_limits lim;
	struct mmc_io io;
	struct mmc_blk_request brq;
	struct scatterlist sg[MAX_ENTRIES];
};

static int io_test_init(struct kunit *test)
{
	struct io_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	test->priv = t;

	t->host.ops = &t->ops;
	t->host.caps = MMC_CAP_CMD23;
	t->host.max_blk_count = 65535;
	t->card.host = &t->host;
	t->card.type = MMC_TYPE_MMC;
	t->card.state = MMC_STATE_PRESENT | MMC_STATE_BLOCKADDR;
	t->card.csd.mmca_vsn = CSD_SPEC_VER_4;
	t->card.csd.cmdclass = CCC_BLOCK_READ | CCC_BLOCK_WRITE;
	t->card.ext_csd.rel_param = EXT_CSD_WR_REL_PARAM_EN;
	t->card.ext_csd.rel_sectors = 1;
	t->lim.flags = MMC_BLK_CMD23 | MMC_BLK_REL_WR;
	t->lim.native_blocks = 1;
	t->lim.capacity = CAPACITY;
	return 0;
}

/* An I/O with its data in segments of this many bytes, the last one shorter */
static void io_set(struct io_test *t, enum req_op op, unsigned int flags,
		   sector_t sector, unsigned int sectors, unsigned int segment)
{
	unsigned int left = sectors * SECTOR_SIZE;
	unsigned int i;

	for (i = 0; left && i < MAX_ENTRIES; i++) {
		t->sg[i] = (struct scatterlist) {
			.length = min(left, segment)
		};
		left -= t->sg[i].length;
	}
	sg_mark_end(&t->sg[i - 1]);

	t->io = (struct mmc_io) {
		.op = op,
		.flags = flags,
		.sector = sector,
		.nr_sectors = sectors,
		.tag = TAG,
		.sg = t->sg,
		.sg_len = i,
	};
}

/* Nothing of an earlier use may be left in what is built. */
static void io_prep(struct io_test *t)
{
	memset(&t->brq, 0xa5, sizeof(t->brq));
	mmc_blk_rw_rq_prep(&t->brq, &t->io, &t->card, &t->lim);
}

static void io_data_prep(struct io_test *t)
{
	memset(&t->brq, 0xa5, sizeof(t->brq));
	mmc_blk_data_prep(&t->brq, &t->io, &t->card, &t->lim);
}

static unsigned int sg_bytes(const struct mmc_data *data)
{
	struct scatterlist *sg;
	unsigned int bytes = 0;
	int i;

	for_each_sg(data->sg, sg, data->sg_len, i)
		bytes += sg->length;

	return bytes;
}

/* -------------------------------------------------------------- which command */

struct opcode_case {
	const char *name;
	enum req_op op;
	unsigned int flags;
	unsigned int sectors;
	bool no_reliable;
	/* expected */
	u32 opcode;
	bool stop;
};

static const struct opcode_case opcode_cases[] = {
	{ "one sector read", REQ_OP_READ, 0, 1, false, 17, false },
	{ "two sectors read", REQ_OP_READ, 0, 2, false, 18, true },
	{ "many sectors read", REQ_OP_READ, 0, 128, false, 18, true },
	{ "one sector written", REQ_OP_WRITE, 0, 1, false, 24, false },
	{ "two sectors written", REQ_OP_WRITE, 0, 2, false, 25, true },
	{ "many sectors written", REQ_OP_WRITE, 0, 128, false, 25, true },
	{ "FUA read is a read", REQ_OP_READ, MMC_IO_FUA, 1, false, 17, false },
	{ "FUA write of one sector", REQ_OP_WRITE, MMC_IO_FUA, 1, false, 25, true },
	{ "FUA write of many", REQ_OP_WRITE, MMC_IO_FUA, 8, false, 25, true },
	{ "FUA without reliable write", REQ_OP_WRITE, MMC_IO_FUA, 1, true, 24, false },
	{ "read again, singly", REQ_OP_READ, MMC_IO_SINGLE, 8, false, 17, false },
	{ "write again, singly", REQ_OP_WRITE, MMC_IO_SINGLE, 8, false, 24, false },
};

KUNIT_ARRAY_PARAM_DESC(opcode, opcode_cases, name);

static void opcode_test(struct kunit *test)
{
	const struct opcode_case *c = test->param_value;
	struct io_test *t = test->priv;

	if (c->no_reliable)
		t->lim.flags &= ~MMC_BLK_REL_WR;
	io_set(t, c->op, c->flags, 8, c->sectors, 4096);
	io_prep(t);

	KUNIT_EXPECT_EQ(test, t->brq.cmd.opcode, c->opcode);
	KUNIT_EXPECT_PTR_EQ(test, t->brq.mrq.stop, c->stop ? &t->brq.stop : NULL);
	KUNIT_EXPECT_PTR_EQ(test, t->brq.mrq.cmd, &t->brq.cmd);
	KUNIT_EXPECT_PTR_EQ(test, t->brq.mrq.data, &t->brq.data);
	KUNIT_EXPECT_EQ(test, t->brq.cmd.flags,
			MMC_RSP_SPI_R1 | MMC_RSP_R1 | MMC_CMD_ADTC);
	KUNIT_EXPECT_EQ(test, t->brq.mrq.tag, TAG);
	KUNIT_EXPECT_NULL(test, t->brq.mrq.done);
}

/* ---------------------------------------------------------------------- CMD23 */

struct cmd23_case {
	const char *name;
	enum req_op op;
	unsigned int flags;
	unsigned int sectors;
	bool no_cmd23;
	bool quirk;
	/* expected: the argument, or 0 for an open-ended transfer */
	u32 arg;
};

static const struct cmd23_case cmd23_cases[] = {
	{ "read", REQ_OP_READ, 0, 8, false, false, 8 },
	{ "write", REQ_OP_WRITE, 0, 8, false, false, 8 },
	{ "one sector read", REQ_OP_READ, 0, 1, false, false, 0 },
	{ "one sector written", REQ_OP_WRITE, 0, 1, false, false, 0 },
	{ "reliable write", REQ_OP_WRITE, MMC_IO_FUA, 8, false, false, 0x80000008 },
	{ "reliable write of one", REQ_OP_WRITE, MMC_IO_FUA, 1, false, false, 0x80000001 },
	{ "FUA read", REQ_OP_READ, MMC_IO_FUA, 8, false, false, 8 },
	{ "tagged write", REQ_OP_WRITE, MMC_IO_META, 8, false, false, 0x20000008 },
	{ "metadata read", REQ_OP_READ, MMC_IO_META, 8, false, false, 8 },
	{ "reliable and tagged", REQ_OP_WRITE, MMC_IO_FUA | MMC_IO_META, 8,
	  false, false, 0xa0000008 },
	{ "open-ended read", REQ_OP_READ, 0, 8, true, false, 0 },
	{ "open-ended write", REQ_OP_WRITE, 0, 8, true, false, 0 },
	{ "quirk, read", REQ_OP_READ, 0, 8, false, true, 0 },
	{ "quirk, write", REQ_OP_WRITE, 0, 8, false, true, 0 },
	{ "quirk, reliable write", REQ_OP_WRITE, MMC_IO_FUA, 8, false, true, 0x80000008 },
	{ "quirk, tagged write", REQ_OP_WRITE, MMC_IO_META, 8, false, true, 0x20000008 },
	{ "quirk, metadata read", REQ_OP_READ, MMC_IO_META, 8, false, true, 0 },
	{ "largest count", REQ_OP_READ, 0, 65535, false, false, 0xffff },
};

KUNIT_ARRAY_PARAM_DESC(cmd23, cmd23_cases, name);

static void cmd23_test(struct kunit *test)
{
	const struct cmd23_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->card.ext_csd.data_tag_unit_size = 4096;
	if (c->no_cmd23)
		t->lim.flags = 0;
	if (c->quirk)
		t->card.quirks |= MMC_QUIRK_BLK_NO_CMD23;
	io_set(t, c->op, c->flags, 8, c->sectors, SZ_1M);
	io_prep(t);

	if (c->arg) {
		KUNIT_ASSERT_PTR_EQ(test, t->brq.mrq.sbc, &t->brq.sbc);
		KUNIT_EXPECT_EQ(test, t->brq.sbc.opcode, 23);
		KUNIT_EXPECT_EQ(test, t->brq.sbc.arg, c->arg);
		KUNIT_EXPECT_EQ(test, t->brq.sbc.flags,
				MMC_RSP_R1 | MMC_CMD_AC);
	} else {
		KUNIT_EXPECT_NULL(test, t->brq.mrq.sbc);
	}
	/* The host has CMD12 to send after an error, whatever the mode. */
	KUNIT_EXPECT_EQ(test, !!t->brq.mrq.stop,
			c->sectors > 1 || c->arg & RELIABLE);
	KUNIT_EXPECT_EQ(test, !!(t->brq.data.flags & MMC_DATA_REL_WR),
			!!(c->arg & RELIABLE));
	if (c->arg)
		KUNIT_EXPECT_EQ(test, !!(t->brq.data.flags & MMC_DATA_DAT_TAG),
				!!(c->arg & TAGGED));
}

struct ability_case {
	const char *name;
	bool host;
	unsigned int type;
	unsigned int vsn;
	u8 scr_cmds;
	unsigned int state;
	u8 rel_param;
	u8 rel_sectors;
	/* expected */
	unsigned int flags;
};

#define CMD23	MMC_BLK_CMD23
#define BOTH	(MMC_BLK_CMD23 | MMC_BLK_REL_WR)

static const struct ability_case ability_cases[] = {
	{ "MMC v3", true, MMC_TYPE_MMC, CSD_SPEC_VER_3, 0, 0, 0, 0, CMD23 },
	{ "MMC v2", true, MMC_TYPE_MMC, CSD_SPEC_VER_2, 0, 0, 4, 1, 0 },
	{ "MMC, host without", false, MMC_TYPE_MMC, CSD_SPEC_VER_4, 0, 0, 4, 1, 0 },
	{ "MMC, enhanced reliable", true, MMC_TYPE_MMC, CSD_SPEC_VER_4, 0, 0, 4, 0, BOTH },
	{ "MMC, legacy reliable", true, MMC_TYPE_MMC, CSD_SPEC_VER_4, 0, 0, 0, 8, BOTH },
	{ "MMC, other rel_param bits", true, MMC_TYPE_MMC, CSD_SPEC_VER_4, 0, 0,
	  0x13, 0, CMD23 },
	{ "SD with", true, MMC_TYPE_SD, 0, 2, 0, 0, 0, CMD23 },
	{ "SD without", true, MMC_TYPE_SD, CSD_SPEC_VER_4, 1, 0, 0, 0, 0 },
	{ "SD, host without", false, MMC_TYPE_SD, 0, 2, 0, 0, 0, 0 },
	{ "SDUC", true, MMC_TYPE_SD, 0, 2, MMC_CARD_SDUC, 0, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(ability, ability_cases, name);

static void ability_test(struct kunit *test)
{
	const struct ability_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->host.caps = c->host ? MMC_CAP_CMD23 : 0;
	t->card.type = c->type;
	t->card.state |= c->state;
	t->card.csd.mmca_vsn = c->vsn;
	t->card.scr.cmds = c->scr_cmds;
	t->card.ext_csd.rel_param = c->rel_param;
	t->card.ext_csd.rel_sectors = c->rel_sectors;

	KUNIT_EXPECT_EQ(test, mmc_blk_io_flags(&t->card), c->flags);
}

/* ----------------------------------------------------------------------- stop */

static void stop_test(struct kunit *test)
{
	struct io_test *t = test->priv;

	io_set(t, REQ_OP_READ, 0, 0, 8, 4096);
	io_prep(t);
	KUNIT_EXPECT_EQ(test, t->brq.stop.opcode, 12);
	KUNIT_EXPECT_EQ(test, t->brq.stop.arg, 0);
	KUNIT_EXPECT_EQ(test, t->brq.stop.flags,
			MMC_RSP_SPI_R1 | MMC_RSP_R1 | MMC_CMD_AC);

	/* After a write, the card may still be busy with programming. */
	io_set(t, REQ_OP_WRITE, 0, 0, 8, 4096);
	io_prep(t);
	KUNIT_EXPECT_EQ(test, t->brq.stop.opcode, 12);
	KUNIT_EXPECT_EQ(test, t->brq.stop.arg, 0);
	KUNIT_EXPECT_EQ(test, t->brq.stop.flags,
			MMC_RSP_SPI_R1B | MMC_RSP_R1B | MMC_CMD_AC);
}

/* ------------------------------------------------------------- reliable write */

struct reliable_case {
	const char *name;
	u8 rel_param;
	u8 rel_sectors;
	sector_t sector;
	unsigned int sectors;
	/* expected */
	unsigned int blocks;
};

static const struct reliable_case reliable_cases[] = {
	{ "enhanced, many", 4, 8, 3, 100, 100 },
	{ "enhanced, one", 4, 8, 3, 1, 1 },
	{ "enhanced, no rel_sectors", 4, 0, 3, 17, 17 },
	{ "legacy, aligned, exact", 0, 8, 16, 8, 8 },
	{ "legacy, aligned, more", 0, 8, 16, 9, 8 },
	{ "legacy, aligned, many", 0, 8, 16, 128, 8 },
	{ "legacy, aligned, less", 0, 8, 16, 7, 1 },
	{ "legacy, aligned, one", 0, 8, 16, 1, 1 },
	{ "legacy, unaligned, exact", 0, 8, 17, 8, 1 },
	{ "legacy, unaligned, more", 0, 8, 23, 16, 1 },
	{ "legacy, any sector", 0, 1, 5, 8, 1 },
	{ "legacy, sector 0", 0, 8, 0, 16, 8 },
};

KUNIT_ARRAY_PARAM_DESC(reliable, reliable_cases, name);

static void reliable_test(struct kunit *test)
{
	const struct reliable_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->card.ext_csd.rel_param = c->rel_param;
	t->card.ext_csd.rel_sectors = c->rel_sectors;
	io_set(t, REQ_OP_WRITE, MMC_IO_FUA, c->sector, c->sectors, 4096);
	io_prep(t);

	KUNIT_EXPECT_EQ(test, t->brq.data.blocks, c->blocks);
	KUNIT_EXPECT_EQ(test, t->brq.sbc.arg, c->blocks | RELIABLE);
	KUNIT_EXPECT_EQ(test, t->brq.cmd.opcode, 25);
	KUNIT_EXPECT_EQ(test, sg_bytes(&t->brq.data), c->blocks * 512);

	/* None of this applies to a write that need not be reliable. */
	io_set(t, REQ_OP_WRITE, 0, c->sector, c->sectors, 4096);
	io_prep(t);
	KUNIT_EXPECT_EQ(test, t->brq.data.blocks, c->sectors);
}

/* ------------------------------------------------------------------- data tag */

struct tag_case {
	const char *name;
	unsigned int unit;
	enum req_op op;
	unsigned int flags;
	unsigned int sectors;
	unsigned int max_blk_count;
	/* expected */
	bool tagged;
};

static const struct tag_case tag_cases[] = {
	{ "card without", 0, REQ_OP_WRITE, MMC_IO_META, 8, 65535, false },
	{ "exactly a unit", 4096, REQ_OP_WRITE, MMC_IO_META, 8, 65535, true },
	{ "a sector less", 4096, REQ_OP_WRITE, MMC_IO_META, 7, 65535, false },
	{ "not metadata", 4096, REQ_OP_WRITE, 0, 8, 65535, false },
	{ "a read", 4096, REQ_OP_READ, MMC_IO_META, 8, 65535, false },
	{ "a unit of one sector", 512, REQ_OP_WRITE, MMC_IO_META, 2, 65535, true },
	{ "a unit of 1 MiB", SZ_1M, REQ_OP_WRITE, MMC_IO_META, 2048, 65535, true },
	{ "less than 1 MiB", SZ_1M, REQ_OP_WRITE, MMC_IO_META, 2047, 65535, false },
	{ "less after a cut", 4096, REQ_OP_WRITE, MMC_IO_META, 8, 7, false },
	{ "enough after a cut", 4096, REQ_OP_WRITE, MMC_IO_META, 9, 8, true },
	{ "singly", 4096, REQ_OP_WRITE, MMC_IO_META | MMC_IO_SINGLE, 8, 65535, false },
};

KUNIT_ARRAY_PARAM_DESC(tag, tag_cases, name);

static void tag_test(struct kunit *test)
{
	const struct tag_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->card.ext_csd.data_tag_unit_size = c->unit;
	t->host.max_blk_count = c->max_blk_count;
	io_set(t, c->op, c->flags, 0, c->sectors, SZ_64K);
	io_prep(t);

	KUNIT_EXPECT_EQ(test, !!(t->brq.data.flags & MMC_DATA_DAT_TAG), c->tagged);
	KUNIT_EXPECT_EQ(test, !!(t->brq.sbc.arg & TAGGED), c->tagged);
}

/* ------------------------------------------------------- one sector at a time */

struct single_case {
	const char *name;
	unsigned int native_blocks;
	enum req_op op;
	unsigned int flags;
	unsigned int sectors;
	/* expected */
	unsigned int blocks;
	u32 opcode;
};

static const struct single_case single_cases[] = {
	{ "512 bytes, read", 1, REQ_OP_READ, MMC_IO_SINGLE, 64, 1, 17 },
	{ "512 bytes, write", 1, REQ_OP_WRITE, MMC_IO_SINGLE, 64, 1, 24 },
	{ "512 bytes, last one", 1, REQ_OP_READ, MMC_IO_SINGLE, 1, 1, 17 },
	{ "512 bytes, not singly", 1, REQ_OP_READ, 0, 64, 64, 18 },
	{ "4 KiB, read", 8, REQ_OP_READ, MMC_IO_SINGLE, 64, 8, 18 },
	{ "4 KiB, write", 8, REQ_OP_WRITE, MMC_IO_SINGLE, 64, 8, 25 },
	{ "4 KiB, last one", 8, REQ_OP_READ, MMC_IO_SINGLE, 8, 8, 18 },
	{ "4 KiB, not singly", 8, REQ_OP_READ, 0, 64, 64, 18 },
	{ "reliable", 1, REQ_OP_WRITE, MMC_IO_SINGLE | MMC_IO_FUA, 64, 1, 25 },
	{ "4 KiB, reliable", 8, REQ_OP_WRITE, MMC_IO_SINGLE | MMC_IO_FUA, 64, 8, 25 },
};

KUNIT_ARRAY_PARAM_DESC(single, single_cases, name);

static void single_test(struct kunit *test)
{
	const struct single_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->lim.native_blocks = c->native_blocks;
	io_set(t, c->op, c->flags, 64, c->sectors, 3072);
	io_prep(t);

	KUNIT_EXPECT_EQ(test, t->brq.data.blocks, c->blocks);
	KUNIT_EXPECT_EQ(test, t->brq.data.blksz, 512);
	KUNIT_EXPECT_EQ(test, t->brq.cmd.opcode, c->opcode);
	KUNIT_EXPECT_EQ(test, sg_bytes(&t->brq.data), c->blocks * 512);
}

/* ------------------------------------------------------------------ addresses */

struct address_case {
	const char *name;
	unsigned int state;
	sector_t sector;
	/* expected */
	u32 arg;
	bool has_ext;
	u8 ext;
};

#define IN_SECTORS	MMC_STATE_BLOCKADDR
#define ULTRA		(MMC_STATE_BLOCKADDR | MMC_CARD_SDUC)

static const struct address_case address_cases[] = {
	{ "bytes, 0", 0, 0, 0, false, 0 },
	{ "bytes, 1", 0, 1, 0x200, false, 0 },
	{ "bytes, last below 2 GiB", 0, 0x3fffff, 0x7ffffe00, false, 0 },
	{ "bytes, last below 4 GiB", 0, 0x7fffff, 0xfffffe00, false, 0 },
	{ "sectors, 0", IN_SECTORS, 0, 0, false, 0 },
	{ "sectors, 1", IN_SECTORS, 1, 1, false, 0 },
	{ "sectors, past 4 GiB", IN_SECTORS, 0x800000, 0x800000, false, 0 },
	{ "sectors, last below 2 TiB", IN_SECTORS, 0xffffffff, 0xffffffff, false, 0 },
	{ "ultra, 1", ULTRA, 1, 1, true, 0 },
	{ "ultra, last below 2 TiB", ULTRA, 0xffffffff, 0xffffffff, true, 0 },
	{ "ultra, at 2 TiB", ULTRA, 0x100000000, 0, true, 1 },
	{ "ultra, last of 128 TiB", ULTRA, 0x3fffffffff, 0xffffffff, true, 0x3f },
};

KUNIT_ARRAY_PARAM_DESC(address, address_cases, name);

static void address_test(struct kunit *test)
{
	const struct address_case *c = test->param_value;
	static const enum req_op ops[] = { REQ_OP_READ, REQ_OP_WRITE };
	struct io_test *t = test->priv;
	int i;

	t->card.state = MMC_STATE_PRESENT | c->state;
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		io_set(t, ops[i], 0, c->sector, 1, 4096);
		io_prep(t);
		KUNIT_EXPECT_EQ(test, t->brq.cmd.arg, c->arg);
		KUNIT_EXPECT_EQ(test, t->brq.cmd.has_ext_addr, c->has_ext);
		KUNIT_EXPECT_EQ(test, t->brq.cmd.ext_addr, c->ext);
	}
}

/* ------------------------------------------------------------------------ SPI */

struct spi_case {
	const char *name;
	bool spi;
	enum req_op op;
	sector_t sector;
	unsigned int sectors;
	/* expected */
	unsigned int blocks;
	u32 opcode;
	bool stop;
};

static const struct spi_case spi_cases[] = {
	{ "multiple read", true, REQ_OP_READ, 0, 8, 8, 18, true },
	{ "multiple write has a token", true, REQ_OP_WRITE, 0, 8, 8, 25, false },
	{ "single read", true, REQ_OP_READ, 0, 1, 1, 17, false },
	{ "single write", true, REQ_OP_WRITE, 0, 1, 1, 24, false },
	{ "read to the end", true, REQ_OP_READ, CAPACITY - 8, 8, 7, 18, true },
	{ "read of the last two", true, REQ_OP_READ, CAPACITY - 2, 2, 1, 17, false },
	{ "read of the last", true, REQ_OP_READ, CAPACITY - 1, 1, 1, 17, false },
	{ "read to before the end", true, REQ_OP_READ, CAPACITY - 9, 8, 8, 18, true },
	{ "write to the end", true, REQ_OP_WRITE, CAPACITY - 8, 8, 8, 25, false },
	{ "not SPI, read to the end", false, REQ_OP_READ, CAPACITY - 8, 8, 8, 18, true },
	{ "not SPI, write to the end", false, REQ_OP_WRITE, CAPACITY - 8, 8, 8, 25, true },
};

KUNIT_ARRAY_PARAM_DESC(spi, spi_cases, name);

static void spi_test(struct kunit *test)
{
	const struct spi_case *c = test->param_value;
	struct io_test *t = test->priv;

	if (c->spi)
		t->host.caps |= MMC_CAP_SPI;
	io_set(t, c->op, 0, c->sector, c->sectors, 4096);
	io_prep(t);

	KUNIT_EXPECT_EQ(test, t->brq.data.blocks, c->blocks);
	KUNIT_EXPECT_EQ(test, t->brq.cmd.opcode, c->opcode);
	KUNIT_EXPECT_EQ(test, !!t->brq.mrq.stop, c->stop);
	KUNIT_EXPECT_EQ(test, sg_bytes(&t->brq.data), c->blocks * 512);
}

/* ------------------------------------------------------------ limits of hosts */

static int io_quirk(struct mmc_card *card, unsigned int direction, int blk_size)
{
	return min(blk_size, direction == MMC_DATA_READ ? QUIRK_READ_MAX :
							  QUIRK_WRITE_MAX);
}

struct quirk_case {
	const char *name;
	enum req_op op;
	unsigned int flags;
	unsigned int sectors;
	/* expected */
	unsigned int blocks;
	u32 opcode;
};

static const struct quirk_case quirk_cases[] = {
	{ "read, more", REQ_OP_READ, 0, 64, 4, 18 },
	{ "read, fewer", REQ_OP_READ, 0, 3, 3, 18 },
	{ "read, one", REQ_OP_READ, 0, 1, 1, 17 },
	{ "write, more", REQ_OP_WRITE, 0, 64, 1, 24 },
	{ "write, one", REQ_OP_WRITE, 0, 1, 1, 24 },
	{ "singly, 4 KiB", REQ_OP_READ, MMC_IO_SINGLE, 64, 4, 18 },
	{ "reliable", REQ_OP_WRITE, MMC_IO_FUA, 64, 1, 25 },
};

KUNIT_ARRAY_PARAM_DESC(quirk, quirk_cases, name);

static void quirk_test(struct kunit *test)
{
	const struct quirk_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->ops.multi_io_quirk = io_quirk;
	t->lim.native_blocks = 8;
	io_set(t, c->op, c->flags, 0, c->sectors, 4096);
	io_prep(t);

	KUNIT_EXPECT_EQ(test, t->brq.data.blocks, c->blocks);
	KUNIT_EXPECT_EQ(test, t->brq.cmd.opcode, c->opcode);
	KUNIT_EXPECT_EQ(test, sg_bytes(&t->brq.data), c->blocks * 512);
}

struct cut_case {
	const char *name;
	unsigned int max_blk_count;
	unsigned int sectors;
	unsigned int segment;
	/* expected */
	unsigned int blocks;
	unsigned int sg_len;
	unsigned int last;
};

static const struct cut_case cut_cases[] = {
	{ "fits", 8, 8, 4096, 8, 1, 4096 },
	{ "far below", 65535, 8, 4096, 8, 1, 4096 },
	{ "one too many", 8, 9, 4096, 8, 1, 4096 },
	{ "an odd tail fits", 65535, 11, 4096, 11, 2, 1536 },
	{ "cut between entries", 16, 17, 4096, 16, 2, 4096 },
	{ "cut just into an entry", 17, 32, 4096, 17, 3, 512 },
	{ "cut just before its end", 15, 32, 4096, 15, 2, 3584 },
	{ "cut in the first entry", 3, 64, 4096, 3, 1, 1536 },
	{ "one block at a time", 1, 64, 4096, 1, 1, 512 },
	{ "entries of a block", 5, 9, 512, 5, 5, 512 },
	{ "entries of three blocks", 7, 20, 1536, 7, 3, 512 },
	{ "entries of part of a block", 1, 2, 256, 1, 2, 256 },
	{ "one big entry", 255, 4096, SZ_4M, 255, 1, 130560 },
	{ "one big entry fits", 65535, 4096, SZ_4M, 4096, 1, 2097152 },
};

KUNIT_ARRAY_PARAM_DESC(cut, cut_cases, name);

static void cut_test(struct kunit *test)
{
	const struct cut_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->host.max_blk_count = c->max_blk_count;
	io_set(t, REQ_OP_READ, 0, 8, c->sectors, c->segment);
	io_prep(t);

	KUNIT_EXPECT_EQ(test, t->brq.data.blocks, c->blocks);
	KUNIT_ASSERT_EQ(test, t->brq.data.sg_len, c->sg_len);
	KUNIT_EXPECT_EQ(test, t->sg[c->sg_len - 1].length, c->last);
	KUNIT_EXPECT_EQ(test, sg_bytes(&t->brq.data), c->blocks * 512);
	/* What is left to do is for whoever starts the I/O to say. */
	KUNIT_EXPECT_EQ(test, t->io.nr_sectors, c->sectors);
}

/*
 * A host that moves another amount of data than the command says overruns a
 * buffer or waits for ever, so try what no table has.
 */
static void sg_random_test(struct kunit *test)
{
	struct io_test *t = test->priv;
	struct rnd_state rnd;
	int i;

	prandom_seed_state(&rnd, 20240229);

	for (i = 0; i < 1000; i++) {
		u32 r = prandom_u32_state(&rnd);
		unsigned int segment = SECTOR_SIZE << (r & 7);
		unsigned int most = segment / SECTOR_SIZE * MAX_ENTRIES;
		unsigned int sectors = 1 + prandom_u32_state(&rnd) % most;
		unsigned int flags = r >> 3 & (MMC_IO_FUA | MMC_IO_META | MMC_IO_SINGLE);
		enum req_op op = r & BIT(6) ? REQ_OP_WRITE : REQ_OP_READ;
		bool native = r & BIT(11);
		sector_t sector = prandom_u32_state(&rnd) % (CAPACITY - sectors);

		if (native)
			sectors = round_up(sectors, 8);
		if (sectors > most)
			continue;
		if (r & BIT(7))
			sector = CAPACITY - sectors;

		t->lim.native_blocks = native ? 8 : 1;
		t->host.caps = r & BIT(8) ? MMC_CAP_SPI : MMC_CAP_CMD23;
		t->host.max_blk_count = 1 + prandom_u32_state(&rnd) % 2048;
		/* A host that cannot do a native sector is no host for the card. */
		if (native)
			t->host.max_blk_count |= 8;
		t->ops.multi_io_quirk = r & BIT(9) ? io_quirk : NULL;
		t->card.ext_csd.rel_param = r & BIT(10) ? EXT_CSD_WR_REL_PARAM_EN : 0;
		t->card.ext_csd.rel_sectors = 1 << (r >> 12 & 7);
		t->card.ext_csd.data_tag_unit_size = 4096;

		io_set(t, op, flags, sector, sectors, segment);
		io_prep(t);

		KUNIT_ASSERT_EQ_MSG(test, sg_bytes(&t->brq.data),
				    t->brq.data.blocks * t->brq.data.blksz,
				    "round %d: sector %llu, %u sectors in %u bytes",
				    i, sector, sectors, segment);
		KUNIT_ASSERT_GE(test, t->brq.data.blocks, 1);
		KUNIT_ASSERT_LE(test, t->brq.data.blocks, sectors);
		KUNIT_ASSERT_LE(test, t->brq.data.blocks, t->host.max_blk_count);
		KUNIT_ASSERT_GE(test, t->brq.data.sg_len, 1);
		KUNIT_ASSERT_LE(test, t->brq.data.sg_len, t->io.sg_len);
		KUNIT_ASSERT_GT(test, t->sg[t->brq.data.sg_len - 1].length, 0);
		if (t->brq.mrq.sbc)
			KUNIT_ASSERT_EQ(test, t->brq.sbc.arg & 0xffff,
					t->brq.data.blocks);
	}
}

/* ------------------------------------------------------------------ read-only */

struct readonly_case {
	const char *name;
	unsigned int state;
	unsigned short cmdclass;
	/* expected */
	bool readonly;
};

static const struct readonly_case readonly_cases[] = {
	{ "writable", 0, CCC_BLOCK_READ | CCC_BLOCK_WRITE, false },
	{ "switch on the card", MMC_STATE_READONLY, CCC_BLOCK_READ | CCC_BLOCK_WRITE, true },
	{ "no block write", 0, CCC_BLOCK_READ, true },
	{ "erase is not write", 0, CCC_BLOCK_READ | CCC_ERASE, true },
};

KUNIT_ARRAY_PARAM_DESC(readonly, readonly_cases, name);

static void readonly_test(struct kunit *test)
{
	const struct readonly_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->card.state |= c->state;
	t->card.csd.cmdclass = c->cmdclass;
	KUNIT_EXPECT_EQ(test, !!mmc_blk_readonly(&t->card), c->readonly);
}

/* -------------------------------------------------------------- command queue */

struct task_case {
	const char *name;
	enum req_op op;
	unsigned int flags;
	unsigned int sectors;
	/* expected */
	unsigned int data_flags;
	unsigned int blocks;
};

static const struct task_case task_cases[] = {
	{ "read", REQ_OP_READ, 0, 8, MMC_DATA_READ, 8 },
	{ "write", REQ_OP_WRITE, 0, 8, MMC_DATA_WRITE | MMC_DATA_BULK, 8 },
	{ "synchronous write", REQ_OP_WRITE, MMC_IO_SYNC, 8, MMC_DATA_WRITE, 8 },
	{ "read of high priority", REQ_OP_READ, MMC_IO_PRIO, 8,
	  MMC_DATA_READ | MMC_DATA_PRIO, 8 },
	{ "write of high priority", REQ_OP_WRITE, MMC_IO_PRIO, 8,
	  MMC_DATA_WRITE | MMC_DATA_PRIO, 8 },
	{ "one sector", REQ_OP_READ, 0, 1, MMC_DATA_READ, 1 },
	{ "reliable write", REQ_OP_WRITE, MMC_IO_FUA, 8,
	  MMC_DATA_WRITE | MMC_DATA_REL_WR, 8 },
	{ "FUA read", REQ_OP_READ, MMC_IO_FUA, 8, MMC_DATA_READ, 8 },
	{ "tagged write", REQ_OP_WRITE, MMC_IO_META, 8,
	  MMC_DATA_WRITE | MMC_DATA_DAT_TAG | MMC_DATA_BULK, 8 },
	{ "metadata read", REQ_OP_READ, MMC_IO_META, 8, MMC_DATA_READ, 8 },
	{ "singly", REQ_OP_READ, MMC_IO_SINGLE, 8, MMC_DATA_READ, 1 },
	{ "more than fits", REQ_OP_WRITE, MMC_IO_SYNC, 200, MMC_DATA_WRITE, 128 },
};

KUNIT_ARRAY_PARAM_DESC(task, task_cases, name);

static void task_test(struct kunit *test)
{
	const struct task_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->card.ext_csd.data_tag_unit_size = 4096;
	t->host.max_blk_count = 128;
	io_set(t, c->op, c->flags, 4711, c->sectors, 4096);
	io_data_prep(t);

	KUNIT_EXPECT_EQ(test, t->brq.data.flags, c->data_flags);
	KUNIT_EXPECT_EQ(test, t->brq.data.blocks, c->blocks);
	KUNIT_EXPECT_EQ(test, t->brq.data.blksz, 512);
	KUNIT_EXPECT_EQ(test, t->brq.data.blk_addr, 4711);
	KUNIT_EXPECT_EQ(test, sg_bytes(&t->brq.data), c->blocks * 512);
	KUNIT_EXPECT_EQ(test, t->brq.mrq.tag, TAG);
	KUNIT_EXPECT_PTR_EQ(test, t->brq.mrq.data, &t->brq.data);
	/* The engine knows by these that it is a task and not a command. */
	KUNIT_EXPECT_NULL(test, t->brq.mrq.cmd);
	KUNIT_EXPECT_NULL(test, t->brq.mrq.sbc);
	KUNIT_EXPECT_NULL(test, t->brq.mrq.stop);
}

struct flags_case {
	const char *name;
	blk_opf_t opf;
	bool single;
	/* expected */
	unsigned int flags;
};

static const struct flags_case flags_cases[] = {
	{ "write-back", REQ_OP_WRITE, false, 0 },
	{ "read", REQ_OP_READ, false, MMC_IO_SYNC },
	{ "read-ahead", REQ_OP_READ | REQ_RAHEAD, false, MMC_IO_SYNC },
	{ "synchronous write", REQ_OP_WRITE | REQ_SYNC, false, MMC_IO_SYNC },
	{ "FUA write", REQ_OP_WRITE | REQ_FUA, false, MMC_IO_SYNC | MMC_IO_FUA },
	{ "metadata", REQ_OP_WRITE | REQ_META, false, MMC_IO_META },
	{ "after an error", REQ_OP_WRITE, true, MMC_IO_SINGLE },
	{ "background write", REQ_OP_WRITE | REQ_BACKGROUND, false, 0 },
};

KUNIT_ARRAY_PARAM_DESC(flags, flags_cases, name);

static void flags_test(struct kunit *test)
{
	const struct flags_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mmc_io_flags(c->opf, c->single), c->flags);
}

struct prio_case {
	const char *name;
	int class;
	int level;
	/* expected */
	unsigned int flags;
};

static const struct prio_case prio_cases[] = {
	{ "none", IOPRIO_CLASS_NONE, 0, 0 },
	{ "real-time, highest", IOPRIO_CLASS_RT, 0, MMC_IO_PRIO },
	{ "real-time, lowest", IOPRIO_CLASS_RT, 7, MMC_IO_PRIO },
	{ "best effort, highest", IOPRIO_CLASS_BE, 0, 0 },
	{ "idle", IOPRIO_CLASS_IDLE, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(prio, prio_cases, name);

static void prio_test(struct kunit *test)
{
	const struct prio_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test,
			mmc_io_prio_flags(IOPRIO_PRIO_VALUE(c->class, c->level)),
			c->flags);
}

static void flush_test(struct kunit *test)
{
	struct io_test *t = test->priv;
	struct mmc_request *mrq;

	t->io = (struct mmc_io) { .op = REQ_OP_FLUSH, .tag = 31 };
	memset(&t->brq, 0xa5, sizeof(t->brq));
	mrq = mmc_blk_cqe_prep_flush(&t->brq, &t->io);

	KUNIT_EXPECT_PTR_EQ(test, mrq, &t->brq.mrq);
	KUNIT_EXPECT_PTR_EQ(test, mrq->cmd, &t->brq.cmd);
	KUNIT_EXPECT_NULL(test, mrq->data);
	KUNIT_EXPECT_NULL(test, mrq->sbc);
	KUNIT_EXPECT_NULL(test, mrq->stop);
	KUNIT_EXPECT_EQ(test, mrq->tag, 31);
	/* SWITCH, write byte, FLUSH_CACHE [32] = 1 */
	KUNIT_EXPECT_EQ(test, mrq->cmd->opcode, 6);
	KUNIT_EXPECT_EQ(test, mrq->cmd->arg, 0x03200101);
	KUNIT_EXPECT_EQ(test, mrq->cmd->flags, MMC_CMD_AC | MMC_RSP_R1B);
}

/* ---------------------------------------------------------- inline encryption */

#ifdef CONFIG_MMC_CRYPTO
static void crypto_test(struct kunit *test)
{
	struct io_test *t = test->priv;
	/* It is handed on and not looked into. */
	struct bio_crypt_ctx *ctx = (void *)&t->sg;

	io_set(t, REQ_OP_WRITE, 0, 0, 8, 4096);
	io_data_prep(t);
	KUNIT_EXPECT_NULL(test, t->brq.mrq.crypto_ctx);
	KUNIT_EXPECT_EQ(test, t->brq.mrq.crypto_key_slot, 0);

	t->io.crypt_ctx = ctx;
	io_data_prep(t);
	KUNIT_EXPECT_PTR_EQ(test, t->brq.mrq.crypto_ctx, ctx);
	KUNIT_EXPECT_EQ(test, t->brq.mrq.crypto_key_slot, 0);
}
#endif

/* ----------------------------------------------------------- check of results */

/*
 * For each bit of R1, whether it is an error in the response to the command, in
 * that to CMD12 of an open-ended transfer, and in that to CMD12 of a predefined
 * one. Where an open-ended transfer stops, the card may already have looked at
 * the block after the last (JESD84-B51, 6.8.3).
 */
struct r1_case {
	const char *name;
	u32 bit;
	bool cmd;
	bool stop_open;
	bool stop_predefined;
};

static const struct r1_case r1_cases[] = {
	{ "none", 0, false, false, false },
	{ "ADDRESS_OUT_OF_RANGE", BIT(31), true, false, true },
	{ "ADDRESS_MISALIGN", BIT(30), true, true, true },
	{ "BLOCK_LEN_ERROR", BIT(29), true, true, true },
	{ "ERASE_SEQ_ERROR", BIT(28), false, false, false },
	{ "ERASE_PARAM", BIT(27), false, false, false },
	{ "WP_VIOLATION", BIT(26), true, true, true },
	{ "DEVICE_IS_LOCKED", BIT(25), false, false, false },
	{ "LOCK_UNLOCK_FAILED", BIT(24), false, false, false },
	{ "COM_CRC_ERROR", BIT(23), false, false, false },
	{ "ILLEGAL_COMMAND", BIT(22), false, false, false },
	{ "DEVICE_ECC_FAILED", BIT(21), true, true, true },
	{ "CC_ERROR", BIT(20), true, true, true },
	{ "ERROR", BIT(19), true, true, true },
	{ "bit 18", BIT(18), false, false, false },
	{ "bit 17", BIT(17), false, false, false },
	{ "CID/CSD_OVERWRITE", BIT(16), false, false, false },
	{ "WP_ERASE_SKIP", BIT(15), false, false, false },
	{ "bit 14", BIT(14), false, false, false },
	{ "ERASE_RESET", BIT(13), false, false, false },
	{ "CURRENT_STATE, bit 3", BIT(12), false, false, false },
	{ "CURRENT_STATE, bit 2", BIT(11), false, false, false },
	{ "CURRENT_STATE, bit 1", BIT(10), false, false, false },
	{ "CURRENT_STATE, bit 0", BIT(9), false, false, false },
	{ "READY_FOR_DATA", BIT(8), false, false, false },
	{ "SWITCH_ERROR", BIT(7), false, false, false },
	{ "EXCEPTION_EVENT", BIT(6), false, false, false },
	{ "APP_CMD", BIT(5), false, false, false },
	{ "bit 4", BIT(4), false, false, false },
	{ "bit 3", BIT(3), false, false, false },
	{ "bit 2", BIT(2), false, false, false },
	{ "bit 1", BIT(1), false, false, false },
	{ "bit 0", BIT(0), false, false, false },
};

KUNIT_ARRAY_PARAM_DESC(r1, r1_cases, name);

/* What a transfer of 8 sectors without an error leaves */
static void io_finish(struct io_test *t, enum req_op op, bool predefined)
{
	t->lim.flags = predefined ? BOTH : 0;
	io_set(t, op, 0, 8, 8, 4096);
	io_prep(t);
	t->brq.data.bytes_xfered = 4096;
}

static void r1_test(struct kunit *test)
{
	const struct r1_case *c = test->param_value;
	struct io_test *t = test->priv;
	int i;

	for (i = 0; i < 2; i++) {
		io_finish(t, REQ_OP_READ, i);
		t->brq.cmd.resp[0] = c->bit;
		KUNIT_EXPECT_EQ(test, mmc_blk_rq_error(&t->brq), c->cmd);
		KUNIT_EXPECT_EQ(test, t->brq.stop.error, 0);
	}

	io_finish(t, REQ_OP_READ, false);
	KUNIT_ASSERT_NULL(test, t->brq.mrq.sbc);
	t->brq.stop.resp[0] = c->bit;
	KUNIT_EXPECT_EQ(test, mmc_blk_rq_error(&t->brq), c->stop_open);
	KUNIT_EXPECT_EQ(test, t->brq.stop.error, c->stop_open ? -EIO : 0);

	io_finish(t, REQ_OP_READ, true);
	KUNIT_ASSERT_NOT_NULL(test, t->brq.mrq.sbc);
	t->brq.stop.resp[0] = c->bit;
	KUNIT_EXPECT_EQ(test, mmc_blk_rq_error(&t->brq), c->stop_predefined);
	KUNIT_EXPECT_EQ(test, t->brq.stop.error, c->stop_predefined ? -EIO : 0);
}

/* The same bits as the recovery finds them with CMD13, the card being ready */
static void status_test(struct kunit *test)
{
	const struct r1_case *c = test->param_value;
	struct io_test *t = test->priv;
	const u32 ready = R1_READY_FOR_DATA | R1_STATE_TRAN << 9;
	int i;

	io_finish(t, REQ_OP_READ, false);
	KUNIT_EXPECT_EQ(test, mmc_blk_status_error(&t->card, &t->io, &t->brq,
						   ready | c->bit), c->stop_open);
	io_finish(t, REQ_OP_READ, true);
	KUNIT_EXPECT_EQ(test, mmc_blk_status_error(&t->card, &t->io, &t->brq,
						   ready | c->bit), c->stop_predefined);

	for (i = 0; i < 2; i++) {
		io_finish(t, REQ_OP_READ, i);
		t->brq.cmd.resp[0] = c->bit;
		KUNIT_EXPECT_EQ(test, mmc_blk_status_error(&t->card, &t->io,
							   &t->brq, ready), c->cmd);
		io_finish(t, REQ_OP_WRITE, i);
		t->brq.stop.resp[0] = c->bit;
		KUNIT_EXPECT_EQ(test, mmc_blk_status_error(&t->card, &t->io,
							   &t->brq, ready),
				i ? c->stop_predefined : c->stop_open);
	}

	/* The bits mean something else in SPI mode. */
	t->host.caps |= MMC_CAP_SPI;
	KUNIT_EXPECT_FALSE(test, mmc_blk_status_error(&t->card, &t->io, &t->brq,
						      ready | c->bit));
}

struct state_case {
	const char *name;
	u32 status;
	/* expected */
	bool read_error;
	bool write_error;
};

static const struct state_case state_cases[] = {
	{ "tran, ready", 0x900, false, false },
	{ "tran, not ready", 0x800, false, true },
	{ "prg", 0xe00, false, true },
	{ "prg that says ready", 0xf00, false, true },
	{ "rcv, ready", 0xd00, false, true },
	{ "data, ready", 0xb00, false, true },
	{ "stby, ready", 0x700, false, true },
};

KUNIT_ARRAY_PARAM_DESC(state, state_cases, name);

static void state_test(struct kunit *test)
{
	const struct state_case *c = test->param_value;
	struct io_test *t = test->priv;

	io_finish(t, REQ_OP_READ, true);
	KUNIT_EXPECT_EQ(test, mmc_blk_status_error(&t->card, &t->io, &t->brq,
						   c->status), c->read_error);
	io_finish(t, REQ_OP_WRITE, true);
	KUNIT_EXPECT_EQ(test, mmc_blk_status_error(&t->card, &t->io, &t->brq,
						   c->status), c->write_error);
}

/* What the host found out by itself */
static void host_error_test(struct kunit *test)
{
	struct io_test *t = test->priv;
	int *const errors[] = {
		&t->brq.sbc.error, &t->brq.cmd.error,
		&t->brq.data.error, &t->brq.stop.error,
	};
	int i;

	io_finish(t, REQ_OP_READ, true);
	KUNIT_EXPECT_FALSE(test, mmc_blk_rq_error(&t->brq));

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		io_finish(t, REQ_OP_READ, true);
		*errors[i] = -EILSEQ;
		KUNIT_EXPECT_TRUE_MSG(test, mmc_blk_rq_error(&t->brq), "error %d", i);
		KUNIT_EXPECT_EQ(test, *errors[i], -EILSEQ);
	}
}

struct no_poll_case {
	const char *name;
	enum req_op op;
	u32 caps;
	u32 resp;
	int cmd_error;
	int data_error;
	bool expected;
};

static const struct no_poll_case no_poll_cases[] = {
	{ "read", REQ_OP_READ, 0, R1_READY_FOR_DATA, 0, 0, true },
	{ "write", REQ_OP_WRITE, 0, R1_READY_FOR_DATA, 0, 0, false },
	{ "no response", REQ_OP_READ, 0, 0, -ETIMEDOUT, 0, false },
	{ "bad data", REQ_OP_READ, 0, R1_READY_FOR_DATA, 0, -EILSEQ, false },
	{ "address error", REQ_OP_READ, 0, R1_ADDRESS_ERROR, 0, 0, false },
	{ "exception event", REQ_OP_READ, 0, R1_EXCEPTION_EVENT, 0, 0, false },
	{ "the same bit in SPI mode", REQ_OP_READ, MMC_CAP_SPI,
	  R1_EXCEPTION_EVENT, 0, 0, true },
	{ "host that suspends at once", REQ_OP_READ, MMC_CAP_SYNC_RUNTIME_PM,
	  R1_READY_FOR_DATA, 0, 0, false },
};

KUNIT_ARRAY_PARAM_DESC(no_poll, no_poll_cases, name);

/* What may be completed without asking the card */
static void no_poll_test(struct kunit *test)
{
	const struct no_poll_case *c = test->param_value;
	struct io_test *t = test->priv;

	io_finish(t, c->op, true);
	t->host.caps |= c->caps;
	t->brq.cmd.resp[0] = c->resp;
	t->brq.cmd.error = c->cmd_error;
	t->brq.data.error = c->data_error;
	KUNIT_EXPECT_EQ(test, mmc_blk_needs_no_poll(&t->card, &t->io, &t->brq),
			c->expected);
}

/* ------------------------------------------------------------------- verdicts */

struct rw_verdict_case {
	const char *name;
	unsigned int sectors;
	unsigned int bytes;
	unsigned int retries;
	bool removed;
	/* expected */
	enum mmc_io_action action;
	unsigned int done;
};

static const struct rw_verdict_case rw_verdict_cases[] = {
	{ "all of it", 8, 4096, 0, false, MMC_IO_DONE, 4096 },
	{ "a part of it", 8, 512, 0, false, MMC_IO_DONE, 512 },
	{ "a part, no retries left", 8, 512, 6, false, MMC_IO_DONE, 512 },
	{ "a part, card removed", 8, 512, 6, true, MMC_IO_DONE, 512 },
	{ "nothing, first time", 8, 0, 0, false, MMC_IO_RETRY, 0 },
	{ "nothing, last retry", 8, 0, 4, false, MMC_IO_RETRY, 0 },
	{ "nothing, retries used up", 8, 0, 5, false, MMC_IO_FAIL, 0 },
	{ "nothing, recovery failed", 8, 0, 6, false, MMC_IO_FAIL, 0 },
	{ "removed, first time", 8, 0, 0, true, MMC_IO_RETRY, 0 },
	{ "removed, last retry", 8, 0, 4, true, MMC_IO_RETRY, 0 },
	{ "removed, retries used up", 8, 0, 5, true, MMC_IO_FAIL_QUIET, 0 },
	{ "no data to transfer", 0, 0, 0, false, MMC_IO_FAIL, 0 },
	{ "no data, card removed", 0, 0, 6, true, MMC_IO_FAIL, 0 },
};

KUNIT_ARRAY_PARAM_DESC(rw_verdict, rw_verdict_cases, name);

static void rw_verdict_test(struct kunit *test)
{
	const struct rw_verdict_case *c = test->param_value;
	struct io_test *t = test->priv;
	struct mmc_io_verdict v;

	t->io = (struct mmc_io) { .op = REQ_OP_READ, .nr_sectors = c->sectors };
	t->brq.data.bytes_xfered = c->bytes;
	if (c->removed)
		mmc_card_set_removed(&t->card);
	v = mmc_blk_rw_verdict(&t->io, &t->brq, c->retries, &t->card);

	KUNIT_EXPECT_EQ(test, v.action, c->action);
	KUNIT_EXPECT_EQ(test, v.bytes, c->done);
}

struct retries_case {
	const char *name;
	int sbc_error;
	int cmd_error;
	int data_error;
	unsigned int retries;
	/* expected */
	unsigned int then;
};

static const struct retries_case retries_cases[] = {
	{ "CMD23, first", -ETIMEDOUT, 0, 0, 0, 0 },
	{ "CMD23, later", -ETIMEDOUT, 0, 0, 4, 4 },
	{ "command, first", 0, -EILSEQ, 0, 0, 0 },
	{ "command, later", 0, -EILSEQ, 0, 2, 2 },
	{ "command and data", 0, -EILSEQ, -EILSEQ, 0, 0 },
	{ "data, first", 0, 0, -EILSEQ, 0, 3 },
	{ "data, after a command", 0, 0, -EILSEQ, 2, 3 },
	{ "data, second", 0, 0, -EILSEQ, 3, 3 },
	{ "data, third", 0, 0, -EILSEQ, 4, 4 },
	{ "data, fourth", 0, 0, -EILSEQ, 5, 5 },
	{ "only in the response", 0, 0, 0, 0, 3 },
};

KUNIT_ARRAY_PARAM_DESC(retries, retries_cases, name);

static void retries_test(struct kunit *test)
{
	const struct retries_case *c = test->param_value;
	struct io_test *t = test->priv;

	t->brq.sbc.error = c->sbc_error;
	t->brq.cmd.error = c->cmd_error;
	t->brq.data.error = c->data_error;
	KUNIT_EXPECT_EQ(test, mmc_blk_rw_retries(&t->brq, c->retries), c->then);
}

/* How many attempts an I/O has that never gets anywhere */
static void attempts_test(struct kunit *test)
{
	struct io_test *t = test->priv;
	struct mmc_io_verdict v = { .action = MMC_IO_RETRY };
	unsigned int retries = 0, attempts = 0;

	io_finish(t, REQ_OP_READ, true);
	t->brq.data.bytes_xfered = 0;
	t->brq.data.error = -EILSEQ;
	for (; v.action == MMC_IO_RETRY && attempts < 10; attempts++) {
		retries = mmc_blk_rw_retries(&t->brq, retries);
		v = mmc_blk_rw_verdict(&t->io, &t->brq, retries, &t->card);
		retries++;
	}
	KUNIT_EXPECT_EQ(test, v.action, MMC_IO_FAIL);
	KUNIT_EXPECT_EQ_MSG(test, attempts, 3, "errors of the data");

	t->brq.data.error = 0;
	t->brq.cmd.error = -ETIMEDOUT;
	v.action = MMC_IO_RETRY;
	retries = 0;
	attempts = 0;
	for (; v.action == MMC_IO_RETRY && attempts < 10; attempts++) {
		retries = mmc_blk_rw_retries(&t->brq, retries);
		v = mmc_blk_rw_verdict(&t->io, &t->brq, retries, &t->card);
		retries++;
	}
	KUNIT_EXPECT_EQ(test, v.action, MMC_IO_FAIL);
	KUNIT_EXPECT_EQ_MSG(test, attempts, 6, "errors of the command");
}

struct cqe_verdict_case {
	const char *name;
	bool data;
	int error;
	unsigned int bytes;
	unsigned int retries;
	bool recovery, giving_up;
	/* expected */
	enum mmc_io_action action;
	unsigned int done;
};

static const struct cqe_verdict_case cqe_verdict_cases[] = {
	{ "all of it", true, 0, 4096, 0, false, false, MMC_IO_DONE, 4096 },
	{ "a part of it", true, 0, 512, 2, false, false, MMC_IO_DONE, 512 },
	{ "error, first", true, -EILSEQ, 0, 0, false, false, MMC_IO_RETRY, 0 },
	{ "error, last retry", true, -EILSEQ, 0, 1, false, false, MMC_IO_RETRY, 0 },
	{ "error, retries used up", true, -EILSEQ, 0, 2, false, false, MMC_IO_FAIL, 0 },
	{ "error after some bytes", true, -EILSEQ, 512, 0, false, false, MMC_IO_RETRY, 0 },
	{ "recovery, done before", true, 0, 4096, 0, true, false, MMC_IO_DONE, 4096 },
	/* Discarded by the card: requeued, and no retry is counted. */
	{ "recovery, discarded", true, 0, 0, 2, true, false, MMC_IO_DONE, 0 },
	{ "recovery, error", true, -ETIMEDOUT, 0, 1, true, false, MMC_IO_RETRY, 0 },
	{ "recovery, error, used up", true, -ETIMEDOUT, 0, 2, true, false, MMC_IO_FAIL, 0 },
	{ "direct command", false, 0, 0, 0, false, false, MMC_IO_DONE, 0 },
	{ "direct command, error", false, -ETIMEDOUT, 0, 0, false, false, MMC_IO_RETRY, 0 },
	/* It is not the flush that failed, but the way that it was sent. */
	{ "direct command, used up", false, -ETIMEDOUT, 0, 1, false, false, MMC_IO_REGULAR, 0 },
	/* No error, but nobody knows whether it was carried out. */
	{ "direct command, recovery", false, 0, 0, 2, true, false, MMC_IO_AGAIN, 0 },
	{ "direct command, recovery, error", false, -EIO, 0, 0, true, false, MMC_IO_RETRY, 0 },
	{ "direct command, recovery, used up", false, -EIO, 0, 1, true, false, MMC_IO_REGULAR, 0 },
	/* No error of the queue is the last word if it was the last of the queue. */
	{ "giving up, used up", true, -ETIMEDOUT, 0, 2, true, true, MMC_IO_AGAIN, 0 },
	{ "giving up, discarded", true, 0, 0, 2, true, true, MMC_IO_DONE, 0 },
	{ "giving up, direct command, used up", false, -EIO, 0, 1, true, true, MMC_IO_AGAIN, 0 },
	{ "giving up, direct command", false, 0, 0, 0, true, true, MMC_IO_AGAIN, 0 },
};

KUNIT_ARRAY_PARAM_DESC(cqe_verdict, cqe_verdict_cases, name);

static void cqe_verdict_test(struct kunit *test)
{
	const struct cqe_verdict_case *c = test->param_value;
	struct io_test *t = test->priv;
	struct mmc_io_verdict v;

	if (c->data) {
		io_set(t, REQ_OP_READ, 0, 0, 8, 4096);
		io_data_prep(t);
		t->brq.data.error = c->error;
		t->brq.data.bytes_xfered = c->bytes;
	} else {
		t->io = (struct mmc_io) { .op = REQ_OP_FLUSH };
		mmc_blk_cqe_prep_flush(&t->brq, &t->io);
		t->brq.cmd.error = c->error;
	}
	v = mmc_blk_cqe_verdict(&t->io, &t->brq.mrq, c->retries, c->recovery,
				c->giving_up);

	KUNIT_EXPECT_EQ(test, v.action, c->action);
	KUNIT_EXPECT_EQ(test, v.bytes, c->done);
}

static struct kunit_case prep_cases[] = {
	KUNIT_CASE_PARAM(opcode_test, opcode_gen_params),
	KUNIT_CASE_PARAM(cmd23_test, cmd23_gen_params),
	KUNIT_CASE_PARAM(ability_test, ability_gen_params),
	KUNIT_CASE(stop_test),
	KUNIT_CASE_PARAM(reliable_test, reliable_gen_params),
	KUNIT_CASE_PARAM(tag_test, tag_gen_params),
	KUNIT_CASE_PARAM(single_test, single_gen_params),
	KUNIT_CASE_PARAM(address_test, address_gen_params),
	KUNIT_CASE_PARAM(spi_test, spi_gen_params),
	KUNIT_CASE_PARAM(quirk_test, quirk_gen_params),
	KUNIT_CASE_PARAM(cut_test, cut_gen_params),
	KUNIT_CASE(sg_random_test),
	KUNIT_CASE_PARAM(readonly_test, readonly_gen_params),
	KUNIT_CASE_PARAM(task_test, task_gen_params),
	KUNIT_CASE_PARAM(flags_test, flags_gen_params),
	KUNIT_CASE_PARAM(prio_test, prio_gen_params),
	KUNIT_CASE(flush_test),
#ifdef CONFIG_MMC_CRYPTO
	KUNIT_CASE(crypto_test),
#endif
	{}
};

static struct kunit_suite prep_suite = {
	.name = "mmc_block_prep",
	.init = io_test_init,
	.test_cases = prep_cases,
};

static struct kunit_case result_cases[] = {
	KUNIT_CASE_PARAM(r1_test, r1_gen_params),
	KUNIT_CASE_PARAM(status_test, r1_gen_params),
	KUNIT_CASE_PARAM(state_test, state_gen_params),
	KUNIT_CASE(host_error_test),
	KUNIT_CASE_PARAM(no_poll_test, no_poll_gen_params),
	KUNIT_CASE_PARAM(rw_verdict_test, rw_verdict_gen_params),
	KUNIT_CASE_PARAM(retries_test, retries_gen_params),
	KUNIT_CASE(attempts_test),
	KUNIT_CASE_PARAM(cqe_verdict_test, cqe_verdict_gen_params),
	{}
};

static struct kunit_suite result_suite = {
	.name = "mmc_block_result",
	.init = io_test_init,
	.test_cases = result_cases,
};

kunit_test_suites(&prep_suite, &result_suite);

MODULE_DESCRIPTION("KUnit tests of the MMC block driver's commands and results");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
MODULE_LICENSE("GPL");
