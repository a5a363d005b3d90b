// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the CQHCI driver: the descriptors that it writes, and what it
 * reads from and writes to a register file that does no more than remember. No
 * card is there: the tests say which tasks have ended.
 */

#include <kunit/device.h>
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/dma-mapping.h>
#include <linux/irqflags.h>
#include <linux/mmc/card.h>
#include <linux/mmc/core.h>
#include <linux/mmc/host.h>
#include <linux/mmc/mmc.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/unaligned.h>
#include <linux/workqueue.h>

#include "../cqhci.h"

#define SLOTS		32
#define MAX_SEGS	4
#define MAX_LOG		128
#define DCMD		BIT(31)

/* The clock of the capability register: 192 times 1 MHz */
#define CAP_192MHZ	0x30c0
/* With that, and 31 slots: 7 tasks, or 93 times 1024 clocks (496 us) */
#define IC_192MHZ	0x800087dd
#define IC_RESET	0x00010000

/**
 * struct layout - what decides on the size of descriptors
 * @name: of the layout
 * @task128: task descriptors of 128 bits
 * @dma64: addresses of 64 bits
 * @short_desc: with those, transfer descriptors of 96 bits
 * @link: expected offset of the link descriptor in a slot
 * @slot: expected size of a slot
 * @txfr: expected size of a transfer descriptor
 */
struct layout {
	const char *name;
	bool task128;
	bool dma64;
	bool short_desc;
	unsigned int link;
	unsigned int slot;
	unsigned int txfr;
};

static const struct layout layouts[] = {
	{ "64-bit task, 32-bit address", false, false, false, 8, 16, 8 },
	{ "64-bit task, 64-bit address", false, true, false, 8, 24, 16 },
	{ "64-bit task, short descriptors", false, true, true, 8, 24, 12 },
	{ "128-bit task, 32-bit address", true, false, false, 16, 24, 8 },
	{ "128-bit task, 64-bit address", true, true, false, 16, 32, 16 },
	{ "128-bit task, short descriptors", true, true, true, 16, 32, 12 },
};

KUNIT_ARRAY_PARAM_DESC(layout, layouts, name);

struct access {
	bool write;
	int reg;
	u32 val;
};

struct task {
	struct mmc_request mrq;
	struct mmc_command cmd;
	struct mmc_data data;
	struct scatterlist sg[MAX_SEGS];
	unsigned int done;
	bool more_done;
};

/**
 * struct cqhci_test - an engine that does nothing by itself
 * @test: the test that it is for
 * @cq: the driver's view
 * @ops: which lead to @reg
 * @mmc: its host
 * @card: what cqe_enable() is told of
 * @reg: registers by offset / 4
 * @log: accesses, in order
 * @nr_log: how many there were
 * @task: one for each slot
 * @buf: a page of data for each segment of a task
 * @notified: how often recovery was asked for
 * @finish_work: reports all tasks in the doorbell register as done
 * @finish: to be done when the doorbell is rung
 */
struct cqhci_test {
	struct kunit *test;
	struct cqhci_host cq;
	struct cqhci_host_ops ops;
	struct mmc_host *mmc;
	struct mmc_card card;
	u32 reg[0x60 / 4];
	struct access log[MAX_LOG];
	unsigned int nr_log;
	struct task task[SLOTS];
	u8 *buf[MAX_SEGS];
	unsigned int notified;
	struct work_struct finish_work;
	bool finish;
};

/* ------------------------------------------------------------------ registers */

static void note(struct cqhci_test *t, bool write, int reg, u32 val)
{
	if (t->nr_log < MAX_LOG)
		t->log[t->nr_log] = (struct access) { write, reg, val };
	t->nr_log++;
}

static u32 reg_read(struct cqhci_host *cq, int reg)
{
	struct cqhci_test *t = container_of(cq, struct cqhci_test, cq);

	note(t, false, reg, t->reg[reg / 4]);
	return t->reg[reg / 4];
}

static void reg_write(struct cqhci_host *cq, u32 val, int reg)
{
	struct cqhci_test *t = container_of(cq, struct cqhci_test, cq);

	note(t, true, reg, val);

	switch (reg) {
	case CQHCI_IS:
	case CQHCI_TCN:
		t->reg[reg / 4] &= ~val;
		break;
	case CQHCI_TDBR:
		t->reg[reg / 4] |= val;
		if (t->finish)
			schedule_work(&t->finish_work);
		break;
	case CQHCI_CTL:
		/* Tasks are cleared at once */
		if (val & CQHCI_CLEAR_ALL_TASKS)
			t->reg[CQHCI_TDBR / 4] = 0;
		t->reg[reg / 4] = val & ~CQHCI_CLEAR_ALL_TASKS;
		break;
	default:
		t->reg[reg / 4] = val;
	}
}

