/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policy core of the ROW ("Read Over Write") I/O scheduler: which queue is
 * served next, when to wait for the next read, when a write's time has come.
 *
 * The core knows struct request only as a list entry with a time and two
 * private words, has its clock from outside and calls nothing in the block
 * layer, so that a test can drive it.
 */
#ifndef _ROW_POLICY_H
#define _ROW_POLICY_H

#include <linux/bits.h>
#include <linux/blk-mq.h>
#include <linux/list.h>
#include <linux/types.h>

/* The queues, the most urgent first. A dispatch cycle serves them in order. */
enum row_queue_id {
	ROW_HP_READ,
	ROW_HP_SWRITE,
	ROW_RP_READ,
	ROW_RP_SWRITE,
	ROW_RP_WRITE,
	ROW_LP_READ,
	ROW_LP_SWRITE,
	ROW_NR_QUEUES,
};

/* Reads that somebody waits for. Idle-class reads hold nobody back. */
#define ROW_READS	(BIT(ROW_HP_READ) | BIT(ROW_RP_READ))
#define ROW_WRITES	(BIT(ROW_HP_SWRITE) | BIT(ROW_RP_SWRITE) | \
			 BIT(ROW_RP_WRITE) | BIT(ROW_LP_SWRITE))
#define ROW_LOW		(BIT(ROW_LP_READ) | BIT(ROW_LP_SWRITE))
/* Queues whose requests are sent out of turn when they have waited too long. */
#define ROW_BOUNDED	(ROW_WRITES | ROW_LOW)

/* A hold without a time at which it ends of itself. */
#define ROW_NEVER	U64_MAX

/* Where a request is, as far as the scheduler is concerned. */
enum row_rq_state {
	ROW_RQ_NEW,		/* not inserted, or merged at insertion */
	ROW_RQ_QUEUED,		/* in a queue */
	ROW_RQ_DISPATCHED,	/* with blk-mq, the driver or the device */
	ROW_RQ_ENDED,		/* ended, rq->fifo_time says when */
	ROW_RQ_MERGED,		/* absorbed by another request */
};

/* Why a request was chosen. */
enum row_reason {
	ROW_TURN,		/* its queue's turn in the cycle */
	ROW_BORROW,		/* the queue whose turn it is has to wait */
	ROW_EXPIRED,		/* it has waited for its share of the bound */
};

/* Why nothing is dispatched although something is queued. */
enum row_hold {
	ROW_HOLD_NONE,
	ROW_HOLD_IDLE,		/* the next read is expected any moment */
	ROW_HOLD_WRITES,	/* enough writes are in flight beside reads */
};

/**
 * struct row_queue - one of the seven queues
 * @fifo:	requests in order of arrival, requeued ones in front
 * @id:		which one it is
 * @bit:	BIT(@id)
 * @nr:		length of @fifo
 * @peak:	no request in @fifo found more than this, itself included, when it
 *		came; the queue is served at least @peak times in each expiry
 *		interval
 * @peak_left:	requests that leave until @peak is worked out again
 * @next_peak:	largest @nr since @peak was worked out
 * @served:	requests of the quantum that were used in this cycle
 * @in_flight:	requests that were dispatched and neither ended nor came back
 * @last:	time of the last insertion or completion (reads), ns
 * @paced:	time of the last dispatch, or of the insertion into the empty
 *		queue (bounded queues), ns
 * @interval:	expiry / @peak (bounded queues), ns
 * @inserted:	requests that came in, less those that merging moved away
 * @merged:	requests that left because another one absorbed them
 * @dispatched:	requests that left to be sent
 * @requeued:	requests that came back after they had been dispatched
 * @completed:	dispatched requests that ended
 * @preempted:	times that a more urgent queue took over
 * @expired:	requests dispatched out of turn
 * @idled:	times that dispatch waited for this queue's next read
 */
struct row_queue {
	struct list_head	fifo;
	enum row_queue_id	id;
	unsigned long		bit;
	unsigned int		nr;
	unsigned int		peak;
	unsigned int		peak_left;
	unsigned int		next_peak;
	unsigned int		served;
	unsigned int		in_flight;
	u64			last;
	u64			paced;
	u64			interval;

	unsigned long		inserted;
	unsigned long		merged;
	unsigned long		dispatched;
	unsigned long		requeued;
	unsigned long		completed;
	unsigned long		preempted;
	unsigned long		expired;
	unsigned long		idled;
};

