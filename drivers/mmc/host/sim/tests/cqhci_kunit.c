// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of mmc-sim's command queue engine: its registers and descriptors
 * as a driver sees them, with a card behind it and a clock that the test moves.
 * Descriptors are laid out with what <cqhci.h> has for drivers, not with what
 * the engine takes them apart with.
 */

#include <kunit/platform_device.h>
#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/io.h>
#include <linux/platform_device.h>
#include <linux/sizes.h>
#include <linux/unaligned.h>

#include "../sim.h"

#define CQE_RCA		1
#define CQE_TXFR_ROOM	256	/* bytes of transfer descriptors a slot */
#define CQE_BUF_SIZE	SZ_256K
#define CQE_ALL_IRQS	0x3f

/* A command takes 100 ns and a block 512 ns in tests that care for time. */
#define CQE_CMD_NS	100
#define CQE_BLOCK_NS	512

/**
 * struct cqe_test - an engine with a card, and the memory that it works on
 * @test: the test that it is for
 * @host: the host, without the MMC core
 * @now: present time, ns
 * @list: task descriptor list
 * @txfr: transfer descriptors, %CQE_TXFR_ROOM bytes a slot
 * @buf: data
 */
struct cqe_test {
	struct kunit *test;
	struct mmc_sim_host *host;
	u64 now;
	u8 *list;
	u8 *txfr;
	u8 *buf;
};

/* What a driver's interrupt handler saw. */
struct cqe_irq {
	bool pending;
	u32 is;
	u32 tcn;
	int cmd_error;
	int data_error;
};

/* ------------------------------------------------------------------ tools */

static u32 cqe_read(struct cqe_test *t, int reg)
{
	guard(spinlock_irqsave)(&t->host->lock);

	return mmc_sim_cqe_readl(t->host, reg);
}

static bool cqe_write(struct cqe_test *t, u32 val, int reg)
{
	guard(spinlock_irqsave)(&t->host->lock);

	return mmc_sim_cqe_writel(t->host, val, reg, t->now);
}

/* Let time pass until @now. */
static void cqe_run_to(struct cqe_test *t, u64 now)
{
	guard(spinlock_irqsave)(&t->host->lock);

	t->now = now;
	mmc_sim_cqe_run(t->host, now);
}

static void cqe_run(struct cqe_test *t)
{
	cqe_run_to(t, t->now);
}

static u64 cqe_next(struct cqe_test *t)
{
	guard(spinlock_irqsave)(&t->host->lock);

	return mmc_sim_cqe_next(t->host);
}

/* Let events happen, one time after the other, until @mask completes. */
static void cqe_run_until(struct cqe_test *t, u32 mask)
{
	while ((cqe_read(t, CQHCI_TCN) & mask) != mask) {
		u64 next = cqe_next(t);

		KUNIT_ASSERT_NE(t->test, next, U64_MAX);
		cqe_run_to(t, max(next, t->now));
	}
}

/* Do as an interrupt handler does. */
static struct cqe_irq cqe_take_irq(struct cqe_test *t)
{
	struct cqe_irq irq = {};

	guard(spinlock_irqsave)(&t->host->lock);

	irq.pending = mmc_sim_cqe_irq_pending(t->host, &irq.cmd_error,
					      &irq.data_error);
	if (!irq.pending)
		return irq;

	irq.is = mmc_sim_cqe_readl(t->host, CQHCI_IS);
	mmc_sim_cqe_writel(t->host, irq.is, CQHCI_IS, t->now);
	if (irq.is & CQHCI_IS_TCC) {
		irq.tcn = mmc_sim_cqe_readl(t->host, CQHCI_TCN);
		mmc_sim_cqe_writel(t->host, irq.tcn, CQHCI_TCN, t->now);
	}

	return irq;
}

/* Send a command past the engine. */
static u32 cqe_cmd(struct cqe_test *t, u32 opcode, u32 arg)
{
	struct mmc_sim_cmd cmd = { .opcode = opcode, .arg = arg };

	scoped_guard(spinlock_irqsave, &t->host->lock) {
		t->now += CQE_CMD_NS;
		mmc_sim_exec(t->host, &cmd, t->now);
	}
	if (opcode != MMC_GO_IDLE_STATE)
		KUNIT_EXPECT_EQ_MSG(t->test, cmd.error, 0, "CMD%u", opcode);

	return cmd.resp[0];
}

static u32 cqe_switch_arg(u8 index, u8 value)
{
	return MMC_SWITCH_MODE_WRITE_BYTE << 24 | index << 16 | value << 8;
}

static void cqe_switch(struct cqe_test *t, u8 index, u8 value)
{
	struct mmc_sim_card *card = &t->host->card;

	cqe_cmd(t, MMC_SWITCH, cqe_switch_arg(index, value));

	guard(spinlock_irqsave)(&t->host->lock);

	if (mmc_sim_card_busy(card, t->now))
		t->now = card->busy_until;
}

