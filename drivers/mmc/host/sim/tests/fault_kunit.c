// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of mmc-sim's faults: what a specification may be, and when an
 * armed fault strikes. What happens then is tested where it happens.
 */

#include <kunit/test.h>
#include <linux/cleanup.h>
#include <linux/limits.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "../sim.h"

#define FAULT_LINE	256

/* ---------------------------------------------------------- specifications */

struct fault_parse_case {
	const char *name;
	const char *spec;
	int ret;
	struct mmc_sim_fault want;
};

/* What a specification means that has nothing but a name. */
#define FAULT_WANT	.ops = MMC_SIM_OP_ALL, .last = U64_MAX, .count = 1, \
			.permille = 1000

static const struct fault_parse_case fault_parse_cases[] = {
	{ "name alone", "data-crc", 0,
	  { .id = MMC_SIM_FAULT_DATA_CRC, FAULT_WANT } },
	{ "newline", "power-cut\n", 0,
	  { .id = MMC_SIM_FAULT_POWER_CUT, FAULT_WANT } },
	{ "blanks", "  remove \t count=2 \t", 0,
	  { .id = MMC_SIM_FAULT_REMOVE, .ops = MMC_SIM_OP_ALL,
	    .last = U64_MAX, .count = 2, .permille = 1000 } },
	{ "everything",
	  "cmd-timeout op=read,write sector=8-15 skip=3 count=2 chance=500 value=0x80",
	  0,
	  { .id = MMC_SIM_FAULT_CMD_TIMEOUT,
	    .ops = MMC_SIM_OP_READ | MMC_SIM_OP_WRITE, .first = 8, .last = 15,
	    .skip = 3, .count = 2, .permille = 500, .value = 0x80 } },
	{ "other order", "lost-irq count=always op=flush", 0,
	  { .id = MMC_SIM_FAULT_LOST_IRQ, .ops = MMC_SIM_OP_FLUSH,
	    .last = U64_MAX, .count = U32_MAX, .permille = 1000 } },
	{ "one sector", "data-crc sector=7", 0,
	  { .id = MMC_SIM_FAULT_DATA_CRC, .ops = MMC_SIM_OP_ALL, .first = 7,
	    .last = 7, .count = 1, .permille = 1000 } },
	{ "range of one sector", "data-crc sector=7-7", 0,
	  { .id = MMC_SIM_FAULT_DATA_CRC, .ops = MMC_SIM_OP_ALL, .first = 7,
	    .last = 7, .count = 1, .permille = 1000 } },
	{ "whole range", "data-crc sector=0-18446744073709551615", 0,
	  { .id = MMC_SIM_FAULT_DATA_CRC, FAULT_WANT } },
	{ "all operations", "data-crc op=all", 0,
	  { .id = MMC_SIM_FAULT_DATA_CRC, FAULT_WANT } },
	{ "last one counts", "data-crc skip=1 skip=2", 0,
	  { .id = MMC_SIM_FAULT_DATA_CRC, .ops = MMC_SIM_OP_ALL,
	    .last = U64_MAX, .skip = 2, .count = 1, .permille = 1000 } },
	{ "largest values", "data-crc skip=4294967295 count=4294967294 value=4294967295",
	  0,
	  { .id = MMC_SIM_FAULT_DATA_CRC, .ops = MMC_SIM_OP_ALL,
	    .last = U64_MAX, .skip = U32_MAX, .count = U32_MAX - 1,
	    .permille = 1000, .value = U32_MAX } },
	{ "comment", "data-crc # seen 3 hits 1", 0,
	  { .id = MMC_SIM_FAULT_DATA_CRC, FAULT_WANT } },

	{ "empty", "", -EINVAL },
	{ "blank", "\n ", -EINVAL },
	{ "comment alone", "# data-crc", -EINVAL },
	{ "unknown name", "data_crc", -EINVAL },
	{ "part of a name", "data", -EINVAL },
	{ "no name", "op=read", -EINVAL },
	{ "two names", "data-crc cmd-crc", -EINVAL },
	{ "unknown word", "data-crc times=1", -EINVAL },
	{ "word without a value", "data-crc skip", -EINVAL },
	{ "word with nothing", "data-crc skip=", -EINVAL },
	{ "unknown operation", "data-crc op=trim", -EINVAL },
	{ "operation missing", "data-crc op=read,", -EINVAL },
	{ "blank in a list", "data-crc op=read, write", -EINVAL },
	{ "sector not a number", "data-crc sector=a", -EINVAL },
	{ "range without an end", "data-crc sector=8-", -EINVAL },
	{ "range without a start", "data-crc sector=-8", -EINVAL },
	{ "range backwards", "data-crc sector=8-7", -EINVAL },
	{ "range of three", "data-crc sector=1-2-3", -EINVAL },
	{ "sector beyond 64 bits", "data-crc sector=18446744073709551616",
	  -EINVAL },
	{ "skip negative", "data-crc skip=-1", -EINVAL },
	{ "skip beyond 32 bits", "data-crc skip=4294967296", -EINVAL },
	{ "count of nothing", "data-crc count=0", -EINVAL },
	{ "count of a word", "data-crc count=ever", -EINVAL },
	{ "count that means always", "data-crc count=4294967295", -EINVAL },
	{ "no chance", "data-crc chance=0", -EINVAL },
	{ "more than certain", "data-crc chance=1001", -EINVAL },
	{ "value with rubbish", "data-crc value=1x", -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(fault_parse, fault_parse_cases, name);

static void fault_parse(struct kunit *test)
{
	const struct fault_parse_case *c = test->param_value;
	struct mmc_sim_fault fault;
	char spec[FAULT_LINE];

	memset(&fault, 0xff, sizeof(fault));
	strscpy(spec, c->spec);
	KUNIT_ASSERT_EQ(test, mmc_sim_fault_parse(&fault, spec), c->ret);
	if (c->ret)
		return;

	KUNIT_EXPECT_EQ(test, fault.id, c->want.id);
	KUNIT_EXPECT_EQ(test, fault.ops, c->want.ops);
	KUNIT_EXPECT_EQ(test, fault.first, c->want.first);
	KUNIT_EXPECT_EQ(test, fault.last, c->want.last);
	KUNIT_EXPECT_EQ(test, fault.skip, c->want.skip);
	KUNIT_EXPECT_EQ(test, fault.count, c->want.count);
	KUNIT_EXPECT_EQ(test, fault.permille, c->want.permille);
	KUNIT_EXPECT_EQ(test, fault.value, c->want.value);
	KUNIT_EXPECT_EQ(test, fault.seen, 0);
	KUNIT_EXPECT_EQ(test, fault.hits, 0);
}

static void fault_names(struct kunit *test)
{
	struct mmc_sim_fault fault;
	char spec[FAULT_LINE];

	for (unsigned int i = 0; i < MMC_SIM_NR_FAULTS; i++) {
		strscpy(spec, mmc_sim_fault_name(i));
		KUNIT_EXPECT_EQ_MSG(test, mmc_sim_fault_parse(&fault, spec), 0,
				    "%s", mmc_sim_fault_name(i));
		KUNIT_EXPECT_EQ(test, fault.id, i);
		KUNIT_EXPECT_GT(test, strlen(mmc_sim_fault_text(i)), 0);
	}
}

/* Every mask can be written down, and read again. */
static void fault_op_names(struct kunit *test)
{
	struct mmc_sim_fault fault;
	char names[FAULT_LINE / 2];
	char spec[FAULT_LINE];

	for (u32 ops = 1; ops <= MMC_SIM_OP_ALL; ops++) {
		mmc_sim_op_names(ops, names, sizeof(names));
		snprintf(spec, sizeof(spec), "response op=%s", names);
		KUNIT_EXPECT_EQ_MSG(test, mmc_sim_fault_parse(&fault, spec), 0,
				    "%s", names);
		KUNIT_EXPECT_EQ(test, fault.ops, ops);
	}

	KUNIT_EXPECT_STREQ(test, mmc_sim_op_names(MMC_SIM_OP_ALL, names,
						  sizeof(names)), "all");
	KUNIT_EXPECT_STREQ(test, mmc_sim_op_names(MMC_SIM_OP_READ |
						  MMC_SIM_OP_ERASE, names,
						  sizeof(names)),
			   "read,erase");
}

/* ---------------------------------------------------------- strikes */

static void fault_clear_action(void *host)
{
	mmc_sim_faults_clear(host);
}

/* A host with no card, as far as faults need one. */
static int fault_init(struct kunit *test)
{
	struct mmc_sim_host *host;

	host = kunit_kzalloc(test, sizeof(*host), GFP_KERNEL);
	if (!host)
		return -ENOMEM;

	host->name = "kunit";
	spin_lock_init(&host->lock);
	INIT_LIST_HEAD(&host->faults);
	prandom_seed_state(&host->card.rnd, 1);
	test->priv = host;

	return kunit_add_action_or_reset(test, fault_clear_action, host);
}

static int fault_arm(struct kunit *test, const char *text)
{
	char spec[FAULT_LINE];

	strscpy(spec, text);

	return mmc_sim_fault_arm(test->priv, spec);
}

static bool fault_strikes(struct kunit *test, enum mmc_sim_fault_id id,
			  enum mmc_sim_op op, u64 sector, u32 nr, u32 *value)
{
	struct mmc_sim_host *host = test->priv;

	guard(spinlock_irqsave)(&host->lock);

	return mmc_sim_fault(host, id, op, sector, nr, value);
}

/* Most tests need no more than this: a read of eight sectors at 0. */
static bool fault_read_strikes(struct kunit *test)
{
	return fault_strikes(test, MMC_SIM_FAULT_DATA_CRC, MMC_SIM_OP_READ, 0,
			     8, NULL);
}

static struct mmc_sim_fault *fault_first(struct kunit *test)
{
	struct mmc_sim_host *host = test->priv;

	return list_first_entry_or_null(&host->faults, struct mmc_sim_fault,
					node);
}

static void fault_none_armed(struct kunit *test)
{
	u32 value = 5;

	KUNIT_EXPECT_FALSE(test, fault_strikes(test, MMC_SIM_FAULT_DATA_CRC,
					       MMC_SIM_OP_READ, 0, 8, &value));
	KUNIT_EXPECT_EQ(test, value, 5);
}

static void fault_strikes_once(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, fault_arm(test, "data-crc"), 0);

	KUNIT_EXPECT_TRUE(test, fault_read_strikes(test));
	for (unsigned int i = 0; i < 10; i++)
		KUNIT_EXPECT_FALSE(test, fault_read_strikes(test));

	/* It stays in the list, to be looked at. */
	KUNIT_ASSERT_NOT_NULL(test, fault_first(test));
	KUNIT_EXPECT_EQ(test, fault_first(test)->hits, 1);
}

static void fault_skip_and_count(struct kunit *test)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(test, fault_arm(test, "data-crc skip=3 count=2"), 0);

	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ_MSG(test, fault_read_strikes(test),
				    i == 3 || i == 4, "match %u", i);
	KUNIT_EXPECT_EQ(test, fault_first(test)->hits, 2);
}

