// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policy core of the ROW ("Read Over Write") I/O scheduler: a cycle over seven
 * queues with a quantum each, and what makes an exception to it. See
 * row-policy.h for the border between it and the block layer.
 */
#include <linux/ioprio.h>
#include <linux/math64.h>
#include <linux/sizes.h>
#include <linux/time64.h>

#include <kunit/visibility.h>

#include "row-policy.h"

#define CREATE_TRACE_POINTS
#include "row_trace.h"

const char *const row_queue_names[ROW_NR_QUEUES] = {
	[ROW_HP_READ]	= "hp_read",
	[ROW_HP_SWRITE]	= "hp_swrite",
	[ROW_RP_READ]	= "rp_read",
	[ROW_RP_SWRITE]	= "rp_swrite",
	[ROW_RP_WRITE]	= "rp_write",
	[ROW_LP_READ]	= "lp_read",
	[ROW_LP_SWRITE]	= "lp_swrite",
};

static const struct row_tunables row_defaults = {
	/*
	 * A program that starts reads in small pieces, each of which would wait
	 * for one large write if writes took turns with reads. With 100 to one,
	 * one in a hundred does, and a reader of a slow card keeps nine tenths
	 * of what it gets alone. Quanta of one keep that at a single write,
	 * whatever its kind.
	 */
	.quantum = {
		[ROW_HP_READ]	= 100,
		[ROW_HP_SWRITE]	= 1,
		[ROW_RP_READ]	= 100,
		[ROW_RP_SWRITE]	= 1,
		[ROW_RP_WRITE]	= 1,
		[ROW_LP_READ]	= 1,
		[ROW_LP_SWRITE]	= 1,
	},
	/* A read then waits for one write, plus what the device does itself. */
	.write_depth	= 1,
	/* 10 ms for a read to wait on a card that writes 25 MB/s. */
	.write_merge_kb	= 256,
	/* A little longer than the longest read of an eMMC device. */
	.read_idle	= 5 * NSEC_PER_MSEC,
	.read_idle_freq	= 5 * NSEC_PER_MSEC,
	/* Several pauses of a reader that is too slow to wait for. */
	.read_window	= 50 * NSEC_PER_MSEC,
	/* As mq-deadline has it: dirty pages may wait, but not for long. */
	.write_expire	= 5ULL * NSEC_PER_SEC,
	.lp_expire	= 10ULL * NSEC_PER_SEC,
};

/* The time, read once in a call and only if it is asked for. */
static u64 row_now(struct row_policy *rp)
{
	if (!rp->now)
		rp->now = rp->clock(rp);

	return rp->now;
}

static u64 row_expire(const struct row_policy *rp, const struct row_queue *q)
{
	return (q->bit & ROW_LOW) ? rp->tun.lp_expire : rp->tun.write_expire;
}

/**
 * row_policy_retune() - take note of a change of the tunables
 * @rp: the scheduler's state
 *
 * row_policy_update() has to follow before the next dispatch. Requests that are
 * queued keep the limit that they were queued with.
 */
void row_policy_retune(struct row_policy *rp)
{
	struct row_queue *q;

	for (q = rp->queue; q < rp->queue + ROW_NR_QUEUES; q++)
		q->interval = div_u64(row_expire(rp, q), max(q->peak, 1U));
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_retune);

/**
 * row_policy_init() - set up an empty scheduler with the default tunables
 * @rp:		the scheduler's state
 * @clock:	current time, ns, never 0
 */
void row_policy_init(struct row_policy *rp,
		     u64 (*clock)(struct row_policy *rp))
{
	unsigned int i;

	memset(rp, 0, sizeof(*rp));
	for (i = 0; i < ROW_NR_QUEUES; i++) {
		INIT_LIST_HEAD(&rp->queue[i].fifo);
		rp->queue[i].id = i;
		rp->queue[i].bit = BIT(i);
	}
	rp->clock = clock;
	rp->tun = row_defaults;
	row_policy_retune(rp);
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_init);

