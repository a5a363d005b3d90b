// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of mmc-sim's card. There is no host and no clock: the tests send
 * commands, move data and say what time it is.
 */

#include <kunit/test.h>
#include <linux/crc7.h>
#include <linux/minmax.h>
#include <linux/unaligned.h>

#include "../card.h"

#define RCA		BIT(16)
#define SECTOR		MMC_SIM_SECTOR
#define GROUP		(MMC_SIM_ERASE_GROUP / SECTOR)
#define MAX_SECTORS	64

#define RELIABLE	BIT(31)
#define FORCED		BIT(24)
#define SQS		(RCA | BIT(15))

#define TASK(id)	((id) << 16)
#define TASK_READ	BIT(30)
#define TASK_PRIO	BIT(23)

/**
 * struct card_test - what a test has
 * @cfg: settings
 * @judge: its counters
 * @card: the card
 * @now: the time, ns
 * @buf: data to write and data that was read
 */
struct card_test {
	struct mmc_sim_config cfg;
	struct mmc_sim_judge judge;
	struct mmc_sim_card card;
	u64 now;
	u8 buf[MAX_SECTORS * SECTOR];
};

typedef void (*tweak_fn)(struct mmc_sim_config *cfg);

KUNIT_DEFINE_ACTION_WRAPPER(card_destroy, mmc_sim_card_destroy,
			    struct mmc_sim_card *);

/* ------------------------------------------------------- what a host does */

static struct mmc_sim_cmd card_cmd(struct card_test *t, u32 opcode, u32 arg)
{
	struct mmc_sim_cmd cmd = { .opcode = opcode, .arg = arg };

	mmc_sim_card_cmd(&t->card, &cmd, t->now);
	return cmd;
}

/* Lets the card finish what it is busy with. */
static void card_wait(struct card_test *t)
{
	t->now = max(t->now, t->card.busy_until);
	mmc_sim_card_sync(&t->card, t->now);
}

static u32 card_status(struct card_test *t)
{
	return card_cmd(t, MMC_SEND_STATUS, RCA).resp[0];
}

static u32 card_state(struct card_test *t)
{
	return R1_CURRENT_STATE(card_status(t));
}

static u32 card_addr(struct card_test *t, u32 sector)
{
	return t->cfg.capacity_mib > 2048 ? sector : sector * SECTOR;
}

/* From no power to the transfer state. */
static void card_identify(struct card_test *t)
{
	mmc_sim_card_power(&t->card, true, t->now);
	card_cmd(t, MMC_GO_IDLE_STATE, 0);
	card_cmd(t, MMC_SEND_OP_COND, 0x40ff8080);
	card_cmd(t, MMC_ALL_SEND_CID, 0);
	card_cmd(t, MMC_SET_RELATIVE_ADDR, RCA);
	card_cmd(t, MMC_SELECT_CARD, RCA);
}

/* SWITCH, and the status after it */
static u32 card_switch(struct card_test *t, u8 index, u8 val)
{
	card_cmd(t, MMC_SWITCH, MMC_SWITCH_MODE_WRITE_BYTE << 24 | index << 16 |
				val << 8 | EXT_CSD_CMD_SET_NORMAL);
	card_wait(t);
	return card_status(t);
}

static void card_ext_csd(struct card_test *t, u8 *ext_csd)
{
	card_cmd(t, MMC_SEND_EXT_CSD, 0);
	mmc_sim_card_read(&t->card, ext_csd, 512);
	mmc_sim_card_data_end(&t->card, t->now, true);
}

static u32 card_prg_sectors(struct card_test *t)
{
	card_ext_csd(t, t->buf);
	return get_unaligned_le32(t->buf + EXT_CSD_CORRECTLY_PRG_SECTORS_NUM);
}

/* A counted write without the wait for the end of busy */
static struct mmc_sim_cmd card_write_nowait(struct card_test *t, u32 sector,
					    u32 nr, u8 fill, u32 flags)
{
	struct mmc_sim_cmd cmd;

	memset(t->buf, fill, nr * SECTOR);
	card_cmd(t, MMC_SET_BLOCK_COUNT, nr | flags);
	cmd = card_cmd(t, MMC_WRITE_MULTIPLE_BLOCK, card_addr(t, sector));
	if (cmd.error || cmd.dir != MMC_SIM_WRITE)
		return cmd;
	t->now = mmc_sim_card_data_start(&t->card, t->now);
	mmc_sim_card_write(&t->card, t->buf, nr * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
	return cmd;
}

static void card_write(struct card_test *t, u32 sector, u32 nr, u8 fill,
		       u32 flags)
{
	card_write_nowait(t, sector, nr, fill, flags);
	card_wait(t);
}

/* A counted read into t->buf; returns the bytes that came */
static size_t card_read(struct card_test *t, u32 sector, u32 nr)
{
	struct mmc_sim_cmd cmd;
	size_t len;

	memset(t->buf, 0xee, nr * SECTOR);
	card_cmd(t, MMC_SET_BLOCK_COUNT, nr);
	cmd = card_cmd(t, MMC_READ_MULTIPLE_BLOCK, card_addr(t, sector));
	if (cmd.error || cmd.dir != MMC_SIM_READ)
		return 0;
	t->now = mmc_sim_card_data_start(&t->card, t->now);
	len = mmc_sim_card_read(&t->card, t->buf, nr * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
	return len;
}

/* How many of the sectors from @sector on are filled with @fill? */
static u32 card_count(struct card_test *t, u32 sector, u32 nr, u8 fill)
{
	u32 i, found = 0;

	card_read(t, sector, nr);
	for (i = 0; i < nr; i++)
		if (!memchr_inv(t->buf + i * SECTOR, fill, SECTOR))
			found++;
	return found;
}

static void card_erase(struct card_test *t, u32 from, u32 to, u32 arg)
{
	card_cmd(t, MMC_ERASE_GROUP_START, card_addr(t, from));
	card_cmd(t, MMC_ERASE_GROUP_END, card_addr(t, to));
	card_cmd(t, MMC_ERASE, arg);
}

static void card_queue(struct card_test *t, u32 id, u32 flags, u32 sector,
		       u32 nr)
{
	card_cmd(t, MMC_QUE_TASK_PARAMS, TASK(id) | flags | nr);
	card_cmd(t, MMC_QUE_TASK_ADDR, sector);
}

static u32 card_qsr(struct card_test *t)
{
	return card_cmd(t, MMC_SEND_STATUS, SQS).resp[0];
}

/* ------------------------------------------------------------ what is told */

static void expect_rule(struct kunit *test, struct card_test *t, int rule)
{
	int i;

	for (i = 0; i < MMC_SIM_NR_RULES; i++)
		KUNIT_EXPECT_EQ_MSG(test, t->judge.nr[i], i == rule,
				    "rule %s", mmc_sim_rule_name(i));
}

static void expect_clean(struct kunit *test, struct card_test *t)
{
	expect_rule(test, t, -1);
}

static struct card_test *card_new(struct kunit *test, tweak_fn tweak)
{
	struct card_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	mmc_sim_config_init(&t->cfg);
	t->cfg.capacity_mib = 16;
	t->cfg.boot_kib = 128;
	t->cfg.rpmb_kib = 128;
	if (tweak)
		tweak(&t->cfg);
	t->judge.name = "test";
	t->judge.quiet = true;
	t->now = 1000;

	KUNIT_ASSERT_EQ(test, 0, mmc_sim_card_init(&t->card, &t->cfg, &t->judge));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, card_destroy,
							   &t->card));
	return t;
}

/* A card in the transfer state */
static struct card_test *card_ready(struct kunit *test, tweak_fn tweak)
{
	struct card_test *t = card_new(test, tweak);

	card_identify(t);
	KUNIT_ASSERT_EQ(test, t->card.state, MMC_SIM_TRAN);
	return t;
}

static struct card_test *card_cached(struct kunit *test, tweak_fn tweak)
{
	struct card_test *t = card_ready(test, tweak);

	card_switch(t, EXT_CSD_CACHE_CTRL, 1);
	KUNIT_ASSERT_TRUE(test, mmc_sim_cache_on(&t->card));
	return t;
}

static struct card_test *card_queueing(struct kunit *test, tweak_fn tweak)
{
	struct card_test *t = card_ready(test, tweak);

	card_switch(t, EXT_CSD_CMDQ_MODE_EN, 1);
	KUNIT_ASSERT_TRUE(test, mmc_sim_cmdq_on(&t->card));
	return t;
}

static void slow_program(struct mmc_sim_config *cfg)
{
	cfg->program_us = 1000;
	cfg->page_kib = 4;
}

static void slow_read(struct mmc_sim_config *cfg)
{
	cfg->read_us = 1000;
}

static void slow_erase(struct mmc_sim_config *cfg)
{
	cfg->erase_us = 1000;
}

static void slow_flush(struct mmc_sim_config *cfg)
{
	cfg->flush_us = 1000;
}

static void big_sectors(struct mmc_sim_config *cfg)
{
	cfg->sector_size = 4096;
}

static void large(struct mmc_sim_config *cfg)
{
	cfg->capacity_mib = 4096;
}

static void shallow(struct mmc_sim_config *cfg)
{
	cfg->queue_depth = 4;
}

static void uncached(struct mmc_sim_config *cfg)
{
	cfg->cache_kib = 0;
}

static void fast_bus(struct mmc_sim_config *cfg)
{
	cfg->bus = MMC_SIM_BUS_HS400ES;
}

/* ---------------------------------------------------------- identification */

