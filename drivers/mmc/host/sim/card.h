/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmc-sim: a model of an eMMC 5.1 card.
 *
 * A card (card.c, ext_csd.c, rpmb.c, store.c) knows commands and bytes, and
 * neither a request nor a host; timing.c says how long things take; judge.c
 * counts what the host did that the standard forbids; config.c has the settings.
 *
 * Section numbers are those of JESD84-B51 (eMMC 5.1) unless CQHCI (JESD84-B51,
 * annex B) is named.
 *
 * Time is in nanoseconds of ktime_get_ns(). The card keeps no timer of its own:
 * every function that can depend on time takes the present time, or the moment
 * at which the host will have sent the command, as @now. It never goes back.
 *
 * Whoever has a card calls its functions one at a time: the simulated host under
 * &mmc_sim_host.lock, with interrupts disabled.
 */
#ifndef MMC_SIM_CARD_H
#define MMC_SIM_CARD_H

#include <crypto/sha2.h>

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mmc/core.h>
#include <linux/mmc/host.h>
#include <linux/mmc/mmc.h>
#include <linux/prandom.h>
#include <linux/rpmb.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#define MMC_SIM_NAME		"mmc-sim"
#define MMC_SIM_SLOTS		32	/* CQHCI slots, and the most a card can queue */
#define MMC_SIM_DCMD_SLOT	31
#define MMC_SIM_SECTOR		512
#define MMC_SIM_MAX_CHANNELS	64

/* ---------------------------------------------------------------- config */

enum mmc_sim_bus {
	MMC_SIM_BUS_LEGACY,
	MMC_SIM_BUS_HS,
	MMC_SIM_BUS_DDR52,
	MMC_SIM_BUS_HS200,
	MMC_SIM_BUS_HS400,
	MMC_SIM_BUS_HS400ES,
};

/**
 * struct mmc_sim_config - what a person chose for one card and its host
 * @preset: name of the preset that the time settings came from
 * @bus: fastest bus mode that host and card agree on
 *
 * The other members are the settings of attrs.h. Copied when the card
 * goes live and constant from then on.
 */
struct mmc_sim_config {
	const char *preset;
	enum mmc_sim_bus bus
	/* private: the settings; each ends the declaration before it */
#define MMC_SIM_ATTR(name, ...) ; u32 name
#include "attrs.h"
	;
};

enum mmc_sim_attr_id {
#define MMC_SIM_ATTR(name, ...) MMC_SIM_ATTR_##name,
#include "attrs.h"
	MMC_SIM_NR_ATTRS,
};

u32 *mmc_sim_attr_ptr(struct mmc_sim_config *cfg, enum mmc_sim_attr_id i);
u32 mmc_sim_attr_get(const struct mmc_sim_config *cfg, enum mmc_sim_attr_id i);
int mmc_sim_attr_refuse(const char *name, const char *text, u32 min, u32 max,
			u32 step);
int mmc_sim_attr_parse(enum mmc_sim_attr_id i, const char *text, u32 *val);
void mmc_sim_config_init(struct mmc_sim_config *cfg);
int mmc_sim_config_set(struct mmc_sim_config *cfg, const char *attr, u32 val);
int mmc_sim_config_check(const struct mmc_sim_config *cfg);
int mmc_sim_config_bus(struct mmc_sim_config *cfg, const char *name);
const char *mmc_sim_bus_name(enum mmc_sim_bus bus);
int mmc_sim_config_parse(struct mmc_sim_config *cfg, const char *attr,
			 const char *text);
const char *mmc_sim_config_get(const struct mmc_sim_config *cfg,
			       unsigned int i, u32 *val);
bool mmc_sim_config_name_ok(const char *name);

#define MMC_SIM_NAME_LEN	32	/* of a card, with its NUL */

/* ---------------------------------------------------------------- judge */

enum mmc_sim_rule {
#define MMC_SIM_RULE(id, ...) MMC_SIM_RULE_##id,
#include "rules.h"
	MMC_SIM_NR_RULES,
};

