// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: the host.
 *
 * A request that comes past the command queue engine is run against the card
 * when it is submitted: each command and each block has its time, worked out
 * from when it was submitted, and the data is copied then. What is left is the
 * moment at which the host reports the end. So the time that the simulation
 * itself takes is hidden in the simulated time, where there is enough of it.
 *
 * One timer and one irq_work drive host and engine. Both end in mmc_sim_run(),
 * in hard interrupt context, which is where a real host's interrupt handler
 * completes requests as well.
 *
 * Lock order: &mmc_sim_host.irq_lock, the CQHCI driver's lock,
 * &mmc_sim_host.lock. Nothing is called out to under the last.
 */

#include <linux/cleanup.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/lockdep.h>
#include <linux/mmc/sd.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "../mmc_hsq.h"
#include "sim.h"

#define MMC_SIM_F_MIN		100000
#define MMC_SIM_F_MAX		200000000

/*
 * A driver that does not clear what it was interrupted for has that many calls
 * in a row; on real hardware the interrupt would be shut off in the end.
 */
#define MMC_SIM_MAX_IRQS	64

/* ---------------------------------------------------------------- events */

static void mmc_sim_set_timer(struct mmc_sim_host *host, u64 at)
{
	host->timer_at = at;
	hrtimer_start(&host->timer, ns_to_ktime(min(at, KTIME_MAX)),
		      HRTIMER_MODE_ABS);
}

/* Set the timer to the next event. */
static void mmc_sim_arm(struct mmc_sim_host *host)
{
	u64 next;

	if (host->dying)
		return;

	next = mmc_sim_cqe_next(host);
	if (host->mrq)
		next = min(next, host->mrq_done);

	if (next == host->timer_at)
		return;

	if (next != U64_MAX) {
		mmc_sim_set_timer(host, next);
	} else {
		host->timer_at = next;
		hrtimer_try_to_cancel(&host->timer);
	}
}

/**
 * mmc_sim_kick - run the events that are due
 * @host: where
 *
 * They run from an irq_work, as soon as interrupts are enabled, so that a
 * register write by the driver never completes anything before it returns.
 * Where an irq_work would have to wait for the next tick, the timer is used.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 */
void mmc_sim_kick(struct mmc_sim_host *host)
{
	lockdep_assert_held(&host->lock);

	if (host->dying)
		return;

	if (arch_irq_work_has_interrupt())
		irq_work_queue(&host->work);
	else
		mmc_sim_set_timer(host, 0);
}

static void mmc_sim_finish(struct mmc_sim_host *host, struct mmc_request *mrq)
{
	if (host->cfg.hsq && mmc_hsq_finalize_request(host->mmc, mrq))
		return;

	mmc_request_done(host->mmc, mrq);
}

static bool mmc_sim_irq_again(struct mmc_sim_host *host, int *cmd_error,
			      int *data_error)
{
	u64 start = mmc_sim_clock();
	bool irq;

	guard(spinlock)(&host->lock);

	irq = mmc_sim_cqe_irq_pending(host, cmd_error, data_error);
	host->stats.self_ns += mmc_sim_clock() - start;

	return irq;
}

/*
 * An irq_work can run on two CPUs, and the timer on a third: irq_lock keeps
 * them from reporting one completion twice. Interrupts stay off until all has
 * been reported, as in the interrupt handler of a real host.
 */
static void mmc_sim_run(struct mmc_sim_host *host, bool timer)
{
	struct mmc_request *mrq = NULL;
	int cmd_error, data_error;
	unsigned int irqs = 0;
	bool card_event;
	bool irq;
	u64 start;

	guard(spinlock_irqsave)(&host->irq_lock);

	start = mmc_sim_clock();
	scoped_guard(spinlock, &host->lock) {
		if (host->dying)
			return;

		if (timer)
			host->timer_at = U64_MAX;

		if (host->mrq && host->mrq_done <= start) {
			mrq = host->mrq;
			host->mrq = NULL;
		}
		mmc_sim_cqe_run(host, start);
		irq = mmc_sim_cqe_irq_pending(host, &cmd_error, &data_error);
		card_event = host->card_event;
		host->card_event = false;
		mmc_sim_arm(host);

		host->stats.self_ns += mmc_sim_clock() - start;
	}

	if (mrq)
		mmc_sim_finish(host, mrq);

	if (card_event)
		mmc_detect_change(host->mmc, 0);

	while (irq) {
		if (++irqs > MMC_SIM_MAX_IRQS) {
			dev_warn_ratelimited(mmc_dev(host->mmc),
					     "%s: interrupt is not acknowledged\n",
					     host->name);
			break;
		}
		cqhci_irq(host->mmc, 0, cmd_error, data_error);
		irq = mmc_sim_irq_again(host, &cmd_error, &data_error);
	}
}