static void card_identification(struct kunit *test)
{
	struct card_test *t = card_new(test, NULL);
	struct mmc_sim_cmd cmd;

	KUNIT_EXPECT_EQ(test, card_cmd(t, MMC_SEND_OP_COND, 0).error, -ETIMEDOUT);

	mmc_sim_card_power(&t->card, true, t->now);
	/* A query leaves the card idle. */
	cmd = card_cmd(t, MMC_SEND_OP_COND, 0);
	KUNIT_EXPECT_EQ(test, cmd.resp[0], 0x80ff8080);
	KUNIT_EXPECT_EQ(test, t->card.state, MMC_SIM_IDLE);
	card_cmd(t, MMC_SEND_OP_COND, 0x40ff8080);
	KUNIT_EXPECT_EQ(test, t->card.state, MMC_SIM_READY);
	cmd = card_cmd(t, MMC_ALL_SEND_CID, 0);
	KUNIT_EXPECT_MEMEQ(test, cmd.resp, t->card.cid, sizeof(cmd.resp));
	cmd = card_cmd(t, MMC_SET_RELATIVE_ADDR, 5 << 16);
	KUNIT_EXPECT_EQ(test, R1_CURRENT_STATE(cmd.resp[0]), MMC_SIM_IDENT);
	KUNIT_EXPECT_EQ(test, card_cmd(t, MMC_SEND_CSD, RCA).error, -ETIMEDOUT);
	cmd = card_cmd(t, MMC_SEND_CSD, 5 << 16);
	KUNIT_EXPECT_MEMEQ(test, cmd.resp, t->card.csd, sizeof(cmd.resp));
	cmd = card_cmd(t, MMC_SELECT_CARD, 5 << 16);
	KUNIT_EXPECT_EQ(test, R1_CURRENT_STATE(cmd.resp[0]), MMC_SIM_STBY);
	cmd = card_cmd(t, MMC_SEND_STATUS, 5 << 16);
	KUNIT_EXPECT_EQ(test, cmd.resp[0],
			MMC_SIM_TRAN << 9 | R1_READY_FOR_DATA);
	expect_clean(test, t);
}

static void card_wrong_voltage(struct kunit *test)
{
	struct card_test *t = card_new(test, NULL);

	mmc_sim_card_power(&t->card, true, t->now);
	KUNIT_EXPECT_EQ(test, card_cmd(t, MMC_SEND_OP_COND, 0x100).error,
			-ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, t->card.state, MMC_SIM_INACTIVE);
}

/* What a host sends that does not know yet which kind of card this is */
static void card_probe_silent(struct kunit *test)
{
	static const u8 opcodes[] = { 52, 8, 5, 55, 41, 13 };
	struct card_test *t = card_new(test, NULL);
	int i;

	mmc_sim_card_power(&t->card, true, t->now);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++)
		KUNIT_EXPECT_EQ_MSG(test, -ETIMEDOUT,
				    card_cmd(t, opcodes[i], RCA).error,
				    "CMD%u", opcodes[i]);
	expect_clean(test, t);
	card_identify(t);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
}

static void expect_crc7(struct kunit *test, const u32 *reg)
{
	u8 raw[16];
	int i;

	for (i = 0; i < 4; i++)
		put_unaligned_be32(reg[i], raw + 4 * i);
	KUNIT_EXPECT_EQ(test, raw[15], crc7_be(0, raw, 15) | 1);
}

static void card_register_crc(struct kunit *test)
{
	struct card_test *t = card_new(test, NULL);

	expect_crc7(test, t->card.cid);
	expect_crc7(test, t->card.csd);
}

struct capacity_case {
	u32 mib;
	u32 csd_mib;		/* what C_SIZE and its companions say */
	bool sectors;		/* addresses count sectors */
};

static const struct capacity_case capacity_cases[] = {
	{ 8, 8 }, { 1024, 1024 }, { 1025, 1025 }, { 2048, 2048 },
	/* C_SIZE is all ones and means nothing. */
	{ 2049, 1024, true }, { 32768, 1024, true },
};

static void capacity_desc(const struct capacity_case *c, char *desc)
{
	sprintf(desc, "%u MiB", c->mib);
}

KUNIT_ARRAY_PARAM(capacity, capacity_cases, capacity_desc);

static u32 csd_bits(const u32 *csd, int start, int size)
{
	u64 two = csd[3 - start / 32];

	if (start < 96)
		two |= (u64)csd[2 - start / 32] << 32;
	return (two >> (start % 32)) & (BIT(size) - 1);
}

static void card_capacity(struct kunit *test)
{
	const struct capacity_case *c = test->param_value;
	struct card_test *t = card_new(test, NULL);
	u64 bytes;

	t->cfg.capacity_mib = c->mib;
	mmc_sim_ext_csd_init(&t->card);
	mmc_sim_card_power(&t->card, true, t->now);

	bytes = (u64)(csd_bits(t->card.csd, 62, 12) + 1) <<
		(csd_bits(t->card.csd, 47, 3) + 2 +
		 csd_bits(t->card.csd, 80, 4));
	KUNIT_EXPECT_EQ(test, bytes, (u64)c->csd_mib << 20);
	KUNIT_EXPECT_EQ(test, c->mib * 2048,
			get_unaligned_le32(t->card.ext_csd + EXT_CSD_SEC_CNT));
	KUNIT_EXPECT_EQ(test, c->sectors,
			!!(card_cmd(t, MMC_SEND_OP_COND, 0).resp[0] & BIT(30)));
}

static void card_ext_csd_fields(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);
	u8 *ext = t->buf;

	card_ext_csd(t, ext);
	KUNIT_EXPECT_EQ(test, ext[EXT_CSD_REV], 8);
	KUNIT_EXPECT_EQ(test, ext[EXT_CSD_CMDQ_SUPPORT], 1);
	KUNIT_EXPECT_EQ(test, ext[EXT_CSD_CMDQ_DEPTH], t->cfg.queue_depth - 1);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(ext + EXT_CSD_CACHE_SIZE),
			t->cfg.cache_kib * 8);
	KUNIT_EXPECT_EQ(test, ext[EXT_CSD_BOOT_MULT], 1);
	KUNIT_EXPECT_EQ(test, ext[EXT_CSD_RPMB_MULT], 1);
	KUNIT_EXPECT_EQ(test, ext[EXT_CSD_HPI_FEATURES],
			t->cfg.hpi_cmd == 12 ? 3 : 1);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
}

static void card_sector_addressing_needs_host(struct kunit *test)
{
	struct card_test *t = card_new(test, large);

	mmc_sim_card_power(&t->card, true, t->now);
	card_cmd(t, MMC_SEND_OP_COND, 0x00ff8080);
	KUNIT_EXPECT_EQ(test, t->card.state, MMC_SIM_INACTIVE);
}

/* ------------------------------------------------------------------ status */

static void card_illegal_reported_once(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	KUNIT_EXPECT_EQ(test, card_cmd(t, MMC_SEND_CSD, RCA).error, -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, card_status(t) & R1_ILLEGAL_COMMAND);
	KUNIT_EXPECT_FALSE(test, card_status(t) & R1_ILLEGAL_COMMAND);
}

static void card_switch_error_after(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);
	struct mmc_sim_cmd cmd;

	cmd = card_cmd(t, MMC_SWITCH, 3 << 24 | EXT_CSD_REV << 16 | 1 << 8);
	KUNIT_EXPECT_FALSE(test, cmd.resp[0] & R1_SWITCH_ERROR);
	KUNIT_EXPECT_TRUE(test, card_status(t) & R1_SWITCH_ERROR);
	KUNIT_EXPECT_FALSE(test, card_status(t) & R1_SWITCH_ERROR);
}

static void card_busy_states(struct kunit *test)
{
	struct card_test *t = card_ready(test, slow_program);

	card_write_nowait(t, 0, 8, 0x11, 0);
	KUNIT_EXPECT_EQ(test, card_status(t), MMC_SIM_PRG << 9);
	KUNIT_EXPECT_TRUE(test, mmc_sim_card_busy(&t->card, t->now));
	/* Deselected, it goes on, and can be selected again. */
	card_cmd(t, MMC_SELECT_CARD, 0);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_DIS);
	card_cmd(t, MMC_SELECT_CARD, RCA);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_PRG);
	card_cmd(t, MMC_SELECT_CARD, 0);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_STBY);
	card_cmd(t, MMC_SELECT_CARD, RCA);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 8, 0x11), 8);
	expect_clean(test, t);
}

static void card_sleep_awake(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	card_cmd(t, MMC_SELECT_CARD, 0);
	KUNIT_EXPECT_EQ(test, 0, card_cmd(t, MMC_SLEEP_AWAKE,
					  RCA | BIT(15)).error);
	KUNIT_EXPECT_EQ(test, t->card.state, MMC_SIM_SLP);
	card_cmd(t, MMC_SLEEP_AWAKE, RCA);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_STBY);
	expect_clean(test, t);
}

/* ---------------------------------------------------------------- transfers */

static void card_single_block(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	memset(t->buf, 0x5a, SECTOR);
	card_cmd(t, MMC_WRITE_BLOCK, card_addr(t, 7));
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_RCV);
	KUNIT_EXPECT_EQ(test, SECTOR,
			mmc_sim_card_write(&t->card, t->buf, SECTOR));
	mmc_sim_card_data_end(&t->card, t->now, true);
	card_wait(t);

	memset(t->buf, 0, SECTOR);
	card_cmd(t, MMC_READ_SINGLE_BLOCK, card_addr(t, 7));
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_DATA);
	/* It gives no more than its block. */
	KUNIT_EXPECT_EQ(test, SECTOR,
			mmc_sim_card_read(&t->card, t->buf, 2 * SECTOR));
	mmc_sim_card_data_end(&t->card, t->now, true);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	KUNIT_EXPECT_NULL(test, memchr_inv(t->buf, 0x5a, SECTOR));
	expect_clean(test, t);
}

