// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of direct commands, and of what the CQHCI driver does when
 * something goes wrong: the driver as it is, on registers that the test plays.
 */
#include <kunit/device.h>
#include <kunit/test.h>

#include <linux/bitops.h>
#include <linux/dma-mapping.h>
#include <linux/mmc/card.h>
#include <linux/mmc/host.h>
#include <linux/mmc/mmc.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "../cqhci.h"

#define DCMD	31

/* Task descriptor of a direct command (CQHCI, B.2.4) */
#define DESC_VALID	BIT_ULL(0)
#define DESC_END	BIT_ULL(1)
#define DESC_INT	BIT_ULL(2)
#define DESC_ACT	GENMASK_ULL(5, 3)
#define DESC_QBAR	BIT_ULL(14)
#define DESC_INDEX	GENMASK_ULL(21, 16)
#define DESC_TIMING	BIT_ULL(22)
#define DESC_RESP	GENMASK_ULL(24, 23)
#define DESC_ARG	GENMASK_ULL(63, 32)

/**
 * struct task - a request and what has become of it
 * @mrq: the request
 * @cmd: of a direct command
 * @data: of a task
 * @sg: its memory
 * @done: how often it was reported done
 * @notified: how often it asked for recovery
 */
struct task {
	struct mmc_request mrq;
	struct mmc_command cmd;
	struct mmc_data data;
	struct scatterlist sg;
	int done;
	int notified;
};

/**
 * struct engine - a CQHCI of which only the registers exist
 * @cq: the driver's part
 * @mmc: its host
 * @card: a card with its command queue on
 * @reg: the registers
 * @no_halt: how often HALT is still ignored
 * @no_clear: how often CLEAR_ALL_TASKS is still ignored
 * @deaf: the doorbell is not heard
 * @reads: reads of the doorbell register
 * @task: one for each slot
 * @buf: data of all of them
 */
struct engine {
	struct cqhci_host cq;
	struct mmc_host *mmc;
	struct mmc_card *card;
	u32 reg[0x80];
	unsigned int no_halt;
	unsigned int no_clear;
	bool deaf;
	unsigned int reads;
	struct task task[32];
	u8 *buf;
};

static u32 *engine_reg(struct engine *e, int reg)
{
	return &e->reg[reg / sizeof(u32)];
}

static u32 engine_read(struct cqhci_host *cq, int reg)
{
	struct engine *e = container_of(cq, struct engine, cq);

	e->reads += reg == CQHCI_TDBR;

	return *engine_reg(e, reg);
}

static void engine_write_ctl(struct engine *e, u32 val)
{
	u32 *ctl = engine_reg(e, CQHCI_CTL);

	if (!(val & CQHCI_HALT))
		*ctl &= ~CQHCI_HALT;
	else if (!(*ctl & CQHCI_HALT) && e->no_halt)
		e->no_halt--;
	else
		*ctl |= CQHCI_HALT;

	if (!(val & CQHCI_CLEAR_ALL_TASKS))
		return;

	if (*ctl & CQHCI_HALT && !e->no_clear) {
		*engine_reg(e, CQHCI_TDBR) = 0;
		*ctl &= ~CQHCI_CLEAR_ALL_TASKS;
	} else {
		e->no_clear -= !!e->no_clear;
		*ctl |= CQHCI_CLEAR_ALL_TASKS;
	}
}

static void engine_write(struct cqhci_host *cq, u32 val, int reg)
{
	struct engine *e = container_of(cq, struct engine, cq);

	switch (reg) {
	case CQHCI_CTL:
		engine_write_ctl(e, val);
		break;
	case CQHCI_CFG:
		*engine_reg(e, reg) = val;
		if (!(val & CQHCI_ENABLE)) {
			*engine_reg(e, CQHCI_TDBR) = 0;
			*engine_reg(e, CQHCI_CTL) &= ~CQHCI_CLEAR_ALL_TASKS;
		}
		break;
	case CQHCI_TDBR:
		if (!e->deaf)
			*engine_reg(e, reg) |= val;
		break;
	case CQHCI_IS:
	case CQHCI_TCN:
		*engine_reg(e, reg) &= ~val;
		break;
	default:
		*engine_reg(e, reg) = val;
	}
}

