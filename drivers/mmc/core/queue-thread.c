// SPDX-License-Identifier: GPL-2.0-only
/*
 * The thread model serves a disk without blk-mq: one kernel thread takes I/O
 * from a FIFO, in the order in which it arrived, and prepares the next while
 * the card is busy with the current one. There is no elevator, no command
 * queue and no allocation for an I/O. It is here to be compared with.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/mmc/card.h>
#include <linux/mmc/host.h>
#include <linux/part_stat.h>
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include <kunit/visibility.h>

#include "block.h"
#include "card.h"
#include "core.h"
#include "host.h"
#include "queue.h"
#include "queue-thread.h"

/*
 * What must be the same for two bios to be one I/O. REQ_SYNC and hints make no
 * difference here.
 */
#define MMC_THREAD_MERGE_FLAGS	\
	((__force blk_opf_t)REQ_OP_MASK | REQ_FAILFAST_MASK | REQ_META)

/*
 * How many of the I/Os that wait, from the newest on, are asked whether a bio
 * goes on where they end: as many as blk-mq asks in a list
 */
#define MMC_THREAD_LOOKBACK	8

/**
 * struct mmc_thread_slot - an I/O that the thread has taken
 * @tq: the queue that this belongs to
 * @tio: the I/O, or NULL if the slot is free
 * @brq: the transfer
 * @io: what the transfer is built from
 * @sg: the data
 * @left: what is left to do, in units of 512 bytes
 * @steps: MMC_THREAD_* that are left to do
 * @retries: how often something was tried again
 * @single: whether to transfer one native sector at a time from now on
 * @prepared: whether the host has prepared the transfer
 * @done: the host has finished with the transfer
 * @ended: the bios were ended when it had; valid once @done is set
 */
struct mmc_thread_slot {
	struct mmc_thread_queue	*tq;
	struct mmc_thread_io	*tio;
	struct mmc_blk_request	brq;
	struct mmc_io		io;
	struct scatterlist	*sg;
	unsigned int		left;
	unsigned int		steps;
	u8			retries;
	bool			single;
	bool			prepared;
	bool			done;
	bool			ended;
};

/**
 * struct mmc_thread_queue - what the thread model needs for a disk
 * @mq: the queue that this belongs to
 * @task: the thread
 * @space: submitters that wait for room in the FIFO
 * @idle: whoever waits until nothing is in flight
 * @slots: one I/O on the bus, and the next
 * @fua: whether the card can write past its cache
 * @suspended: nothing may start
 * @dying: nothing may be queued
 * @busy: the thread has taken something and not yet released the card
 * @hungry: the thread sleeps and would take another I/O
 * @fifo: what waits
 *
 * &mmc_queue.lock protects the last five. The slots are the thread's.
 */
struct mmc_thread_queue {
	struct mmc_queue	*mq;
	struct task_struct	*task;
	wait_queue_head_t	space;
	wait_queue_head_t	idle;
	struct mmc_thread_slot	slots[2];
	bool			fua;
	bool			suspended;
	bool			dying;
	bool			busy;
	bool			hungry;
	struct mmc_thread_fifo	fifo;
};

/* An operation that is no block I/O; its waiter has it on the stack */
struct mmc_thread_op {
	struct mmc_thread_io	tio;
	enum mmc_drv_op		op;
	void			*data;
	unsigned int		count;
	int			result;
	struct completion	done;
};

/**
 * mmc_thread_steps - say what a bio consists of
 * @opf: operation and flags
 * @nr_sectors: length in units of 512 bytes
 * @fua: whether the card can write past its cache
 *
 * The flags are those that the block layer lets through: it takes REQ_PREFLUSH
 * and REQ_FUA away while the disk has no write cache.
 *
 * Context: any.
 * Return: a set of MMC_THREAD_*. It is empty only for a bio that neither has
 *	data nor asks for a flush.
 */
VISIBLE_IF_KUNIT unsigned int
mmc_thread_steps(blk_opf_t opf, unsigned int nr_sectors, bool fua)
{
	unsigned int steps = 0;

	if (opf & REQ_PREFLUSH)
		steps |= MMC_THREAD_PREFLUSH;

	if (nr_sectors) {
		steps |= MMC_THREAD_DATA;
		if (opf & REQ_FUA && op_is_write(opf) && !fua)
			steps |= MMC_THREAD_POSTFLUSH;
	}

	return steps;
}
EXPORT_SYMBOL_IF_KUNIT(mmc_thread_steps);