/* Accesses since the log was last emptied; which, if @reg is not negative. */
static unsigned int accesses(struct cqhci_test *t, bool write, int reg)
{
	unsigned int nr = 0;

	KUNIT_ASSERT_LE(t->test, t->nr_log, MAX_LOG);
	for (unsigned int i = 0; i < t->nr_log; i++) {
		if (t->log[i].write == write &&
		    (reg < 0 || t->log[i].reg == reg))
			nr++;
	}

	return nr;
}

/* The @nth write of @reg since the log was last emptied */
static u32 written(struct cqhci_test *t, int reg, unsigned int nth)
{
	for (unsigned int i = 0; i < min(t->nr_log, MAX_LOG); i++) {
		if (t->log[i].write && t->log[i].reg == reg && !nth--)
			return t->log[i].val;
	}

	return 0;
}

static int position(struct cqhci_test *t, bool write, int reg)
{
	for (unsigned int i = 0; i < min(t->nr_log, MAX_LOG); i++) {
		if (t->log[i].write == write && t->log[i].reg == reg)
			return i;
	}

	return -1;
}

/* ---------------------------------------------------------------------- tools */

static void interrupt(struct cqhci_test *t, u32 status, u32 tcn, int error)
{
	unsigned long flags;

	local_irq_save(flags);
	t->reg[CQHCI_IS / 4] |= status;
	t->reg[CQHCI_TCN / 4] |= tcn;
	t->reg[CQHCI_TDBR / 4] &= ~tcn;
	cqhci_irq(t->mmc, 0, 0, error);
	local_irq_restore(flags);
}

static void complete_tasks(struct cqhci_test *t, u32 tcn)
{
	interrupt(t, CQHCI_IS_TCC, tcn, 0);
}

static void finish_all(struct work_struct *work)
{
	struct cqhci_test *t = container_of(work, struct cqhci_test,
					    finish_work);

	complete_tasks(t, t->reg[CQHCI_TDBR / 4]);
}

static void task_done(struct mmc_request *mrq)
{
	struct task *task = container_of(mrq, struct task, mrq);

	task->done++;
	task->more_done = mrq->cqe_more;
	mrq->host->cqe_ops->cqe_post_req(mrq->host, mrq);
}

static struct cqhci_test *the_test;

static void recovery_notifier(struct mmc_request *mrq)
{
	the_test->notified++;
}

/* A task of @segs segments, of a page each */
static struct mmc_request *new_task(struct cqhci_test *t, int tag,
				    unsigned int flags, unsigned int segs)
{
	struct task *task = &t->task[tag];

	memset(task, 0, sizeof(*task));
	sg_init_table(task->sg, segs);
	for (unsigned int i = 0; i < segs; i++)
		sg_set_buf(&task->sg[i], t->buf[i], SZ_4K);

	task->data.flags = flags;
	task->data.blksz = 512;
	task->data.blocks = segs * SZ_4K / 512;
	task->data.blk_addr = 0x12345678;
	task->data.sg = task->sg;
	task->data.sg_len = segs;
	task->mrq.data = &task->data;
	task->mrq.tag = tag;
	task->mrq.host = t->mmc;
	task->mrq.done = task_done;
	task->mrq.recovery_notifier = recovery_notifier;

	return &task->mrq;
}

static struct mmc_request *new_dcmd(struct cqhci_test *t)
{
	struct task *task = &t->task[31];

	memset(task, 0, sizeof(*task));
	task->cmd.opcode = MMC_SWITCH;
	task->cmd.arg = 0x03200101;
	task->cmd.flags = MMC_CMD_AC | MMC_RSP_R1B;
	task->mrq.cmd = &task->cmd;
	task->mrq.tag = 5;
	task->mrq.host = t->mmc;
	task->mrq.done = task_done;
	task->mrq.recovery_notifier = recovery_notifier;

	return &task->mrq;
}

