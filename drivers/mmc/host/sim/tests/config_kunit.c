// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of mmc-sim's settings: what is accepted, what is refused, and
 * what one setting asks of another.
 */

#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "../card.h"

/* ---------------------------------------------------------- ranges */

struct config_range {
	const char *name;
	u32 def;
	u32 min;
	u32 max;
	u32 step;
	const char *unit;
};

enum {
#define MMC_SIM_ATTR(name, ...) CONFIG_RANGE_##name,
#include "../attrs.h"
};

/* From the list of all settings itself, so that none can be forgotten. */
static const struct config_range config_ranges[] = {
#define MMC_SIM_ATTR(name, def, min, max, step, unit) \
	[CONFIG_RANGE_##name] = { #name, def, min, max, step, unit },
#include "../attrs.h"
};

KUNIT_ARRAY_PARAM_DESC(config_range, config_ranges, name);

/* Set it, and see that it became @val, or stayed as it was. */
static void config_expect_set(struct kunit *test, const char *name, u32 val,
			      int ret)
{
	struct mmc_sim_config cfg;
	u32 before = 0, after = 0;
	const char *attr;
	unsigned int i;

	mmc_sim_config_init(&cfg);

	for (i = 0; (attr = mmc_sim_config_get(&cfg, i, &before)); i++) {
		if (!strcmp(attr, name))
			break;
	}
	KUNIT_ASSERT_NOT_NULL(test, attr);

	KUNIT_EXPECT_EQ(test, mmc_sim_config_set(&cfg, name, val), ret);
	mmc_sim_config_get(&cfg, i, &after);
	KUNIT_EXPECT_EQ(test, after, ret ? before : val);
}

static void config_default(struct kunit *test)
{
	const struct config_range *range = test->param_value;

	config_expect_set(test, range->name, range->def, 0);
}

static void config_minimum(struct kunit *test)
{
	const struct config_range *range = test->param_value;

	config_expect_set(test, range->name, range->min, 0);
}

static void config_maximum(struct kunit *test)
{
	const struct config_range *range = test->param_value;

	config_expect_set(test, range->name, range->max, 0);
}

/* Below 0 lies, in 32 bits, what is above every maximum. */
static void config_below(struct kunit *test)
{
	const struct config_range *range = test->param_value;

	config_expect_set(test, range->name, range->min - range->step,
			  -EINVAL);
}

static void config_above(struct kunit *test)
{
	const struct config_range *range = test->param_value;

	config_expect_set(test, range->name, range->max + range->step,
			  -EINVAL);
}

static void config_between_steps(struct kunit *test)
{
	const struct config_range *range = test->param_value;

	config_expect_set(test, range->name, range->min + 1,
			  range->step == 1 ? 0 : -EINVAL);
}

/* ---------------------------------------------------------- text */

struct config_text_case {
	const char *name;
	const char *attr;
	const char *text;
	int ret;
	u32 val;
};

static const struct config_text_case config_text_cases[] = {
	{ "decimal", "queue_depth", "16", 0, 16 },
	{ "newline", "queue_depth", "16\n", 0, 16 },
	{ "hexadecimal", "queue_depth", "0x10", 0, 16 },
	{ "octal", "queue_depth", "020", 0, 16 },
	{ "zero where none is", "queue_depth", "0", -EINVAL },
	{ "depth over 32", "queue_depth", "33", -EINVAL },
	{ "odd size", "boot_kib", "100", -EINVAL },
	{ "zero capacity", "capacity_mib", "0", -EINVAL },
	{ "negative", "queue_depth", "-1", -EINVAL },
	{ "beyond 32 bits", "queue_depth", "4294967312", -EINVAL },
	{ "empty", "queue_depth", "", -EINVAL },
	{ "only a newline", "queue_depth", "\n", -EINVAL },
	{ "word", "queue_depth", "deep", -EINVAL },
	{ "unit", "capacity_mib", "64M", -EINVAL },
	{ "two numbers", "queue_depth", "1 2", -EINVAL },
	{ "word for a boolean", "cqe", "yes", -EINVAL },
	{ "between 0 and 255", "erased_byte", "1", -EINVAL },
	{ "either 0 or 255", "erased_byte", "0xff", 0, 255 },
	{ "no such setting", "queue_width", "1", -EINVAL },
	{ "preset is no number", "preset", "1", -EINVAL },
	{ "setting without a name", "", "1", -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(config_text, config_text_cases, name);

static void config_text(struct kunit *test)
{
	const struct config_text_case *c = test->param_value;
	struct mmc_sim_config cfg;
	const char *attr;
	u32 val;

	mmc_sim_config_init(&cfg);
	KUNIT_EXPECT_EQ(test, mmc_sim_config_parse(&cfg, c->attr, c->text),
			c->ret);
	if (c->ret)
		return;

	for (unsigned int i = 0; (attr = mmc_sim_config_get(&cfg, i, &val)); i++) {
		if (!strcmp(attr, c->attr))
			KUNIT_EXPECT_EQ(test, val, c->val);
	}
}

/* A long and unprintable value is a wrong value, and nothing worse. */
static void config_text_long(struct kunit *test)
{
	struct mmc_sim_config cfg;
	char *text;

	text = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, text);
	memset(text, '9', PAGE_SIZE);
	text[PAGE_SIZE - 1] = '\0';

	mmc_sim_config_init(&cfg);
	KUNIT_EXPECT_EQ(test, mmc_sim_config_parse(&cfg, "seed", text),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, mmc_sim_preset(&cfg, text), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmc_sim_config_bus(&cfg, text), -EINVAL);
	KUNIT_EXPECT_EQ(test, cfg.seed, 1);
}

/* ---------------------------------------------------------- contradictions */

struct config_check_case {
	const char *name;
	const char *bus;
	struct {
		const char *attr;
		u32 val;
	} set[4];
	int ret;
};

static const struct config_check_case config_check_cases[] = {
	{ "defaults" },

	{ "cqe with hsq", NULL, {{ "hsq", 1 }}, -EINVAL },
	{ "hsq alone", NULL, {{ "cqe", 0 }, { "hsq", 1 }} },
	{ "neither", NULL, {{ "cqe", 0 }} },
	{ "dcmd without cqe", NULL, {{ "cqe", 0 }, { "dcmd", 1 }} },
	{ "cqe without dcmd", NULL, {{ "dcmd", 0 }} },
	{ "cqe without cmd23", NULL, {{ "cmd23", 0 }} },
	{ "cqe of one task", NULL, {{ "queue_depth", 1 }} },

	{ "legacy, 1 line", "legacy", {{ "bus_width", 1 }} },
	{ "hs, 1 line", "hs", {{ "bus_width", 1 }} },
	{ "hs, 4 lines", "hs", {{ "bus_width", 4 }} },
	{ "ddr52, 1 line", "ddr52", {{ "bus_width", 1 }}, -EINVAL },
	{ "ddr52, 4 lines", "ddr52", {{ "bus_width", 4 }} },
	{ "hs200, 1 line", "hs200", {{ "bus_width", 1 }}, -EINVAL },
	{ "hs200, 4 lines", "hs200", {{ "bus_width", 4 }} },
	{ "hs200, 8 lines", "hs200", {{ "bus_width", 8 }} },
	{ "hs400, 1 line", "hs400", {{ "bus_width", 1 }}, -EINVAL },
	{ "hs400, 4 lines", "hs400", {{ "bus_width", 4 }}, -EINVAL },
	{ "hs400, 8 lines", "hs400", {{ "bus_width", 8 }} },
	{ "hs400es, 4 lines", "hs400es", {{ "bus_width", 4 }}, -EINVAL },
	{ "hs400es, 8 lines", "hs400es", {{ "bus_width", 8 }} },
	{ "2 lines", "legacy", {{ "bus_width", 2 }}, -EINVAL },
	{ "7 lines", "legacy", {{ "bus_width", 7 }}, -EINVAL },

	{ "sector of 4096", NULL, {{ "sector_size", 4096 }} },
	{ "sector of 1024", NULL, {{ "sector_size", 1024 }}, -EINVAL },
	{ "sector of 2048", NULL, {{ "sector_size", 2048 }}, -EINVAL },
	{ "odd request, sector of 4096", NULL,
	  {{ "sector_size", 4096 }, { "max_req_kib", 510 }}, -EINVAL },
	{ "odd request, sector of 512", NULL, {{ "max_req_kib", 511 }} },
	{ "page of 1 KiB, sector of 4096", NULL,
	  {{ "sector_size", 4096 }, { "page_kib", 1 }}, -EINVAL },
	{ "page of 1 KiB, sector of 512", NULL, {{ "page_kib", 1 }} },
	{ "page of 4 KiB, sector of 4096", NULL,
	  {{ "sector_size", 4096 }, { "page_kib", 4 }} },
	{ "smallest card, sector of 4096", NULL,
	  {{ "sector_size", 4096 }, { "capacity_mib", 8 }} },

	{ "short descriptors, 64-bit DMA", NULL, {{ "short_txfr_desc", 1 }} },
	{ "short descriptors, 32-bit DMA", NULL,
	  {{ "short_txfr_desc", 1 }, { "dma_bits", 32 }}, -EINVAL },
	{ "task descriptors of 128 bits, 32-bit DMA", NULL,
	  {{ "task_desc_bits", 128 }, { "dma_bits", 32 }} },

	{ "clock of 192 MHz", NULL, {{ "timer_khz", 192000 }} },
	{ "clock of 1023 kHz", NULL, {{ "timer_khz", 1023 }} },
	{ "clock of 1024 kHz", NULL, {{ "timer_khz", 1024 }}, -EINVAL },
	{ "clock of 19200 kHz", NULL, {{ "timer_khz", 19200 }} },
	{ "clock of 1 GHz", NULL, {{ "timer_khz", 1000000 }} },
	{ "clock of 192001 kHz", NULL, {{ "timer_khz", 192001 }}, -EINVAL },

	{ "barrier without cache", NULL,
	  {{ "cache_kib", 0 }, { "barrier", 1 }} },
	{ "no boot partitions, no RPMB", NULL,
	  {{ "boot_kib", 0 }, { "rpmb_kib", 0 }} },
};

KUNIT_ARRAY_PARAM_DESC(config_check, config_check_cases, name);

static void config_check(struct kunit *test)
{
	const struct config_check_case *c = test->param_value;
	struct mmc_sim_config cfg;

	mmc_sim_config_init(&cfg);
	if (c->bus)
		KUNIT_ASSERT_EQ(test, mmc_sim_config_bus(&cfg, c->bus), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(c->set) && c->set[i].attr; i++)
		KUNIT_ASSERT_EQ(test,
				mmc_sim_config_set(&cfg, c->set[i].attr,
						   c->set[i].val), 0);

	KUNIT_EXPECT_EQ(test, mmc_sim_config_check(&cfg), c->ret);
}

/* The block layer refuses a disk that cannot move a page at a time. */
static void config_check_page(struct kunit *test)
{
	struct mmc_sim_config cfg;

	mmc_sim_config_init(&cfg);
	cfg.max_req_kib = PAGE_SIZE / SZ_1K;
	KUNIT_EXPECT_EQ(test, mmc_sim_config_check(&cfg), 0);
	cfg.max_req_kib--;
	KUNIT_EXPECT_EQ(test, mmc_sim_config_check(&cfg), -EINVAL);
}

/* Going live looks at every value again, however it got there. */
static void config_check_range(struct kunit *test)
{
	struct mmc_sim_config cfg;

	mmc_sim_config_init(&cfg);
	cfg.queue_depth = 33;
	KUNIT_EXPECT_EQ(test, mmc_sim_config_check(&cfg), -EINVAL);

	mmc_sim_config_init(&cfg);
	cfg.rpmb_kib = 127;
	KUNIT_EXPECT_EQ(test, mmc_sim_config_check(&cfg), -EINVAL);

	mmc_sim_config_init(&cfg);
	cfg.bus = MMC_SIM_BUS_HS400ES + 1;
	KUNIT_EXPECT_EQ(test, mmc_sim_config_check(&cfg), -EINVAL);
}

/* ---------------------------------------------------------- words */

static void config_defaults(struct kunit *test)
{
	struct mmc_sim_config cfg;

	memset(&cfg, 0xff, sizeof(cfg));
	mmc_sim_config_init(&cfg);
	KUNIT_EXPECT_STREQ(test, cfg.preset, "instant");
	KUNIT_EXPECT_EQ(test, cfg.queue_depth, 32);
	KUNIT_EXPECT_EQ(test, cfg.capacity_mib, 1024);
	KUNIT_EXPECT_EQ(test, mmc_sim_config_check(&cfg), 0);
}

static void config_presets(struct kunit *test)
{
	static const char * const wanted[] = {
		"instant", "emmc-ddr50", "emmc-hs400", "slow-flash",
	};
	struct mmc_sim_config cfg;
	const char *name;
	unsigned int i;

	for (i = 0; (name = mmc_sim_preset_name(i)); i++) {
		mmc_sim_config_init(&cfg);
		KUNIT_EXPECT_EQ_MSG(test, mmc_sim_preset(&cfg, name), 0,
				    "%s", name);
		KUNIT_EXPECT_STREQ(test, cfg.preset, name);
		KUNIT_EXPECT_EQ_MSG(test, mmc_sim_config_check(&cfg), 0, "%s",
				    name);
	}

	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		KUNIT_EXPECT_EQ_MSG(test,
				    mmc_sim_preset(&cfg, wanted[i]), 0,
				    "%s", wanted[i]);
	}
}

/* The name in the settings has to outlive what the person wrote. */
static void config_preset_name(struct kunit *test)
{
	struct mmc_sim_config cfg;
	char text[] = "slow-flash\n";

	mmc_sim_config_init(&cfg);
	KUNIT_ASSERT_EQ(test, mmc_sim_preset(&cfg, text), 0);
	memset(text, 'x', sizeof(text) - 1);
	KUNIT_EXPECT_STREQ(test, cfg.preset, "slow-flash");
}

static void config_preset_unknown(struct kunit *test)
{
	struct mmc_sim_config cfg;

	mmc_sim_config_init(&cfg);
	KUNIT_EXPECT_EQ(test, mmc_sim_preset(&cfg, "fast"), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmc_sim_preset(&cfg, ""), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmc_sim_preset(&cfg, "instan"), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmc_sim_preset(&cfg, "instant!"), -EINVAL);
	KUNIT_EXPECT_STREQ(test, cfg.preset, "instant");
}

/* What is set after a preset stands; a preset sets what was set before it. */
static void config_preset_order(struct kunit *test)
{
	struct mmc_sim_config cfg, plain;

	mmc_sim_config_init(&plain);
	KUNIT_ASSERT_EQ(test, mmc_sim_preset(&plain, "slow-flash"), 0);

	mmc_sim_config_init(&cfg);
	KUNIT_ASSERT_EQ(test, mmc_sim_config_set(&cfg, "read_us", 777), 0);
	KUNIT_ASSERT_EQ(test, mmc_sim_preset(&cfg, "slow-flash"), 0);
	KUNIT_EXPECT_EQ(test, cfg.read_us, plain.read_us);
	KUNIT_ASSERT_EQ(test, mmc_sim_config_set(&cfg, "read_us", 777), 0);
	KUNIT_EXPECT_EQ(test, cfg.read_us, 777);
	KUNIT_EXPECT_EQ(test, cfg.program_us, plain.program_us);
}

static void config_bus(struct kunit *test)
{
	struct mmc_sim_config cfg;

	mmc_sim_config_init(&cfg);
	for (int i = MMC_SIM_BUS_LEGACY; i <= MMC_SIM_BUS_HS400ES; i++) {
		KUNIT_EXPECT_EQ(test,
				mmc_sim_config_bus(&cfg, mmc_sim_bus_name(i)),
				0);
		KUNIT_EXPECT_EQ(test, cfg.bus, i);
	}

	KUNIT_EXPECT_EQ(test, mmc_sim_config_bus(&cfg, "hs200\n"), 0);
	KUNIT_EXPECT_EQ(test, cfg.bus, MMC_SIM_BUS_HS200);

	KUNIT_EXPECT_EQ(test, mmc_sim_config_bus(&cfg, "hs800"), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmc_sim_config_bus(&cfg, ""), -EINVAL);
	KUNIT_EXPECT_EQ(test, mmc_sim_config_bus(&cfg, "HS200"), -EINVAL);
	KUNIT_EXPECT_EQ(test, cfg.bus, MMC_SIM_BUS_HS200);
}

/* ---------------------------------------------------------- names */

struct config_name_case {
	const char *name;
	const char *card;
	bool ok;
};

static const struct config_name_case config_name_cases[] = {
	{ "word", "card", true },
	{ "one letter", "a", true },
	{ "digits, dash, underscore", "Card-0_1", true },
	{ "31 letters", "0123456789012345678901234567890", true },
	{ "32 letters", "01234567890123456789012345678901", false },
	{ "empty", "", false },
	{ "dot, as cards at boot have it", "boot.0", false },
	{ "parent directory", "..", false },
	{ "slash", "a/b", false },
	{ "blank", "a b", false },
	{ "newline", "a\n", false },
	{ "exclamation mark", "a!", false },
	{ "format", "%s%n", false },
	{ "beyond ASCII", "\xc3\xa9", false },
};

KUNIT_ARRAY_PARAM_DESC(config_name, config_name_cases, name);

static void config_name(struct kunit *test)
{
	const struct config_name_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, mmc_sim_config_name_ok(c->card), c->ok);
}

