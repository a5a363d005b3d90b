/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An I/O as those see it who build its commands, check the result and decide
 * what to do after an error. Whether a request or something else is behind it
 * makes no difference there.
 */
#ifndef _MMC_CORE_IO_H
#define _MMC_CORE_IO_H

#include <linux/bits.h>
#include <linux/blk_types.h>
#include <linux/ioprio.h>

struct bio_crypt_ctx;
struct blk_crypto_keyslot;
struct scatterlist;

/**
 * struct mmc_io - what is left to do of an I/O when it is started
 * @op: REQ_OP_READ, REQ_OP_WRITE, REQ_OP_FLUSH, or one that erases
 * @flags: MMC_IO_* below
 * @sg_len: entries used in @sg, before any cut
 * @sector: where it starts on the disk, in units of 512 bytes
 * @nr_sectors: its length in units of 512 bytes
 * @tag: number of the task, where the host has a command queue
 * @sg: for reads and writes, where all of the data is. Preparing the transfer
 *	cuts the list to what one transfer can do.
 * @crypt_ctx: inline encryption context, or NULL for data to be sent as it is
 * @crypt_keyslot: slot with the key of @crypt_ctx, or NULL if the host has none
 *
 * Whoever starts an I/O fills all of this each time, since each attempt may do
 * only a part of it. It stays as it is until the attempt has ended.
 */
struct mmc_io {
	enum req_op		op;
	u16			flags;
/* Done means stored in the flash, not just in the card's cache */
#define MMC_IO_FUA		BIT(0)
/* Metadata of a filesystem */
#define MMC_IO_META		BIT(1)
/* Something failed before: transfer one native sector at a time */
#define MMC_IO_SINGLE		BIT(2)
/* Somebody waits until it is done */
#define MMC_IO_SYNC		BIT(3)
/* The card serves it before others, if it can tell them apart */
#define MMC_IO_PRIO		BIT(4)
	u16			sg_len;
	sector_t		sector;
	unsigned int		nr_sectors;
	int			tag;
	struct scatterlist	*sg;
#ifdef CONFIG_MMC_CRYPTO
	const struct bio_crypt_ctx *crypt_ctx;
	struct blk_crypto_keyslot *crypt_keyslot;
#endif
};

/**
 * struct mmc_io_limits - what commands for a disk depend on, besides the card
 * @flags: MMC_BLK_* below
 * @native_blocks: blocks of 512 bytes in a native sector of the card
 * @capacity: size of the disk in units of 512 bytes
 *
 * These are set before the disk is added and do not change.
 */
struct mmc_io_limits {
	unsigned int		flags;
#define MMC_BLK_CMD23	BIT(0)	/* Can do SET_BLOCK_COUNT for multiblock */
#define MMC_BLK_REL_WR	BIT(1)	/* MMC Reliable write support */
	unsigned int		native_blocks;
	sector_t		capacity;
};

/**
 * enum mmc_io_action - what to do with an I/O after an attempt
 * @MMC_IO_DONE: some of it or all of it is done; start again with what is left
 * @MMC_IO_AGAIN: start again with all of it; this attempt does not count
 * @MMC_IO_RETRY: count a retry and start again with all of it, one native
 *	sector at a time
 * @MMC_IO_REGULAR: start again with all of it, by regular commands and with no
 *	retry counted; and send no direct commands to the card any more
 * @MMC_IO_FAIL: end what is left of it with an error
 * @MMC_IO_FAIL_QUIET: the same, without a message, since the card is gone
 */
enum mmc_io_action {
	MMC_IO_DONE,
	MMC_IO_AGAIN,
	MMC_IO_RETRY,
	MMC_IO_REGULAR,
	MMC_IO_FAIL,
	MMC_IO_FAIL_QUIET,
};

/**
 * struct mmc_io_verdict - what an attempt has come to
 * @action: what to do next
 * @bytes: how much was done, counted from the first sector; can be 0 with
 *	MMC_IO_DONE, and is 0 with anything else
 */
struct mmc_io_verdict {
	enum mmc_io_action	action;
	unsigned int		bytes;
};

/**
 * mmc_io_flags - the flags of an I/O
 * @opf: operation and flags of the block layer
 * @single: something failed before
 *
 * Context: any.
 * Return: MMC_IO_* for &struct mmc_io.
 */
static inline unsigned int mmc_io_flags(blk_opf_t opf, bool single)
{
	return (opf & REQ_FUA ? MMC_IO_FUA : 0) |
	       (opf & REQ_META ? MMC_IO_META : 0) |
	       (op_is_sync(opf) ? MMC_IO_SYNC : 0) |
	       (single ? MMC_IO_SINGLE : 0);
}

/**
 * mmc_io_prio_flags - the flags of an I/O that follow from its priority
 * @ioprio: I/O priority, IOPRIO_PRIO_VALUE()
 *
 * Cards know two priorities (JESD84-B51, 6.6.39.2): the real-time class has the
 * higher one, everybody else the lower.
 *
 * Context: any.
 * Return: MMC_IO_* for &struct mmc_io.
 */
static inline unsigned int mmc_io_prio_flags(unsigned short ioprio)
{
	return IOPRIO_PRIO_CLASS(ioprio) == IOPRIO_CLASS_RT ? MMC_IO_PRIO : 0;
}

static inline bool mmc_io_is_write(const struct mmc_io *io)
{
	return op_is_write(io->op);
}

#endif