/**
 * struct mmc_sim_judge - violations of the protocol, counted by rule
 * @name: whose, for the log
 * @nr: violations by rule
 * @quiet: count only; for tests that break a rule on purpose
 */
struct mmc_sim_judge {
	const char *name;
	u64 nr[MMC_SIM_NR_RULES];
	bool quiet;
};

__printf(3, 4)
void mmc_sim_violation(struct mmc_sim_judge *judge, enum mmc_sim_rule rule,
		       const char *fmt, ...);
u64 mmc_sim_judge_total(const struct mmc_sim_judge *judge);
const char *mmc_sim_rule_name(enum mmc_sim_rule rule);
const char *mmc_sim_rule_section(enum mmc_sim_rule rule);
const char *mmc_sim_rule_text(enum mmc_sim_rule rule);

/* ---------------------------------------------------------------- time */

/**
 * struct mmc_sim_timing - how long the bus and the flash take
 * @cfg: the settings
 * @bus_ps_per_byte: picoseconds a byte at the present clock, width and rate
 * @clock: clock in Hz, 0 while it is off
 * @free_bus: bus and commands take no time: the preset says so and no setting
 *	gives them a time
 * @instant: nothing takes time
 * @bus_free: when the bus is free again
 * @channel_free: when each flash channel is free again
 * @channel_held: until when it does what no read overtakes
 * @channel_begun: when it begins what the last read of high priority has there
 * @channel_lost: by how long that read delays those that it overtook there
 * @buffer_level: bytes in the write buffer that are not programmed, at
 *	@buffer_time
 * @buffer_work: ns until the buffer is empty, from @buffer_time
 * @buffer_time: when @buffer_level and @buffer_work were last worked out
 * @drain_start: when the buffer last began to drain
 * @next_write: the sector after the last write, to tell sequential from random
 * @next_read: the same for reads
 * @page_ready: when the last page of the last read was ready
 */
struct mmc_sim_timing {
	const struct mmc_sim_config *cfg;
	u64 bus_ps_per_byte;
	u32 clock;
	bool free_bus;
	bool instant;
	u64 bus_free;
	u64 channel_free[MMC_SIM_MAX_CHANNELS];
	u64 channel_held[MMC_SIM_MAX_CHANNELS];
	u64 channel_begun[MMC_SIM_MAX_CHANNELS];
	u64 channel_lost[MMC_SIM_MAX_CHANNELS];
	u64 buffer_level;
	u64 buffer_work;
	u64 buffer_time;
	u64 drain_start;
	u64 next_write;
	u64 next_read;
	u64 page_ready;
};

void mmc_sim_timing_init(struct mmc_sim_timing *t,
			 const struct mmc_sim_config *cfg);
void mmc_sim_timing_ios(struct mmc_sim_timing *t, const struct mmc_ios *ios);
void mmc_sim_timing_reset(struct mmc_sim_timing *t, u64 now);
u64 mmc_sim_time_cmd(const struct mmc_sim_timing *t);
u64 mmc_sim_time_read(struct mmc_sim_timing *t, u64 now, u64 sector, u32 nr);
u64 mmc_sim_time_read_first(struct mmc_sim_timing *t, u64 now, u64 sector,
			    u32 nr);
u64 mmc_sim_time_read_lost(const struct mmc_sim_timing *t, u64 ready,
			   u64 sector, u32 nr);
u64 mmc_sim_time_bus(struct mmc_sim_timing *t, u64 now, u64 bytes, u32 blocks);
u64 mmc_sim_time_write(struct mmc_sim_timing *t, u64 now, u64 sector, u32 nr,
		       bool cached);