static void cqe_arm(struct cqe_test *t, const char *spec)
{
	char *line = kunit_kstrdup(t->test, spec, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(t->test, line);
	KUNIT_ASSERT_EQ(t->test, mmc_sim_fault_arm(t->host, line), 0);
}

static u64 cqe_violations(struct cqe_test *t, enum mmc_sim_rule rule)
{
	guard(spinlock_irqsave)(&t->host->lock);

	return t->host->judge.nr[rule];
}

static u64 cqe_all_violations(struct mmc_sim_host *host)
{
	guard(spinlock_irqsave)(&host->lock);

	return mmc_sim_judge_total(&host->judge);
}

static void cqe_expect_clean(struct cqe_test *t)
{
	KUNIT_EXPECT_EQ(t->test, cqe_all_violations(t->host), 0);
}

static void cqe_end(void *data)
{
	struct cqe_test *t = data;

	mmc_sim_faults_clear(t->host);
	mmc_sim_card_destroy(&t->host->card);
}

static void cqe_config(struct mmc_sim_config *cfg)
{
	mmc_sim_config_init(cfg);
	cfg->capacity_mib = 16;
}

static void cqe_config_timed(struct mmc_sim_config *cfg)
{
	cqe_config(cfg);
	cfg->cmd_ns = CQE_CMD_NS;
	cfg->bus_kbps = 1000000;
}

/* A card in the transfer state, with its queue on. */
static void cqe_card_up(struct cqe_test *t)
{
	struct mmc_ios ios = {
		.clock = 25000000,
		.power_mode = MMC_POWER_ON,
		.timing = MMC_TIMING_LEGACY,
	};

	scoped_guard(spinlock_irqsave, &t->host->lock) {
		mmc_sim_card_ios(&t->host->card, &ios);
		mmc_sim_card_power(&t->host->card, true, t->now);
	}

	cqe_cmd(t, MMC_GO_IDLE_STATE, 0);
	for (int i = 0; i < 3; i++) {
		if (cqe_cmd(t, MMC_SEND_OP_COND, 0x40ff8080) & MMC_CARD_BUSY)
			break;
	}
	cqe_cmd(t, MMC_ALL_SEND_CID, 0);
	cqe_cmd(t, MMC_SET_RELATIVE_ADDR, CQE_RCA << 16);
	cqe_cmd(t, MMC_SELECT_CARD, CQE_RCA << 16);
	cqe_switch(t, EXT_CSD_CMDQ_MODE_EN, 1);
}

static struct cqe_test *cqe_begin(struct kunit *test,
				  const struct mmc_sim_config *cfg)
{
	struct mmc_sim_host *host;
	struct cqe_test *t;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	host = kunit_kzalloc(test, sizeof(*host), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_NULL(test, host);

	t->test = test;
	t->host = host;
	t->now = NSEC_PER_SEC;
	t->list = kunit_kzalloc(test, SZ_1K, GFP_KERNEL);
	t->txfr = kunit_kzalloc(test, MMC_SIM_SLOTS * CQE_TXFR_ROOM,
				GFP_KERNEL);
	t->buf = kunit_kzalloc(test, CQE_BUF_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->list);
	KUNIT_ASSERT_NOT_NULL(test, t->txfr);
	KUNIT_ASSERT_NOT_NULL(test, t->buf);

	host->cfg = *cfg;
	host->name = "kunit";
	host->judge.name = "kunit";
	host->judge.quiet = true;
	host->present = true;
	host->powered = true;
	/* There is neither a timer nor an irq_work to kick. */
	host->dying = true;
	spin_lock_init(&host->lock);
	INIT_LIST_HEAD(&host->faults);

	KUNIT_ASSERT_EQ(test, mmc_sim_card_init(&host->card, &host->cfg,
						&host->judge), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, cqe_end, t), 0);
	KUNIT_ASSERT_EQ(test, mmc_sim_cqe_init(host), 0);

	cqe_card_up(t);

	return t;
}

static void cqe_enable(struct cqe_test *t)
{
	u64 base = virt_to_phys(t->list);
	u32 cfg = 0;

	if (t->host->cfg.task_desc_bits == 128)
		cfg |= CQHCI_TASK_DESC_SZ;
	if (t->host->cfg.dcmd)
		cfg |= CQHCI_DCMD;

	cqe_write(t, cfg, CQHCI_CFG);
	cqe_write(t, lower_32_bits(base), CQHCI_TDLBA);
	cqe_write(t, upper_32_bits(base), CQHCI_TDLBAU);
	cqe_write(t, CQE_RCA, CQHCI_SSC2);
	cqe_write(t, CQE_ALL_IRQS, CQHCI_ISTE);
	cqe_write(t, CQE_ALL_IRQS, CQHCI_ISGE);
	cqe_write(t, cfg | CQHCI_ENABLE, CQHCI_CFG);
}

/* An engine that is enabled, and everything else as the settings have it. */
static struct cqe_test *cqe_begin_with(struct kunit *test,
				       void (*config)(struct mmc_sim_config *))
{
	struct mmc_sim_config cfg;
	struct cqe_test *t;

	config(&cfg);
	t = cqe_begin(test, &cfg);
	cqe_enable(t);

	return t;
}

static bool cqe_dma64(const struct cqe_test *t)
{
	return t->host->cfg.dma_bits == 64;
}

static size_t cqe_task_len(const struct cqe_test *t)
{
	return t->host->cfg.task_desc_bits / 8;
}

static size_t cqe_link_len(const struct cqe_test *t)
{
	return cqe_dma64(t) ? 16 : 8;
}

static size_t cqe_txfr_len(const struct cqe_test *t)
{
	if (cqe_dma64(t) && t->host->cfg.short_txfr_desc)
		return 12;

	return cqe_link_len(t);
}

static u8 *cqe_task_desc(struct cqe_test *t, int tag)
{
	return t->list + tag * (cqe_task_len(t) + cqe_link_len(t));
}

static u8 *cqe_link_desc(struct cqe_test *t, int tag)
{
	return cqe_task_desc(t, tag) + cqe_task_len(t);
}

static u8 *cqe_txfr_desc(struct cqe_test *t, int tag, int i)
{
	return t->txfr + tag * CQE_TXFR_ROOM + i * cqe_txfr_len(t);
}

static void cqe_set_link(struct cqe_test *t, u8 *desc, void *to)
{
	put_unaligned_le32(CQHCI_VALID(1) | CQHCI_ACT(0x6), desc);
	if (cqe_dma64(t))
		put_unaligned_le64(virt_to_phys(to), desc + 4);
	else
		put_unaligned_le32(virt_to_phys(to), desc + 4);
}

/* The task and its link, without transfer descriptors. */
static void cqe_set_task(struct cqe_test *t, int tag, u64 flags, u32 sector,
			 u32 blocks)
{
	u64 desc = CQHCI_VALID(1) | CQHCI_END(1) | CQHCI_ACT(0x5) | flags |
		   CQHCI_BLK_COUNT((u64)blocks) | CQHCI_BLK_ADDR((u64)sector);

	memset(cqe_task_desc(t, tag), 0, cqe_task_len(t));
	put_unaligned_le64(desc, cqe_task_desc(t, tag));
	cqe_set_link(t, cqe_link_desc(t, tag), cqe_txfr_desc(t, tag, 0));
}

static void cqe_set_txfr(struct cqe_test *t, int tag, int i, void *mem,
			 u32 len, bool end)
{
	cqhci_set_tran_desc(cqe_txfr_desc(t, tag, i), virt_to_phys(mem), len,
			    end, cqe_dma64(t));
}

/* A whole task of one piece of memory, at @tag's place in the buffer. */
static void *cqe_set_simple(struct cqe_test *t, int tag, u64 flags, u32 sector,
			    u32 blocks)
{
	u8 *mem = t->buf + tag * (CQE_BUF_SIZE / MMC_SIM_SLOTS);

	cqe_set_task(t, tag, flags, sector, blocks);
	cqe_set_txfr(t, tag, 0, mem, blocks * MMC_SIM_SECTOR, true);

	return mem;
}

#define CQE_READ	((u64)CQHCI_DATA_DIR(1))
#define CQE_WRITE	0ULL
#define CQE_INT		((u64)CQHCI_INT(1))
#define CQE_PRIO	((u64)CQHCI_PRIORITY(1))
#define CQE_QBAR	((u64)CQHCI_QBAR(1))

static void cqe_set_dcmd(struct cqe_test *t, u32 opcode, u32 arg, u64 flags)
{
	u64 desc = CQHCI_VALID(1) | CQHCI_END(1) | CQHCI_INT(1) |
		   CQHCI_ACT(0x5) | CQHCI_CMD_INDEX((u64)opcode) | flags |
		   (u64)arg << 32;

	put_unaligned_le64(desc, cqe_task_desc(t, MMC_SIM_DCMD_SLOT));
}

#define CQE_R1		(CQHCI_CMD_TIMING(1) | CQHCI_RESP_TYPE((u64)2))
#define CQE_R1B		CQHCI_RESP_TYPE((u64)3)

static void cqe_ring(struct cqe_test *t, u32 mask)
{
	cqe_write(t, mask, CQHCI_TDBR);
}

/* Recover as the driver does: halt, discard the card's queue, clear, go on. */
static void cqe_recover(struct cqe_test *t)
{
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run(t);
	KUNIT_EXPECT_EQ(t->test, cqe_read(t, CQHCI_CTL), CQHCI_HALT);

	cqe_cmd(t, MMC_STOP_TRANSMISSION, 0);
	cqe_cmd(t, MMC_CMDQ_TASK_MGMT, 1);

	cqe_write(t, CQHCI_HALT | CQHCI_CLEAR_ALL_TASKS, CQHCI_CTL);
	cqe_run(t);
	KUNIT_EXPECT_EQ(t->test, cqe_read(t, CQHCI_CTL), CQHCI_HALT);
	KUNIT_EXPECT_EQ(t->test, cqe_read(t, CQHCI_TDBR), 0);

	cqe_take_irq(t);
	cqe_write(t, 0, CQHCI_CTL);
}

static void cqe_expect_works(struct cqe_test *t)
{
	struct cqe_irq irq;

	cqe_set_simple(t, 5, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(5));
	cqe_run_until(t, BIT(5));
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_TRUE(t->test, irq.pending);
	KUNIT_EXPECT_EQ(t->test, irq.tcn, BIT(5));
}

/* ------------------------------------------------------------- registers */

static void cqe_reset_values(struct kunit *test)
{
	struct mmc_sim_config cfg;
	struct cqe_test *t;

	cqe_config(&cfg);
	t = cqe_begin(test, &cfg);

	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_VER), 0x510);
	/* 192 MHz: 192 times 1 MHz */
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CAP), 3 << 12 | 192);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CFG), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_IS), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_SSC1), 0x11000);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_RMEM), 0xfdf9a080);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CCAP), 0);
	KUNIT_EXPECT_EQ(test, cqe_next(t), U64_MAX);
}

static void cqe_read_only(struct kunit *test)
{
	static const int regs[] = {
		CQHCI_VER, CQHCI_CAP, CQHCI_DQS, CQHCI_DPT, CQHCI_CRDCT,
		CQHCI_TERRI, CQHCI_CRI, CQHCI_CRA,
	};
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	for (unsigned int i = 0; i < ARRAY_SIZE(regs); i++) {
		u32 val = cqe_read(t, regs[i]);

		cqe_write(t, ~val, regs[i]);
		KUNIT_EXPECT_EQ_MSG(test, cqe_read(t, regs[i]), val,
				    "register %02x", regs[i]);
	}
}

/* A register write completes nothing. */
static void cqe_write_is_not_completion(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 8);
	KUNIT_EXPECT_TRUE(test, cqe_write(t, BIT(0), CQHCI_TDBR));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(0));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), 0);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);

	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), BIT(0));
	KUNIT_EXPECT_TRUE(test, cqe_take_irq(t).pending);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);
	cqe_expect_clean(t);
}

static void cqe_status_enable(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	cqe_write(t, CQE_ALL_IRQS & ~CQHCI_IS_TCC, CQHCI_ISTE);
	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(0));
	cqe_run(t);

	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), BIT(0));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_IS), 0);
	/* What was not recorded then does not appear later. */
	cqe_write(t, CQE_ALL_IRQS, CQHCI_ISTE);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_IS), 0);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);
}