static void card_open_ended(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	memset(t->buf, 0x77, 3 * SECTOR);
	KUNIT_EXPECT_EQ(test, 0U, card_cmd(t, MMC_WRITE_MULTIPLE_BLOCK,
					   card_addr(t, 3)).blocks);
	mmc_sim_card_write(&t->card, t->buf, 3 * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_RCV);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);

	card_cmd(t, MMC_READ_MULTIPLE_BLOCK, card_addr(t, 3));
	mmc_sim_card_read(&t->card, t->buf, 3 * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_DATA);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	KUNIT_EXPECT_NULL(test, memchr_inv(t->buf, 0x77, 3 * SECTOR));
	expect_clean(test, t);
}

/* The host's segments need not be sectors. */
static void card_pieces(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);
	u32 i, len = 8 * SECTOR;
	u8 *pattern = t->buf + 32 * SECTOR;

	for (i = 0; i < len; i++)
		pattern[i] = i * 7 + i / 256;

	card_cmd(t, MMC_SET_BLOCK_COUNT, 8);
	card_cmd(t, MMC_WRITE_MULTIPLE_BLOCK, card_addr(t, 1));
	mmc_sim_card_write(&t->card, pattern, 1);
	mmc_sim_card_write(&t->card, pattern + 1, 1300);
	for (i = 1301; i < len; i += 101)
		mmc_sim_card_write(&t->card, pattern + i, min(101U, len - i));
	mmc_sim_card_data_end(&t->card, t->now, true);
	card_wait(t);

	card_cmd(t, MMC_SET_BLOCK_COUNT, 8);
	card_cmd(t, MMC_READ_MULTIPLE_BLOCK, card_addr(t, 1));
	for (i = 0; i < len; i += 97)
		mmc_sim_card_read(&t->card, t->buf + i, min(97U, len - i));
	mmc_sim_card_data_end(&t->card, t->now, true);
	KUNIT_EXPECT_MEMEQ(test, t->buf, pattern, len);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	expect_clean(test, t);
}

/* After a CRC error the last block is not stored, and CMD12 has to come. */
static void card_write_cut(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	card_write(t, 0, 4, 0x11, 0);
	memset(t->buf, 0x22, 4 * SECTOR);
	card_cmd(t, MMC_SET_BLOCK_COUNT, 4);
	card_cmd(t, MMC_WRITE_MULTIPLE_BLOCK, 0);
	mmc_sim_card_write(&t->card, t->buf, 3 * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, false);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_RCV);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 4, 0x22), 2);
	KUNIT_EXPECT_EQ(test, card_count(t, 2, 2, 0x11), 2);
	expect_clean(test, t);
}

static void card_single_write_cut(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	memset(t->buf, 0x22, SECTOR);
	card_cmd(t, MMC_WRITE_BLOCK, 0);
	mmc_sim_card_write(&t->card, t->buf, SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, false);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 1, t->cfg.erased_byte), 1);
}

static void card_read_cut(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	card_cmd(t, MMC_SET_BLOCK_COUNT, 4);
	card_cmd(t, MMC_READ_MULTIPLE_BLOCK, 0);
	mmc_sim_card_read(&t->card, t->buf, SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, false);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_DATA);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	expect_clean(test, t);
}

static void card_addressing(struct kunit *test)
{
	struct card_test *bytes = card_ready(test, NULL);
	struct card_test *sectors = card_ready(test, large);

	card_write(bytes, 5, 1, 0x33, 0);
	KUNIT_EXPECT_EQ(test, 5U * SECTOR, card_addr(bytes, 5));
	mmc_sim_store_read(&bytes->card.part[0], 5 * SECTOR, bytes->buf, SECTOR);
	KUNIT_EXPECT_NULL(test, memchr_inv(bytes->buf, 0x33, SECTOR));

	card_write(sectors, 0x7ffff8, 1, 0x44, 0);
	KUNIT_EXPECT_EQ(test, 0x7ffff8U, card_addr(sectors, 0x7ffff8));
	mmc_sim_store_read(&sectors->card.part[0], 0x7ffff8ULL * SECTOR,
			   sectors->buf, SECTOR);
	KUNIT_EXPECT_NULL(test, memchr_inv(sectors->buf, 0x44, SECTOR));
	expect_clean(test, sectors);
}

/* An open-ended read that ends with the last block is legal (6.6.7). */
static void card_read_to_the_end(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);
	u32 last = t->cfg.capacity_mib * 2048 - 1;

	card_cmd(t, MMC_READ_MULTIPLE_BLOCK, card_addr(t, last));
	KUNIT_EXPECT_EQ(test, SECTOR,
			mmc_sim_card_read(&t->card, t->buf, SECTOR));
	mmc_sim_card_data_end(&t->card, t->now, true);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
	expect_clean(test, t);
}

static void card_bad_blocklen(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	KUNIT_EXPECT_FALSE(test, card_cmd(t, MMC_SET_BLOCKLEN, 512).resp[0] &
				 R1_BLOCK_LEN_ERROR);
	KUNIT_EXPECT_TRUE(test, card_cmd(t, MMC_SET_BLOCKLEN, 100).resp[0] &
				R1_BLOCK_LEN_ERROR);
}

static void card_big_sectors(struct kunit *test)
{
	struct card_test *t = card_ready(test, big_sectors);

	card_write(t, 16, 8, 0x66, 0);
	KUNIT_EXPECT_EQ(test, card_count(t, 16, 8, 0x66), 8);
	card_ext_csd(t, t->buf);
	KUNIT_EXPECT_EQ(test, t->buf[EXT_CSD_DATA_SECTOR_SIZE], 1);
	expect_clean(test, t);
}

/* --------------------------------------------------- the bus, and its test */

static void card_bus_test(struct kunit *test)
{
	static const u8 sent[8] = { 0x55, 0xaa };
	static const u8 back[8] = { 0xaa, 0x55 };
	struct card_test *t = card_ready(test, NULL);

	card_switch(t, EXT_CSD_BUS_WIDTH, EXT_CSD_BUS_WIDTH_8);
	card_cmd(t, MMC_BUS_TEST_W, 0);
	mmc_sim_card_write(&t->card, sent, sizeof(sent));
	mmc_sim_card_data_end(&t->card, t->now, true);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_BTST);
	card_cmd(t, MMC_BUS_TEST_R, 0);
	KUNIT_EXPECT_EQ(test, sizeof(back),
			mmc_sim_card_read(&t->card, t->buf, sizeof(back)));
	mmc_sim_card_data_end(&t->card, t->now, true);
	KUNIT_EXPECT_MEMEQ(test, t->buf, back, sizeof(back));
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	expect_clean(test, t);
}

static void card_host_bus(struct card_test *t, u8 timing, u8 width, u32 clock,
			  bool strobe)
{
	struct mmc_ios ios = {
		.timing = timing,
		.bus_width = width,
		.clock = clock,
		.enhanced_strobe = strobe,
	};

	mmc_sim_card_ios(&t->card, &ios);
}

static void card_tuning(struct kunit *test)
{
	struct card_test *t = card_ready(test, fast_bus);

	card_switch(t, EXT_CSD_BUS_WIDTH, EXT_CSD_BUS_WIDTH_8);
	card_switch(t, EXT_CSD_HS_TIMING, EXT_CSD_TIMING_HS200);
	card_host_bus(t, MMC_TIMING_MMC_HS200, MMC_BUS_WIDTH_8, 200000000, false);
	KUNIT_EXPECT_EQ(test, 128U, card_cmd(t, MMC_SEND_TUNING_BLOCK_HS200,
					     0).blksz);
	KUNIT_EXPECT_EQ(test, 128UL, mmc_sim_card_read(&t->card, t->buf, 128));
	mmc_sim_card_data_end(&t->card, t->now, true);
	/* Where the table of the standard for eight lines is not regular */
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(t->buf), 0xffff00ffffff0000);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(t->buf + 8), 0xffffcccccc33cccc);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(t->buf + 120), 0xff7777ff77bbddee);
	expect_clean(test, t);
}

static void card_enhanced_strobe(struct kunit *test)
{
	struct card_test *t = card_ready(test, fast_bus);

	card_switch(t, EXT_CSD_BUS_WIDTH, EXT_CSD_BUS_WIDTH_8);
	card_switch(t, EXT_CSD_HS_TIMING, EXT_CSD_TIMING_HS);
	card_switch(t, EXT_CSD_BUS_WIDTH,
		    EXT_CSD_DDR_BUS_WIDTH_8 | EXT_CSD_BUS_WIDTH_STROBE);
	KUNIT_EXPECT_FALSE(test, card_switch(t, EXT_CSD_HS_TIMING,
					     EXT_CSD_TIMING_HS400) &
				 R1_SWITCH_ERROR);
	card_host_bus(t, MMC_TIMING_MMC_HS400, MMC_BUS_WIDTH_8, 200000000, true);
	card_read(t, 0, 1);
	expect_clean(test, t);
}

/* --------------------------------------------------- cache and power cuts */

static void card_cut_cached(struct kunit *test)
{
	struct card_test *t = card_cached(test, NULL);
	u64 lost;

	card_write(t, 0, MAX_SECTORS, 0x11, 0);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_dirty(&t->card),
			(u64)MAX_SECTORS * SECTOR);
	lost = mmc_sim_card_power_cut(&t->card, t->now);
	KUNIT_EXPECT_GT(test, lost, 0ULL);
	KUNIT_EXPECT_EQ(test, card_cmd(t, MMC_SEND_STATUS, RCA).error, -ETIMEDOUT);

	card_identify(t);
	KUNIT_EXPECT_EQ(test, lost, card_count(t, 0, MAX_SECTORS, 0));
	KUNIT_EXPECT_EQ(test, MAX_SECTORS - lost,
			card_count(t, 0, MAX_SECTORS, 0x11));
	expect_clean(test, t);
}

