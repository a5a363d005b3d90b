/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmc-sim: a simulated host with a command queue engine (CQHCI), and its card.
 *
 * A host (host.c, cqhci.c) knows requests and registers but no storage; fault.c
 * says what goes wrong; configfs.c and debugfs.c are what a person sees. The
 * card behind it is that of card.h.
 *
 * Everything below &struct mmc_sim_host, the card included, is protected by
 * &mmc_sim_host.lock, which is taken with interrupts disabled.
 */
#ifndef MMC_SIM_H
#define MMC_SIM_H

#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/mmc/host.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "../cqhci.h"
#include "card.h"

/**
 * struct mmc_sim_pdata - platform data of an "mmc-sim" device
 * @name: name of the card
 * @cfg: its settings
 * @error: what probe returned; written and read under the device's lock
 */
struct mmc_sim_pdata {
	char name[MMC_SIM_NAME_LEN];
	struct mmc_sim_config cfg;
	int error;
};

/* ---------------------------------------------------------------- faults */

enum mmc_sim_fault_id {
#define MMC_SIM_FAULT_TYPE(id, ...) MMC_SIM_FAULT_##id,
#include "fault_types.h"
	MMC_SIM_NR_FAULTS,
};

/* Operations that a fault can be limited to, as a mask. */
enum mmc_sim_op {
	MMC_SIM_OP_READ = 1,
	MMC_SIM_OP_WRITE = 2,
	MMC_SIM_OP_FLUSH = 4,
	MMC_SIM_OP_ERASE = 8,
	MMC_SIM_OP_SWITCH = 16,
	MMC_SIM_OP_OTHER = 32,
	MMC_SIM_OP_ALL = 63,
};

/**
 * struct mmc_sim_fault - one armed fault
 * @node: in mmc_sim_host.faults
 * @id: what goes wrong
 * @ops: operations it applies to, mask of enum mmc_sim_op
 * @first: first sector it applies to
 * @last: last sector it applies to
 * @skip: matches that pass before it strikes
 * @count: how many times it strikes; U32_MAX: always
 * @permille: chance that it strikes at a match
 * @value: response bits, microseconds, or what the fault takes
 * @seen: matches so far
 * @hits: how often it has struck
 */
struct mmc_sim_fault {
	struct list_head node;
	enum mmc_sim_fault_id id;
	u32 ops;
	u64 first;
	u64 last;
	u32 skip;
	u32 count;
	u32 permille;
	u32 value;
	u64 seen;
	u64 hits;
};

struct mmc_sim_host;

#define MMC_SIM_MAX_FAULTS	64	/* armed at a time, used up or not */

int mmc_sim_fault_parse(struct mmc_sim_fault *fault, char *spec);
bool mmc_sim_fault(struct mmc_sim_host *host, enum mmc_sim_fault_id id,
		   enum mmc_sim_op op, u64 sector, u32 nr, u32 *value);
void mmc_sim_faults_clear(struct mmc_sim_host *host);
const char *mmc_sim_fault_name(enum mmc_sim_fault_id id);
const char *mmc_sim_fault_text(enum mmc_sim_fault_id id);
const char *mmc_sim_op_names(u32 ops, char *buf, size_t size);
int mmc_sim_fault_arm(struct mmc_sim_host *host, char *spec);

/* ---------------------------------------------------------------- host */

/**
 * struct mmc_sim_stats - what happened, for people and scripts to read
 * @cmd: commands by index, as sent on the CMD line
 * @requests: requests that came past the engine
 * @tasks: tasks completed by the engine
 * @dcmds: direct commands completed by the engine
 * @reg_reads: register reads
 * @reg_writes: register writes, doorbell included
 * @doorbells: writes of the doorbell register
 * @irqs: interrupts of the engine
 * @bytes_read: bytes moved to the host
 * @bytes_written: bytes moved to the card
 * @depth: histogram: tasks in the engine when one is added, itself included
 * @self_ns: time spent in the simulator's own code; with a clock that counts
 *	instructions, instructions
 * @lost_sectors: sectors that power cuts dropped
 */
