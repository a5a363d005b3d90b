// SPDX-License-Identifier: GPL-2.0-only
/*
 * ROW ("Read Over Write") I/O scheduler for flash devices. Serves the reads
 * that people wait for first and keeps the device's own queue free for them,
 * with a bound on how long a write can wait.
 *
 * This file connects the policy in row-policy.c to blk-mq.
 */
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sbitmap.h>

#include <trace/events/block.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-debugfs.h"
#include "blk-mq-sched.h"
#include "row-policy.h"

/*
 * Scheduler tags that background writes may take. The page cache makes them as
 * large as the device allows, so these keep it busy, and what is queued here has
 * to be written within write_expire, reads or no reads: eight of 1 MiB each are
 * a third of a second's work for a card that writes 25 MB/s. The rest of the
 * tags is split between reads alone and whatever somebody waits for.
 */
#define ROW_ASYNC_DEPTH		8U

/* Bounds of the tunables. Nobody waits a minute for a read, or needs to. */
#define ROW_QUANTUM_MAX		10000
#define ROW_IDLE_MAX_MS		1000
#define ROW_WINDOW_MAX_MS	60000
#define ROW_EXPIRE_MAX_MS	600000
#define ROW_MERGE_MAX_KB	65536

/**
 * struct row_data - the scheduler of one request queue
 * @lock:	taken with interrupts off, since requests end in interrupts
 * @policy:	the queues and what to do with them
 * @sort:	mergeable queued requests by sector, reads and writes
 * @q:		the request queue
 * @timer:	ends a hold for which no request will come
 * @timer_at:	when @timer fires, ns; 0: it is not armed
 * @async_depth: scheduler tags that asynchronous writes may use
 * @sync_depth:	scheduler tags that synchronous writes may use
 */
struct row_data {
	/* Protects @policy, @timer_at, @sort and the elevator's merge hash. */
	spinlock_t		lock;
	struct row_policy	policy;
	struct rb_root		sort[2];
	struct request_queue	*q;
	struct hrtimer		timer;
	u64			timer_at;
	unsigned int		async_depth;
	unsigned int		sync_depth;
};

static struct row_data *row_of(struct request_queue *q)
{
	return q->elevator->elevator_data;
}

static struct row_queue *row_classify(struct row_data *row, blk_opf_t opf,
				      u16 ioprio)
{
	return &row->policy.queue[row_policy_classify(opf, ioprio)];
}

static struct rb_root *row_root(struct row_data *row, struct request *rq)
{
	return &row->sort[rq_data_dir(rq)];
}

/*
 * The timer is moved only to an earlier time. If the hold ended in another way,
 * it fires for nothing once, which costs less than cancelling it each time.
 */
static void row_arm_timer(struct row_data *row)
{
	u64 at = row->policy.wake_at;

	lockdep_assert_held(&row->lock);

	if (!at || (row->timer_at && row->timer_at <= at))
		return;

	row->timer_at = at;
	hrtimer_start(&row->timer, ns_to_ktime(at), HRTIMER_MODE_ABS);
}

/* To be called before the lock is dropped. */
static bool row_update(struct row_data *row)
{
	bool run = row_policy_update(&row->policy);

	row_arm_timer(row);

	return run;
}

static u64 row_clock(struct row_policy *rp)
{
	return ktime_get_ns();
}

static enum hrtimer_restart row_timer_fn(struct hrtimer *timer)
{
	struct row_data *row = container_of(timer, struct row_data, timer);
	bool run;

	scoped_guard(spinlock_irqsave, &row->lock) {
		row->timer_at = 0;
		run = row_update(row);
	}

	/* Drivers that sleep in queue_rq() are run from a work item, too. */
	if (run)
		blk_mq_run_hw_queues(row->q, true);

	return HRTIMER_NORESTART;
}

/* Take @rq off everything by which it could be found for merging. */
static void row_forget(struct row_data *row, struct request *rq)
{
	struct request_queue *q = rq->q;

	lockdep_assert_held(&row->lock);

	if (!RB_EMPTY_NODE(&rq->rb_node))
		elv_rb_del(row_root(row, rq), rq);
	elv_rqhash_del(q, rq);
	if (q->last_merge == rq)
		q->last_merge = NULL;
}

static void row_prepare_request(struct request *rq)
{
	row_rq_set_queue(rq, NULL);
	row_rq_set_state(rq, ROW_RQ_NEW);
}