static void card_cut_flushed(struct kunit *test)
{
	struct card_test *t = card_cached(test, NULL);

	card_write(t, 0, MAX_SECTORS, 0x11, 0);
	card_switch(t, EXT_CSD_FLUSH_CACHE, 1);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_power_cut(&t->card, t->now), 0ULL);
	card_identify(t);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, MAX_SECTORS, 0x11), MAX_SECTORS);
	expect_clean(test, t);
}

/* A flush is worth nothing before it is over. */
static void card_cut_in_flush(struct kunit *test)
{
	struct card_test *t = card_cached(test, slow_flush);

	card_write(t, 0, MAX_SECTORS, 0x11, 0);
	card_cmd(t, MMC_SWITCH, 3 << 24 | EXT_CSD_FLUSH_CACHE << 16 | 1 << 8);
	KUNIT_ASSERT_GT(test, t->card.busy_until, t->now);
	t->now = t->card.busy_until - 1;
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_PRG);
	KUNIT_EXPECT_GT(test, mmc_sim_card_power_cut(&t->card, t->now), 0ULL);
}

static void card_cache_off_flushes(struct kunit *test)
{
	struct card_test *t = card_cached(test, slow_flush);

	card_write(t, 0, 8, 0x11, 0);
	card_cmd(t, MMC_SWITCH, 3 << 24 | EXT_CSD_CACHE_CTRL << 16);
	KUNIT_EXPECT_TRUE(test, mmc_sim_cache_on(&t->card));
	KUNIT_EXPECT_GT(test, mmc_sim_card_dirty(&t->card), 0ULL);
	card_wait(t);
	KUNIT_EXPECT_FALSE(test, mmc_sim_cache_on(&t->card));
	KUNIT_EXPECT_EQ(test, mmc_sim_card_dirty(&t->card), 0ULL);
}

static void card_power_off_notification(struct kunit *test)
{
	struct card_test *t = card_cached(test, NULL);

	card_write(t, 0, 8, 0x11, 0);
	card_switch(t, EXT_CSD_POWER_OFF_NOTIFICATION, EXT_CSD_POWER_OFF_SHORT);
	mmc_sim_card_power(&t->card, false, t->now);
	expect_clean(test, t);
	card_identify(t);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 8, 0x11), 8);
}

static void small_cache(struct mmc_sim_config *cfg)
{
	cfg->cache_kib = 16;
}

static void card_cache_has_a_size(struct kunit *test)
{
	struct card_test *t = card_cached(test, small_cache);

	card_write(t, 0, MAX_SECTORS, 0x11, 0);
	card_status(t);
	KUNIT_EXPECT_LE(test, mmc_sim_card_dirty(&t->card), 16 * 1024ULL);
	KUNIT_EXPECT_GT(test, mmc_sim_card_dirty(&t->card), 0ULL);
}

static void card_background_programming(struct kunit *test)
{
	struct card_test *t = card_cached(test, slow_program);

	card_write(t, 0, MAX_SECTORS, 0x11, 0);
	KUNIT_EXPECT_GT(test, mmc_sim_card_dirty(&t->card), 0ULL);
	t->now += NSEC_PER_SEC;
	card_status(t);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_dirty(&t->card), 0ULL);
}

/* If anything from after a barrier survives, all from before it does. */
static void card_barrier_order(struct kunit *test)
{
	u32 seed, lost_first = 0, kept_second = 0;

	for (seed = 1; seed <= 40; seed++) {
		struct card_test *t = card_cached(test, NULL);
		u32 first, second;

		prandom_seed_state(&t->card.rnd, seed);
		card_switch(t, EXT_CSD_BARRIER_CTRL, 1);
		card_write(t, 32, 32, 0x11, 0);
		card_switch(t, EXT_CSD_FLUSH_CACHE, 2);
		card_write(t, 0, 32, 0x22, 0);
		mmc_sim_card_power_cut(&t->card, t->now);
		card_identify(t);
		first = card_count(t, 32, 32, 0x11);
		second = card_count(t, 0, 32, 0x22);
		if (second)
			KUNIT_EXPECT_EQ_MSG(test, first, 32, "seed %u", seed);
		lost_first += first < 32;
		kept_second += second > 0;
		expect_clean(test, t);
	}
	/* Both have to happen, or nothing was tested. */
	KUNIT_EXPECT_GT(test, lost_first, 0);
	KUNIT_EXPECT_GT(test, kept_second, 0);
}

struct durable_case {
	const char *name;
	u32 flags;
	bool cache;
};

static const struct durable_case durable_cases[] = {
	{ "reliable", RELIABLE, true },
	{ "forced", FORCED, true },
	{ "cache off", 0, false },
};

KUNIT_ARRAY_PARAM_DESC(durable, durable_cases, name);

static void card_durable_write(struct kunit *test)
{
	const struct durable_case *c = test->param_value;
	struct card_test *t = card_ready(test, slow_program);

	card_switch(t, EXT_CSD_CACHE_CTRL, c->cache);
	card_write_nowait(t, 0, 16, 0x11, c->flags);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_dirty(&t->card), 16ULL * SECTOR);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_dirty(&t->card), 0ULL);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_power_cut(&t->card, t->now), 0ULL);
	card_identify(t);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 16, 0x11), 16);
	expect_clean(test, t);
}

static void card_cut_in_write(struct kunit *test)
{
	struct card_test *t = card_ready(test, slow_program);
	u64 lost;

	card_write_nowait(t, 0, 32, 0x11, 0);
	t->now += (t->card.busy_until - t->now) / 2;
	lost = mmc_sim_card_power_cut(&t->card, t->now);
	KUNIT_EXPECT_LE(test, lost, 16ULL);
	card_identify(t);
	/* What was programmed in time is there. */
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 16, 0x11), 16);
	KUNIT_EXPECT_EQ(test, card_count(t, 16, 16, 0), lost);
}

/* --------------------------------------------------------------------- HPI */

static void hpi_by_cmd12(struct mmc_sim_config *cfg)
{
	slow_program(cfg);
	cfg->hpi_cmd = 12;
}

struct hpi_case {
	const char *name;
	u32 eighths;		/* of the programming time */
	u32 sectors;		/* of 16 that are programmed */
	tweak_fn tweak;
	u32 flags;
};

static const struct hpi_case hpi_cases[] = {
	{ "CMD13 at once", 0, 0, slow_program },
	{ "CMD13 half way", 4, 8, slow_program },
	{ "CMD13 late", 7, 14, slow_program },
	{ "CMD13 after the end", 8, 16, slow_program },
	{ "CMD12 half way", 4, 8, hpi_by_cmd12 },
	{ "reliable half way", 4, 8, slow_program, RELIABLE },
};

KUNIT_ARRAY_PARAM_DESC(hpi, hpi_cases, name);

static void card_hpi_write(struct kunit *test)
{
	const struct hpi_case *c = test->param_value;
	struct card_test *t = card_ready(test, c->tweak);
	u64 took;

	card_switch(t, EXT_CSD_HPI_MGMT, 1);
	card_write(t, 0, 16, 0x11, 0);
	card_write_nowait(t, 0, 16, 0x22, c->flags);
	took = t->card.busy_until - t->now;
	KUNIT_ASSERT_GT(test, took, 0ULL);

	t->now += took * c->eighths / 8;
	KUNIT_EXPECT_EQ(test, 0, card_cmd(t, t->cfg.hpi_cmd, RCA | 1).error);
	/* It is over within OUT_OF_INTERRUPT_TIME. */
	t->now += 10 * NSEC_PER_MSEC *
		  t->card.ext_csd[EXT_CSD_OUT_OF_INTERRUPT_TIME];
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	KUNIT_EXPECT_EQ(test, card_prg_sectors(t), c->sectors);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 16, 0x22), c->sectors);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 16, 0x11), 16 - c->sectors);
	expect_clean(test, t);
}

static void card_hpi_not_enabled(struct kunit *test)
{
	struct card_test *t = card_ready(test, slow_program);
	u64 end;

	card_write_nowait(t, 0, 16, 0x22, 0);
	end = t->card.busy_until;
	card_cmd(t, t->cfg.hpi_cmd, RCA | 1);
	KUNIT_EXPECT_EQ(test, t->card.busy_until, end);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 16, 0x22), 16);
}

/* Older data that is still cached must not go with the write. */
static void card_hpi_reliable_over_cached(struct kunit *test)
{
	struct card_test *t = card_cached(test, slow_program);

	card_switch(t, EXT_CSD_HPI_MGMT, 1);
	card_write(t, 0, 16, 0x11, 0);
	card_write_nowait(t, 0, 16, 0x22, RELIABLE);
	card_cmd(t, t->cfg.hpi_cmd, RCA | 1);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 16, 0x11), 16);
	expect_clean(test, t);
}

static void card_hpi_flush(struct kunit *test)
{
	struct card_test *t = card_cached(test, slow_flush);

	card_switch(t, EXT_CSD_HPI_MGMT, 1);
	card_write(t, 0, 16, 0x11, 0);
	card_cmd(t, MMC_SWITCH, 3 << 24 | EXT_CSD_FLUSH_CACHE << 16 | 1 << 8);
	t->now = t->card.busy_until - 1;
	card_cmd(t, t->cfg.hpi_cmd, RCA | 1);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_dirty(&t->card), 16ULL * SECTOR);
	expect_clean(test, t);
}