static void cqe_signal_enable(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;

	cqe_write(t, 0, CQHCI_ISGE);
	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(0));
	cqe_run(t);

	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_IS), CQHCI_IS_TCC);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);

	/* The interrupt is level-triggered: enabling it is enough. */
	KUNIT_EXPECT_TRUE(test, cqe_write(t, CQHCI_IS_TCC, CQHCI_ISGE));
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_TRUE(test, irq.pending);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(0));
}

/* ----------------------------------------------------------- descriptors */

struct cqe_layout {
	const char *name;
	u32 task_desc_bits;
	u32 dma_bits;
	u32 short_txfr_desc;
};

static const struct cqe_layout cqe_layouts[] = {
	{ "task 64, address 32", 64, 32, 0 },
	{ "task 64, address 64", 64, 64, 0 },
	{ "task 64, address 64 short", 64, 64, 1 },
	{ "task 128, address 32", 128, 32, 0 },
	{ "task 128, address 64", 128, 64, 0 },
	{ "task 128, address 64 short", 128, 64, 1 },
};

KUNIT_ARRAY_PARAM_DESC(cqe_layout, cqe_layouts, name);

/* Write with two descriptors, read back with three. */
static void cqe_layout(struct kunit *test)
{
	const struct cqe_layout *layout = test->param_value;
	struct mmc_sim_config cfg;
	struct cqe_test *t;
	u8 *in;

	cqe_config(&cfg);
	cfg.task_desc_bits = layout->task_desc_bits;
	cfg.dma_bits = layout->dma_bits;
	cfg.short_txfr_desc = layout->short_txfr_desc;
	t = cqe_begin(test, &cfg);
	if (layout->dma_bits == 32 &&
	    (virt_to_phys(t->list) > U32_MAX - SZ_1M ||
	     virt_to_phys(t->txfr) > U32_MAX - SZ_1M ||
	     virt_to_phys(t->buf) > U32_MAX - SZ_1M))
		kunit_skip(test, "memory is beyond 4 GiB");
	cqe_enable(t);

	for (int i = 0; i < SZ_4K; i++)
		t->buf[i] = i * 7 + (i >> 8);
	in = t->buf + SZ_64K;

	cqe_set_task(t, 3, CQE_WRITE | CQE_INT, 64, 8);
	cqe_set_txfr(t, 3, 0, t->buf, 512, false);
	cqe_set_txfr(t, 3, 1, t->buf + 512, SZ_4K - 512, true);
	cqe_ring(t, BIT(3));
	cqe_run_until(t, BIT(3));
	cqe_take_irq(t);

	/* Slot 30 is as far into the list as a data task gets with DCMD. */
	cqe_set_task(t, 30, CQE_READ | CQE_INT, 64, 8);
	cqe_set_txfr(t, 30, 0, in, 1024, false);
	cqe_set_txfr(t, 30, 1, in + 1024, 1536, false);
	cqe_set_txfr(t, 30, 2, in + 2560, 1536, true);
	cqe_ring(t, BIT(30));
	cqe_run_until(t, BIT(30));

	KUNIT_EXPECT_MEMEQ(test, in, t->buf, SZ_4K);
	KUNIT_EXPECT_EQ(test, t->host->stats.bytes_written, SZ_4K);
	KUNIT_EXPECT_EQ(test, t->host->stats.bytes_read, SZ_4K);
	KUNIT_EXPECT_EQ(test, t->host->stats.tasks, 2);
	cqe_expect_clean(t);
}

static void cqe_length_0(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	u8 *in = t->buf + SZ_128K;

	for (int i = 0; i < SZ_128K; i++)
		t->buf[i] = i * 13 + (i >> 8);

	cqe_set_task(t, 0, CQE_WRITE, 0, 256);
	cqe_set_txfr(t, 0, 0, t->buf, SZ_64K, false);
	cqe_set_txfr(t, 0, 1, t->buf + SZ_64K, SZ_64K, true);
	/* The length has 16 bits. */
	KUNIT_ASSERT_EQ(test,
			get_unaligned_le32(cqe_txfr_desc(t, 0, 0)) >> 16, 0);
	cqe_ring(t, BIT(0));
	cqe_run_until(t, BIT(0));

	cqe_set_task(t, 1, CQE_READ, 0, 256);
	cqe_set_txfr(t, 1, 0, in, SZ_64K, false);
	cqe_set_txfr(t, 1, 1, in + SZ_64K, SZ_64K, true);
	cqe_ring(t, BIT(1));
	cqe_run_until(t, BIT(1));

	KUNIT_EXPECT_MEMEQ(test, in, t->buf, SZ_128K);
	cqe_expect_clean(t);
}

/* A transfer descriptor may follow its task without a link. */
static void cqe_no_link(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	memset(t->buf, 0xa5, SZ_4K);
	cqe_set_task(t, 0, CQE_READ | CQE_INT, 0, 8);
	cqhci_set_tran_desc(cqe_link_desc(t, 0), virt_to_phys(t->buf), SZ_4K,
			    true, true);
	cqe_ring(t, BIT(0));
	cqe_run_until(t, BIT(0));

	KUNIT_EXPECT_EQ(test, t->buf[0], 0);
	KUNIT_EXPECT_EQ(test, t->buf[SZ_4K - 1], 0);
	cqe_expect_clean(t);
}

/* Links between transfer descriptors, and descriptors that do nothing. */
static void cqe_chain(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	memset(t->buf, 0xa5, SZ_4K);
	cqe_set_task(t, 0, CQE_READ | CQE_INT, 0, 8);
	cqe_set_txfr(t, 0, 0, t->buf, 512, false);
	put_unaligned_le32(CQHCI_VALID(1), cqe_txfr_desc(t, 0, 1));
	cqe_set_link(t, cqe_txfr_desc(t, 0, 2), cqe_txfr_desc(t, 9, 0));
	cqe_set_txfr(t, 9, 0, t->buf + 512, SZ_4K - 512, true);
	cqe_ring(t, BIT(0));
	cqe_run_until(t, BIT(0));

	KUNIT_EXPECT_EQ(test, t->buf[0], 0);
	KUNIT_EXPECT_EQ(test, t->buf[SZ_4K - 1], 0);
	cqe_expect_clean(t);
}

/* ----------------------------------------------------------------- order */

static void cqe_many(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	u32 mask = GENMASK(30, 0);
	struct cqe_irq irq;

	for (int tag = 0; tag < 31; tag++)
		cqe_set_simple(t, tag, CQE_READ | CQE_INT, tag * 8, 8);
	cqe_ring(t, mask);
	cqe_run_until(t, mask);

	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.tcn, mask);
	KUNIT_EXPECT_EQ(test, t->host->stats.doorbells, 1);
	KUNIT_EXPECT_EQ(test, t->host->stats.irqs, 1);
	KUNIT_EXPECT_EQ(test, t->host->stats.tasks, 31);
	for (int depth = 1; depth <= 31; depth++)
		KUNIT_EXPECT_EQ(test, t->host->stats.depth[depth], 1);
	KUNIT_EXPECT_EQ(test, t->host->stats.depth[32], 0);
	cqe_expect_clean(t);
}

/* Without a DCMD slot all 32 are for data. */
static void cqe_slot_31(struct kunit *test)
{
	struct mmc_sim_config cfg;
	struct cqe_test *t;

	cqe_config(&cfg);
	cfg.dcmd = 0;
	t = cqe_begin(test, &cfg);
	cqe_enable(t);

	cqe_set_simple(t, 31, CQE_READ | CQE_INT, 0, 8);
	cqe_ring(t, BIT(31));
	cqe_run_until(t, BIT(31));
	KUNIT_EXPECT_EQ(test, t->host->stats.tasks, 1);
	KUNIT_EXPECT_EQ(test, t->host->stats.dcmds, 0);
	cqe_expect_clean(t);
}

/* The order in which three tasks complete that are rung at once. */
static void cqe_expect_order(struct cqe_test *t, const int *tags)
{
	u32 done = 0;

	for (int i = 0; i < 3; i++) {
		done |= BIT(tags[i]);
		cqe_run_until(t, BIT(tags[i]));
		KUNIT_EXPECT_EQ_MSG(t->test, cqe_read(t, CQHCI_TCN), done,
				    "as number %d", i);
	}
	cqe_expect_clean(t);
}