static void row_insert_request(struct row_data *row, struct request *rq,
			       blk_insert_t flags, struct list_head *free)
{
	bool at_head = flags & BLK_MQ_INSERT_AT_HEAD;
	struct request_queue *q = row->q;

	lockdep_assert_held(&row->lock);

	/* A request that comes back goes where it was. */
	if (!row_rq_queue(rq))
		row_rq_set_queue(rq, row_classify(row, rq->cmd_flags,
						  req_get_ioprio(rq)));

	if (blk_mq_sched_try_insert_merge(q, rq, free))
		return;

	trace_block_rq_insert(rq);

	row_policy_insert(&row->policy, rq, at_head, rq->start_time_ns);

	if (rq_mergeable(rq)) {
		elv_rb_add(row_root(row, rq), rq);
		elv_rqhash_add(q, rq);
		if (!q->last_merge)
			q->last_merge = rq;
	}
}

static void row_insert_requests(struct blk_mq_hw_ctx *hctx,
				struct list_head *list, blk_insert_t flags)
{
	struct row_data *row = row_of(hctx->queue);
	LIST_HEAD(free);

	scoped_guard(spinlock_irq, &row->lock) {
		while (!list_empty(list)) {
			struct request *rq;

			rq = list_first_entry(list, struct request, queuelist);
			list_del_init(&rq->queuelist);
			row_insert_request(row, rq, flags, &free);
		}
		row_update(row);
	}

	blk_mq_free_requests(&free);
}

static struct request *row_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct row_data *row = row_of(hctx->queue);
	struct request *rq;

	guard(spinlock_irq)(&row->lock);

	rq = row_policy_dispatch(&row->policy);
	if (rq) {
		row_forget(row, rq);
		rq->rq_flags |= RQF_STARTED;
	}
	row_arm_timer(row);

	return rq;
}

/*
 * False while requests are held back. Otherwise blk-mq would ask, get nothing
 * and ask again every 3 ms. Whatever makes it true either comes with an
 * insertion, after which blk-mq runs the queue, or runs the queue itself, after
 * the lock has been dropped.
 */
static bool row_has_work(struct blk_mq_hw_ctx *hctx)
{
	return READ_ONCE(row_of(hctx->queue)->policy.ready);
}

/* blk-mq has read the clock already; keep that for row_finish_request(). */
static void row_completed_request(struct request *rq, u64 now)
{
	if (row_rq_state(rq) == ROW_RQ_DISPATCHED) {
		rq->fifo_time = now;
		row_rq_set_state(rq, ROW_RQ_ENDED);
	}
}

/*
 * Comes once for each request that was prepared, from any context: not
 * inserted, merged, ended by the device, or failed. A request that the driver
 * requeued is still counted as in flight until it is inserted again, so it
 * makes no difference if blk-mq puts it on a hardware queue's dispatch list
 * instead.
 */
static void row_finish_request(struct request *rq)
{
	struct row_data *row = row_of(rq->q);
	enum row_rq_state state = row_rq_state(rq);
	bool run;

	if (state == ROW_RQ_NEW || state == ROW_RQ_MERGED)
		return;

	scoped_guard(spinlock_irqsave, &row->lock) {
		run = row_policy_finish(&row->policy, rq);
		row_arm_timer(row);
	}

	/* The request holds a reference on the queue until after this. */
	if (run)
		blk_mq_run_hw_queues(row->q, true);
}

/*
 * A read that gets no scheduler tag never reaches the scheduler, so leave some
 * that writes cannot have. Background writes leave some to other writes as
 * well.
 */
static void row_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct row_data *row = row_of(data->q);

	if (!op_is_write(opf))
		return;

	data->shallow_depth = op_is_sync(opf) ? row->sync_depth :
						row->async_depth;
}

/* The queue is quiesced or frozen. */
static void row_depth_updated(struct request_queue *q)
{
	struct row_data *row = row_of(q);
	unsigned int most = max(q->nr_requests - 1, 1U);

	row->async_depth = clamp(q->async_depth, 1U, most);
	row->sync_depth = row->async_depth + (most - row->async_depth) / 2;
	blk_mq_set_min_shallow_depth(q, row->async_depth);
}

static bool row_bio_merge(struct request_queue *q, struct bio *bio,
			  unsigned int nr_segs)
{
	struct row_data *row = row_of(q);
	struct request *free = NULL;
	bool merged;

	if (!READ_ONCE(row->policy.pending))
		return false;

	scoped_guard(spinlock_irq, &row->lock) {
		merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
		/* Two requests became one, perhaps a more urgent one. */
		if (free)
			row_update(row);
	}

	if (free)
		blk_mq_free_request(free);

	return merged;
}