static void send(struct cqhci_test *t, struct mmc_request *mrq, bool more)
{
	mrq->cqe_more = more;
	KUNIT_ASSERT_EQ(t->test, t->mmc->cqe_ops->cqe_request(t->mmc, mrq), 0);
}

static void send_task(struct cqhci_test *t, int tag, unsigned int flags,
		      bool more)
{
	send(t, new_task(t, tag, flags, 1), more);
}

static void commit(struct cqhci_test *t)
{
	t->mmc->cqe_ops->cqe_commit(t->mmc);
}

static u64 task_desc(struct cqhci_test *t, int tag)
{
	return get_unaligned_le64(t->cq.desc_base + tag * t->cq.slot_sz);
}

static bool has_int(struct cqhci_test *t, int tag)
{
	return task_desc(t, tag) & BIT(2);
}

static void free_host(void *mmc)
{
	mmc_free_host(mmc);
}

static void disable(void *data)
{
	struct cqhci_test *t = data;

	cancel_work_sync(&t->finish_work);
	t->mmc->cqe_ops->cqe_disable(t->mmc);
}

/* An engine as the settings have it, which is not enabled yet. */
static struct cqhci_test *begin(struct kunit *test, const struct layout *layout,
				bool dcmd)
{
	struct cqhci_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct device *dev = kunit_device_register(test, "cqhci");
	u64 mask = layout->dma64 ? DMA_BIT_MASK(64) : DMA_BIT_MASK(32);

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	KUNIT_ASSERT_EQ(test, dma_set_mask_and_coherent(dev, mask), 0);

	t->test = test;
	the_test = t;
	for (int i = 0; i < MAX_SEGS; i++) {
		t->buf[i] = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, t->buf[i]);
	}
	INIT_WORK(&t->finish_work, finish_all);

	t->mmc = mmc_alloc_host(0, dev);
	KUNIT_ASSERT_NOT_NULL(test, t->mmc);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_host, t->mmc), 0);
	t->mmc->max_segs = MAX_SEGS;
	if (dcmd)
		t->mmc->caps2 |= MMC_CAP2_CQE_DCMD;

	t->ops.read_l = reg_read;
	t->ops.write_l = reg_write;
	t->cq.ops = &t->ops;
	if (layout->task128)
		t->cq.caps |= CQHCI_TASK_DESC_SZ_128;
	if (layout->short_desc)
		t->cq.quirks |= CQHCI_QUIRK_SHORT_TXFR_DESC_SZ;
	t->reg[CQHCI_VER / 4] = 0x510;
	KUNIT_ASSERT_EQ(test, cqhci_init(&t->cq, t->mmc, layout->dma64), 0);

	t->card.rca = 1;
	t->card.ext_csd.cmdq_en = true;
	t->card.ext_csd.cmdq_depth = 32;

	return t;
}

static void enable(struct cqhci_test *t)
{
	struct kunit *test = t->test;

	KUNIT_ASSERT_EQ(test, t->mmc->cqe_ops->cqe_enable(t->mmc, &t->card), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, disable, t), 0);
}

static void empty_log(struct cqhci_test *t)
{
	t->nr_log = 0;
}

/* One that is enabled, with direct commands and the most common layout */
static struct cqhci_test *begin_enabled(struct kunit *test, bool coalescing)
{
	struct cqhci_test *t = begin(test, &layouts[1], true);

	t->reg[CQHCI_CAP / 4] = CAP_192MHZ;
	if (coalescing)
		t->cq.caps |= CQHCI_INTR_COALESCING;
	enable(t);
	empty_log(t);

	return t;
}

/* ---------------------------------------------------------------- descriptors */

static void expect_address(struct cqhci_test *t, const u8 *desc, dma_addr_t addr,
			   const char *what)
{
	u64 found = t->cq.dma64 ? get_unaligned_le64(desc + 4) :
				  get_unaligned_le32(desc + 4);

	KUNIT_EXPECT_EQ_MSG(t->test, found, (u64)addr, "%s", what);
}