/* How much of @len bytes at @addr one entry of a scatterlist can have */
static unsigned int mmc_thread_seg_len(const struct queue_limits *lim,
				       phys_addr_t addr, unsigned int len)
{
	unsigned long to_boundary = lim->seg_boundary_mask -
				    (lim->seg_boundary_mask & addr);

	/* One less than the lengths, since a mask of all ones is no length */
	return min3((unsigned long)len - 1, to_boundary,
		    (unsigned long)lim->max_segment_size - 1) + 1;
}

/**
 * mmc_thread_count_segs - count the scatterlist entries that a bio needs
 * @bio: the bio, which fits the limits
 * @lim: the limits of the disk
 *
 * Context: any.
 * Return: the number, 0 if the bio has no data.
 */
VISIBLE_IF_KUNIT unsigned int
mmc_thread_count_segs(struct bio *bio, const struct queue_limits *lim)
{
	unsigned int nr_segs = 0;

	/* It counts them to find where to split, and a bio that fits is not */
	if (bio_has_data(bio))
		bio_split_rw_at(bio, lim, &nr_segs, UINT_MAX);

	return nr_segs;
}
EXPORT_SYMBOL_IF_KUNIT(mmc_thread_count_segs);

/* Whether the host would see a hole between the data of @prev and of @next */
static bool mmc_thread_gap(struct bio *prev, struct bio *next,
			   const struct queue_limits *lim)
{
	struct bio_vec first = mp_bvec_iter_bvec(next->bi_io_vec, next->bi_iter);
	struct bvec_iter iter;
	struct bio_vec bv, last = {};

	if (!lim->virt_boundary_mask)
		return false;

	bio_for_each_bvec(bv, prev, iter)
		last = bv;

	return (last.bv_offset + last.bv_len) & lim->virt_boundary_mask ||
	       first.bv_offset & lim->virt_boundary_mask;
}

/**
 * mmc_thread_may_merge - decide whether a bio can become part of an I/O
 * @tio: the I/O
 * @bio: the bio, which fits the limits by itself
 * @nr_segs: what mmc_thread_count_segs() says of it
 * @lim: the limits of the disk
 *
 * Reads, writes and discards that go on where @tio ends can, within the
 * limits. A flush joins another that waits, and is served by it. Both have to
 * be of the same partition, whose statistics they go to.
 *
 * Context: any; @tio must not change meanwhile.
 * Return: true if it can.
 */
VISIBLE_IF_KUNIT bool
mmc_thread_may_merge(const struct mmc_thread_io *tio, struct bio *bio,
		     unsigned int nr_segs, const struct queue_limits *lim)
{
	unsigned int max_sectors;

	if (bio_list_empty(&tio->bios) ||
	    tio->bios.head->bi_bdev != bio->bi_bdev)
		return false;

	if (tio->opf & REQ_PREFLUSH && !tio->nr_sectors)
		return bio->bi_opf & REQ_PREFLUSH && !bio_sectors(bio);

	if ((tio->opf ^ bio->bi_opf) & MMC_THREAD_MERGE_FLAGS ||
	    (tio->opf | bio->bi_opf) & REQ_NOMERGE_FLAGS)
		return false;

	switch (bio_op(bio)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		max_sectors = lim->max_sectors;
		if (tio->nr_segs + nr_segs > lim->max_segments ||
		    mmc_thread_gap(tio->bios.tail, bio, lim))
			return false;
		break;
	case REQ_OP_DISCARD:
		max_sectors = lim->max_discard_sectors;
		break;
	default:
		return false;
	}

	return tio->sector + tio->nr_sectors == bio->bi_iter.bi_sector &&
	       bio_sectors(bio) <= max_sectors &&
	       tio->nr_sectors <= max_sectors - bio_sectors(bio);
}
EXPORT_SYMBOL_IF_KUNIT(mmc_thread_may_merge);

/**
 * mmc_thread_fifo_init - make a FIFO empty
 * @fifo: the FIFO
 *
 * Context: any.
 */
VISIBLE_IF_KUNIT void mmc_thread_fifo_init(struct mmc_thread_fifo *fifo)
{
	unsigned int i;

	INIT_LIST_HEAD(&fifo->queued);
	INIT_LIST_HEAD(&fifo->free);
	for (i = 0; i < MMC_THREAD_DEPTH; i++)
		list_add_tail(&fifo->ios[i].node, &fifo->free);
}
EXPORT_SYMBOL_IF_KUNIT(mmc_thread_fifo_init);