/*
 * A bio that is more urgent than a request must not wait with it, nor a read for
 * what merging has made of small writes.
 */
static bool row_allow_merge(struct request_queue *q, struct request *rq,
			    struct bio *bio)
{
	struct row_data *row = row_of(q);
	struct row_queue *rowq = row_rq_queue(rq);

	if (!rowq)
		rowq = row_classify(row, rq->cmd_flags, req_get_ioprio(rq));

	return row_classify(row, bio->bi_opf, bio->bi_ioprio) >= rowq &&
	       row_policy_may_grow(&row->policy, rq,
				   blk_rq_bytes(rq) + bio->bi_iter.bi_size);
}

/* elv_merge() has looked for a back merge; look for a front merge. */
static int row_request_merge(struct request_queue *q, struct request **req,
			     struct bio *bio)
{
	struct row_data *row = row_of(q);
	struct request *rq;

	rq = elv_rb_find(&row->sort[bio_data_dir(bio)], bio_end_sector(bio));
	if (!rq || !elv_bio_merge_ok(rq, bio))
		return ELEVATOR_NO_MERGE;

	*req = rq;
	return blk_discard_mergable(rq) ? ELEVATOR_DISCARD_MERGE :
					  ELEVATOR_FRONT_MERGE;
}

static void row_request_merged(struct request_queue *q, struct request *rq,
			       enum elv_merge type)
{
	struct row_data *row = row_of(q);

	lockdep_assert_held(&row->lock);

	/* Its first sector has changed. */
	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(row_root(row, rq), rq);
		elv_rb_add(row_root(row, rq), rq);
	}
}

static void row_requests_merged(struct request_queue *q, struct request *rq,
				struct request *next)
{
	struct row_data *row = row_of(q);

	lockdep_assert_held(&row->lock);

	row_forget(row, next);
	row_policy_merged(&row->policy, rq, next);
}

static void *row_alloc_sched_data(struct request_queue *q)
{
	struct row_data *row;

	row = kzalloc_node(sizeof(*row), GFP_KERNEL, q->node);
	if (!row)
		return NULL;

	spin_lock_init(&row->lock);
	row_policy_init(&row->policy, row_clock);
	row->policy.dev = disk_devt(q->disk);
	row->sort[READ] = RB_ROOT;
	row->sort[WRITE] = RB_ROOT;
	row->q = q;
	hrtimer_setup(&row->timer, row_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS);

	return row;
}

static void row_free_sched_data(void *data)
{
	kfree(data);
}

static int row_init_sched(struct request_queue *q, struct elevator_queue *eq)
{
	/* There is one order for the whole device. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);

	q->elevator = eq;
	q->async_depth = ROW_ASYNC_DEPTH;
	row_depth_updated(q);

	return 0;
}

/* The queue is frozen, so every request that came in must have left. */
static void row_exit_sched(struct elevator_queue *e)
{
	struct row_data *row = e->elevator_data;
	const struct row_policy *rp = &row->policy;
	unsigned int bad, i;

	hrtimer_cancel(&row->timer);

	guard(spinlock_irq)(&row->lock);

	bad = row_policy_check(rp);
	for (i = 0; i < ROW_NR_QUEUES; i++) {
		const struct row_queue *q = &rp->queue[i];

		if (!(bad & BIT(i)) && !q->nr && !q->in_flight &&
		    list_empty(&q->fifo))
			continue;

		WARN_ONCE(1, "row: %s: queued %u in_flight %u inserted %lu merged %lu dispatched %lu requeued %lu completed %lu\n",
			  row_queue_names[i], q->nr, q->in_flight, q->inserted,
			  q->merged, q->dispatched, q->requeued, q->completed);
	}
	WARN_ONCE(rp->pending || rp->reads || rp->writes_in_flight,
		  "row: pending %#lx reads %u writes_in_flight %u\n",
		  rp->pending, rp->reads, rp->writes_in_flight);
}

/* sysfs attributes */

/**
 * struct row_tunable - how a member of struct row_tunables is shown and set
 * @offset:	where it is
 * @msec:	it is a u64 in ns, shown in ms; otherwise an unsigned int
 * @min:	least allowed value
 * @max:	largest allowed value
 */
struct row_tunable {
	size_t		offset;
	bool		msec;
	unsigned int	min;
	unsigned int	max;
};

static ssize_t row_show(struct elevator_queue *e, char *page,
			const struct row_tunable *info)
{
	struct row_data *row = e->elevator_data;
	void *val = (void *)&row->policy.tun + info->offset;

	guard(spinlock_irq)(&row->lock);

	if (info->msec)
		return sysfs_emit(page, "%llu\n",
				  div_u64(*(u64 *)val, NSEC_PER_MSEC));
	return sysfs_emit(page, "%u\n", *(unsigned int *)val);
}

static ssize_t row_store(struct elevator_queue *e, const char *page,
			 size_t count, const struct row_tunable *info)
{
	struct row_data *row = e->elevator_data;
	void *val = (void *)&row->policy.tun + info->offset;
	unsigned int data;
	bool run;

	if (kstrtouint(page, 0, &data) || data < info->min || data > info->max)
		return -EINVAL;

	scoped_guard(spinlock_irq, &row->lock) {
		if (info->msec)
			*(u64 *)val = (u64)data * NSEC_PER_MSEC;
		else
			*(unsigned int *)val = data;
		row_policy_retune(&row->policy);
		run = row_update(row);
	}

	if (run)
		blk_mq_run_hw_queues(row->q, true);

	return count;
}

#define ROW_QUANTUM(name, id)						\
static const struct row_tunable row_##name = {				\
	.offset	= offsetof(struct row_tunables, quantum[id]),		\
	.min	= 1,							\
	.max	= ROW_QUANTUM_MAX,					\
}