static void layout_test(struct kunit *test)
{
	const struct layout *layout = test->param_value;
	struct cqhci_test *t = begin(test, layout, true);
	struct mmc_request *mrq;
	const u8 *slot, *txfr;
	unsigned int txfr_room = MAX_SEGS * layout->txfr;
	u32 cfg = CQHCI_ENABLE | CQHCI_DCMD;
	const int tag = 3;

	enable(t);

	if (layout->task128)
		cfg |= CQHCI_TASK_DESC_SZ;
	KUNIT_EXPECT_EQ(test, t->reg[CQHCI_CFG / 4], cfg);
	KUNIT_EXPECT_EQ(test, t->reg[CQHCI_TDLBA / 4],
			lower_32_bits(t->cq.desc_dma_base));
	KUNIT_EXPECT_EQ(test, t->reg[CQHCI_TDLBAU / 4],
			upper_32_bits(t->cq.desc_dma_base));

	/* Each slot leads to transfer descriptors of its own */
	for (int i = 0; i < SLOTS - 1; i++) {
		slot = t->cq.desc_base + i * layout->slot;
		KUNIT_EXPECT_EQ(test, slot[layout->link], 0x31);
		expect_address(t, slot + layout->link,
			       t->cq.trans_desc_dma_base + i * txfr_room, "link");
	}
	/* but that of direct commands to none */
	slot = t->cq.desc_base + (SLOTS - 1) * layout->slot;
	KUNIT_EXPECT_EQ(test, slot[layout->link], 0x02);

	/* What an earlier task left must not show */
	memset(t->cq.desc_base + tag * layout->slot, 0xff, layout->link);
	memset(t->cq.trans_desc_base + tag * txfr_room, 0xff, txfr_room);
	mrq = new_task(t, tag, MMC_DATA_READ, 3);
	send(t, mrq, false);

	slot = t->cq.desc_base + tag * layout->slot;
	txfr = t->cq.trans_desc_base + tag * txfr_room;
	KUNIT_EXPECT_EQ(test, get_unaligned_le64(slot), 0x123456780018102fULL);
	if (layout->task128)
		KUNIT_EXPECT_EQ(test, get_unaligned_le64(slot + 8), 0ULL);
	for (int i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, get_unaligned_le32(txfr),
				i < 2 ? 0x10000021 : 0x10000023);
		expect_address(t, txfr, sg_dma_address(&mrq->data->sg[i]), "data");
		txfr += layout->txfr;
	}
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(txfr), 0xffffffff);

	complete_tasks(t, BIT(tag));
	KUNIT_EXPECT_EQ(test, t->task[tag].done, 1);
}

/* 64 KiB is as much as a descriptor holds, and its length reads as 0. */
static void length_test(struct kunit *test)
{
	u8 desc[16] = {};

	cqhci_set_tran_desc(desc, 0x89abcdef01234567ULL & (dma_addr_t)-1, 65536,
			    true, true);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(desc), 0x00000023);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(desc + 4), 0x01234567);

	cqhci_set_tran_desc(desc, 0x01234567, 512, false, false);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(desc), 0x02000021);
	KUNIT_EXPECT_EQ(test, get_unaligned_le32(desc + 4), 0x01234567);
}

struct flags_case {
	const char *name;
	unsigned int flags;
	/* expected */
	u64 desc;
};

static const struct flags_case flags_cases[] = {
	{ "read", MMC_DATA_READ, 0x123456780008102f },
	{ "write", MMC_DATA_WRITE, 0x123456780008002f },
	{ "forced programming", MMC_DATA_WRITE | MMC_DATA_FORCED_PRG,
	  0x123456780008006f },
	{ "data tag", MMC_DATA_WRITE | MMC_DATA_DAT_TAG, 0x123456780008082f },
	{ "priority", MMC_DATA_READ | MMC_DATA_PRIO, 0x123456780008302f },
	{ "queue barrier", MMC_DATA_WRITE | MMC_DATA_QBR, 0x123456780008402f },
	{ "reliable write", MMC_DATA_WRITE | MMC_DATA_REL_WR, 0x123456780008802f },
	{ "bulk write", MMC_DATA_WRITE | MMC_DATA_BULK, 0x123456780008002f },
};

KUNIT_ARRAY_PARAM_DESC(flags, flags_cases, name);

static void flags_test(struct kunit *test)
{
	const struct flags_case *c = test->param_value;
	struct cqhci_test *t = begin_enabled(test, false);

	send_task(t, 0, c->flags, false);
	KUNIT_EXPECT_EQ(test, task_desc(t, 0), c->desc);
	complete_tasks(t, BIT(0));
}

/* ------------------------------------------------------------------- doorbell */

