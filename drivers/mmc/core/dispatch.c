// SPDX-License-Identifier: GPL-2.0-only
/*
 * May a request be started now?
 *
 * How many requests a queue holds does not decide that for MMC. What the card
 * does with commands of its own, outside the command queue, it does alone; the
 * command queue engine has one slot for direct commands; and nothing is started
 * while an error is sorted out. These rules, and the few changes of state that
 * they look at, are here, with no queue, lock or clock about them.
 */
#include <linux/compiler.h>

#include "dispatch.h"

/**
 * mmc_dispatch_init - start with nothing in flight
 * @d: state to initialise
 * @depth: how many requests may be in flight, at least 1
 *
 * Context: any; nobody else uses @d yet.
 */
void mmc_dispatch_init(struct mmc_dispatch *d, unsigned int depth)
{
	*d = (struct mmc_dispatch) { .depth = depth };
}

/**
 * mmc_dispatch_check - may a request be started now
 * @d: state of the queue
 * @type: how the request would be issued
 *
 * If more than one rule stands in the way, the reason given is the one that
 * lasts: a recovery ends all that was in flight, and a synchronous request is
 * served before the others that wait.
 *
 * Context: any. The caller holds the queue's lock, and keeps it until
 *	mmc_dispatch_start() if it starts the request.
 * Return: MMC_START, or the reason to wait.
 */
enum mmc_verdict mmc_dispatch_check(const struct mmc_dispatch *d,
				    enum mmc_issue_type type)
{
	if (d->recovery)
		return MMC_WAIT_RECOVERY;

	if (d->in_flight[MMC_ISSUE_SYNC])
		return MMC_WAIT_SYNC;

	if (type == MMC_ISSUE_SYNC)
		return mmc_dispatch_total(d) ? MMC_WAIT_IDLE : MMC_START;

	if (d->sync_waiting)
		return MMC_WAIT_SYNC;

	if (type == MMC_ISSUE_DCMD && d->in_flight[MMC_ISSUE_DCMD])
		return MMC_WAIT_DCMD;

	if (mmc_dispatch_total(d) >= d->depth)
		return MMC_WAIT_DEPTH;

	return MMC_START;
}

/**
 * mmc_dispatch_wait - a request could not be started and waits
 * @d: state of the queue
 * @type: how the request will be issued
 *
 * From here on a synchronous request holds back all others, so that those in
 * flight come to an end. It stops to do so with mmc_dispatch_start() or
 * mmc_dispatch_give_up(), one of which must follow. One synchronous request can
 * wait this way at a time.
 *
 * Context: any. The caller holds the queue's lock.
 */
void mmc_dispatch_wait(struct mmc_dispatch *d, enum mmc_issue_type type)
{
	if (type == MMC_ISSUE_SYNC)
		WRITE_ONCE(d->sync_waiting, true);
}

/**
 * mmc_dispatch_give_up - a request that waits is given back
 * @d: state of the queue
 * @type: how the request would have been issued
 *
 * Context: any. The caller holds the queue's lock.
 */
void mmc_dispatch_give_up(struct mmc_dispatch *d, enum mmc_issue_type type)
{
	if (type == MMC_ISSUE_SYNC)
		WRITE_ONCE(d->sync_waiting, false);
}

/**
 * mmc_dispatch_start - account for a request that is started
 * @d: state of the queue
 * @type: how the request is issued; mmc_dispatch_check() said MMC_START to it
 *
 * Context: any. The caller holds the queue's lock.
 */
void mmc_dispatch_start(struct mmc_dispatch *d, enum mmc_issue_type type)
{
	WRITE_ONCE(d->in_flight[type], d->in_flight[type] + 1);
	mmc_dispatch_give_up(d, type);
}

/**
 * mmc_dispatch_end - account for a request that is in flight no longer
 * @d: state of the queue
 * @type: what mmc_dispatch_start() was given for it
 *
 * Whether it is done, failed or is to be tried again makes no difference.
 *
 * Context: any. The caller holds the queue's lock.
 */
void mmc_dispatch_end(struct mmc_dispatch *d, enum mmc_issue_type type)
{
	WRITE_ONCE(d->in_flight[type], d->in_flight[type] - 1);
}

/**
 * mmc_dispatch_recover - something has failed: start nothing any more
 * @d: state of the queue
 *
 * Context: any. The caller holds the queue's lock.
 * Return: true for the first one who asks for the recovery, who has to see that
 *	it takes place.
 */
bool mmc_dispatch_recover(struct mmc_dispatch *d)
{
	if (d->recovery)
		return false;
	WRITE_ONCE(d->recovery, true);
	return true;
}

/**
 * mmc_dispatch_recovered - the recovery is over
 * @d: state of the queue
 *
 * Context: any. The caller holds the queue's lock.
 */
void mmc_dispatch_recovered(struct mmc_dispatch *d)
{
	WRITE_ONCE(d->recovery, false);
}