static void mmc_sim_work(struct irq_work *work)
{
	mmc_sim_run(container_of(work, struct mmc_sim_host, work), false);
}

static enum hrtimer_restart mmc_sim_timer(struct hrtimer *timer)
{
	mmc_sim_run(container_of(timer, struct mmc_sim_host, timer), true);

	return HRTIMER_NORESTART;
}

/* ---------------------------------------------------------------- card */

/* Present time, or what the card takes for it if it has been told of more. */
static u64 mmc_sim_now(const struct mmc_sim_host *host)
{
	return max(mmc_sim_clock(), host->card.time);
}

/*
 * The card loses its power, with or without being pulled out. What is in
 * flight ends with an error: the request on the bus now, as silence is all that
 * its host will hear; the engine's tasks when it next turns to them.
 */
static void mmc_sim_lose_card(struct mmc_sim_host *host, u64 now)
{
	struct mmc_request *mrq = host->mrq;
	int error = host->present ? -ETIMEDOUT : -ENOMEDIUM;

	host->stats.lost_sectors += mmc_sim_card_power_cut(&host->card, now);
	mmc_sim_cqe_card_lost(host, now);

	if (!mrq)
		return;

	if (mrq->data) {
		mrq->data->error = error;
		mrq->data->bytes_xfered = 0;
	}
	if (!mrq->data || !host->present)
		mrq->cmd->error = error;
	host->mrq_done = min(host->mrq_done, now);
}

static void mmc_sim_set_present(struct mmc_sim_host *host, bool present)
{
	u64 now = mmc_sim_now(host);

	if (host->present == present)
		return;

	host->present = present;
	host->card_event = true;

	if (!present)
		mmc_sim_lose_card(host, now);
	else if (host->powered)
		mmc_sim_card_power(&host->card, true, now);
}

/**
 * mmc_sim_host_insert - put the card into its slot, or pull it out
 * @host: where
 * @present: put it in
 *
 * A card that is pulled out loses what it had not written to flash. Requests
 * and tasks in flight end with an error.
 *
 * Context: any; takes &mmc_sim_host.lock.
 */
void mmc_sim_host_insert(struct mmc_sim_host *host, bool present)
{
	guard(spinlock_irqsave)(&host->lock);

	mmc_sim_set_present(host, present);
	mmc_sim_kick(host);
}

/**
 * mmc_sim_host_power_cut - take the card's power away for a moment
 * @host: where
 *
 * The card loses what it had not written to flash and answers nothing more.
 * Requests and tasks in flight end with an error. The card comes back when the
 * host next powers it up or resets it by RST_n, which is how the MMC core ends
 * its recovery from the errors.
 *
 * Context: any; takes &mmc_sim_host.lock.
 */
void mmc_sim_host_power_cut(struct mmc_sim_host *host)
{
	guard(spinlock_irqsave)(&host->lock);

	mmc_sim_lose_card(host, mmc_sim_now(host));
	mmc_sim_kick(host);
}

/**
 * mmc_sim_cmd_op - what kind of operation is a command part of?
 * @host: where
 * @opcode: command index
 * @arg: its argument
 *
 * CMD44 is of no kind, since it does not say what it is about.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 *
 * Return: one of enum mmc_sim_op.
 */
enum mmc_sim_op mmc_sim_cmd_op(const struct mmc_sim_host *host, u32 opcode,
			       u32 arg)
{
	switch (opcode) {
	case MMC_READ_SINGLE_BLOCK:
	case MMC_READ_MULTIPLE_BLOCK:
	case MMC_EXECUTE_READ_TASK:
		return MMC_SIM_OP_READ;
	case MMC_WRITE_BLOCK:
	case MMC_WRITE_MULTIPLE_BLOCK:
	case MMC_EXECUTE_WRITE_TASK:
		return MMC_SIM_OP_WRITE;
	case MMC_QUE_TASK_ADDR:
		return host->card.pending_task & BIT(30) ? MMC_SIM_OP_READ :
							   MMC_SIM_OP_WRITE;
	case MMC_ERASE_GROUP_START:
	case MMC_ERASE_GROUP_END:
	case MMC_ERASE:
		return MMC_SIM_OP_ERASE;
	case MMC_SWITCH:
		return ((arg >> 16) & 0xff) == EXT_CSD_FLUSH_CACHE ?
		       MMC_SIM_OP_FLUSH : MMC_SIM_OP_SWITCH;
	default:
		return MMC_SIM_OP_OTHER;
	}
}

