// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: the command queue engine (CQHCI, annex B).
 *
 * The engine is autonomous, as the real one is: a register write by the driver
 * changes its state and no more. What follows from it are events, each with a
 * time of its own: a descriptor is fetched, a command is sent, a transfer ends,
 * a task completes. mmc_sim_cqe_run() lets everything happen that is due, in
 * order and at its own time, however late it is called, so that the latency of
 * the CPU that simulates it does not slow the engine down.
 *
 * There are two resources. The CMD line (&mmc_sim_cqe.cmd_free) carries one
 * command at a time. The data lines (&mmc_sim_cqe.active) carry one transfer or
 * one busy signal; commands that queue tasks or ask for the queue status are
 * sent meanwhile.
 */

#include <linux/bitfield.h>
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/unaligned.h>

#include "sim.h"

#define MMC_SIM_CQE_VER		0x510

#define MMC_SIM_CAP_ITCFVAL	GENMASK(9, 0)

#define MMC_SIM_IC_ICSB		BIT(20)
#define MMC_SIM_IC_ICCTH	GENMASK(12, 8)
#define MMC_SIM_IC_ICTOVAL	GENMASK(6, 0)

/* ICTOVAL counts this many periods of the internal timer clock. */
#define MMC_SIM_ICTOVAL_CLOCKS	1024

/* Values after reset */
#define MMC_SIM_SSC1_RESET	0x00011000	/* CBC 1, CIT 4096 */
#define MMC_SIM_RMEM_RESET	0xfdf9a080

#define MMC_SIM_IS_ALL		(CQHCI_IS_HAC | CQHCI_IS_TCC | CQHCI_IS_RED | \
				 CQHCI_IS_TCL | CQHCI_IS_GCE | CQHCI_IS_ICCE)

/* Attribute and fields of descriptors, as <cqhci.h> builds them */
#define MMC_SIM_DESC_VALID	BIT_ULL(0)
#define MMC_SIM_DESC_END	BIT_ULL(1)
#define MMC_SIM_DESC_INT	BIT_ULL(2)
#define MMC_SIM_DESC_ACT	GENMASK_ULL(5, 3)
#define  MMC_SIM_ACT_NOP	0
#define  MMC_SIM_ACT_TRAN	4
#define  MMC_SIM_ACT_TASK	5
#define  MMC_SIM_ACT_LINK	6
#define MMC_SIM_DESC_FORCED	BIT_ULL(6)
#define MMC_SIM_DESC_CONTEXT	GENMASK_ULL(10, 7)
#define MMC_SIM_DESC_TAG	BIT_ULL(11)
#define MMC_SIM_DESC_READ	BIT_ULL(12)
#define MMC_SIM_DESC_PRIO	BIT_ULL(13)
#define MMC_SIM_DESC_QBAR	BIT_ULL(14)
#define MMC_SIM_DESC_REL	BIT_ULL(15)
#define MMC_SIM_DESC_BLOCKS	GENMASK_ULL(31, 16)
#define MMC_SIM_DESC_ADDR	GENMASK_ULL(63, 32)
#define MMC_SIM_DCMD_INDEX	GENMASK_ULL(21, 16)
#define MMC_SIM_DCMD_ANYTIME	BIT_ULL(22)	/* CMD_TIMING */
#define MMC_SIM_DCMD_RESP	GENMASK_ULL(24, 23)
#define  MMC_SIM_DCMD_NO_RESP	0
#define  MMC_SIM_DCMD_R1B	3
#define MMC_SIM_TXFR_LENGTH	GENMASK(31, 16)

/* Argument of CMD44 (6.6.39.2) */
#define MMC_SIM_CMD44_REL	BIT(31)
#define MMC_SIM_CMD44_READ	BIT(30)
#define MMC_SIM_CMD44_TAG	BIT(29)
#define MMC_SIM_CMD44_CONTEXT	GENMASK(28, 25)
#define MMC_SIM_CMD44_FORCED	BIT(24)
#define MMC_SIM_CMD44_PRIO	BIT(23)
#define MMC_SIM_CMD44_TASK	GENMASK(20, 16)
#define MMC_SIM_CMD44_BLOCKS	GENMASK(15, 0)

#define MMC_SIM_CMD13_SQS	BIT(15)

/* A chain of descriptors that is longer than this runs in a circle. */
#define MMC_SIM_MAX_TXFR	65536

enum mmc_sim_cqe_what {
	MMC_SIM_CQE_COALESCE,	/* the coalescing timer ends */
	MMC_SIM_CQE_END,	/* a transfer, busy signal or command ends */
	MMC_SIM_CQE_CLEAR,	/* tasks are cleared */
	MMC_SIM_CQE_HALT,	/* the engine halts */
	MMC_SIM_CQE_FETCH,	/* a task descriptor is read */
	MMC_SIM_CQE_EXECUTE,	/* CMD46 or CMD47 is sent */
	MMC_SIM_CQE_QUEUE,	/* CMD44 and CMD45 are sent */
	MMC_SIM_CQE_DCMD,	/* a direct command is sent */
	MMC_SIM_CQE_POLL,	/* CMD13 asks for the queue status */
};

/* @from: of MMC_SIM_CQE_POLL: when the first question was due, asked or not */
struct mmc_sim_cqe_event {
	u64 at;
	u64 from;
	enum mmc_sim_cqe_what what;
	int tag;
};

static u32 *mmc_sim_cqe_reg(struct mmc_sim_cqe *cqe, int reg)
{
	return &cqe->reg[reg / sizeof(u32)];
}

static u32 mmc_sim_cqe_get(const struct mmc_sim_cqe *cqe, int reg)
{
	return cqe->reg[reg / sizeof(u32)];
}

static bool mmc_sim_cqe_enabled(const struct mmc_sim_cqe *cqe)
{
	return mmc_sim_cqe_get(cqe, CQHCI_CFG) & CQHCI_ENABLE;
}

static bool mmc_sim_cqe_halted(const struct mmc_sim_cqe *cqe)
{
	return mmc_sim_cqe_get(cqe, CQHCI_CTL) & CQHCI_HALT;
}

static bool mmc_sim_cqe_is_dcmd(const struct mmc_sim_cqe *cqe, int tag)
{
	return tag == MMC_SIM_DCMD_SLOT &&
	       (mmc_sim_cqe_get(cqe, CQHCI_CFG) & CQHCI_DCMD);
}

static u32 mmc_sim_cqe_blocks(const struct mmc_sim_slot *slot)
{
	return FIELD_GET(MMC_SIM_DESC_BLOCKS, slot->desc);
}

static u32 mmc_sim_cqe_sector(const struct mmc_sim_slot *slot)
{
	return FIELD_GET(MMC_SIM_DESC_ADDR, slot->desc);
}

static enum mmc_sim_op mmc_sim_cqe_op(const struct mmc_sim_slot *slot)
{
	return slot->desc & MMC_SIM_DESC_READ ? MMC_SIM_OP_READ :
						MMC_SIM_OP_WRITE;
}

static u32 mmc_sim_cqe_execute_cmd(const struct mmc_sim_slot *slot)
{
	return slot->desc & MMC_SIM_DESC_READ ? MMC_EXECUTE_READ_TASK :
						MMC_EXECUTE_WRITE_TASK;
}

/*
 * The capability register has a clock of up to three digits and a power of ten
 * of kHz; what does not fit is rounded down, and the timers follow.
 */