static const struct cqhci_host_ops engine_ops = {
	.read_l = engine_read,
	.write_l = engine_write,
};

static int engine_init(struct kunit *test)
{
	struct device *dev = kunit_device_register(test, "cqhci");
	struct engine *e;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	KUNIT_ASSERT_EQ(test, dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(64)), 0);

	e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e);
	test->priv = e;
	e->buf = kunit_kzalloc(test, 32 * 512, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->buf);
	e->card = kunit_kzalloc(test, sizeof(*e->card), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->card);

	e->mmc = mmc_alloc_host(0, dev);
	KUNIT_ASSERT_NOT_NULL(test, e->mmc);
	e->mmc->caps2 |= MMC_CAP2_CQE | MMC_CAP2_CQE_DCMD;
	e->mmc->max_segs = 4;
	e->cq.ops = &engine_ops;
	KUNIT_ASSERT_EQ(test, cqhci_init(&e->cq, e->mmc, true), 0);

	e->card->host = e->mmc;
	e->card->ext_csd.cmdq_en = true;
	KUNIT_ASSERT_EQ(test, e->mmc->cqe_ops->cqe_enable(e->mmc, e->card), 0);

	return 0;
}

static void engine_exit(struct kunit *test)
{
	struct engine *e = test->priv;

	if (!e || !e->mmc)
		return;
	e->mmc->cqe_ops->cqe_disable(e->mmc);
	mmc_free_host(e->mmc);
}

static void task_done(struct mmc_request *mrq)
{
	container_of(mrq, struct task, mrq)->done++;
}

static void task_notified(struct mmc_request *mrq)
{
	container_of(mrq, struct task, mrq)->notified++;
}

static int issue(struct engine *e, int tag)
{
	struct task *t = &e->task[tag];

	memset(t, 0, sizeof(*t));
	t->mrq.host = e->mmc;
	t->mrq.tag = tag;
	t->mrq.done = task_done;
	t->mrq.recovery_notifier = task_notified;
	if (tag == DCMD) {
		/* FLUSH_CACHE = 1, as the block driver sends it */
		t->mrq.cmd = &t->cmd;
		t->mrq.tag = 5;
		t->cmd.opcode = MMC_SWITCH;
		t->cmd.arg = 0x03200101;
		t->cmd.flags = MMC_CMD_AC | MMC_RSP_R1B;
	} else {
		sg_init_one(&t->sg, e->buf + tag * 512, 512);
		t->data.sg = &t->sg;
		t->data.sg_len = 1;
		t->data.blocks = 1;
		t->data.blksz = 512;
		t->data.flags = MMC_DATA_READ;
		t->mrq.data = &t->data;
	}

	return e->mmc->cqe_ops->cqe_request(e->mmc, &t->mrq);
}

/* The engine completes @done, and reports @reported with an interrupt. */
static void complete_tasks(struct engine *e, u32 done, u32 reported)
{
	*engine_reg(e, CQHCI_TDBR) &= ~done;
	*engine_reg(e, CQHCI_TCN) |= reported;
	*engine_reg(e, CQHCI_IS) |= CQHCI_IS_TCC;
	cqhci_irq(e->mmc, 0, 0, 0);
}

/* The card reports an error in the response to the command of a task. */
static void task_fails(struct engine *e, int tag)
{
	*engine_reg(e, CQHCI_TERRI) = BIT(15) | tag << 8;
	*engine_reg(e, CQHCI_IS) |= CQHCI_IS_RED;
	cqhci_irq(e->mmc, 0, 0, 0);
}

static int recover(struct engine *e)
{
	e->mmc->cqe_ops->cqe_recovery_start(e->mmc);
	return e->mmc->cqe_ops->cqe_recovery_finish(e->mmc);
}