/**
 * row_policy_classify() - the queue for an operation
 * @opf:	operation and flags, not a passthrough or flush operation
 * @ioprio:	I/O priority, of which the class counts
 *
 * Real-time goes to the high queues, idle to the low ones. A class has one
 * queue for asynchronous writes at most: real-time and idle ones go with the
 * synchronous writes of their class, since the class says what the caller
 * wants.
 *
 * Discard, erase and write zeroes keep a device busy for long and nobody's next
 * step depends on them, so they are background writes even if they are marked
 * as synchronous, as the last one of a range is.
 *
 * Return: the queue.
 */
enum row_queue_id row_policy_classify(blk_opf_t opf, u16 ioprio)
{
	bool read = !op_is_write(opf);

	switch (IOPRIO_PRIO_CLASS(ioprio)) {
	case IOPRIO_CLASS_RT:
		return read ? ROW_HP_READ : ROW_HP_SWRITE;
	case IOPRIO_CLASS_IDLE:
		return read ? ROW_LP_READ : ROW_LP_SWRITE;
	default:
		if (read)
			return ROW_RP_READ;
	}

	switch (opf & REQ_OP_MASK) {
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
	case REQ_OP_WRITE_ZEROES:
		return ROW_RP_WRITE;
	default:
		return op_is_sync(opf) ? ROW_RP_SWRITE : ROW_RP_WRITE;
	}
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_classify);

static struct request *row_head(const struct row_queue *q)
{
	return list_first_entry(&q->fifo, struct request, queuelist);
}

static void row_new_cycle(struct row_policy *rp)
{
	unsigned int i;

	for_each_set_bit(i, &rp->used, ROW_NR_QUEUES)
		rp->queue[i].served = 0;
	rp->used = 0;
	rp->spent = 0;
	rp->cur = 0;
	rp->cycle++;
	trace_row_cycle(rp->dev, rp->cycle);
}

/*
 * Of the bounded queues in @mask, find the one to serve out of turn first, and
 * when: the one with the oldest request if that is past its time, otherwise the
 * one that is first due for its pace.
 *
 * If every request were sent out of turn only when its own time is up, a burst
 * of writes would come back as the same burst later, with the reads behind it.
 * So a queue that had up to N requests is served at least N times in each
 * expiry interval, evenly spread. The last of the N is then sent in time, too.
 */
static int row_first_due(struct row_policy *rp, unsigned long mask, u64 *due)
{
	u64 now = row_now(rp);
	bool expired = false;
	int first = -1, i;

	for_each_set_bit(i, &mask, ROW_NR_QUEUES) {
		const struct row_queue *q = &rp->queue[i];
		u64 t = row_head(q)->fifo_time;

		if (t <= now) {
			if (!expired)
				first = -1;
			expired = true;
		} else if (expired) {
			continue;
		} else {
			t = min(t, q->paced + q->interval);
		}

		if (first < 0 || t < *due) {
			first = i;
			*due = t;
		}
	}

	return first;
}

/*
 * A deep device queue full of writes undoes any order that is kept here, so
 * limit the writes in flight as long as reads are arriving. Such a hold ends
 * with a completion, because write_depth is at least 1, or when reads have not
 * arrived for a while.
 *
 * Return: true if no more writes may be sent, with the time when this ends of
 * itself in @until, or 0 if that cannot be said.
 */
static bool row_writes_blocked(struct row_policy *rp, u64 *until)
{
	*until = 0;

	if (!rp->reading || rp->writes_in_flight < rp->tun.write_depth)
		return false;
	if (rp->reads)
		return true;

	*until = rp->last_read + rp->tun.read_window;
	if (*until <= row_now(rp))
		rp->reading = false;

	return rp->reading;
}

/* Read queues that go before @id, and whose next read is worth waiting for. */
static unsigned long row_idlers(const struct row_policy *rp, int id)
{
	return rp->frequent & ~rp->pending & ~rp->spent & (BIT(id) - 1);
}

/*
 * Is another read of a queue that goes before @id expected soon enough to wait
 * for it? The wait is counted from the end of the last one, as the application
 * cannot ask for the next one earlier.
 *
 * Return: when to look again, %ROW_NEVER if that is when the read in flight
 * ends, or 0 if there is nothing to wait for.
 */
