/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of block.c see of it. Each function is described there. Without
 * KUnit, they are static, so nobody else can include this.
 */
#ifndef _MMC_CORE_BLOCK_TEST_H
#define _MMC_CORE_BLOCK_TEST_H

#include <kunit/visibility.h>

#include "queue.h"

struct mmc_card;

VISIBLE_IF_KUNIT void
mmc_blk_data_prep(struct mmc_blk_request *brq, const struct mmc_io *io,
		  struct mmc_card *card, const struct mmc_io_limits *lim);
VISIBLE_IF_KUNIT void
mmc_blk_rw_rq_prep(struct mmc_blk_request *brq, const struct mmc_io *io,
		   struct mmc_card *card, const struct mmc_io_limits *lim);
VISIBLE_IF_KUNIT struct mmc_request *
mmc_blk_cqe_prep_flush(struct mmc_blk_request *brq, const struct mmc_io *io);
VISIBLE_IF_KUNIT bool mmc_blk_rq_error(struct mmc_blk_request *brq);
VISIBLE_IF_KUNIT bool
mmc_blk_status_error(struct mmc_card *card, const struct mmc_io *io,
		     struct mmc_blk_request *brq, u32 status);
VISIBLE_IF_KUNIT bool
mmc_blk_needs_no_poll(struct mmc_card *card, const struct mmc_io *io,
		      struct mmc_blk_request *brq);
VISIBLE_IF_KUNIT unsigned int
mmc_blk_rw_retries(const struct mmc_blk_request *brq, unsigned int retries);
VISIBLE_IF_KUNIT struct mmc_io_verdict
mmc_blk_rw_verdict(const struct mmc_io *io, const struct mmc_blk_request *brq,
		   unsigned int retries, const struct mmc_card *card);
VISIBLE_IF_KUNIT struct mmc_io_verdict
mmc_blk_cqe_verdict(const struct mmc_io *io, const struct mmc_request *mrq,
		    unsigned int retries, bool in_recovery, bool giving_up);
VISIBLE_IF_KUNIT int mmc_blk_readonly(struct mmc_card *card);
VISIBLE_IF_KUNIT unsigned int mmc_blk_io_flags(struct mmc_card *card);

#endif