static void card_hpi_erase(struct kunit *test)
{
	struct card_test *t = card_ready(test, slow_erase);

	card_switch(t, EXT_CSD_HPI_MGMT, 1);
	card_write(t, 0, 1, 0x11, 0);
	card_write(t, 2 * GROUP, 1, 0x11, 0);
	card_erase(t, 0, 4 * GROUP - 1, MMC_ERASE_ARG);
	KUNIT_ASSERT_GT(test, t->card.busy_until, t->now);
	t->now += (t->card.busy_until - t->now) / 4;
	card_cmd(t, t->cfg.hpi_cmd, RCA | 1);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 1, 0), 1);
	KUNIT_EXPECT_EQ(test, card_count(t, 2 * GROUP, 1, 0x11), 1);
	expect_clean(test, t);
}

static void card_hpi_harmless(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	card_switch(t, EXT_CSD_HPI_MGMT, 1);
	KUNIT_EXPECT_EQ(test, 0, card_cmd(t, t->cfg.hpi_cmd, RCA | 1).error);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	expect_clean(test, t);
}

/* ------------------------------------------------------------------- erase */

static void erased_ff(struct mmc_sim_config *cfg)
{
	cfg->erased_byte = 255;
}

struct erase_case {
	const char *name;
	u32 arg;
	u32 from, to;
	u32 erased;		/* of the sectors 8 to 39 */
	tweak_fn tweak;
};

static const struct erase_case erase_cases[] = {
	{ "erase takes the group", MMC_ERASE_ARG, 16, 16, 32 },
	{ "secure erase takes the group", MMC_SECURE_ERASE_ARG, 16, 16, 32 },
	{ "trim takes sectors", MMC_TRIM_ARG, 16, 23, 8 },
	{ "trim to ones", MMC_TRIM_ARG, 16, 23, 8, erased_ff },
	{ "trim of 4 KiB sectors", MMC_TRIM_ARG, 16, 23, 8, big_sectors },
	{ "secure trim 1", MMC_SECURE_TRIM1_ARG, 16, 23, 8 },
	{ "secure trim 2", MMC_SECURE_TRIM2_ARG, 16, 23, 0 },
	{ "discard of a part", MMC_DISCARD_ARG, 16, 23, 0 },
	{ "discard of a group", MMC_DISCARD_ARG, 0, GROUP - 1, 32 },
};

KUNIT_ARRAY_PARAM_DESC(erase, erase_cases, name);

static void card_erase_kinds(struct kunit *test)
{
	const struct erase_case *c = test->param_value;
	struct card_test *t = card_ready(test, c->tweak);

	card_write(t, 8, 32, 0x11, 0);
	card_write(t, GROUP, 8, 0x11, 0);
	card_erase(t, c->from, c->to, c->arg);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, R1_STATUS(card_status(t)), 0U);
	KUNIT_EXPECT_EQ(test, card_count(t, 8, 32, t->cfg.erased_byte), c->erased);
	KUNIT_EXPECT_EQ(test, card_count(t, 8, 32, 0x11), 32 - c->erased);
	KUNIT_EXPECT_EQ(test, card_count(t, GROUP, 8, 0x11), 8);
	expect_clean(test, t);
}

static void card_erase_reset(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	card_cmd(t, MMC_ERASE_GROUP_START, 0);
	/* CMD13 does not break the sequence, anything else does. */
	KUNIT_EXPECT_FALSE(test, card_status(t) & R1_ERASE_RESET);
	KUNIT_EXPECT_TRUE(test, card_cmd(t, MMC_SET_BLOCK_COUNT, 1).resp[0] &
				R1_ERASE_RESET);
	expect_clean(test, t);
}

static void card_erase_forgets_cached(struct kunit *test)
{
	struct card_test *t = card_cached(test, NULL);

	card_write(t, 0, 8, 0x11, 0);
	card_erase(t, 0, 7, MMC_TRIM_ARG);
	card_wait(t);
	card_switch(t, EXT_CSD_FLUSH_CACHE, 1);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 8, 0), 8);
}

static void card_sanitize(struct kunit *test)
{
	struct card_test *t = card_ready(test, slow_erase);

	card_write(t, 0, 8, 0x11, 0);
	card_cmd(t, MMC_SWITCH, 3 << 24 | EXT_CSD_SANITIZE_START << 16 | 1 << 8);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_PRG);
	card_wait(t);
	/* What is mapped stays. */
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 8, 0x11), 8);
	expect_clean(test, t);
}

/* ------------------------------------------------------- boot partitions */

static void card_boot_partitions(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_BOOT0);
	card_write(t, 0, 8, 0x11, 0);
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_BOOT1);
	card_write(t, 0, 8, 0x22, 0);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 8, 0x22), 8);
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_BOOT0);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 8, 0x11), 8);
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_USER);
	KUNIT_EXPECT_EQ(test, card_count(t, 0, 8, 0), 8);
	expect_clean(test, t);
}

struct boot_wp_case {
	const char *name;
	u8 val;
	u8 status;		/* BOOT_WP_STATUS */
	bool boot0, boot1;	/* protected */
	bool cycle0, cycle1;	/* and after a power cycle */
};

static const struct boot_wp_case boot_wp_cases[] = {
	{ "power-on, both", 0x01, 0x05, true, true, false, false },
	{ "permanent, both", 0x04, 0x0a, true, true, true, true },
	{ "power-on, first", 0x81, 0x01, true, false, false, false },
	{ "power-on, second", 0x83, 0x04, false, true, false, false },
	{ "permanent, second", 0x8c, 0x08, false, true, false, true },
};

KUNIT_ARRAY_PARAM_DESC(boot_wp, boot_wp_cases, name);

static bool card_boot_refuses(struct card_test *t, enum mmc_sim_part part)
{
	struct mmc_sim_cmd cmd;

	card_switch(t, EXT_CSD_PART_CONFIG, part);
	cmd = card_write_nowait(t, 0, 1, 0x11, 0);
	card_wait(t);
	return cmd.resp[0] & R1_WP_VIOLATION && cmd.dir == MMC_SIM_NO_DATA;
}

static void card_boot_write_protect(struct kunit *test)
{
	const struct boot_wp_case *c = test->param_value;
	struct card_test *t = card_ready(test, NULL);

	card_switch(t, EXT_CSD_BOOT_WP, c->val);
	card_ext_csd(t, t->buf);
	KUNIT_EXPECT_EQ(test, t->buf[EXT_CSD_BOOT_WP_STATUS], c->status);
	KUNIT_EXPECT_EQ(test, card_boot_refuses(t, MMC_SIM_PART_BOOT0), c->boot0);
	KUNIT_EXPECT_EQ(test, card_boot_refuses(t, MMC_SIM_PART_BOOT1), c->boot1);

	mmc_sim_card_power(&t->card, false, t->now);
	card_identify(t);
	KUNIT_EXPECT_EQ(test, card_boot_refuses(t, MMC_SIM_PART_BOOT0),
			c->cycle0);
	KUNIT_EXPECT_EQ(test, card_boot_refuses(t, MMC_SIM_PART_BOOT1),
			c->cycle1);
}

/* ------------------------------------------------------------------ resets */

static void card_cmd0_keeps_c_p(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	card_switch(t, EXT_CSD_HPI_MGMT, 1);
	card_switch(t, EXT_CSD_ERASE_GROUP_DEF, 1);
	card_switch(t, EXT_CSD_PART_CONFIG, 1 << 3 | MMC_SIM_PART_BOOT0);
	card_switch(t, EXT_CSD_BOOT_WP, EXT_CSD_BOOT_WP_B_PWR_WP_EN);
	card_cmd(t, MMC_GO_IDLE_STATE, 0);
	KUNIT_EXPECT_EQ(test, t->card.state, MMC_SIM_IDLE);
	card_identify(t);
	card_ext_csd(t, t->buf);
	KUNIT_EXPECT_EQ(test, t->buf[EXT_CSD_HPI_MGMT], 0);
	KUNIT_EXPECT_EQ(test, t->buf[EXT_CSD_ERASE_GROUP_DEF], 0);
	/* What to boot from is kept, what to access is not. */
	KUNIT_EXPECT_EQ(test, t->buf[EXT_CSD_PART_CONFIG], 1 << 3);
	KUNIT_EXPECT_EQ(test, t->buf[EXT_CSD_BOOT_WP],
			EXT_CSD_BOOT_WP_B_PWR_WP_EN);
	expect_clean(test, t);
}

static void card_hw_reset(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	mmc_sim_card_hw_reset(&t->card, t->now);
	KUNIT_EXPECT_EQ(test, t->card.state, MMC_SIM_TRAN);
	card_switch(t, EXT_CSD_RST_N_FUNCTION, EXT_CSD_RST_N_ENABLED);
	mmc_sim_card_hw_reset(&t->card, t->now);
	KUNIT_EXPECT_EQ(test, t->card.state, MMC_SIM_IDLE);
	/* It is for good. */
	card_identify(t);
	KUNIT_EXPECT_TRUE(test, card_switch(t, EXT_CSD_RST_N_FUNCTION, 0) &
				R1_SWITCH_ERROR);
}

/* ------------------------------------------------------------------- BKOPS */

static void tiny(struct mmc_sim_config *cfg)
{
	cfg->capacity_mib = 8;
}

static void card_bkops(struct kunit *test)
{
	struct card_test *t = card_ready(test, tiny);
	u32 i;

	card_switch(t, EXT_CSD_BKOPS_EN, EXT_CSD_MANUAL_BKOPS_MASK);
	for (i = 0; i < 32; i++)
		card_write(t, 0, MAX_SECTORS, i, 0);
	KUNIT_EXPECT_FALSE(test, card_status(t) & R1_EXCEPTION_EVENT);
	for (i = 0; i < 32; i++)
		card_write(t, 0, MAX_SECTORS, i, 0);
	KUNIT_EXPECT_TRUE(test, card_status(t) & R1_EXCEPTION_EVENT);
	card_ext_csd(t, t->buf);
	KUNIT_EXPECT_EQ(test, t->buf[EXT_CSD_BKOPS_STATUS], 2);
	KUNIT_EXPECT_EQ(test, t->buf[EXT_CSD_EXP_EVENTS_STATUS],
			EXT_CSD_URGENT_BKOPS);
	card_switch(t, EXT_CSD_BKOPS_START, 1);
	KUNIT_EXPECT_FALSE(test, card_status(t) & R1_EXCEPTION_EVENT);
	expect_clean(test, t);
}