struct mmc_sim_stats {
	u64 cmd[64];
	u64 requests;
	u64 tasks;
	u64 dcmds;
	u64 reg_reads;
	u64 reg_writes;
	u64 doorbells;
	u64 irqs;
	u64 bytes_read;
	u64 bytes_written;
	u64 depth[MMC_SIM_SLOTS + 1];
	u64 self_ns;
	u64 lost_sectors;
};

enum mmc_sim_slot_state {
	MMC_SIM_SLOT_FREE,
	MMC_SIM_SLOT_RUNG,	/* doorbell set, descriptor not fetched */
	MMC_SIM_SLOT_FETCHED,	/* descriptor fetched, no command sent */
	MMC_SIM_SLOT_QUEUED,	/* CMD44 and CMD45 sent */
	MMC_SIM_SLOT_ACTIVE,	/* on the bus, or the direct command runs */
	MMC_SIM_SLOT_STUCK,	/* an error or a fault keeps it here */
};

/**
 * struct mmc_sim_slot - a slot of the engine
 * @state: where it is
 * @seq: order of arrival
 * @desc: first 64 bits of its task descriptor
 * @done: when its present step ends; of a slot that was rung: when it was
 * @ready: number of the queue status that first showed it as ready
 * @busy: the data has been moved and the card programs it
 * @data_error: how its data phase or busy signal will end
 */
struct mmc_sim_slot {
	enum mmc_sim_slot_state state;
	u64 seq;
	u64 desc;
	u64 done;
	u64 ready;
	bool busy;
	int data_error;
};

/**
 * struct mmc_sim_cqe - the simulated command queue engine
 * @host: the driver's view; its read_l and write_l lead here
 * @reg: registers by offset / 4
 * @slot: slots
 * @active: slot on the bus, or -1
 * @seq: number of the next arrival
 * @time: when the engine's latest event happened
 * @cmd_free: when the CMD line is free again
 * @qsr: queue status as the engine last saw it
 * @next_poll: when it asks the card again
 * @polls: how often it has asked
 * @polled: it has asked during the present transfer
 * @halting: HALT was written and has not been reached
 * @halt_refused: a fault keeps it from halting
 * @clearing: CLEAR_ALL_TASKS was written and has not been done
 * @failed: an error was reported; nothing is issued until the driver halts the
 *	engine and resumes it, clears the tasks, or disables it
 * @coalesced: completions counted towards the coalescing threshold
 * @coalesce_at: when the coalescing timer ends, or U64_MAX
 * @coalesce_over: it has ended and was not reset since
 * @cmd_error: error that the next interrupt reports for the CMD line
 * @data_error: the same for the data lines
 */
struct mmc_sim_cqe {
	struct cqhci_host host;
	u32 reg[0x60 / 4];
	struct mmc_sim_slot slot[MMC_SIM_SLOTS];
	int active;
	u64 seq;
	u64 time;
	u64 cmd_free;
	u32 qsr;
	u64 next_poll;
	u64 polls;
	bool polled;
	bool halting;
	bool halt_refused;
	bool clearing;
	bool failed;
	u32 coalesced;
	u64 coalesce_at;
	bool coalesce_over;
	int cmd_error;
	int data_error;
};

/**
 * struct mmc_sim_host - host, card, and everything between
 * @name: name, the configfs directory's
 * @cfg: settings
 * @mmc: the host that the MMC core knows
 * @lock: protects everything here and in the card; never held across a call
 *	into the MMC core or the CQHCI driver
 * @irq_lock: serialises the calls into the CQHCI driver's interrupt handler;
 *	taken before, never under, @lock
 * @card: the card
 * @present: the card is in its slot
 * @powered: the host supplies the card with power
 * @card_event: the MMC core has to be told that the card was inserted or removed
 * @judge: violations
 * @stats: counters
 * @faults: armed faults
 * @cqe: the engine
 * @mrq: the request on the bus, or NULL
 * @mrq_done: when it ends
 * @timer: the one timer, set to the earliest event
 * @timer_at: what it is set to, U64_MAX: not set
 * @work: runs events that are due now
 * @dying: no further event is started
 * @debugfs: its directory
 */