static u64 row_idle_until(struct row_policy *rp, int id, int *which)
{
	unsigned long mask = row_idlers(rp, id);
	u64 until = 0;
	int i;

	for_each_set_bit(i, &mask, ROW_NR_QUEUES) {
		const struct row_queue *q = &rp->queue[i];
		u64 t = ROW_NEVER;

		if (!rp->tun.read_idle) {
			t = 0;
		} else if (!q->in_flight) {
			t = q->last + rp->tun.read_idle;
			if (t <= row_now(rp))
				t = 0;
		}

		if (!t) {
			rp->frequent &= ~BIT(i);
		} else if (t > until) {
			until = t;
			*which = i;
		}
	}

	return until;
}

struct row_choice {
	int		queue;	/* or -1 if nothing may be sent */
	enum row_reason	reason;
	enum row_hold	hold;
	int		hold_queue;
	u64		until;	/* or 0 or ROW_NEVER: an event ends the hold */
};

/*
 * The queue whose turn it is, if it is plain that it can have it: nobody has to
 * look at the clock then. Otherwise -1.
 */
static int row_plain_turn(const struct row_policy *rp)
{
	unsigned long turn = rp->pending & ~rp->spent;
	int id;

	if (!turn)
		return -1;

	id = __ffs(turn);
	if (row_idlers(rp, id) ||
	    ((BIT(id) & ROW_WRITES) && rp->reading &&
	     rp->writes_in_flight >= rp->tun.write_depth))
		return -1;

	return id;
}

/*
 * The decision. Serving the most urgent queue that has requests and quantum
 * left is the same as going round in a cycle in which a queue that was found
 * empty may pre-empt a later one: both leave a queue when it is empty or spent,
 * and come back to it when it has got requests again and is not spent.
 *
 * As long as nothing is inserted, dispatched or ended, time changes the answer
 * only from "nothing" to "something", at @until at the earliest.
 */
static void row_choose(struct row_policy *rp, struct row_choice *c)
{
	unsigned long avail = rp->pending, turn;
	u64 blocked = 0, due = 0, idle = 0;
	int late, first, unused;

	c->hold = ROW_HOLD_NONE;
	c->reason = ROW_TURN;
	c->until = 0;

	if ((avail & ROW_WRITES) && row_writes_blocked(rp, &blocked)) {
		avail &= ~ROW_WRITES;
		if (!avail) {
			c->queue = -1;
			c->hold = ROW_HOLD_WRITES;
			c->hold_queue = __ffs(rp->pending);
			c->until = blocked;
			return;
		}
	}

	turn = avail & ~rp->spent;
	if (!turn) {
		/*
		 * Writes that may not be sent yet keep their turn, but are no
		 * reason to leave the device without reads.
		 */
		if (rp->pending & ~rp->spent)
			c->reason = ROW_BORROW;
		else
			row_new_cycle(rp);
		turn = avail;
	}
	c->queue = __ffs(turn);

	if (row_idlers(rp, c->queue))
		idle = row_idle_until(rp, c->queue, &c->hold_queue);

	/*
	 * When the device cannot keep up, all bounded queues are always late.
	 * Reads still get every other request then.
	 */
	late = -1;
	turn = avail & ROW_BOUNDED;
	if (idle ? turn : (turn & ~BIT(c->queue)) && !rp->out_of_turn)
		late = row_first_due(rp, turn, &due);
	if (late >= 0 && due <= row_now(rp)) {
		/*
		 * The pace alone is no reason to let a real-time read wait, nor
		 * is there one to call it late if its turn has come anyway.
		 */
		if (idle || (late != c->queue &&
			     (c->queue != ROW_HP_READ ||
			      row_head(&rp->queue[late])->fifo_time <= rp->now))) {
			c->queue = late;
			c->reason = ROW_EXPIRED;
			return;
		}
	}

	if (!idle)
		return;

	/* Whoever goes before the read that is waited for may use the time. */
	first = __ffs(avail);
	if (first < c->queue) {
		u64 until = row_idle_until(rp, first, &unused);

		if (!until) {
			c->queue = first;
			c->reason = ROW_BORROW;
			return;
		}
		idle = min(idle, until);
	}

	c->queue = -1;
	c->hold = ROW_HOLD_IDLE;
	c->until = late < 0 ? idle : min(idle, due);
	if (blocked)
		c->until = min(c->until, blocked);
}