static u32 mmc_sim_cqe_cap(u32 khz)
{
	u32 mul = 0;

	while (khz > FIELD_MAX(MMC_SIM_CAP_ITCFVAL)) {
		khz /= 10;
		mul++;
	}

	return FIELD_PREP(CQHCI_CAP_ITCFMUL, mul) |
	       FIELD_PREP(MMC_SIM_CAP_ITCFVAL, khz);
}

/* Periods of the internal timer clock, in ns. */
static u64 mmc_sim_cqe_clocks(const struct mmc_sim_cqe *cqe, u32 clocks)
{
	u32 cap = mmc_sim_cqe_get(cqe, CQHCI_CAP);
	u32 khz = FIELD_GET(MMC_SIM_CAP_ITCFVAL, cap);

	for (u32 mul = CQHCI_ITCFMUL(cap); mul; mul--)
		khz *= 10;

	return max(div_u64((u64)clocks * USEC_PER_SEC, khz), 1);
}

/* Time between two questions for the queue status while nothing is ready. */
static u64 mmc_sim_cqe_period(const struct mmc_sim_cqe *cqe)
{
	u32 ssc1 = mmc_sim_cqe_get(cqe, CQHCI_SSC1);

	return mmc_sim_cqe_clocks(cqe, FIELD_GET(CQHCI_SSC1_CIT_MASK, ssc1));
}

/* Status bits appear only while ISTE enables them. */
static void mmc_sim_cqe_raise(struct mmc_sim_cqe *cqe, u32 bit)
{
	*mmc_sim_cqe_reg(cqe, CQHCI_IS) |=
		bit & mmc_sim_cqe_get(cqe, CQHCI_ISTE);
}

/*
 * Memory at a DMA address, which is a physical one on the machines that this
 * driver is for.
 */
static void *mmc_sim_cqe_mem(u64 addr, size_t len)
{
	if (!pfn_valid(PHYS_PFN(addr)) || !pfn_valid(PHYS_PFN(addr + len - 1)))
		return NULL;

	return phys_to_virt(addr);
}

/* ---------------------------------------------------------------- next */

static void mmc_sim_cqe_offer(struct mmc_sim_cqe_event *ev, u64 at,
			      enum mmc_sim_cqe_what what, int tag)
{
	if (at < ev->at) {
		ev->at = at;
		ev->what = what;
		ev->tag = tag;
	}
}

/*
 * A task with QBAR waits for all that came before it, and what came after it
 * waits for the task.
 */
static bool mmc_sim_cqe_barred(struct mmc_sim_cqe *cqe, int tag)
{
	const struct mmc_sim_slot *slot = &cqe->slot[tag];
	unsigned long busy = mmc_sim_cqe_get(cqe, CQHCI_TDBR);
	int i;

	for_each_set_bit(i, &busy, MMC_SIM_SLOTS) {
		const struct mmc_sim_slot *other = &cqe->slot[i];

		if (other->seq < slot->seq &&
		    ((other->desc | slot->desc) & MMC_SIM_DESC_QBAR))
			return true;
	}

	return false;
}

/* Which of two tasks that are ready is executed first. */
static bool mmc_sim_cqe_before(const struct mmc_sim_slot *a,
			       const struct mmc_sim_slot *b)
{
	if ((a->desc ^ b->desc) & MMC_SIM_DESC_PRIO)
		return a->desc & MMC_SIM_DESC_PRIO;
	if (a->ready != b->ready)
		return a->ready < b->ready;
	return a->seq < b->seq;
}

/*
 * When does the engine ask the card again? From @from on it asks every period.
 * Asking costs the simulated machine nothing, but the real one a timer
 * interrupt, so the questions to which the answer is known to be "none" are
 * only counted, when the first that is not is due. With a fault armed each of
 * them might fail.
 */
static u64 mmc_sim_cqe_poll_at(struct mmc_sim_host *host, u64 from)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	unsigned long busy = mmc_sim_cqe_get(cqe, CQHCI_TDBR);
	u64 ready = U64_MAX;
	u64 period;
	int tag;

	if (cqe->active >= 0 || mmc_sim_card_gone(host) ||
	    !list_empty(&host->faults))
		return from;

	for_each_set_bit(tag, &busy, MMC_SIM_SLOTS) {
		const struct mmc_sim_task *task = &host->card.task[tag];

		if (cqe->slot[tag].state != MMC_SIM_SLOT_QUEUED ||
		    (cqe->qsr & BIT(tag)))
			continue;
		/* Somebody took the card's queue away: it never gets ready. */
		if (!task->queued)
			continue;
		ready = min(ready, task->ready);
	}

	if (ready == U64_MAX)
		return U64_MAX;
	if (ready <= from)
		return from;

	period = mmc_sim_cqe_period(cqe);
	return from + DIV64_U64_ROUND_UP(ready - from, period) * period;
}

/* The engine's next event. */
static struct mmc_sim_cqe_event mmc_sim_cqe_pick(struct mmc_sim_host *host)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_cqe_event ev = { .at = U64_MAX };
	u64 line = max(cqe->cmd_free, cqe->time);
	const struct mmc_sim_slot *slot;
	bool waiting = false;
	unsigned long busy;
	int ready = -1;
	int next = -1;
	int tag;

	mmc_sim_cqe_offer(&ev, cqe->coalesce_at, MMC_SIM_CQE_COALESCE, -1);

	slot = &cqe->slot[MMC_SIM_DCMD_SLOT];
	if (cqe->active >= 0)
		mmc_sim_cqe_offer(&ev, cqe->slot[cqe->active].done,
				  MMC_SIM_CQE_END, cqe->active);
	if (cqe->active != MMC_SIM_DCMD_SLOT &&
	    slot->state == MMC_SIM_SLOT_ACTIVE)
		mmc_sim_cqe_offer(&ev, slot->done, MMC_SIM_CQE_END,
				  MMC_SIM_DCMD_SLOT);

	if (mmc_sim_cqe_halted(cqe)) {
		if (cqe->clearing || mmc_sim_cqe_get(cqe, CQHCI_TCLR))
			mmc_sim_cqe_offer(&ev, cqe->time, MMC_SIM_CQE_CLEAR,
					  -1);
		return ev;
	}

	if (cqe->halting) {
		if (cqe->active < 0 && slot->state != MMC_SIM_SLOT_ACTIVE)
			mmc_sim_cqe_offer(&ev, line, MMC_SIM_CQE_HALT, -1);
		return ev;
	}

	if (!mmc_sim_cqe_enabled(cqe) || cqe->failed)
		return ev;

	busy = mmc_sim_cqe_get(cqe, CQHCI_TDBR);
	for_each_set_bit(tag, &busy, MMC_SIM_SLOTS) {
		slot = &cqe->slot[tag];

		switch (slot->state) {
		case MMC_SIM_SLOT_RUNG:
			mmc_sim_cqe_offer(&ev, slot->done, MMC_SIM_CQE_FETCH,
					  tag);
			break;
		case MMC_SIM_SLOT_FETCHED:
			if (next < 0 || slot->seq < cqe->slot[next].seq)
				next = tag;
			break;
		case MMC_SIM_SLOT_QUEUED:
			if (!(cqe->qsr & BIT(tag)))
				waiting = true;
			else if (ready < 0 ||
				 mmc_sim_cqe_before(slot, &cqe->slot[ready]))
				ready = tag;
			break;
		default:
			break;
		}
	}

	if (ready >= 0 && cqe->active < 0)
		mmc_sim_cqe_offer(&ev, line, MMC_SIM_CQE_EXECUTE, ready);

	if (next >= 0 && !mmc_sim_cqe_barred(cqe, next)) {
		if (!mmc_sim_cqe_is_dcmd(cqe, next))
			mmc_sim_cqe_offer(&ev, line, MMC_SIM_CQE_QUEUE, next);
		else if (cqe->active < 0 ||
			 (cqe->slot[next].desc & MMC_SIM_DCMD_ANYTIME))
			mmc_sim_cqe_offer(&ev, line, MMC_SIM_CQE_DCMD, next);
	}

	/* All that was rung is queued before the card is asked. */
	if (waiting && (cqe->active < 0 || !cqe->polled)) {
		ev.from = max(line, cqe->next_poll);
		mmc_sim_cqe_offer(&ev, mmc_sim_cqe_poll_at(host, ev.from),
				  MMC_SIM_CQE_POLL, -1);
	}

	return ev;
}

