// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: the module, and the platform driver that a card and its host bind
 * to. The devices are made by configfs.c, for a directory there or for a card
 * that has to be there at boot.
 */

#define pr_fmt(fmt) "mmc-sim: " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm.h>

#include "sim.h"

static int mmc_sim_probe(struct platform_device *pdev)
{
	struct mmc_sim_pdata *pdata = dev_get_platdata(&pdev->dev);
	struct mmc_sim_host *host;

	/* A device that somebody else made and bound by driver_override. */
	if (!pdata)
		return -ENODEV;

	host = mmc_sim_host_add(&pdev->dev, pdata->name, &pdata->cfg);
	pdata->error = PTR_ERR_OR_ZERO(host);
	if (pdata->error)
		return pdata->error;

	platform_set_drvdata(pdev, host);

	return 0;
}

static void mmc_sim_remove(struct platform_device *pdev)
{
	mmc_sim_host_remove(platform_get_drvdata(pdev));
}

static int mmc_sim_suspend(struct device *dev)
{
	return mmc_sim_host_suspend(dev_get_drvdata(dev));
}

static int mmc_sim_resume(struct device *dev)
{
	return mmc_sim_host_resume(dev_get_drvdata(dev));
}

static DEFINE_SIMPLE_DEV_PM_OPS(mmc_sim_pm_ops, mmc_sim_suspend,
				mmc_sim_resume);

static struct platform_driver mmc_sim_driver = {
	.driver = {
		.name = MMC_SIM_NAME,
		.pm = pm_sleep_ptr(&mmc_sim_pm_ops),
		/*
		 * configfs.c reports the outcome of probe to the person who
		 * asked for the card, and so has to have it at once.
		 */
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
	},
	.probe = mmc_sim_probe,
	.remove = mmc_sim_remove,
};

static int __init mmc_sim_init(void)
{
	int ret;

	mmc_sim_debugfs_init();

	ret = platform_driver_register(&mmc_sim_driver);
	if (ret)
		goto err_debugfs;

	ret = mmc_sim_configfs_init();
	if (ret)
		goto err_driver;

	return 0;

err_driver:
	platform_driver_unregister(&mmc_sim_driver);
err_debugfs:
	mmc_sim_debugfs_exit();
	return ret;
}
module_init(mmc_sim_init);

static void __exit mmc_sim_exit(void)
{
	mmc_sim_configfs_exit();
	platform_driver_unregister(&mmc_sim_driver);
	mmc_sim_debugfs_exit();
}
module_exit(mmc_sim_exit);

MODULE_DESCRIPTION("Simulated eMMC card and host");
MODULE_ALIAS("platform:" MMC_SIM_NAME);
MODULE_LICENSE("GPL");