/**
 * struct row_tunables - what the administrator can set
 * @quantum:		requests of each queue in a cycle, at least 1
 * @write_depth:	writes in flight while reads are arriving, at least 1
 * @write_merge_kb:	largest write that is made by merging while reads are
 *			arriving, KiB
 * @read_idle:		longest wait for the next read, ns; 0: never wait
 * @read_idle_freq:	a pause shorter than this before a read makes it worth
 *			waiting for the next one, ns; 0: never wait
 * @read_window:	reads count as arriving for this long after the last, ns
 * @write_expire:	longest wait of a regular or high-priority write, ns
 * @lp_expire:		longest wait in a low-priority queue, ns
 */
struct row_tunables {
	unsigned int	quantum[ROW_NR_QUEUES];
	unsigned int	write_depth;
	unsigned int	write_merge_kb;
	u64		read_idle;
	u64		read_idle_freq;
	u64		read_window;
	u64		write_expire;
	u64		lp_expire;
};

/**
 * struct row_policy - state of the scheduler for one request queue
 * @queue:		the queues
 * @tun:		the tunables
 * @dev:		device number for the tracepoints
 * @clock:		current time, ns; read only if the time makes a difference
 * @now:		what @clock said in this call of a function, or 0
 * @ready:		the next dispatch will yield a request; may be read
 *			without the lock
 * @out_of_turn:	the last request was dispatched as %ROW_EXPIRED
 * @hold:		why nothing is dispatched
 * @hold_queue:		the read queue waited for during %ROW_HOLD_IDLE
 * @wake_at:		when to call row_policy_update() next, ns; 0: not at all
 * @pending:		queues that are not empty, a bit each; may be read without
 *			the lock
 * @used:		queues that were served in this cycle, a bit each
 * @spent:		those of @used that have used their quantum
 * @frequent:		read queues whose last read came soon enough after the one
 *			before to wait for the next, a bit each
 * @cur:		queue that the cycle has reached
 * @cycle:		number of the cycle
 * @reading:		reads have been arriving, and may be still
 * @reads:		requests of %ROW_READS that are queued or in flight
 * @writes_in_flight:	requests of %ROW_WRITES that are in flight
 * @last_read:		time of the last insertion or completion of one of
 *			%ROW_READS, ns
 *
 * The caller serialises all functions on one row_policy.
 */
struct row_policy {
	struct row_queue	queue[ROW_NR_QUEUES];
	struct row_tunables	tun;
	dev_t			dev;

	u64			(*clock)(struct row_policy *rp);
	u64			now;
	bool			ready;
	bool			out_of_turn;
	enum row_hold		hold;
	enum row_queue_id	hold_queue;
	u64			wake_at;

	unsigned long		pending;
	unsigned long		used;
	unsigned long		spent;
	unsigned long		frequent;
	enum row_queue_id	cur;
	unsigned long		cycle;

	bool			reading;
	unsigned int		reads;
	unsigned int		writes_in_flight;
	u64			last_read;
};

extern const char *const row_queue_names[ROW_NR_QUEUES];

void row_policy_init(struct row_policy *rp,
		     u64 (*clock)(struct row_policy *rp));
void row_policy_retune(struct row_policy *rp);
enum row_queue_id row_policy_classify(blk_opf_t opf, u16 ioprio);
void row_policy_insert(struct row_policy *rp, struct request *rq, bool at_head,
		       u64 start);
struct request *row_policy_dispatch(struct row_policy *rp);
bool row_policy_may_grow(const struct row_policy *rp, const struct request *rq,
			 unsigned int bytes);
void row_policy_merged(struct row_policy *rp, struct request *rq,
		       struct request *next);
bool row_policy_finish(struct row_policy *rp, struct request *rq);
bool row_policy_update(struct row_policy *rp);
unsigned int row_policy_check(const struct row_policy *rp);

static inline enum row_rq_state row_rq_state(const struct request *rq)
{
	return (uintptr_t)rq->elv.priv[1];
}

static inline void row_rq_set_state(struct request *rq, enum row_rq_state state)
{
	rq->elv.priv[1] = (void *)(uintptr_t)state;
}

/* The queue that a request is in, was dispatched from or will go into. */
static inline struct row_queue *row_rq_queue(const struct request *rq)
{
	return rq->elv.priv[0];
}

static inline void row_rq_set_queue(struct request *rq, struct row_queue *q)
{
	rq->elv.priv[0] = q;
}

#endif /* _ROW_POLICY_H */