static struct kunit_case config_cases[] = {
	KUNIT_CASE(config_defaults),
	KUNIT_CASE_PARAM(config_default, config_range_gen_params),
	KUNIT_CASE_PARAM(config_minimum, config_range_gen_params),
	KUNIT_CASE_PARAM(config_maximum, config_range_gen_params),
	KUNIT_CASE_PARAM(config_below, config_range_gen_params),
	KUNIT_CASE_PARAM(config_above, config_range_gen_params),
	KUNIT_CASE_PARAM(config_between_steps, config_range_gen_params),
	KUNIT_CASE_PARAM(config_text, config_text_gen_params),
	KUNIT_CASE(config_text_long),
	KUNIT_CASE_PARAM(config_check, config_check_gen_params),
	KUNIT_CASE(config_check_page),
	KUNIT_CASE(config_check_range),
	KUNIT_CASE(config_presets),
	KUNIT_CASE(config_preset_name),
	KUNIT_CASE(config_preset_unknown),
	KUNIT_CASE(config_preset_order),
	KUNIT_CASE(config_bus),
	KUNIT_CASE_PARAM(config_name, config_name_gen_params),
	{}
};

static struct kunit_suite config_suite = {
	.name = "mmc_sim_config",
	.test_cases = config_cases,
};

kunit_test_suite(config_suite);