static void alone_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, true);

	send_task(t, 4, MMC_DATA_READ, false);
	KUNIT_EXPECT_EQ(test, t->nr_log, 1);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_TDBR, 0), BIT(4));

	/* Status and what has completed are read and cleared, and no more */
	complete_tasks(t, BIT(4));
	KUNIT_EXPECT_EQ(test, t->nr_log, 5);
	KUNIT_EXPECT_EQ(test, accesses(t, false, -1), 2);
	KUNIT_EXPECT_EQ(test, t->task[4].done, 1);
	KUNIT_EXPECT_EQ(test, t->task[4].data.bytes_xfered, SZ_4K);
	KUNIT_EXPECT_EQ(test, t->cq.qcnt, 0);
}

static void batch_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, true);

	for (int tag = 8; tag < 24; tag++) {
		KUNIT_EXPECT_EQ(test, t->nr_log, 0);
		send_task(t, tag, MMC_DATA_READ, tag < 23);
	}

	KUNIT_EXPECT_EQ(test, t->nr_log, 1);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_TDBR, 0), GENMASK(23, 8));
	KUNIT_EXPECT_EQ(test, t->cq.qcnt, 16);

	complete_tasks(t, GENMASK(23, 8));
	for (int tag = 8; tag < 24; tag++) {
		KUNIT_EXPECT_EQ(test, t->task[tag].done, 1);
		KUNIT_EXPECT_EQ_MSG(test, t->task[tag].more_done, tag < 23,
				    "tag %d", tag);
	}
	KUNIT_EXPECT_EQ(test, t->cq.qcnt, 0);
}

static void commit_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, true);

	commit(t);
	KUNIT_EXPECT_EQ(test, t->nr_log, 0);

	send_task(t, 0, MMC_DATA_READ, true);
	send_task(t, 9, MMC_DATA_WRITE, true);
	KUNIT_EXPECT_EQ(test, t->nr_log, 0);
	commit(t);
	KUNIT_EXPECT_EQ(test, t->nr_log, 1);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_TDBR, 0), BIT(0) | BIT(9));

	/* Not for a slot that is busy */
	commit(t);
	KUNIT_EXPECT_EQ(test, t->nr_log, 1);
	send_task(t, 1, MMC_DATA_READ, false);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_TDBR, 1), BIT(1));

	complete_tasks(t, BIT(0) | BIT(1) | BIT(9));
}

/* The barrier of a direct command is for those that came before it. */
static void dcmd_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, true);

	send_task(t, 2, MMC_DATA_WRITE, true);
	send_task(t, 7, MMC_DATA_WRITE, true);
	send(t, new_dcmd(t), false);

	KUNIT_EXPECT_EQ(test, accesses(t, true, CQHCI_TDBR), 2);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_TDBR, 0), BIT(2) | BIT(7));
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_TDBR, 1), DCMD);

	complete_tasks(t, BIT(2) | BIT(7) | DCMD);
	KUNIT_EXPECT_EQ(test, t->task[31].done, 1);
}

static void idle_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, true);

	send_task(t, 2, MMC_DATA_WRITE, true);
	send_task(t, 3, MMC_DATA_WRITE, true);
	KUNIT_EXPECT_EQ(test, t->nr_log, 0);

	t->finish = true;
	KUNIT_EXPECT_EQ(test, t->mmc->cqe_ops->cqe_wait_for_idle(t->mmc), 0);

	KUNIT_EXPECT_EQ(test, written(t, CQHCI_TDBR, 0), BIT(2) | BIT(3));
	KUNIT_EXPECT_EQ(test, t->task[2].done, 1);
	KUNIT_EXPECT_EQ(test, t->task[3].done, 1);
}

