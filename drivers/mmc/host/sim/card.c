// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: the card: its states, commands and data, and what it forbids.
 *
 * The card is passive. A command or a question brings the present time with it,
 * and mmc_sim_card_sync() first makes up for what happened since the last one:
 * programming that ended, cached data that reached the flash in between.
 *
 * A write goes into the buffer of its store. What stays there is the volatile
 * cache; when the cache is off, or the write is reliable or forced, the card is
 * busy until it is programmed and only then commits it. So a power cut or HPI
 * finds at any moment just as much programmed as the time allows.
 */

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "card.h"

/* Voltages that the card works with: 1.70 to 1.95 V and 2.7 to 3.6 V. */
#define MMC_SIM_OCR		0x00ff8080
#define MMC_SIM_OCR_VOLTAGES	0x00ffff80
#define MMC_SIM_OCR_SECTOR	BIT(30)

#define MMC_SIM_GO_PRE_IDLE	0xf0f0f0f0

#define MMC_SIM_CMD23_COUNT	0xffff
#define MMC_SIM_CMD23_FORCED	BIT(24)
#define MMC_SIM_CMD23_PACKED	BIT(30)
#define MMC_SIM_CMD23_RELIABLE	BIT(31)

#define MMC_SIM_CMD44_COUNT	0xffff
#define MMC_SIM_CMD44_PRIORITY	BIT(23)
#define MMC_SIM_CMD44_FORCED	BIT(24)
#define MMC_SIM_CMD44_READ	BIT(30)
#define MMC_SIM_CMD44_RELIABLE	BIT(31)

#define MMC_SIM_CMD13_SQS	BIT(15)
#define MMC_SIM_CMD5_SLEEP	BIT(15)
#define MMC_SIM_HPI		BIT(0)

#define MMC_SIM_DISCARD_QUEUE	1
#define MMC_SIM_DISCARD_TASK	2

#define S(state)	BIT(MMC_SIM_##state)

/* Properties of commands, for the checks that they have in common */
#define F_RCA		BIT(0)	/* has the card's address in its argument */
#define F_DATA		BIT(1)	/* has a data phase that follows EXT_CSD */
#define F_CLASS_2_4	BIT(2)	/* not with the queue on (6.6.39.1) */
#define F_QUEUE		BIT(3)	/* only with the queue on */
#define F_ANY_QUEUE	BIT(4)	/* also while tasks are queued */
#define F_ERASE		BIT(5)	/* does not break an erase sequence (6.6.13) */
#define F_COUNT		BIT(6)	/* keeps what CMD23 said */
#define F_NO_RPMB	BIT(7)	/* not while RPMB is selected (6.6.22) */
#define F_SPLIT		BIT(8)	/* may come between CMD44 and CMD45 */

/*
 * States in which a command is legal (table 56), and its properties. CMD12 is
 * legal in the transfer and programming states because a host that lost track
 * has no other way to end what may still be going on. Commands without states
 * are not implemented.
 */
static const struct mmc_sim_rule_row {
	u16 states;
	u16 flags;
} mmc_sim_commands[64] = {
	[MMC_GO_IDLE_STATE] = {
		S(IDLE) | S(READY) | S(IDENT) | S(STBY) | S(TRAN) | S(DATA) |
		S(RCV) | S(PRG) | S(DIS) | S(BTST) | S(SLP),
		F_ANY_QUEUE | F_SPLIT },
	[MMC_SEND_OP_COND] = { S(IDLE) },
	[MMC_ALL_SEND_CID] = { S(READY) },
	[MMC_SET_RELATIVE_ADDR] = { S(IDENT) },
	[MMC_SET_DSR] = { S(STBY) },
	[MMC_SLEEP_AWAKE] = { S(STBY) | S(SLP), F_RCA },
	[MMC_SWITCH] = { S(TRAN) },
	[MMC_SELECT_CARD] = { S(STBY) | S(TRAN) | S(DATA) | S(PRG) | S(DIS) },
	[MMC_SEND_EXT_CSD] = { S(TRAN), F_DATA },
	[MMC_SEND_CSD] = { S(STBY), F_RCA },
	[MMC_SEND_CID] = { S(STBY), F_RCA },
	[MMC_STOP_TRANSMISSION] = {
		S(TRAN) | S(DATA) | S(RCV) | S(PRG) | S(DIS),
		F_ANY_QUEUE | F_SPLIT },
	[MMC_SEND_STATUS] = {
		S(STBY) | S(TRAN) | S(DATA) | S(RCV) | S(PRG) | S(DIS) |
		S(BTST), F_RCA | F_ANY_QUEUE | F_ERASE | F_COUNT | F_SPLIT },
	[MMC_BUS_TEST_R] = { S(BTST) },
	[MMC_GO_INACTIVE_STATE] = {
		S(STBY) | S(TRAN) | S(DATA) | S(RCV) | S(PRG) | S(DIS) |
		S(BTST), F_RCA | F_ANY_QUEUE | F_SPLIT },
	[MMC_SET_BLOCKLEN] = { S(TRAN), F_CLASS_2_4 },
	[MMC_READ_SINGLE_BLOCK] = { S(TRAN), F_DATA | F_CLASS_2_4 },
	[MMC_READ_MULTIPLE_BLOCK] = { S(TRAN), F_DATA | F_CLASS_2_4 | F_COUNT },
	[MMC_BUS_TEST_W] = { S(TRAN) },
	[MMC_SEND_TUNING_BLOCK_HS200] = { S(TRAN), F_DATA },
	[MMC_SET_BLOCK_COUNT] = { S(TRAN), F_CLASS_2_4 },
	[MMC_WRITE_BLOCK] = { S(TRAN), F_DATA | F_CLASS_2_4 },
	[MMC_WRITE_MULTIPLE_BLOCK] = { S(TRAN), F_DATA | F_CLASS_2_4 | F_COUNT },
	[MMC_ERASE_GROUP_START] = { S(TRAN), F_ERASE | F_NO_RPMB },
	[MMC_ERASE_GROUP_END] = { S(TRAN), F_ERASE | F_NO_RPMB },
	[MMC_ERASE] = { S(TRAN), F_ERASE | F_NO_RPMB },
	[MMC_QUE_TASK_PARAMS] = {
		S(TRAN) | S(DATA) | S(RCV) | S(PRG), F_QUEUE | F_ANY_QUEUE },
	[MMC_QUE_TASK_ADDR] = {
		S(TRAN) | S(DATA) | S(RCV) | S(PRG),
		F_QUEUE | F_ANY_QUEUE | F_SPLIT },
	[MMC_EXECUTE_READ_TASK] = { S(TRAN), F_DATA | F_QUEUE | F_ANY_QUEUE },
	[MMC_EXECUTE_WRITE_TASK] = { S(TRAN), F_DATA | F_QUEUE | F_ANY_QUEUE },
	[MMC_CMDQ_TASK_MGMT] = {
		S(TRAN) | S(DATA) | S(RCV) | S(PRG),
		F_QUEUE | F_ANY_QUEUE | F_SPLIT },
};

static const char * const mmc_sim_state_names[] = {
	[MMC_SIM_IDLE] = "idle",
	[MMC_SIM_READY] = "ready",
	[MMC_SIM_IDENT] = "ident",
	[MMC_SIM_STBY] = "stby",
	[MMC_SIM_TRAN] = "tran",
	[MMC_SIM_DATA] = "data",
	[MMC_SIM_RCV] = "rcv",
	[MMC_SIM_PRG] = "prg",
	[MMC_SIM_DIS] = "dis",
	[MMC_SIM_BTST] = "btst",
	[MMC_SIM_SLP] = "slp",
	[MMC_SIM_INACTIVE] = "ina",
	[MMC_SIM_OFF] = "off",
};

/*
 * Tuning block for four lines (6.6.5.1). For eight lines each nibble is sent on
 * both halves of the bus.
 */
static const u8 mmc_sim_tuning_block[64] = {
	0xff, 0x0f, 0xff, 0x00, 0xff, 0xcc, 0xc3, 0xcc,
	0xc3, 0x3c, 0xcc, 0xff, 0xfe, 0xff, 0xfe, 0xef,
	0xff, 0xdf, 0xff, 0xdd, 0xff, 0xfb, 0xff, 0xfb,
	0xbf, 0xff, 0x7f, 0xff, 0x77, 0xf7, 0xbd, 0xef,
	0xff, 0xf0, 0xff, 0xf0, 0x0f, 0xfc, 0xcc, 0x3c,
	0xcc, 0x33, 0xcc, 0xcf, 0xff, 0xef, 0xff, 0xee,
	0xff, 0xfd, 0xff, 0xfd, 0xdf, 0xff, 0xbf, 0xff,
	0xbb, 0xff, 0xf7, 0xff, 0xf7, 0x7f, 0x7b, 0xde,
};

/* ------------------------------------------------------------ programming */