/**
 * mmc_thread_fifo_add - add a bio to a FIFO, if there is room
 * @fifo: the FIFO
 * @bio: the bio, which fits the limits by itself
 * @nr_segs: what mmc_thread_count_segs() says of it
 * @lim: the limits of the disk
 *
 * The bio becomes part of one of the newest I/Os that wait, if it can, so that
 * a few streams do not keep each other from being merged.
 *
 * Context: any; the caller holds the lock of the FIFO.
 * Return: what became of it.
 */
VISIBLE_IF_KUNIT enum mmc_thread_added
mmc_thread_fifo_add(struct mmc_thread_fifo *fifo, struct bio *bio,
		    unsigned int nr_segs, const struct queue_limits *lim)
{
	struct mmc_thread_io *tio;
	unsigned int looked = 0;

	list_for_each_entry_reverse(tio, &fifo->queued, node) {
		if (mmc_thread_may_merge(tio, bio, nr_segs, lim)) {
			bio_list_add(&tio->bios, bio);
			tio->nr_sectors += bio_sectors(bio);
			tio->nr_segs += nr_segs;
			return MMC_THREAD_MERGED;
		}
		/* Do not get ahead of a flush or of what is no block I/O */
		if (bio_list_empty(&tio->bios) || !tio->nr_sectors ||
		    ++looked == MMC_THREAD_LOOKBACK)
			break;
	}

	if (list_empty(&fifo->free))
		return MMC_THREAD_FULL;

	/* The one that was used last is the one that the cache still has */
	tio = list_first_entry(&fifo->free, struct mmc_thread_io, node);
	bio_list_init(&tio->bios);
	bio_list_add(&tio->bios, bio);
	tio->opf = bio->bi_opf;
	tio->sector = bio->bi_iter.bi_sector;
	tio->nr_sectors = bio_sectors(bio);
	tio->nr_segs = nr_segs;
	tio->accounted = false;
	list_move_tail(&tio->node, &fifo->queued);

	return MMC_THREAD_QUEUED;
}
EXPORT_SYMBOL_IF_KUNIT(mmc_thread_fifo_add);

/**
 * mmc_thread_fifo_take - take the oldest I/O from a FIFO
 * @fifo: the FIFO
 *
 * Context: any; the caller holds the lock of the FIFO.
 * Return: the I/O, or NULL if nothing is queued. It uses up room until
 *	mmc_thread_fifo_put() gives it back.
 */
VISIBLE_IF_KUNIT struct mmc_thread_io *
mmc_thread_fifo_take(struct mmc_thread_fifo *fifo)
{
	struct mmc_thread_io *tio;

	tio = list_first_entry_or_null(&fifo->queued, struct mmc_thread_io,
				       node);
	if (tio)
		list_del_init(&tio->node);

	return tio;
}
EXPORT_SYMBOL_IF_KUNIT(mmc_thread_fifo_take);

/**
 * mmc_thread_fifo_put - give an I/O back that was taken
 * @fifo: the FIFO that it was taken from
 * @tio: the I/O, without bios
 *
 * Context: any; the caller holds the lock of the FIFO.
 */
VISIBLE_IF_KUNIT void mmc_thread_fifo_put(struct mmc_thread_fifo *fifo,
					  struct mmc_thread_io *tio)
{
	list_add(&tio->node, &fifo->free);
}
EXPORT_SYMBOL_IF_KUNIT(mmc_thread_fifo_put);

static void mmc_thread_account_start(struct mmc_thread_io *tio)
{
	struct bio *bio = bio_list_peek(&tio->bios);
	struct block_device *bdev = bio->bi_bdev;

	/* As with blk-mq, a flush is accounted for by itself */
	if (!tio->nr_sectors || !blk_queue_io_stat(bdev_get_queue(bdev)))
		return;

	tio->accounted = true;
	tio->start_time = bdev_start_io_acct(bdev, bio_op(bio), jiffies);
}

static void mmc_thread_account_merge(struct bio *bio)
{
	if (!bio_sectors(bio) || !blk_queue_io_stat(bdev_get_queue(bio->bi_bdev)))
		return;

	part_stat_lock();
	part_stat_inc(bio->bi_bdev, merges[op_stat_group(bio_op(bio))]);
	part_stat_unlock();
}

/**
 * mmc_thread_submit_bio - take a bio for a disk of the thread model
 * @bio: the bio
 *
 * Context: process context. Sleeps while the FIFO is full, unless the bio is
 *	REQ_NOWAIT: then it is ended with BLK_STS_AGAIN.
 */
