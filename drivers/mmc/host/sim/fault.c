// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: faults. A person arms them, one line each; the host and the engine
 * ask at every point where something can go wrong whether it does.
 */

#define pr_fmt(fmt) "mmc-sim: " fmt

#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/list.h>
#include <linux/parser.h>
#include <linux/prandom.h>
#include <linux/printk.h>
#include <linux/seq_buf.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "sim.h"

static const struct {
	const char *name;
	const char *text;
} mmc_sim_fault_ids[MMC_SIM_NR_FAULTS] = {
#define MMC_SIM_FAULT_TYPE(id, name, text) \
	[MMC_SIM_FAULT_##id] = { name, text },
#include "fault_types.h"
};

static const struct {
	const char *name;
	enum mmc_sim_op op;
} mmc_sim_ops[] = {
	{ "read",	MMC_SIM_OP_READ },
	{ "write",	MMC_SIM_OP_WRITE },
	{ "flush",	MMC_SIM_OP_FLUSH },
	{ "erase",	MMC_SIM_OP_ERASE },
	{ "switch",	MMC_SIM_OP_SWITCH },
	{ "other",	MMC_SIM_OP_OTHER },
	{ "all",	MMC_SIM_OP_ALL },
};

enum {
	MMC_SIM_OPT_OP,
	MMC_SIM_OPT_SECTOR,
	MMC_SIM_OPT_SKIP,
	MMC_SIM_OPT_COUNT,
	MMC_SIM_OPT_CHANCE,
	MMC_SIM_OPT_VALUE,
	MMC_SIM_OPT_ERR,
};

static const match_table_t mmc_sim_fault_opts = {
	{ MMC_SIM_OPT_OP,	"op=%s" },
	{ MMC_SIM_OPT_SECTOR,	"sector=%s" },
	{ MMC_SIM_OPT_SKIP,	"skip=%s" },
	{ MMC_SIM_OPT_COUNT,	"count=%s" },
	{ MMC_SIM_OPT_CHANCE,	"chance=%s" },
	{ MMC_SIM_OPT_VALUE,	"value=%s" },
	{ MMC_SIM_OPT_ERR,	NULL },
};

/**
 * mmc_sim_fault_name - name of a fault, as a specification has it
 * @id: the fault
 *
 * Return: the name, one word.
 */
const char *mmc_sim_fault_name(enum mmc_sim_fault_id id)
{
	return mmc_sim_fault_ids[id].name;
}

/**
 * mmc_sim_fault_text - what a fault does
 * @id: the fault
 *
 * Return: part of a sentence.
 */
const char *mmc_sim_fault_text(enum mmc_sim_fault_id id)
{
	return mmc_sim_fault_ids[id].text;
}

/**
 * mmc_sim_op_names - the operations of a mask, in words
 * @ops: mask of enum mmc_sim_op
 * @buf: where to
 * @size: bytes there
 *
 * Return: @buf, with the names separated by commas as a specification has them.
 */
const char *mmc_sim_op_names(u32 ops, char *buf, size_t size)
{
	size_t len = 0;

	if (ops == MMC_SIM_OP_ALL) {
		strscpy(buf, "all", size);
		return buf;
	}

	buf[0] = '\0';
	for (unsigned int i = 0; i < ARRAY_SIZE(mmc_sim_ops) - 1; i++) {
		if (ops & mmc_sim_ops[i].op)
			len += scnprintf(buf + len, size - len, "%s%s",
					 len ? "," : "", mmc_sim_ops[i].name);
	}

	return buf;
}

static int mmc_sim_fault_parse_name(struct mmc_sim_fault *fault,
				    const char *name)
{
	DECLARE_SEQ_BUF(known, 256);

	for (unsigned int i = 0; i < MMC_SIM_NR_FAULTS; i++) {
		if (!strcmp(name, mmc_sim_fault_ids[i].name)) {
			fault->id = i;
			return 0;
		}
		seq_buf_printf(&known, " %s", mmc_sim_fault_ids[i].name);
	}

	pr_err("fault: %s is not one of%s\n", name, seq_buf_str(&known));
	return -EINVAL;
}

static int mmc_sim_fault_parse_ops(struct mmc_sim_fault *fault, char *list)
{
	const char *word;
	unsigned int i;

	fault->ops = 0;
	while ((word = strsep(&list, ","))) {
		for (i = 0; i < ARRAY_SIZE(mmc_sim_ops); i++) {
			if (!strcmp(word, mmc_sim_ops[i].name))
				break;
		}
		if (i == ARRAY_SIZE(mmc_sim_ops)) {
			pr_err("fault: op=%s is not one of read write flush erase switch other all\n",
			       word);
			return -EINVAL;
		}
		fault->ops |= mmc_sim_ops[i].op;
	}

	return 0;
}

static int mmc_sim_fault_parse_sectors(struct mmc_sim_fault *fault, char *range)
{
	const char *first = strsep(&range, "-");
	const char *last = range ?: first;

	if (kstrtou64(first, 0, &fault->first) ||
	    kstrtou64(last, 0, &fault->last) || fault->last < fault->first) {
		pr_err("fault: sector=%s%s%s is not A or A-B with B not below A\n",
		       first, range ? "-" : "", range ?: "");
		return -EINVAL;
	}

	return 0;
}

static int mmc_sim_fault_parse_num(const char *key, const char *text, u32 min,
				   u32 max, u32 *val)
{
	if (!kstrtou32(text, 0, val) && *val >= min && *val <= max)
		return 0;

	pr_err("fault: %s=%s is not in %u..%u\n", key, text, min, max);
	return -EINVAL;
}

static int mmc_sim_fault_parse_count(struct mmc_sim_fault *fault,
				     const char *text)
{
	if (!strcmp(text, "always")) {
		fault->count = U32_MAX;
		return 0;
	}

	if (!kstrtou32(text, 0, &fault->count) && fault->count &&
	    fault->count != U32_MAX)
		return 0;

	pr_err("fault: count=%s is not in 1..%u and not always\n", text,
	       U32_MAX - 1);
	return -EINVAL;
}

static int mmc_sim_fault_parse_opt(struct mmc_sim_fault *fault, char *word)
{
	substring_t args[MAX_OPT_ARGS];
	int opt = match_token(word, mmc_sim_fault_opts, args);

	/* A word ends where its string ends, so args[0] is a string as well. */
	switch (opt) {
	case MMC_SIM_OPT_OP:
		return mmc_sim_fault_parse_ops(fault, args[0].from);
	case MMC_SIM_OPT_SECTOR:
		return mmc_sim_fault_parse_sectors(fault, args[0].from);
	case MMC_SIM_OPT_SKIP:
		return mmc_sim_fault_parse_num("skip", args[0].from, 0, U32_MAX,
					       &fault->skip);
	case MMC_SIM_OPT_COUNT:
		return mmc_sim_fault_parse_count(fault, args[0].from);
	case MMC_SIM_OPT_CHANCE:
		return mmc_sim_fault_parse_num("chance", args[0].from, 1, 1000,
					       &fault->permille);
	case MMC_SIM_OPT_VALUE:
		return mmc_sim_fault_parse_num("value", args[0].from, 0,
					       U32_MAX, &fault->value);
	default:
		pr_err("fault: %s is not one of op= sector= skip= count= chance= value=\n",
		       word);
		return -EINVAL;
	}
}

/**
 * mmc_sim_fault_parse - read the specification of a fault
 * @fault: where to; all of it is written
 * @spec: "NAME [op=OP,...] [sector=A-B|A] [skip=N] [count=N|always]
 *	[chance=PERMILLE] [value=N]"; overwritten
 *
 * What the specification does not say is: every operation, every sector, no
 * match skipped, one strike, at every match, value 0. Words may come in any
 * order after the name, the last one counts if one comes twice, and what
 * follows a '#' is a comment.
 *
 * Return: 0, or -EINVAL with a line in the log that names the wrong word and
 * what would have been accepted.
 */
int mmc_sim_fault_parse(struct mmc_sim_fault *fault, char *spec)
{
	const char *blank = " \t\n";
	bool named = false;
	char *word;
	int ret;

	*fault = (struct mmc_sim_fault) {
		.node = LIST_HEAD_INIT(fault->node),
		.ops = MMC_SIM_OP_ALL,
		.last = U64_MAX,
		.count = 1,
		.permille = 1000,
	};

	spec[strcspn(spec, "#")] = '\0';

	while ((word = strsep(&spec, blank))) {
		if (!*word)
			continue;

		if (named)
			ret = mmc_sim_fault_parse_opt(fault, word);
		else
			ret = mmc_sim_fault_parse_name(fault, word);
		if (ret)
			return ret;
		named = true;
	}

	if (!named)
		return mmc_sim_fault_parse_name(fault, "an empty line");

	return 0;
}

static bool mmc_sim_fault_matches(const struct mmc_sim_fault *fault,
				  enum mmc_sim_fault_id id, enum mmc_sim_op op,
				  u64 sector, u32 nr)
{
	if (fault->id != id || !(fault->ops & op))
		return false;

	/* What has no address is outside every range but the whole. */
	if (!nr)
		return !fault->first && fault->last == U64_MAX;

	return sector <= fault->last && sector + nr - 1 >= fault->first;
}

/**
 * mmc_sim_fault - does something go wrong now?
 * @host: where
 * @id: what could go wrong
 * @op: operation that it would go wrong for
 * @sector: first sector of the operation
 * @nr: sectors of the operation; 0: it has no address
 * @value: set to the value of the fault that strikes; may be NULL
 *
 * Armed faults are asked in the order in which they were armed. The first that
 * strikes uses the match up: those behind it do not see it. The card's random
 * numbers are drawn only for a fault that leaves something to chance, so that
 * arming any other leaves the run as it was.
 *
 * Context: any; the caller holds &mmc_sim_host.lock.
 *
 * Return: true if the caller has to let it go wrong.
 */
bool mmc_sim_fault(struct mmc_sim_host *host, enum mmc_sim_fault_id id,
		   enum mmc_sim_op op, u64 sector, u32 nr, u32 *value)
{
	struct mmc_sim_fault *fault;

	lockdep_assert_held(&host->lock);

	list_for_each_entry(fault, &host->faults, node) {
		if (!mmc_sim_fault_matches(fault, id, op, sector, nr))
			continue;
		if (fault->count != U32_MAX && fault->hits >= fault->count)
			continue;
		if (fault->seen++ < fault->skip)
			continue;
		if (fault->permille < 1000 &&
		    prandom_u32_state(&host->card.rnd) % 1000 >= fault->permille)
			continue;

		fault->hits++;
		if (value)
			*value = fault->value;
		return true;
	}

	return false;
}

/**
 * mmc_sim_faults_clear - disarm every fault
 * @host: where
 *
 * A fault that already struck is not undone by this.
 *
 * Context: process; takes &mmc_sim_host.lock.
 */
void mmc_sim_faults_clear(struct mmc_sim_host *host)
{
	struct mmc_sim_fault *fault, *next;
	LIST_HEAD(faults);

	scoped_guard(spinlock_irqsave, &host->lock)
		list_splice_init(&host->faults, &faults);

	list_for_each_entry_safe(fault, next, &faults, node)
		kfree(fault);
}

/**
 * mmc_sim_fault_arm - arm a fault, or disarm all
 * @host: where
 * @spec: specification as mmc_sim_fault_parse() takes it, or "clear";
 *	overwritten
 *
 * Context: process; takes &mmc_sim_host.lock, and allocates outside of it.
 *
 * Return: 0; -EINVAL for a wrong specification, -ENOSPC if %MMC_SIM_MAX_FAULTS
 * are armed, used up or not, each with a line in the log; -ENOMEM.
 */
int mmc_sim_fault_arm(struct mmc_sim_host *host, char *spec)
{
	int ret;

	if (sysfs_streq(spec, "clear")) {
		mmc_sim_faults_clear(host);
		return 0;
	}

	struct mmc_sim_fault *new __free(kfree) = kzalloc_obj(*new);
	if (!new)
		return -ENOMEM;

	ret = mmc_sim_fault_parse(new, spec);
	if (ret)
		return ret;

	scoped_guard(spinlock_irqsave, &host->lock) {
		if (list_count_nodes(&host->faults) < MMC_SIM_MAX_FAULTS) {
			list_add_tail(&no_free_ptr(new)->node, &host->faults);
			return 0;
		}
	}

	pr_err("%s: %u faults are armed, which is the most: write clear first\n",
	       host->name, MMC_SIM_MAX_FAULTS);
	return -ENOSPC;
}