static struct mmc_sim_store *mmc_sim_cur_store(struct mmc_sim_card *card)
{
	return &card->part[mmc_sim_cur_part(card)];
}

static void mmc_sim_set_prg_sectors(struct mmc_sim_card *card, u32 nr)
{
	put_unaligned_le32(nr, card->ext_csd + EXT_CSD_CORRECTLY_PRG_SECTORS_NUM);
}

/*
 * Discarded data may stay as it is (6.6.12). This card gives whole erase groups
 * back, so a driver that takes discarded sectors for zeroes is found out.
 */
static int mmc_sim_discard(struct mmc_sim_store *s, u64 pos, u64 len)
{
	u64 end = pos + len;

	if (end != s->size)
		end = round_down(end, MMC_SIM_ERASE_GROUP);
	pos = round_up(pos, MMC_SIM_ERASE_GROUP);
	return pos < end ? mmc_sim_store_erase(s, pos, end - pos) : 0;
}

/* The first @len bytes of what the card is busy with are done. */
static void mmc_sim_prg_apply(struct mmc_sim_card *card, u64 len)
{
	int err = 0, i;

	switch (card->prg_op) {
	case MMC_SIM_PRG_NONE:
	case MMC_SIM_PRG_SANITIZE:
		break;
	case MMC_SIM_PRG_WRITE:
		if (len)
			err = mmc_sim_store_commit(card->prg_store,
						   card->prg_pos, len);
		mmc_sim_set_prg_sectors(card, len / MMC_SIM_SECTOR);
		break;
	case MMC_SIM_PRG_ERASE:
		if (len)
			err = mmc_sim_store_erase(card->prg_store,
						  card->prg_pos, len);
		break;
	case MMC_SIM_PRG_DISCARD:
		if (len)
			err = mmc_sim_discard(card->prg_store, card->prg_pos,
					      len);
		break;
	case MMC_SIM_PRG_FLUSH:
	case MMC_SIM_PRG_CACHE_OFF:
		/* Nothing counts as flushed before all of it is. */
		if (len < card->prg_len)
			break;
		for (i = 0; i < MMC_SIM_NR_PARTS; i++)
			if (mmc_sim_store_flush(&card->part[i]))
				err = -ENOMEM;
		if (err)
			card->status |= R1_SWITCH_ERROR;
		else if (card->prg_op == MMC_SIM_PRG_CACHE_OFF)
			card->ext_csd[EXT_CSD_CACHE_CTRL] = 0;
		break;
	case MMC_SIM_PRG_BKOPS:
		card->bkops_debt -= min(len, card->bkops_debt);
		break;
	}

	if (err)
		card->status |= R1_ERROR;
}

/* How far the card has come with what it is busy with, in bytes. */
static u64 mmc_sim_prg_progress(const struct mmc_sim_card *card, u64 now)
{
	u64 took = card->busy_until - card->prg_start, len;

	if (now >= card->busy_until)
		return card->prg_len;
	if (now <= card->prg_start)
		return 0;
	len = mul_u64_u64_div_u64(card->prg_len, now - card->prg_start, took);
	/*
	 * A sector is the unit of atomicity, reliable write included, since
	 * EN_REL_WR is set in WR_REL_PARAM (6.6.10.1). A flush has progress
	 * here, too, but must not look complete.
	 */
	return round_down(len, (u64)card->cfg->sector_size);
}

/*
 * HPI, a reset or a power cut: the work ends where it is. Returns false if
 * there was nothing to interrupt.
 */
static bool mmc_sim_prg_interrupt(struct mmc_sim_card *card, u64 now, bool drop)
{
	u64 done;

	if (card->prg_op == MMC_SIM_PRG_NONE)
		return false;

	done = mmc_sim_prg_progress(card, now);
	mmc_sim_prg_apply(card, done);
	if (drop && card->prg_op == MMC_SIM_PRG_WRITE && done < card->prg_len)
		mmc_sim_store_drop(card->prg_store, card->prg_pos + done,
				   card->prg_len - done);
	card->prg_op = MMC_SIM_PRG_NONE;
	return true;
}

/* The card is busy until @end and then goes back to the transfer state. */
static void mmc_sim_prg_start(struct mmc_sim_card *card, u64 now, u64 end)
{
	card->prg_start = now;
	card->busy_until = end;
	card->state = MMC_SIM_PRG;
	card->resume = MMC_SIM_TRAN;
	mmc_sim_card_sync(card, now);
}

/*
 * The flash works on while the card does something else. With no time to
 * program a page there is nothing to model, and the cache keeps as much as it
 * can hold: that is the harshest card that a power cut can find.
 */
static void mmc_sim_drain(struct mmc_sim_card *card, u64 now)
{
	u64 dirty, target = card->cfg->cache_kib * 1024ULL;
	int i;

	/* What is being written, flushed or interruptible has its own rules. */
	if (!mmc_sim_cache_on(card) || card->state == MMC_SIM_RCV ||
	    card->prg_op != MMC_SIM_PRG_NONE)
		return;

	dirty = mmc_sim_card_dirty(card);
	if (!dirty)
		return;
	if (card->cfg->program_us)
		target = min(target, mmc_sim_time_dirty(&card->timing, now));

	for (i = 0; i < MMC_SIM_NR_PARTS && dirty > target; i++) {
		struct mmc_sim_store *s = &card->part[i];
		u64 less = min(dirty - target, s->dirty);

		if (!less)
			continue;
		/* Without memory the data just stays where it is. */
		if (mmc_sim_store_drain(s, s->dirty - less))
			return;
		dirty = mmc_sim_card_dirty(card);
	}
}

/**
 * mmc_sim_card_sync - let the card's time catch up
 * @card: the card
 * @now: ns
 *
 * Ends programming that is over and moves cached data to the flash as far as
 * it would have got.
 *
 * Context: under &mmc_sim_host.lock.
 */
void mmc_sim_card_sync(struct mmc_sim_card *card, u64 now)
{
	card->time = max(card->time, now);
	now = card->time;

	if ((card->state == MMC_SIM_PRG || card->state == MMC_SIM_DIS) &&
	    now >= card->busy_until) {
		mmc_sim_prg_apply(card, card->prg_len);
		card->prg_op = MMC_SIM_PRG_NONE;
		card->state = card->state == MMC_SIM_DIS ? MMC_SIM_STBY :
							   card->resume;
	}

	mmc_sim_drain(card, now);
}

/**
 * mmc_sim_card_busy - does the card hold DAT0 low?
 * @card: the card
 * @now: ns
 *
 * Context: under &mmc_sim_host.lock.
 * Return: true while it signals busy (6.5.13).
 */
bool mmc_sim_card_busy(struct mmc_sim_card *card, u64 now)
{
	mmc_sim_card_sync(card, now);
	return card->state == MMC_SIM_PRG;
}

/**
 * mmc_sim_card_dirty - how much a power cut could lose
 * @card: the card
 *
 * Context: under &mmc_sim_host.lock.
 * Return: bytes that were written and are not programmed.
 */
u64 mmc_sim_card_dirty(const struct mmc_sim_card *card)
{
	u64 dirty = 0;
	int i;

	for (i = 0; i < MMC_SIM_NR_PARTS; i++)
		dirty += card->part[i].dirty;
	return dirty;
}

/* ------------------------------------------------------------------ resets */

static void mmc_sim_xfer_clear(struct mmc_sim_card *card)
{
	memset(&card->xfer, 0, sizeof(card->xfer));
	card->xfer.task = -1;
}

static void mmc_sim_queue_clear(struct mmc_sim_card *card)
{
	memset(card->task, 0, sizeof(card->task));
	card->pending_valid = false;
}

static u32 mmc_sim_queued(const struct mmc_sim_card *card)
{
	u32 mask = 0;
	int i;

	for (i = 0; i < MMC_SIM_SLOTS; i++)
		if (card->task[i].queued)
			mask |= BIT(i);
	return mask;
}

static void mmc_sim_reset(struct mmc_sim_card *card, bool power)
{
	card->state = MMC_SIM_IDLE;
	card->resume = MMC_SIM_TRAN;
	card->busy_until = card->time;
	card->prg_op = MMC_SIM_PRG_NONE;
	card->rca = 1;
	card->status = 0;
	card->cmd23_valid = false;
	card->blocklen = MMC_SIM_SECTOR;
	card->erase_step = 0;
	mmc_sim_xfer_clear(card);
	mmc_sim_queue_clear(card);
	mmc_sim_ext_csd_reset(card, power);
	mmc_sim_rpmb_reset(card);
	mmc_sim_timing_reset(&card->timing, card->time);
}

/* What is not programmed is lost but for a part that luck decides. */
static u64 mmc_sim_lose(struct mmc_sim_card *card, u64 now)
{
	u64 lost = 0;
	int i;

	mmc_sim_prg_interrupt(card, now, false);
	for (i = 0; i < MMC_SIM_NR_PARTS; i++)
		if (card->part[i].dirty)
			lost += mmc_sim_store_power_cut(&card->part[i],
							&card->rnd);
	return lost;
}

