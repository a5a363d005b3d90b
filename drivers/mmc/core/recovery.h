/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often a card may need recovery before its command queue is given up.
 */
#ifndef _MMC_CORE_RECOVERY_H
#define _MMC_CORE_RECOVERY_H

#include <linux/time64.h>
#include <linux/types.h>

/*
 * A request is tried three times through the queue. So if all three fail, for
 * one reason or another, it is not the request that ends but the queue, and
 * regular commands, with their own recovery, have the last word. A card that has
 * an error now and then is far from it.
 */
#define MMC_RECOVERY_LIMIT	2
#define MMC_RECOVERY_PERIOD_S	(10 * 60)

/**
 * struct mmc_recovery_log - when a card needed recovery
 * @when: times of the last ones, in seconds of a clock that goes on in suspend
 * @count: how many there have been in all
 *
 * All zero, it is empty. The owner serialises.
 */
struct mmc_recovery_log {
	time64_t	when[MMC_RECOVERY_LIMIT];
	unsigned int	count;
};

bool mmc_recovery_note(struct mmc_recovery_log *log, time64_t now);

#endif