/* What was not rung is given back with all others, and not rung later. */
static void recovery_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, true);

	send_task(t, 5, MMC_DATA_READ, false);
	send_task(t, 1, MMC_DATA_READ, true);
	send_task(t, 6, MMC_DATA_READ, true);

	/* An error of a task that the engine does not name */
	interrupt(t, 0, 0, -EILSEQ);
	KUNIT_EXPECT_EQ(test, t->notified, 1);
	KUNIT_EXPECT_EQ(test, t->mmc->cqe_ops->cqe_wait_for_idle(t->mmc), -EBUSY);

	empty_log(t);
	commit(t);
	KUNIT_EXPECT_EQ(test, t->nr_log, 0);

	t->mmc->cqe_ops->cqe_recovery_start(t->mmc);
	t->mmc->cqe_ops->cqe_recovery_finish(t->mmc);
	KUNIT_EXPECT_EQ(test, accesses(t, true, CQHCI_TDBR), 0);

	KUNIT_EXPECT_EQ(test, t->task[1].done, 1);
	KUNIT_EXPECT_EQ(test, t->task[5].done, 1);
	KUNIT_EXPECT_EQ(test, t->task[6].done, 1);
	KUNIT_EXPECT_EQ(test, t->task[1].data.error, 0);
	KUNIT_EXPECT_EQ(test, t->task[5].data.error, -EILSEQ);
	KUNIT_EXPECT_EQ(test, t->task[6].data.error, 0);
	KUNIT_EXPECT_EQ(test, t->task[6].data.bytes_xfered, 0);
	KUNIT_EXPECT_EQ(test, t->cq.qcnt, 0);

	empty_log(t);
	commit(t);
	KUNIT_EXPECT_EQ(test, t->nr_log, 0);
	send_task(t, 8, MMC_DATA_READ, false);
	KUNIT_EXPECT_EQ(test, accesses(t, true, CQHCI_TDBR), 1);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_TDBR, 0), BIT(8));
	complete_tasks(t, BIT(8));
}

/* ----------------------------------------------------------------- coalescing */

struct ic_case {
	const char *name;
	u32 cap;
	unsigned int depth;
	bool dcmd;
	bool declared;
	/* expected: what is written to CQHCI_IC, 0: nothing */
	u32 ic;
};

static const struct ic_case ic_cases[] = {
	/* 500 us are 93.75 times 1024 clocks */
	{ "192 MHz", CAP_192MHZ, 32, true, true, IC_192MHZ },
	{ "not declared", CAP_192MHZ, 32, true, false, 0 },
	/* 9.375 */
	{ "19.2 MHz", 0x20c0, 32, true, true, 0x80008789 },
	/* 488 do not fit in 7 bits */
	{ "1 GHz", 0x33e8, 32, true, true, 0x800087ff },
	/* 1.001 and 0.996 */
	{ "2.05 MHz", 0x10cd, 32, true, true, 0x80008781 },
	{ "2.04 MHz", 0x10cc, 32, true, true, 0 },
	{ "100 MHz in 10 MHz", 0x400a, 32, true, true, 0x800087b0 },
	{ "1 kHz", 0x0001, 32, true, true, 0 },
	{ "no clock", 0x3000, 32, true, true, 0 },
	{ "reserved multiplier", 0x5001, 32, true, true, 0 },
	{ "no direct commands", CAP_192MHZ, 32, false, true, 0x800088dd },
	{ "queue of 16", CAP_192MHZ, 16, true, true, 0x800084dd },
	{ "queue of 8", CAP_192MHZ, 8, true, true, 0x800082dd },
	{ "queue of 7", CAP_192MHZ, 7, true, true, 0 },
};

KUNIT_ARRAY_PARAM_DESC(ic, ic_cases, name);

static void ic_test(struct kunit *test)
{
	const struct ic_case *c = test->param_value;
	struct cqhci_test *t = begin(test, &layouts[1], c->dcmd);

	t->reg[CQHCI_CAP / 4] = c->cap;
	if (c->declared)
		t->cq.caps |= CQHCI_INTR_COALESCING;
	t->card.ext_csd.cmdq_depth = c->depth;
	enable(t);

	KUNIT_EXPECT_EQ(test, accesses(t, true, CQHCI_IC), c->ic ? 1 : 0);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_IC, 0),
			c->ic ? c->ic | IC_RESET : 0);

	/* and again when it is enabled after it was suspended */
	if (!c->ic)
		return;
	cqhci_deactivate(t->mmc);
	empty_log(t);
	send_task(t, 0, MMC_DATA_READ, false);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_IC, 0), c->ic | IC_RESET);
	complete_tasks(t, BIT(0));
}