void mmc_thread_submit_bio(struct bio *bio)
{
	struct request_queue *q = bdev_get_queue(bio->bi_bdev);
	struct mmc_queue *mq = q->queuedata;
	struct mmc_thread_queue *tq = mq->thread;
	enum mmc_thread_added added;
	bool slept = false, wake;
	unsigned int nr_segs;
	DEFINE_WAIT(wait);

	bio = bio_split_to_limits(bio);
	if (!bio)
		return;

	nr_segs = mmc_thread_count_segs(bio, &q->limits);

	spin_lock_irq(&mq->lock);

	while ((added = mmc_thread_fifo_add(&tq->fifo, bio, nr_segs,
					    &q->limits)) == MMC_THREAD_FULL) {
		if (bio->bi_opf & REQ_NOWAIT) {
			spin_unlock_irq(&mq->lock);
			bio_wouldblock_error(bio);
			return;
		}
		/* Room is made under the lock, and a wake-up follows */
		prepare_to_wait_exclusive(&tq->space, &wait,
					  TASK_UNINTERRUPTIBLE);
		spin_unlock_irq(&mq->lock);
		io_schedule();
		spin_lock_irq(&mq->lock);
		finish_wait(&tq->space, &wait);
		slept = true;
	}

	if (added == MMC_THREAD_QUEUED) {
		mmc_thread_account_start(list_last_entry(&tq->fifo.queued,
							 struct mmc_thread_io,
							 node));
		wake = tq->hungry;
		tq->hungry = false;
	} else {
		mmc_thread_account_merge(bio);
		wake = false;
	}

	/* One who was woken for room but did not need it passes it on */
	if (slept && !list_empty(&tq->fifo.free))
		wake_up(&tq->space);

	spin_unlock_irq(&mq->lock);

	if (wake)
		wake_up_process(tq->task);
}

/**
 * mmc_thread_drv_op - carry out an operation that is no block I/O
 * @mq: the queue of the disk that it is for
 * @op: what to do
 * @data: what @op works on
 * @count: how many there are in @data
 *
 * As mmc_queue_drv_op(), for a disk of the thread model.
 *
 * Context: process context; sleeps until the operation has been carried out.
 * Return: the result, or -ENODEV if the disk is gone.
 */
int mmc_thread_drv_op(struct mmc_queue *mq, enum mmc_drv_op op, void *data,
		      unsigned int count)
{
	struct mmc_thread_op top = {
		.op	= op,
		.data	= data,
		.count	= count,
		.result	= -EIO,
	};
	struct mmc_thread_queue *tq;

	init_completion(&top.done);

	spin_lock_irq(&mq->lock);

	tq = mq->thread;
	if (!tq || tq->dying) {
		spin_unlock_irq(&mq->lock);
		return -ENODEV;
	}

	list_add_tail(&top.tio.node, &tq->fifo.queued);
	wake_up_process(tq->task);

	spin_unlock_irq(&mq->lock);

	wait_for_completion_io(&top.done);

	return top.result;
}

static void mmc_thread_put_io(struct mmc_thread_queue *tq,
			      struct mmc_thread_io *tio)
{
	struct mmc_queue *mq = tq->mq;
	unsigned long flags;

	spin_lock_irqsave(&mq->lock, flags);
	mmc_thread_fifo_put(&tq->fifo, tio);
	/* Whoever waits has joined the queue under the same lock */
	if (waitqueue_active(&tq->space))
		wake_up(&tq->space);
	spin_unlock_irqrestore(&mq->lock, flags);
}

/* End what is left of an I/O; @done is what is done of it, in sectors */
static void mmc_thread_end_io(struct mmc_thread_queue *tq,
			      struct mmc_thread_io *tio, unsigned int done,
			      blk_status_t status, bool quiet)
{
	struct bio *bio = bio_list_peek(&tio->bios);

	if (unlikely(status) && !quiet)
		pr_err_ratelimited("%s: I/O error, op 0x%x, sector %llu, %u sectors\n",
				   tq->mq->queue->disk->disk_name,
				   (__force u32)(tio->opf & REQ_OP_MASK),
				   (u64)tio->sector + done,
				   tio->nr_sectors - done);

	if (tio->accounted)
		bdev_end_io_acct(bio->bi_bdev, bio_op(bio), done,
				 tio->start_time);

	while ((bio = bio_list_pop(&tio->bios))) {
		if (unlikely(status)) {
			bio->bi_status = status;
			if (quiet)
				bio_set_flag(bio, BIO_QUIET);
		}
		bio_endio(bio);
	}

	mmc_thread_put_io(tq, tio);
}