/* ---------------------------------------------------------------- errors */

/*
 * An error of @tag, or of nobody's if it is -1. The task keeps its slot: it has
 * to be cleared by the driver, which does so after it has halted the engine.
 * Until it does, nothing more is issued: the driver would have to tell tasks
 * that the card went on with from those that it did not.
 */
static void mmc_sim_cqe_fail(struct mmc_sim_cqe *cqe, int tag, u32 terri)
{
	*mmc_sim_cqe_reg(cqe, CQHCI_TERRI) = terri;
	cqe->failed = true;

	if (tag < 0)
		return;

	cqe->slot[tag].state = MMC_SIM_SLOT_STUCK;
	if (cqe->active == tag)
		cqe->active = -1;
}

static void mmc_sim_cqe_fail_cmd(struct mmc_sim_cqe *cqe, int tag, u32 opcode)
{
	u32 terri = tag < 0 ? 0 : BIT(15) | tag << 8 | opcode;

	mmc_sim_cqe_fail(cqe, tag, terri);
}

static void mmc_sim_cqe_fail_data(struct mmc_sim_cqe *cqe, int tag, u32 opcode,
				  int error)
{
	cqe->data_error = error;
	mmc_sim_cqe_fail(cqe, tag, BIT(31) | (u32)tag << 24 | opcode << 16);
}

/* An R1 response: does a bit that CQRMEM does not mask report an error? */
static bool mmc_sim_cqe_response(struct mmc_sim_cqe *cqe, int tag, u32 opcode,
				 u32 resp)
{
	*mmc_sim_cqe_reg(cqe, CQHCI_CRI) = opcode;
	*mmc_sim_cqe_reg(cqe, CQHCI_CRA) = resp;

	if (!(resp & mmc_sim_cqe_get(cqe, CQHCI_RMEM)))
		return true;

	mmc_sim_cqe_raise(cqe, CQHCI_IS_RED);
	mmc_sim_cqe_fail_cmd(cqe, tag, opcode);
	return false;
}

/* No response, or one that cannot be read. */
static bool mmc_sim_cqe_no_response(struct mmc_sim_cqe *cqe, int tag,
				    u32 opcode, int error)
{
	cqe->cmd_error = error;
	mmc_sim_cqe_fail_cmd(cqe, tag, opcode);
	return false;
}

/* Send one of the queue's commands, whose response is R1. */
static bool mmc_sim_cqe_send(struct mmc_sim_host *host, int tag,
			     struct mmc_sim_cmd *cmd, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	mmc_sim_exec(host, cmd, now);
	cqe->cmd_free = max(cqe->cmd_free, now) +
			mmc_sim_time_cmd(&host->card.timing);

	if (cmd->error)
		return mmc_sim_cqe_no_response(cqe, tag, cmd->opcode,
					       cmd->error);

	return mmc_sim_cqe_response(cqe, tag, cmd->opcode, cmd->resp[0]);
}

/* ---------------------------------------------------------------- complete */

/* B.3: ICCTH and ICTOVAL count and time data transfer tasks without INT. */
static void mmc_sim_cqe_coalesce(struct mmc_sim_cqe *cqe, u64 now)
{
	u32 ic = mmc_sim_cqe_get(cqe, CQHCI_IC);
	u32 threshold = FIELD_GET(MMC_SIM_IC_ICCTH, ic);
	u32 timeout = FIELD_GET(MMC_SIM_IC_ICTOVAL, ic);

	/* The counter stops at the threshold until the driver resets it. */
	if (cqe->coalesced < threshold && ++cqe->coalesced == threshold)
		mmc_sim_cqe_raise(cqe, CQHCI_IS_TCC);

	if (timeout && !cqe->coalesce_over && cqe->coalesce_at == U64_MAX)
		cqe->coalesce_at = now +
			mmc_sim_cqe_clocks(cqe,
					   timeout * MMC_SIM_ICTOVAL_CLOCKS);
}

static void mmc_sim_cqe_coalesce_reset(struct mmc_sim_cqe *cqe)
{
	cqe->coalesced = 0;
	cqe->coalesce_at = U64_MAX;
	cqe->coalesce_over = false;
}

static void mmc_sim_cqe_complete(struct mmc_sim_host *host, int tag, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_slot *slot = &cqe->slot[tag];
	bool dcmd = mmc_sim_cqe_is_dcmd(cqe, tag);
	u32 *tdbr = mmc_sim_cqe_reg(cqe, CQHCI_TDBR);
	u32 *tcn = mmc_sim_cqe_reg(cqe, CQHCI_TCN);
	enum mmc_sim_op op;
	u64 sector = 0;
	u32 nr = 0;

	if (dcmd) {
		op = mmc_sim_cmd_op(host,
				    FIELD_GET(MMC_SIM_DCMD_INDEX, slot->desc),
				    mmc_sim_cqe_sector(slot));
		host->stats.dcmds++;
	} else {
		op = mmc_sim_cqe_op(slot);
		sector = mmc_sim_cqe_sector(slot);
		nr = mmc_sim_cqe_blocks(slot);
		host->stats.tasks++;
	}

	slot->state = MMC_SIM_SLOT_FREE;
	if (cqe->active == tag)
		cqe->active = -1;
	*tdbr &= ~BIT(tag);
	*tcn |= BIT(tag);

	if (~*tdbr & ~*tcn &&
	    mmc_sim_fault(host, MMC_SIM_FAULT_SPURIOUS, op, sector, nr, NULL))
		*tcn |= BIT(__ffs(~*tdbr & ~*tcn));

	if (mmc_sim_fault(host, MMC_SIM_FAULT_LOST_IRQ, op, sector, nr, NULL))
		return;

	/*
	 * Without INT and with coalescing off there is no interrupt at all: the
	 * driver finds the bit in CQTCN when another task interrupts.
	 */
	if (slot->desc & MMC_SIM_DESC_INT)
		mmc_sim_cqe_raise(cqe, CQHCI_IS_TCC);
	else if (!dcmd && (mmc_sim_cqe_get(cqe, CQHCI_IC) & CQHCI_IC_ENABLE))
		mmc_sim_cqe_coalesce(cqe, now);
}

/*
 * What the slot waits for on the data lines ends when the card's busy signal
 * does. Return false if there is none.
 */
