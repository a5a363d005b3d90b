// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: what a person reads and does while a card is live, in
 * /sys/kernel/debug/mmc-sim/<name>/.
 */

#define pr_fmt(fmt) "mmc-sim: " fmt

#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "sim.h"

#define MMC_SIM_MAX_LINE	256

static struct dentry *mmc_sim_debugfs_root;

static const char * const mmc_sim_state_names[] = {
	[MMC_SIM_IDLE]		= "idle",
	[MMC_SIM_READY]		= "ready",
	[MMC_SIM_IDENT]		= "ident",
	[MMC_SIM_STBY]		= "stby",
	[MMC_SIM_TRAN]		= "tran",
	[MMC_SIM_DATA]		= "data",
	[MMC_SIM_RCV]		= "rcv",
	[MMC_SIM_PRG]		= "prg",
	[MMC_SIM_DIS]		= "dis",
	[MMC_SIM_BTST]		= "btst",
	[MMC_SIM_SLP]		= "slp",
	[MMC_SIM_INACTIVE]	= "ina",
	[MMC_SIM_OFF]		= "off",
};

/* The host of a seq_file that debugfs opened. */
static struct mmc_sim_host *mmc_sim_file_host(struct file *file)
{
	return ((struct seq_file *)file->private_data)->private;
}

static char *mmc_sim_get_line(const char __user *ubuf, size_t len)
{
	if (len >= MMC_SIM_MAX_LINE)
		return ERR_PTR(-E2BIG);

	return memdup_user_nul(ubuf, len);
}

/* For files that can only be set to nothing. */
static int mmc_sim_get_reset(const char *file, const char __user *ubuf,
			     size_t len)
{
	char *line __free(kfree) = mmc_sim_get_line(ubuf, len);

	if (IS_ERR(line))
		return PTR_ERR(line);

	if (sysfs_streq(line, "reset") || sysfs_streq(line, "0"))
		return 0;

	pr_err("%s: %s is not one of reset 0\n", file, strim(line));
	return -EINVAL;
}

/**
 * struct mmc_sim_snapshot - what stats shows, at one moment
 * @stats: the counters
 * @violations: all rules together
 * @dirty: bytes in the card's cache that a power cut can drop
 * @state: state of the card
 * @busy: it signals busy
 * @present: it is in its slot
 */
struct mmc_sim_snapshot {
	struct mmc_sim_stats stats;
	u64 violations;
	u64 dirty;
	enum mmc_sim_state state;
	bool busy;
	bool present;
};

static void mmc_sim_take_snapshot(struct mmc_sim_host *host,
				  struct mmc_sim_snapshot *snap)
{
	u64 now;

	guard(spinlock_irqsave)(&host->lock);

	/* The card can have been told already of what the bus will carry. */
	now = max(mmc_sim_clock(), host->card.time);
	mmc_sim_card_sync(&host->card, now);

	snap->stats = host->stats;
	snap->violations = mmc_sim_judge_total(&host->judge);
	snap->dirty = mmc_sim_card_dirty(&host->card);
	snap->state = host->card.state;
	snap->busy = mmc_sim_card_busy(&host->card, now);
	snap->present = host->present;
}

static int mmc_sim_stats_show(struct seq_file *m, void *unused)
{
	struct mmc_sim_snapshot *snap __free(kfree) = kmalloc_obj(*snap);

	if (!snap)
		return -ENOMEM;

	mmc_sim_take_snapshot(m->private, snap);

	seq_printf(m, "requests %llu\n", snap->stats.requests);
	seq_printf(m, "tasks %llu\n", snap->stats.tasks);
	seq_printf(m, "dcmds %llu\n", snap->stats.dcmds);
	seq_printf(m, "reg_reads %llu\n", snap->stats.reg_reads);
	seq_printf(m, "reg_writes %llu\n", snap->stats.reg_writes);
	seq_printf(m, "doorbells %llu\n", snap->stats.doorbells);
	seq_printf(m, "irqs %llu\n", snap->stats.irqs);
	seq_printf(m, "bytes_read %llu\n", snap->stats.bytes_read);
	seq_printf(m, "bytes_written %llu\n", snap->stats.bytes_written);
	seq_printf(m, "self_ns %llu\n", snap->stats.self_ns);
	seq_printf(m, "lost_sectors %llu\n", snap->stats.lost_sectors);

	for (unsigned int i = 0; i < ARRAY_SIZE(snap->stats.cmd); i++) {
		if (snap->stats.cmd[i])
			seq_printf(m, "cmd%u %llu\n", i, snap->stats.cmd[i]);
	}

	for (unsigned int i = 1; i < ARRAY_SIZE(snap->stats.depth); i++)
		seq_printf(m, "depth%u %llu\n", i, snap->stats.depth[i]);

	seq_printf(m, "violations %llu\n", snap->violations);
	seq_printf(m, "dirty_bytes %llu\n", snap->dirty);
	seq_printf(m, "present %d\n", snap->present);
	seq_printf(m, "state %s\n", mmc_sim_state_names[snap->state]);
	seq_printf(m, "busy %d\n", snap->busy);

	return 0;
}