/* End the bios that the first @bytes are of; more than that is left */
static void mmc_thread_advance(struct mmc_thread_slot *slot, unsigned int bytes)
{
	struct bio_list *bios = &slot->tio->bios;

	slot->left -= bytes >> SECTOR_SHIFT;

	while (bytes >= bio_list_peek(bios)->bi_iter.bi_size) {
		bytes -= bio_list_peek(bios)->bi_iter.bi_size;
		bio_endio(bio_list_pop(bios));
	}

	if (bytes)
		bio_advance(bio_list_peek(bios), bytes);
}

static unsigned int mmc_thread_map_sg(struct mmc_thread_slot *slot,
				      const struct queue_limits *lim)
{
	struct scatterlist *sg = slot->sg;
	struct bvec_iter iter;
	unsigned int done, len;
	struct bio_vec bv;
	phys_addr_t addr;
	struct bio *bio;

	bio_list_for_each(bio, &slot->tio->bios) {
		bio_for_each_bvec(bv, bio, iter) {
			for (done = 0; done < bv.bv_len; done += len) {
				addr = bvec_phys(&bv) + done;
				len = mmc_thread_seg_len(lim, addr,
							 bv.bv_len - done);
				/* A shorter list may have been here before */
				sg_unmark_end(sg);
				sg_set_page(sg++, pfn_to_page(PHYS_PFN(addr)),
					    len, offset_in_page(addr));
			}
		}
	}

	sg_mark_end(sg - 1);

	return sg - slot->sg;
}

static void mmc_thread_fill_io(struct mmc_thread_slot *slot)
{
	struct mmc_thread_io *tio = slot->tio;
	struct bio *bio = bio_list_peek(&tio->bios);
	struct mmc_io *io = &slot->io;

	*io = (struct mmc_io) {
		.op		= bio_op(bio),
		.flags		= mmc_io_flags(tio->opf, slot->single),
		.sector		= bio->bi_iter.bi_sector,
		.nr_sectors	= slot->left,
		.sg		= slot->sg,
	};
	if (io->op == REQ_OP_READ || io->op == REQ_OP_WRITE)
		io->sg_len = mmc_thread_map_sg(slot,
					       &slot->tq->mq->queue->limits);
}

static void mmc_thread_req_done(struct mmc_request *mrq)
{
	struct mmc_thread_slot *slot =
		container_of(mrq, struct mmc_thread_slot, brq.mrq);
	struct mmc_thread_queue *tq = slot->tq;
	struct mmc_queue *mq = tq->mq;
	struct mmc_host *host = mq->card->host;
	unsigned long flags;
	bool end;

	/* Anything but a plain success is for the thread */
	end = mmc_host_can_done_complete(host) &&
	      !(slot->steps & MMC_THREAD_POSTFLUSH) &&
	      slot->brq.data.bytes_xfered == slot->left << SECTOR_SHIFT &&
	      mmc_blk_io_good(mq, &slot->brq);
	if (end) {
		mmc_post_req(host, mrq, 0);
		mmc_thread_end_io(tq, slot->tio, slot->tio->nr_sectors,
				  BLK_STS_OK, false);
	}

	slot->ended = end;

	/* Under the lock, or @tq could be gone before the wake-up */
	spin_lock_irqsave(&mq->lock, flags);
	/* Pairs with mmc_thread(), which then looks at the result */
	smp_store_release(&slot->done, true);
	wake_up_process(tq->task);
	spin_unlock_irqrestore(&mq->lock, flags);
}

static void mmc_thread_prepare(struct mmc_thread_slot *slot)
{
	struct mmc_queue *mq = slot->tq->mq;

	mmc_thread_fill_io(slot);
	mmc_blk_io_prep(mq, &slot->io, &slot->brq);
	slot->brq.mrq.done = mmc_thread_req_done;
	mmc_pre_req(mq->card->host, &slot->brq.mrq);
	slot->prepared = true;
}

static void mmc_thread_unprepare(struct mmc_thread_slot *slot, int err)
{
	if (slot->prepared)
		mmc_post_req(slot->tq->mq->card->host, &slot->brq.mrq, err);
	slot->prepared = false;
}