/* ----------------------------------------------------------- command queue */

static void card_queue_read(struct kunit *test)
{
	struct card_test *t = card_ready(test, slow_read);

	card_write(t, 40, 8, 0x11, 0);
	card_switch(t, EXT_CSD_CMDQ_MODE_EN, 1);
	card_queue(t, 3, TASK_READ, 40, 8);
	KUNIT_EXPECT_EQ(test, card_qsr(t), 0U);
	t->now = t->card.task[3].ready;
	KUNIT_EXPECT_EQ(test, card_qsr(t), BIT(3));

	memset(t->buf, 0, 8 * SECTOR);
	KUNIT_EXPECT_EQ(test, 8U, card_cmd(t, MMC_EXECUTE_READ_TASK,
					   TASK(3)).blocks);
	/* It is no longer ready, it runs. */
	KUNIT_EXPECT_EQ(test, card_qsr(t), 0U);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_data_start(&t->card, t->now), t->now);
	mmc_sim_card_read(&t->card, t->buf, 8 * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
	KUNIT_EXPECT_NULL(test, memchr_inv(t->buf, 0x11, 8 * SECTOR));
	KUNIT_EXPECT_FALSE(test, t->card.task[3].queued);
	expect_clean(test, t);
}

static void one_channel(struct mmc_sim_config *cfg)
{
	cfg->channels = 1;
	cfg->page_kib = 4;
	cfg->read_us = 1000;
}

/* Tasks of high priority are ready before those that were queued first. */
static void card_queue_priority(struct kunit *test)
{
	struct card_test *t = card_queueing(test, one_channel);
	u64 ready[4];
	u32 i;

	for (i = 0; i < 3; i++)
		card_queue(t, i, TASK_READ, 8 * i, 8);
	for (i = 0; i < 3; i++)
		ready[i] = t->card.task[i].ready;
	KUNIT_EXPECT_EQ(test, ready[2] - ready[1], 1000000);

	/* The first one has begun. */
	t->now++;
	card_queue(t, 3, TASK_READ | TASK_PRIO, 80, 8);
	KUNIT_EXPECT_EQ(test, t->card.task[0].ready, ready[0]);
	KUNIT_EXPECT_EQ(test, t->card.task[3].ready, ready[1]);
	KUNIT_EXPECT_EQ(test, t->card.task[1].ready, ready[2]);
	KUNIT_EXPECT_EQ(test, t->card.task[2].ready, ready[2] + 1000000);

	t->now = ready[1];
	KUNIT_EXPECT_EQ(test, card_qsr(t), BIT(0) | BIT(3));
	/* What is ready is not taken back. */
	card_queue(t, 4, TASK_READ | TASK_PRIO, 160, 8);
	KUNIT_EXPECT_EQ(test, card_qsr(t), BIT(0) | BIT(3));
	expect_clean(test, t);
}

static void card_queue_write(struct kunit *test)
{
	struct card_test *t = card_queueing(test, NULL);

	card_queue(t, 31, 0, 8, 4);
	KUNIT_EXPECT_EQ(test, card_qsr(t), BIT(31));
	memset(t->buf, 0x44, 4 * SECTOR);
	card_cmd(t, MMC_EXECUTE_WRITE_TASK, TASK(31));
	mmc_sim_card_write(&t->card, t->buf, 4 * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_qsr(t), 0U);
	card_switch(t, EXT_CSD_CMDQ_MODE_EN, 0);
	KUNIT_EXPECT_EQ(test, card_count(t, 8, 4, 0x44), 4);
	expect_clean(test, t);
}

/* A task can be queued while another one moves its data. */
static void card_queue_during_data(struct kunit *test)
{
	struct card_test *t = card_queueing(test, NULL);

	card_queue(t, 0, TASK_READ, 0, 1);
	card_cmd(t, MMC_EXECUTE_READ_TASK, TASK(0));
	card_queue(t, 1, TASK_READ, 8, 1);
	KUNIT_EXPECT_EQ(test, card_qsr(t), BIT(1));
	KUNIT_EXPECT_EQ(test, SECTOR,
			mmc_sim_card_read(&t->card, t->buf, SECTOR));
	mmc_sim_card_data_end(&t->card, t->now, true);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	expect_clean(test, t);
}

static void card_queue_flush(struct kunit *test)
{
	struct card_test *t = card_cached(test, NULL);

	card_write(t, 0, 8, 0x11, 0);
	card_switch(t, EXT_CSD_CMDQ_MODE_EN, 1);
	KUNIT_EXPECT_FALSE(test, card_switch(t, EXT_CSD_FLUSH_CACHE, 1) &
				 R1_SWITCH_ERROR);
	KUNIT_EXPECT_EQ(test, mmc_sim_card_dirty(&t->card), 0ULL);
	expect_clean(test, t);
}

static void card_queue_discard(struct kunit *test)
{
	struct card_test *t = card_queueing(test, NULL);

	card_queue(t, 0, TASK_READ, 0, 1);
	card_queue(t, 1, TASK_READ, 0, 1);
	card_queue(t, 2, TASK_READ, 0, 1);
	card_cmd(t, MMC_CMDQ_TASK_MGMT, TASK(1) | 2);
	KUNIT_EXPECT_EQ(test, card_qsr(t), BIT(0) | BIT(2));
	card_cmd(t, MMC_CMDQ_TASK_MGMT, 1);
	KUNIT_EXPECT_EQ(test, card_qsr(t), 0U);
	expect_clean(test, t);
}

/* What a host does that lost track of a task: CMD12, then CMD48 */
static void card_queue_recovery(struct kunit *test)
{
	struct card_test *t = card_queueing(test, NULL);

	card_queue(t, 0, 0, 0, 4);
	card_queue(t, 1, TASK_READ, 0, 1);
	card_cmd(t, MMC_EXECUTE_WRITE_TASK, TASK(0));
	mmc_sim_card_write(&t->card, t->buf, SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, false);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_RCV);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
	card_wait(t);
	KUNIT_EXPECT_EQ(test, card_state(t), MMC_SIM_TRAN);
	KUNIT_EXPECT_EQ(test, 0, card_cmd(t, MMC_CMDQ_TASK_MGMT, 1).error);
	KUNIT_EXPECT_EQ(test, card_qsr(t), 0U);
	expect_clean(test, t);
}

/* ------------------------------------------------------------------ SWITCH */

struct switch_case {
	u8 index, val;
	int rule;		/* -1: legal */
};

static const struct switch_case switch_cases[] = {
	{ EXT_CSD_HPI_MGMT, 1, -1 },
	{ EXT_CSD_HPI_MGMT, 2, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_REV, 7, MMC_SIM_RULE_SWITCH_RO },
	{ EXT_CSD_BOOT_WP_STATUS, 1, MMC_SIM_RULE_SWITCH_RO },
	{ EXT_CSD_PARTITION_SETTING_COMPLETED, 1, MMC_SIM_RULE_SWITCH_RO },
	{ EXT_CSD_POWER_OFF_NOTIFICATION, EXT_CSD_POWER_ON, -1 },
	{ EXT_CSD_POWER_OFF_NOTIFICATION, 5, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_PART_CONFIG, 0x07, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_PART_CONFIG, 0x48, -1 },
	{ EXT_CSD_PART_CONFIG, 0x80, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_BUS_WIDTH, EXT_CSD_BUS_WIDTH_8, -1 },
	{ EXT_CSD_BUS_WIDTH, 3, MMC_SIM_RULE_SWITCH_VALUE },
	/* Dual data rate needs high speed first, HS400 needs it all. */
	{ EXT_CSD_BUS_WIDTH, EXT_CSD_DDR_BUS_WIDTH_8, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_HS_TIMING, EXT_CSD_TIMING_HS, -1 },
	{ EXT_CSD_HS_TIMING, EXT_CSD_TIMING_HS200, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_HS_TIMING, EXT_CSD_TIMING_HS400, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_BOOT_WP, 0x41, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_RST_N_FUNCTION, 3, MMC_SIM_RULE_SWITCH_VALUE },
	{ EXT_CSD_CACHE_CTRL, 1, -1 },
};

static void switch_desc(const struct switch_case *c, char *desc)
{
	sprintf(desc, "byte %u to %#x", c->index, c->val);
}

KUNIT_ARRAY_PARAM(switch, switch_cases, switch_desc);

static void card_switch_values(struct kunit *test)
{
	const struct switch_case *c = test->param_value;
	struct card_test *t = card_ready(test, fast_bus);
	u8 old = t->card.ext_csd[c->index];
	u32 status = card_switch(t, c->index, c->val);

	KUNIT_EXPECT_EQ(test, !!(status & R1_SWITCH_ERROR), c->rule >= 0);
	KUNIT_EXPECT_EQ(test, t->card.ext_csd[c->index],
			c->rule < 0 ? c->val : old);
	expect_rule(test, t, c->rule);
}

