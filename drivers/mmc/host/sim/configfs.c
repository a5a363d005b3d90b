// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: how cards come to be: with configfs, or, for cards that have to be
 * there at boot, with module parameters.
 */

#define pr_fmt(fmt) "mmc-sim: " fmt

#include <linux/cleanup.h>
#include <linux/configfs.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/idr.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>

#include "sim.h"

/* ---------------------------------------------------------------- devices */

static DEFINE_IDA(mmc_sim_ida);

/*
 * Make the platform device of a card and its host, and see to it that the
 * driver took it. Returns the device, or what probe returned.
 */
static struct platform_device *mmc_sim_register(const char *name, int id,
						const struct mmc_sim_config *cfg)
{
	struct mmc_sim_pdata data = { .cfg = *cfg };
	const struct platform_device_info info = {
		.name = MMC_SIM_NAME,
		.id = id,
		.data = &data,
		.size_data = sizeof(data),
	};
	struct platform_device *pdev;
	struct mmc_sim_pdata *pdata;
	int ret;

	ret = mmc_sim_config_check(cfg);
	if (ret)
		return ERR_PTR(ret);

	strscpy(data.name, name);
	pdev = platform_device_register_full(&info);
	if (IS_ERR(pdev))
		return pdev;

	scoped_guard(device, &pdev->dev) {
		if (device_is_bound(&pdev->dev))
			return pdev;
		pdata = dev_get_platdata(&pdev->dev);
		ret = pdata->error ?: -ENXIO;
	}

	pr_err("%s: error %d while probing %s\n", name, ret,
	       dev_name(&pdev->dev));
	platform_device_unregister(pdev);

	return ERR_PTR(ret);
}

/* ---------------------------------------------------------------- parameters */

#define MMC_SIM_MAX_BOOT	16

/*
 * What the parameters say. They come in any order, so that the preset can only
 * be loaded when all are known, and before those that override it.
 */
static struct {
	u32 cards;
	const char *preset;
	int bus;
	struct {
		u32 val;
		bool given;
	} attr[MMC_SIM_NR_ATTRS];
	/* A wrong value fails the module; that of a built-in one is only noted. */
	bool bad;
} mmc_sim_boot = {
	.bus = -1,
};

/* What comes of it, for each card at boot. */
static struct mmc_sim_config mmc_sim_boot_cfg;
static struct platform_device *mmc_sim_boot_cards[MMC_SIM_MAX_BOOT];

static int mmc_sim_param_done(int ret)
{
	if (ret)
		mmc_sim_boot.bad = true;

	return ret;
}

static int mmc_sim_param_set_attr(const char *text,
				  const struct kernel_param *kp)
{
	unsigned int i = (unsigned long)kp->arg;
	int ret;

	ret = mmc_sim_attr_parse(i, text, &mmc_sim_boot.attr[i].val);
	mmc_sim_boot.attr[i].given = !ret;

	return mmc_sim_param_done(ret);
}

static int mmc_sim_param_get_attr(char *page, const struct kernel_param *kp)
{
	unsigned int i = (unsigned long)kp->arg;

	return sysfs_emit(page, "%u\n", mmc_sim_attr_get(&mmc_sim_boot_cfg, i));
}

static const struct kernel_param_ops mmc_sim_param_attr_ops = {
	.set = mmc_sim_param_set_attr,
	.get = mmc_sim_param_get_attr,
};

static int mmc_sim_param_set_cards(const char *text,
				   const struct kernel_param *kp)
{
	int ret = 0;

	if (kstrtou32(text, 0, &mmc_sim_boot.cards) ||
	    mmc_sim_boot.cards > MMC_SIM_MAX_BOOT)
		ret = mmc_sim_attr_refuse("cards", text, 0, MMC_SIM_MAX_BOOT, 1);

	return mmc_sim_param_done(ret);
}

static int mmc_sim_param_get_cards(char *page, const struct kernel_param *kp)
{
	return sysfs_emit(page, "%u\n", mmc_sim_boot.cards);
}

static const struct kernel_param_ops mmc_sim_param_cards_ops = {
	.set = mmc_sim_param_set_cards,
	.get = mmc_sim_param_get_cards,
};

static int mmc_sim_param_set_preset(const char *text,
				    const struct kernel_param *kp)
{
	struct mmc_sim_config cfg = {};
	int ret = mmc_sim_preset(&cfg, text);

	mmc_sim_boot.preset = cfg.preset;

	return mmc_sim_param_done(ret);
}

static int mmc_sim_param_get_preset(char *page, const struct kernel_param *kp)
{
	return sysfs_emit(page, "%s\n", mmc_sim_boot_cfg.preset ?: "");
}

static const struct kernel_param_ops mmc_sim_param_preset_ops = {
	.set = mmc_sim_param_set_preset,
	.get = mmc_sim_param_get_preset,
};