static blk_status_t mmc_thread_flush(struct mmc_thread_queue *tq)
{
	const struct mmc_io io = { .op = REQ_OP_FLUSH };
	struct block_device *part0 = tq->mq->queue->disk->part0;
	u64 start = ktime_get_ns();
	blk_status_t status;

	status = mmc_blk_issue_sync(tq->mq, &io);

	if (blk_queue_io_stat(tq->mq->queue)) {
		part_stat_lock();
		part_stat_inc(part0, ios[STAT_FLUSH]);
		part_stat_add(part0, nsecs[STAT_FLUSH], ktime_get_ns() - start);
		part_stat_unlock();
	}

	return status;
}

/* End what is left of the I/O and free the slot */
static void mmc_thread_end(struct mmc_thread_slot *slot, blk_status_t status)
{
	struct mmc_thread_io *tio = slot->tio;
	unsigned int done = tio->nr_sectors;
	struct mmc_thread_queue *tq = slot->tq;
	struct mmc_thread_op *top;

	mmc_thread_unprepare(slot, status ? -EIO : 0);

	if (bio_list_empty(&tio->bios)) {
		top = container_of(tio, struct mmc_thread_op, tio);
		complete(&top->done);
		return;
	}

	if (status == BLK_STS_OK && slot->steps & MMC_THREAD_POSTFLUSH)
		status = mmc_thread_flush(tq);

	if (status)
		done -= slot->left;

	mmc_thread_end_io(tq, tio, done, status,
			  mmc_card_removed(tq->mq->card));
}

/* Put the transfer on the bus; false if it could not be, and is ended */
static bool mmc_thread_start_rw(struct mmc_thread_slot *slot)
{
	struct mmc_card *card = slot->tq->mq->card;
	struct mmc_host *host = card->host;
	int err;

	slot->done = false;

	/* Not when it is prepared: a flush in between takes the mark away */
	if (mmc_io_is_write(&slot->io))
		card->written_flag = true;

	err = mmc_start_request(host, &slot->brq.mrq);
	if (!err)
		return true;

	mmc_retune_release(host);
	mmc_thread_end(slot, BLK_STS_IOERR);

	return false;
}

/* Returns whether it is on the bus; if not, it is ended */
static bool mmc_thread_issue(struct mmc_thread_slot *slot)
{
	struct mmc_thread_io *tio = slot->tio;
	struct mmc_thread_queue *tq = slot->tq;
	struct mmc_queue *mq = tq->mq;
	struct mmc_thread_op *top;
	blk_status_t status;

	if (mmc_card_removed(mq->card) || mmc_blk_io_select(mq)) {
		mmc_thread_end(slot, BLK_STS_IOERR);
		return false;
	}

	if (bio_list_empty(&tio->bios)) {
		top = container_of(tio, struct mmc_thread_op, tio);
		top->result = mmc_blk_issue_drv_op(mq, top->op, top->data,
						   top->count);
		mmc_thread_end(slot, BLK_STS_OK);
		return false;
	}

	if (slot->steps & MMC_THREAD_PREFLUSH) {
		status = mmc_thread_flush(tq);
		if (status || !(slot->steps & MMC_THREAD_DATA)) {
			mmc_thread_end(slot, status);
			return false;
		}
		slot->steps &= ~MMC_THREAD_PREFLUSH;
	}

	switch (bio_op(bio_list_peek(&tio->bios))) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		if (!slot->prepared)
			mmc_thread_prepare(slot);
		return mmc_thread_start_rw(slot);
	default:
		mmc_thread_fill_io(slot);
		mmc_thread_end(slot, mmc_blk_issue_sync(mq, &slot->io));
		return false;
	}
}

/* Whether the transfer needs nothing but the bus */
static bool mmc_thread_is_plain(const struct mmc_thread_slot *slot)
{
	struct bio *bio = bio_list_peek(&slot->tio->bios);

	return bio && slot->steps & MMC_THREAD_DATA &&
	       !(slot->steps & MMC_THREAD_PREFLUSH) &&
	       (bio_op(bio) == REQ_OP_READ || bio_op(bio) == REQ_OP_WRITE);
}

/*
 * Deal with the end of the transfer @cur. What is on the bus afterwards is
 * returned, which may be @cur again, or *@next, which is NULL then.
 */
static struct mmc_thread_slot *mmc_thread_finish(struct mmc_thread_slot *cur,
						 struct mmc_thread_slot **next)
{
	struct mmc_queue *mq = cur->tq->mq;
	struct mmc_thread_slot *started = NULL;
	struct mmc_io_verdict verdict;

	if (cur->ended) {
		mmc_blk_io_success(mq, &cur->io);
		return NULL;
	}

	verdict = mmc_blk_io_finish(mq, &cur->io, &cur->brq, &cur->retries);