/* The cache does not survive a reset either (6.6.34): its bit is R/W/E_P. */
static void mmc_sim_lose_judged(struct mmc_sim_card *card, u64 now,
				const char *why)
{
	u64 dirty = mmc_sim_card_dirty(card);

	if (dirty && mmc_sim_cache_on(card))
		mmc_sim_violation(card->judge, MMC_SIM_RULE_POWER_OFF_DIRTY,
				  "%s with %llu bytes cached", why, dirty);
	mmc_sim_lose(card, now);
}

/**
 * mmc_sim_card_power - switch the card's supply
 * @card: the card
 * @on: on or off
 * @now: ns
 *
 * Switching off with a cache that was not flushed, and was not told to by
 * POWER_OFF_NOTIFICATION either, is judged and loses data as a power cut does.
 *
 * Context: under &mmc_sim_host.lock.
 */
void mmc_sim_card_power(struct mmc_sim_card *card, bool on, u64 now)
{
	bool was_on = card->state != MMC_SIM_OFF;

	mmc_sim_card_sync(card, now);
	if (on == was_on)
		return;

	if (!on)
		mmc_sim_lose_judged(card, card->time, "power off");
	mmc_sim_reset(card, true);
	if (!on)
		card->state = MMC_SIM_OFF;
}

/**
 * mmc_sim_card_power_cut - take the power away without warning
 * @card: the card
 * @now: ns
 *
 * Programming that is going on ends where it is. Of what is cached, a part is
 * kept that the card's random numbers and its barriers decide. The card is off
 * until mmc_sim_card_power() switches it on.
 *
 * Context: under &mmc_sim_host.lock.
 * Return: sectors that were written and are lost.
 */
u64 mmc_sim_card_power_cut(struct mmc_sim_card *card, u64 now)
{
	u64 lost;

	mmc_sim_card_sync(card, now);
	lost = mmc_sim_lose(card, card->time);
	mmc_sim_reset(card, true);
	card->state = MMC_SIM_OFF;
	return lost;
}

/**
 * mmc_sim_card_hw_reset - pulse RST_n (6.4.3)
 * @card: the card
 * @now: ns
 *
 * Has an effect only if RST_n_FUNCTION enables it.
 *
 * Context: under &mmc_sim_host.lock.
 */
void mmc_sim_card_hw_reset(struct mmc_sim_card *card, u64 now)
{
	mmc_sim_card_sync(card, now);
	if (card->state == MMC_SIM_OFF ||
	    (card->ext_csd[EXT_CSD_RST_N_FUNCTION] & EXT_CSD_RST_N_EN_MASK) !=
	    EXT_CSD_RST_N_ENABLED)
		return;

	mmc_sim_lose_judged(card, card->time, "RST_n");
	mmc_sim_reset(card, true);
}

/**
 * mmc_sim_card_ios - the host changed its side of the bus
 * @card: the card
 * @ios: clock, width and timing
 *
 * Host and card change at different moments, so this is judged when data moves.
 *
 * Context: under &mmc_sim_host.lock.
 */
void mmc_sim_card_ios(struct mmc_sim_card *card, const struct mmc_ios *ios)
{
	card->ios = *ios;
	mmc_sim_timing_ios(&card->timing, ios);
}

/* ---------------------------------------------------------------- answers */

/*
 * R1 (6.13). Errors are reported once. @state is that in which the command
 * found the card.
 */
static void mmc_sim_r1(struct mmc_sim_card *card, struct mmc_sim_cmd *cmd,
		       enum mmc_sim_state state)
{
	u32 r1 = card->status | state << 9;

	if (state != MMC_SIM_PRG && state != MMC_SIM_DIS)
		r1 |= R1_READY_FOR_DATA;
	if (mmc_sim_bkops_level(card) >= EXT_CSD_BKOPS_LEVEL_2)
		r1 |= R1_EXCEPTION_EVENT;
	card->status = 0;
	cmd->resp[0] = r1;
}

static void mmc_sim_r1_error(struct mmc_sim_card *card, struct mmc_sim_cmd *cmd,
			     enum mmc_sim_state state, u32 bits)
{
	card->status |= bits;
	mmc_sim_r1(card, cmd, state);
}

static void mmc_sim_silent(struct mmc_sim_cmd *cmd)
{
	cmd->error = -ETIMEDOUT;
}

/* An illegal command has no response; the next one tells of it (6.10.1). */
static void mmc_sim_refuse(struct mmc_sim_card *card, struct mmc_sim_cmd *cmd,
			   enum mmc_sim_rule rule)
{
	mmc_sim_violation(card->judge, rule, "CMD%u(%#x) in state %s",
			  cmd->opcode, cmd->arg,
			  mmc_sim_state_names[card->state]);
	card->status |= R1_ILLEGAL_COMMAND;
	mmc_sim_silent(cmd);
}

static bool mmc_sim_addressed(const struct mmc_sim_card *card,
			      const struct mmc_sim_cmd *cmd)
{
	return cmd->arg >> 16 == card->rca;
}

/* ------------------------------------------------------------- data phases */

static void mmc_sim_xfer_start(struct mmc_sim_card *card,
			       struct mmc_sim_cmd *cmd, enum mmc_sim_dir dir,
			       u32 blksz, u32 blocks)
{
	struct mmc_sim_xfer *x = &card->xfer;

	mmc_sim_xfer_clear(card);
	x->dir = dir;
	x->blksz = blksz;
	x->left = blocks ? (u64)blksz * blocks : U64_MAX;
	card->state = dir == MMC_SIM_READ ? MMC_SIM_DATA : MMC_SIM_RCV;

	cmd->dir = dir;
	cmd->blksz = blksz;
	cmd->blocks = blocks;
}

static void mmc_sim_xfer_media(struct mmc_sim_card *card,
			       struct mmc_sim_cmd *cmd, enum mmc_sim_dir dir,
			       u32 sector, u32 blocks, bool durable)
{
	struct mmc_sim_xfer *x = &card->xfer;

	mmc_sim_xfer_start(card, cmd, dir, MMC_SIM_SECTOR, blocks);
	x->media = true;
	x->durable = durable || !mmc_sim_cache_on(card);
	x->store = mmc_sim_cur_store(card);
	x->start = (u64)sector * MMC_SIM_SECTOR;
	x->pos = x->start;
}

/*
 * May @nr sectors from @sector on be read or written? @nr of 0 is open-ended.
 * Returns the error bits of R1, and judges.
 */
static u32 mmc_sim_check_range(struct mmc_sim_card *card, enum mmc_sim_dir dir,
			       u64 sector, u32 nr)
{
	u64 size = div_u64(mmc_sim_cur_store(card)->size, MMC_SIM_SECTOR);
	u32 unit = card->cfg->sector_size / MMC_SIM_SECTOR;

	if (sector >= size || sector + nr > size) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RANGE,
				  "%u sectors from %llu on of %llu", nr, sector,
				  size);
		return R1_OUT_OF_RANGE;
	}
	if (sector & (unit - 1) || nr & (unit - 1)) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_ALIGN,
				  "%u sectors from %llu on", nr, sector);
		return sector & (unit - 1) ? R1_ADDRESS_ERROR :
					     R1_BLOCK_LEN_ERROR;
	}
	if (dir == MMC_SIM_WRITE &&
	    mmc_sim_boot_wp(card, mmc_sim_cur_part(card))) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_WRITE_PROT,
				  "write to boot partition %u",
				  mmc_sim_cur_part(card));
		return R1_WP_VIOLATION;
	}
	return 0;
}

/*
 * Data address of a class 2 or 4 command (7.3.12: bytes up to 2 GiB, else
 * sectors). Returns the error bits of R1.
 */
static u32 mmc_sim_address(struct mmc_sim_card *card, u32 arg, u32 *sector)
{
	if (mmc_sim_sector_mode(card)) {
		*sector = arg;
		return 0;
	}

	*sector = arg / MMC_SIM_SECTOR;
	if (arg % MMC_SIM_SECTOR) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_ALIGN,
				  "byte address %#x", arg);
		return R1_ADDRESS_ERROR;
	}
	return 0;
}

/* Data that the card was asked for or sent beyond what there is. */
static void mmc_sim_xfer_cut(struct mmc_sim_card *card, size_t asked)
{
	struct mmc_sim_xfer *x = &card->xfer;

	if (x->cut)
		return;
	x->cut = true;

	if (x->left == U64_MAX) {
		card->status |= R1_OUT_OF_RANGE;
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RANGE,
				  "%zu bytes at the end of the partition", asked);
	} else if (x->counted) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_COUNT,
				  "%zu bytes after the last block", asked);
	}
}