static bool mmc_sim_cqe_wait_busy(struct mmc_sim_host *host, int tag, u64 now)
{
	struct mmc_sim_slot *slot = &host->cqe.slot[tag];
	struct mmc_sim_card *card = &host->card;

	if (!mmc_sim_card_busy(card, now))
		return false;

	slot->busy = true;
	slot->done = card->busy_until;
	if (slot->done > now + MMC_SIM_TIMEOUT_NS) {
		slot->done = now + MMC_SIM_TIMEOUT_NS;
		slot->data_error = -ETIMEDOUT;
	}

	return true;
}

static void mmc_sim_cqe_end(struct mmc_sim_host *host, int tag, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_slot *slot = &cqe->slot[tag];
	u32 opcode;

	if (mmc_sim_cqe_is_dcmd(cqe, tag)) {
		opcode = FIELD_GET(MMC_SIM_DCMD_INDEX, slot->desc);
	} else {
		opcode = mmc_sim_cqe_execute_cmd(slot);
		if (!slot->busy && !mmc_sim_card_gone(host)) {
			mmc_sim_card_data_end(&host->card, now,
					      !slot->data_error);
			if (!slot->data_error &&
			    !(slot->desc & MMC_SIM_DESC_READ)) {
				mmc_sim_stick_busy(host, MMC_SIM_OP_WRITE,
						   mmc_sim_cqe_sector(slot),
						   mmc_sim_cqe_blocks(slot),
						   now);
				if (mmc_sim_cqe_wait_busy(host, tag, now))
					return;
			}
		}
	}

	if (slot->data_error)
		mmc_sim_cqe_fail_data(cqe, tag, opcode, slot->data_error);
	else
		mmc_sim_cqe_complete(host, tag, now);
}

/* ---------------------------------------------------------------- issue */

static u64 mmc_sim_cqe_link_len(const struct mmc_sim_host *host)
{
	return host->cfg.dma_bits == 64 ? 16 : 8;
}

static u64 mmc_sim_cqe_task_len(const struct mmc_sim_cqe *cqe)
{
	return mmc_sim_cqe_get(cqe, CQHCI_CFG) & CQHCI_TASK_DESC_SZ ? 16 : 8;
}

/* A slot has room for its task descriptor and one for data. */
static u64 mmc_sim_cqe_slot_addr(const struct mmc_sim_host *host, int tag)
{
	const struct mmc_sim_cqe *cqe = &host->cqe;
	u64 base = (u64)mmc_sim_cqe_get(cqe, CQHCI_TDLBAU) << 32 |
		   mmc_sim_cqe_get(cqe, CQHCI_TDLBA);

	return base + tag * (mmc_sim_cqe_task_len(cqe) +
			     mmc_sim_cqe_link_len(host));
}

static void mmc_sim_cqe_bad_task(struct mmc_sim_host *host, int tag)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_DESC,
			  "task descriptor %016llx of slot %d",
			  cqe->slot[tag].desc, tag);
	*mmc_sim_cqe_reg(cqe, CQHCI_TDPE) |= BIT(tag);
	cqe->slot[tag].state = MMC_SIM_SLOT_STUCK;
}

static void mmc_sim_cqe_fetch(struct mmc_sim_host *host, int tag)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_slot *slot = &cqe->slot[tag];
	bool dcmd = mmc_sim_cqe_is_dcmd(cqe, tag);
	enum mmc_sim_op op;
	const void *mem;

	mem = mmc_sim_cqe_mem(mmc_sim_cqe_slot_addr(host, tag),
			      mmc_sim_cqe_task_len(cqe));
	slot->desc = mem ? get_unaligned_le64(mem) : 0;

	if (!(slot->desc & MMC_SIM_DESC_VALID) ||
	    !(slot->desc & MMC_SIM_DESC_END) ||
	    FIELD_GET(MMC_SIM_DESC_ACT, slot->desc) != MMC_SIM_ACT_TASK ||
	    (!dcmd && !mmc_sim_cqe_blocks(slot))) {
		mmc_sim_cqe_bad_task(host, tag);
		return;
	}

	slot->state = MMC_SIM_SLOT_FETCHED;

	if (dcmd)
		op = mmc_sim_cmd_op(host,
				    FIELD_GET(MMC_SIM_DCMD_INDEX, slot->desc),
				    mmc_sim_cqe_sector(slot));
	else
		op = mmc_sim_cqe_op(slot);
	if (mmc_sim_fault(host, MMC_SIM_FAULT_LOST_TASK, op,
			  dcmd ? 0 : mmc_sim_cqe_sector(slot),
			  dcmd ? 0 : mmc_sim_cqe_blocks(slot), NULL))
		slot->state = MMC_SIM_SLOT_STUCK;
}

static void mmc_sim_cqe_queue(struct mmc_sim_host *host, int tag, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_slot *slot = &cqe->slot[tag];
	u64 desc = slot->desc;
	struct mmc_sim_cmd cmd = {
		.engine = true,
		.opcode = MMC_QUE_TASK_PARAMS,
		.arg = FIELD_PREP(MMC_SIM_CMD44_TASK, tag) |
		       FIELD_PREP(MMC_SIM_CMD44_BLOCKS,
				  mmc_sim_cqe_blocks(slot)) |
		       FIELD_PREP(MMC_SIM_CMD44_CONTEXT,
				  FIELD_GET(MMC_SIM_DESC_CONTEXT, desc)) |
		       (desc & MMC_SIM_DESC_REL ? MMC_SIM_CMD44_REL : 0) |
		       (desc & MMC_SIM_DESC_READ ? MMC_SIM_CMD44_READ : 0) |
		       (desc & MMC_SIM_DESC_TAG ? MMC_SIM_CMD44_TAG : 0) |
		       (desc & MMC_SIM_DESC_FORCED ? MMC_SIM_CMD44_FORCED : 0) |
		       (desc & MMC_SIM_DESC_PRIO ? MMC_SIM_CMD44_PRIO : 0),
	};

	if (!mmc_sim_cqe_send(host, tag, &cmd, now))
		return;

	cmd = (struct mmc_sim_cmd) {
		.engine = true,
		.opcode = MMC_QUE_TASK_ADDR,
		.arg = mmc_sim_cqe_sector(slot),
	};
	if (!mmc_sim_cqe_send(host, tag, &cmd, now))
		return;

	slot->state = MMC_SIM_SLOT_QUEUED;
	cqe->qsr &= ~BIT(tag);
	/* The question at the end of a transfer is about this task as well. */
	if (cqe->active < 0 || cqe->polled)
		cqe->next_poll = min(cqe->next_poll, cqe->cmd_free);
}

static void mmc_sim_cqe_poll(struct mmc_sim_host *host, u64 from, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	u64 period = mmc_sim_cqe_period(cqe);
	struct mmc_sim_cmd cmd = {
		.engine = true,
		.opcode = MMC_SEND_STATUS,
		.arg = mmc_sim_cqe_get(cqe, CQHCI_SSC2) << 16 |
		       MMC_SIM_CMD13_SQS,
	};
	unsigned long fresh;
	int tag;

	/* Those that mmc_sim_cqe_poll_at() skipped */
	if (now > from)
		host->stats.cmd[MMC_SEND_STATUS] +=
			div64_u64(now - from, period);

	mmc_sim_exec(host, &cmd, now);
	cqe->cmd_free = now + mmc_sim_time_cmd(&host->card.timing);
	cqe->next_poll = now + period;
	cqe->polled = true;
	cqe->polls++;

	if (cmd.error) {
		mmc_sim_cqe_no_response(cqe, -1, cmd.opcode, cmd.error);
		return;
	}

	*mmc_sim_cqe_reg(cqe, CQHCI_CRI) = cmd.opcode;
	*mmc_sim_cqe_reg(cqe, CQHCI_CRA) = cmd.resp[0];
	*mmc_sim_cqe_reg(cqe, CQHCI_DQS) = cmd.resp[0];

	fresh = cmd.resp[0] & ~cqe->qsr;
	cqe->qsr = cmd.resp[0];
	for_each_set_bit(tag, &fresh, MMC_SIM_SLOTS)
		cqe->slot[tag].ready = cqe->polls;
}