/* A task that was started in vain: ended once, without error, with no data. */
static void expect_requeued(struct kunit *test, int tag)
{
	struct engine *e = test->priv;
	struct task *t = &e->task[tag];

	KUNIT_EXPECT_EQ_MSG(test, t->done, 1, "tag %d", tag);
	KUNIT_EXPECT_EQ_MSG(test, t->data.error, 0, "tag %d", tag);
	KUNIT_EXPECT_EQ_MSG(test, t->cmd.error, 0, "tag %d", tag);
	KUNIT_EXPECT_EQ_MSG(test, t->data.bytes_xfered, 0, "tag %d", tag);
}

/* It takes a task, which completes with its data. */
static void expect_works(struct kunit *test, int tag)
{
	struct engine *e = test->priv;

	KUNIT_ASSERT_EQ(test, issue(e, tag), 0);
	KUNIT_EXPECT_EQ(test, e->task[tag].done, 0);
	KUNIT_EXPECT_TRUE(test, *engine_reg(e, CQHCI_CFG) & CQHCI_ENABLE);
	KUNIT_EXPECT_FALSE(test, *engine_reg(e, CQHCI_CTL) & CQHCI_HALT);
	KUNIT_EXPECT_TRUE(test, *engine_reg(e, CQHCI_TDBR) & BIT(tag));
	complete_tasks(e, BIT(tag), BIT(tag));
	KUNIT_EXPECT_EQ(test, e->task[tag].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[tag].data.bytes_xfered, 512);
}

/* ---------------------------------------------------------- direct commands */

static const struct dcmd_case {
	const char *name;
	u32 opcode, arg;
	unsigned int flags;
	u32 resp, timing;
} dcmd_cases[] = {
	/* With a busy signal it waits for idle data lines. */
	{ "flush", 6, 0x03200101, MMC_CMD_AC | MMC_RSP_R1B, 3, 0 },
	{ "status", 13, 0x00010000, MMC_CMD_AC | MMC_RSP_R1, 2, 1 },
	{ "no response", 4, 0, MMC_CMD_BC | MMC_RSP_NONE, 0, 1 },
	{ "all bits", 63, 0xffffffff, MMC_CMD_AC | MMC_RSP_R1B, 3, 0 },
};

KUNIT_ARRAY_PARAM_DESC(dcmd, dcmd_cases, name);

static u32 desc_field(u64 mask, u64 desc)
{
	return (desc & mask) >> __ffs64(mask);
}

static void dcmd_test(struct kunit *test)
{
	const struct dcmd_case *c = test->param_value;
	struct engine *e = test->priv;
	struct task *t = &e->task[0];
	u64 desc;

	t->mrq.host = e->mmc;
	t->mrq.tag = 7;
	t->mrq.cmd = &t->cmd;
	t->mrq.done = task_done;
	t->cmd.opcode = c->opcode;
	t->cmd.arg = c->arg;
	t->cmd.flags = c->flags;
	memset(e->cq.desc_base + DCMD * e->cq.slot_sz, 0xff, e->cq.task_desc_len);
	KUNIT_ASSERT_EQ(test, e->mmc->cqe_ops->cqe_request(e->mmc, &t->mrq), 0);

	/* In the slot of direct commands, whatever its tag is */
	KUNIT_EXPECT_EQ(test, *engine_reg(e, CQHCI_TDBR), BIT(DCMD));
	desc = get_unaligned_le64(e->cq.desc_base + DCMD * e->cq.slot_sz);
	KUNIT_EXPECT_TRUE(test, desc & DESC_VALID);
	KUNIT_EXPECT_TRUE(test, desc & DESC_END);
	KUNIT_EXPECT_TRUE(test, desc & DESC_INT);
	KUNIT_EXPECT_TRUE(test, desc & DESC_QBAR);
	KUNIT_EXPECT_EQ(test, desc_field(DESC_ACT, desc), 5);
	KUNIT_EXPECT_EQ(test, desc_field(DESC_INDEX, desc), c->opcode);
	KUNIT_EXPECT_EQ(test, desc_field(DESC_RESP, desc), c->resp);
	KUNIT_EXPECT_EQ(test, desc_field(DESC_TIMING, desc), c->timing);
	KUNIT_EXPECT_EQ(test, desc_field(DESC_ARG, desc), c->arg);

	complete_tasks(e, BIT(DCMD), BIT(DCMD));
	KUNIT_EXPECT_EQ(test, t->done, 1);
	KUNIT_EXPECT_EQ(test, t->cmd.error, 0);
}