/* How many of @len bytes the present data phase has room for. */
static size_t mmc_sim_xfer_room(struct mmc_sim_card *card, size_t len)
{
	struct mmc_sim_xfer *x = &card->xfer;
	u64 room = x->left;

	if (x->media)
		room = min(room, x->store->size - x->pos);
	if (room < len)
		mmc_sim_xfer_cut(card, len);
	return min_t(u64, room, len);
}

static void mmc_sim_xfer_advance(struct mmc_sim_xfer *x, size_t len)
{
	x->pos += len;
	if (x->left != U64_MAX)
		x->left -= len;
}

/**
 * mmc_sim_card_read - move data from the card to the host
 * @card: the card
 * @buf: where to
 * @len: how many bytes the host takes
 *
 * Context: under &mmc_sim_host.lock.
 * Return: how many bytes the card gave; less than @len at the end of the
 * transfer or of the partition, 0 when it is not sending.
 */
size_t mmc_sim_card_read(struct mmc_sim_card *card, void *buf, size_t len)
{
	struct mmc_sim_xfer *x = &card->xfer;

	if (card->state != MMC_SIM_DATA || x->dir != MMC_SIM_READ)
		return 0;

	len = mmc_sim_xfer_room(card, len);
	if (!len)
		return 0;

	if (x->rpmb)
		mmc_sim_rpmb_read(card, buf, len);
	else if (x->media)
		mmc_sim_store_read(x->store, x->pos, buf, len);
	else
		memcpy(buf, card->buf + x->pos, len);
	mmc_sim_xfer_advance(x, len);
	return len;
}

static void mmc_sim_store_put(struct mmc_sim_card *card, u64 pos,
			      const void *buf, size_t len)
{
	if (mmc_sim_store_write(card->xfer.store, pos, buf, len, false))
		card->status |= R1_ERROR;
}

/* The staged sector is good. */
static void mmc_sim_stage_flush(struct mmc_sim_card *card)
{
	struct mmc_sim_xfer *x = &card->xfer;

	if (x->staged == MMC_SIM_SECTOR)
		mmc_sim_store_put(card, x->pos - x->staged, card->buf,
				  x->staged);
	else
		x->pos -= x->staged;
	x->staged = 0;
}

/* Sectors go to the store but for the last, whose CRC is not known yet. */
static void mmc_sim_media_write(struct mmc_sim_card *card, const u8 *buf,
				size_t len)
{
	struct mmc_sim_xfer *x = &card->xfer;
	size_t part;

	while (len) {
		if (x->staged == MMC_SIM_SECTOR)
			mmc_sim_stage_flush(card);
		if (!x->staged && len > MMC_SIM_SECTOR) {
			part = round_down(len - 1, MMC_SIM_SECTOR);
			mmc_sim_store_put(card, x->pos, buf, part);
		} else {
			part = min_t(size_t, len, MMC_SIM_SECTOR - x->staged);
			memcpy(card->buf + x->staged, buf, part);
			x->staged += part;
		}
		mmc_sim_xfer_advance(x, part);
		buf += part;
		len -= part;
	}
}

/**
 * mmc_sim_card_write - move data from the host to the card
 * @card: the card
 * @buf: where from
 * @len: how many bytes the host sends
 *
 * Context: under &mmc_sim_host.lock.
 * Return: how many bytes the card took; less than @len at the end of the
 * transfer or of the partition, 0 when it is not receiving.
 */
size_t mmc_sim_card_write(struct mmc_sim_card *card, const void *buf,
			  size_t len)
{
	struct mmc_sim_xfer *x = &card->xfer;

	if ((card->state != MMC_SIM_RCV && card->state != MMC_SIM_BTST) ||
	    x->dir != MMC_SIM_WRITE)
		return 0;

	len = mmc_sim_xfer_room(card, len);
	if (!len)
		return 0;

	if (x->media) {
		mmc_sim_media_write(card, buf, len);
		return len;
	}
	if (x->rpmb) {
		if (mmc_sim_rpmb_write(card, buf, len) < 0)
			card->status |= R1_ERROR;
	} else {
		memcpy(card->buf + x->pos, buf, len);
	}
	mmc_sim_xfer_advance(x, len);
	return len;
}

/**
 * mmc_sim_card_data_start - when can the data of the present command move?
 * @card: the card, after a command with a data phase
 * @now: ns
 *
 * A read waits for the flash, a cached write for room in the buffer. The length
 * of an open-ended transfer is not known; the card prepares for one page.
 *
 * Context: under &mmc_sim_host.lock.
 * Return: the earliest start of the data, ns; not before @now.
 */
u64 mmc_sim_card_data_start(struct mmc_sim_card *card, u64 now)
{
	struct mmc_sim_xfer *x = &card->xfer;
	u64 sector, nr;

	if (!x->media)
		return now;

	sector = div_u64(x->pos, MMC_SIM_SECTOR);
	nr = x->left == U64_MAX ? card->cfg->page_kib * 2 :
				  div_u64(x->left, MMC_SIM_SECTOR);
	nr = min(nr, div_u64(x->store->size, MMC_SIM_SECTOR) - sector);

	/*
	 * A write past the cache that HPI interrupts must leave the older data,
	 * also if that is still in the cache.
	 */
	if (x->dir == MMC_SIM_WRITE && x->durable && mmc_sim_cache_on(card) &&
	    mmc_sim_store_commit(x->store, x->pos, nr * MMC_SIM_SECTOR))
		card->status |= R1_ERROR;

	/* A task is executed only when it is ready. */
	if (x->task >= 0)
		return now;
	if (x->dir == MMC_SIM_READ)
		return mmc_sim_time_read(&card->timing, now, sector, nr);
	if (!x->durable)
		return mmc_sim_time_write_room(&card->timing, now, nr);
	return now;
}

/* All data of a write was received: program it. */
static void mmc_sim_write_done(struct mmc_sim_card *card, u64 now)
{
	struct mmc_sim_xfer *x = &card->xfer;
	u64 len = x->pos - x->start, end = now;
	u32 nr = div_u64(len, MMC_SIM_SECTOR);

	card->prg_op = MMC_SIM_PRG_NONE;
	if (x->rpmb) {
		if (x->left || x->cut)
			mmc_sim_rpmb_reset(card);
		else
			mmc_sim_rpmb_write_end(card, x->durable);
		end = mmc_sim_time_write(&card->timing, now, 0, nr, false);
	} else if (nr) {
		end = mmc_sim_time_write(&card->timing, now,
					 div_u64(x->start, MMC_SIM_SECTOR), nr,
					 !x->durable);
		mmc_sim_set_prg_sectors(card, nr);
		if (x->durable) {
			card->prg_op = MMC_SIM_PRG_WRITE;
			card->prg_store = x->store;
			card->prg_pos = x->start;
			card->prg_len = len;
		}
		if (card->ext_csd[EXT_CSD_BKOPS_EN] & EXT_CSD_MANUAL_BKOPS_MASK)
			card->bkops_debt = min(card->bkops_debt + len,
					       card->part[MMC_SIM_PART_USER].size);
	}

	mmc_sim_xfer_clear(card);
	mmc_sim_prg_start(card, now, end);
}

/* An open-ended transfer of a card with 4 KiB sectors has a length at last. */
static void mmc_sim_check_length(struct mmc_sim_card *card)
{
	struct mmc_sim_xfer *x = &card->xfer;

	if (!x->media || x->left != U64_MAX ||
	    !((x->pos - x->start) & (card->cfg->sector_size - 1)))
		return;
	mmc_sim_violation(card->judge, MMC_SIM_RULE_ALIGN,
			  "open-ended transfer of %llu bytes", x->pos - x->start);
	card->status |= R1_BLOCK_LEN_ERROR;
}

/* CMD12: the transfer ends here, complete or not (6.6.7 and 6.6.8). */
static void mmc_sim_xfer_stop(struct mmc_sim_card *card, u64 now)
{
	mmc_sim_stage_flush(card);
	mmc_sim_check_length(card);
	if (card->state == MMC_SIM_RCV) {
		mmc_sim_write_done(card, now);
		return;
	}
	mmc_sim_xfer_clear(card);
	card->state = MMC_SIM_TRAN;
}

/**
 * mmc_sim_card_data_end - the data phase is over
 * @card: the card
 * @now: ns
 * @ok: all blocks that the host wanted have moved; else an error cut it short
 *
 * A single block or the last of a counted transfer takes the card to the
 * transfer or programming state, and a task out of the queue. After an error
 * the card does not store the last block, and a transfer of several blocks
 * waits for CMD12, as an open-ended one does in any case.
 *
 * Context: under &mmc_sim_host.lock.
 */