/* What a command is about; no sectors: it has no address. */
struct mmc_sim_span {
	enum mmc_sim_op op;
	u64 sector;
	u32 nr;
};

static struct mmc_sim_span mmc_sim_cmd_span(const struct mmc_sim_host *host,
					    u32 opcode, u32 arg, u32 blocks)
{
	const struct mmc_sim_card *card = &host->card;
	const struct mmc_sim_task *task;
	struct mmc_sim_span span = {
		.op = mmc_sim_cmd_op(host, opcode, arg),
	};

	switch (opcode) {
	case MMC_READ_SINGLE_BLOCK:
	case MMC_READ_MULTIPLE_BLOCK:
	case MMC_WRITE_BLOCK:
	case MMC_WRITE_MULTIPLE_BLOCK:
	case MMC_ERASE_GROUP_START:
	case MMC_ERASE_GROUP_END:
		/* Cards of up to 2 GiB are addressed by byte (7.3.12). */
		span.sector = host->cfg.capacity_mib > 2048 ?
			      arg : arg / MMC_SIM_SECTOR;
		span.nr = max(blocks, 1);
		break;
	case MMC_ERASE:
		span.sector = card->erase_start;
		span.nr = card->erase_end - card->erase_start + 1;
		break;
	case MMC_QUE_TASK_ADDR:
		span.sector = arg;
		span.nr = card->pending_task & 0xffff;
		break;
	case MMC_EXECUTE_READ_TASK:
	case MMC_EXECUTE_WRITE_TASK:
		task = &card->task[(arg >> 16) % MMC_SIM_SLOTS];
		span.sector = task->sector;
		span.nr = task->blocks;
		break;
	}

	return span;
}

/* Does the card's status come with the response (R1 and R1b)? */
static bool mmc_sim_has_status(const struct mmc_sim_cmd *cmd)
{
	switch (cmd->opcode) {
	case MMC_GO_IDLE_STATE:
	case MMC_SEND_OP_COND:
	case MMC_ALL_SEND_CID:
	case MMC_SET_DSR:
	case MMC_SEND_CSD:
	case MMC_SEND_CID:
	case MMC_GO_INACTIVE_STATE:
	case MMC_FAST_IO:
	case MMC_GO_IRQ_STATE:
		return false;
	case MMC_SEND_STATUS:
		return !(cmd->arg & BIT(15));	/* else the queue's status */
	default:
		return true;
	}
}

static void mmc_sim_send(struct mmc_sim_host *host, struct mmc_sim_cmd *cmd,
			 u64 now)
{
	cmd->error = 0;
	cmd->dir = MMC_SIM_NO_DATA;
	cmd->blksz = 0;
	cmd->blocks = 0;
	memset(cmd->resp, 0, sizeof(cmd->resp));

	if (mmc_sim_card_gone(host))
		cmd->error = -ETIMEDOUT;
	else
		mmc_sim_card_cmd(&host->card, cmd, now);
}

/**
 * mmc_sim_exec - send a command to the card
 * @host: where
 * @cmd: the command; &mmc_sim_cmd.blocks is how many the host wants to move,
 *	if it knows, and afterwards how many the card expects
 * @now: when the host will have sent it, ns
 *
 * The one way to the card for commands, past the engine or by it: counts them,
 * judges those that go past it and applies the faults that strike commands. A
 * command that times out by a fault was never seen by the card; one whose
 * response has a wrong CRC was carried out.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 */