static ssize_t mmc_sim_stats_write(struct file *file, const char __user *ubuf,
				   size_t len, loff_t *pos)
{
	struct mmc_sim_host *host = mmc_sim_file_host(file);
	int ret = mmc_sim_get_reset("stats", ubuf, len);

	if (ret)
		return ret;

	scoped_guard(spinlock_irqsave, &host->lock)
		memset(&host->stats, 0, sizeof(host->stats));

	return len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(mmc_sim_stats);

static int mmc_sim_violations_show(struct seq_file *m, void *unused)
{
	struct mmc_sim_host *host = m->private;
	u64 nr[MMC_SIM_NR_RULES];
	u64 total;

	scoped_guard(spinlock_irqsave, &host->lock) {
		memcpy(nr, host->judge.nr, sizeof(nr));
		total = mmc_sim_judge_total(&host->judge);
	}

	for (unsigned int i = 0; i < MMC_SIM_NR_RULES; i++)
		seq_printf(m, "%llu\t%s\t%s\t%s\n", nr[i],
			   mmc_sim_rule_name(i), mmc_sim_rule_section(i),
			   mmc_sim_rule_text(i));
	seq_printf(m, "total %llu\n", total);

	return 0;
}

static ssize_t mmc_sim_violations_write(struct file *file,
					const char __user *ubuf, size_t len,
					loff_t *pos)
{
	struct mmc_sim_host *host = mmc_sim_file_host(file);
	int ret = mmc_sim_get_reset("violations", ubuf, len);

	if (ret)
		return ret;

	scoped_guard(spinlock_irqsave, &host->lock)
		memset(host->judge.nr, 0, sizeof(host->judge.nr));

	return len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(mmc_sim_violations);

static void mmc_sim_show_fault(struct seq_file *m,
			       const struct mmc_sim_fault *fault)
{
	char ops[48];

	seq_printf(m, "%s op=%s", mmc_sim_fault_name(fault->id),
		   mmc_sim_op_names(fault->ops, ops, sizeof(ops)));
	if (fault->first || fault->last != U64_MAX)
		seq_printf(m, " sector=%llu-%llu", fault->first, fault->last);
	seq_printf(m, " skip=%u", fault->skip);
	if (fault->count == U32_MAX)
		seq_puts(m, " count=always");
	else
		seq_printf(m, " count=%u", fault->count);
	seq_printf(m, " chance=%u value=%u # seen %llu hits %llu\n",
		   fault->permille, fault->value, fault->seen, fault->hits);
}

static int mmc_sim_faults_show(struct seq_file *m, void *unused)
{
	struct mmc_sim_host *host = m->private;
	struct mmc_sim_fault *fault;

	guard(spinlock_irqsave)(&host->lock);

	list_for_each_entry(fault, &host->faults, node)
		mmc_sim_show_fault(m, fault);

	return 0;
}

static ssize_t mmc_sim_faults_write(struct file *file, const char __user *ubuf,
				    size_t len, loff_t *pos)
{
	char *line __free(kfree) = mmc_sim_get_line(ubuf, len);

	if (IS_ERR(line))
		return PTR_ERR(line);

	return mmc_sim_fault_arm(mmc_sim_file_host(file), line) ?: len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(mmc_sim_faults);

static int mmc_sim_known_faults_show(struct seq_file *m, void *unused)
{
	for (unsigned int i = 0; i < MMC_SIM_NR_FAULTS; i++)
		seq_printf(m, "%s\t%s\n", mmc_sim_fault_name(i),
			   mmc_sim_fault_text(i));

	return 0;
}

DEFINE_SHOW_ATTRIBUTE(mmc_sim_known_faults);

static int mmc_sim_card_file_show(struct seq_file *m, void *unused)
{
	struct mmc_sim_host *host = m->private;
	enum mmc_sim_state state;
	bool present;

	scoped_guard(spinlock_irqsave, &host->lock) {
		mmc_sim_card_sync(&host->card,
				  max(mmc_sim_clock(), host->card.time));
		state = host->card.state;
		present = host->present;
	}

	seq_printf(m, "%s %s\n", present ? "inserted" : "removed",
		   mmc_sim_state_names[state]);

	return 0;
}

static ssize_t mmc_sim_card_file_write(struct file *file,
				       const char __user *ubuf, size_t len,
				       loff_t *pos)
{
	char *line __free(kfree) = mmc_sim_get_line(ubuf, len);
	struct mmc_sim_host *host = mmc_sim_file_host(file);

	if (IS_ERR(line))
		return PTR_ERR(line);

	if (sysfs_streq(line, "insert")) {
		mmc_sim_host_insert(host, true);
	} else if (sysfs_streq(line, "remove")) {
		mmc_sim_host_insert(host, false);
	} else if (sysfs_streq(line, "power-cut")) {
		mmc_sim_host_power_cut(host);
	} else {
		pr_err("card: %s is not one of insert remove power-cut\n",
		       strim(line));
		return -EINVAL;
	}

	return len;
}

DEFINE_SHOW_STORE_ATTRIBUTE(mmc_sim_card_file);

static int mmc_sim_config_show(struct seq_file *m, void *unused)
{
	const struct mmc_sim_host *host = m->private;
	const char *name;
	u32 val;

	seq_printf(m, "preset %s\n", host->cfg.preset);
	seq_printf(m, "bus %s\n", mmc_sim_bus_name(host->cfg.bus));
	for (unsigned int i = 0;
	     (name = mmc_sim_config_get(&host->cfg, i, &val)); i++)
		seq_printf(m, "%s %u\n", name, val);

	return 0;
}

DEFINE_SHOW_ATTRIBUTE(mmc_sim_config);

/**
 * mmc_sim_debugfs_add - make the directory of a card
 * @host: the host; its name is that of the directory
 *
 * Context: process. @host is complete: files can be opened at once.
 */
void mmc_sim_debugfs_add(struct mmc_sim_host *host)
{
	struct dentry *dir;

	dir = debugfs_create_dir(host->name, mmc_sim_debugfs_root);
	host->debugfs = dir;

	debugfs_create_file("stats", 0600, dir, host, &mmc_sim_stats_fops);
	debugfs_create_file("violations", 0600, dir, host,
			    &mmc_sim_violations_fops);
	debugfs_create_file("faults", 0600, dir, host, &mmc_sim_faults_fops);
	debugfs_create_file("known_faults", 0400, dir, host,
			    &mmc_sim_known_faults_fops);
	debugfs_create_file("card", 0600, dir, host, &mmc_sim_card_file_fops);
	debugfs_create_file("config", 0400, dir, host, &mmc_sim_config_fops);
}

/**
 * mmc_sim_debugfs_remove - remove the directory of a card
 * @host: the host
 *
 * Waits for those who are in one of its files. Nobody gets into one later.
 *
 * Context: process, without any lock that a file's operation takes.
 */
void mmc_sim_debugfs_remove(struct mmc_sim_host *host)
{
	debugfs_remove(host->debugfs);
	host->debugfs = NULL;
}

/**
 * mmc_sim_debugfs_init - make the directory that holds those of the cards
 */
void __init mmc_sim_debugfs_init(void)
{
	mmc_sim_debugfs_root = debugfs_create_dir(MMC_SIM_NAME, NULL);
}

/**
 * mmc_sim_debugfs_exit - remove the directory that holds those of the cards
 */
void mmc_sim_debugfs_exit(void)
{
	debugfs_remove(mmc_sim_debugfs_root);
	mmc_sim_debugfs_root = NULL;
}
