// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: the settings of a card and its host.
 */

#define pr_fmt(fmt) "mmc-sim: " fmt

#include <linux/ctype.h>
#include <linux/kstrtox.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "card.h"

struct mmc_sim_attr {
	const char *name;
	size_t offset;
	u32 def;
	u32 min;
	u32 max;
	u32 step;
};

static const struct mmc_sim_attr mmc_sim_attrs[MMC_SIM_NR_ATTRS] = {
#define MMC_SIM_ATTR(name, def, min, max, step, ...)		\
	[MMC_SIM_ATTR_##name] = {					\
		#name, offsetof(struct mmc_sim_config, name),		\
		def, min, max, step,					\
	},
#include "attrs.h"
};

static const char * const mmc_sim_bus_names[] = {
	[MMC_SIM_BUS_LEGACY]	= "legacy",
	[MMC_SIM_BUS_HS]	= "hs",
	[MMC_SIM_BUS_DDR52]	= "ddr52",
	[MMC_SIM_BUS_HS200]	= "hs200",
	[MMC_SIM_BUS_HS400]	= "hs400",
	[MMC_SIM_BUS_HS400ES]	= "hs400es",
};

/**
 * mmc_sim_attr_ptr - where a setting is
 * @cfg: settings
 * @i: which, MMC_SIM_ATTR_*
 *
 * Return: its place in @cfg.
 */
u32 *mmc_sim_attr_ptr(struct mmc_sim_config *cfg, enum mmc_sim_attr_id i)
{
	return (void *)cfg + mmc_sim_attrs[i].offset;
}

/**
 * mmc_sim_attr_get - value of a setting
 * @cfg: settings
 * @i: which, MMC_SIM_ATTR_*
 *
 * Return: the value.
 */
u32 mmc_sim_attr_get(const struct mmc_sim_config *cfg, enum mmc_sim_attr_id i)
{
	return *(const u32 *)((const void *)cfg + mmc_sim_attrs[i].offset);
}

/* Room for what a person wrote, in a message. */
struct mmc_sim_text {
	char text[40];
};

/* The first line of what a person wrote, and not without end. */
static const char *mmc_sim_first_line(struct mmc_sim_text *line,
				      const char *text)
{
	strscpy(line->text, text);
	line->text[strcspn(line->text, "\n")] = '\0';

	return line->text;
}

/**
 * mmc_sim_attr_refuse - say what is wrong with a value
 * @name: what it was for
 * @text: the value, as a person wrote it
 * @min: least that is accepted
 * @max: most that is accepted
 * @step: of which it has to be a multiple
 *
 * Return: -EINVAL.
 */
int mmc_sim_attr_refuse(const char *name, const char *text, u32 min, u32 max,
			u32 step)
{
	struct mmc_sim_text line;

	mmc_sim_first_line(&line, text);
	if (step > 1)
		pr_err("%s: %s is not a multiple of %u in %u..%u\n", name,
		       line.text, step, min, max);
	else
		pr_err("%s: %s is not in %u..%u\n", name, line.text, min, max);

	return -EINVAL;
}

/**
 * mmc_sim_attr_parse - read a value that a person wrote
 * @i: which setting, MMC_SIM_ATTR_*
 * @text: the value, with or without a newline
 * @val: where it goes
 *
 * Return: 0, or -EINVAL after a line in the log that names the setting, the
 * value and what is accepted.
 */
int mmc_sim_attr_parse(enum mmc_sim_attr_id i, const char *text, u32 *val)
{
	const struct mmc_sim_attr *attr = &mmc_sim_attrs[i];

	if (!kstrtou32(text, 0, val) && *val >= attr->min &&
	    *val <= attr->max && !(*val % attr->step))
		return 0;

	return mmc_sim_attr_refuse(attr->name, text, attr->min, attr->max,
				   attr->step);
}

static int mmc_sim_attr_check(unsigned int i, u32 val)
{
	char text[sizeof("4294967295")];

	snprintf(text, sizeof(text), "%u", val);

	return mmc_sim_attr_parse(i, text, &val);
}

static int mmc_sim_attr_find(const char *name)
{
	for (int i = 0; i < MMC_SIM_NR_ATTRS; i++) {
		if (!strcmp(mmc_sim_attrs[i].name, name))
			return i;
	}

	pr_err("%s: no such setting\n", name);
	return -EINVAL;
}

/**
 * mmc_sim_config_init - set every setting to its default
 * @cfg: settings
 */