void mmc_sim_exec(struct mmc_sim_host *host, struct mmc_sim_cmd *cmd, u64 now)
{
	struct mmc_sim_span span;
	u32 bits = 0;

	lockdep_assert_held(&host->lock);

	host->stats.cmd[cmd->opcode % ARRAY_SIZE(host->stats.cmd)]++;

	/* A driver whose engine does not halt has to go past it. */
	if (!cmd->engine && mmc_sim_cqe_owns_bus(host) &&
	    !host->cqe.halt_refused)
		mmc_sim_violation(&host->judge, MMC_SIM_RULE_CQE_LEGACY,
				  "CMD%u argument %08x", cmd->opcode, cmd->arg);

	if (list_empty(&host->faults)) {
		mmc_sim_send(host, cmd, now);
		return;
	}

	span = mmc_sim_cmd_span(host, cmd->opcode, cmd->arg, cmd->blocks);

	if (mmc_sim_fault(host, MMC_SIM_FAULT_REMOVE, span.op, span.sector,
			  span.nr, NULL)) {
		mmc_sim_set_present(host, false);
		mmc_sim_kick(host);
	}
	if (mmc_sim_fault(host, MMC_SIM_FAULT_POWER_CUT, span.op, span.sector,
			  span.nr, NULL))
		mmc_sim_lose_card(host, now);

	if (mmc_sim_fault(host, MMC_SIM_FAULT_CMD_TIMEOUT, span.op, span.sector,
			  span.nr, NULL)) {
		memset(cmd->resp, 0, sizeof(cmd->resp));
		cmd->dir = MMC_SIM_NO_DATA;
		cmd->error = -ETIMEDOUT;
		return;
	}

	mmc_sim_send(host, cmd, now);
	if (cmd->error)
		return;

	if (mmc_sim_fault(host, MMC_SIM_FAULT_CMD_CRC, span.op, span.sector,
			  span.nr, NULL)) {
		memset(cmd->resp, 0, sizeof(cmd->resp));
		cmd->error = -EILSEQ;
		return;
	}

	if (mmc_sim_has_status(cmd) &&
	    mmc_sim_fault(host, MMC_SIM_FAULT_RESPONSE, span.op, span.sector,
			  span.nr, &bits))
		cmd->resp[0] |= bits;
}

/**
 * mmc_sim_stick_busy - let the card stay busy, if a fault says so
 * @host: where
 * @op: operation after which the card signals busy
 * @sector: first sector of it
 * @nr: sectors of it; 0: it has no address
 * @now: when the busy signal begins, ns
 *
 * It lasts longer by as many microseconds as the fault's value says; with none
 * it lasts until the card is reset.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 */
void mmc_sim_stick_busy(struct mmc_sim_host *host, enum mmc_sim_op op,
			u64 sector, u32 nr, u64 now)
{
	struct mmc_sim_card *card = &host->card;
	u32 us = 0;

	mmc_sim_card_sync(card, now);
	if (card->state != MMC_SIM_TRAN && card->state != MMC_SIM_PRG)
		return;

	if (!mmc_sim_fault(host, MMC_SIM_FAULT_STUCK_BUSY, op, sector, nr, &us))
		return;

	if (card->state == MMC_SIM_TRAN) {
		card->state = MMC_SIM_PRG;
		card->resume = MMC_SIM_TRAN;
		card->prg_op = MMC_SIM_PRG_NONE;
		card->busy_until = now;
	}
	card->busy_until = us ? card->busy_until + us * NSEC_PER_USEC : U64_MAX;
}

/* ---------------------------------------------------------------- requests */

/* Send a command of a request; return when its response has come. */
static u64 mmc_sim_request_cmd(struct mmc_sim_host *host,
			       struct mmc_command *mmc_cmd, u32 blocks,
			       struct mmc_sim_cmd *cmd, u64 now)
{
	*cmd = (struct mmc_sim_cmd) {
		.opcode = mmc_cmd->opcode,
		.arg = mmc_cmd->arg,
		.blocks = blocks,
	};

	now += mmc_sim_time_cmd(&host->card.timing);
	mmc_sim_exec(host, cmd, now);

	mmc_cmd->error = mmc_cmd->flags & MMC_RSP_PRESENT ? cmd->error : 0;
	memcpy(mmc_cmd->resp, cmd->resp, sizeof(cmd->resp));

	return now;
}

/*
 * Wait for the end of the card's busy signal, for @limit ns at most. Return
 * when the wait is over.
 */