/* Move up to @len bytes between memory at a DMA address and the card. */
static int mmc_sim_cqe_copy(struct mmc_sim_host *host, int tag, u64 addr,
			    size_t len)
{
	void *mem = mmc_sim_cqe_mem(addr, len);
	size_t moved;

	if (!mem)
		return -EFAULT;

	if (host->cqe.slot[tag].desc & MMC_SIM_DESC_READ) {
		moved = mmc_sim_card_read(&host->card, mem, len);
		host->stats.bytes_read += moved;
	} else {
		moved = mmc_sim_card_write(&host->card, mem, len);
		host->stats.bytes_written += moved;
	}

	return moved == len ? 0 : -ETIMEDOUT;
}

/*
 * Follow the descriptors behind a task's, and move the data if @copy. What
 * follows the task descriptor is one that has the data or one that links to
 * those that do.
 *
 * Return 0, -EFAULT for a descriptor or an address that is wrong, -ENODATA for
 * too few of them (an ADMA error on real hardware), -ETIMEDOUT if the card did
 * not give or take as much as it had announced.
 */
static int mmc_sim_cqe_data(struct mmc_sim_host *host, int tag, bool copy)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	bool dma64 = host->cfg.dma_bits == 64;
	u64 bytes = (u64)mmc_sim_cqe_blocks(&cqe->slot[tag]) * MMC_SIM_SECTOR;
	u64 pos = mmc_sim_cqe_slot_addr(host, tag) + mmc_sim_cqe_task_len(cqe);
	u64 txfr_len = mmc_sim_cqe_link_len(host);
	u64 left = bytes;
	u64 total = 0;
	u32 attr = 0;
	int err = 0;

	if (dma64 && host->cfg.short_txfr_desc)
		txfr_len = 12;

	for (unsigned int i = 0; i < MMC_SIM_MAX_TXFR; i++) {
		const u8 *mem = mmc_sim_cqe_mem(pos, dma64 ? 12 : 8);
		u64 addr;
		u32 len;

		attr = mem ? get_unaligned_le32(mem) : 0;
		if (!(attr & MMC_SIM_DESC_VALID))
			goto bad;
		addr = dma64 ? get_unaligned_le64(mem + 4) :
			       get_unaligned_le32(mem + 4);

		switch (FIELD_GET(MMC_SIM_DESC_ACT, attr)) {
		case MMC_SIM_ACT_LINK:
			pos = addr;
			continue;
		case MMC_SIM_ACT_NOP:
			pos += txfr_len;
			continue;
		case MMC_SIM_ACT_TRAN:
			break;
		default:
			goto bad;
		}

		len = FIELD_GET(MMC_SIM_TXFR_LENGTH, attr) ?: SZ_64K;
		total += len;
		len = min(len, left);
		left -= len;
		if (len && copy && !err)
			err = mmc_sim_cqe_copy(host, tag, addr, len);
		if (err == -EFAULT)
			goto bad;
		if (attr & MMC_SIM_DESC_END)
			break;
		pos += txfr_len;
	}

	if (!(attr & MMC_SIM_DESC_END))
		goto bad;

	if (total != bytes) {
		mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_LENGTH,
				  "slot %d: %llu bytes for a task of %llu", tag,
				  total, bytes);
		if (left)
			return -ENODATA;
	}

	return err;

bad:
	mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_DESC,
			  "slot %d: descriptor %08x at %llx", tag, attr, pos);
	*mmc_sim_cqe_reg(cqe, CQHCI_TDPE) |= BIT(tag);
	return -EFAULT;
}

/* CBC: how many blocks before a transfer's end the card is asked again. */
static u64 mmc_sim_cqe_poll_in(const struct mmc_sim_cqe *cqe, u64 start,
			       u64 end, u32 blocks)
{
	u32 before = FIELD_GET(CQHCI_SSC1_CBC_MASK,
			       mmc_sim_cqe_get(cqe, CQHCI_SSC1));

	if (start == end || !before)
		return end;

	return end - div_u64(end - start, blocks) * min(before, blocks);
}

static void mmc_sim_cqe_execute(struct mmc_sim_host *host, int tag, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_slot *slot = &cqe->slot[tag];
	struct mmc_sim_card *card = &host->card;
	u32 sector = mmc_sim_cqe_sector(slot);
	u32 blocks = mmc_sim_cqe_blocks(slot);
	enum mmc_sim_op op = mmc_sim_cqe_op(slot);
	struct mmc_sim_cmd cmd = {
		.engine = true,
		.opcode = mmc_sim_cqe_execute_cmd(slot),
		.arg = tag << 16,
	};
	u32 status = 0;
	u64 start;

	cqe->qsr &= ~BIT(tag);

	/* The card refuses the task, which stays in its queue. */
	if (mmc_sim_fault(host, MMC_SIM_FAULT_TASK_ERROR, op, sector, blocks,
			  &status)) {
		host->stats.cmd[cmd.opcode]++;
		mmc_sim_cqe_response(cqe, tag, cmd.opcode, status ?: R1_ERROR);
		return;
	}

	if (!mmc_sim_cqe_send(host, tag, &cmd, now))
		return;

	now = cqe->cmd_free;
	slot->state = MMC_SIM_SLOT_ACTIVE;
	slot->busy = false;
	slot->data_error = 0;
	cqe->active = tag;
	cqe->polled = false;

	start = mmc_sim_card_data_start(card, now);
	if (cmd.dir == MMC_SIM_NO_DATA || start > now + MMC_SIM_TIMEOUT_NS) {
		slot->data_error = -ETIMEDOUT;
		slot->done = now + MMC_SIM_TIMEOUT_NS;
		cqe->next_poll = slot->done;
		return;
	}

	if (mmc_sim_fault(host, MMC_SIM_FAULT_DATA_CRC, op, sector, blocks,
			  NULL))
		slot->data_error = -EILSEQ;
	else
		slot->data_error = mmc_sim_cqe_data(host, tag, true);

	slot->done = mmc_sim_time_bus(&card->timing, start,
				      (u64)blocks * MMC_SIM_SECTOR, blocks);
	cqe->next_poll = mmc_sim_cqe_poll_in(cqe, start, slot->done, blocks);
}

