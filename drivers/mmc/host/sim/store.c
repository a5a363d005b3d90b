// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: the contents of the card's partitions.
 *
 * Pages exist once something was written to them. What the card keeps in its
 * volatile cache (6.6.34) is held apart from what is programmed, so that a
 * power cut can lose it, and in the order that barriers ask for.
 */
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "card.h"

#define SECTORS		(PAGE_SIZE / MMC_SIM_SECTOR)

/*
 * Enough for a few of the largest requests while the allocator has nothing to
 * give and the work item has not run: 1 MiB with 4 KiB pages.
 */
#define RESERVE		256U

#define GFP_SIM		(GFP_ATOMIC | __GFP_NOWARN)

/*
 * Part of a page that an operation touches, in bytes, and the sectors that
 * hold them. A sector that it covers only in part keeps the rest.
 */
struct span {
	unsigned long index;
	unsigned int from;
	unsigned int len;
	unsigned int first;		/* sector */
	unsigned int end;		/* sector after the last one */
};

static struct span span_at(u64 pos, u64 len)
{
	struct span sp = {
		.index = pos >> PAGE_SHIFT,
		.from = offset_in_page(pos),
	};

	sp.len = min_t(u64, len, PAGE_SIZE - sp.from);
	sp.first = sp.from / MMC_SIM_SECTOR;
	sp.end = DIV_ROUND_UP(sp.from + sp.len, MMC_SIM_SECTOR);
	return sp;
}

/* ------------------------------------------------------------ allocation */

static void page_free(struct mmc_sim_page *p)
{
	free_page((unsigned long)p->data);
	kfree(p);
}

static struct mmc_sim_page *page_new(gfp_t gfp)
{
	struct mmc_sim_page *p = kmalloc(sizeof(*p), gfp);

	if (!p)
		return NULL;
	p->data = (u8 *)__get_free_page(gfp);
	if (!p->data) {
		kfree(p);
		return NULL;
	}
	INIT_LIST_HEAD(&p->node);
	return p;
}

/* Takes @p if the reserve is not full. */
static bool reserve_put(struct mmc_sim_store *s, struct mmc_sim_page *p)
{
	guard(spinlock_irqsave)(&s->reserve_lock);
	if (s->nr_reserve >= RESERVE)
		return false;
	list_add(&p->node, &s->reserve);
	s->nr_reserve++;
	return true;
}

static struct mmc_sim_page *reserve_get(struct mmc_sim_store *s)
{
	struct mmc_sim_page *p;

	guard(spinlock_irqsave)(&s->reserve_lock);
	p = list_first_entry_or_null(&s->reserve, struct mmc_sim_page, node);
	if (p) {
		list_del_init(&p->node);
		s->nr_reserve--;
	}
	return p;
}