static void cqe_arrival_order(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);

	cqe_set_simple(t, 7, CQE_READ, 0, 8);
	cqe_set_simple(t, 2, CQE_READ, 8, 8);
	cqe_set_simple(t, 4, CQE_READ, 16, 8);
	cqe_ring(t, BIT(7));
	cqe_ring(t, BIT(2) | BIT(4));
	cqe_expect_order(t, (const int[]){ 7, 2, 4 });
}

static void cqe_priority(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_set_simple(t, 1, CQE_READ, 8, 8);
	cqe_set_simple(t, 2, CQE_READ | CQE_PRIO, 16, 8);
	cqe_ring(t, BIT(0) | BIT(1) | BIT(2));
	cqe_expect_order(t, (const int[]){ 2, 0, 1 });
}

static void cqe_barrier(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);

	/* Priority does not get a task past a barrier. */
	cqe_set_simple(t, 2, CQE_READ, 0, 8);
	cqe_set_simple(t, 1, CQE_READ | CQE_QBAR, 8, 8);
	cqe_set_simple(t, 0, CQE_READ | CQE_PRIO, 16, 8);
	cqe_ring(t, BIT(2));
	cqe_ring(t, BIT(1));
	cqe_ring(t, BIT(0));

	/* While the first is on the bus the card knows of no other. */
	cqe_run_to(t, t->now + 4 * CQE_CMD_NS + CQE_BLOCK_NS);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_DPT), BIT(2));
	KUNIT_EXPECT_EQ(test, t->host->stats.cmd[MMC_QUE_TASK_PARAMS], 1);

	cqe_expect_order(t, (const int[]){ 2, 1, 0 });
}

/* A transfer takes its time, and one at a time is on the bus. */
static void cqe_bus_time(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);
	u64 start = t->now;

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_set_simple(t, 1, CQE_READ, 8, 8);
	cqe_ring(t, BIT(0) | BIT(1));

	cqe_run_until(t, BIT(0));
	/* CMD44 and CMD45 twice, CMD13, CMD46 and the data */
	KUNIT_EXPECT_EQ(test, t->now - start,
			6 * CQE_CMD_NS + 8 * CQE_BLOCK_NS);
	cqe_run_until(t, BIT(1));
	/* It was known to be ready: CMD46 and the data */
	KUNIT_EXPECT_EQ(test, t->now - start,
			7 * CQE_CMD_NS + 16 * CQE_BLOCK_NS);
	cqe_expect_clean(t);
}

/* A run that comes late makes nothing later. */
static void cqe_late_run(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);
	u64 start = t->now;

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_set_simple(t, 1, CQE_READ, 8, 8);
	cqe_ring(t, BIT(0) | BIT(1));
	cqe_run_to(t, start + 7 * CQE_CMD_NS + 16 * CQE_BLOCK_NS);

	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), BIT(0) | BIT(1));
	cqe_expect_clean(t);
}

/*
 * While nothing is ready the card is asked once a period; the questions that
 * are known to be vain take no event each.
 */
static void cqe_polling(struct kunit *test)
{
	struct mmc_sim_config cfg;
	struct cqe_test *t;
	unsigned int events = 0;
	u64 period = 4096 * 1000;	/* at 1 MHz */
	u64 before, next;

	cqe_config_timed(&cfg);
	cfg.timer_khz = 1000;
	cfg.read_us = 10000;
	t = cqe_begin(test, &cfg);
	cqe_enable(t);
	before = t->host->stats.cmd[MMC_SEND_STATUS];

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_ring(t, BIT(0));
	while (!cqe_read(t, CQHCI_TCN)) {
		next = cqe_next(t);
		KUNIT_ASSERT_NE(test, next, U64_MAX);
		cqe_run_to(t, max(next, t->now));
		events++;
	}

	/* At 0, 4.096, 8.192 and 12.288 ms */
	KUNIT_EXPECT_EQ(test,
			t->host->stats.cmd[MMC_SEND_STATUS] - before, 4);
	KUNIT_EXPECT_GE(test, t->now, NSEC_PER_SEC + 3 * period);
	KUNIT_EXPECT_LE(test, events, 8);
	cqe_expect_clean(t);
}

/* CBC: the status is known when the transfer ends. */
static void cqe_poll_in_transfer(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);
	u64 end;

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_ring(t, BIT(0));
	cqe_run_to(t, t->now + 4 * CQE_CMD_NS);
	KUNIT_ASSERT_EQ(test, t->host->cqe.active, 0);
	end = t->host->cqe.slot[0].done;

	cqe_set_simple(t, 1, CQE_READ, 8, 8);
	cqe_ring(t, BIT(1));
	cqe_run_to(t, end - CQE_BLOCK_NS - 1);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_DPT), BIT(0) | BIT(1));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_DQS), BIT(0));
	cqe_run_to(t, end - CQE_BLOCK_NS);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_DQS), BIT(1));
	cqe_run_to(t, end);
	KUNIT_EXPECT_EQ(test, t->host->cqe.active, 1);
	cqe_expect_clean(t);
}

/* --------------------------------------------------------------- direct */

static void cqe_dcmd(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;

	cqe_set_dcmd(t, MMC_SEND_STATUS, CQE_RCA << 16, CQE_R1 | CQE_QBAR);
	cqe_ring(t, BIT(MMC_SIM_DCMD_SLOT));
	cqe_run(t);

	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(MMC_SIM_DCMD_SLOT));
	KUNIT_EXPECT_EQ(test, R1_CURRENT_STATE(cqe_read(t, CQHCI_CRDCT)),
			R1_STATE_TRAN);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CRI), MMC_SEND_STATUS);
	KUNIT_EXPECT_EQ(test, t->host->stats.dcmds, 1);
	KUNIT_EXPECT_EQ(test, t->host->stats.tasks, 0);
	cqe_expect_clean(t);
}

/* R1b: it ends when the card is no longer busy. */
static void cqe_dcmd_busy(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);
	u64 start;

	cqe_arm(t, "stuck-busy op=switch value=500");
	cqe_set_dcmd(t, MMC_SWITCH, cqe_switch_arg(EXT_CSD_CACHE_CTRL, 1),
		     CQE_R1B | CQE_QBAR);
	cqe_ring(t, BIT(MMC_SIM_DCMD_SLOT));
	start = t->now;
	cqe_run_to(t, start + 400 * NSEC_PER_USEC);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), 0);
	cqe_run_until(t, BIT(MMC_SIM_DCMD_SLOT));
	KUNIT_EXPECT_GE(test, t->now - start, 500 * NSEC_PER_USEC);
	KUNIT_EXPECT_LT(test, t->now - start, 600 * NSEC_PER_USEC);
	KUNIT_EXPECT_TRUE(test, mmc_sim_cache_on(&t->host->card));
	cqe_expect_clean(t);
}

/* A barrier: what came before is done, what comes after waits. */
static void cqe_dcmd_barrier(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_set_dcmd(t, MMC_SEND_STATUS, CQE_RCA << 16, CQE_R1 | CQE_QBAR);
	cqe_set_simple(t, 1, CQE_READ, 8, 8);
	cqe_ring(t, BIT(0));
	cqe_ring(t, BIT(MMC_SIM_DCMD_SLOT));
	cqe_ring(t, BIT(1));
	cqe_expect_order(t, (const int[]){ 0, MMC_SIM_DCMD_SLOT, 1 });
}

/* CMD_TIMING lets a command go out while data moves. */
static void cqe_dcmd_during_data(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_ring(t, BIT(0));
	cqe_run_to(t, t->now + 5 * CQE_CMD_NS);
	KUNIT_ASSERT_EQ(test, t->host->cqe.active, 0);

	cqe_set_dcmd(t, MMC_SEND_STATUS, CQE_RCA << 16, CQE_R1);
	cqe_ring(t, BIT(MMC_SIM_DCMD_SLOT));
	cqe_run_until(t, BIT(MMC_SIM_DCMD_SLOT));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), BIT(MMC_SIM_DCMD_SLOT));
	KUNIT_EXPECT_EQ(test, R1_CURRENT_STATE(cqe_read(t, CQHCI_CRDCT)),
			R1_STATE_DATA);
	cqe_run_until(t, BIT(0));
	cqe_expect_clean(t);
}

/* ------------------------------------------------------------- interrupts */

/* Without INT, and with coalescing off, nobody is told. */
static void cqe_no_int(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;

	cqe_set_simple(t, 0, CQE_READ, 0, 1);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), BIT(0));
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);
	KUNIT_EXPECT_EQ(test, cqe_next(t), U64_MAX);

	/* The next that has it reports both. */
	cqe_set_simple(t, 1, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(1));
	cqe_run(t);
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(0) | BIT(1));
}