static void mmc_sim_cqe_dcmd(struct mmc_sim_host *host, int tag, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_slot *slot = &cqe->slot[tag];
	u32 resp = FIELD_GET(MMC_SIM_DCMD_RESP, slot->desc);
	struct mmc_sim_cmd cmd = {
		.engine = true,
		.opcode = FIELD_GET(MMC_SIM_DCMD_INDEX, slot->desc),
		.arg = FIELD_GET(MMC_SIM_DESC_ADDR, slot->desc),
	};
	enum mmc_sim_op op = mmc_sim_cmd_op(host, cmd.opcode, cmd.arg);
	u32 status = 0;

	if (mmc_sim_fault(host, MMC_SIM_FAULT_DCMD_REFUSED, op, 0, 0,
			  &status)) {
		host->stats.cmd[cmd.opcode]++;
		mmc_sim_cqe_response(cqe, tag, cmd.opcode,
				     status ?: R1_ILLEGAL_COMMAND);
		return;
	}

	if (mmc_sim_fault(host, MMC_SIM_FAULT_DCMD_TIMEOUT, op, 0, 0, NULL)) {
		host->stats.cmd[cmd.opcode]++;
		mmc_sim_cqe_no_response(cqe, tag, cmd.opcode, -ETIMEDOUT);
		return;
	}

	if (resp == MMC_SIM_DCMD_NO_RESP) {
		mmc_sim_exec(host, &cmd, now);
		cqe->cmd_free = now + mmc_sim_time_cmd(&host->card.timing);
	} else if (!mmc_sim_cqe_send(host, tag, &cmd, now)) {
		return;
	}

	*mmc_sim_cqe_reg(cqe, CQHCI_CRDCT) = cmd.resp[0];
	slot->state = MMC_SIM_SLOT_ACTIVE;
	slot->busy = false;
	slot->data_error = 0;
	slot->done = cqe->cmd_free;

	if (resp == MMC_SIM_DCMD_R1B) {
		mmc_sim_stick_busy(host, op, 0, 0, cqe->cmd_free);
		if (mmc_sim_cqe_wait_busy(host, tag, cqe->cmd_free)) {
			cqe->active = tag;
			cqe->polled = true;
		}
	}
}

/* ---------------------------------------------------------------- control */

static void mmc_sim_cqe_drop(struct mmc_sim_cqe *cqe, u32 mask)
{
	unsigned long tags = mask;
	int tag;

	for_each_set_bit(tag, &tags, MMC_SIM_SLOTS)
		cqe->slot[tag].state = MMC_SIM_SLOT_FREE;

	*mmc_sim_cqe_reg(cqe, CQHCI_TDBR) &= ~mask;
	cqe->qsr &= ~mask;
}

static void mmc_sim_cqe_drop_all(struct mmc_sim_cqe *cqe)
{
	mmc_sim_cqe_drop(cqe, U32_MAX);
	*mmc_sim_cqe_reg(cqe, CQHCI_CTL) &= ~CQHCI_CLEAR_ALL_TASKS;
	*mmc_sim_cqe_reg(cqe, CQHCI_TCLR) = 0;
	cqe->clearing = false;
	cqe->failed = false;
}

static void mmc_sim_cqe_clear(struct mmc_sim_cqe *cqe)
{
	if (cqe->clearing) {
		mmc_sim_cqe_drop_all(cqe);
	} else {
		mmc_sim_cqe_drop(cqe, mmc_sim_cqe_get(cqe, CQHCI_TCLR));
		*mmc_sim_cqe_reg(cqe, CQHCI_TCLR) = 0;
	}
	mmc_sim_cqe_raise(cqe, CQHCI_IS_TCL);
}

static void mmc_sim_cqe_halt(struct mmc_sim_cqe *cqe)
{
	cqe->halting = false;
	*mmc_sim_cqe_reg(cqe, CQHCI_CTL) |= CQHCI_HALT;
	mmc_sim_cqe_raise(cqe, CQHCI_IS_HAC);
}

static void mmc_sim_cqe_do(struct mmc_sim_host *host,
			   const struct mmc_sim_cqe_event *ev)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	u64 now = cqe->time;

	switch (ev->what) {
	case MMC_SIM_CQE_COALESCE:
		cqe->coalesce_at = U64_MAX;
		cqe->coalesce_over = true;
		mmc_sim_cqe_raise(cqe, CQHCI_IS_TCC);
		break;
	case MMC_SIM_CQE_END:
		mmc_sim_cqe_end(host, ev->tag, now);
		break;
	case MMC_SIM_CQE_CLEAR:
		mmc_sim_cqe_clear(cqe);
		break;
	case MMC_SIM_CQE_HALT:
		mmc_sim_cqe_halt(cqe);
		break;
	case MMC_SIM_CQE_FETCH:
		mmc_sim_cqe_fetch(host, ev->tag);
		break;
	case MMC_SIM_CQE_EXECUTE:
		mmc_sim_cqe_execute(host, ev->tag, now);
		break;
	case MMC_SIM_CQE_QUEUE:
		mmc_sim_cqe_queue(host, ev->tag, now);
		break;
	case MMC_SIM_CQE_DCMD:
		mmc_sim_cqe_dcmd(host, ev->tag, now);
		break;
	case MMC_SIM_CQE_POLL:
		mmc_sim_cqe_poll(host, ev->from, now);
		break;
	}
}

/**
 * mmc_sim_cqe_run - let everything happen that is due
 * @host: where
 * @now: present time, ns
 *
 * Each event happens at its own time, which can be long before @now.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 */
void mmc_sim_cqe_run(struct mmc_sim_host *host, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_cqe_event ev;

	lockdep_assert_held(&host->lock);

	for (;;) {
		ev = mmc_sim_cqe_pick(host);
		if (ev.at > now)
			break;
		/* Time does not go back for the card, nor for the engine. */
		cqe->time = max3(cqe->time, ev.at, host->card.time);
		mmc_sim_cqe_do(host, &ev);
	}
}

/**
 * mmc_sim_cqe_next - when does the engine's next event happen?
 * @host: where
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 *
 * Return: its time, ns; in the past if it is overdue; %U64_MAX for none.
 */
u64 mmc_sim_cqe_next(struct mmc_sim_host *host)
{
	lockdep_assert_held(&host->lock);

	return mmc_sim_cqe_pick(host).at;
}

/**
 * mmc_sim_cqe_irq_pending - does the engine ask for an interrupt?
 * @host: where
 * @cmd_error: set to what the host controller reports for the CMD line
 * @data_error: set to what the host controller reports for the data lines
 *
 * The interrupt is level-triggered: status bits ask for it until the driver
 * clears them. Errors of the lines are those of the host controller's own
 * status register, which its interrupt handler clears before it calls the CQHCI
 * driver's; so they are handed out once. The interrupt is counted.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 *
 * Return: true if the interrupt handler has to be called.
 */
bool mmc_sim_cqe_irq_pending(struct mmc_sim_host *host, int *cmd_error,
			     int *data_error)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	lockdep_assert_held(&host->lock);

	*cmd_error = cqe->cmd_error;
	*data_error = cqe->data_error;
	cqe->cmd_error = 0;
	cqe->data_error = 0;

	if (!*cmd_error && !*data_error &&
	    !(mmc_sim_cqe_get(cqe, CQHCI_IS) &
	      mmc_sim_cqe_get(cqe, CQHCI_ISGE)))
		return false;

	host->stats.irqs++;
	return true;
}

/**
 * mmc_sim_cqe_owns_bus - does the engine use the bus?
 * @host: where
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 *
 * Return: true if commands must not be sent past the engine: it is enabled and
 * has not halted. That it was asked to halt is not enough.
 */
bool mmc_sim_cqe_owns_bus(struct mmc_sim_host *host)
{
	return mmc_sim_cqe_enabled(&host->cqe) &&
	       !mmc_sim_cqe_halted(&host->cqe);
}

/**
 * mmc_sim_cqe_abort - reset the circuits for command and data
 * @host: where
 * @now: present time, ns
 *
 * As a host controller's reset does that a driver writes when the engine did
 * not halt: what is on the data lines is given up and does not complete. The
 * card does not know.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 */