struct mmc_sim_host {
	const char *name;
	struct mmc_sim_config cfg;
	struct mmc_host *mmc;
	spinlock_t lock;	/* everything here and in the card */
	spinlock_t irq_lock;	/* calls of cqhci_irq(); taken before lock */
	struct mmc_sim_card card;
	bool present;
	bool powered;
	bool card_event;
	struct mmc_sim_judge judge;
	struct mmc_sim_stats stats;
	struct list_head faults;
	struct mmc_sim_cqe cqe;
	struct mmc_request *mrq;
	u64 mrq_done;
	struct hrtimer timer;
	u64 timer_at;
	struct irq_work work;
	bool dying;
	struct dentry *debugfs;
};

/*
 * How long the host waits for data, or for the end of a busy signal whose
 * longest time nobody told it. The timeouts that the core works out from the
 * CSD are those of real flash: a preset may be slower.
 */
#define MMC_SIM_TIMEOUT_NS	(10ULL * NSEC_PER_SEC)

/* host.c */
struct mmc_sim_host *mmc_sim_host_add(struct device *dev, const char *name,
				      const struct mmc_sim_config *cfg);
void mmc_sim_host_remove(struct mmc_sim_host *host);
int mmc_sim_host_suspend(struct mmc_sim_host *host);
int mmc_sim_host_resume(struct mmc_sim_host *host);
void mmc_sim_host_insert(struct mmc_sim_host *host, bool present);
void mmc_sim_host_power_cut(struct mmc_sim_host *host);
void mmc_sim_exec(struct mmc_sim_host *host, struct mmc_sim_cmd *cmd, u64 now);
void mmc_sim_kick(struct mmc_sim_host *host);
enum mmc_sim_op mmc_sim_cmd_op(const struct mmc_sim_host *host, u32 opcode, u32 arg);
void mmc_sim_stick_busy(struct mmc_sim_host *host, enum mmc_sim_op op,
			u64 sector, u32 nr, u64 now);

/* There is nothing at the other end of the bus that could answer. */
static inline bool mmc_sim_card_gone(const struct mmc_sim_host *host)
{
	return !host->present || host->card.state == MMC_SIM_OFF;
}

/* Present time in ns of CLOCK_MONOTONIC, cheaply and from any context. */
static inline u64 mmc_sim_clock(void)
{
	return ktime_get_mono_fast_ns();
}

/* cqhci.c; all with mmc_sim_host.lock held except _init() */
int mmc_sim_cqe_init(struct mmc_sim_host *host);
void mmc_sim_cqe_reset(struct mmc_sim_host *host);
u32 mmc_sim_cqe_readl(struct mmc_sim_host *host, int reg);
bool mmc_sim_cqe_writel(struct mmc_sim_host *host, u32 val, int reg, u64 now);
void mmc_sim_cqe_run(struct mmc_sim_host *host, u64 now);
void mmc_sim_cqe_abort(struct mmc_sim_host *host, u64 now);
void mmc_sim_cqe_card_lost(struct mmc_sim_host *host, u64 now);
u64 mmc_sim_cqe_next(struct mmc_sim_host *host);
bool mmc_sim_cqe_irq_pending(struct mmc_sim_host *host, int *cmd_error,
			     int *data_error);
bool mmc_sim_cqe_owns_bus(struct mmc_sim_host *host);

/* debugfs.c */
void mmc_sim_debugfs_add(struct mmc_sim_host *host);
void mmc_sim_debugfs_remove(struct mmc_sim_host *host);
void mmc_sim_debugfs_init(void);
void mmc_sim_debugfs_exit(void);

/* configfs.c: configfs, and the cards that module parameters ask for */
int mmc_sim_configfs_init(void);
void mmc_sim_configfs_exit(void);

#endif /* MMC_SIM_H */