static u64 mmc_sim_request_busy(struct mmc_sim_host *host, u64 limit,
				int *error, u64 now)
{
	struct mmc_sim_card *card = &host->card;

	if (mmc_sim_card_gone(host) || !mmc_sim_card_busy(card, now))
		return now;

	if (card->busy_until - now > limit) {
		*error = -ETIMEDOUT;
		return now + limit;
	}

	now = card->busy_until;
	mmc_sim_card_sync(card, now);

	return now;
}

static size_t mmc_sim_request_copy(struct mmc_sim_host *host,
				   struct mmc_data *data, size_t len)
{
	bool write = data->flags & MMC_DATA_WRITE;
	struct sg_mapping_iter miter;
	size_t moved = 0;
	size_t n;

	sg_miter_start(&miter, data->sg, data->sg_len, SG_MITER_ATOMIC |
		       (write ? SG_MITER_FROM_SG : SG_MITER_TO_SG));
	while (moved < len && sg_miter_next(&miter)) {
		size_t want = min(miter.length, len - moved);

		if (write)
			n = mmc_sim_card_write(&host->card, miter.addr, want);
		else
			n = mmc_sim_card_read(&host->card, miter.addr, want);
		moved += n;
		if (n < want)
			break;
	}
	sg_miter_stop(&miter);

	if (write)
		host->stats.bytes_written += moved;
	else
		host->stats.bytes_read += moved;

	return moved;
}

/* The data phase that @cmd began; return when it has ended. */
static u64 mmc_sim_request_data(struct mmc_sim_host *host,
				struct mmc_request *mrq,
				const struct mmc_sim_cmd *cmd, u64 now)
{
	struct mmc_data *data = mrq->data;
	struct mmc_sim_card *card = &host->card;
	size_t len = data->blksz * data->blocks;
	bool write = data->flags & MMC_DATA_WRITE;
	struct mmc_sim_span span;
	u64 start;

	/* Nobody sends, or both do, so that the host's own timeout counts. */
	if (cmd->dir != (write ? MMC_SIM_WRITE : MMC_SIM_READ)) {
		data->error = -ETIMEDOUT;
		return now + min(data->timeout_ns, MMC_SIM_TIMEOUT_NS);
	}

	start = mmc_sim_card_data_start(card, now);
	if (start > now + MMC_SIM_TIMEOUT_NS) {
		data->error = -ETIMEDOUT;
		now += MMC_SIM_TIMEOUT_NS;
		mmc_sim_card_data_end(card, now, false);
		return now;
	}

	span = mmc_sim_cmd_span(host, cmd->opcode, cmd->arg, data->blocks);
	if (mmc_sim_fault(host, MMC_SIM_FAULT_DATA_CRC, span.op, span.sector,
			  span.nr, NULL))
		data->error = -EILSEQ;
	else if (mmc_sim_request_copy(host, data, len) < len)
		data->error = -ETIMEDOUT;
	else
		data->bytes_xfered = len;

	now = mmc_sim_time_bus(&card->timing, start, len, data->blocks);
	mmc_sim_card_data_end(card, now, !data->error);

	return now;
}

/*
 * Run a request against the card; return when its host reports its end. What a
 * host does on errors is that of sdhci: without a response to CMD23 or to the
 * command nothing follows, and CMD12 follows a data error.
 */
static u64 mmc_sim_request_run(struct mmc_sim_host *host,
			       struct mmc_request *mrq, u64 now)
{
	struct mmc_command *cmd = mrq->cmd;
	struct mmc_command *stop = mrq->stop;
	struct mmc_data *data = mrq->data;
	struct mmc_sim_cmd sent;
	struct mmc_sim_span span;
	struct mmc_sim_cmd end;
	u64 limit;

	if (data)
		data->bytes_xfered = 0;

	if (mrq->sbc) {
		now = mmc_sim_request_cmd(host, mrq->sbc, 0, &sent, now);
		if (mrq->sbc->error)
			return now;
	}

	now = mmc_sim_request_cmd(host, cmd, data ? data->blocks : 0, &sent,
				  now);
	if (cmd->error)
		return now;

	span = mmc_sim_cmd_span(host, cmd->opcode, cmd->arg,
				data ? data->blocks : 0);

	if (!data) {
		if (!(cmd->flags & MMC_RSP_BUSY))
			return now;
		mmc_sim_stick_busy(host, span.op, span.sector, span.nr, now);
		if (!host->cfg.wait_busy)
			return now;
		limit = cmd->busy_timeout ?
			cmd->busy_timeout * (u64)NSEC_PER_MSEC :
			MMC_SIM_TIMEOUT_NS;
		return mmc_sim_request_busy(host, limit, &cmd->error, now);
	}