u64 mmc_sim_time_write_room(struct mmc_sim_timing *t, u64 now, u32 nr);
u64 mmc_sim_time_flush(struct mmc_sim_timing *t, u64 now);
u64 mmc_sim_time_erase(struct mmc_sim_timing *t, u64 now, u64 nr);
u64 mmc_sim_time_dirty(struct mmc_sim_timing *t, u64 now);
int mmc_sim_preset(struct mmc_sim_config *cfg, const char *name);
const char *mmc_sim_preset_name(unsigned int i);

/* ---------------------------------------------------------------- store */

/**
 * struct mmc_sim_page - a page of a partition, in flash or in the buffer
 * @node: in mmc_sim_store.order while buffered, in mmc_sim_store.reserve while
 *	free
 * @index: position / PAGE_SIZE
 * @epoch: value of mmc_sim_store.epoch when it was buffered
 * @dirty: sectors that are buffered and not programmed
 * @data: its contents; in a buffered page only dirty sectors have any
 */
struct mmc_sim_page {
	struct list_head node;
	unsigned long index;
	u32 epoch;
	DECLARE_BITMAP(dirty, PAGE_SIZE / MMC_SIM_SECTOR);
	u8 *data;
};

/**
 * struct mmc_sim_store - the contents of one partition
 * @flash: pages that survive a power cut, on demand; absent: erased
 * @buffer: pages of the card's volatile memory, written and not yet programmed
 * @order: the pages of @buffer, oldest first; so epochs never go back in it
 * @size: bytes
 * @erased_byte: what an erased byte reads as
 * @epoch: counts barriers; data of an older epoch is programmed first
 * @dirty: bytes in @buffer that are not programmed
 * @reserve: pages kept for allocation in atomic context
 * @nr_reserve: how many
 * @reserve_lock: protects @reserve and @nr_reserve; innermost
 * @refill: fills @reserve again
 *
 * Positions and lengths are in bytes. A sector of 512 bytes is the unit that is
 * either programmed or not. All but @reserve and @nr_reserve is protected by
 * the caller's lock, mmc_sim_host.lock.
 */
struct mmc_sim_store {
	struct xarray flash;
	struct xarray buffer;
	struct list_head order;
	u64 size;
	u8 erased_byte;
	u32 epoch;
	u64 dirty;
	struct list_head reserve;
	unsigned int nr_reserve;
	spinlock_t reserve_lock;	/* protects reserve, nr_reserve */
	struct work_struct refill;
};

int mmc_sim_store_init(struct mmc_sim_store *s, u64 size, u8 erased_byte);
void mmc_sim_store_destroy(struct mmc_sim_store *s);
void mmc_sim_store_read(struct mmc_sim_store *s, u64 pos, void *buf, size_t len);
int mmc_sim_store_write(struct mmc_sim_store *s, u64 pos, const void *buf,
			size_t len, bool durable);
int mmc_sim_store_erase(struct mmc_sim_store *s, u64 pos, u64 len);
void mmc_sim_store_barrier(struct mmc_sim_store *s);
int mmc_sim_store_commit(struct mmc_sim_store *s, u64 pos, u64 len);
int mmc_sim_store_flush(struct mmc_sim_store *s);
int mmc_sim_store_drain(struct mmc_sim_store *s, u64 target);
void mmc_sim_store_drop(struct mmc_sim_store *s, u64 pos, u64 len);
u64 mmc_sim_store_power_cut(struct mmc_sim_store *s, struct rnd_state *rnd);

/* ---------------------------------------------------------------- card */

/* Card states, with the numbers of R1's CURRENT_STATE where there is one. */
enum mmc_sim_state {
	MMC_SIM_IDLE,
	MMC_SIM_READY,
	MMC_SIM_IDENT,
	MMC_SIM_STBY,
	MMC_SIM_TRAN,
	MMC_SIM_DATA,
	MMC_SIM_RCV,
	MMC_SIM_PRG,
	MMC_SIM_DIS,
	MMC_SIM_BTST,
	MMC_SIM_SLP,
	MMC_SIM_INACTIVE,
	MMC_SIM_OFF,
};