void mmc_sim_card_data_end(struct mmc_sim_card *card, u64 now, bool ok)
{
	struct mmc_sim_xfer *x = &card->xfer;
	bool several = x->counted || x->left == U64_MAX;

	card->time = max(card->time, now);
	now = card->time;

	/* CMD19: the data stays for CMD14. */
	if (card->state == MMC_SIM_BTST) {
		x->dir = MMC_SIM_NO_DATA;
		return;
	}
	if (card->state != MMC_SIM_DATA && card->state != MMC_SIM_RCV)
		return;

	if (x->dir == MMC_SIM_WRITE && !ok) {
		x->pos -= x->staged;
		x->staged = 0;
		if (several) {
			x->cut = true;
			return;
		}
	} else if (x->media && x->dir == MMC_SIM_WRITE && several) {
		/* The host may stop between blocks, not within one. */
		if (x->staged == MMC_SIM_SECTOR)
			mmc_sim_stage_flush(card);
	}

	if (x->left == U64_MAX)
		return;
	if (x->left && several) {
		if (ok && !x->cut)
			mmc_sim_violation(card->judge, MMC_SIM_RULE_COUNT,
					  "%llu bytes missing", x->left);
		x->cut = true;
		return;
	}

	if (x->task >= 0)
		card->task[x->task].queued = false;

	if (x->dir == MMC_SIM_WRITE) {
		mmc_sim_stage_flush(card);
		mmc_sim_write_done(card, now);
		return;
	}
	mmc_sim_xfer_clear(card);
	card->state = MMC_SIM_TRAN;
}

/* ---------------------------------------------------------------- commands */

static void mmc_sim_cmd_go_idle(struct mmc_sim_card *card,
				struct mmc_sim_cmd *cmd, u64 now)
{
	/* Other arguments are those of the boot operation (6.3), or reserved. */
	if (cmd->arg && cmd->arg != MMC_SIM_GO_PRE_IDLE)
		return;
	mmc_sim_lose_judged(card, now, "CMD0");
	mmc_sim_reset(card, false);
}

static void mmc_sim_cmd_op_cond(struct mmc_sim_card *card,
				struct mmc_sim_cmd *cmd)
{
	u32 ocr = MMC_SIM_OCR | MMC_CARD_BUSY;

	if (mmc_sim_sector_mode(card))
		ocr |= MMC_SIM_OCR_SECTOR;

	/* A host without a voltage range asks for the card's (6.4.2). */
	if (cmd->arg & MMC_SIM_OCR_VOLTAGES) {
		if (!(cmd->arg & MMC_SIM_OCR) ||
		    (mmc_sim_sector_mode(card) &&
		     !(cmd->arg & MMC_SIM_OCR_SECTOR))) {
			card->state = MMC_SIM_INACTIVE;
			mmc_sim_silent(cmd);
			return;
		}
		card->state = MMC_SIM_READY;
	}
	cmd->resp[0] = ocr;
}

static void mmc_sim_cmd_sleep_awake(struct mmc_sim_card *card,
				    struct mmc_sim_cmd *cmd,
				    enum mmc_sim_state state)
{
	bool sleep = cmd->arg & MMC_SIM_CMD5_SLEEP;
	bool asleep = state == MMC_SIM_SLP;

	if (sleep == asleep) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_STATE);
		return;
	}
	mmc_sim_r1(card, cmd, state);
	card->state = sleep ? MMC_SIM_SLP : MMC_SIM_STBY;
}

static void mmc_sim_cmd_switch(struct mmc_sim_card *card,
			       struct mmc_sim_cmd *cmd,
			       enum mmc_sim_state state, u64 now)
{
	u64 end;

	mmc_sim_r1(card, cmd, state);
	end = mmc_sim_switch(card, cmd->arg, now);
	/* Work without an extent of its own is all or nothing but for BKOPS. */
	card->prg_len = card->prg_op == MMC_SIM_PRG_BKOPS ? card->bkops_debt :
							    U64_MAX;
	mmc_sim_prg_start(card, now, end);
}

static void mmc_sim_cmd_select(struct mmc_sim_card *card,
			       struct mmc_sim_cmd *cmd,
			       enum mmc_sim_state state)
{
	if (mmc_sim_addressed(card, cmd)) {
		if (state != MMC_SIM_STBY && state != MMC_SIM_DIS) {
			mmc_sim_refuse(card, cmd, MMC_SIM_RULE_STATE);
			return;
		}
		mmc_sim_r1(card, cmd, state);
		card->state = state == MMC_SIM_DIS ? MMC_SIM_PRG : MMC_SIM_TRAN;
		return;
	}

	/* Another card is selected, which is to answer, or none at all. */
	if (cmd->arg >> 16)
		mmc_sim_silent(cmd);
	if (state == MMC_SIM_PRG) {
		card->state = MMC_SIM_DIS;
	} else if (state == MMC_SIM_TRAN || state == MMC_SIM_DATA) {
		mmc_sim_xfer_clear(card);
		card->state = MMC_SIM_STBY;
	}
}

static void mmc_sim_cmd_ext_csd(struct mmc_sim_card *card,
				struct mmc_sim_cmd *cmd,
				enum mmc_sim_state state)
{
	mmc_sim_r1(card, cmd, state);
	mmc_sim_xfer_start(card, cmd, MMC_SIM_READ, sizeof(card->ext_csd), 1);
	mmc_sim_ext_csd_read(card, card->buf);
}

/* HPI (6.6.23): what is done is done, and the page at hand is finished. */
static void mmc_sim_hpi(struct mmc_sim_card *card, u64 now)
{
	if (!(card->ext_csd[EXT_CSD_HPI_MGMT] & 1) ||
	    (card->state != MMC_SIM_PRG && card->state != MMC_SIM_DIS))
		return;
	if (!mmc_sim_prg_interrupt(card, now, true))
		return;
	card->busy_until = min(card->busy_until,
			       now + card->cfg->program_us * 1000ULL);
	mmc_sim_card_sync(card, now);
}

static bool mmc_sim_is_hpi(const struct mmc_sim_card *card,
			   const struct mmc_sim_cmd *cmd)
{
	return cmd->opcode == card->cfg->hpi_cmd && cmd->arg & MMC_SIM_HPI &&
	       mmc_sim_addressed(card, cmd);
}

static void mmc_sim_cmd_stop(struct mmc_sim_card *card, struct mmc_sim_cmd *cmd,
			     enum mmc_sim_state state, u64 now)
{
	bool hpi = mmc_sim_is_hpi(card, cmd);

	/* Only HPI has an address: without, a card that is not selected sleeps. */
	if (state == MMC_SIM_DIS && !hpi) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_STATE);
		return;
	}
	mmc_sim_r1(card, cmd, state);
	if (state == MMC_SIM_DATA || state == MMC_SIM_RCV)
		mmc_sim_xfer_stop(card, now);
	else if (hpi)
		mmc_sim_hpi(card, now);
}

static void mmc_sim_cmd_status(struct mmc_sim_card *card,
			       struct mmc_sim_cmd *cmd,
			       enum mmc_sim_state state, u64 now)
{
	if (cmd->arg & MMC_SIM_CMD13_SQS && mmc_sim_cmdq_on(card)) {
		cmd->resp[0] = mmc_sim_card_qsr(card, now);
		return;
	}
	mmc_sim_r1(card, cmd, state);
	if (mmc_sim_is_hpi(card, cmd))
		mmc_sim_hpi(card, now);
}

/* Lines that the card drives, from EXT_CSD. */
static u32 mmc_sim_lines(const struct mmc_sim_card *card)
{
	switch (card->ext_csd[EXT_CSD_BUS_WIDTH] & 0xf) {
	case EXT_CSD_BUS_WIDTH_4:
	case EXT_CSD_DDR_BUS_WIDTH_4:
		return 4;
	case EXT_CSD_BUS_WIDTH_8:
	case EXT_CSD_DDR_BUS_WIDTH_8:
		return 8;
	}
	return 1;
}

/* Bus test (6.6.4): the first two bits of each line come back inverted. */
static void mmc_sim_cmd_bus_test(struct mmc_sim_card *card,
				 struct mmc_sim_cmd *cmd,
				 enum mmc_sim_state state)
{
	u32 len = max(mmc_sim_lines(card), 4U), i;

	mmc_sim_r1(card, cmd, state);
	if (cmd->opcode == MMC_BUS_TEST_W) {
		memset(card->buf, 0, len);
		mmc_sim_xfer_start(card, cmd, MMC_SIM_WRITE, len, 1);
		card->state = MMC_SIM_BTST;
		return;
	}

	for (i = 0; i < len; i++)
		card->buf[i] = i < len / 4 ? ~card->buf[i] : 0;
	mmc_sim_xfer_start(card, cmd, MMC_SIM_READ, len, 1);
}

static void mmc_sim_cmd_tuning(struct mmc_sim_card *card,
			       struct mmc_sim_cmd *cmd,
			       enum mmc_sim_state state)
{
	u8 timing = card->ext_csd[EXT_CSD_HS_TIMING] & 0xf;
	u32 lines = mmc_sim_lines(card), i;

