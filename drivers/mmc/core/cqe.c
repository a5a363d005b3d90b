// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a card is served through a command queue is decided where the card
 * is initialised. What is here changes it for a card that is in use.
 */
#include <linux/device.h>
#include <linux/export.h>
#include <linux/mmc/card.h>
#include <linux/mmc/host.h>

#include "card.h"
#include "core.h"
#include "cqe.h"
#include "mmc_ops.h"

static int mmc_card_cqe_off(struct mmc_card *card)
{
	struct mmc_host *host = card->host;
	int err;

	/* The engine must not send anything once the card's queue is off */
	if (host->cqe_enabled) {
		host->cqe_ops->cqe_disable(host);
		host->cqe_enabled = false;
		host->hsq_enabled = false;
	}

	card->reenable_cmdq = false;

	if (!card->ext_csd.cmdq_en)
		return 0;

	err = mmc_cmdq_disable(card);
	if (!err)
		return 0;

	pr_warn("%s: Disabling CMDQ failed (%d), resetting the card\n",
		mmc_hostname(host), err);

	return mmc_hw_reset(card);
}

static int mmc_card_cqe_on(struct mmc_card *card)
{
	struct mmc_host *host = card->host;
	int err;

	if (mmc_card_mmc(card) && card->ext_csd.cmdq_support &&
	    host->caps2 & MMC_CAP2_CQE && !card->ext_csd.cmdq_en) {
		err = mmc_cmdq_enable(card);
		if (err)
			pr_warn("%s: Enabling CMDQ failed (%d)\n",
				mmc_hostname(host), err);
	}

	card->reenable_cmdq = card->ext_csd.cmdq_en;

	/* As mmc_sd_init_card(): SDUC cards are not served by a queue */
	if (!host->cqe_ops || host->cqe_enabled || mmc_card_ult_capacity(card))
		return 0;

	/* A software queue may have been enabled when its host was resumed */
	host->cqe_ops->cqe_disable(host);

	/* Without the card's queue, only a software queue accepts the card */
	err = host->cqe_ops->cqe_enable(host, card);
	if (err && card->ext_csd.cmdq_en) {
		/*
		 * A card whose queue is on takes no other reads and writes. And
		 * a reset must not enable the engine later, under a disk that
		 * was made for a card without: it has more tags than the engine
		 * has slots.
		 */
		pr_warn("%s: Enabling the command queue engine failed (%d)\n",
			mmc_hostname(host), err);
		card->no_cqe = true;
		return mmc_card_cqe_off(card);
	}
	if (err)
		return 0;

	host->cqe_enabled = true;
	host->hsq_enabled = !card->ext_csd.cmdq_en;

	return 0;
}

/**
 * mmc_card_set_cqe - serve a card through a command queue, or not
 * @card: an initialised eMMC or SD card
 * @on: whether the command queue engine or the software queue of the host may
 *	be used
 *
 * Off, the engine is disabled, and then CMDQ_MODE_EN of the card is cleared
 * (JESD84-B51, 6.6.39). On, it is the other way round, as far as card and host
 * have a queue. The card remembers, and initialising it again after a reset, a
 * loss of power or suspend leaves it at that. A card that was found while the
 * parameter use_cqe was off keeps its queue off in any case.
 *
 * Context: process context, host claimed, card and host resumed, nothing in
 *	flight.
 * Return: 0, also if the queue could not be enabled, in which case there is a
 *	warning and the card is served without until it is asked for again. If
 *	the card's queue can be disabled neither by a command nor by a reset, an
 *	error: the card cannot be used then.
 */
int mmc_card_set_cqe(struct mmc_card *card, bool on)
{
	WARN_ON(!card->host->claimed);

	on = on && card->use_cqe;

	/* That the queue was to be off does not mean that it went off */
	if (card->no_cqe == !on && (on || !card->ext_csd.cmdq_en))
		return 0;

	card->no_cqe = !on;

	if (!on)
		return mmc_card_cqe_off(card);

	return mmc_card_cqe_on(card);
}
EXPORT_SYMBOL_GPL(mmc_card_set_cqe);
