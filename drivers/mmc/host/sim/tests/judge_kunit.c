// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of mmc-sim's judge: the counting, and the table of rules. That
 * each rule is caught where it is broken is tested where that happens.
 */

#include <kunit/test.h>
#include <linux/ctype.h>
#include <linux/string.h>

#include "../card.h"

static void judge_counts(struct kunit *test)
{
	struct mmc_sim_judge judge = { .name = "kunit", .quiet = true };

	for (unsigned int i = 0; i < MMC_SIM_NR_RULES; i++) {
		for (unsigned int n = 0; n <= i; n++)
			mmc_sim_violation(&judge, i, "CMD%u", n);
	}

	for (unsigned int i = 0; i < MMC_SIM_NR_RULES; i++)
		KUNIT_EXPECT_EQ(test, judge.nr[i], i + 1);
	KUNIT_EXPECT_EQ(test, mmc_sim_judge_total(&judge),
			MMC_SIM_NR_RULES * (MMC_SIM_NR_RULES + 1) / 2);
}

/* The log has a limit, the count has none. */
static void judge_counts_when_logged(struct kunit *test)
{
	struct mmc_sim_judge judge = { .name = "kunit" };

	for (unsigned int n = 0; n < 100; n++)
		mmc_sim_violation(&judge, MMC_SIM_RULE_STATE,
				  "KUnit breaks it on purpose, %u", n);

	KUNIT_EXPECT_EQ(test, judge.nr[MMC_SIM_RULE_STATE], 100);
	KUNIT_EXPECT_EQ(test, mmc_sim_judge_total(&judge), 100);
}

static void judge_starts_at_zero(struct kunit *test)
{
	struct mmc_sim_judge judge = { .name = "kunit" };

	KUNIT_EXPECT_EQ(test, mmc_sim_judge_total(&judge), 0);
}

static void judge_total_is_wide(struct kunit *test)
{
	struct mmc_sim_judge judge = {
		.nr[MMC_SIM_RULE_STATE] = U32_MAX,
		.nr[MMC_SIM_RULE_BUSY] = U32_MAX,
	};

	KUNIT_EXPECT_EQ(test, mmc_sim_judge_total(&judge), 2ULL * U32_MAX);
}

/* Scripts split the lines of the debugfs file at tabs and look for names. */
static void judge_rules(struct kunit *test)
{
	for (unsigned int i = 0; i < MMC_SIM_NR_RULES; i++) {
		const char *name = mmc_sim_rule_name(i);

		KUNIT_ASSERT_NOT_NULL(test, name);
		KUNIT_EXPECT_GT_MSG(test, strlen(name), 0, "rule %u", i);
		for (const char *p = name; *p; p++)
			KUNIT_EXPECT_TRUE_MSG(test, islower(*p) ||
					      isdigit(*p) || *p == '-',
					      "%s", name);

		KUNIT_ASSERT_NOT_NULL_MSG(test, mmc_sim_rule_section(i), "%s",
					  name);
		KUNIT_EXPECT_TRUE_MSG(test, isdigit(*mmc_sim_rule_section(i)) ||
				      !strncmp(mmc_sim_rule_section(i),
					       "CQHCI B.", 8), "%s", name);
		KUNIT_ASSERT_NOT_NULL_MSG(test, mmc_sim_rule_text(i), "%s",
					  name);
		KUNIT_EXPECT_GT_MSG(test, strlen(mmc_sim_rule_text(i)), 0, "%s",
				    name);
		KUNIT_EXPECT_NULL_MSG(test, strpbrk(mmc_sim_rule_text(i),
						    "\t\n"), "%s", name);

		for (unsigned int j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, name, mmc_sim_rule_name(j));
	}
}

static struct kunit_case judge_cases[] = {
	KUNIT_CASE(judge_starts_at_zero),
	KUNIT_CASE(judge_counts),
	KUNIT_CASE(judge_counts_when_logged),
	KUNIT_CASE(judge_total_is_wide),
	KUNIT_CASE(judge_rules),
	{}
};

static struct kunit_suite judge_suite = {
	.name = "mmc_sim_judge",
	.test_cases = judge_cases,
};

kunit_test_suite(judge_suite);