static int mmc_sim_param_set_bus(const char *text,
				 const struct kernel_param *kp)
{
	struct mmc_sim_config cfg;
	int ret = mmc_sim_config_bus(&cfg, text);

	mmc_sim_boot.bus = ret ? -1 : cfg.bus;

	return mmc_sim_param_done(ret);
}

static int mmc_sim_param_get_bus(char *page, const struct kernel_param *kp)
{
	return sysfs_emit(page, "%s\n", mmc_sim_bus_name(mmc_sim_boot_cfg.bus));
}

static const struct kernel_param_ops mmc_sim_param_bus_ops = {
	.set = mmc_sim_param_set_bus,
	.get = mmc_sim_param_get_bus,
};

module_param_cb(cards, &mmc_sim_param_cards_ops, NULL, 0444);
MODULE_PARM_DESC(cards, "Number of cards that exist at boot (0..16, default 0)");

module_param_cb(preset, &mmc_sim_param_preset_ops, NULL, 0444);
MODULE_PARM_DESC(preset, "Preset of the cards at boot (default instant)");

module_param_cb(bus, &mmc_sim_param_bus_ops, NULL, 0444);
MODULE_PARM_DESC(bus, "Fastest bus mode of the cards at boot: legacy, hs, ddr52, hs200, hs400 or hs400es (default: the preset's)");

static void mmc_sim_boot_remove(void)
{
	for (unsigned int i = 0; i < MMC_SIM_MAX_BOOT; i++) {
		struct platform_device *pdev = mmc_sim_boot_cards[i];
		int id;

		if (!pdev)
			continue;

		id = pdev->id;
		platform_device_unregister(pdev);
		ida_free(&mmc_sim_ida, id);
		mmc_sim_boot_cards[i] = NULL;
	}
}

static int __init mmc_sim_boot_configure(void)
{
	struct mmc_sim_config *cfg = &mmc_sim_boot_cfg;
	int ret;

	mmc_sim_config_init(cfg);

	if (mmc_sim_boot.bad)
		return -EINVAL;

	if (mmc_sim_boot.preset) {
		ret = mmc_sim_preset(cfg, mmc_sim_boot.preset);
		if (ret)
			return ret;
	}

	if (mmc_sim_boot.bus >= 0)
		cfg->bus = mmc_sim_boot.bus;

	for (unsigned int i = 0; i < MMC_SIM_NR_ATTRS; i++) {
		if (mmc_sim_boot.attr[i].given)
			*mmc_sim_attr_ptr(cfg, i) = mmc_sim_boot.attr[i].val;
	}

	return mmc_sim_config_check(cfg);
}

static int __init mmc_sim_boot_add(void)
{
	struct platform_device *pdev;
	char name[MMC_SIM_NAME_LEN];
	int id;

	for (unsigned int i = 0; i < mmc_sim_boot.cards; i++) {
		id = ida_alloc(&mmc_sim_ida, GFP_KERNEL);
		if (id < 0)
			return id;

		snprintf(name, sizeof(name), "boot.%u", i);
		pdev = mmc_sim_register(name, id, &mmc_sim_boot_cfg);
		if (IS_ERR(pdev)) {
			ida_free(&mmc_sim_ida, id);
			return PTR_ERR(pdev);
		}

		mmc_sim_boot_cards[i] = pdev;
	}

	return 0;
}

/* ---------------------------------------------------------------- configfs */

/**
 * struct mmc_sim_item - a card in configfs
 * @item: its directory
 * @lock: configfs serialises the use of one open file, but not of two
 * @cfg: settings; constant while @pdev is there
 * @pdev: the device, or NULL if it is not live
 * @id: number of the device
 */
struct mmc_sim_item {
	struct config_item item;
	struct mutex lock;	/* protects cfg and pdev */
	struct mmc_sim_config cfg;
	struct platform_device *pdev;
	int id;
};

static struct mmc_sim_item *to_mmc_sim_item(struct config_item *item)
{
	return container_of(item, struct mmc_sim_item, item);
}

static ssize_t mmc_sim_item_show(struct config_item *item, unsigned int attr,
				 char *page)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);

	guard(mutex)(&sim->lock);

	return sysfs_emit(page, "%u\n", mmc_sim_attr_get(&sim->cfg, attr));
}

static ssize_t mmc_sim_item_store(struct config_item *item, unsigned int attr,
				  const char *page, size_t count)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);
	u32 val;
	int ret;

	guard(mutex)(&sim->lock);

	if (sim->pdev)
		return -EBUSY;

	ret = mmc_sim_attr_parse(attr, page, &val);
	if (ret)
		return ret;

	*mmc_sim_attr_ptr(&sim->cfg, attr) = val;

	return count;
}