	/* HS200 is the only mode to tune in, and has no single line. */
	if (timing != EXT_CSD_TIMING_HS200) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_STATE);
		return;
	}

	mmc_sim_r1(card, cmd, state);
	mmc_sim_xfer_start(card, cmd, MMC_SIM_READ, lines * 16, 1);
	if (lines == 4) {
		memcpy(card->buf, mmc_sim_tuning_block, 64);
		return;
	}
	for (i = 0; i < 64; i++) {
		card->buf[2 * i] = (mmc_sim_tuning_block[i] >> 4) * 0x11;
		card->buf[2 * i + 1] = (mmc_sim_tuning_block[i] & 0xf) * 0x11;
	}
}

static void mmc_sim_cmd_blocklen(struct mmc_sim_card *card,
				 struct mmc_sim_cmd *cmd,
				 enum mmc_sim_state state)
{
	u8 width = card->ext_csd[EXT_CSD_BUS_WIDTH] & 0xf;

	/* Dual data rate moves blocks of 512 bytes and nothing else. */
	if (width >= EXT_CSD_DDR_BUS_WIDTH_4) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_STATE);
		return;
	}
	if (cmd->arg != MMC_SIM_SECTOR) {
		mmc_sim_r1_error(card, cmd, state, R1_BLOCK_LEN_ERROR);
		return;
	}
	card->blocklen = cmd->arg;
	mmc_sim_r1(card, cmd, state);
}

static void mmc_sim_cmd_count(struct mmc_sim_card *card,
			      struct mmc_sim_cmd *cmd, enum mmc_sim_state state)
{
	/* MAX_PACKED_READS and _WRITES are 0. */
	if (cmd->arg & MMC_SIM_CMD23_PACKED) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_UNKNOWN);
		return;
	}
	card->cmd23 = cmd->arg;
	card->cmd23_valid = true;
	mmc_sim_r1(card, cmd, state);
}

/* Frames of RPMB: the count says how many, the address has no meaning. */
static void mmc_sim_cmd_rpmb(struct mmc_sim_card *card, struct mmc_sim_cmd *cmd,
			     enum mmc_sim_state state, enum mmc_sim_dir dir,
			     u32 count, bool reliable)
{
	if (!count) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_RPMB_FRAME);
		return;
	}
	mmc_sim_r1(card, cmd, state);
	mmc_sim_xfer_start(card, cmd, dir, MMC_SIM_SECTOR, count);
	card->xfer.rpmb = true;
	card->xfer.counted = true;
	card->xfer.durable = reliable;
	if (dir == MMC_SIM_READ)
		mmc_sim_rpmb_read_start(card, count);
}

/* CMD17, CMD18, CMD24 and CMD25 */
static void mmc_sim_cmd_rw(struct mmc_sim_card *card, struct mmc_sim_cmd *cmd,
			   enum mmc_sim_state state)
{
	bool write = cmd->opcode == MMC_WRITE_BLOCK ||
		     cmd->opcode == MMC_WRITE_MULTIPLE_BLOCK;
	enum mmc_sim_dir dir = write ? MMC_SIM_WRITE : MMC_SIM_READ;
	u32 count = 1, flags = 0, sector, err;

	if (mmc_op_multi(cmd->opcode)) {
		flags = card->cmd23_valid ? card->cmd23 : 0;
		count = flags & MMC_SIM_CMD23_COUNT;
		card->cmd23_valid = false;
	}
	if (mmc_sim_cur_part(card) == MMC_SIM_PART_RPMB) {
		mmc_sim_cmd_rpmb(card, cmd, state, dir, count,
				 flags & MMC_SIM_CMD23_RELIABLE);
		return;
	}

	err = mmc_sim_address(card, cmd->arg, &sector);
	if (!err)
		err = mmc_sim_check_range(card, dir, sector, count);
	if (err) {
		mmc_sim_r1_error(card, cmd, state, err);
		return;
	}

	mmc_sim_r1(card, cmd, state);
	mmc_sim_xfer_media(card, cmd, dir, sector, count,
			   flags & (MMC_SIM_CMD23_RELIABLE |
				    MMC_SIM_CMD23_FORCED));
	card->xfer.counted = mmc_op_multi(cmd->opcode) && count;
}

/* CMD35 and CMD36. The bits of the address below the sector do not matter. */
static void mmc_sim_cmd_erase_range(struct mmc_sim_card *card,
				    struct mmc_sim_cmd *cmd,
				    enum mmc_sim_state state)
{
	u64 size = div_u64(mmc_sim_cur_store(card)->size, MMC_SIM_SECTOR);
	bool start = cmd->opcode == MMC_ERASE_GROUP_START;
	u32 sector = cmd->arg;
	u32 err = 0;

	if (!mmc_sim_sector_mode(card))
		sector /= MMC_SIM_SECTOR;

	if (!start && (card->erase_step != 1 || sector < card->erase_start)) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_ERASE_SEQ,
				  "CMD36(%#x) after step %u", cmd->arg,
				  card->erase_step);
		err = card->erase_step == 1 ? R1_ERASE_PARAM :
					      R1_ERASE_SEQ_ERROR;
	} else if (sector >= size) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RANGE,
				  "CMD%u: sector %u of %llu", cmd->opcode,
				  sector, size);
		err = R1_OUT_OF_RANGE;
	}

	if (err) {
		card->erase_step = 0;
	} else if (start) {
		card->erase_start = sector;
		card->erase_step = 1;
	} else {
		card->erase_end = sector;
		card->erase_step = 2;
	}
	mmc_sim_r1_error(card, cmd, state, err);
}

/* Does a trim or discard cover whole sectors of a card with 4 KiB sectors? */
static bool mmc_sim_trim_aligned(const struct mmc_sim_card *card)
{
	u32 unit = card->cfg->sector_size / MMC_SIM_SECTOR;

	return !(card->erase_start & (unit - 1)) &&
	       !((card->erase_end + 1) & (unit - 1));
}

/* CMD38 (6.6.9 to 6.6.13) */
static void mmc_sim_cmd_erase(struct mmc_sim_card *card,
			      struct mmc_sim_cmd *cmd, enum mmc_sim_state state,
			      u64 now)
{
	struct mmc_sim_store *s = mmc_sim_cur_store(card);
	enum mmc_sim_prg op = MMC_SIM_PRG_ERASE;
	u64 pos, end;

	if (card->erase_step != 2) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_ERASE_SEQ,
				  "CMD38 after step %u", card->erase_step);
		card->erase_step = 0;
		mmc_sim_r1_error(card, cmd, state, R1_ERASE_SEQ_ERROR);
		return;
	}
	card->erase_step = 0;

	pos = (u64)card->erase_start * MMC_SIM_SECTOR;
	end = ((u64)card->erase_end + 1) * MMC_SIM_SECTOR;

	switch (cmd->arg) {
	case MMC_ERASE_ARG:
	case MMC_SECURE_ERASE_ARG:
		pos = round_down(pos, MMC_SIM_ERASE_GROUP);
		end = min(round_up(end, MMC_SIM_ERASE_GROUP), s->size);
		break;
	case MMC_DISCARD_ARG:
		op = MMC_SIM_PRG_DISCARD;
		fallthrough;
	case MMC_TRIM_ARG:
	case MMC_SECURE_TRIM1_ARG:
		if (mmc_sim_trim_aligned(card))
			break;
		mmc_sim_violation(card->judge, MMC_SIM_RULE_ALIGN,
				  "CMD38(%#x) of sectors %u to %u", cmd->arg,
				  card->erase_start, card->erase_end);
		mmc_sim_r1_error(card, cmd, state, R1_ADDRESS_ERROR);
		return;
	case MMC_SECURE_TRIM2_ARG:
		/* Step 1 has already removed the data that it marked. */
		op = MMC_SIM_PRG_NONE;
		break;
	default:
		mmc_sim_violation(card->judge, MMC_SIM_RULE_UNKNOWN,
				  "CMD38(%#x)", cmd->arg);
		mmc_sim_r1_error(card, cmd, state, R1_ERASE_PARAM);
		return;
	}

	mmc_sim_r1(card, cmd, state);
	if (mmc_sim_boot_wp(card, mmc_sim_cur_part(card))) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_WRITE_PROT,
				  "erase of boot partition %u",
				  mmc_sim_cur_part(card));
		card->status |= R1_WP_ERASE_SKIP;
		op = MMC_SIM_PRG_NONE;
	}

	card->prg_op = op;
	card->prg_store = s;
	card->prg_pos = pos;
	card->prg_len = end - pos;
	mmc_sim_prg_start(card, now,
			  mmc_sim_time_erase(&card->timing, now,
					     div_u64(end - pos, MMC_SIM_SECTOR)));
}

/* ------------------------------------------------------- the command queue */