#define ROW_MSEC(name, least, most)					\
static const struct row_tunable row_##name = {				\
	.offset	= offsetof(struct row_tunables, name),			\
	.msec	= true,							\
	.min	= (least),						\
	.max	= (most),						\
}

ROW_QUANTUM(hp_read_quantum, ROW_HP_READ);
ROW_QUANTUM(hp_swrite_quantum, ROW_HP_SWRITE);
ROW_QUANTUM(rp_read_quantum, ROW_RP_READ);
ROW_QUANTUM(rp_swrite_quantum, ROW_RP_SWRITE);
ROW_QUANTUM(rp_write_quantum, ROW_RP_WRITE);
ROW_QUANTUM(lp_read_quantum, ROW_LP_READ);
ROW_QUANTUM(lp_swrite_quantum, ROW_LP_SWRITE);
ROW_MSEC(read_idle, 0, ROW_IDLE_MAX_MS);
ROW_MSEC(read_idle_freq, 0, ROW_IDLE_MAX_MS);
ROW_MSEC(read_window, 0, ROW_WINDOW_MAX_MS);
ROW_MSEC(write_expire, 1, ROW_EXPIRE_MAX_MS);
ROW_MSEC(lp_expire, 1, ROW_EXPIRE_MAX_MS);
#undef ROW_MSEC
#undef ROW_QUANTUM

static const struct row_tunable row_write_depth = {
	.offset	= offsetof(struct row_tunables, write_depth),
	.min	= 1,
	.max	= BLK_MQ_MAX_DEPTH,
};

static const struct row_tunable row_write_merge_kb = {
	.offset	= offsetof(struct row_tunables, write_merge_kb),
	.min	= 4,
	.max	= ROW_MERGE_MAX_KB,
};

