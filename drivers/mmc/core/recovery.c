// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often a card may need recovery before its command queue is given up.
 * There is no card and no clock here, so that it can be tested without.
 */
#include "recovery.h"

/**
 * mmc_recovery_note - note that recovery is needed, and say whether it is once
 *	too often
 * @log: of the card
 * @now: present time in seconds, not before that of the previous call
 *
 * Context: any; calls are serialised by the caller.
 * Return: true if this is more than MMC_RECOVERY_LIMIT recoveries in less than
 *	MMC_RECOVERY_PERIOD_S seconds.
 */
bool mmc_recovery_note(struct mmc_recovery_log *log, time64_t now)
{
	time64_t *oldest = &log->when[log->count % MMC_RECOVERY_LIMIT];
	bool many = log->count >= MMC_RECOVERY_LIMIT &&
		    now - *oldest < MMC_RECOVERY_PERIOD_S;

	*oldest = now;
	/* The first time round must not come again, nor the order change */
	if (++log->count == 2 * MMC_RECOVERY_LIMIT)
		log->count = MMC_RECOVERY_LIMIT;

	return many;
}