static int reserve_fill(struct mmc_sim_store *s)
{
	struct mmc_sim_page *p;

	while (READ_ONCE(s->nr_reserve) < RESERVE) {
		p = page_new(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
		if (!p)
			return -ENOMEM;
		if (!reserve_put(s, p)) {
			page_free(p);
			break;
		}
	}
	return 0;
}

/* After a failure, the next use of the reserve comes back here. */
static void reserve_work(struct work_struct *work)
{
	reserve_fill(container_of(work, struct mmc_sim_store, refill));
}

static struct mmc_sim_page *page_get(struct mmc_sim_store *s,
				     unsigned long index)
{
	struct mmc_sim_page *p = page_new(GFP_SIM);

	if (!p) {
		p = reserve_get(s);
		schedule_work(&s->refill);
		if (!p)
			return NULL;
	}
	p->index = index;
	p->epoch = s->epoch;
	bitmap_zero(p->dirty, SECTORS);
	return p;
}

static void page_put(struct mmc_sim_store *s, struct mmc_sim_page *p)
{
	if (!reserve_put(s, p))
		page_free(p);
}

/*
 * The caller's lock is what keeps the trees consistent. The trees' own locks
 * are taken because the xarray wants them, with interrupts saved, since the
 * caller can be a hard interrupt.
 */
static int tree_store(struct xarray *xa, struct mmc_sim_page *p)
{
	unsigned long flags;
	int err;

	xa_lock_irqsave(xa, flags);
	err = xa_err(__xa_store(xa, p->index, p, GFP_SIM));
	xa_unlock_irqrestore(xa, flags);
	return err;
}

static void tree_erase(struct xarray *xa, unsigned long index)
{
	unsigned long flags;

	xa_lock_irqsave(xa, flags);
	__xa_erase(xa, index);
	xa_unlock_irqrestore(xa, flags);
}

/* ----------------------------------------------------------- programming */

/* The page stays the caller's. */
static void buffer_remove(struct mmc_sim_store *s, struct mmc_sim_page *b)
{
	s->dirty -= bitmap_weight(b->dirty, SECTORS) * MMC_SIM_SECTOR;
	bitmap_zero(b->dirty, SECTORS);
	list_del_init(&b->node);
	tree_erase(&s->buffer, b->index);
}

/* Forget the sectors [first, end) of a buffered page; may free the page. */
static void buffer_clear(struct mmc_sim_store *s, struct mmc_sim_page *b,
			 unsigned int first, unsigned int end)
{
	unsigned int before = bitmap_weight(b->dirty, SECTORS);
	unsigned int after;

	bitmap_clear(b->dirty, first, end - first);
	after = bitmap_weight(b->dirty, SECTORS);
	s->dirty -= (before - after) * MMC_SIM_SECTOR;
	if (!after) {
		buffer_remove(s, b);
		page_put(s, b);
	}
}

static void copy_sectors(u8 *to, const u8 *from, unsigned int first,
			 unsigned int end)
{
	memcpy(to + first * MMC_SIM_SECTOR, from + first * MMC_SIM_SECTOR,
	       (end - first) * MMC_SIM_SECTOR);
}

/*
 * Program a buffered page whole. Where flash has no page yet, the buffered one
 * becomes it, so this needs no memory but for the nodes of the tree.
 */
static int program_page(struct mmc_sim_store *s, struct mmc_sim_page *b)
{
	struct mmc_sim_page *f = xa_load(&s->flash, b->index);
	unsigned int first, end;
	int err;

	if (f) {
		for_each_set_bitrange(first, end, b->dirty, SECTORS)
			copy_sectors(f->data, b->data, first, end);
		buffer_remove(s, b);
		page_put(s, b);
		return 0;
	}

	err = tree_store(&s->flash, b);
	if (err)
		return err;
	for_each_clear_bitrange(first, end, b->dirty, SECTORS)
		memset(b->data + first * MMC_SIM_SECTOR, s->erased_byte,
		       (end - first) * MMC_SIM_SECTOR);
	buffer_remove(s, b);
	return 0;
}

/* The page of flash at @index; erased if it is new. */
static struct mmc_sim_page *flash_page(struct mmc_sim_store *s,
				       unsigned long index)
{
	struct mmc_sim_page *f = xa_load(&s->flash, index);

	if (f)
		return f;
	f = page_get(s, index);
	if (!f)
		return NULL;
	if (tree_store(&s->flash, f)) {
		page_put(s, f);
		return NULL;
	}
	memset(f->data, s->erased_byte, PAGE_SIZE);
	return f;
}

/* Program the buffered ones of the sectors [first, end) of a page. */
static int program_sectors(struct mmc_sim_store *s, struct mmc_sim_page *b,
			   unsigned int first, unsigned int end)
{
	struct mmc_sim_page *f;
	unsigned int from, to;

	if (find_first_bit(b->dirty, SECTORS) >= first &&
	    find_next_bit(b->dirty, SECTORS, end) == SECTORS)
		return program_page(s, b);

	f = flash_page(s, b->index);
	if (!f)
		return -ENOMEM;
	from = first;
	for_each_set_bitrange_from(from, to, b->dirty, end)
		copy_sectors(f->data, b->data, from, to);
	buffer_clear(s, b, first, end);
	return 0;
}

static struct mmc_sim_page *oldest(struct mmc_sim_store *s)
{
	return list_first_entry_or_null(&s->order, struct mmc_sim_page, node);
}

/* Program what was buffered before the first barrier that @epoch is behind. */
static int program_before(struct mmc_sim_store *s, u32 epoch)
{
	struct mmc_sim_page *b;
	int err;

	while ((b = oldest(s)) && b->epoch != epoch) {
		err = program_page(s, b);
		if (err)
			return err;
	}
	return 0;
}

/* ------------------------------------------------------------- interface */

/**
 * mmc_sim_store_init() - make an erased partition
 * @s: store to set up
 * @size: its size in bytes
 * @erased_byte: what an erased byte reads as
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENOMEM.
 */
int mmc_sim_store_init(struct mmc_sim_store *s, u64 size, u8 erased_byte)
{
	memset(s, 0, sizeof(*s));
	xa_init_flags(&s->flash, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&s->buffer, XA_FLAGS_LOCK_IRQ);
	INIT_LIST_HEAD(&s->order);
	INIT_LIST_HEAD(&s->reserve);
	spin_lock_init(&s->reserve_lock);
	INIT_WORK(&s->refill, reserve_work);
	s->size = size;
	s->erased_byte = erased_byte;

	if (size && reserve_fill(s)) {
		mmc_sim_store_destroy(s);
		return -ENOMEM;
	}
	return 0;
}

static void tree_destroy(struct xarray *xa)
{
	struct mmc_sim_page *p;
	unsigned long index;

	xa_for_each(xa, index, p) {
		page_free(p);
		cond_resched();
	}
	xa_destroy(xa);
}

/**
 * mmc_sim_store_destroy() - free everything that a partition holds
 * @s: store that mmc_sim_store_init() set up, also if that failed
 *
 * Context: Process context, may sleep. Nothing else uses @s any more.
 */
void mmc_sim_store_destroy(struct mmc_sim_store *s)
{
	struct mmc_sim_page *p;

	cancel_work_sync(&s->refill);
	tree_destroy(&s->buffer);
	tree_destroy(&s->flash);
	while ((p = reserve_get(s)))
		page_free(p);
	INIT_LIST_HEAD(&s->order);
	s->dirty = 0;
}

/**
 * mmc_sim_store_read() - read what the card would read
 * @s: partition
 * @pos: position in bytes
 * @buf: where to
 * @len: bytes
 *
 * Buffered sectors are read from the buffer, as 6.6.34 asks for; what was never
 * written reads as erased. The caller has checked the range.
 *
 * Context: Any; the caller holds the lock that protects @s.
 */
void mmc_sim_store_read(struct mmc_sim_store *s, u64 pos, void *buf, size_t len)
{
	while (len) {
		struct span sp = span_at(pos, len);
		struct mmc_sim_page *f = xa_load(&s->flash, sp.index);
		struct mmc_sim_page *b = NULL;
		unsigned int first, end;

		if (s->dirty)
			b = xa_load(&s->buffer, sp.index);

		if (f)
			memcpy(buf, f->data + sp.from, sp.len);
		else
			memset(buf, s->erased_byte, sp.len);

		first = sp.first;
		if (b)
			for_each_set_bitrange_from(first, end, b->dirty, sp.end) {
				unsigned int from, to;

				from = max(first * MMC_SIM_SECTOR, sp.from);
				to = min(end * MMC_SIM_SECTOR, sp.from + sp.len);
				memcpy(buf + from - sp.from, b->data + from,
				       to - from);
			}

		pos += sp.len;
		buf += sp.len;
		len -= sp.len;
	}
}

static int write_flash(struct mmc_sim_store *s, const struct span *sp,
		       const void *buf)
{
	struct mmc_sim_page *f = flash_page(s, sp->index);
	struct mmc_sim_page *b = NULL;
	unsigned int last = sp->end - 1;

	if (!f)
		return -ENOMEM;

	if (s->dirty)
		b = xa_load(&s->buffer, sp->index);
	if (b) {
		/* The newest copy of the part that is not written now. */
		if (sp->from % MMC_SIM_SECTOR && test_bit(sp->first, b->dirty))
			copy_sectors(f->data, b->data, sp->first, sp->first + 1);
		if ((sp->from + sp->len) % MMC_SIM_SECTOR &&
		    test_bit(last, b->dirty))
			copy_sectors(f->data, b->data, last, last + 1);
		buffer_clear(s, b, sp->first, sp->end);
	}

	memcpy(f->data + sp->from, buf, sp->len);
	return 0;
}

/* Give a sector that is about to be buffered in part its other part. */
static void buffer_fill(struct mmc_sim_store *s, struct mmc_sim_page *b,
			unsigned int sector)
{
	struct mmc_sim_page *f;

	if (test_bit(sector, b->dirty))
		return;
	f = xa_load(&s->flash, b->index);
	if (f)
		copy_sectors(b->data, f->data, sector, sector + 1);
	else
		memset(b->data + sector * MMC_SIM_SECTOR, s->erased_byte,
		       MMC_SIM_SECTOR);
}

static int write_buffer(struct mmc_sim_store *s, const struct span *sp,
			const void *buf)
{
	struct mmc_sim_page *b = NULL;
	unsigned int before;
	int err;

	if (s->dirty)
		b = xa_load(&s->buffer, sp->index);
	if (b && b->epoch != s->epoch) {
		/*
		 * Overwritten here, this data could not be programmed before
		 * what comes after the barrier any more.
		 */
		err = program_before(s, b->epoch);
		if (!err)
			err = program_page(s, b);
		if (err)
			return err;
		b = NULL;
	}
	if (!b) {
		b = page_get(s, sp->index);
		if (!b)
			return -ENOMEM;
		if (tree_store(&s->buffer, b)) {
			page_put(s, b);
			return -ENOMEM;
		}
		list_add_tail(&b->node, &s->order);
	}

	if (sp->from % MMC_SIM_SECTOR)
		buffer_fill(s, b, sp->first);
	if ((sp->from + sp->len) % MMC_SIM_SECTOR)
		buffer_fill(s, b, sp->end - 1);
	memcpy(b->data + sp->from, buf, sp->len);

	before = bitmap_weight(b->dirty, SECTORS);
	bitmap_set(b->dirty, sp->first, sp->end - sp->first);
	s->dirty += (bitmap_weight(b->dirty, SECTORS) - before) * MMC_SIM_SECTOR;
	return 0;
}

/**
 * mmc_sim_store_write() - write
 * @s: partition
 * @pos: position in bytes
 * @buf: data
 * @len: bytes
 * @durable: program at once instead of buffering
 *
 * A durable write comes after everything that is behind an earlier barrier
 * (6.6.34), so that is programmed before it; what is buffered since the last
 * barrier stays buffered, but for the sectors that are written now.
 *
 * Context: Any; the caller holds the lock that protects @s.
 * Return: 0, or -ENOMEM: the data is written up to the end of some page.
 */
int mmc_sim_store_write(struct mmc_sim_store *s, u64 pos, const void *buf,
			size_t len, bool durable)
{
	int err = 0;

	if (durable && len)
		err = program_before(s, s->epoch);

	while (len && !err) {
		struct span sp = span_at(pos, len);

		if (durable)
			err = write_flash(s, &sp, buf);
		else
			err = write_buffer(s, &sp, buf);
		pos += sp.len;
		buf += sp.len;
		len -= sp.len;
	}
	return err;
}

/**
 * mmc_sim_store_erase() - erase, trim or discard
 * @s: partition
 * @pos: position in bytes, of a sector
 * @len: bytes, whole sectors
 *
 * Erases the buffered copy, too. Its time depends on the pages that exist in
 * the range, not on the length of the range.
 *
 * Context: Any; the caller holds the lock that protects @s.
 * Return: 0, or -ENOMEM if data behind an earlier barrier could not be
 * programmed before; nothing is erased then.
 */
int mmc_sim_store_erase(struct mmc_sim_store *s, u64 pos, u64 len)
{
	struct mmc_sim_page *p;
	unsigned long index, last;
	int err;

	if (!len)
		return 0;
	err = program_before(s, s->epoch);
	if (err)
		return err;

	last = (pos + len - 1) >> PAGE_SHIFT;
	xa_for_each_range(&s->buffer, index, p, pos >> PAGE_SHIFT, last) {
		u64 start = max(pos, (u64)index << PAGE_SHIFT);
		struct span sp = span_at(start, pos + len - start);

		buffer_clear(s, p, sp.first, sp.end);
	}
	xa_for_each_range(&s->flash, index, p, pos >> PAGE_SHIFT, last) {
		u64 start = max(pos, (u64)index << PAGE_SHIFT);
		struct span sp = span_at(start, pos + len - start);

		if (sp.len == PAGE_SIZE) {
			tree_erase(&s->flash, index);
			page_put(s, p);
		} else {
			memset(p->data + sp.from, s->erased_byte, sp.len);
		}
	}
	return 0;
}

/**
 * mmc_sim_store_barrier() - order what is buffered before what comes now
 * @s: partition
 *
 * BARRIER of FLUSH_CACHE (6.6.34): no data that is written from now on is
 * programmed before all that is buffered now.
 *
 * Context: Any; the caller holds the lock that protects @s.
 */
void mmc_sim_store_barrier(struct mmc_sim_store *s)
{
	s->epoch++;
}

/**
 * mmc_sim_store_commit() - program the buffered sectors of a range
 * @s: partition
 * @pos: position in bytes
 * @len: bytes
 *
 * No other sector of their epoch is programmed, so that this and
 * mmc_sim_store_drop() can share a write that HPI interrupted. Data behind an
 * earlier barrier is programmed before them.
 *
 * Context: Any; the caller holds the lock that protects @s.
 * Return: 0, or -ENOMEM: some sectors are still buffered.
 */
int mmc_sim_store_commit(struct mmc_sim_store *s, u64 pos, u64 len)
{
	while (len && s->dirty) {
		struct span sp = span_at(pos, len);
		struct mmc_sim_page *b = xa_load(&s->buffer, sp.index);
		int err;

		if (b && find_next_bit(b->dirty, sp.end, sp.first) < sp.end) {
			err = program_before(s, b->epoch);
			if (!err)
				err = program_sectors(s, b, sp.first, sp.end);
			if (err)
				return err;
		}
		pos += sp.len;
		len -= sp.len;
	}
	return 0;
}

/**
 * mmc_sim_store_drain() - program until little enough is buffered
 * @s: partition
 * @target: bytes that may stay in the buffer
 *
 * Programs whole pages, the oldest first.
 *
 * Context: Any; the caller holds the lock that protects @s.
 * Return: 0, or -ENOMEM: more than @target is still buffered.
 */
int mmc_sim_store_drain(struct mmc_sim_store *s, u64 target)
{
	int err;

	while (s->dirty > target) {
		err = program_page(s, oldest(s));
		if (err)
			return err;
	}
	return 0;
}

/**
 * mmc_sim_store_flush() - program everything that is buffered
 * @s: partition
 *
 * Context: Any; the caller holds the lock that protects @s.
 * Return: 0, or -ENOMEM: some data is still buffered.
 */
int mmc_sim_store_flush(struct mmc_sim_store *s)
{
	return mmc_sim_store_drain(s, 0);
}

/**
 * mmc_sim_store_drop() - forget the buffered sectors of a range
 * @s: partition
 * @pos: position in bytes
 * @len: bytes
 *
 * For programming that HPI interrupts (6.6.23): what was not programmed reads
 * as what flash has.
 *
 * Context: Any; the caller holds the lock that protects @s.
 */
void mmc_sim_store_drop(struct mmc_sim_store *s, u64 pos, u64 len)
{
	while (len && s->dirty) {
		struct span sp = span_at(pos, len);
		struct mmc_sim_page *b = xa_load(&s->buffer, sp.index);

		if (b)
			buffer_clear(s, b, sp.first, sp.end);
		pos += sp.len;
		len -= sp.len;
	}
}

static unsigned int count_epochs(struct mmc_sim_store *s)
{
	struct mmc_sim_page *b, *prev = NULL;
	unsigned int nr = 0;

	list_for_each_entry(b, &s->order, node) {
		if (!prev || prev->epoch != b->epoch)
			nr++;
		prev = b;
	}
	return nr;
}

/**
 * mmc_sim_store_power_cut() - lose the power
 * @s: partition
 * @rnd: where the luck comes from
 *
 * Some epochs survive whole. Of the next one some sectors do, each by itself.
 * Everything after that is lost.
 *
 * Context: Any; the caller holds the lock that protects @s.
 * Return: sectors that were lost. The buffer is empty then.
 */
u64 mmc_sim_store_power_cut(struct mmc_sim_store *s, struct rnd_state *rnd)
{
	unsigned int whole = prandom_u32_state(rnd) % (count_epochs(s) + 1);
	u32 chance = prandom_u32_state(rnd);
	struct mmc_sim_page *b;
	bool alive = true;
	u64 lost = 0;
	u32 epoch;

	while (whole-- && alive) {
		epoch = oldest(s)->epoch;
		while ((b = oldest(s)) && b->epoch == epoch && alive)
			/* Without memory, the power was cut a little earlier. */
			alive = !program_page(s, b);
	}

	b = oldest(s);
	epoch = b ? b->epoch : 0;
	while ((b = oldest(s))) {
		unsigned int sector;

		for_each_set_bit(sector, b->dirty, SECTORS) {
			if (alive && b->epoch == epoch &&
			    prandom_u32_state(rnd) < chance)
				continue;
			__clear_bit(sector, b->dirty);
			s->dirty -= MMC_SIM_SECTOR;
			lost++;
		}
		if (!bitmap_empty(b->dirty, SECTORS) && !program_page(s, b))
			continue;
		lost += bitmap_weight(b->dirty, SECTORS);
		buffer_remove(s, b);
		page_put(s, b);
	}
	return lost;
}
