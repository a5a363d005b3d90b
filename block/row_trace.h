/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM row

#if !defined(_TRACE_ROW_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_ROW_H

#include <linux/blkdev.h>
#include <linux/tracepoint.h>

#include "row-policy.h"

TRACE_DEFINE_ENUM(ROW_HP_READ);
TRACE_DEFINE_ENUM(ROW_HP_SWRITE);
TRACE_DEFINE_ENUM(ROW_RP_READ);
TRACE_DEFINE_ENUM(ROW_RP_SWRITE);
TRACE_DEFINE_ENUM(ROW_RP_WRITE);
TRACE_DEFINE_ENUM(ROW_LP_READ);
TRACE_DEFINE_ENUM(ROW_LP_SWRITE);
TRACE_DEFINE_ENUM(ROW_TURN);
TRACE_DEFINE_ENUM(ROW_BORROW);
TRACE_DEFINE_ENUM(ROW_EXPIRED);
TRACE_DEFINE_ENUM(ROW_HOLD_NONE);
TRACE_DEFINE_ENUM(ROW_HOLD_IDLE);
TRACE_DEFINE_ENUM(ROW_HOLD_WRITES);

#define row_show_queue(id)					\
	__print_symbolic(id,					\
		{ ROW_HP_READ, "hp_read" },			\
		{ ROW_HP_SWRITE, "hp_swrite" },			\
		{ ROW_RP_READ, "rp_read" },			\
		{ ROW_RP_SWRITE, "rp_swrite" },			\
		{ ROW_RP_WRITE, "rp_write" },			\
		{ ROW_LP_READ, "lp_read" },			\
		{ ROW_LP_SWRITE, "lp_swrite" })

#define row_show_reason(reason)					\
	__print_symbolic(reason,				\
		{ ROW_TURN, "turn" },				\
		{ ROW_BORROW, "borrow" },			\
		{ ROW_EXPIRED, "expired" })

#define row_show_hold(hold)					\
	__print_symbolic(hold,					\
		{ ROW_HOLD_NONE, "none" },			\
		{ ROW_HOLD_IDLE, "idle" },			\
		{ ROW_HOLD_WRITES, "writes" })

TRACE_EVENT(row_insert,
	    TP_PROTO(dev_t dev, unsigned int queue, bool at_head,
		     bool requeued, unsigned int queued),
	    TP_ARGS(dev, queue, at_head, requeued, queued),
	    TP_STRUCT__entry(__field(dev_t, dev)
			     __field(u8, queue)
			     __field(bool, at_head)
			     __field(bool, requeued)
			     __field(unsigned int, queued)),
	    TP_fast_assign(__entry->dev = dev;
			   __entry->queue = queue;
			   __entry->at_head = at_head;
			   __entry->requeued = requeued;
			   __entry->queued = queued),
	    TP_printk("%d,%d %s at_head=%d requeued=%d queued=%u",
		      MAJOR(__entry->dev), MINOR(__entry->dev),
		      row_show_queue(__entry->queue), __entry->at_head,
		      __entry->requeued, __entry->queued)
);

TRACE_EVENT(row_cycle,
	    TP_PROTO(dev_t dev, unsigned long cycle),
	    TP_ARGS(dev, cycle),
	    TP_STRUCT__entry(__field(dev_t, dev)
			     __field(unsigned long, cycle)),
	    TP_fast_assign(__entry->dev = dev;
			   __entry->cycle = cycle),
	    TP_printk("%d,%d %lu", MAJOR(__entry->dev), MINOR(__entry->dev),
		      __entry->cycle)
);

TRACE_EVENT(row_dispatch,
	    TP_PROTO(dev_t dev, unsigned int queue, unsigned int reason,
		     unsigned int served, unsigned int quantum,
		     unsigned int writes_in_flight),
	    TP_ARGS(dev, queue, reason, served, quantum, writes_in_flight),
	    TP_STRUCT__entry(__field(dev_t, dev)
			     __field(u8, queue)
			     __field(u8, reason)
			     __field(unsigned int, served)
			     __field(unsigned int, quantum)
			     __field(unsigned int, writes_in_flight)),
	    TP_fast_assign(__entry->dev = dev;
			   __entry->queue = queue;
			   __entry->reason = reason;
			   __entry->served = served;
			   __entry->quantum = quantum;
			   __entry->writes_in_flight = writes_in_flight),
	    TP_printk("%d,%d %s %s served=%u/%u writes_in_flight=%u",
		      MAJOR(__entry->dev), MINOR(__entry->dev),
		      row_show_queue(__entry->queue),
		      row_show_reason(__entry->reason), __entry->served,
		      __entry->quantum, __entry->writes_in_flight)
);

TRACE_EVENT(row_preempt,
	    TP_PROTO(dev_t dev, unsigned int queue, unsigned int by,
		     unsigned int served),
	    TP_ARGS(dev, queue, by, served),
	    TP_STRUCT__entry(__field(dev_t, dev)
			     __field(u8, queue)
			     __field(u8, by)
			     __field(unsigned int, served)),
	    TP_fast_assign(__entry->dev = dev;
			   __entry->queue = queue;
			   __entry->by = by;
			   __entry->served = served),
	    TP_printk("%d,%d %s by %s served=%u", MAJOR(__entry->dev),
		      MINOR(__entry->dev), row_show_queue(__entry->queue),
		      row_show_queue(__entry->by), __entry->served)
);

TRACE_EVENT(row_hold,
	    TP_PROTO(dev_t dev, unsigned int hold, unsigned int queue, u64 nsec),
	    TP_ARGS(dev, hold, queue, nsec),
	    TP_STRUCT__entry(__field(dev_t, dev)
			     __field(u8, hold)
			     __field(u8, queue)
			     __field(u64, nsec)),
	    TP_fast_assign(__entry->dev = dev;
			   __entry->hold = hold;
			   __entry->queue = queue;
			   __entry->nsec = nsec),
	    TP_printk("%d,%d %s for %s nsec=%llu", MAJOR(__entry->dev),
		      MINOR(__entry->dev), row_show_hold(__entry->hold),
		      row_show_queue(__entry->queue), __entry->nsec)
);

TRACE_EVENT(row_resume,
	    TP_PROTO(dev_t dev, unsigned int hold, unsigned int queue,
		     unsigned int reason),
	    TP_ARGS(dev, hold, queue, reason),
	    TP_STRUCT__entry(__field(dev_t, dev)
			     __field(u8, hold)
			     __field(u8, queue)
			     __field(u8, reason)),
	    TP_fast_assign(__entry->dev = dev;
			   __entry->hold = hold;
			   __entry->queue = queue;
			   __entry->reason = reason),
	    TP_printk("%d,%d %s ends with %s %s", MAJOR(__entry->dev),
		      MINOR(__entry->dev), row_show_hold(__entry->hold),
		      row_show_queue(__entry->queue),
		      row_show_reason(__entry->reason))
);

#endif /* _TRACE_ROW_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE row_trace

/* This part must be outside protection */
#include <trace/define_trace.h>