static void card_switch_bits(struct kunit *test)
{
	struct card_test *t = card_ready(test, NULL);

	card_cmd(t, MMC_SWITCH, MMC_SWITCH_MODE_SET_BITS << 24 |
		 EXT_CSD_PART_CONFIG << 16 | 0x48 << 8);
	KUNIT_EXPECT_EQ(test, t->card.ext_csd[EXT_CSD_PART_CONFIG], 0x48);
	card_cmd(t, MMC_SWITCH, MMC_SWITCH_MODE_CLEAR_BITS << 24 |
		 EXT_CSD_PART_CONFIG << 16 | 0x40 << 8);
	KUNIT_EXPECT_EQ(test, t->card.ext_csd[EXT_CSD_PART_CONFIG], 0x08);
	expect_clean(test, t);
}

/* ------------------------------------------------------------------- rules */

/*
 * Each rule of the card is broken on purpose. The row says how the card is set
 * up, @seed breaks the rule, and that and no other must be counted, once.
 */
struct rule_case {
	const char *name;
	enum mmc_sim_rule rule;
	struct card_test *(*setup)(struct kunit *test, tweak_fn tweak);
	tweak_fn tweak;
	void (*seed)(struct card_test *t);
};

static void seed_state(struct card_test *t)
{
	card_cmd(t, MMC_SEND_CSD, RCA);
}

static void seed_state_tuning(struct card_test *t)
{
	card_cmd(t, MMC_SEND_TUNING_BLOCK_HS200, 0);
}

static void seed_unknown(struct card_test *t)
{
	card_cmd(t, MMC_APP_CMD, RCA);
}

static void seed_unknown_packed(struct card_test *t)
{
	card_cmd(t, MMC_SET_BLOCK_COUNT, BIT(30) | 4);
}

static void seed_class_read(struct card_test *t)
{
	card_cmd(t, MMC_READ_SINGLE_BLOCK, 0);
}

static void seed_class_count(struct card_test *t)
{
	card_cmd(t, MMC_SET_BLOCK_COUNT, 1);
}

static void seed_cmdq_off(struct card_test *t)
{
	card_cmd(t, MMC_QUE_TASK_PARAMS, 1);
}

static void seed_cmdq_off_mgmt(struct card_test *t)
{
	card_cmd(t, MMC_CMDQ_TASK_MGMT, 1);
}

static void seed_busy_id(struct card_test *t)
{
	card_queue(t, 2, TASK_READ, 0, 1);
	card_cmd(t, MMC_QUE_TASK_PARAMS, TASK(2) | TASK_READ | 1);
}

static void seed_pair_first(struct card_test *t)
{
	card_cmd(t, MMC_QUE_TASK_ADDR, 0);
}

static void seed_pair_second(struct card_test *t)
{
	card_cmd(t, MMC_QUE_TASK_PARAMS, TASK(0) | 1);
	card_status(t);
	card_queue(t, 1, 0, 0, 1);
}

static void seed_not_ready(struct card_test *t)
{
	card_queue(t, 0, TASK_READ, 0, 1);
	card_cmd(t, MMC_EXECUTE_READ_TASK, TASK(0));
}

static void seed_not_queued(struct card_test *t)
{
	card_cmd(t, MMC_EXECUTE_READ_TASK, TASK(0));
}

static void seed_other_direction(struct card_test *t)
{
	card_queue(t, 0, TASK_READ, 0, 1);
	card_cmd(t, MMC_EXECUTE_WRITE_TASK, TASK(0));
}

static void seed_depth(struct card_test *t)
{
	card_cmd(t, MMC_QUE_TASK_PARAMS, TASK(4) | 1);
}

static void seed_not_empty(struct card_test *t)
{
	card_queue(t, 0, TASK_READ, 0, 1);
	card_cmd(t, MMC_SEND_EXT_CSD, 0);
}

static void seed_not_empty_flush(struct card_test *t)
{
	card_queue(t, 0, TASK_READ, 0, 1);
	card_cmd(t, MMC_SWITCH, 3 << 24 | EXT_CSD_FLUSH_CACHE << 16 | 1 << 8);
}

static void seed_rpmb_queue_first(struct card_test *t)
{
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_RPMB);
}

static void seed_rpmb_first(struct card_test *t)
{
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_RPMB);
	card_switch(t, EXT_CSD_CMDQ_MODE_EN, 1);
}

static void seed_range_start(struct card_test *t)
{
	card_cmd(t, MMC_READ_SINGLE_BLOCK,
		 card_addr(t, t->cfg.capacity_mib * 2048));
}

static void seed_range_count(struct card_test *t)
{
	card_read(t, t->cfg.capacity_mib * 2048 - 1, 2);
}

static void seed_range_open(struct card_test *t)
{
	card_cmd(t, MMC_READ_MULTIPLE_BLOCK,
		 card_addr(t, t->cfg.capacity_mib * 2048 - 1));
	mmc_sim_card_read(&t->card, t->buf, 2 * SECTOR);
	mmc_sim_card_read(&t->card, t->buf, SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, false);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
}

static void seed_range_task(struct card_test *t)
{
	card_queue(t, 0, 0, t->cfg.capacity_mib * 2048 - 1, 2);
}

static void seed_range_erase(struct card_test *t)
{
	card_cmd(t, MMC_ERASE_GROUP_START,
		 card_addr(t, t->cfg.capacity_mib * 2048));
}

static void seed_align_byte(struct card_test *t)
{
	card_cmd(t, MMC_READ_SINGLE_BLOCK, 1);
}

static void seed_align_start(struct card_test *t)
{
	card_read(t, 4, 8);
}

static void seed_align_count(struct card_test *t)
{
	card_cmd(t, MMC_READ_SINGLE_BLOCK, 0);
}

static void seed_align_open(struct card_test *t)
{
	card_cmd(t, MMC_WRITE_MULTIPLE_BLOCK, 0);
	mmc_sim_card_write(&t->card, t->buf, 3 * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
}

static void seed_align_trim(struct card_test *t)
{
	card_erase(t, 0, 3, MMC_TRIM_ARG);
}

static void seed_count_less(struct card_test *t)
{
	card_cmd(t, MMC_SET_BLOCK_COUNT, 4);
	card_cmd(t, MMC_WRITE_MULTIPLE_BLOCK, 0);
	mmc_sim_card_write(&t->card, t->buf, 3 * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
	card_cmd(t, MMC_STOP_TRANSMISSION, 0);
}

static void seed_count_more(struct card_test *t)
{
	card_cmd(t, MMC_SET_BLOCK_COUNT, 2);
	card_cmd(t, MMC_READ_MULTIPLE_BLOCK, 0);
	mmc_sim_card_read(&t->card, t->buf, 3 * SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
}

static void seed_count_task(struct card_test *t)
{
	card_queue(t, 0, TASK_READ, 0, 4);
	card_cmd(t, MMC_EXECUTE_READ_TASK, TASK(0));
	mmc_sim_card_read(&t->card, t->buf, SECTOR);
	mmc_sim_card_data_end(&t->card, t->now, true);
}

static void seed_erase_end(struct card_test *t)
{
	card_cmd(t, MMC_ERASE_GROUP_END, 0);
}

static void seed_erase_order(struct card_test *t)
{
	card_cmd(t, MMC_ERASE_GROUP_START, card_addr(t, 8));
	card_cmd(t, MMC_ERASE_GROUP_END, card_addr(t, 7));
}

static void seed_erase(struct card_test *t)
{
	card_cmd(t, MMC_ERASE_GROUP_START, 0);
	card_cmd(t, MMC_ERASE, 0);
}

static void seed_write_prot(struct card_test *t)
{
	card_switch(t, EXT_CSD_BOOT_WP, EXT_CSD_BOOT_WP_B_PWR_WP_EN);
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_BOOT1);
	card_write(t, 0, 1, 0x11, 0);
}

static void seed_write_prot_erase(struct card_test *t)
{
	card_switch(t, EXT_CSD_BOOT_WP, EXT_CSD_BOOT_WP_B_PWR_WP_EN);
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_BOOT0);
	card_erase(t, 0, 7, MMC_TRIM_ARG);
}

static void seed_switch_ro(struct card_test *t)
{
	card_switch(t, EXT_CSD_SEC_CNT - 1, 1);
}

static void seed_switch_value(struct card_test *t)
{
	card_switch(t, EXT_CSD_ERASE_GROUP_DEF, 2);
}

static void seed_barrier_not_enabled(struct card_test *t)
{
	card_switch(t, EXT_CSD_FLUSH_CACHE, 2);
}

static void seed_command_set(struct card_test *t)
{
	card_cmd(t, MMC_SWITCH, 2);
}

static void seed_busy(struct card_test *t)
{
	card_write_nowait(t, 0, 8, 0x11, 0);
	card_cmd(t, MMC_READ_SINGLE_BLOCK, 0);
}

static void seed_flush_off(struct card_test *t)
{
	card_switch(t, EXT_CSD_FLUSH_CACHE, 1);
}

static void seed_power_off(struct card_test *t)
{
	card_write(t, 0, 8, 0x11, 0);
	mmc_sim_card_power(&t->card, false, t->now);
}

static void seed_reset_cmd0(struct card_test *t)
{
	card_write(t, 0, 8, 0x11, 0);
	card_cmd(t, MMC_GO_IDLE_STATE, 0);
}

static void seed_bus_width(struct card_test *t)
{
	card_host_bus(t, MMC_TIMING_LEGACY, MMC_BUS_WIDTH_8, 400000, false);
	card_read(t, 0, 1);
}

static void seed_bus_timing(struct card_test *t)
{
	card_switch(t, EXT_CSD_HS_TIMING, EXT_CSD_TIMING_HS);
	card_host_bus(t, MMC_TIMING_LEGACY, MMC_BUS_WIDTH_1, 400000, false);
	card_read(t, 0, 1);
}

static void seed_bus_clock(struct card_test *t)
{
	card_host_bus(t, MMC_TIMING_LEGACY, MMC_BUS_WIDTH_1, 52000000, false);
	card_read(t, 0, 1);
}

static void seed_rpmb_no_count(struct card_test *t)
{
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_RPMB);
	card_cmd(t, MMC_READ_MULTIPLE_BLOCK, 0);
}