enum mmc_sim_part {
	MMC_SIM_PART_USER,
	MMC_SIM_PART_BOOT0,
	MMC_SIM_PART_BOOT1,
	MMC_SIM_PART_RPMB,
	MMC_SIM_NR_PARTS,
};

enum mmc_sim_dir {
	MMC_SIM_NO_DATA,
	MMC_SIM_READ,		/* card to host */
	MMC_SIM_WRITE,		/* host to card */
};

/**
 * struct mmc_sim_cmd - one command on the CMD line and the card's answer
 * @opcode: command index
 * @arg: argument
 * @engine: sent by the command queue engine
 * @error: 0, or -ETIMEDOUT when the card gave no response
 * @resp: response as mmc_command.resp has it
 * @dir: the data phase that follows
 * @blksz: bytes in a block of the data phase
 * @blocks: blocks that the card expects, 0: open-ended, until CMD12
 */
struct mmc_sim_cmd {
	u32 opcode;
	u32 arg;
	bool engine;
	int error;
	u32 resp[4];
	enum mmc_sim_dir dir;
	u32 blksz;
	u32 blocks;
};

/**
 * struct mmc_sim_task - a task of the card's command queue (6.6.39)
 * @queued: CMD44 and CMD45 were received, and it is neither done nor discarded
 * @dir: direction
 * @priority: high priority
 * @reliable: reliable write
 * @forced_prog: forced programming: durable when the task is done
 * @sector: first 512-byte sector
 * @blocks: number of 512-byte sectors
 * @ready: when the card sets its bit in the queue status register
 */
struct mmc_sim_task {
	bool queued;
	enum mmc_sim_dir dir;
	bool priority;
	bool reliable;
	bool forced_prog;
	u32 sector;
	u32 blocks;
	u64 ready;
};

/* What the card is busy with, for those that HPI and power cuts interrupt. */
enum mmc_sim_prg {
	MMC_SIM_PRG_NONE,	/* nothing, or nothing that can be lost */
	MMC_SIM_PRG_WRITE,	/* a write past the cache */
	MMC_SIM_PRG_ERASE,	/* erase, secure erase, trim, secure trim */
	MMC_SIM_PRG_DISCARD,
	MMC_SIM_PRG_FLUSH,
	MMC_SIM_PRG_CACHE_OFF,	/* flush, then the cache is off */
	MMC_SIM_PRG_SANITIZE,
	MMC_SIM_PRG_BKOPS,
};

/**
 * struct mmc_sim_xfer - the data phase that the card is in
 * @dir: direction
 * @media: the data is in @store; else it is in @buf
 * @durable: reliable write or forced programming
 * @rpmb: frames of the replay protected memory block
 * @counted: CMD23 or a task said how long it is
 * @cut: no more bytes are given or taken, and the reason has been judged
 * @task: number of the task that CMD46 or CMD47 started, or -1
 * @store: where
 * @start: position of its first byte
 * @pos: position of the next byte
 * @blksz: bytes in a block
 * @left: bytes that are still expected; U64_MAX: open-ended
 * @staged: bytes of a written sector that wait in mmc_sim_card.buf; the last
 *	sector stays there until it is known that its CRC was right
 */
struct mmc_sim_xfer {
	enum mmc_sim_dir dir;
	bool media;
	bool durable;
	bool rpmb;
	bool counted;
	bool cut;
	int task;
	struct mmc_sim_store *store;
	u64 start;
	u64 pos;
	u32 blksz;
	u64 left;
	u32 staged;
};

/**
 * struct mmc_sim_rpmb - replay protected memory block (6.6.22)
 * @key: authentication key
 * @key_set: it was programmed
 * @counter: write counter
 * @in: frames of the present request
 * @in_len: bytes of it that were received, also those beyond the room in @in
 * @request: request type that the next read answers, 0: none
 * @done: request type that the result register is about, 0: none
 * @done_addr: its address
 * @result: result register
 * @addr: address of the request
 * @nonce: nonce of the request
 * @frame: frame of the answer that is being read
 * @frame_pos: next byte of @frame
 * @nr_out: frames of the answer
 * @out: frames made so far
 * @mac: MAC of those
 */