void mmc_sim_cqe_abort(struct mmc_sim_host *host, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	struct mmc_sim_slot *slot = &cqe->slot[MMC_SIM_DCMD_SLOT];
	int tag = cqe->active;

	lockdep_assert_held(&host->lock);

	cqe->cmd_error = 0;
	cqe->data_error = 0;
	cqe->time = max3(cqe->time, now, host->card.time);
	cqe->cmd_free = min(cqe->cmd_free, cqe->time);

	if (slot->state == MMC_SIM_SLOT_ACTIVE)
		slot->state = MMC_SIM_SLOT_STUCK;
	if (tag < 0)
		return;

	slot = &cqe->slot[tag];
	if (!mmc_sim_cqe_is_dcmd(cqe, tag) && !slot->busy &&
	    !mmc_sim_card_gone(host))
		mmc_sim_card_data_end(&host->card, cqe->time, false);
	slot->state = MMC_SIM_SLOT_STUCK;
	cqe->active = -1;
}

/**
 * mmc_sim_cqe_card_lost - the card was removed or lost its power
 * @host: where
 * @now: present time, ns
 *
 * What is on the data lines fails now; what is queued fails when the engine
 * next asks for it.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 */
void mmc_sim_cqe_card_lost(struct mmc_sim_host *host, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	lockdep_assert_held(&host->lock);

	cqe->next_poll = min(cqe->next_poll, now);

	if (cqe->active >= 0) {
		struct mmc_sim_slot *slot = &cqe->slot[cqe->active];

		slot->done = min(slot->done, now);
		slot->data_error = -ETIMEDOUT;
	}
}

/* ---------------------------------------------------------------- registers */

static void mmc_sim_cqe_write_cfg(struct mmc_sim_host *host, u32 val, u64 now)
{
	u32 *cfg = mmc_sim_cqe_reg(&host->cqe, CQHCI_CFG);
	u32 old = *cfg;

	val &= CQHCI_DCMD | CQHCI_TASK_DESC_SZ | CQHCI_ENABLE;

	if ((old & val & CQHCI_ENABLE) && old != val)
		mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_CFG,
				  "CQCFG from %08x to %08x", old, val);

	/*
	 * Disabling also drops completions that the driver has not seen, which
	 * CLEAR_ALL_TASKS does not: there are controllers whose driver would
	 * take them for those of new tasks in the same slots.
	 */
	if ((old & CQHCI_ENABLE) && !(val & CQHCI_ENABLE)) {
		mmc_sim_cqe_abort(host, now);
		mmc_sim_cqe_drop_all(&host->cqe);
		mmc_sim_cqe_coalesce_reset(&host->cqe);
		*mmc_sim_cqe_reg(&host->cqe, CQHCI_TCN) = 0;
		*mmc_sim_cqe_reg(&host->cqe, CQHCI_IS) = 0;
		host->cqe.halting = false;
		host->cqe.halt_refused = false;
	}

	*cfg = val;
}

static void mmc_sim_cqe_write_base(struct mmc_sim_host *host, u32 val, int reg)
{
	u32 *base = mmc_sim_cqe_reg(&host->cqe, reg);

	if (mmc_sim_cqe_enabled(&host->cqe) && *base != val)
		mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_CFG,
				  "list base (%02x) from %08x to %08x", reg,
				  *base, val);
	*base = val;
}

/* Tasks may be cleared only in halt state, and the engine waits for that. */
static void mmc_sim_cqe_judge_clear(struct mmc_sim_host *host, const char *name)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	/* A driver whose engine does not halt cannot do it right. */
	if (!mmc_sim_cqe_halted(cqe) && !cqe->halt_refused)
		mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_CLEAR,
				  "%s written while not halted", name);
}

static void mmc_sim_cqe_write_ctl(struct mmc_sim_host *host, u32 val, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	u32 *ctl = mmc_sim_cqe_reg(cqe, CQHCI_CTL);

	if (!(val & CQHCI_HALT)) {
		if (*ctl & CQHCI_HALT) {
			cqe->failed = false;
			cqe->time = max(cqe->time, now);
		}
		*ctl &= ~CQHCI_HALT;
		cqe->halting = false;
		cqe->halt_refused = false;
	} else if (!(*ctl & CQHCI_HALT)) {
		cqe->halt_refused = mmc_sim_fault(host, MMC_SIM_FAULT_NO_HALT,
						  MMC_SIM_OP_OTHER, 0, 0, NULL);
		cqe->halting = !cqe->halt_refused;
	}

	if (val & CQHCI_CLEAR_ALL_TASKS) {
		mmc_sim_cqe_judge_clear(host, "CLEAR_ALL_TASKS");
		*ctl |= CQHCI_CLEAR_ALL_TASKS;
		cqe->clearing = !mmc_sim_fault(host, MMC_SIM_FAULT_NO_CLEAR,
					       MMC_SIM_OP_OTHER, 0, 0, NULL);
	}
}

static void mmc_sim_cqe_write_ic(struct mmc_sim_cqe *cqe, u32 val)
{
	u32 *ic = mmc_sim_cqe_reg(cqe, CQHCI_IC);
	u32 keep = 0;

	if (!(val & CQHCI_IC_ICCTHWEN))
		keep |= MMC_SIM_IC_ICCTH;
	if (!(val & CQHCI_IC_ICTOVALWEN))
		keep |= MMC_SIM_IC_ICTOVAL;

	if ((val & CQHCI_IC_RESET) || !(val & CQHCI_IC_ENABLE))
		mmc_sim_cqe_coalesce_reset(cqe);

	*ic = (*ic & keep) |
	      (val & ~keep & (MMC_SIM_IC_ICCTH | MMC_SIM_IC_ICTOVAL)) |
	      (val & CQHCI_IC_ENABLE);
}

static void mmc_sim_cqe_write_tclr(struct mmc_sim_host *host, u32 val)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	mmc_sim_cqe_judge_clear(host, "CQTCLR");
	if (mmc_sim_cqe_halted(cqe))
		*mmc_sim_cqe_reg(cqe, CQHCI_TCLR) |= val;
}

static void mmc_sim_cqe_ring(struct mmc_sim_host *host, u32 val, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;
	u32 *tdbr = mmc_sim_cqe_reg(cqe, CQHCI_TDBR);
	unsigned long fresh = val & ~*tdbr;
	int tag;

	host->stats.doorbells++;

	if (!mmc_sim_cqe_enabled(cqe) || mmc_sim_cqe_halted(cqe)) {
		mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_DISABLED,
				  "doorbell %08x", val);
		return;
	}

	if (val & *tdbr)
		mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_SLOT_BUSY,
				  "doorbell %08x while %08x", val, *tdbr);

	for_each_set_bit(tag, &fresh, MMC_SIM_SLOTS) {
		struct mmc_sim_slot *slot = &cqe->slot[tag];

		slot->state = MMC_SIM_SLOT_RUNG;
		slot->seq = cqe->seq++;
		slot->desc = 0;
		slot->done = now;
		slot->busy = false;
		slot->data_error = 0;
		*tdbr |= BIT(tag);
		host->stats.depth[hweight32(*tdbr)]++;
	}
}

/**
 * mmc_sim_cqe_writel - write a register
 * @host: where
 * @val: value
 * @reg: offset of the register
 * @now: present time, ns
 *
 * Nothing completes here, since the driver may hold its lock. Registers that
 * cannot be written stay as they are.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 *
 * Return: true if mmc_sim_cqe_run() has something to do now, or an interrupt
 * has to be delivered.
 */