	now = mmc_sim_request_data(host, mrq, &sent, now);

	if (stop && (!mrq->sbc || data->error)) {
		now = mmc_sim_request_cmd(host, stop, 0, &end, now);
		if (stop->error)
			return now;
	} else if (data->error) {
		return now;
	}

	if (!(data->flags & MMC_DATA_WRITE))
		return now;

	/* DAT0 tells a host when the last block is programmed. */
	mmc_sim_stick_busy(host, span.op, span.sector, span.nr, now);
	now = mmc_sim_request_busy(host, MMC_SIM_TIMEOUT_NS, &data->error, now);
	if (data->error)
		data->bytes_xfered = 0;

	return now;
}

static int mmc_sim_request_atomic(struct mmc_host *mmc, struct mmc_request *mrq)
{
	struct mmc_sim_host *host = mmc_priv(mmc);
	u64 start = mmc_sim_clock();

	guard(spinlock_irqsave)(&host->lock);

	host->stats.requests++;

	/* Only a core that breaks its own rules has two requests under way. */
	if (WARN_ON_ONCE(host->mrq))
		return -EIO;

	if (host->present)
		host->mrq_done = mmc_sim_request_run(host, mrq,
						     max(start,
							 host->card.time));
	if (!host->present) {
		mrq->cmd->error = -ENOMEDIUM;
		if (mrq->data) {
			mrq->data->error = -ENOMEDIUM;
			mrq->data->bytes_xfered = 0;
		}
		host->mrq_done = start;
	}
	host->mrq = mrq;

	if (host->mrq_done <= start)
		mmc_sim_kick(host);
	else
		mmc_sim_arm(host);

	host->stats.self_ns += mmc_sim_clock() - start;

	return 0;
}

static void mmc_sim_request(struct mmc_host *mmc, struct mmc_request *mrq)
{
	int err = mmc_sim_request_atomic(mmc, mrq);

	if (err) {
		mrq->cmd->error = err;
		mmc_request_done(mmc, mrq);
	}
}

/* ---------------------------------------------------------------- bus */

static void mmc_sim_set_ios(struct mmc_host *mmc, struct mmc_ios *ios)
{
	struct mmc_sim_host *host = mmc_priv(mmc);
	bool power = ios->power_mode != MMC_POWER_OFF;

	guard(spinlock_irqsave)(&host->lock);

	if (host->powered != power) {
		host->powered = power;
		if (host->present)
			mmc_sim_card_power(&host->card, power,
					   mmc_sim_now(host));
	}

	mmc_sim_card_ios(&host->card, ios);
}

static void mmc_sim_enhanced_strobe(struct mmc_host *mmc, struct mmc_ios *ios)
{
	struct mmc_sim_host *host = mmc_priv(mmc);

	guard(spinlock_irqsave)(&host->lock);

	mmc_sim_card_ios(&host->card, ios);
}

static int mmc_sim_get_cd(struct mmc_host *mmc)
{
	struct mmc_sim_host *host = mmc_priv(mmc);

	guard(spinlock_irqsave)(&host->lock);

	return host->present;
}

static int mmc_sim_get_ro(struct mmc_host *mmc)
{
	return 0;
}

static int mmc_sim_card_busy_op(struct mmc_host *mmc)
{
	struct mmc_sim_host *host = mmc_priv(mmc);

	guard(spinlock_irqsave)(&host->lock);

	return !mmc_sim_card_gone(host) &&
	       mmc_sim_card_busy(&host->card, mmc_sim_now(host));
}

/* There is no voltage to switch; the card is content with any. */
static int mmc_sim_voltage(struct mmc_host *mmc, struct mmc_ios *ios)
{
	return 0;
}

static int mmc_sim_tuning(struct mmc_host *mmc, u32 opcode)
{
	struct mmc_sim_host *host = mmc_priv(mmc);
	int err;

	err = mmc_send_tuning(mmc, opcode, NULL);

	guard(spinlock_irqsave)(&host->lock);

	if (mmc_sim_fault(host, MMC_SIM_FAULT_TUNING, MMC_SIM_OP_OTHER, 0, 0,
			  NULL))
		return -EIO;

	return err;
}

/*
 * RST_n. A card whose power was cut has it again by now: it starts as it does
 * when it is powered up.
 */