/**
 * mmc_sim_card_qsr - the queue status register
 * @card: the card
 * @now: ns
 *
 * Context: under &mmc_sim_host.lock.
 * Return: mask of the tasks that can be executed (6.6.39.3).
 */
u32 mmc_sim_card_qsr(struct mmc_sim_card *card, u64 now)
{
	u32 mask = 0;
	int i;

	mmc_sim_card_sync(card, now);
	for (i = 0; i < MMC_SIM_SLOTS; i++)
		if (card->task[i].queued && card->xfer.task != i &&
		    now >= card->task[i].ready)
			mask |= BIT(i);
	return mask;
}

static u32 mmc_sim_task_id(u32 arg)
{
	return (arg >> 16) & 0x1f;
}

static void mmc_sim_cmd_task_params(struct mmc_sim_card *card,
				    struct mmc_sim_cmd *cmd,
				    enum mmc_sim_state state)
{
	u32 id = mmc_sim_task_id(cmd->arg);

	if (id >= card->cfg->queue_depth) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CMDQ_DEPTH);
		return;
	}
	if (card->task[id].queued) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CMDQ_BUSY_ID);
		return;
	}
	card->pending_task = cmd->arg;
	card->pending_valid = true;
	mmc_sim_r1(card, cmd, state);
}

/* A task of high priority is executed before the others (6.6.39). */
static u64 mmc_sim_task_read_first(struct mmc_sim_card *card,
				   const struct mmc_sim_task *task, u64 now)
{
	u64 ready = mmc_sim_time_read_first(&card->timing, now, task->sector,
					    task->blocks);
	unsigned int i;

	for (i = 0; i < MMC_SIM_SLOTS; i++) {
		struct mmc_sim_task *other = &card->task[i];

		if (!other->queued || other->priority ||
		    other->dir != MMC_SIM_READ || other->ready <= now)
			continue;
		other->ready += mmc_sim_time_read_lost(&card->timing,
						       other->ready,
						       other->sector,
						       other->blocks);
	}
	return ready;
}

/*
 * CMD45 queues the task. Its address counts sectors on every card: that is what
 * a CQHCI task descriptor holds, and the engine passes it on.
 */
static void mmc_sim_cmd_task_addr(struct mmc_sim_card *card,
				  struct mmc_sim_cmd *cmd,
				  enum mmc_sim_state state, u64 now)
{
	u32 arg = card->pending_task, err;
	struct mmc_sim_task *task = &card->task[mmc_sim_task_id(arg)];
	struct mmc_sim_task t = {
		.dir = arg & MMC_SIM_CMD44_READ ? MMC_SIM_READ : MMC_SIM_WRITE,
		.priority = arg & MMC_SIM_CMD44_PRIORITY,
		.reliable = arg & MMC_SIM_CMD44_RELIABLE,
		.forced_prog = arg & MMC_SIM_CMD44_FORCED,
		.sector = cmd->arg,
		.blocks = arg & MMC_SIM_CMD44_COUNT,
		.ready = now,
	};

	if (!card->pending_valid) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CMDQ_PAIR);
		return;
	}
	card->pending_valid = false;

	/* A count of 0 is 65536 blocks to nobody: there is nothing to move. */
	if (!t.blocks) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_COUNT,
				  "task %u of no blocks", mmc_sim_task_id(arg));
		mmc_sim_r1_error(card, cmd, state, R1_ERROR);
		return;
	}
	err = mmc_sim_check_range(card, t.dir, t.sector, t.blocks);
	mmc_sim_r1_error(card, cmd, state, err);
	if (err)
		return;

	if (t.dir == MMC_SIM_READ && t.priority)
		t.ready = mmc_sim_task_read_first(card, &t, now);
	else if (t.dir == MMC_SIM_READ)
		t.ready = mmc_sim_time_read(&card->timing, now, t.sector,
					    t.blocks);
	else if (mmc_sim_cache_on(card) && !t.reliable && !t.forced_prog)
		t.ready = mmc_sim_time_write_room(&card->timing, now, t.blocks);
	t.queued = true;
	*task = t;
}

/* CMD46 and CMD47 */
static void mmc_sim_cmd_task_execute(struct mmc_sim_card *card,
				     struct mmc_sim_cmd *cmd,
				     enum mmc_sim_state state, u64 now)
{
	bool read = cmd->opcode == MMC_EXECUTE_READ_TASK;
	enum mmc_sim_dir dir = read ? MMC_SIM_READ : MMC_SIM_WRITE;
	u32 id = mmc_sim_task_id(cmd->arg);
	struct mmc_sim_task *task = &card->task[id];

	if (id >= card->cfg->queue_depth) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CMDQ_DEPTH);
		return;
	}
	if (!task->queued || task->dir != dir || now < task->ready) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CMDQ_NOT_READY);
		return;
	}

	mmc_sim_r1(card, cmd, state);
	mmc_sim_xfer_media(card, cmd, dir, task->sector, task->blocks,
			   task->reliable || task->forced_prog);
	card->xfer.task = id;
	card->xfer.counted = true;
}

static void mmc_sim_cmd_task_mgmt(struct mmc_sim_card *card,
				  struct mmc_sim_cmd *cmd,
				  enum mmc_sim_state state)
{
	u32 id = mmc_sim_task_id(cmd->arg);

	card->pending_valid = false;
	switch (cmd->arg & 0xf) {
	case MMC_SIM_DISCARD_QUEUE:
		mmc_sim_queue_clear(card);
		break;
	case MMC_SIM_DISCARD_TASK:
		if (id >= card->cfg->queue_depth) {
			mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CMDQ_DEPTH);
			return;
		}
		card->task[id].queued = false;
		break;
	default:
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_UNKNOWN);
		return;
	}
	mmc_sim_r1(card, cmd, state);
}

/* ---------------------------------------------------------- common checks */

/*
 * In the idle state a host finds out what is in the slot: SD, SDIO or, if it
 * knew a card before, whether that is still there. None of it is answered and
 * none of it is wrong.
 */
static bool mmc_sim_is_probe(const struct mmc_sim_card *card,
			     const struct mmc_sim_cmd *cmd)
{
	if (card->state != MMC_SIM_IDLE)
		return false;
	switch (cmd->opcode) {
	case 5:		/* IO_SEND_OP_COND */
	case 8:		/* SEND_IF_COND */
	case 13:	/* SEND_STATUS, to the address it had */
	case 41:	/* SD_SEND_OP_COND */
	case 52:	/* IO_RW_DIRECT */
	case 55:	/* APP_CMD */
		return true;
	}
	return false;
}

/* Does the host use the bus as EXT_CSD says? (6.6.2, 10.10) */
static void mmc_sim_judge_bus(struct mmc_sim_card *card,
			      const struct mmc_sim_cmd *cmd)
{
	const u8 *ext = card->ext_csd;
	u8 mode = ext[EXT_CSD_BUS_WIDTH], timing, width;
	bool ddr = (mode & 0xf) >= EXT_CSD_DDR_BUS_WIDTH_4, strobe = false;
	u32 clock = MMC_HS200_MAX_DTR;

	switch (ext[EXT_CSD_HS_TIMING] & 0xf) {
	case EXT_CSD_TIMING_HS:
		timing = ddr ? MMC_TIMING_MMC_DDR52 : MMC_TIMING_MMC_HS;
		clock = MMC_HIGH_52_MAX_DTR;
		break;
	case EXT_CSD_TIMING_HS200:
		timing = MMC_TIMING_MMC_HS200;
		break;
	case EXT_CSD_TIMING_HS400:
		timing = MMC_TIMING_MMC_HS400;
		strobe = mode & EXT_CSD_BUS_WIDTH_STROBE;
		break;
	default:
		timing = MMC_TIMING_LEGACY;
		clock = MMC_HIGH_26_MAX_DTR;
		break;
	}

	switch (mmc_sim_lines(card)) {
	case 8:
		width = MMC_BUS_WIDTH_8;
		break;
	case 4:
		width = MMC_BUS_WIDTH_4;
		break;
	default:
		width = MMC_BUS_WIDTH_1;
		break;
	}

	if (card->ios.timing == timing && card->ios.bus_width == width &&
	    card->ios.enhanced_strobe == strobe && card->ios.clock <= clock)
		return;
	mmc_sim_violation(card->judge, MMC_SIM_RULE_BUS_MODE,
			  "CMD%u: host %u/%u/%u/%u, card %u/%u/%u/%u (timing/width/Hz/strobe)",
			  cmd->opcode, card->ios.timing, card->ios.bus_width,
			  card->ios.clock, card->ios.enhanced_strobe, timing,
			  width, clock, strobe);
}

/*
 * The checks that do not depend on a command's argument. Returns false when the
 * command has been dealt with.
 */
static bool mmc_sim_check_cmd(struct mmc_sim_card *card,
			      struct mmc_sim_cmd *cmd)
{
	const struct mmc_sim_rule_row *row = &mmc_sim_commands[cmd->opcode & 63];
	u16 flags = row->flags;