/* Somebody waits for all but bulk writes; the first seven are too few. */
static void int_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, true);

	for (int tag = 0; tag < 7; tag++) {
		send_task(t, tag, MMC_DATA_WRITE | MMC_DATA_BULK, false);
		KUNIT_EXPECT_TRUE_MSG(test, has_int(t, tag), "%d in flight", tag);
	}
	send_task(t, 7, MMC_DATA_WRITE | MMC_DATA_BULK, false);
	KUNIT_EXPECT_FALSE(test, has_int(t, 7));
	send_task(t, 8, MMC_DATA_WRITE, false);
	KUNIT_EXPECT_TRUE(test, has_int(t, 8));
	send_task(t, 9, MMC_DATA_READ, false);
	KUNIT_EXPECT_TRUE(test, has_int(t, 9));
	send(t, new_dcmd(t), false);
	KUNIT_EXPECT_TRUE(test, has_int(t, 31));

	complete_tasks(t, GENMASK(9, 0) | DCMD);

	/* One alone again */
	send_task(t, 7, MMC_DATA_WRITE | MMC_DATA_BULK, false);
	KUNIT_EXPECT_TRUE(test, has_int(t, 7));
	complete_tasks(t, BIT(7));
}

static void undeclared_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, false);

	for (int tag = 0; tag < 31; tag++) {
		send_task(t, tag, MMC_DATA_WRITE | MMC_DATA_BULK, false);
		KUNIT_EXPECT_TRUE_MSG(test, has_int(t, tag), "%d in flight", tag);
	}
	empty_log(t);
	complete_tasks(t, GENMASK(30, 0));
	KUNIT_EXPECT_EQ(test, accesses(t, true, CQHCI_IC), 0);
}

/*
 * The counter is reset before the completions are read, and for the last time
 * after the last task that can have started it was seen to have ended.
 */
static void reset_test(struct kunit *test)
{
	struct cqhci_test *t = begin_enabled(test, true);

	for (int tag = 0; tag < 9; tag++)
		send_task(t, tag, MMC_DATA_WRITE | MMC_DATA_BULK, false);
	KUNIT_ASSERT_FALSE(test, has_int(t, 7));
	KUNIT_ASSERT_FALSE(test, has_int(t, 8));

	empty_log(t);
	complete_tasks(t, GENMASK(6, 0) | BIT(7));
	/* They are young, so the doorbell is looked at as well */
	KUNIT_EXPECT_EQ(test, t->nr_log, 6);
	KUNIT_EXPECT_EQ(test, written(t, CQHCI_IC, 0), IC_192MHZ | IC_RESET);
	KUNIT_EXPECT_LT(test, position(t, true, CQHCI_IS),
			position(t, true, CQHCI_IC));
	KUNIT_EXPECT_LT(test, position(t, true, CQHCI_IC),
			position(t, false, CQHCI_TCN));

	empty_log(t);
	complete_tasks(t, BIT(8));
	KUNIT_EXPECT_EQ(test, accesses(t, true, CQHCI_IC), 1);

	/* It can have ended after that reset */
	empty_log(t);
	send_task(t, 0, MMC_DATA_READ, false);
	complete_tasks(t, BIT(0));
	KUNIT_EXPECT_EQ(test, accesses(t, true, CQHCI_IC), 1);

	empty_log(t);
	send_task(t, 0, MMC_DATA_READ, false);
	complete_tasks(t, BIT(0));
	KUNIT_EXPECT_EQ(test, accesses(t, true, CQHCI_IC), 0);
}

static struct kunit_case desc_cases[] = {
	KUNIT_CASE_PARAM(layout_test, layout_gen_params),
	KUNIT_CASE(length_test),
	KUNIT_CASE_PARAM(flags_test, flags_gen_params),
	{}
};

static struct kunit_suite desc_suite = {
	.name = "mmc_cqhci_descriptors",
	.test_cases = desc_cases,
};

static struct kunit_case doorbell_cases[] = {
	KUNIT_CASE(alone_test),
	KUNIT_CASE(batch_test),
	KUNIT_CASE(commit_test),
	KUNIT_CASE(dcmd_test),
	KUNIT_CASE(idle_test),
	KUNIT_CASE(recovery_test),
	{}
};

static struct kunit_suite doorbell_suite = {
	.name = "mmc_cqhci_doorbell",
	.test_cases = doorbell_cases,
};

static struct kunit_case coalescing_cases[] = {
	KUNIT_CASE_PARAM(ic_test, ic_gen_params),
	KUNIT_CASE(int_test),
	KUNIT_CASE(undeclared_test),
	KUNIT_CASE(reset_test),
	{}
};

static struct kunit_suite coalescing_suite = {
	.name = "mmc_cqhci_coalescing",
	.test_cases = coalescing_cases,
};

kunit_test_suites(&desc_suite, &doorbell_suite, &coalescing_suite);

MODULE_DESCRIPTION("KUnit tests of the CQHCI driver");
MODULE_LICENSE("GPL");