static void cqe_complete_one(struct cqe_test *t, int tag)
{
	cqe_set_simple(t, tag, CQE_READ, 0, 1);
	cqe_ring(t, BIT(tag));
	cqe_run_until(t, BIT(tag));
}

static void cqe_coalesce_counter(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	u32 ic = CQHCI_IC_ENABLE | CQHCI_IC_ICCTHWEN | CQHCI_IC_ICCTH(3);
	struct cqe_irq irq;

	cqe_write(t, ic, CQHCI_IC);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_IC),
			CQHCI_IC_ENABLE | CQHCI_IC_ICCTH(3));

	cqe_complete_one(t, 0);
	cqe_complete_one(t, 1);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);
	/* ICSB: some have been counted. */
	KUNIT_EXPECT_TRUE(test, cqe_read(t, CQHCI_IC) & BIT(20));
	cqe_complete_one(t, 2);
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(0) | BIT(1) | BIT(2));

	/* The counter stops at the threshold until it is reset. */
	for (int tag = 3; tag < 9; tag++)
		cqe_complete_one(t, tag);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);

	/* Without its write enable bit the threshold stays. */
	cqe_write(t, CQHCI_IC_ENABLE | CQHCI_IC_RESET | CQHCI_IC_ICCTH(9),
		  CQHCI_IC);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_IC),
			CQHCI_IC_ENABLE | CQHCI_IC_ICCTH(3));
	for (int tag = 9; tag < 12; tag++) {
		KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);
		cqe_complete_one(t, tag);
	}
	KUNIT_EXPECT_TRUE(test, cqe_take_irq(t).pending);
	cqe_expect_clean(t);
}

/* A task with INT interrupts at once and is not counted. */
static void cqe_coalesce_int(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;

	cqe_write(t, CQHCI_IC_ENABLE | CQHCI_IC_ICCTHWEN | CQHCI_IC_ICCTH(3),
		  CQHCI_IC);
	cqe_complete_one(t, 0);
	cqe_complete_one(t, 1);
	cqe_set_simple(t, 2, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(2));
	cqe_run(t);
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(0) | BIT(1) | BIT(2));

	cqe_complete_one(t, 3);
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_TRUE(test, irq.pending);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(3));
}

static void cqe_coalesce_timeout(struct kunit *test)
{
	struct mmc_sim_config cfg;
	struct cqe_test *t;
	u64 unit = 1024 * 1000;		/* 1024 clocks at 1 MHz */
	u64 start;

	cqe_config(&cfg);
	cfg.timer_khz = 1000;
	t = cqe_begin(test, &cfg);
	cqe_enable(t);
	cqe_write(t, CQHCI_IC_ENABLE | CQHCI_IC_ICTOVALWEN |
		  CQHCI_IC_ICTOVAL(2), CQHCI_IC);

	start = t->now;
	cqe_complete_one(t, 0);
	KUNIT_EXPECT_EQ(test, cqe_next(t), start + 2 * unit);
	cqe_run_to(t, start + unit);
	cqe_complete_one(t, 1);
	/* It runs from the first task, not from the last. */
	KUNIT_EXPECT_EQ(test, cqe_next(t), start + 2 * unit);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);
	cqe_run_to(t, start + 2 * unit);
	KUNIT_EXPECT_EQ(test, cqe_take_irq(t).tcn, BIT(0) | BIT(1));

	/* It does not start again before it is reset. */
	cqe_complete_one(t, 2);
	KUNIT_EXPECT_EQ(test, cqe_next(t), U64_MAX);
	cqe_write(t, CQHCI_IC_ENABLE | CQHCI_IC_RESET, CQHCI_IC);
	cqe_complete_one(t, 3);
	KUNIT_EXPECT_EQ(test, cqe_next(t), t->now + 2 * unit);

	/* A reset stops it. */
	cqe_write(t, CQHCI_IC_ENABLE | CQHCI_IC_RESET, CQHCI_IC);
	KUNIT_EXPECT_EQ(test, cqe_next(t), U64_MAX);
}

/* ------------------------------------------------------------ halt, clear */

static void cqe_halt(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);
	struct cqe_irq irq;
	bool owns_bus;
	u64 end;

	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 8);
	cqe_set_simple(t, 1, CQE_READ | CQE_INT, 8, 8);
	cqe_ring(t, BIT(0) | BIT(1));
	cqe_run_to(t, t->now + 7 * CQE_CMD_NS);
	KUNIT_ASSERT_EQ(test, t->host->cqe.active, 0);
	end = t->host->cqe.slot[0].done;

	/* It finishes what is on the bus. */
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run_to(t, end - 1);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), 0);
	cqe_run_to(t, end);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), CQHCI_HALT);
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.is, CQHCI_IS_HAC | CQHCI_IS_TCC);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(0));

	/* The rest waits, and the bus is free for others. */
	KUNIT_EXPECT_EQ(test, cqe_next(t), U64_MAX);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(1));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_DPT), BIT(1));
	scoped_guard(spinlock_irqsave, &t->host->lock)
		owns_bus = mmc_sim_cqe_owns_bus(t->host);
	KUNIT_EXPECT_FALSE(test, owns_bus);
	cqe_cmd(t, MMC_SEND_STATUS, CQE_RCA << 16);

	cqe_write(t, 0, CQHCI_CTL);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), 0);
	cqe_run_until(t, BIT(1));
	cqe_expect_clean(t);
}

static void cqe_clear_all(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);
	struct cqe_irq irq;

	for (int tag = 0; tag < 4; tag++)
		cqe_set_simple(t, tag, CQE_READ, 0, 8);
	cqe_ring(t, GENMASK(3, 0));
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_take_irq(t).is, CQHCI_IS_HAC);

	cqe_write(t, CQHCI_HALT | CQHCI_CLEAR_ALL_TASKS, CQHCI_CTL);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL),
			CQHCI_HALT | CQHCI_CLEAR_ALL_TASKS);
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), CQHCI_HALT);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), 0);
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.is, CQHCI_IS_TCL);
	KUNIT_EXPECT_EQ(test, irq.tcn, 0);

	cqe_write(t, 0, CQHCI_CTL);
	cqe_expect_works(t);
	cqe_expect_clean(t);
}

static void cqe_clear_one(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_set_simple(t, 1, CQE_READ, 8, 8);
	cqe_ring(t, BIT(0) | BIT(1));
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run(t);
	cqe_take_irq(t);

	cqe_write(t, BIT(0), CQHCI_TCLR);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCLR), BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCLR), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(1));
	KUNIT_EXPECT_EQ(test, cqe_take_irq(t).is, CQHCI_IS_TCL);

	cqe_write(t, 0, CQHCI_CTL);
	cqe_run_until(t, BIT(1));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), BIT(1));
	cqe_expect_clean(t);
}

static void cqe_disable(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);
	u32 cfg = cqe_read(t, CQHCI_CFG);

	cqe_complete_one(t, 2);
	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_set_simple(t, 1, CQE_READ, 8, 8);
	cqe_ring(t, BIT(0) | BIT(1));
	cqe_run_to(t, t->now + 6 * CQE_CMD_NS + CQE_BLOCK_NS);
	KUNIT_ASSERT_EQ(test, t->host->cqe.active, 0);

	cqe_write(t, cfg & ~CQHCI_ENABLE, CQHCI_CFG);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_DPT), 0);
	KUNIT_EXPECT_EQ(test, cqe_next(t), U64_MAX);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);

	cqe_cmd(t, MMC_STOP_TRANSMISSION, 0);
	cqe_cmd(t, MMC_CMDQ_TASK_MGMT, 1);
	cqe_write(t, cfg, CQHCI_CFG);
	cqe_expect_works(t);
}

/* ------------------------------------------------------------------ errors */

static void cqe_response_error(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;
	u32 terri;

	cqe_arm(t, "response op=read value=0x80000");
	cqe_set_simple(t, 6, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(6));
	cqe_run(t);

	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.is, CQHCI_IS_RED);
	KUNIT_EXPECT_EQ(test, irq.cmd_error, 0);
	KUNIT_EXPECT_EQ(test, irq.data_error, 0);
	terri = cqe_read(t, CQHCI_TERRI);
	KUNIT_EXPECT_TRUE(test, CQHCI_TERRI_C_VALID(terri));
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_C_TASK(terri), 6);
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_C_INDEX(terri), MMC_QUE_TASK_ADDR);
	KUNIT_EXPECT_FALSE(test, CQHCI_TERRI_D_VALID(terri));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CRI), MMC_QUE_TASK_ADDR);
	KUNIT_EXPECT_TRUE(test, cqe_read(t, CQHCI_CRA) & R1_ERROR);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(6));

	cqe_recover(t);
	cqe_expect_works(t);
	cqe_expect_clean(t);
}