static void fault_always(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, fault_arm(test, "data-crc count=always"), 0);

	for (unsigned int i = 0; i < 1000; i++)
		KUNIT_EXPECT_TRUE(test, fault_read_strikes(test));
	KUNIT_EXPECT_EQ(test, fault_first(test)->hits, 1000);
}

static void fault_other_id(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, fault_arm(test, "cmd-crc"), 0);

	KUNIT_EXPECT_FALSE(test, fault_read_strikes(test));
	KUNIT_EXPECT_EQ(test, fault_first(test)->seen, 0);
}

struct fault_op_case {
	const char *name;
	enum mmc_sim_op op;
	bool strikes;
};

/* Against op=read,flush,switch. */
static const struct fault_op_case fault_op_cases[] = {
	{ "read", MMC_SIM_OP_READ, true },
	{ "write", MMC_SIM_OP_WRITE, false },
	{ "flush", MMC_SIM_OP_FLUSH, true },
	{ "erase", MMC_SIM_OP_ERASE, false },
	{ "switch", MMC_SIM_OP_SWITCH, true },
	{ "other", MMC_SIM_OP_OTHER, false },
};

KUNIT_ARRAY_PARAM_DESC(fault_op, fault_op_cases, name);

static void fault_op(struct kunit *test)
{
	const struct fault_op_case *c = test->param_value;

	KUNIT_ASSERT_EQ(test,
			fault_arm(test, "response op=read,flush,switch"), 0);
	KUNIT_EXPECT_EQ(test, fault_strikes(test, MMC_SIM_FAULT_RESPONSE, c->op,
					    0, 0, NULL), c->strikes);
}