static void mmc_sim_hw_reset(struct mmc_host *mmc)
{
	struct mmc_sim_host *host = mmc_priv(mmc);

	guard(spinlock_irqsave)(&host->lock);

	if (!host->present || !host->powered)
		return;

	if (host->card.state == MMC_SIM_OFF)
		mmc_sim_card_power(&host->card, true, mmc_sim_now(host));
	else
		mmc_sim_card_hw_reset(&host->card, mmc_sim_now(host));
}

static const struct mmc_host_ops mmc_sim_host_ops = {
	.request = mmc_sim_request,
	.request_atomic = mmc_sim_request_atomic,
	.set_ios = mmc_sim_set_ios,
	.get_ro = mmc_sim_get_ro,
	.get_cd = mmc_sim_get_cd,
	.start_signal_voltage_switch = mmc_sim_voltage,
	.card_busy = mmc_sim_card_busy_op,
	.execute_tuning = mmc_sim_tuning,
	.hs400_enhanced_strobe = mmc_sim_enhanced_strobe,
	.card_hw_reset = mmc_sim_hw_reset,
};

/* ---------------------------------------------------------------- life */

static void mmc_sim_set_bus(struct mmc_host *mmc,
			    const struct mmc_sim_config *cfg)
{
	if (cfg->bus_width >= 4)
		mmc->caps |= MMC_CAP_4_BIT_DATA;
	if (cfg->bus_width >= 8)
		mmc->caps |= MMC_CAP_8_BIT_DATA;

	switch (cfg->bus) {
	case MMC_SIM_BUS_HS400ES:
		mmc->caps2 |= MMC_CAP2_HS400_ES;
		fallthrough;
	case MMC_SIM_BUS_HS400:
		mmc->caps2 |= MMC_CAP2_HS400_1_8V;
		fallthrough;
	case MMC_SIM_BUS_HS200:
		mmc->caps2 |= MMC_CAP2_HS200_1_8V_SDR;
		fallthrough;
	case MMC_SIM_BUS_DDR52:
		mmc->caps |= MMC_CAP_1_8V_DDR;
		fallthrough;
	case MMC_SIM_BUS_HS:
		mmc->caps |= MMC_CAP_MMC_HIGHSPEED;
		fallthrough;
	case MMC_SIM_BUS_LEGACY:
		break;
	}
}

static void mmc_sim_set_caps(struct mmc_host *mmc,
			     const struct mmc_sim_config *cfg)
{
	mmc->ops = &mmc_sim_host_ops;
	mmc->f_min = MMC_SIM_F_MIN;
	mmc->f_max = MMC_SIM_F_MAX;
	mmc->ocr_avail = MMC_VDD_165_195 | MMC_VDD_32_33 | MMC_VDD_33_34;
	mmc->caps = MMC_CAP_HW_RESET;
	mmc->caps2 = MMC_CAP2_NO_SD | MMC_CAP2_NO_SDIO;
	mmc_sim_set_bus(mmc, cfg);

	if (cfg->cmd23)
		mmc->caps |= MMC_CAP_CMD23;
	if (cfg->wait_busy)
		mmc->caps |= MMC_CAP_WAIT_WHILE_BUSY;
	if (cfg->done_complete)
		mmc->caps |= MMC_CAP_DONE_COMPLETE;
	if (cfg->aggressive_pm)
		mmc->caps |= MMC_CAP_AGGRESSIVE_PM;
	if (cfg->cqe)
		mmc->caps2 |= MMC_CAP2_CQE;
	if (cfg->cqe && cfg->dcmd)
		mmc->caps2 |= MMC_CAP2_CQE_DCMD;

	/* In a transfer descriptor 0 stands for 64 KiB. */
	mmc->max_segs = cfg->max_segs;
	mmc->max_seg_size = SZ_64K;
	mmc->max_req_size = cfg->max_req_kib * SZ_1K;
	mmc->max_blk_size = MMC_SIM_SECTOR;
	mmc->max_blk_count = mmc->max_req_size / MMC_SIM_SECTOR;
}