/* What there is of each setting: the parameter, and its file in configfs. */
#define MMC_SIM_ATTR(name, def, min, max, step, unit)		\
MODULE_INFO(parm, #name ":" unit " (" __stringify(min) ".."		\
	    __stringify(max) " step " __stringify(step) ", default "	\
	    __stringify(def) " or the preset's)");			\
module_param_cb(name, &mmc_sim_param_attr_ops,				\
		(void *)MMC_SIM_ATTR_##name, 0444);			\
									\
static ssize_t mmc_sim_item_##name##_show(struct config_item *item,	\
					  char *page)			\
{									\
	return mmc_sim_item_show(item, MMC_SIM_ATTR_##name, page);	\
}									\
									\
static ssize_t mmc_sim_item_##name##_store(struct config_item *item,	\
					   const char *page,		\
					   size_t count)		\
{									\
	return mmc_sim_item_store(item, MMC_SIM_ATTR_##name, page,	\
				  count);				\
}

#include "attrs.h"

static struct configfs_attribute mmc_sim_item_numbers[MMC_SIM_NR_ATTRS] = {
#define MMC_SIM_ATTR(name, ...)					\
	[MMC_SIM_ATTR_##name] = {					\
		.ca_name = #name,					\
		.ca_mode = 0644,					\
		.ca_owner = THIS_MODULE,				\
		.show = mmc_sim_item_##name##_show,			\
		.store = mmc_sim_item_##name##_store,			\
	},
#include "attrs.h"
};

static ssize_t mmc_sim_item_preset_show(struct config_item *item, char *page)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);

	guard(mutex)(&sim->lock);

	return sysfs_emit(page, "%s\n", sim->cfg.preset);
}

static ssize_t mmc_sim_item_preset_store(struct config_item *item,
					 const char *page, size_t count)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);

	guard(mutex)(&sim->lock);

	if (sim->pdev)
		return -EBUSY;

	return mmc_sim_preset(&sim->cfg, page) ?: count;
}

CONFIGFS_ATTR(mmc_sim_item_, preset);

static ssize_t mmc_sim_item_bus_show(struct config_item *item, char *page)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);

	guard(mutex)(&sim->lock);

	return sysfs_emit(page, "%s\n", mmc_sim_bus_name(sim->cfg.bus));
}

static ssize_t mmc_sim_item_bus_store(struct config_item *item,
				      const char *page, size_t count)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);

	guard(mutex)(&sim->lock);

	if (sim->pdev)
		return -EBUSY;

	return mmc_sim_config_bus(&sim->cfg, page) ?: count;
}

CONFIGFS_ATTR(mmc_sim_item_, bus);

static ssize_t mmc_sim_item_dev_show(struct config_item *item, char *page)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);

	guard(mutex)(&sim->lock);

	return sysfs_emit(page, "%s\n",
			  sim->pdev ? dev_name(&sim->pdev->dev) : "none");
}

CONFIGFS_ATTR_RO(mmc_sim_item_, dev);

static ssize_t mmc_sim_item_host_name_show(struct config_item *item, char *page)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);
	struct mmc_sim_host *host;

	guard(mutex)(&sim->lock);

	if (sim->pdev) {
		/* The driver can have been unbound by way of sysfs. */
		guard(device)(&sim->pdev->dev);

		host = platform_get_drvdata(sim->pdev);
		if (host)
			return sysfs_emit(page, "%s\n",
					  mmc_hostname(host->mmc));
	}

	return sysfs_emit(page, "none\n");
}

CONFIGFS_ATTR_RO(mmc_sim_item_, host_name);

static int mmc_sim_item_activate(struct mmc_sim_item *sim)
{
	struct platform_device *pdev;

	lockdep_assert_held(&sim->lock);

	pdev = mmc_sim_register(config_item_name(&sim->item), sim->id,
				&sim->cfg);
	if (IS_ERR(pdev))
		return PTR_ERR(pdev);

	sim->pdev = pdev;

	return 0;
}

static void mmc_sim_item_deactivate(struct mmc_sim_item *sim)
{
	lockdep_assert_held(&sim->lock);

	platform_device_unregister(sim->pdev);
	sim->pdev = NULL;
}

static ssize_t mmc_sim_item_live_show(struct config_item *item, char *page)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);

	guard(mutex)(&sim->lock);

	return sysfs_emit(page, "%d\n", !!sim->pdev);
}