struct fault_range_case {
	const char *name;
	const char *spec;
	u64 sector;
	u32 nr;
	bool strikes;
};

static const struct fault_range_case fault_range_cases[] = {
	{ "just below", "data-crc sector=100-199", 92, 8, false },
	{ "last sector touches", "data-crc sector=100-199", 93, 8, true },
	{ "inside", "data-crc sector=100-199", 150, 8, true },
	{ "around", "data-crc sector=100-199", 0, 1000, true },
	{ "first sector touches", "data-crc sector=100-199", 199, 8, true },
	{ "just above", "data-crc sector=100-199", 200, 8, false },
	{ "one sector, hit", "data-crc sector=100", 100, 1, true },
	{ "one sector, below", "data-crc sector=100", 99, 1, false },
	{ "one sector, above", "data-crc sector=100", 101, 1, false },
	{ "from the start", "data-crc sector=0-7", 7, 1, true },
	{ "end of all sectors", "data-crc sector=100-18446744073709551615",
	  0xffffffffull, 1, true },
	{ "no address, no range", "data-crc", 0, 0, true },
	{ "no address, but a range", "data-crc sector=0-7", 0, 0, false },
};

KUNIT_ARRAY_PARAM_DESC(fault_range, fault_range_cases, name);

static void fault_range(struct kunit *test)
{
	const struct fault_range_case *c = test->param_value;

	KUNIT_ASSERT_EQ(test, fault_arm(test, c->spec), 0);
	KUNIT_EXPECT_EQ(test, fault_strikes(test, MMC_SIM_FAULT_DATA_CRC,
					    MMC_SIM_OP_READ, c->sector, c->nr,
					    NULL), c->strikes);
	KUNIT_EXPECT_EQ(test, fault_first(test)->seen, c->strikes);
}