	switch (verdict.action) {
	case MMC_IO_DONE:
		if (verdict.bytes < cur->left << SECTOR_SHIFT) {
			mmc_thread_unprepare(cur, 0);
			mmc_thread_advance(cur, verdict.bytes);
			break;
		}
		/* The bus need not wait until the bios are ended */
		if (*next && mmc_thread_is_plain(*next) &&
		    !(cur->steps & MMC_THREAD_POSTFLUSH)) {
			if (mmc_thread_issue(*next))
				started = *next;
			*next = NULL;
		}
		mmc_thread_end(cur, BLK_STS_OK);
		return started;
	case MMC_IO_RETRY:
		cur->retries++;
		cur->single = true;
		fallthrough;
	case MMC_IO_AGAIN:
		mmc_thread_unprepare(cur, 0);
		break;
	case MMC_IO_REGULAR:	/* Nothing else was tried */
	case MMC_IO_FAIL:
	case MMC_IO_FAIL_QUIET:
		mmc_thread_end(cur, BLK_STS_IOERR);
		return NULL;
	}

	return mmc_thread_issue(cur) ? cur : NULL;
}

static bool mmc_thread_may_take(const struct mmc_thread_queue *tq)
{
	lockdep_assert_held(&tq->mq->lock);

	return !list_empty(&tq->fifo.queued) && !tq->suspended;
}

/* Take the next I/O and prepare it, in the slot that is not @cur */
static struct mmc_thread_slot *mmc_thread_take(struct mmc_thread_queue *tq,
					       struct mmc_thread_slot *cur)
{
	struct mmc_thread_slot *slot =
		&tq->slots[cur == &tq->slots[0] ? 1 : 0];
	struct mmc_queue *mq = tq->mq;
	struct mmc_thread_io *tio;
	bool claim;

	spin_lock_irq(&mq->lock);
	tq->hungry = false;
	tio = mmc_thread_may_take(tq) ? mmc_thread_fifo_take(&tq->fifo) : NULL;
	claim = tio && !tq->busy && !mmc_card_removed(mq->card);
	if (claim)
		tq->busy = true;
	spin_unlock_irq(&mq->lock);

	if (!tio)
		return NULL;

	if (claim)
		mmc_get_card(mq->card, &mq->ctx);

	slot->tio = tio;
	slot->left = tio->nr_sectors;
	slot->steps = bio_list_empty(&tio->bios) ? 0 :
		      mmc_thread_steps(tio->opf, tio->nr_sectors, tq->fua);
	slot->retries = 0;
	slot->single = false;
	slot->prepared = false;

	if (mmc_thread_is_plain(slot) && !mmc_card_removed(mq->card))
		mmc_thread_prepare(slot);

	return slot;
}

/* Sleep until there is something to do; false if there never will be */
static bool mmc_thread_sleep(struct mmc_thread_queue *tq,
			     struct mmc_thread_slot *cur,
			     struct mmc_thread_slot *next)
{
	struct mmc_queue *mq = tq->mq;
	bool ready, stop = false;

	spin_lock_irq(&mq->lock);

	if (tq->busy && !cur && !next && !mmc_thread_may_take(tq)) {
		spin_unlock_irq(&mq->lock);
		mmc_put_card(mq->card, &mq->ctx);
		spin_lock_irq(&mq->lock);
		WRITE_ONCE(tq->busy, false);
		wake_up(&tq->idle);
	}

	/* Whoever changes what is looked at next wakes the thread after it */
	set_current_state(TASK_IDLE);
	ready = (cur && cur->done) || (!cur && next) ||
		(!next && mmc_thread_may_take(tq));
	if (!ready && !cur && !next)
		stop = kthread_should_stop();
	tq->hungry = !ready && !next;

	spin_unlock_irq(&mq->lock);

	if (!ready && !stop)
		schedule();
	__set_current_state(TASK_RUNNING);

	return !stop;
}

static int mmc_thread(void *data)
{
	struct mmc_thread_queue *tq = data;
	struct mmc_thread_slot *cur = NULL, *next = NULL;
	unsigned int noio = memalloc_noio_save();

	do {
		if (!next)
			next = mmc_thread_take(tq, cur);

		/* Pairs with mmc_thread_req_done() */
		if (cur && smp_load_acquire(&cur->done)) {
			cur = mmc_thread_finish(cur, &next);
		} else if (!cur && next) {
			cur = mmc_thread_issue(next) ? next : NULL;
			next = NULL;
		}
	} while (mmc_thread_sleep(tq, cur, next));

	memalloc_noio_restore(noio);

	return 0;
}