static int mmc_sim_init_queue(struct mmc_sim_host *host)
{
	struct mmc_hsq *hsq;

	if (host->cfg.cqe)
		return mmc_sim_cqe_init(host);

	/* No engine, but its state is asked for all the same. */
	scoped_guard(spinlock_irqsave, &host->lock)
		mmc_sim_cqe_reset(host);

	if (!host->cfg.hsq)
		return 0;

	hsq = devm_kzalloc(mmc_dev(host->mmc), sizeof(*hsq), GFP_KERNEL);
	if (!hsq)
		return -ENOMEM;

	return mmc_hsq_init(hsq, host->mmc);
}

/* Nothing runs after this, nor ever again. */
static void mmc_sim_stop(struct mmc_sim_host *host)
{
	scoped_guard(spinlock_irqsave, &host->lock)
		host->dying = true;

	hrtimer_cancel(&host->timer);
	irq_work_sync(&host->work);
}

/**
 * mmc_sim_host_add - make a host with its card, and give it to the MMC core
 * @dev: device it belongs to; what was allocated is freed with it
 * @name: name of the card
 * @cfg: settings, which mmc_sim_config_check() accepts; they are copied
 *
 * Context: process.
 *
 * Return: the host, or an ERR_PTR().
 */
struct mmc_sim_host *mmc_sim_host_add(struct device *dev, const char *name,
				      const struct mmc_sim_config *cfg)
{
	struct mmc_sim_host *host;
	struct mmc_host *mmc;
	int ret;

	/* Descriptors have 32-bit addresses, or 64-bit ones, as this says. */
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(cfg->dma_bits));
	if (ret)
		return ERR_PTR(ret);

	mmc = devm_mmc_alloc_host(dev, sizeof(*host));
	if (!mmc)
		return ERR_PTR(-ENOMEM);

	host = mmc_priv(mmc);
	host->mmc = mmc;
	host->cfg = *cfg;
	host->present = true;
	host->timer_at = U64_MAX;
	spin_lock_init(&host->lock);
	spin_lock_init(&host->irq_lock);
	INIT_LIST_HEAD(&host->faults);
	hrtimer_setup(&host->timer, mmc_sim_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS);
	init_irq_work(&host->work, mmc_sim_work);

	host->name = devm_kstrdup(dev, name, GFP_KERNEL);
	if (!host->name)
		return ERR_PTR(-ENOMEM);
	host->judge.name = host->name;

	ret = mmc_sim_card_init(&host->card, &host->cfg, &host->judge);
	if (ret)
		return ERR_PTR(ret);

	mmc_sim_set_caps(mmc, &host->cfg);
	ret = mmc_sim_init_queue(host);
	if (ret)
		goto err_card;

	mmc_sim_debugfs_add(host);

	ret = mmc_add_host(mmc);
	if (ret)
		goto err_debugfs;

	return host;

err_debugfs:
	mmc_sim_debugfs_remove(host);
	mmc_sim_stop(host);
	mmc_sim_faults_clear(host);
err_card:
	mmc_sim_card_destroy(&host->card);
	return ERR_PTR(ret);
}

/**
 * mmc_sim_host_remove - take a host away, also while it is in use
 * @host: the host; freed with its device
 *
 * Context: process.
 */
void mmc_sim_host_remove(struct mmc_sim_host *host)
{
	/* First those who could still insert a card or arm a fault */
	mmc_sim_debugfs_remove(host);
	/* The core ends what is in flight, so timer and irq_work go on. */
	mmc_remove_host(host->mmc);
	mmc_sim_stop(host);
	mmc_sim_faults_clear(host);
	mmc_sim_card_destroy(&host->card);
}

/**
 * mmc_sim_host_suspend - prepare for system suspend
 * @host: the host; the MMC core has suspended its card, so that nothing is in
 *	flight
 *
 * Context: process.
 *
 * Return: 0, or an error that stops the suspend.
 */
int mmc_sim_host_suspend(struct mmc_sim_host *host)
{
	if (host->cfg.cqe)
		return cqhci_suspend(host->mmc);

	if (host->cfg.hsq)
		mmc_hsq_suspend(host->mmc);

	return 0;
}

/**
 * mmc_sim_host_resume - go on after system suspend
 * @host: the host
 *
 * Context: process.
 *
 * Return: 0 or an error.
 */
int mmc_sim_host_resume(struct mmc_sim_host *host)
{
	if (host->cfg.cqe)
		return cqhci_resume(host->mmc);

	if (host->cfg.hsq && host->mmc->hsq_enabled)
		return mmc_hsq_resume(host->mmc);

	return 0;
}