void mmc_sim_config_init(struct mmc_sim_config *cfg)
{
	*cfg = (struct mmc_sim_config) {
		.bus = MMC_SIM_BUS_HS400ES,
#define MMC_SIM_ATTR(name, def, ...) .name = def,
#include "attrs.h"
	};

	WARN_ON(mmc_sim_preset(cfg, mmc_sim_preset_name(0)));
}

/**
 * mmc_sim_config_get - one setting after the other
 * @cfg: settings
 * @i: number of the setting, from 0
 * @val: its value
 *
 * Return: the name of the setting, or NULL when there is none with this number.
 */
const char *mmc_sim_config_get(const struct mmc_sim_config *cfg,
			       unsigned int i, u32 *val)
{
	if (i >= MMC_SIM_NR_ATTRS)
		return NULL;

	*val = mmc_sim_attr_get(cfg, i);

	return mmc_sim_attrs[i].name;
}

/**
 * mmc_sim_config_set - set one setting
 * @cfg: settings
 * @attr: name of the setting, one of those in attrs.h
 * @val: value, in the unit of the setting
 *
 * Return: 0, or -EINVAL with a line in the log that names setting, value and
 * accepted range. @cfg is as it was then.
 */
int mmc_sim_config_set(struct mmc_sim_config *cfg, const char *attr, u32 val)
{
	int i = mmc_sim_attr_find(attr);
	int ret;

	if (i < 0)
		return i;

	ret = mmc_sim_attr_check(i, val);
	if (!ret)
		*mmc_sim_attr_ptr(cfg, i) = val;

	return ret;
}

/**
 * mmc_sim_config_parse - set one setting from text
 * @cfg: settings
 * @attr: name of the setting, one of those in attrs.h
 * @text: value, decimal, octal or hexadecimal as in C; may end in a newline
 *
 * Return: 0, or -EINVAL with a line in the log that names setting, value and
 * accepted range. @cfg is as it was then.
 */
int mmc_sim_config_parse(struct mmc_sim_config *cfg, const char *attr,
			 const char *text)
{
	int i = mmc_sim_attr_find(attr);
	u32 val;
	int ret;

	if (i < 0)
		return i;

	ret = mmc_sim_attr_parse(i, text, &val);
	if (!ret)
		*mmc_sim_attr_ptr(cfg, i) = val;

	return ret;
}

/**
 * mmc_sim_config_bus - set the fastest bus mode that host and card agree on
 * @cfg: settings
 * @name: name of the bus mode; may end in a newline
 *
 * Return: 0, or -EINVAL with a line in the log that names the bus modes there
 * are. @cfg is as it was then.
 */
int mmc_sim_config_bus(struct mmc_sim_config *cfg, const char *name)
{
	int bus = sysfs_match_string(mmc_sim_bus_names, name);
	struct mmc_sim_text line;

	if (bus < 0) {
		pr_err("bus: %s is not one of legacy hs ddr52 hs200 hs400 hs400es\n",
		       mmc_sim_first_line(&line, name));
		return bus;
	}

	cfg->bus = bus;

	return 0;
}

/**
 * mmc_sim_bus_name - name of a bus mode, as mmc_sim_config_bus() takes it
 * @bus: bus mode
 *
 * Return: the name.
 */
const char *mmc_sim_bus_name(enum mmc_sim_bus bus)
{
	return mmc_sim_bus_names[bus];
}

/*
 * The coalescing clock is a register field of 10 bits times one of five powers
 * of ten (CQHCI, capabilities, ITCFVAL and ITCFMUL).
 */
static bool mmc_sim_timer_khz_ok(u32 khz)
{
	for (u32 mul = 1; mul <= 10000; mul *= 10) {
		if (!(khz % mul) && khz / mul <= 1023)
			return true;
	}

	return false;
}