static void cqe_response_masked(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;

	cqe_write(t, 0xfdf9a080 & ~R1_ERROR, CQHCI_RMEM);
	cqe_arm(t, "response op=read value=0x80000 count=always");
	cqe_set_simple(t, 6, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(6));
	cqe_run(t);

	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.is, CQHCI_IS_TCC);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(6));
}

struct cqe_error_case {
	const char *name;
	const char *fault;
	u64 flags;
	int cmd_error;
	int data_error;
	u32 c_index;
	u32 d_index;
};

static const struct cqe_error_case cqe_error_cases[] = {
	{ "read data CRC", "data-crc", CQE_READ, 0, -EILSEQ, 0,
	  MMC_EXECUTE_READ_TASK },
	{ "write data CRC", "data-crc op=write", CQE_WRITE, 0, -EILSEQ, 0,
	  MMC_EXECUTE_WRITE_TASK },
	{ "address timeout", "cmd-timeout op=read", CQE_READ, -ETIMEDOUT, 0,
	  MMC_QUE_TASK_ADDR, 0 },
	{ "execution timeout", "cmd-timeout op=read skip=1", CQE_READ,
	  -ETIMEDOUT, 0, MMC_EXECUTE_READ_TASK, 0 },
	{ "parameters CRC", "cmd-crc op=other", CQE_READ, -EILSEQ, 0,
	  MMC_QUE_TASK_PARAMS, 0 },
	{ "task error", "task-error", CQE_WRITE, 0, 0,
	  MMC_EXECUTE_WRITE_TASK, 0 },
	{ "endless busy", "stuck-busy op=write", CQE_WRITE, 0, -ETIMEDOUT, 0,
	  MMC_EXECUTE_WRITE_TASK },
	{ "power cut", "power-cut op=write skip=1", CQE_WRITE, -ETIMEDOUT, 0,
	  MMC_EXECUTE_WRITE_TASK, 0 },
	{ "removal", "remove op=write", CQE_WRITE, -ETIMEDOUT, 0,
	  MMC_QUE_TASK_ADDR, 0 },
};

KUNIT_ARRAY_PARAM_DESC(cqe_error, cqe_error_cases, name);

/* The task that failed is named, keeps its slot, and nothing follows. */
static void cqe_error(struct kunit *test)
{
	const struct cqe_error_case *c = test->param_value;
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;
	u32 terri;

	cqe_arm(t, c->fault);
	cqe_set_simple(t, 9, c->flags | CQE_INT, 128, 4);
	cqe_ring(t, BIT(9));
	for (int i = 0; i < 20 && cqe_next(t) != U64_MAX; i++)
		cqe_run_to(t, max(cqe_next(t), t->now));

	irq = cqe_take_irq(t);
	KUNIT_ASSERT_TRUE(test, irq.pending);
	KUNIT_EXPECT_EQ(test, irq.cmd_error, c->cmd_error);
	KUNIT_EXPECT_EQ(test, irq.data_error, c->data_error);
	KUNIT_EXPECT_EQ(test, irq.is, c->cmd_error || c->data_error ? 0 :
			CQHCI_IS_RED);

	terri = cqe_read(t, CQHCI_TERRI);
	KUNIT_EXPECT_EQ(test, !!CQHCI_TERRI_C_VALID(terri), !!c->c_index);
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_C_INDEX(terri), c->c_index);
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_C_TASK(terri), c->c_index ? 9 : 0);
	KUNIT_EXPECT_EQ(test, !!CQHCI_TERRI_D_VALID(terri), !!c->d_index);
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_D_INDEX(terri), c->d_index);
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_D_TASK(terri), c->d_index ? 9 : 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(9));

	cqe_set_simple(t, 1, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(1));
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(1) | BIT(9));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), 0);
	cqe_expect_clean(t);
}

/* The errors that leave the card alive are recovered from. */
static void cqe_error_recovery(struct kunit *test)
{
	static const char * const faults[] = {
		"data-crc", "cmd-timeout op=read", "cmd-crc op=read",
		"task-error", "response op=read skip=1 value=0x80000",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(faults); i++) {
		struct cqe_test *t = cqe_begin_with(test, cqe_config);

		cqe_arm(t, faults[i]);
		cqe_set_simple(t, 2, CQE_READ | CQE_INT, 0, 4);
		cqe_set_simple(t, 3, CQE_READ | CQE_INT, 8, 4);
		cqe_ring(t, BIT(2) | BIT(3));
		cqe_run(t);
		KUNIT_EXPECT_TRUE(test, cqe_take_irq(t).pending);
		cqe_recover(t);
		cqe_expect_works(t);
		cqe_expect_clean(t);
	}
}

/* The question for the queue status is nobody's: no task is named. */
static void cqe_poll_error(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;

	cqe_arm(t, "cmd-timeout op=other skip=1");
	cqe_set_simple(t, 2, CQE_READ | CQE_INT, 0, 4);
	cqe_ring(t, BIT(2));
	cqe_run(t);

	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.cmd_error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TERRI), 0);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(2));
}

/* A card that goes while data moves ends the transfer there and then. */
static void cqe_card_lost(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config_timed);
	struct cqe_irq irq;

	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 8);
	cqe_ring(t, BIT(0));
	cqe_run_to(t, t->now + 5 * CQE_CMD_NS);
	KUNIT_ASSERT_EQ(test, t->host->cqe.active, 0);

	scoped_guard(spinlock_irqsave, &t->host->lock) {
		mmc_sim_card_power_cut(&t->host->card, t->now);
		mmc_sim_cqe_card_lost(t->host, t->now);
	}
	cqe_run(t);

	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.data_error, -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, CQHCI_TERRI_D_VALID(cqe_read(t, CQHCI_TERRI)));
}

/* What waits for the card to be ready finds out that there is none. */
static void cqe_card_lost_waiting(struct kunit *test)
{
	struct mmc_sim_config cfg;
	struct cqe_test *t;

	cqe_config_timed(&cfg);
	cfg.read_us = 100000;
	t = cqe_begin(test, &cfg);
	cqe_enable(t);

	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 8);
	cqe_ring(t, BIT(0));
	cqe_run_to(t, t->now + 10 * CQE_CMD_NS);
	KUNIT_ASSERT_EQ(test, cqe_read(t, CQHCI_DPT), BIT(0));

	scoped_guard(spinlock_irqsave, &t->host->lock) {
		mmc_sim_card_power_cut(&t->host->card, t->now);
		mmc_sim_cqe_card_lost(t->host, t->now);
	}
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_take_irq(t).cmd_error, -ETIMEDOUT);
}

/* ------------------------------------------------------------------ faults */

static void cqe_fault_lost_irq(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;

	cqe_arm(t, "lost-irq");
	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), BIT(0));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), 0);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);

	cqe_set_simple(t, 1, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(1));
	cqe_run(t);
	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.tcn, BIT(0) | BIT(1));
}

static void cqe_fault_lost_task(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	cqe_arm(t, "lost-task");
	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(0));
	KUNIT_EXPECT_EQ(test, cqe_next(t), U64_MAX);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);

	/* Others go on. */
	cqe_expect_works(t);
	cqe_recover(t);
	cqe_expect_clean(t);
}

static void cqe_fault_no_halt(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	cqe_arm(t, "no-halt");
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), 0);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);

	/* What the driver does then it cannot do otherwise. */
	cqe_cmd(t, MMC_STOP_TRANSMISSION, 0);
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), CQHCI_HALT);
	KUNIT_EXPECT_EQ(test, cqe_take_irq(t).is, CQHCI_IS_HAC);
	cqe_expect_clean(t);
}

static void cqe_fault_no_clear(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	u32 cfg = cqe_read(t, CQHCI_CFG);

	cqe_arm(t, "no-clear");
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run(t);
	cqe_take_irq(t);
	cqe_write(t, CQHCI_HALT | CQHCI_CLEAR_ALL_TASKS, CQHCI_CTL);
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL),
			CQHCI_HALT | CQHCI_CLEAR_ALL_TASKS);
	KUNIT_EXPECT_FALSE(test, cqe_take_irq(t).pending);

	cqe_write(t, cfg & ~CQHCI_ENABLE, CQHCI_CFG);
	cqe_write(t, cfg, CQHCI_CFG);
	/* Halt survives, as on real controllers. */
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), CQHCI_HALT);
	cqe_write(t, 0, CQHCI_CTL);
	cqe_expect_works(t);
}