struct mmc_sim_rpmb {
	struct hmac_sha256_key key;
	bool key_set;
	u32 counter;
	struct rpmb_frame *in;
	u32 in_len;
	u16 request;
	u16 done;
	u16 done_addr;
	u16 result;
	u16 addr;
	u8 nonce[16];
	struct rpmb_frame frame;
	u32 frame_pos;
	u32 nr_out;
	u32 out;
	struct hmac_sha256_ctx mac;
};

/**
 * struct mmc_sim_card - one simulated eMMC
 * @cfg: settings
 * @judge: where violations go
 * @timing: bus and flash
 * @rnd: its random numbers, from the configured seed
 * @state: state at @time; use mmc_sim_card_sync() first
 * @time: latest time the card has seen
 * @busy_until: end of the present busy signal
 * @resume: state after the present programming
 * @rca: relative card address
 * @status: R1 error bits that wait to be reported and cleared
 * @cid: card identification register as CMD2 sends it
 * @csd: card specific data register as CMD9 sends it
 * @ext_csd: present EXT_CSD
 * @part: contents by partition
 * @cmd23: argument of the CMD23 before this command
 * @cmd23_valid: there was one
 * @blocklen: what CMD16 set
 * @xfer: present data phase
 * @buf: register, tuning block or frame that the present data phase moves
 * @erase_start: CMD35's address in sectors
 * @erase_end: CMD36's address in sectors
 * @erase_step: how much of the erase sequence has been seen
 * @task: command queue
 * @pending_task: argument of CMD44 that waits for CMD45
 * @pending_valid: there is one
 * @prg_op: what HPI may interrupt
 * @prg_pos: start of the programming that HPI may interrupt, in bytes
 * @prg_len: its length
 * @prg_start: when it began
 * @prg_store: where
 * @bkops_debt: bytes written since the last background operations
 * @boot_pwr_wp: boot partitions that are protected until the next power cycle
 * @boot_perm_wp: boot partitions that are protected for good
 * @ios: the host's side of the bus
 * @rpmb: replay protected memory block
 */
struct mmc_sim_card {
	const struct mmc_sim_config *cfg;
	struct mmc_sim_judge *judge;
	struct mmc_sim_timing timing;
	struct rnd_state rnd;
	enum mmc_sim_state state;
	u64 time;
	u64 busy_until;
	enum mmc_sim_state resume;
	u16 rca;
	u32 status;
	u32 cid[4];
	u32 csd[4];
	u8 ext_csd[512];
	struct mmc_sim_store part[MMC_SIM_NR_PARTS];
	u32 cmd23;
	bool cmd23_valid;
	u32 blocklen;
	struct mmc_sim_xfer xfer;
	u8 buf[512];
	u32 erase_start;
	u32 erase_end;
	u8 erase_step;
	struct mmc_sim_task task[MMC_SIM_SLOTS];
	u32 pending_task;
	bool pending_valid;
	enum mmc_sim_prg prg_op;
	u64 prg_pos;
	u64 prg_len;
	u64 prg_start;
	struct mmc_sim_store *prg_store;
	u64 bkops_debt;
	u8 boot_pwr_wp;
	u8 boot_perm_wp;
	struct mmc_ios ios;
	struct mmc_sim_rpmb rpmb;
};

int mmc_sim_card_init(struct mmc_sim_card *card, const struct mmc_sim_config *cfg,
		      struct mmc_sim_judge *judge);