static ssize_t mmc_sim_item_live_store(struct config_item *item,
				       const char *page, size_t count)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);
	struct configfs_subsystem *subsys = item->ci_group->cg_subsys;
	bool live, drop;
	int ret;

	if (kstrtobool(page, &live))
		return mmc_sim_attr_refuse("live", page, 0, 1, 1);

	/*
	 * A live card keeps its directory. The lock is not held here: rmdir
	 * holds locks of configfs while it waits for the last user of an
	 * attribute.
	 */
	if (live) {
		ret = configfs_depend_item_unlocked(subsys, item);
		if (ret)
			return ret;
	}

	scoped_guard(mutex, &sim->lock) {
		/* Drop what was taken above, or when the card went live. */
		drop = live || sim->pdev;

		if (live && !sim->pdev) {
			ret = mmc_sim_item_activate(sim);
			drop = ret;
		} else if (!live && sim->pdev) {
			mmc_sim_item_deactivate(sim);
		}
	}

	if (drop)
		configfs_undepend_item_unlocked(item);

	return ret ?: count;
}

CONFIGFS_ATTR(mmc_sim_item_, live);

#define MMC_SIM_NR_WORDS	5

/* The numbers follow at initialisation, and a NULL. */
static struct configfs_attribute *
mmc_sim_item_attrs[MMC_SIM_NR_WORDS + MMC_SIM_NR_ATTRS + 1] = {
	&mmc_sim_item_attr_live,
	&mmc_sim_item_attr_dev,
	&mmc_sim_item_attr_host_name,
	&mmc_sim_item_attr_preset,
	&mmc_sim_item_attr_bus,
};

static void mmc_sim_item_release(struct config_item *item)
{
	struct mmc_sim_item *sim = to_mmc_sim_item(item);

	/* A write to live can still win against an rmdir that has begun. */
	scoped_guard(mutex, &sim->lock) {
		if (sim->pdev)
			mmc_sim_item_deactivate(sim);
	}

	mutex_destroy(&sim->lock);
	ida_free(&mmc_sim_ida, sim->id);
	kfree(sim);
}

static const struct configfs_item_operations mmc_sim_item_ops = {
	.release	= mmc_sim_item_release,
};

static const struct config_item_type mmc_sim_item_type = {
	.ct_item_ops	= &mmc_sim_item_ops,
	.ct_attrs	= mmc_sim_item_attrs,
	.ct_owner	= THIS_MODULE,
};

static struct config_item *mmc_sim_make_item(struct config_group *group,
					     const char *name)
{
	int id;

	if (!mmc_sim_config_name_ok(name))
		return ERR_PTR(-EINVAL);

	struct mmc_sim_item *sim __free(kfree) = kzalloc_obj(*sim);
	if (!sim)
		return ERR_PTR(-ENOMEM);

	id = ida_alloc(&mmc_sim_ida, GFP_KERNEL);
	if (id < 0)
		return ERR_PTR(id);

	config_item_init_type_name(&sim->item, name, &mmc_sim_item_type);
	mutex_init(&sim->lock);
	mmc_sim_config_init(&sim->cfg);
	sim->id = id;

	return &no_free_ptr(sim)->item;
}

static const struct configfs_group_operations mmc_sim_group_ops = {
	.make_item	= mmc_sim_make_item,
};

static const struct config_item_type mmc_sim_group_type = {
	.ct_group_ops	= &mmc_sim_group_ops,
	.ct_owner	= THIS_MODULE,
};

static struct configfs_subsystem mmc_sim_subsys = {
	.su_group = {
		.cg_item = {
			.ci_namebuf	= MMC_SIM_NAME,
			.ci_type	= &mmc_sim_group_type,
		},
	},
};

/* ---------------------------------------------------------------- module */

/**
 * mmc_sim_configfs_init - make the cards that exist at boot, and the directory
 *	where a person can make more
 *
 * The platform driver has to be registered.
 *
 * Context: process, module initialisation.
 *
 * Return: 0, or the error. Nothing is left behind then.
 */
int __init mmc_sim_configfs_init(void)
{
	int ret;

	ret = mmc_sim_boot_configure();
	if (ret)
		return ret;

	ret = mmc_sim_boot_add();
	if (ret)
		goto err_boot;

	for (unsigned int i = 0; i < MMC_SIM_NR_ATTRS; i++)
		mmc_sim_item_attrs[MMC_SIM_NR_WORDS + i] =
			&mmc_sim_item_numbers[i];

	config_group_init(&mmc_sim_subsys.su_group);
	mutex_init(&mmc_sim_subsys.su_mutex);
	ret = configfs_register_subsystem(&mmc_sim_subsys);
	if (ret) {
		pr_err("error %d while registering the configfs subsystem\n",
		       ret);
		goto err_subsys;
	}

	return 0;

err_subsys:
	mutex_destroy(&mmc_sim_subsys.su_mutex);
err_boot:
	mmc_sim_boot_remove();
	return ret;
}

/**
 * mmc_sim_configfs_exit - undo mmc_sim_configfs_init()
 *
 * Context: process, module exit: there is no card in configfs any more.
 */
void mmc_sim_configfs_exit(void)
{
	configfs_unregister_subsystem(&mmc_sim_subsys);
	mutex_destroy(&mmc_sim_subsys.su_mutex);
	mmc_sim_boot_remove();
}