/* It has a slot of its own, so that no task has to wait for it. */
static void dcmd_slot_test(struct kunit *test)
{
	struct engine *e = test->priv;

	KUNIT_EXPECT_EQ(test, e->mmc->cqe_qdepth, 31);
	for (int tag = 0; tag < 32; tag++)
		KUNIT_ASSERT_EQ(test, issue(e, tag), 0);
	KUNIT_EXPECT_EQ(test, *engine_reg(e, CQHCI_TDBR), U32_MAX);
	complete_tasks(e, BIT(DCMD), BIT(DCMD));
	KUNIT_EXPECT_EQ(test, e->task[DCMD].done, 1);
	for (int tag = 0; tag < 31; tag++)
		KUNIT_EXPECT_EQ(test, e->task[tag].done, 0);
	complete_tasks(e, U32_MAX, U32_MAX >> 1);
	for (int tag = 0; tag < 32; tag++)
		KUNIT_EXPECT_EQ(test, e->task[tag].done, 1);
}

static void dcmd_refused_test(struct kunit *test)
{
	struct engine *e = test->priv;

	KUNIT_ASSERT_EQ(test, issue(e, 0), 0);
	KUNIT_ASSERT_EQ(test, issue(e, DCMD), 0);
	task_fails(e, DCMD);
	KUNIT_EXPECT_EQ(test, e->task[DCMD].notified, 1);
	KUNIT_EXPECT_EQ(test, e->task[DCMD].done, 0);
	KUNIT_EXPECT_EQ(test, recover(e), 0);
	KUNIT_EXPECT_EQ(test, e->task[DCMD].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[DCMD].cmd.error, -EIO);
	expect_requeued(test, 0);
	expect_works(test, 3);
}

static void dcmd_timeout_test(struct kunit *test)
{
	struct engine *e = test->priv;
	bool needed = false;

	KUNIT_ASSERT_EQ(test, issue(e, DCMD), 0);
	KUNIT_EXPECT_TRUE(test, e->mmc->cqe_ops->cqe_timeout(e->mmc,
							     &e->task[DCMD].mrq,
							     &needed));
	KUNIT_EXPECT_TRUE(test, needed);
	KUNIT_EXPECT_EQ(test, recover(e), 0);
	KUNIT_EXPECT_EQ(test, e->task[DCMD].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[DCMD].cmd.error, -ETIMEDOUT);
	expect_works(test, 0);
}

/* ------------------------------------------------------------- completions */

static void free_slot_test(struct kunit *test)
{
	struct engine *e = test->priv;

	KUNIT_ASSERT_EQ(test, issue(e, 3), 0);
	complete_tasks(e, BIT(3), BIT(3) | BIT(9));
	KUNIT_EXPECT_EQ(test, e->task[3].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[9].done, 0);
	KUNIT_EXPECT_FALSE(test, e->cq.recovery_halt);
	expect_works(test, 9);
	expect_works(test, 3);
}