static void cqe_fault_spurious(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	cqe_arm(t, "spurious");
	cqe_set_simple(t, 0, CQE_READ | CQE_INT, 0, 1);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_take_irq(t).tcn, BIT(0) | BIT(1));
}

static void cqe_fault_dcmd_refused(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;
	u32 terri;

	cqe_arm(t, "dcmd-refused op=switch");
	cqe_set_dcmd(t, MMC_SWITCH, cqe_switch_arg(EXT_CSD_CACHE_CTRL, 1),
		     CQE_R1B | CQE_QBAR);
	cqe_ring(t, BIT(MMC_SIM_DCMD_SLOT));
	cqe_run(t);

	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.is, CQHCI_IS_RED);
	terri = cqe_read(t, CQHCI_TERRI);
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_C_TASK(terri), MMC_SIM_DCMD_SLOT);
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_C_INDEX(terri), MMC_SWITCH);
	KUNIT_EXPECT_FALSE(test, mmc_sim_cache_on(&t->host->card));
}

static void cqe_fault_dcmd_timeout(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	struct cqe_irq irq;

	cqe_arm(t, "dcmd-timeout");
	cqe_set_dcmd(t, MMC_SWITCH, cqe_switch_arg(EXT_CSD_CACHE_CTRL, 1),
		     CQE_R1B | CQE_QBAR);
	cqe_ring(t, BIT(MMC_SIM_DCMD_SLOT));
	cqe_run(t);

	irq = cqe_take_irq(t);
	KUNIT_EXPECT_EQ(test, irq.cmd_error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, CQHCI_TERRI_C_TASK(cqe_read(t, CQHCI_TERRI)),
			MMC_SIM_DCMD_SLOT);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(MMC_SIM_DCMD_SLOT));
}

/* A write whose busy signal is longer completes later. */
static void cqe_fault_busy(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);
	u64 start = t->now;

	cqe_arm(t, "stuck-busy op=write value=250");
	cqe_set_simple(t, 0, CQE_WRITE | CQE_INT, 0, 1);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(0));
	cqe_run_until(t, BIT(0));
	KUNIT_EXPECT_EQ(test, t->now - start, 250 * NSEC_PER_USEC);
	cqe_expect_clean(t);
}

/* A fault's sectors are sectors, also where the card counts bytes. */
static const struct cqe_address {
	const char *name;
	u32 capacity_mib;
	u32 unit;
} cqe_addresses[] = {
	{ "bytes", 16, MMC_SIM_SECTOR },
	{ "sectors", 4096, 1 },
};

KUNIT_ARRAY_PARAM_DESC(cqe_address, cqe_addresses, name);

static int cqe_read_single(struct cqe_test *t, u32 arg)
{
	struct mmc_sim_cmd cmd = { .opcode = MMC_READ_SINGLE_BLOCK, .arg = arg };

	guard(spinlock_irqsave)(&t->host->lock);

	t->now += CQE_CMD_NS;
	mmc_sim_exec(t->host, &cmd, t->now);
	if (!cmd.error)
		mmc_sim_card_data_end(&t->host->card, t->now, false);

	return cmd.error;
}

static void cqe_fault_address(struct kunit *test)
{
	const struct cqe_address *row = test->param_value;
	struct mmc_sim_config cfg;
	struct cqe_test *t;

	cqe_config(&cfg);
	cfg.capacity_mib = row->capacity_mib;
	t = cqe_begin(test, &cfg);
	cqe_switch(t, EXT_CSD_CMDQ_MODE_EN, 0);

	cqe_arm(t, "cmd-timeout op=read sector=100-107 count=always");
	KUNIT_EXPECT_EQ(test, cqe_read_single(t, 99 * row->unit), 0);
	KUNIT_EXPECT_EQ(test, cqe_read_single(t, 100 * row->unit), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, cqe_read_single(t, 107 * row->unit), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, cqe_read_single(t, 108 * row->unit), 0);
}

/* A reset of the data circuits ends what keeps an engine from halting. */
static void cqe_abort(struct kunit *test)
{
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	cqe_arm(t, "stuck-busy op=write");
	cqe_set_simple(t, 0, CQE_WRITE | CQE_INT, 0, 1);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), 0);

	scoped_guard(spinlock_irqsave, &t->host->lock)
		mmc_sim_cqe_abort(t->host, t->now);
	cqe_run(t);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_CTL), CQHCI_HALT);
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TDBR), BIT(0));
	KUNIT_EXPECT_EQ(test, cqe_read(t, CQHCI_TCN), 0);
}

/* ------------------------------------------------------------------- rules */

static void cqe_rule_slot_busy(struct cqe_test *t)
{
	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_ring(t, BIT(0));
	cqe_ring(t, BIT(0));
}

static void cqe_rule_disabled(struct cqe_test *t)
{
	cqe_write(t, 0, CQHCI_CFG);
	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_ring(t, BIT(0));
	KUNIT_EXPECT_EQ(t->test, cqe_read(t, CQHCI_TDBR), 0);
}

static void cqe_rule_halted(struct cqe_test *t)
{
	cqe_write(t, CQHCI_HALT, CQHCI_CTL);
	cqe_run(t);
	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_ring(t, BIT(0));
}

static void cqe_rule_break_task(struct cqe_test *t, u64 clear, u64 set)
{
	u8 *desc = cqe_task_desc(t, 0);

	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	put_unaligned_le64((get_unaligned_le64(desc) & ~clear) | set, desc);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(t->test, cqe_read(t, CQHCI_TDBR), BIT(0));
	KUNIT_EXPECT_EQ(t->test, cqe_read(t, CQHCI_TDPE), BIT(0));
}

static void cqe_rule_not_valid(struct cqe_test *t)
{
	cqe_rule_break_task(t, CQHCI_VALID(1), 0);
}

static void cqe_rule_not_end(struct cqe_test *t)
{
	cqe_rule_break_task(t, CQHCI_END(1), 0);
}

static void cqe_rule_not_task(struct cqe_test *t)
{
	cqe_rule_break_task(t, CQHCI_ACT(7), CQHCI_ACT(4));
}

static void cqe_rule_no_blocks(struct cqe_test *t)
{
	cqe_rule_break_task(t, CQHCI_BLK_COUNT(~0ULL), 0);
}

static void cqe_rule_link(struct cqe_test *t)
{
	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	put_unaligned_le32(0, cqe_link_desc(t, 0));
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(t->test, cqe_take_irq(t).data_error, -EFAULT);
}

/* A link to a place where there is no memory. */
static void cqe_rule_address(struct cqe_test *t)
{
	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	put_unaligned_le64(BIT_ULL(51), cqe_link_desc(t, 0) + 4);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(t->test, cqe_take_irq(t).data_error, -EFAULT);
}

static void cqe_rule_endless(struct cqe_test *t)
{
	cqe_set_simple(t, 0, CQE_READ, 0, 8);
	cqe_set_link(t, cqe_txfr_desc(t, 0, 0), cqe_txfr_desc(t, 0, 0));
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(t->test, cqe_take_irq(t).data_error, -EFAULT);
}

static void cqe_rule_short(struct cqe_test *t)
{
	cqe_set_task(t, 0, CQE_READ, 0, 8);
	cqe_set_txfr(t, 0, 0, t->buf, 7 * MMC_SIM_SECTOR, true);
	cqe_ring(t, BIT(0));
	cqe_run(t);
	KUNIT_EXPECT_EQ(t->test, cqe_take_irq(t).data_error, -ENODATA);
}

static void cqe_rule_long(struct cqe_test *t)
{
	memset(t->buf, 0xa5, 9 * MMC_SIM_SECTOR);
	cqe_set_task(t, 0, CQE_READ, 0, 8);
	cqe_set_txfr(t, 0, 0, t->buf, 9 * MMC_SIM_SECTOR, true);
	cqe_ring(t, BIT(0));
	cqe_run_until(t, BIT(0));
	KUNIT_EXPECT_EQ(t->test, t->buf[8 * MMC_SIM_SECTOR - 1], 0);
	KUNIT_EXPECT_EQ(t->test, t->buf[8 * MMC_SIM_SECTOR], 0xa5);
}

static void cqe_rule_config(struct cqe_test *t)
{
	cqe_write(t, cqe_read(t, CQHCI_CFG) ^ CQHCI_DCMD, CQHCI_CFG);
}