static void row_set_hold(struct row_policy *rp, const struct row_choice *c)
{
	rp->wake_at = c->until == ROW_NEVER ? 0 : c->until;

	if (c->hold != rp->hold) {
		if (c->hold == ROW_HOLD_NONE)
			trace_row_resume(rp->dev, rp->hold, c->queue,
					 c->reason);
		else
			trace_row_hold(rp->dev, c->hold, c->hold_queue,
				       rp->wake_at ? rp->wake_at - row_now(rp) :
						     0);
		if (c->hold == ROW_HOLD_IDLE)
			rp->queue[c->hold_queue].idled++;
		rp->hold = c->hold;
	}
	if (c->hold != ROW_HOLD_NONE)
		rp->hold_queue = c->hold_queue;
}

/* As row_policy_update(), in a function that may have read the clock. */
static bool row_update(struct row_policy *rp)
{
	bool was_ready = rp->ready, ready = true;
	struct row_choice c;

	if (!rp->pending) {
		rp->hold = ROW_HOLD_NONE;
		rp->wake_at = 0;
		ready = false;
	} else if (rp->hold != ROW_HOLD_NONE || row_plain_turn(rp) < 0) {
		row_choose(rp, &c);
		row_set_hold(rp, &c);
		ready = c.hold == ROW_HOLD_NONE;
	}
	if (ready != was_ready)
		WRITE_ONCE(rp->ready, ready);

	return ready && !was_ready;
}

/**
 * row_policy_update() - work out again whether something may be dispatched
 * @rp:		the scheduler's state
 *
 * To be called when @rp->wake_at has come, after row_policy_retune(), after
 * insertions and after merges. The other functions do it themselves. Sets
 * @rp->ready, @rp->hold and @rp->wake_at.
 *
 * Return: true if a request may be dispatched now and could not before.
 */
bool row_policy_update(struct row_policy *rp)
{
	rp->now = 0;

	return row_update(rp);
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_update);

static void row_link(struct row_policy *rp, struct row_queue *q,
		     struct request *rq, struct list_head *after)
{
	list_add(&rq->queuelist, after);
	q->nr++;
	WRITE_ONCE(rp->pending, rp->pending | q->bit);
	row_rq_set_queue(rq, q);
	row_rq_set_state(rq, ROW_RQ_QUEUED);
}

static void row_set_peak(const struct row_policy *rp, struct row_queue *q,
			 unsigned int peak)
{
	q->peak = peak;
	q->peak_left = q->nr;
	q->next_peak = 0;
	q->interval = row_expire(rp, q);
	if (peak > 1)
		q->interval = div_u64(q->interval, peak);
}

static void row_unlink(struct row_policy *rp, struct row_queue *q,
		       struct request *rq)
{
	list_del_init(&rq->queuelist);
	if (!--q->nr) {
		WRITE_ONCE(rp->pending, rp->pending & ~q->bit);
		q->peak = 0;
	} else if ((q->bit & ROW_BOUNDED) && !--q->peak_left) {
		/* Those that were here when the peak was set have left. */
		row_set_peak(rp, q, max(q->nr, q->next_peak));
	}
}

/* A request was added to a bounded queue at time @now: see to its pace. */
static void row_set_pace(struct row_policy *rp, struct row_queue *q, u64 now)
{
	if (q->nr == 1)
		q->paced = now;
	if (q->nr > q->peak)
		row_set_peak(rp, q, q->nr);
	else if (q->nr > q->next_peak)
		q->next_peak = q->nr;
}

/* A read of a queue that may idle came or ended. */
static void row_note_read(struct row_policy *rp, struct row_queue *q, u64 now)
{
	q->last = max(q->last, now);
	rp->last_read = max(rp->last_read, now);
}

/*
 * A read of @q has come at time @start, and is not counted yet. Is the next one
 * worth waiting for? A reader that reads ahead asks for it before the last one
 * has ended, however long that takes.
 */