/* The slot was free when the engine reported it, and is not any more. */
static void early_test(struct kunit *test)
{
	struct engine *e = test->priv;

	KUNIT_ASSERT_EQ(test, issue(e, 3), 0);
	*engine_reg(e, CQHCI_TCN) |= BIT(9);
	KUNIT_ASSERT_EQ(test, issue(e, 9), 0);
	complete_tasks(e, BIT(3), BIT(3));
	KUNIT_EXPECT_EQ(test, e->task[3].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[9].done, 0);
	complete_tasks(e, BIT(9), BIT(9));
	KUNIT_EXPECT_EQ(test, e->task[9].done, 1);
}

/* Or the engine is late to clear the doorbell bit of a task that is done. */
static void late_doorbell_test(struct kunit *test)
{
	struct engine *e = test->priv;

	KUNIT_ASSERT_EQ(test, issue(e, 3), 0);
	KUNIT_ASSERT_EQ(test, issue(e, 9), 0);
	complete_tasks(e, BIT(3), BIT(3) | BIT(9));
	KUNIT_EXPECT_EQ(test, e->task[9].done, 0);
	KUNIT_ASSERT_EQ(test, issue(e, 4), 0);
	complete_tasks(e, BIT(9) | BIT(4), BIT(4));
	KUNIT_EXPECT_EQ(test, e->task[4].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[9].done, 1);
}

/* An engine that has reported a free slot is asked about lone ones as well. */
static void early_alone_test(struct kunit *test)
{
	struct engine *e = test->priv;

	complete_tasks(e, 0, BIT(9));
	KUNIT_ASSERT_EQ(test, issue(e, 9), 0);
	complete_tasks(e, 0, BIT(9));
	KUNIT_EXPECT_EQ(test, e->task[9].done, 0);
	complete_tasks(e, BIT(9), BIT(9));
	KUNIT_EXPECT_EQ(test, e->task[9].done, 1);
}

/* None of this costs a register access where nothing is wrong. */
static void no_reads_test(struct kunit *test)
{
	struct engine *e = test->priv;

	for (int i = 0; i < 10; i++) {
		KUNIT_ASSERT_EQ(test, issue(e, i), 0);
		e->reads = 0;
		complete_tasks(e, BIT(i), BIT(i));
		KUNIT_EXPECT_EQ(test, e->reads, 0);
	}

	for (int tag = 0; tag < 8; tag++)
		KUNIT_ASSERT_EQ(test, issue(e, tag), 0);
	complete_tasks(e, BIT(0), BIT(0));
	e->reads = 0;
	complete_tasks(e, 0xfe, 0xfe);
	KUNIT_EXPECT_EQ(test, e->reads, 0);
	for (int tag = 0; tag < 8; tag++)
		KUNIT_EXPECT_EQ(test, e->task[tag].done, 1);
}

static void lost_irq_test(struct kunit *test)
{
	struct engine *e = test->priv;
	bool needed = false;

	KUNIT_ASSERT_EQ(test, issue(e, 3), 0);
	KUNIT_ASSERT_EQ(test, issue(e, 4), 0);
	KUNIT_ASSERT_EQ(test, issue(e, 5), 0);
	*engine_reg(e, CQHCI_TDBR) &= ~(BIT(3) | BIT(4));
	*engine_reg(e, CQHCI_TCN) |= BIT(3) | BIT(4);
	KUNIT_EXPECT_FALSE(test, e->mmc->cqe_ops->cqe_timeout(e->mmc,
							      &e->task[3].mrq,
							      &needed));
	KUNIT_EXPECT_TRUE(test, needed);
	for (int tag = 3; tag <= 4; tag++) {
		KUNIT_EXPECT_EQ(test, e->task[tag].done, 1);
		KUNIT_EXPECT_EQ(test, e->task[tag].data.error, 0);
		KUNIT_EXPECT_EQ(test, e->task[tag].data.bytes_xfered, 512);
	}
	KUNIT_EXPECT_EQ(test, e->task[5].done, 0);
	KUNIT_EXPECT_EQ(test, recover(e), 0);
	expect_requeued(test, 5);
	expect_works(test, 3);
}

/* ---------------------------------------------------------------- recovery */