	if (card->state == MMC_SIM_OFF || card->state == MMC_SIM_INACTIVE ||
	    mmc_sim_is_probe(card, cmd)) {
		mmc_sim_silent(cmd);
		return false;
	}
	if (cmd->opcode > 63 || !row->states) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_UNKNOWN);
		return false;
	}
	if (flags & F_RCA && !mmc_sim_addressed(card, cmd)) {
		mmc_sim_silent(cmd);
		return false;
	}

	if (card->pending_valid && !(flags & F_SPLIT)) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_CMDQ_PAIR,
				  "CMD%u(%#x) after CMD44", cmd->opcode,
				  cmd->arg);
		card->pending_valid = false;
	}

	if (flags & F_QUEUE && !mmc_sim_cmdq_on(card)) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CMDQ_OFF);
		return false;
	}
	if (flags & F_CLASS_2_4 && mmc_sim_cmdq_on(card)) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CLASS_CQ_ON);
		return false;
	}
	if (!(row->states & BIT(card->state))) {
		mmc_sim_refuse(card, cmd,
			       flags & F_DATA && card->state == MMC_SIM_PRG ?
			       MMC_SIM_RULE_BUSY : MMC_SIM_RULE_STATE);
		return false;
	}
	if (!(flags & F_ANY_QUEUE) && mmc_sim_queued(card)) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_CMDQ_NOT_EMPTY);
		return false;
	}
	if (flags & F_NO_RPMB && mmc_sim_cur_part(card) == MMC_SIM_PART_RPMB) {
		mmc_sim_refuse(card, cmd, MMC_SIM_RULE_RPMB_FRAME);
		return false;
	}

	if (flags & F_DATA)
		mmc_sim_judge_bus(card, cmd);
	if (card->erase_step && !(flags & F_ERASE)) {
		card->erase_step = 0;
		card->status |= R1_ERASE_RESET;
	}
	if (!(flags & F_COUNT))
		card->cmd23_valid = false;
	return true;
}

/**
 * mmc_sim_card_cmd - a command arrives
 * @card: the card
 * @cmd: the command; the answer goes here, too
 * @now: when it arrives, ns
 *
 * What the host does wrong is judged, and the card answers as a real one does:
 * nothing if the command was illegal, error bits if its argument was wrong. If
 * a data phase follows, @cmd->dir says so and mmc_sim_card_data_start() when.
 *
 * Context: under &mmc_sim_host.lock.
 */
void mmc_sim_card_cmd(struct mmc_sim_card *card, struct mmc_sim_cmd *cmd,
		      u64 now)
{
	enum mmc_sim_state state;

	mmc_sim_card_sync(card, now);
	now = card->time;
	state = card->state;

	cmd->error = 0;
	memset(cmd->resp, 0, sizeof(cmd->resp));
	cmd->dir = MMC_SIM_NO_DATA;
	cmd->blksz = 0;
	cmd->blocks = 0;

	if (!mmc_sim_check_cmd(card, cmd))
		return;

	switch (cmd->opcode) {
	case MMC_GO_IDLE_STATE:
		mmc_sim_cmd_go_idle(card, cmd, now);
		break;
	case MMC_SEND_OP_COND:
		mmc_sim_cmd_op_cond(card, cmd);
		break;
	case MMC_ALL_SEND_CID:
		memcpy(cmd->resp, card->cid, sizeof(cmd->resp));
		card->state = MMC_SIM_IDENT;
		break;
	case MMC_SET_RELATIVE_ADDR:
		card->rca = cmd->arg >> 16;
		mmc_sim_r1(card, cmd, state);
		card->state = MMC_SIM_STBY;
		break;
	case MMC_SET_DSR:
		/* No response, and no effect since DSR_IMP is 0. */
		break;
	case MMC_SLEEP_AWAKE:
		mmc_sim_cmd_sleep_awake(card, cmd, state);
		break;
	case MMC_SWITCH:
		mmc_sim_cmd_switch(card, cmd, state, now);
		break;
	case MMC_SELECT_CARD:
		mmc_sim_cmd_select(card, cmd, state);
		break;
	case MMC_SEND_EXT_CSD:
		mmc_sim_cmd_ext_csd(card, cmd, state);
		break;
	case MMC_SEND_CSD:
		memcpy(cmd->resp, card->csd, sizeof(cmd->resp));
		break;
	case MMC_SEND_CID:
		memcpy(cmd->resp, card->cid, sizeof(cmd->resp));
		break;
	case MMC_STOP_TRANSMISSION:
		mmc_sim_cmd_stop(card, cmd, state, now);
		break;
	case MMC_SEND_STATUS:
		mmc_sim_cmd_status(card, cmd, state, now);
		break;
	case MMC_GO_INACTIVE_STATE:
		mmc_sim_lose_judged(card, now, "CMD15");
		mmc_sim_reset(card, false);
		card->state = MMC_SIM_INACTIVE;
		break;
	case MMC_BUS_TEST_W:
	case MMC_BUS_TEST_R:
		mmc_sim_cmd_bus_test(card, cmd, state);
		break;
	case MMC_SET_BLOCKLEN:
		mmc_sim_cmd_blocklen(card, cmd, state);
		break;
	case MMC_SEND_TUNING_BLOCK_HS200:
		mmc_sim_cmd_tuning(card, cmd, state);
		break;
	case MMC_SET_BLOCK_COUNT:
		mmc_sim_cmd_count(card, cmd, state);
		break;
	case MMC_READ_SINGLE_BLOCK:
	case MMC_READ_MULTIPLE_BLOCK:
	case MMC_WRITE_BLOCK:
	case MMC_WRITE_MULTIPLE_BLOCK:
		mmc_sim_cmd_rw(card, cmd, state);
		break;
	case MMC_ERASE_GROUP_START:
	case MMC_ERASE_GROUP_END:
		mmc_sim_cmd_erase_range(card, cmd, state);
		break;
	case MMC_ERASE:
		mmc_sim_cmd_erase(card, cmd, state, now);
		break;
	case MMC_QUE_TASK_PARAMS:
		mmc_sim_cmd_task_params(card, cmd, state);
		break;
	case MMC_QUE_TASK_ADDR:
		mmc_sim_cmd_task_addr(card, cmd, state, now);
		break;
	case MMC_EXECUTE_READ_TASK:
	case MMC_EXECUTE_WRITE_TASK:
		mmc_sim_cmd_task_execute(card, cmd, state, now);
		break;
	case MMC_CMDQ_TASK_MGMT:
		mmc_sim_cmd_task_mgmt(card, cmd, state);
		break;
	}
}

/* ---------------------------------------------------------- life and death */

/**
 * mmc_sim_card_init - make a card, without power
 * @card: memory for it
 * @cfg: settings, which stay there as long as the card
 * @judge: where its violations are counted
 *
 * Context: may sleep.
 * Return: 0, or a negative error; nothing has to be destroyed then.
 */
int mmc_sim_card_init(struct mmc_sim_card *card,
		      const struct mmc_sim_config *cfg,
		      struct mmc_sim_judge *judge)
{
	const u64 size[MMC_SIM_NR_PARTS] = {
		[MMC_SIM_PART_USER] = (u64)cfg->capacity_mib << 20,
		[MMC_SIM_PART_BOOT0] = (u64)cfg->boot_kib << 10,
		[MMC_SIM_PART_BOOT1] = (u64)cfg->boot_kib << 10,
		[MMC_SIM_PART_RPMB] = (u64)cfg->rpmb_kib << 10,
	};
	int err, i;

	memset(card, 0, sizeof(*card));
	card->cfg = cfg;
	card->judge = judge;
	prandom_seed_state(&card->rnd, cfg->seed);
	mmc_sim_timing_init(&card->timing, cfg);
	mmc_sim_ext_csd_init(card);

	for (i = 0; i < MMC_SIM_NR_PARTS; i++) {
		err = mmc_sim_store_init(&card->part[i], size[i],
					 cfg->erased_byte);
		if (err) {
			mmc_sim_store_destroy(&card->part[i]);
			goto err_store;
		}
	}

	err = mmc_sim_rpmb_init(card);
	if (err)
		goto err_store;

	mmc_sim_reset(card, true);
	card->state = MMC_SIM_OFF;
	return 0;

err_store:
	while (i--)
		mmc_sim_store_destroy(&card->part[i]);
	return err;
}

/**
 * mmc_sim_card_destroy - free what a card holds
 * @card: a card that mmc_sim_card_init() made
 *
 * Context: may sleep; nobody uses the card any more.
 */
void mmc_sim_card_destroy(struct mmc_sim_card *card)
{
	int i;

	mmc_sim_rpmb_destroy(card);
	for (i = 0; i < MMC_SIM_NR_PARTS; i++)
		mmc_sim_store_destroy(&card->part[i]);
}