static void row_note_pause(struct row_policy *rp, struct row_queue *q,
			   u64 start)
{
	if (rp->tun.read_idle_freq &&
	    (q->nr || q->in_flight || start < q->last + rp->tun.read_idle_freq))
		rp->frequent |= q->bit;
	else
		rp->frequent &= ~q->bit;
}

static void row_leave_device(struct row_policy *rp, struct row_queue *q)
{
	q->in_flight--;
	if (q->bit & ROW_WRITES)
		rp->writes_in_flight--;
}

/**
 * row_policy_insert() - queue a request
 * @rp:		the scheduler's state
 * @rq:		request whose queue is set
 * @at_head:	put it in front of its queue
 * @start:	when it was made, ns
 *
 * A request that was dispatched before has come back. It keeps its age.
 *
 * row_policy_update() has to follow before the next dispatch, once for any
 * number of insertions.
 */
void row_policy_insert(struct row_policy *rp, struct request *rq, bool at_head,
		       u64 start)
{
	struct row_queue *q = row_rq_queue(rq);
	bool requeued = row_rq_state(rq) == ROW_RQ_DISPATCHED;

	/* All queues are empty, so the cycle has ended. */
	if (!rp->pending)
		row_new_cycle(rp);

	if (requeued) {
		q->requeued++;
		row_leave_device(rp, q);
		rp->now = 0;
		start = row_now(rp);
	} else {
		q->inserted++;
		rq->fifo_time = start;
		if (q->bit & ROW_BOUNDED)
			rq->fifo_time += row_expire(rp, q);
		if (q->bit & ROW_READS) {
			row_note_pause(rp, q, start);
			rp->reading = true;
			rp->reads++;
			row_note_read(rp, q, start);
		}
	}

	row_link(rp, q, rq, at_head ? &q->fifo : q->fifo.prev);
	if (q->bit & ROW_BOUNDED)
		row_set_pace(rp, q, start);

	trace_row_insert(rp->dev, q->id, at_head, requeued, q->nr);
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_insert);

/* Take note of what dispatching a request of @q means for the cycle. */
static void row_account_turn(struct row_policy *rp, struct row_queue *q,
			     enum row_reason reason)
{
	struct row_queue *cur = &rp->queue[rp->cur];

	if (reason == ROW_TURN && q != cur) {
		if (q < cur && (rp->pending & ~rp->spent & cur->bit)) {
			cur->preempted++;
			trace_row_preempt(rp->dev, cur->id, q->id, cur->served);
		}
		rp->cur = q->id;
	}
	if (reason == ROW_EXPIRED)
		q->expired++;
	rp->out_of_turn = reason == ROW_EXPIRED;

	rp->used |= q->bit;
	if (!(rp->spent & q->bit) && ++q->served >= rp->tun.quantum[q->id])
		rp->spent |= q->bit;
}

/**
 * row_policy_dispatch() - take the next request
 * @rp:		the scheduler's state
 *
 * Return: the request, or NULL if there is none or none that may be sent now.
 */
struct request *row_policy_dispatch(struct row_policy *rp)
{
	struct row_choice c = { .reason = ROW_TURN };
	struct row_queue *q;
	struct request *rq;

	if (!rp->pending)
		return NULL;

	rp->now = 0;
	c.queue = row_plain_turn(rp);
	if (c.queue < 0 || (rp->pending & ROW_BOUNDED & ~BIT(c.queue)))
		row_choose(rp, &c);
	if (c.queue < 0) {
		row_update(rp);
		return NULL;
	}

	q = &rp->queue[c.queue];
	rq = row_head(q);
	row_unlink(rp, q, rq);
	row_rq_set_state(rq, ROW_RQ_DISPATCHED);
	q->dispatched++;
	q->in_flight++;
	if (q->bit & ROW_WRITES)
		rp->writes_in_flight++;
	/* For one that is empty it begins with the next insertion. */
	if (q->nr && (q->bit & ROW_BOUNDED))
		q->paced = row_now(rp);
	row_account_turn(rp, q, c.reason);

	trace_row_dispatch(rp->dev, q->id, c.reason, q->served,
			   rp->tun.quantum[q->id], rp->writes_in_flight);

	row_update(rp);

	return rq;
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_dispatch);

