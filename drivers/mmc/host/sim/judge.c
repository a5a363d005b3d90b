// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: counts and logs what the host does and the standard forbids.
 */

#define pr_fmt(fmt) "mmc-sim " fmt

#include <linux/printk.h>
#include <linux/stdarg.h>

#include "card.h"

static const struct {
	const char *name;
	const char *section;
	const char *text;
} mmc_sim_rules[MMC_SIM_NR_RULES] = {
#define MMC_SIM_RULE(id, name, section, text) \
	[MMC_SIM_RULE_##id] = { name, section, text },
#include "rules.h"
};

/**
 * mmc_sim_violation - count a violation of the protocol, and log it
 * @judge: whose
 * @rule: the rule that was broken
 * @fmt: what exactly happened: the command, its argument, the state
 *
 * The count is exact. The log is rate-limited, for all cards together, so that
 * a driver that breaks a rule with every request can still be debugged.
 *
 * Context: any. The caller holds what protects @judge, &mmc_sim_host.lock but
 * for a judge that nobody else can see.
 */
void mmc_sim_violation(struct mmc_sim_judge *judge, enum mmc_sim_rule rule,
		       const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	judge->nr[rule]++;
	if (judge->quiet)
		return;

	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	pr_warn_ratelimited("%s: violation %s (JESD84-B51 %s): %s: %pV\n",
			    judge->name, mmc_sim_rules[rule].name,
			    mmc_sim_rules[rule].section,
			    mmc_sim_rules[rule].text, &vaf);
	va_end(args);
}

/**
 * mmc_sim_judge_total - violations of all rules together
 * @judge: whose
 *
 * Context: any. The caller holds what protects @judge.
 *
 * Return: how many.
 */
u64 mmc_sim_judge_total(const struct mmc_sim_judge *judge)
{
	u64 total = 0;

	for (unsigned int i = 0; i < MMC_SIM_NR_RULES; i++)
		total += judge->nr[i];

	return total;
}

/**
 * mmc_sim_rule_name - name of a rule, as the log and debugfs have it
 * @rule: the rule
 *
 * Return: the name, one word.
 */
const char *mmc_sim_rule_name(enum mmc_sim_rule rule)
{
	return mmc_sim_rules[rule].name;
}

/**
 * mmc_sim_rule_section - where JESD84-B51 states a rule
 * @rule: the rule
 *
 * Return: the section.
 */
const char *mmc_sim_rule_section(enum mmc_sim_rule rule)
{
	return mmc_sim_rules[rule].section;
}

/**
 * mmc_sim_rule_text - what breaks a rule
 * @rule: the rule
 *
 * Return: part of a sentence.
 */
const char *mmc_sim_rule_text(enum mmc_sim_rule rule)
{
	return mmc_sim_rules[rule].text;
}