static void fault_value(struct kunit *test)
{
	u32 value = 0;

	KUNIT_ASSERT_EQ(test, fault_arm(test, "stuck-busy value=250000"), 0);
	KUNIT_EXPECT_TRUE(test, fault_strikes(test, MMC_SIM_FAULT_STUCK_BUSY,
					      MMC_SIM_OP_WRITE, 0, 8, &value));
	KUNIT_EXPECT_EQ(test, value, 250000);
}

/* The first armed strikes first; the second sees what the first lets through. */
static void fault_two(struct kunit *test)
{
	static const u32 want[] = { 1, 2, 2, 0, 0 };

	KUNIT_ASSERT_EQ(test, fault_arm(test, "data-crc value=1"), 0);
	KUNIT_ASSERT_EQ(test, fault_arm(test, "data-crc count=2 value=2"), 0);

	for (unsigned int i = 0; i < ARRAY_SIZE(want); i++) {
		u32 value = 0;

		KUNIT_EXPECT_EQ(test, fault_strikes(test,
						    MMC_SIM_FAULT_DATA_CRC,
						    MMC_SIM_OP_READ, 0, 8,
						    &value), want[i] != 0);
		KUNIT_EXPECT_EQ_MSG(test, value, want[i], "match %u", i);
	}
}

/*
 * Of 10,000 matches at 250 permille 2,500 strike on average, with a standard
 * deviation of 43; the seed makes the outcome the same every time.
 */