/**
 * row_policy_may_grow() - may a queued request become this large
 * @rp:		the scheduler's state
 * @rq:		the request
 * @bytes:	its length after the merge
 *
 * What goes to the device at once is what a read has to wait for, and a write
 * that has become large cannot be taken apart. So small neighbouring writes
 * stay small while reads are arriving.
 *
 * Return: false if the merge is better left undone.
 */
bool row_policy_may_grow(const struct row_policy *rp, const struct request *rq,
			 unsigned int bytes)
{
	return !rp->reading || (rq->cmd_flags & REQ_OP_MASK) != REQ_OP_WRITE ||
	       bytes <= rp->tun.write_merge_kb * SZ_1K;
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_may_grow);

/**
 * row_policy_merged() - a request was absorbed by a queued one
 * @rp:		the scheduler's state
 * @rq:		request that stays
 * @next:	request that goes, queued or about to be, whose queue is set
 *
 * What stays has the place, the age and the urgency of the better of the two,
 * so that merging makes nobody wait longer. row_policy_update() has to follow
 * before the next dispatch.
 */
void row_policy_merged(struct row_policy *rp, struct request *rq,
		       struct request *next)
{
	struct row_queue *q = row_rq_queue(rq), *nq = row_rq_queue(next);
	bool queued = row_rq_state(next) == ROW_RQ_QUEUED;

	/* The I/O priority is the same: @next is synchronous and @rq is not. */
	if (nq < q) {
		row_unlink(rp, q, rq);
		row_link(rp, nq, rq, queued ? &next->queuelist : nq->fifo.prev);
		rp->now = 0;
		if (nq->bit & ROW_BOUNDED)
			row_set_pace(rp, nq, row_now(rp));
		q->inserted--;
		nq->inserted++;
	} else if (queued && nq == q && next->fifo_time < rq->fifo_time) {
		list_move(&rq->queuelist, &next->queuelist);
	}

	if (!queued)
		return;

	rq->fifo_time = min(rq->fifo_time, next->fifo_time);
	row_unlink(rp, nq, next);
	row_rq_set_state(next, ROW_RQ_MERGED);
	nq->merged++;
	if (nq->bit & ROW_READS)
		rp->reads--;
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_merged);

/**
 * row_policy_finish() - the block layer is done with a request
 * @rp:		the scheduler's state
 * @rq:		request, no matter how far it got
 *
 * Return: true if requests were held back and may be dispatched now.
 */
bool row_policy_finish(struct row_policy *rp, struct request *rq)
{
	struct row_queue *q = row_rq_queue(rq);
	enum row_rq_state state = row_rq_state(rq);

	switch (state) {
	case ROW_RQ_NEW:
	case ROW_RQ_MERGED:
		return false;
	case ROW_RQ_QUEUED:
		WARN_ONCE(1, "row: %s request freed while it is queued\n",
			  row_queue_names[q->id]);
		return false;
	case ROW_RQ_DISPATCHED:
	case ROW_RQ_ENDED:
		break;
	}

	rp->now = 0;
	row_rq_set_state(rq, ROW_RQ_NEW);
	q->completed++;
	row_leave_device(rp, q);

	if (q->bit & ROW_READS) {
		rp->reads--;
		row_note_read(rp, q, state == ROW_RQ_ENDED ? rq->fifo_time :
							     row_now(rp));
	}

	/* What is ready to go stays so. */
	if (rp->hold == ROW_HOLD_NONE)
		return false;

	return row_update(rp);
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_finish);

/**
 * row_policy_check() - compare the counts with each other
 * @rp: the scheduler's state
 *
 * Return: the queues, a bit each, whose counts of requests that came and went
 * do not add up to those that are queued and in flight.
 */
unsigned int row_policy_check(const struct row_policy *rp)
{
	unsigned int bad = 0, i;

	for (i = 0; i < ROW_NR_QUEUES; i++) {
		const struct row_queue *q = &rp->queue[i];

		if (q->inserted + q->requeued !=
		    q->merged + q->dispatched + q->nr ||
		    q->dispatched != q->requeued + q->completed + q->in_flight)
			bad |= BIT(i);
	}

	return bad;
}
EXPORT_SYMBOL_IF_KUNIT(row_policy_check);