static void cqe_rule_base(struct cqe_test *t)
{
	cqe_write(t, cqe_read(t, CQHCI_TDLBA) + SZ_1K, CQHCI_TDLBA);
}

static void cqe_rule_clear(struct cqe_test *t)
{
	cqe_write(t, CQHCI_CLEAR_ALL_TASKS, CQHCI_CTL);
}

static void cqe_rule_clear_one(struct cqe_test *t)
{
	cqe_write(t, BIT(0), CQHCI_TCLR);
}

static void cqe_rule_legacy(struct cqe_test *t)
{
	cqe_cmd(t, MMC_SEND_STATUS, CQE_RCA << 16);
}

struct cqe_rule_case {
	const char *name;
	enum mmc_sim_rule rule;
	void (*breach)(struct cqe_test *t);
};

static const struct cqe_rule_case cqe_rule_cases[] = {
	{ "doorbell of a busy slot", MMC_SIM_RULE_CQE_SLOT_BUSY,
	  cqe_rule_slot_busy },
	{ "doorbell while disabled", MMC_SIM_RULE_CQE_DISABLED,
	  cqe_rule_disabled },
	{ "doorbell while halted", MMC_SIM_RULE_CQE_DISABLED, cqe_rule_halted },
	{ "task not valid", MMC_SIM_RULE_CQE_DESC, cqe_rule_not_valid },
	{ "task without end", MMC_SIM_RULE_CQE_DESC, cqe_rule_not_end },
	{ "no task", MMC_SIM_RULE_CQE_DESC, cqe_rule_not_task },
	{ "task of no blocks", MMC_SIM_RULE_CQE_DESC, cqe_rule_no_blocks },
	{ "link not valid", MMC_SIM_RULE_CQE_DESC, cqe_rule_link },
	{ "link to no memory", MMC_SIM_RULE_CQE_DESC, cqe_rule_address },
	{ "chain in a circle", MMC_SIM_RULE_CQE_DESC, cqe_rule_endless },
	{ "descriptors too short", MMC_SIM_RULE_CQE_LENGTH, cqe_rule_short },
	{ "descriptors too long", MMC_SIM_RULE_CQE_LENGTH, cqe_rule_long },
	{ "configuration", MMC_SIM_RULE_CQE_CFG, cqe_rule_config },
	{ "list base", MMC_SIM_RULE_CQE_CFG, cqe_rule_base },
	{ "clear all", MMC_SIM_RULE_CQE_CLEAR, cqe_rule_clear },
	{ "clear one", MMC_SIM_RULE_CQE_CLEAR, cqe_rule_clear_one },
	{ "command past the engine", MMC_SIM_RULE_CQE_LEGACY, cqe_rule_legacy },
};

KUNIT_ARRAY_PARAM_DESC(cqe_rule, cqe_rule_cases, name);

/* The breach is counted, once, and no other rule is. */
static void cqe_rule(struct kunit *test)
{
	const struct cqe_rule_case *c = test->param_value;
	struct cqe_test *t = cqe_begin_with(test, cqe_config);

	cqe_expect_clean(t);
	c->breach(t);
	KUNIT_EXPECT_EQ(test, cqe_violations(t, c->rule), 1);
	KUNIT_EXPECT_EQ(test, cqe_all_violations(t->host), 1);
}

/* -------------------------------------------------------------- live host */

struct cqe_live_case {
	const char *name;
	u32 cqe;
	u32 hsq;
	u32 done_complete;
	enum mmc_sim_bus bus;
};

static const struct cqe_live_case cqe_live_cases[] = {
	{ "CQE, HS400ES", 1, 0, 0, MMC_SIM_BUS_HS400ES },
	{ "CQE, HS400", 1, 0, 0, MMC_SIM_BUS_HS400 },
	{ "no queue, HS200", 0, 0, 0, MMC_SIM_BUS_HS200 },
	{ "no queue, done in the callback", 0, 0, 1, MMC_SIM_BUS_DDR52 },
	{ "software queue, HS", 0, 1, 0, MMC_SIM_BUS_HS },
};

KUNIT_ARRAY_PARAM_DESC(cqe_live, cqe_live_cases, name);

static void cqe_live_end(void *host)
{
	mmc_sim_host_remove(host);
}

/* The MMC core brings the card up behind a host of ours, and breaks no rule. */
static void cqe_live(struct kunit *test)
{
	const struct cqe_live_case *c = test->param_value;
	struct mmc_sim_config cfg;
	struct platform_device *pdev;
	struct mmc_sim_host *host;

	cqe_config(&cfg);
	cfg.cqe = c->cqe;
	cfg.hsq = c->hsq;
	cfg.done_complete = c->done_complete;
	cfg.bus = c->bus;

	pdev = kunit_platform_device_alloc(test, "mmc-sim-kunit",
					   PLATFORM_DEVID_AUTO);
	KUNIT_ASSERT_NOT_NULL(test, pdev);
	KUNIT_ASSERT_EQ(test, kunit_platform_device_add(test, pdev), 0);

	host = mmc_sim_host_add(&pdev->dev, "kunit-live", &cfg);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, host);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, cqe_live_end,
							host), 0);

	flush_delayed_work(&host->mmc->detect);
	KUNIT_ASSERT_NOT_NULL(test, host->mmc->card);
	KUNIT_EXPECT_EQ(test, host->mmc->cqe_enabled, c->cqe || c->hsq);
	KUNIT_EXPECT_EQ(test, host->mmc->card->ext_csd.cmdq_en, c->cqe);

	KUNIT_EXPECT_EQ(test, cqe_all_violations(host), 0);
}

static struct kunit_case cqe_cases[] = {
	KUNIT_CASE(cqe_reset_values),
	KUNIT_CASE(cqe_read_only),
	KUNIT_CASE(cqe_write_is_not_completion),
	KUNIT_CASE(cqe_status_enable),
	KUNIT_CASE(cqe_signal_enable),
	KUNIT_CASE_PARAM(cqe_layout, cqe_layout_gen_params),
	KUNIT_CASE(cqe_length_0),
	KUNIT_CASE(cqe_no_link),
	KUNIT_CASE(cqe_chain),
	KUNIT_CASE(cqe_many),
	KUNIT_CASE(cqe_slot_31),
	KUNIT_CASE(cqe_arrival_order),
	KUNIT_CASE(cqe_priority),
	KUNIT_CASE(cqe_barrier),
	KUNIT_CASE(cqe_bus_time),
	KUNIT_CASE(cqe_late_run),
	KUNIT_CASE(cqe_polling),
	KUNIT_CASE(cqe_poll_in_transfer),
	KUNIT_CASE(cqe_dcmd),
	KUNIT_CASE(cqe_dcmd_busy),
	KUNIT_CASE(cqe_dcmd_barrier),
	KUNIT_CASE(cqe_dcmd_during_data),
	KUNIT_CASE(cqe_no_int),
	KUNIT_CASE(cqe_coalesce_counter),
	KUNIT_CASE(cqe_coalesce_int),
	KUNIT_CASE(cqe_coalesce_timeout),
	KUNIT_CASE(cqe_halt),
	KUNIT_CASE(cqe_clear_all),
	KUNIT_CASE(cqe_clear_one),
	KUNIT_CASE(cqe_disable),
	KUNIT_CASE(cqe_response_error),
	KUNIT_CASE(cqe_response_masked),
	KUNIT_CASE_PARAM(cqe_error, cqe_error_gen_params),
	KUNIT_CASE(cqe_error_recovery),
	KUNIT_CASE(cqe_poll_error),
	KUNIT_CASE(cqe_card_lost),
	KUNIT_CASE(cqe_card_lost_waiting),
	KUNIT_CASE(cqe_fault_lost_irq),
	KUNIT_CASE(cqe_fault_lost_task),
	KUNIT_CASE(cqe_fault_no_halt),
	KUNIT_CASE(cqe_fault_no_clear),
	KUNIT_CASE(cqe_fault_spurious),
	KUNIT_CASE(cqe_fault_dcmd_refused),
	KUNIT_CASE(cqe_fault_dcmd_timeout),
	KUNIT_CASE(cqe_fault_busy),
	KUNIT_CASE_PARAM(cqe_fault_address, cqe_address_gen_params),
	KUNIT_CASE(cqe_abort),
	KUNIT_CASE_PARAM(cqe_rule, cqe_rule_gen_params),
	KUNIT_CASE_PARAM(cqe_live, cqe_live_gen_params),
	{}
};

static struct kunit_suite cqe_suite = {
	.name = "mmc_sim_cqhci",
	.test_cases = cqe_cases,
};

kunit_test_suite(cqe_suite);