void mmc_sim_card_destroy(struct mmc_sim_card *card);
void mmc_sim_card_sync(struct mmc_sim_card *card, u64 now);
void mmc_sim_card_cmd(struct mmc_sim_card *card, struct mmc_sim_cmd *cmd, u64 now);
size_t mmc_sim_card_read(struct mmc_sim_card *card, void *buf, size_t len);
size_t mmc_sim_card_write(struct mmc_sim_card *card, const void *buf, size_t len);
u64 mmc_sim_card_data_start(struct mmc_sim_card *card, u64 now);
void mmc_sim_card_data_end(struct mmc_sim_card *card, u64 now, bool ok);
bool mmc_sim_card_busy(struct mmc_sim_card *card, u64 now);
u32 mmc_sim_card_qsr(struct mmc_sim_card *card, u64 now);
u64 mmc_sim_card_dirty(const struct mmc_sim_card *card);
void mmc_sim_card_power(struct mmc_sim_card *card, bool on, u64 now);
u64 mmc_sim_card_power_cut(struct mmc_sim_card *card, u64 now);
void mmc_sim_card_hw_reset(struct mmc_sim_card *card, u64 now);
void mmc_sim_card_ios(struct mmc_sim_card *card, const struct mmc_ios *ios);

/* ext_csd.c: the registers, and what a SWITCH does to them */

/* Bytes of the EXT_CSD that <linux/mmc/mmc.h> does not name. */
#define EXT_CSD_BARRIER_CTRL			31
#define EXT_CSD_USE_NATIVE_SECTOR		62
#define EXT_CSD_NATIVE_SECTOR_SIZE		63
#define EXT_CSD_WR_REL_SET			167
#define EXT_CSD_BOOT_WP_STATUS			174
#define EXT_CSD_BOOT_BUS_CONDITIONS		177
#define EXT_CSD_CORRECTLY_PRG_SECTORS_NUM	242	/* 4 bytes */
#define EXT_CSD_BARRIER_SUPPORT			486

/* HC_ERASE_GRP_SIZE is 1, and the erase group of the CSD is as large. */
#define MMC_SIM_ERASE_GROUP			(512 * 1024)

void mmc_sim_ext_csd_init(struct mmc_sim_card *card);
void mmc_sim_ext_csd_reset(struct mmc_sim_card *card, bool power);
void mmc_sim_ext_csd_read(struct mmc_sim_card *card, u8 *buf);
u8 mmc_sim_bkops_level(const struct mmc_sim_card *card);
u64 mmc_sim_switch(struct mmc_sim_card *card, u32 arg, u64 now);
static inline bool mmc_sim_boot_wp(const struct mmc_sim_card *card,
				   enum mmc_sim_part part)
{
	return (card->boot_pwr_wp | card->boot_perm_wp) & BIT(part);
}

static inline bool mmc_sim_cmdq_on(const struct mmc_sim_card *card)
{
	return card->ext_csd[EXT_CSD_CMDQ_MODE_EN] & 1;
}

static inline bool mmc_sim_cache_on(const struct mmc_sim_card *card)
{
	return card->cfg->cache_kib && (card->ext_csd[EXT_CSD_CACHE_CTRL] & 1);
}

/* Cards beyond 2 GiB count addresses in sectors, others in bytes (7.2). */
static inline bool mmc_sim_sector_mode(const struct mmc_sim_card *card)
{
	return card->cfg->capacity_mib > 2048;
}

static inline enum mmc_sim_part mmc_sim_cur_part(const struct mmc_sim_card *card)
{
	return card->ext_csd[EXT_CSD_PART_CONFIG] & 7;
}

/* rpmb.c */
int mmc_sim_rpmb_init(struct mmc_sim_card *card);
void mmc_sim_rpmb_destroy(struct mmc_sim_card *card);
void mmc_sim_rpmb_reset(struct mmc_sim_card *card);
int mmc_sim_rpmb_write(struct mmc_sim_card *card, const void *buf, size_t len);
void mmc_sim_rpmb_write_end(struct mmc_sim_card *card, bool reliable);
void mmc_sim_rpmb_read_start(struct mmc_sim_card *card, u32 blocks);
void mmc_sim_rpmb_read(struct mmc_sim_card *card, void *buf, size_t len);

#endif /* MMC_SIM_CARD_H */
