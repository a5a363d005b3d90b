/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread model: a bio-based disk whose I/O one kernel thread takes from a
 * FIFO, in the order in which it arrived.
 */
#ifndef _MMC_CORE_QUEUE_THREAD_H
#define _MMC_CORE_QUEUE_THREAD_H

#include <linux/bio.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/types.h>

enum mmc_drv_op;
struct gendisk;
struct mmc_queue;
struct queue_limits;

/* As many as a request queue had by default (BLKDEV_DEFAULT_RQ) */
#define MMC_THREAD_DEPTH	128

/**
 * struct mmc_thread_io - neighbouring bios that are served as one I/O
 * @node: entry of &mmc_thread_fifo.queued or &mmc_thread_fifo.free
 * @bios: bios that are not done; empty if this is part of an operation that is
 *	no block I/O
 * @opf: operation and flags of the first bio
 * @sector: first sector
 * @nr_sectors: length of all bios, done or not
 * @nr_segs: scatterlist entries that the data needs
 * @start_time: when accounting started, in jiffies
 * @accounted: whether accounting started
 */
struct mmc_thread_io {
	struct list_head	node;
	struct bio_list		bios;
	blk_opf_t		opf;
	sector_t		sector;
	unsigned int		nr_sectors;
	unsigned int		nr_segs;
	unsigned long		start_time;
	bool			accounted;
};

/**
 * struct mmc_thread_fifo - what waits for the thread
 * @queued: I/O that waits, in the order of arrival
 * @free: I/O that can be used
 * @ios: all there is
 */
struct mmc_thread_fifo {
	struct list_head	queued;
	struct list_head	free;
	struct mmc_thread_io	ios[MMC_THREAD_DEPTH];
};

/**
 * enum mmc_thread_added - what became of a bio
 * @MMC_THREAD_QUEUED: it is the last I/O of the FIFO
 * @MMC_THREAD_MERGED: it is part of an I/O of the FIFO
 * @MMC_THREAD_FULL: there is no room for it
 */
enum mmc_thread_added {
	MMC_THREAD_QUEUED,
	MMC_THREAD_MERGED,
	MMC_THREAD_FULL,
};

/* What an I/O consists of, in this order */
#define MMC_THREAD_PREFLUSH	BIT(0)	/* Flush the card's cache */
#define MMC_THREAD_DATA		BIT(1)	/* Carry out the operation */
#define MMC_THREAD_POSTFLUSH	BIT(2)	/* Flush the card's cache */

struct gendisk *mmc_thread_alloc_disk(struct mmc_queue *mq,
				      struct queue_limits *lim);
int mmc_thread_start(struct mmc_queue *mq);
void mmc_thread_exit(struct mmc_queue *mq);
void mmc_thread_suspend(struct mmc_queue *mq);
void mmc_thread_resume(struct mmc_queue *mq);
int mmc_thread_drv_op(struct mmc_queue *mq, enum mmc_drv_op op, void *data,
		      unsigned int count);
void mmc_thread_submit_bio(struct bio *bio);

#if IS_ENABLED(CONFIG_KUNIT)
unsigned int mmc_thread_steps(blk_opf_t opf, unsigned int nr_sectors, bool fua);
unsigned int mmc_thread_count_segs(struct bio *bio,
				   const struct queue_limits *lim);
bool mmc_thread_may_merge(const struct mmc_thread_io *tio, struct bio *bio,
			  unsigned int nr_segs, const struct queue_limits *lim);
void mmc_thread_fifo_init(struct mmc_thread_fifo *fifo);
enum mmc_thread_added mmc_thread_fifo_add(struct mmc_thread_fifo *fifo,
					  struct bio *bio, unsigned int nr_segs,
					  const struct queue_limits *lim);
struct mmc_thread_io *mmc_thread_fifo_take(struct mmc_thread_fifo *fifo);
void mmc_thread_fifo_put(struct mmc_thread_fifo *fifo,
			 struct mmc_thread_io *tio);
#endif

#endif