#define ROW_ATTR_FNS(name)						\
static ssize_t row_##name##_show(struct elevator_queue *e, char *page)	\
{									\
	return row_show(e, page, &row_##name);				\
}									\
									\
static ssize_t row_##name##_store(struct elevator_queue *e,		\
				  const char *page, size_t count)	\
{									\
	return row_store(e, page, count, &row_##name);			\
}

ROW_ATTR_FNS(hp_read_quantum)
ROW_ATTR_FNS(hp_swrite_quantum)
ROW_ATTR_FNS(rp_read_quantum)
ROW_ATTR_FNS(rp_swrite_quantum)
ROW_ATTR_FNS(rp_write_quantum)
ROW_ATTR_FNS(lp_read_quantum)
ROW_ATTR_FNS(lp_swrite_quantum)
ROW_ATTR_FNS(read_idle)
ROW_ATTR_FNS(read_idle_freq)
ROW_ATTR_FNS(read_window)
ROW_ATTR_FNS(write_expire)
ROW_ATTR_FNS(lp_expire)
ROW_ATTR_FNS(write_depth)
ROW_ATTR_FNS(write_merge_kb)
#undef ROW_ATTR_FNS

#define ROW_ATTR(name) __ATTR(name, 0644, row_##name##_show, row_##name##_store)

static const struct elv_fs_entry row_attrs[] = {
	ROW_ATTR(hp_read_quantum),
	ROW_ATTR(hp_swrite_quantum),
	ROW_ATTR(rp_read_quantum),
	ROW_ATTR(rp_swrite_quantum),
	ROW_ATTR(rp_write_quantum),
	ROW_ATTR(lp_read_quantum),
	ROW_ATTR(lp_swrite_quantum),
	ROW_ATTR(read_idle),
	ROW_ATTR(read_idle_freq),
	ROW_ATTR(read_window),
	ROW_ATTR(write_expire),
	ROW_ATTR(lp_expire),
	ROW_ATTR(write_depth),
	ROW_ATTR(write_merge_kb),
	__ATTR_NULL
};

#undef ROW_ATTR

#ifdef CONFIG_BLK_DEBUG_FS
static int row_queues_show(void *data, struct seq_file *m)
{
	struct row_data *row = row_of(data);
	unsigned int i;

	guard(spinlock_irq)(&row->lock);

	seq_printf(m, "%-10s %6s %9s %10s %10s %10s %10s %10s %10s %10s %10s\n",
		   "queue", "queued", "in_flight", "inserted", "merged",
		   "dispatched", "requeued", "completed", "preempted",
		   "expired", "idled");
	for (i = 0; i < ROW_NR_QUEUES; i++) {
		const struct row_queue *q = &row->policy.queue[i];

		seq_printf(m, "%-10s %6u %9u %10lu %10lu %10lu %10lu %10lu %10lu %10lu %10lu\n",
			   row_queue_names[i], q->nr, q->in_flight, q->inserted,
			   q->merged, q->dispatched, q->requeued, q->completed,
			   q->preempted, q->expired, q->idled);
	}

	return 0;
}

static int row_cycle_show(void *data, struct seq_file *m)
{
	struct row_data *row = row_of(data);
	const struct row_policy *rp = &row->policy;
	unsigned int i;

	guard(spinlock_irq)(&row->lock);

	seq_printf(m, "cycle %lu at %s\n", rp->cycle, row_queue_names[rp->cur]);
	for (i = 0; i < ROW_NR_QUEUES; i++)
		seq_printf(m, "%s %u/%u\n", row_queue_names[i],
			   rp->queue[i].served, rp->tun.quantum[i]);

	return 0;
}

static int row_hold_show(void *data, struct seq_file *m)
{
	static const char *const names[] = {
		[ROW_HOLD_NONE]		= "none",
		[ROW_HOLD_IDLE]		= "idle",
		[ROW_HOLD_WRITES]	= "writes",
	};
	struct row_data *row = row_of(data);
	const struct row_policy *rp = &row->policy;

	guard(spinlock_irq)(&row->lock);

	seq_printf(m, "%s", names[rp->hold]);
	if (rp->hold != ROW_HOLD_NONE)
		seq_printf(m, " for %s", row_queue_names[rp->hold_queue]);
	seq_printf(m, " reads=%u writes_in_flight=%u async_depth=%u sync_depth=%u\n",
		   rp->reads, rp->writes_in_flight, row->async_depth,
		   row->sync_depth);

	return 0;
}

static const struct blk_mq_debugfs_attr row_queue_debugfs_attrs[] = {
	{"queues", 0400, row_queues_show},
	{"cycle", 0400, row_cycle_show},
	{"hold", 0400, row_hold_show},
	{},
};
#endif

static struct elevator_type row_sched = {
	.ops = {
		.alloc_sched_data	= row_alloc_sched_data,
		.free_sched_data	= row_free_sched_data,
		.init_sched		= row_init_sched,
		.exit_sched		= row_exit_sched,
		.depth_updated		= row_depth_updated,
		.limit_depth		= row_limit_depth,
		.prepare_request	= row_prepare_request,
		.insert_requests	= row_insert_requests,
		.dispatch_request	= row_dispatch_request,
		.has_work		= row_has_work,
		.completed_request	= row_completed_request,
		.finish_request		= row_finish_request,
		.allow_merge		= row_allow_merge,
		.bio_merge		= row_bio_merge,
		.request_merge		= row_request_merge,
		.request_merged		= row_request_merged,
		.requests_merged	= row_requests_merged,
		.former_request		= elv_rb_former_request,
		.next_request		= elv_rb_latter_request,
	},
#ifdef CONFIG_BLK_DEBUG_FS
	.queue_debugfs_attrs = row_queue_debugfs_attrs,
#endif
	.elevator_attrs = row_attrs,
	.elevator_name = "row",
	.elevator_owner = THIS_MODULE,
};

MODULE_ALIAS("row-iosched");

static int __init row_init(void)
{
	return elv_register(&row_sched);
}

static void __exit row_exit(void)
{
	elv_unregister(&row_sched);
}

module_init(row_init);
module_exit(row_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("ROW (Read Over Write) I/O scheduler");