static int mmc_sim_check_bus(const struct mmc_sim_config *cfg)
{
	if (cfg->bus_width != 1 && cfg->bus_width != 4 && cfg->bus_width != 8) {
		pr_err("bus_width: %u is not one of 1 4 8\n", cfg->bus_width);
		return -EINVAL;
	}

	switch (cfg->bus) {
	case MMC_SIM_BUS_LEGACY:
	case MMC_SIM_BUS_HS:
		return 0;
	case MMC_SIM_BUS_DDR52:
	case MMC_SIM_BUS_HS200:
		/* EXT_CSD's BUS_WIDTH has neither of them with one line. */
		if (cfg->bus_width >= 4)
			return 0;
		pr_err("bus_width: %u is not one of 4 8, which bus %s needs\n",
		       cfg->bus_width, mmc_sim_bus_name(cfg->bus));
		return -EINVAL;
	case MMC_SIM_BUS_HS400:
	case MMC_SIM_BUS_HS400ES:
		if (cfg->bus_width == 8)
			return 0;
		pr_err("bus_width: %u is not 8, which bus %s needs\n",
		       cfg->bus_width, mmc_sim_bus_name(cfg->bus));
		return -EINVAL;
	}

	pr_err("bus: %d is not in 0..%d\n", cfg->bus, MMC_SIM_BUS_HS400ES);
	return -EINVAL;
}

static int mmc_sim_check_sector(const struct mmc_sim_config *cfg)
{
	if (cfg->sector_size != 512 && cfg->sector_size != 4096) {
		pr_err("sector_size: %u is not one of 512 4096\n",
		       cfg->sector_size);
		return -EINVAL;
	}

	if (cfg->max_req_kib * SZ_1K % cfg->sector_size) {
		pr_err("max_req_kib: %u is not a multiple of 4, which sector_size 4096 needs\n",
		       cfg->max_req_kib);
		return -EINVAL;
	}

	if (cfg->page_kib * SZ_1K < cfg->sector_size) {
		pr_err("page_kib: %u is not in 4..1024, which sector_size 4096 needs\n",
		       cfg->page_kib);
		return -EINVAL;
	}

	return 0;
}

static int mmc_sim_check_host(const struct mmc_sim_config *cfg)
{
	/* The block layer takes no disk that cannot move a page at a time. */
	if (cfg->max_req_kib < PAGE_SIZE / SZ_1K) {
		pr_err("max_req_kib: %u is not in %lu..32767, which the page size needs\n",
		       cfg->max_req_kib, PAGE_SIZE / SZ_1K);
		return -EINVAL;
	}

	if (cfg->cqe && cfg->hsq) {
		pr_err("hsq: 1 needs cqe 0, since a host has one queue\n");
		return -EINVAL;
	}

	if (cfg->short_txfr_desc && cfg->dma_bits != 64) {
		pr_err("short_txfr_desc: 1 needs dma_bits 64, since descriptors with a 32-bit address have one size\n");
		return -EINVAL;
	}

	if (!mmc_sim_timer_khz_ok(cfg->timer_khz)) {
		pr_err("timer_khz: %u is not 1..1023 times 1, 10, 100, 1000 or 10000\n",
		       cfg->timer_khz);
		return -EINVAL;
	}

	return 0;
}

/**
 * mmc_sim_config_check - can these settings go live together?
 * @cfg: settings
 *
 * Checks every setting against its range, then what one setting asks of
 * another.
 *
 * Return: 0, or -EINVAL with one line in the log that names the first setting
 * that is wrong, its value and what is accepted.
 */
int mmc_sim_config_check(const struct mmc_sim_config *cfg)
{
	int ret;

	for (unsigned int i = 0; i < MMC_SIM_NR_ATTRS; i++) {
		ret = mmc_sim_attr_check(i, mmc_sim_attr_get(cfg, i));
		if (ret)
			return ret;
	}

	ret = mmc_sim_check_bus(cfg);
	if (ret)
		return ret;

	ret = mmc_sim_check_sector(cfg);
	if (ret)
		return ret;

	return mmc_sim_check_host(cfg);
}

/**
 * mmc_sim_config_name_ok - can a person give this name to a card?
 * @name: the name
 *
 * The name becomes that of a debugfs directory and is part of the log. The
 * names of the cards that exist at boot have a dot, and so are never taken.
 *
 * Return: true, or false with a line in the log that says what is accepted.
 */
bool mmc_sim_config_name_ok(const char *name)
{
	size_t len = strlen(name);
	struct mmc_sim_text line;
	size_t i;

	for (i = 0; i < len; i++) {
		if (!isascii(name[i]) || (!isalnum(name[i]) &&
					  name[i] != '-' && name[i] != '_'))
			break;
	}

	if (len && i == len && len < MMC_SIM_NAME_LEN)
		return true;

	pr_err("name: %s is not 1..%d letters, digits, - and _\n",
	       mmc_sim_first_line(&line, name), MMC_SIM_NAME_LEN - 1);
	return false;
}
