/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * May a request be started now? The rules of the MMC block driver, apart from
 * the queue that they are applied to.
 */
#ifndef _MMC_CORE_DISPATCH_H
#define _MMC_CORE_DISPATCH_H

#include <linux/compiler.h>
#include <linux/types.h>

/**
 * enum mmc_issue_type - how a request is handed to the card
 * @MMC_ISSUE_SYNC: with commands that the block driver waits for; the card must
 *	have nothing else to do, and its command queue is off
 * @MMC_ISSUE_DCMD: as a direct command, through the command queue engine
 * @MMC_ISSUE_ASYNC: as a read or a write that completes by itself
 * @MMC_ISSUE_MAX: number of types
 */
enum mmc_issue_type {
	MMC_ISSUE_SYNC,
	MMC_ISSUE_DCMD,
	MMC_ISSUE_ASYNC,
	MMC_ISSUE_MAX,
};

/**
 * enum mmc_verdict - whether a request may be started, or why not
 * @MMC_START: it may
 * @MMC_WAIT_RECOVERY: not before the recovery from an error has ended
 * @MMC_WAIT_SYNC: a synchronous request is in flight, or waits and is first
 * @MMC_WAIT_IDLE: it is synchronous and others are in flight
 * @MMC_WAIT_DCMD: it is a direct command and another one is in flight
 * @MMC_WAIT_DEPTH: as many requests are in flight as the card and the host hold
 */
enum mmc_verdict {
	MMC_START,
	MMC_WAIT_RECOVERY,
	MMC_WAIT_SYNC,
	MMC_WAIT_IDLE,
	MMC_WAIT_DCMD,
	MMC_WAIT_DEPTH,
};

/**
 * struct mmc_dispatch - all that the rules look at
 * @depth: how many requests may be in flight, at least 1
 * @in_flight: requests that were started and have not ended, by type
 * @sync_waiting: a synchronous request waits for idle
 * @recovery: recovery from an error is needed or in progress
 *
 * The owner of the queue serialises changes and mmc_dispatch_check() with its
 * lock; mmc_dispatch_closed() may look without.
 */
struct mmc_dispatch {
	unsigned int	depth;
	unsigned int	in_flight[MMC_ISSUE_MAX];
	bool		sync_waiting;
	bool		recovery;
};

void mmc_dispatch_init(struct mmc_dispatch *d, unsigned int depth);
enum mmc_verdict mmc_dispatch_check(const struct mmc_dispatch *d,
				    enum mmc_issue_type type);
void mmc_dispatch_wait(struct mmc_dispatch *d, enum mmc_issue_type type);
void mmc_dispatch_give_up(struct mmc_dispatch *d, enum mmc_issue_type type);
void mmc_dispatch_start(struct mmc_dispatch *d, enum mmc_issue_type type);
void mmc_dispatch_end(struct mmc_dispatch *d, enum mmc_issue_type type);
bool mmc_dispatch_recover(struct mmc_dispatch *d);
void mmc_dispatch_recovered(struct mmc_dispatch *d);

/**
 * mmc_dispatch_total - how many requests are in flight
 * @d: state of the queue
 *
 * Context: any; the queue's lock must be held for a figure to rely on.
 * Return: requests that were started and have not ended, of all types.
 */
static inline unsigned int mmc_dispatch_total(const struct mmc_dispatch *d)
{
	return d->in_flight[MMC_ISSUE_SYNC] + d->in_flight[MMC_ISSUE_DCMD] +
	       d->in_flight[MMC_ISSUE_ASYNC];
}

/**
 * mmc_dispatch_closed - nothing at all would be started now
 * @d: state of the queue
 *
 * For those who do not know yet what type the next request has.
 *
 * Context: any, also without the queue's lock. Who acts on the answer then has
 * to make sure that it looks again, or is called again, when this changes.
 * Return: true during recovery, and while a synchronous request waits or is in
 *	flight.
 */
static inline bool mmc_dispatch_closed(const struct mmc_dispatch *d)
{
	return READ_ONCE(d->recovery) || READ_ONCE(d->sync_waiting) ||
	       READ_ONCE(d->in_flight[MMC_ISSUE_SYNC]);
}

#endif