/**
 * mmc_thread_alloc_disk - allocate a disk that a thread serves
 * @mq: the queue, with a card
 * @lim: the limits of the disk
 *
 * Context: process context.
 * Return: the disk or an error pointer. After success, mmc_thread_exit() frees
 *	what @mq needs, and put_disk() the disk.
 */
struct gendisk *mmc_thread_alloc_disk(struct mmc_queue *mq,
				      struct queue_limits *lim)
{
	struct mmc_thread_queue *tq;
	struct gendisk *disk;
	int i;

	if (!lim->max_segments) {
		dev_err(mmc_dev(mq->card->host), "Wrong max_segs assigned\n");
		return ERR_PTR(-EINVAL);
	}

	tq = kzalloc(sizeof(*tq), GFP_KERNEL);
	if (!tq)
		return ERR_PTR(-ENOMEM);

	tq->mq = mq;
	tq->fua = lim->features & BLK_FEAT_FUA;
	init_waitqueue_head(&tq->space);
	init_waitqueue_head(&tq->idle);
	mmc_thread_fifo_init(&tq->fifo);
	mq->thread = tq;

	for (i = 0; i < ARRAY_SIZE(tq->slots); i++) {
		tq->slots[i].tq = tq;
		tq->slots[i].sg = kmalloc_array(lim->max_segments,
						sizeof(struct scatterlist),
						GFP_KERNEL);
		if (!tq->slots[i].sg) {
			mmc_thread_exit(mq);
			return ERR_PTR(-ENOMEM);
		}
		sg_init_table(tq->slots[i].sg, lim->max_segments);
	}

	/* Request based disks get these by default */
	lim->features |= BLK_FEAT_IO_STAT | BLK_FEAT_NOWAIT;

	disk = blk_alloc_disk(lim, NUMA_NO_NODE);
	if (IS_ERR(disk)) {
		mmc_thread_exit(mq);
		return disk;
	}

	disk->queue->queuedata = mq;

	return disk;
}

/**
 * mmc_thread_start - start to serve a disk
 * @mq: the queue of the disk, which has its name
 *
 * Context: process context, before the disk is added.
 * Return: 0 or an error.
 */
int mmc_thread_start(struct mmc_queue *mq)
{
	struct mmc_thread_queue *tq = mq->thread;
	struct task_struct *task;

	task = kthread_create(mmc_thread, tq, "mmcqd/%s",
			      mq->queue->disk->disk_name);
	if (IS_ERR(task))
		return PTR_ERR(task);

	/* As the work items that complete requests in the blk-mq model */
	set_user_nice(task, MIN_NICE);

	tq->task = task;
	wake_up_process(task);

	return 0;
}

/**
 * mmc_thread_exit - stop to serve a disk
 * @mq: the queue, started or not
 *
 * What is queued is served, or fails if the card is gone.
 *
 * Context: process context, after del_gendisk() if the disk was added.
 */
void mmc_thread_exit(struct mmc_queue *mq)
{
	struct mmc_thread_queue *tq = mq->thread;
	int i;

	if (!tq)
		return;

	spin_lock_irq(&mq->lock);
	tq->dying = true;
	tq->suspended = false;
	spin_unlock_irq(&mq->lock);

	if (tq->task)
		kthread_stop(tq->task);

	spin_lock_irq(&mq->lock);
	mq->thread = NULL;
	spin_unlock_irq(&mq->lock);

	for (i = 0; i < ARRAY_SIZE(tq->slots); i++)
		kfree(tq->slots[i].sg);
	kfree(tq);
}

/**
 * mmc_thread_suspend - let nothing start
 * @mq: the queue
 *
 * Context: process context; sleeps until nothing is in flight. The caller must
 *	not have claimed the host.
 */
void mmc_thread_suspend(struct mmc_queue *mq)
{
	struct mmc_thread_queue *tq = mq->thread;

	spin_lock_irq(&mq->lock);
	tq->suspended = true;
	spin_unlock_irq(&mq->lock);

	wait_event(tq->idle, !READ_ONCE(tq->busy));
}

/**
 * mmc_thread_resume - go on after mmc_thread_suspend()
 * @mq: the queue
 *
 * Context: any but interrupts.
 */
void mmc_thread_resume(struct mmc_queue *mq)
{
	struct mmc_thread_queue *tq = mq->thread;

	spin_lock_irq(&mq->lock);
	tq->suspended = false;
	spin_unlock_irq(&mq->lock);

	wake_up_process(tq->task);
}