static void fault_chance(struct kunit *test)
{
	struct mmc_sim_host *host = test->priv;
	unsigned int first = 0, second = 0;

	KUNIT_ASSERT_EQ(test,
			fault_arm(test, "data-crc count=always chance=250"), 0);

	for (unsigned int i = 0; i < 10000; i++)
		first += fault_read_strikes(test);
	KUNIT_EXPECT_GT(test, first, 2500 - 5 * 43);
	KUNIT_EXPECT_LT(test, first, 2500 + 5 * 43);
	KUNIT_EXPECT_EQ(test, fault_first(test)->seen, 10000);
	KUNIT_EXPECT_EQ(test, fault_first(test)->hits, first);

	prandom_seed_state(&host->card.rnd, 1);
	for (unsigned int i = 0; i < 10000; i++)
		second += fault_read_strikes(test);
	KUNIT_EXPECT_EQ(test, second, first);
}

/* A fault that leaves nothing to chance leaves the card's numbers alone. */
static void fault_draws_no_number(struct kunit *test)
{
	struct mmc_sim_host *host = test->priv;
	struct rnd_state before = host->card.rnd;

	KUNIT_ASSERT_EQ(test, fault_arm(test, "data-crc"), 0);
	KUNIT_ASSERT_EQ(test, fault_arm(test, "cmd-crc chance=500"), 0);
	KUNIT_EXPECT_TRUE(test, fault_read_strikes(test));
	KUNIT_EXPECT_FALSE(test, fault_read_strikes(test));
	KUNIT_EXPECT_MEMEQ(test, &before, &host->card.rnd, sizeof(before));
}

/* ---------------------------------------------------------- arming */

static void fault_arm_refuses(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, fault_arm(test, "data-crc op=trim"), -EINVAL);
	KUNIT_EXPECT_EQ(test, fault_arm(test, ""), -EINVAL);
	KUNIT_EXPECT_NULL(test, fault_first(test));
}

static void fault_clear(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, fault_arm(test, "data-crc count=always"), 0);
	KUNIT_ASSERT_EQ(test, fault_arm(test, "cmd-crc count=always"), 0);
	KUNIT_EXPECT_TRUE(test, fault_read_strikes(test));

	KUNIT_EXPECT_EQ(test, fault_arm(test, "clear\n"), 0);
	KUNIT_EXPECT_NULL(test, fault_first(test));
	KUNIT_EXPECT_FALSE(test, fault_read_strikes(test));

	/* And once more with nothing there. */
	KUNIT_EXPECT_EQ(test, fault_arm(test, "clear"), 0);
}

static void fault_arm_limit(struct kunit *test)
{
	for (unsigned int i = 0; i < MMC_SIM_MAX_FAULTS; i++)
		KUNIT_ASSERT_EQ(test, fault_arm(test, "data-crc"), 0);

	KUNIT_EXPECT_EQ(test, fault_arm(test, "data-crc"), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fault_arm(test, "clear"), 0);
	KUNIT_EXPECT_EQ(test, fault_arm(test, "data-crc"), 0);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE_PARAM(fault_parse, fault_parse_gen_params),
	KUNIT_CASE(fault_names),
	KUNIT_CASE(fault_op_names),
	KUNIT_CASE(fault_none_armed),
	KUNIT_CASE(fault_strikes_once),
	KUNIT_CASE(fault_skip_and_count),
	KUNIT_CASE(fault_always),
	KUNIT_CASE(fault_other_id),
	KUNIT_CASE_PARAM(fault_op, fault_op_gen_params),
	KUNIT_CASE_PARAM(fault_range, fault_range_gen_params),
	KUNIT_CASE(fault_value),
	KUNIT_CASE(fault_two),
	KUNIT_CASE(fault_chance),
	KUNIT_CASE(fault_draws_no_number),
	KUNIT_CASE(fault_arm_refuses),
	KUNIT_CASE(fault_clear),
	KUNIT_CASE(fault_arm_limit),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "mmc_sim_fault",
	.init = fault_init,
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);
