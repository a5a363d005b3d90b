// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of how often a card may need recovery.
 */
#include <kunit/test.h>

#include "../recovery.h"

#define MINUTE	60
#define DAY	(24 * 60 * MINUTE)

/* In what is noted, and whether that is one too many, in turn. */
static const struct log_case {
	const char *name;
	time64_t at[6];
	bool many[6];
} log_cases[] = {
	{ "one after boot", { 1 }, { 0 } },
	{ "two at once", { 1, 1 }, { 0, 0 } },
	{ "three at once", { 7, 7, 7 }, { 0, 0, 1 } },
	{ "time zero", { 0, 0, 0 }, { 0, 0, 1, 1, 1, 1 } },
	/* A request that times out three times gets no further. */
	{ "three timeouts", { 60, 120, 180 }, { 0, 0, 1 } },
	{ "third just within", { 100, 200, 699 }, { 0, 0, 1 } },
	{ "third just too late", { 100, 200, 700 }, { 0, 0, 0 } },
	{ "one in five minutes", { 300, 600, 900, 1200 }, { 0, 0, 0, 0 } },
	{ "one a day", { DAY, 2 * DAY, 3 * DAY, 4 * DAY, 5 * DAY }, { 0, 0, 0, 0, 0 } },
	{ "two a day", { DAY, DAY + 5, 2 * DAY, 2 * DAY + 5, 3 * DAY, 3 * DAY + 5 },
	  { 0, 0, 0, 0, 0, 0 } },
	{ "three after a day", { 1, 2, DAY, DAY + 1, DAY + 2 }, { 0, 0, 0, 0, 1 } },
	{ "goes on", { 1, 2, 3, 4, 5, 6 }, { 0, 0, 1, 1, 1, 1 } },
};

KUNIT_ARRAY_PARAM_DESC(log, log_cases, name);

static void log_test(struct kunit *test)
{
	const struct log_case *c = test->param_value;
	struct mmc_recovery_log log = {};

	for (int i = 0; i < ARRAY_SIZE(c->at); i++) {
		if (i && c->at[i] < c->at[i - 1])
			break;
		KUNIT_EXPECT_EQ_MSG(test, mmc_recovery_note(&log, c->at[i]),
				    c->many[i], "number %d, at %lld", i + 1,
				    c->at[i]);
	}
}

/* Any number of them at a distance is never too many. */
static void long_test(struct kunit *test)
{
	struct mmc_recovery_log log = {};
	time64_t at = 0;

	for (int i = 0; i < 1000; i++) {
		at += MMC_RECOVERY_PERIOD_S / MMC_RECOVERY_LIMIT;
		KUNIT_ASSERT_FALSE(test, mmc_recovery_note(&log, at));
	}
	KUNIT_EXPECT_FALSE(test, mmc_recovery_note(&log, at + MMC_RECOVERY_PERIOD_S));
	KUNIT_EXPECT_FALSE(test, mmc_recovery_note(&log, at + MMC_RECOVERY_PERIOD_S));
	KUNIT_EXPECT_TRUE(test, mmc_recovery_note(&log, at + MMC_RECOVERY_PERIOD_S));
}

static struct kunit_case recovery_cases[] = {
	KUNIT_CASE_PARAM(log_test, log_gen_params),
	KUNIT_CASE(long_test),
	{}
};

static struct kunit_suite recovery_suite = {
	.name = "mmc_recovery",
	.test_cases = recovery_cases,
};

kunit_test_suite(recovery_suite);