static void seed_rpmb_erase(struct card_test *t)
{
	card_switch(t, EXT_CSD_PART_CONFIG, MMC_SIM_PART_RPMB);
	card_cmd(t, MMC_ERASE_GROUP_START, 0);
}

#define RULE(id, text, setup, tweak, seed) \
	{ text, MMC_SIM_RULE_##id, setup, tweak, seed }

static const struct rule_case rule_cases[] = {
	RULE(STATE, "CMD9 in tran", card_ready, NULL, seed_state),
	RULE(STATE, "CMD21 without HS200", card_ready, NULL, seed_state_tuning),
	RULE(UNKNOWN, "CMD55", card_ready, NULL, seed_unknown),
	RULE(UNKNOWN, "packed command", card_ready, NULL, seed_unknown_packed),
	RULE(CLASS_CQ_ON, "CMD17", card_queueing, NULL, seed_class_read),
	RULE(CLASS_CQ_ON, "CMD23", card_queueing, NULL, seed_class_count),
	RULE(CMDQ_OFF, "CMD44", card_ready, NULL, seed_cmdq_off),
	RULE(CMDQ_OFF, "CMD48", card_ready, NULL, seed_cmdq_off_mgmt),
	RULE(CMDQ_BUSY_ID, "CMD44 twice", card_queueing, NULL, seed_busy_id),
	RULE(CMDQ_PAIR, "CMD45 alone", card_queueing, NULL, seed_pair_first),
	RULE(CMDQ_PAIR, "CMD44 alone", card_queueing, NULL, seed_pair_second),
	RULE(CMDQ_NOT_READY, "too early", card_queueing, slow_read,
	     seed_not_ready),
	RULE(CMDQ_NOT_READY, "not queued", card_queueing, NULL,
	     seed_not_queued),
	RULE(CMDQ_NOT_READY, "other direction", card_queueing, NULL,
	     seed_other_direction),
	RULE(CMDQ_DEPTH, "task 4 of 4", card_queueing, shallow, seed_depth),
	RULE(CMDQ_NOT_EMPTY, "CMD8", card_queueing, NULL, seed_not_empty),
	RULE(CMDQ_NOT_EMPTY, "flush", card_queueing, NULL,
	     seed_not_empty_flush),
	RULE(CQ_RPMB, "queue, then RPMB", card_queueing, NULL,
	     seed_rpmb_queue_first),
	RULE(CQ_RPMB, "RPMB, then queue", card_ready, NULL, seed_rpmb_first),
	RULE(RANGE, "start", card_ready, NULL, seed_range_start),
	RULE(RANGE, "start, sector address", card_ready, large,
	     seed_range_start),
	RULE(RANGE, "count", card_ready, NULL, seed_range_count),
	RULE(RANGE, "open-ended", card_ready, NULL, seed_range_open),
	RULE(RANGE, "task", card_queueing, NULL, seed_range_task),
	RULE(RANGE, "erase", card_ready, NULL, seed_range_erase),
	RULE(ALIGN, "byte address", card_ready, NULL, seed_align_byte),
	RULE(ALIGN, "4 KiB start", card_ready, big_sectors, seed_align_start),
	RULE(ALIGN, "4 KiB count", card_ready, big_sectors, seed_align_count),
	RULE(ALIGN, "4 KiB open-ended", card_ready, big_sectors,
	     seed_align_open),
	RULE(ALIGN, "4 KiB trim", card_ready, big_sectors, seed_align_trim),
	RULE(COUNT, "fewer", card_ready, NULL, seed_count_less),
	RULE(COUNT, "more", card_ready, NULL, seed_count_more),
	RULE(COUNT, "task", card_queueing, NULL, seed_count_task),
	RULE(ERASE_SEQ, "CMD36 first", card_ready, NULL, seed_erase_end),
	RULE(ERASE_SEQ, "end before start", card_ready, NULL, seed_erase_order),
	RULE(ERASE_SEQ, "CMD38 without CMD36", card_ready, NULL, seed_erase),
	RULE(WRITE_PROT, "write", card_ready, NULL, seed_write_prot),
	RULE(WRITE_PROT, "erase", card_ready, NULL, seed_write_prot_erase),
	RULE(SWITCH_RO, "read-only byte", card_ready, NULL, seed_switch_ro),
	RULE(SWITCH_VALUE, "reserved value", card_ready, NULL,
	     seed_switch_value),
	RULE(SWITCH_VALUE, "barrier not enabled", card_cached, NULL,
	     seed_barrier_not_enabled),
	RULE(SWITCH_VALUE, "command set", card_ready, NULL, seed_command_set),
	RULE(BUSY, "CMD17 in prg", card_ready, slow_program, seed_busy),
	RULE(CACHE_OFF_FLUSH, "off", card_ready, NULL, seed_flush_off),
	RULE(CACHE_OFF_FLUSH, "absent", card_ready, uncached, seed_flush_off),
	RULE(POWER_OFF_DIRTY, "power off", card_cached, NULL, seed_power_off),
	RULE(POWER_OFF_DIRTY, "CMD0", card_cached, NULL, seed_reset_cmd0),
	RULE(BUS_MODE, "width", card_ready, NULL, seed_bus_width),
	RULE(BUS_MODE, "timing", card_ready, fast_bus, seed_bus_timing),
	RULE(BUS_MODE, "clock", card_ready, NULL, seed_bus_clock),
	RULE(RPMB_FRAME, "read without CMD23", card_ready, NULL,
	     seed_rpmb_no_count),
	RULE(RPMB_FRAME, "erase", card_ready, NULL, seed_rpmb_erase),
};

static void rule_desc(const struct rule_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: %s",
		 mmc_sim_rule_name(c->rule), c->name);
}

KUNIT_ARRAY_PARAM(rule, rule_cases, rule_desc);

static void card_rules(struct kunit *test)
{
	const struct rule_case *c = test->param_value;
	struct card_test *t = c->setup(test, c->tweak);

	expect_clean(test, t);
	c->seed(t);
	expect_rule(test, t, c->rule);
}

static struct kunit_case card_cases[] = {
	KUNIT_CASE(card_identification),
	KUNIT_CASE(card_wrong_voltage),
	KUNIT_CASE(card_probe_silent),
	KUNIT_CASE(card_register_crc),
	KUNIT_CASE_PARAM(card_capacity, capacity_gen_params),
	KUNIT_CASE(card_ext_csd_fields),
	KUNIT_CASE(card_sector_addressing_needs_host),
	KUNIT_CASE(card_illegal_reported_once),
	KUNIT_CASE(card_switch_error_after),
	KUNIT_CASE(card_busy_states),
	KUNIT_CASE(card_sleep_awake),
	KUNIT_CASE(card_single_block),
	KUNIT_CASE(card_open_ended),
	KUNIT_CASE(card_pieces),
	KUNIT_CASE(card_write_cut),
	KUNIT_CASE(card_single_write_cut),
	KUNIT_CASE(card_read_cut),
	KUNIT_CASE(card_addressing),
	KUNIT_CASE(card_read_to_the_end),
	KUNIT_CASE(card_bad_blocklen),
	KUNIT_CASE(card_big_sectors),
	KUNIT_CASE(card_bus_test),
	KUNIT_CASE(card_tuning),
	KUNIT_CASE(card_enhanced_strobe),
	KUNIT_CASE(card_cut_cached),
	KUNIT_CASE(card_cut_flushed),
	KUNIT_CASE(card_cut_in_flush),
	KUNIT_CASE(card_cache_off_flushes),
	KUNIT_CASE(card_power_off_notification),
	KUNIT_CASE(card_cache_has_a_size),
	KUNIT_CASE(card_background_programming),
	KUNIT_CASE(card_barrier_order),
	KUNIT_CASE_PARAM(card_durable_write, durable_gen_params),
	KUNIT_CASE(card_cut_in_write),
	KUNIT_CASE_PARAM(card_hpi_write, hpi_gen_params),
	KUNIT_CASE(card_hpi_not_enabled),
	KUNIT_CASE(card_hpi_reliable_over_cached),
	KUNIT_CASE(card_hpi_flush),
	KUNIT_CASE(card_hpi_erase),
	KUNIT_CASE(card_hpi_harmless),
	KUNIT_CASE_PARAM(card_erase_kinds, erase_gen_params),
	KUNIT_CASE(card_erase_reset),
	KUNIT_CASE(card_erase_forgets_cached),
	KUNIT_CASE(card_sanitize),
	KUNIT_CASE(card_boot_partitions),
	KUNIT_CASE_PARAM(card_boot_write_protect, boot_wp_gen_params),
	KUNIT_CASE(card_cmd0_keeps_c_p),
	KUNIT_CASE(card_hw_reset),
	KUNIT_CASE(card_bkops),
	KUNIT_CASE(card_queue_read),
	KUNIT_CASE(card_queue_priority),
	KUNIT_CASE(card_queue_write),
	KUNIT_CASE(card_queue_during_data),
	KUNIT_CASE(card_queue_flush),
	KUNIT_CASE(card_queue_discard),
	KUNIT_CASE(card_queue_recovery),
	KUNIT_CASE_PARAM(card_switch_values, switch_gen_params),
	KUNIT_CASE(card_switch_bits),
	KUNIT_CASE_PARAM(card_rules, rule_gen_params),
	{}
};

static struct kunit_suite card_suite = {
	.name = "mmc_sim_card",
	.test_cases = card_cases,
};

kunit_test_suite(card_suite);
