/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MMC_CORE_CQE_H
#define _MMC_CORE_CQE_H

#include <linux/types.h>

struct mmc_card;

int mmc_card_set_cqe(struct mmc_card *card, bool on);

#endif