/* One fails amid 30 others and a direct command; one is done meanwhile. */
static void amid_others_test(struct kunit *test)
{
	struct engine *e = test->priv;

	for (int tag = 0; tag < 32; tag++)
		KUNIT_ASSERT_EQ(test, issue(e, tag), 0);
	task_fails(e, 17);
	KUNIT_EXPECT_EQ(test, e->task[17].notified, 1);
	complete_tasks(e, BIT(4), BIT(4));
	KUNIT_EXPECT_EQ(test, e->task[4].done, 0);
	/* Nothing is accepted, and a second error changes nothing. */
	task_fails(e, 9);
	KUNIT_EXPECT_EQ(test, e->task[9].notified, 0);
	KUNIT_EXPECT_EQ(test, recover(e), 0);
	for (int tag = 0; tag < 32; tag++) {
		if (tag != 17)
			expect_requeued(test, tag);
	}
	KUNIT_EXPECT_EQ(test, e->task[17].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[17].data.error, -EIO);
	KUNIT_EXPECT_EQ(test, e->cq.qcnt, 0);
	expect_works(test, 17);
}

static void busy_test(struct kunit *test)
{
	struct engine *e = test->priv;

	KUNIT_ASSERT_EQ(test, issue(e, 0), 0);
	task_fails(e, 0);
	KUNIT_EXPECT_EQ(test, issue(e, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, e->mmc->cqe_ops->cqe_wait_for_idle(e->mmc), -EBUSY);
	KUNIT_EXPECT_EQ(test, recover(e), 0);
	KUNIT_EXPECT_EQ(test, e->task[1].done, 0);
	KUNIT_EXPECT_EQ(test, e->mmc->cqe_ops->cqe_wait_for_idle(e->mmc), 0);
	expect_works(test, 1);
}

/* The doorbell did not reach the engine: ended once as well. */
static void not_rung_test(struct kunit *test)
{
	struct engine *e = test->priv;
	bool needed = false;

	e->deaf = true;
	KUNIT_ASSERT_EQ(test, issue(e, 0), 0);
	KUNIT_ASSERT_EQ(test, issue(e, 1), 0);
	KUNIT_EXPECT_TRUE(test, e->mmc->cqe_ops->cqe_timeout(e->mmc,
							     &e->task[0].mrq,
							     &needed));
	e->deaf = false;
	KUNIT_EXPECT_EQ(test, recover(e), 0);
	KUNIT_EXPECT_EQ(test, e->task[0].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[0].data.error, -ETIMEDOUT);
	expect_requeued(test, 1);
	expect_works(test, 0);
}

/* What the engine still reports of tasks that are gone is not of later ones. */
static void stale_test(struct kunit *test)
{
	struct engine *e = test->priv;

	KUNIT_ASSERT_EQ(test, issue(e, 0), 0);
	KUNIT_ASSERT_EQ(test, issue(e, 1), 0);
	task_fails(e, 0);
	*engine_reg(e, CQHCI_TCN) |= BIT(1);
	*engine_reg(e, CQHCI_IS) |= CQHCI_IS_TCC;
	KUNIT_EXPECT_EQ(test, recover(e), 0);
	KUNIT_EXPECT_EQ(test, *engine_reg(e, CQHCI_TCN), 0);
	KUNIT_EXPECT_EQ(test, *engine_reg(e, CQHCI_IS) & CQHCI_IS_TCC, 0);
	expect_requeued(test, 1);
	expect_works(test, 1);
}

static const struct stubborn_case {
	const char *name;
	unsigned int no_halt, no_clear;
	bool recovers;
	/* Who sends commands after the start of recovery is alone */
	bool enabled;
} stubborn_cases[] = {
	{ "well-behaved", 0, 0, true, true },
	{ "does not halt at first", 1, 0, true, false },
	{ "never halts", 100, 0, false, false },
	{ "does not clear at first", 0, 1, true, true },
	{ "never clears", 0, 100, false, true },
	{ "halts late, clears late", 1, 1, false, false },
	{ "does neither", 100, 100, false, false },
};

KUNIT_ARRAY_PARAM_DESC(stubborn, stubborn_cases, name);

static void stubborn_test(struct kunit *test)
{
	const struct stubborn_case *c = test->param_value;
	struct engine *e = test->priv;
	u32 cfg, ctl;

	KUNIT_ASSERT_EQ(test, issue(e, 0), 0);
	KUNIT_ASSERT_EQ(test, issue(e, 1), 0);
	task_fails(e, 0);
	e->no_halt = c->no_halt;
	e->no_clear = c->no_clear;
	e->mmc->cqe_ops->cqe_recovery_start(e->mmc);
	cfg = *engine_reg(e, CQHCI_CFG);
	KUNIT_EXPECT_EQ(test, !!(cfg & CQHCI_ENABLE), c->enabled);
	ctl = *engine_reg(e, CQHCI_CTL);
	KUNIT_EXPECT_TRUE(test, !(cfg & CQHCI_ENABLE) || ctl & CQHCI_HALT);
	KUNIT_EXPECT_EQ(test, e->mmc->cqe_ops->cqe_recovery_finish(e->mmc),
			c->recovers ? 0 : -ENXIO);
	if (!c->recovers)
		KUNIT_EXPECT_FALSE(test, *engine_reg(e, CQHCI_CFG) & CQHCI_ENABLE);

	/* In any case all tasks have ended, and what comes is set up anew. */
	KUNIT_EXPECT_EQ(test, e->task[0].done, 1);
	KUNIT_EXPECT_EQ(test, e->task[0].data.error, -EIO);
	expect_requeued(test, 1);
	KUNIT_EXPECT_EQ(test, e->cq.qcnt, 0);
	e->no_halt = 0;
	e->no_clear = 0;
	expect_works(test, 1);
}

/* Between tasks, for a regular command. */
static void off_test(struct kunit *test)
{
	struct engine *e = test->priv;

	expect_works(test, 0);
	e->mmc->cqe_ops->cqe_off(e->mmc);
	KUNIT_EXPECT_TRUE(test, *engine_reg(e, CQHCI_CTL) & CQHCI_HALT);
	KUNIT_EXPECT_FALSE(test, e->mmc->cqe_on);
	expect_works(test, 1);

	e->no_halt = 1;
	e->mmc->cqe_ops->cqe_off(e->mmc);
	KUNIT_EXPECT_FALSE(test, *engine_reg(e, CQHCI_CFG) & CQHCI_ENABLE);
	KUNIT_EXPECT_FALSE(test, e->mmc->cqe_on);
	expect_works(test, 2);
}

static struct kunit_case recovery_cases[] = {
	KUNIT_CASE_PARAM(dcmd_test, dcmd_gen_params),
	KUNIT_CASE(dcmd_slot_test),
	KUNIT_CASE(dcmd_refused_test),
	KUNIT_CASE(dcmd_timeout_test),
	KUNIT_CASE(free_slot_test),
	KUNIT_CASE(early_test),
	KUNIT_CASE(late_doorbell_test),
	KUNIT_CASE(early_alone_test),
	KUNIT_CASE(no_reads_test),
	KUNIT_CASE(lost_irq_test),
	KUNIT_CASE(amid_others_test),
	KUNIT_CASE(busy_test),
	KUNIT_CASE(not_rung_test),
	KUNIT_CASE(stale_test),
	KUNIT_CASE_PARAM(stubborn_test, stubborn_gen_params),
	KUNIT_CASE(off_test),
	{}
};

static struct kunit_suite recovery_suite = {
	.name = "mmc_cqhci_recovery",
	.init = engine_init,
	.exit = engine_exit,
	.test_cases = recovery_cases,
};

kunit_test_suite(recovery_suite);

MODULE_DESCRIPTION("KUnit tests of CQHCI's direct commands and recovery");
MODULE_LICENSE("GPL");