bool mmc_sim_cqe_writel(struct mmc_sim_host *host, u32 val, int reg, u64 now)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	lockdep_assert_held(&host->lock);

	switch (reg) {
	case CQHCI_CFG:
		mmc_sim_cqe_write_cfg(host, val, now);
		return false;
	case CQHCI_CTL:
		mmc_sim_cqe_write_ctl(host, val, now);
		return true;
	case CQHCI_IC:
		mmc_sim_cqe_write_ic(cqe, val);
		return false;
	case CQHCI_TDLBA:
	case CQHCI_TDLBAU:
		mmc_sim_cqe_write_base(host, val, reg);
		return false;
	case CQHCI_TDBR:
		mmc_sim_cqe_ring(host, val, now);
		return true;
	case CQHCI_TCLR:
		mmc_sim_cqe_write_tclr(host, val);
		return true;
	case CQHCI_IS:
	case CQHCI_TCN:
	case CQHCI_TDPE:
		*mmc_sim_cqe_reg(cqe, reg) &= ~val;
		return false;
	case CQHCI_ISTE:
	case CQHCI_ISGE:
		*mmc_sim_cqe_reg(cqe, reg) = val & MMC_SIM_IS_ALL;
		return mmc_sim_cqe_get(cqe, CQHCI_IS) &
		       mmc_sim_cqe_get(cqe, CQHCI_ISGE);
	case CQHCI_SSC1:
		*mmc_sim_cqe_reg(cqe, reg) =
			val & (CQHCI_SSC1_CBC_MASK | CQHCI_SSC1_CIT_MASK);
		return false;
	case CQHCI_SSC2:
		*mmc_sim_cqe_reg(cqe, reg) = val & U16_MAX;
		return false;
	case CQHCI_RMEM:
		*mmc_sim_cqe_reg(cqe, reg) = val;
		return false;
	default:
		return false;
	}
}

/* Tasks that the card has and that have not been executed (CQDPT). */
static u32 mmc_sim_cqe_pending(const struct mmc_sim_cqe *cqe)
{
	u32 pending = 0;

	for (int tag = 0; tag < MMC_SIM_SLOTS; tag++) {
		if (mmc_sim_cqe_is_dcmd(cqe, tag))
			continue;
		if (cqe->slot[tag].state == MMC_SIM_SLOT_QUEUED ||
		    cqe->slot[tag].state == MMC_SIM_SLOT_ACTIVE)
			pending |= BIT(tag);
	}

	return pending;
}

/**
 * mmc_sim_cqe_readl - read a register
 * @host: where
 * @reg: offset of the register
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 *
 * Return: its value; 0 if there is none.
 */
u32 mmc_sim_cqe_readl(struct mmc_sim_host *host, int reg)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	lockdep_assert_held(&host->lock);

	switch (reg) {
	case CQHCI_IC:
		return mmc_sim_cqe_get(cqe, reg) |
		       (cqe->coalesced ? MMC_SIM_IC_ICSB : 0);
	case CQHCI_DPT:
		return mmc_sim_cqe_pending(cqe);
	default:
		return reg < sizeof(cqe->reg) ? mmc_sim_cqe_get(cqe, reg) : 0;
	}
}

static struct mmc_sim_host *mmc_sim_cqe_host(struct cqhci_host *cq_host)
{
	return container_of(cq_host, struct mmc_sim_host, cqe.host);
}

static u32 mmc_sim_cqe_read_l(struct cqhci_host *cq_host, int reg)
{
	struct mmc_sim_host *host = mmc_sim_cqe_host(cq_host);
	u64 start = mmc_sim_clock();
	u32 val;

	guard(spinlock_irqsave)(&host->lock);

	val = mmc_sim_cqe_readl(host, reg);
	host->stats.reg_reads++;
	host->stats.self_ns += mmc_sim_clock() - start;

	return val;
}

static void mmc_sim_cqe_write_l(struct cqhci_host *cq_host, u32 val, int reg)
{
	struct mmc_sim_host *host = mmc_sim_cqe_host(cq_host);
	u64 start = mmc_sim_clock();

	guard(spinlock_irqsave)(&host->lock);

	if (mmc_sim_cqe_writel(host, val, reg, start))
		mmc_sim_kick(host);
	host->stats.reg_writes++;
	host->stats.self_ns += mmc_sim_clock() - start;
}

/* What a driver's reset of command and data circuits in recovery does. */
static void mmc_sim_cqe_disable(struct mmc_host *mmc, bool recovery)
{
	struct mmc_sim_host *host = mmc_sim_cqe_host(mmc->cqe_private);

	if (!recovery)
		return;

	guard(spinlock_irqsave)(&host->lock);

	mmc_sim_cqe_abort(host, mmc_sim_clock());
	mmc_sim_cqe_run(host, host->cqe.time);
	mmc_sim_kick(host);
}

static const struct cqhci_host_ops mmc_sim_cqe_ops = {
	.read_l = mmc_sim_cqe_read_l,
	.write_l = mmc_sim_cqe_write_l,
	.disable = mmc_sim_cqe_disable,
};

/**
 * mmc_sim_cqe_reset - put the engine into its state after power-on
 * @host: where
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 */
void mmc_sim_cqe_reset(struct mmc_sim_host *host)
{
	struct mmc_sim_cqe *cqe = &host->cqe;

	lockdep_assert_held(&host->lock);

	memset(cqe->reg, 0, sizeof(cqe->reg));
	*mmc_sim_cqe_reg(cqe, CQHCI_VER) = MMC_SIM_CQE_VER;
	*mmc_sim_cqe_reg(cqe, CQHCI_CAP) = mmc_sim_cqe_cap(host->cfg.timer_khz);
	*mmc_sim_cqe_reg(cqe, CQHCI_SSC1) = MMC_SIM_SSC1_RESET;
	*mmc_sim_cqe_reg(cqe, CQHCI_RMEM) = MMC_SIM_RMEM_RESET;

	memset(cqe->slot, 0, sizeof(cqe->slot));
	cqe->active = -1;
	cqe->qsr = 0;
	cqe->next_poll = U64_MAX;
	cqe->polled = false;
	cqe->halting = false;
	cqe->halt_refused = false;
	cqe->clearing = false;
	cqe->failed = false;
	cqe->cmd_error = 0;
	cqe->data_error = 0;
	mmc_sim_cqe_coalesce_reset(cqe);
}

/**
 * mmc_sim_cqe_init - make the engine, and let the CQHCI driver know of it
 * @host: where; without &mmc_sim_host.mmc the CQHCI driver is left out
 *
 * Context: process.
 *
 * Return: 0, or the error of cqhci_init().
 */
int mmc_sim_cqe_init(struct mmc_sim_host *host)
{
	struct cqhci_host *cq_host = &host->cqe.host;

	scoped_guard(spinlock_irqsave, &host->lock)
		mmc_sim_cqe_reset(host);

	cq_host->ops = &mmc_sim_cqe_ops;
	if (host->cfg.task_desc_bits == 128)
		cq_host->caps |= CQHCI_TASK_DESC_SZ_128;
	if (host->cfg.short_txfr_desc)
		cq_host->quirks |= CQHCI_QUIRK_SHORT_TXFR_DESC_SZ;
	if (host->cfg.coalescing)
		cq_host->caps |= CQHCI_INTR_COALESCING;

	if (!host->mmc)
		return 0;

	return cqhci_init(cq_host, host->mmc, host->cfg.dma_bits == 64);
}
