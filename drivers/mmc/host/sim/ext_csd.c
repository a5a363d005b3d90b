// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: CID, CSD and EXT_CSD, and what a SWITCH does to the last.
 *
 * The EXT_CSD lives in mmc_sim_card.ext_csd as it is at the moment. Bytes that
 * can only be written start something and are not stored; bytes that follow
 * from the card's state are filled in when CMD8 reads them.
 */

#include <linux/crc7.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "card.h"

/* Bytes that only this file uses and <linux/mmc/mmc.h> does not name. */
#define EXT_CSD_BOOT_CONFIG_PROT	178
#define EXT_CSD_CMD_SET			191
#define EXT_CSD_SLEEP_NOTIFICATION_TIME	216
#define EXT_CSD_INI_TIMEOUT_AP		241
#define EXT_CSD_OPTIMAL_TRIM_UNIT_SIZE	264
#define EXT_CSD_OPTIMAL_WRITE_SIZE	265
#define EXT_CSD_OPTIMAL_READ_SIZE	266
#define EXT_CSD_S_CMD_SET		504

#define EXT_CSD_SLEEP_NOTIFICATION	4	/* of POWER_OFF_NOTIFICATION */
#define EXT_CSD_BOOT_WP_B_SEC_WP_SEL	BIT(7)
#define EXT_CSD_BOOT_WP_B_PERM_SEC_SEL	BIT(3)
#define EXT_CSD_BOOT_WP_B_PWR_SEC_SEL	BIT(1)

/* What BOOT_WP keeps until the power goes: R/W/C_P, and R/W for ever. */
#define MMC_SIM_BOOT_WP_STICKY		(EXT_CSD_BOOT_WP_B_PWR_WP_DIS | \
					 EXT_CSD_BOOT_WP_B_PERM_WP_DIS | \
					 EXT_CSD_BOOT_WP_B_PERM_WP_EN | \
					 EXT_CSD_BOOT_WP_B_PWR_WP_EN)
#define MMC_SIM_BOOT_WP_FOREVER		(EXT_CSD_BOOT_WP_B_PERM_WP_DIS | \
					 EXT_CSD_BOOT_WP_B_PERM_WP_EN)

#define MMC_SIM_MID	0x53
#define MMC_SIM_OID	0x4c
#define MMC_SIM_PRV	0x10
/* June 2024. Since EXT_CSD revision 5 the year counts from 2013. */
#define MMC_SIM_MDT	((6 << 4) | (2024 - 2013))

/* Timeouts that the card declares may be longer than what it takes, not less */
#define MMC_SIM_ERASE_UNIT_US	300000		/* of ERASE_TIMEOUT_MULT */
#define MMC_SIM_INT_UNIT_US	10000		/* of OUT_OF_INTERRUPT_TIME */

/* Sets bits [@start + @size - 1:@start] of a 128 bit register. */
static void mmc_sim_set_bits(u32 *reg, unsigned int start, unsigned int size,
			     u32 val)
{
	unsigned int i;

	for (i = 0; i < size; i++)
		if (val & BIT(i))
			reg[3 - (start + i) / 32] |= BIT((start + i) % 32);
}

/* CRC7 of CID or CSD, and the end bit (7.2 and 7.3). */
static void mmc_sim_set_crc7(u32 *reg)
{
	u8 raw[16];
	int i;

	for (i = 0; i < 4; i++)
		put_unaligned_be32(reg[i], raw + 4 * i);
	reg[3] |= crc7_be(0, raw, 15) | 1;
}

static void mmc_sim_cid_init(struct mmc_sim_card *card)
{
	static const char pnm[6] = "MMCSIM";
	u32 *cid = card->cid;
	int i;

	mmc_sim_set_bits(cid, 120, 8, MMC_SIM_MID);
	mmc_sim_set_bits(cid, 112, 2, 1);	/* CBX: BGA, embedded */
	mmc_sim_set_bits(cid, 104, 8, MMC_SIM_OID);
	for (i = 0; i < 6; i++)
		mmc_sim_set_bits(cid, 96 - 8 * i, 8, pnm[i]);
	mmc_sim_set_bits(cid, 48, 8, MMC_SIM_PRV);
	mmc_sim_set_bits(cid, 16, 32, card->cfg->seed);
	mmc_sim_set_bits(cid, 8, 8, MMC_SIM_MDT);
	mmc_sim_set_crc7(cid);
}

static void mmc_sim_csd_init(struct mmc_sim_card *card)
{
	u32 mib = card->cfg->capacity_mib, c_size, bl_len = 9;
	u32 *csd = card->csd;

	/*
	 * (C_SIZE + 1) * 2^(7 + 2) blocks of 2^READ_BL_LEN bytes. C_SIZE has 12
	 * bits, so beyond 1 GiB only the length of a block is left to grow;
	 * beyond 2 GiB the capacity is in SEC_COUNT (7.3.12).
	 */
	if (mib > 2048) {
		c_size = 0xfff;
	} else if (mib > 1024) {
		c_size = mib * 2 - 1;
		bl_len = 10;
	} else {
		c_size = mib * 4 - 1;
	}

	mmc_sim_set_bits(csd, 126, 2, CSD_STRUCT_EXT_CSD);
	mmc_sim_set_bits(csd, 122, 4, CSD_SPEC_VER_4);
	mmc_sim_set_bits(csd, 112, 8, 0x27);	/* TAAC: 15 ms */
	mmc_sim_set_bits(csd, 104, 8, 0x01);	/* NSAC: 100 clocks */
	mmc_sim_set_bits(csd, 96, 8, 0x32);	/* TRAN_SPEED: 26 MHz */
	/* Class 11 is the command queue's. */
	mmc_sim_set_bits(csd, 84, 12, CCC_BASIC | CCC_BLOCK_READ |
			 CCC_BLOCK_WRITE | CCC_ERASE | BIT(11));
	mmc_sim_set_bits(csd, 80, 4, bl_len);
	mmc_sim_set_bits(csd, 62, 12, c_size);
	mmc_sim_set_bits(csd, 59, 3, 7);	/* supply currents: 100 mA, */
	mmc_sim_set_bits(csd, 56, 3, 7);	/* 200 mA */
	mmc_sim_set_bits(csd, 53, 3, 7);
	mmc_sim_set_bits(csd, 50, 3, 7);
	mmc_sim_set_bits(csd, 47, 3, 7);	/* C_SIZE_MULT */
	/* An erase group of 512 KiB, as HC_ERASE_GRP_SIZE says too. */
	mmc_sim_set_bits(csd, 42, 5, 31);
	mmc_sim_set_bits(csd, 37, 5, bl_len == 10 ? 15 : 31);
	mmc_sim_set_bits(csd, 26, 3, 4);	/* R2W_FACTOR: 16 */
	mmc_sim_set_bits(csd, 22, 4, bl_len);
	mmc_sim_set_crc7(csd);
}

static u8 mmc_sim_card_type(enum mmc_sim_bus bus)
{
	u8 type = 0;

	if (bus >= MMC_SIM_BUS_HS)
		type |= EXT_CSD_CARD_TYPE_HS;
	if (bus >= MMC_SIM_BUS_DDR52)
		type |= EXT_CSD_CARD_TYPE_DDR_1_8V;
	if (bus >= MMC_SIM_BUS_HS200)
		type |= EXT_CSD_CARD_TYPE_HS200_1_8V;
	if (bus >= MMC_SIM_BUS_HS400)
		type |= EXT_CSD_CARD_TYPE_HS400_1_8V;
	return type;
}

/* A time in units of @unit that is not shorter than @us. */
static u8 mmc_sim_units(u32 us, u32 unit, u8 least)
{
	return clamp_t(u32, DIV_ROUND_UP(us, unit), least, 255);
}

/**
 * mmc_sim_ext_csd_init - make the registers of a card that leaves the factory
 * @card: its settings and random numbers are there
 *
 * Fills in CID (7.2), CSD (7.3) and EXT_CSD (7.4).
 *
 * Context: before the card can be reached.
 */
void mmc_sim_ext_csd_init(struct mmc_sim_card *card)
{
	const struct mmc_sim_config *cfg = card->cfg;
	u8 *ext = card->ext_csd, mult;
	u8 page = clamp_t(u32, cfg->page_kib / 4, 1, 255);

	memset(card->cid, 0, sizeof(card->cid));
	memset(card->csd, 0, sizeof(card->csd));
	memset(ext, 0, sizeof(card->ext_csd));
	card->boot_pwr_wp = 0;
	card->boot_perm_wp = 0;

	mmc_sim_cid_init(card);
	mmc_sim_csd_init(card);

	ext[EXT_CSD_REV] = 8;
	ext[EXT_CSD_STRUCTURE] = CSD_STRUCT_VER_1_2;
	ext[EXT_CSD_S_CMD_SET] = EXT_CSD_CMD_SET_NORMAL;
	put_unaligned_le32(cfg->capacity_mib * 2048, ext + EXT_CSD_SEC_CNT);
	ext[EXT_CSD_BOOT_MULT] = cfg->boot_kib / 128;
	ext[EXT_CSD_RPMB_MULT] = cfg->rpmb_kib / 128;
	ext[EXT_CSD_ERASED_MEM_CONT] = cfg->erased_byte ? 1 : 0;

	ext[EXT_CSD_CARD_TYPE] = mmc_sim_card_type(cfg->bus);
	ext[EXT_CSD_STROBE_SUPPORT] = cfg->bus == MMC_SIM_BUS_HS400ES;
	ext[EXT_CSD_DRIVER_STRENGTH] = BIT(0);

	if (cfg->sector_size == 4096) {
		ext[EXT_CSD_NATIVE_SECTOR_SIZE] = 1;
		ext[EXT_CSD_USE_NATIVE_SECTOR] = 1;
		ext[EXT_CSD_DATA_SECTOR_SIZE] = 1;
	}

	put_unaligned_le32(cfg->cache_kib * 8, ext + EXT_CSD_CACHE_SIZE);
	ext[EXT_CSD_BARRIER_SUPPORT] = cfg->cache_kib && cfg->barrier;

	ext[EXT_CSD_CMDQ_SUPPORT] = EXT_CSD_CMDQ_SUPPORTED;
	ext[EXT_CSD_CMDQ_DEPTH] = cfg->queue_depth - 1;

	ext[EXT_CSD_HPI_FEATURES] = cfg->hpi_cmd == MMC_STOP_TRANSMISSION ? 3 : 1;
	/* HPI takes effect when the page that is being programmed is done. */
	ext[EXT_CSD_OUT_OF_INTERRUPT_TIME] =
		mmc_sim_units(cfg->program_us, MMC_SIM_INT_UNIT_US, 10);
	ext[EXT_CSD_BKOPS_SUPPORT] = cfg->bkops;

	/* Any number of sectors, each of which is programmed or is not. */
	ext[EXT_CSD_WR_REL_PARAM] = EXT_CSD_WR_REL_PARAM_EN;
	ext[EXT_CSD_WR_REL_SET] = 0x1f;
	ext[EXT_CSD_REL_WR_SEC_C] = 1;

	ext[EXT_CSD_SEC_FEATURE_SUPPORT] = EXT_CSD_SEC_ER_EN |
					   EXT_CSD_SEC_GB_CL_EN |
					   EXT_CSD_SEC_SANITIZE;
	mult = mmc_sim_units(cfg->erase_us, MMC_SIM_ERASE_UNIT_US, 1);
	ext[EXT_CSD_ERASE_TIMEOUT_MULT] = mult;
	ext[EXT_CSD_TRIM_MULT] = mult;
	ext[EXT_CSD_SEC_TRIM_MULT] = 1;
	ext[EXT_CSD_SEC_ERASE_MULT] = 1;
	ext[EXT_CSD_HC_ERASE_GRP_SIZE] = 1;
	ext[EXT_CSD_HC_WP_GRP_SIZE] = 1;

	ext[EXT_CSD_GENERIC_CMD6_TIME] = 10;		/* 100 ms */
	ext[EXT_CSD_PART_SWITCH_TIME] = 1;		/* 10 ms */
	ext[EXT_CSD_POWER_OFF_LONG_TIME] = 255;		/* 2.55 s */
	ext[EXT_CSD_SLEEP_NOTIFICATION_TIME] = 0x10;	/* 2^16 * 10 us */
	ext[EXT_CSD_S_A_TIMEOUT] = 0x10;		/* 2^16 * 100 ns */
	ext[EXT_CSD_INI_TIMEOUT_AP] = 10;		/* 1 s */

	ext[EXT_CSD_DATA_TAG_SUPPORT] = 1;
	ext[EXT_CSD_TAG_UNIT_SIZE] = 3;			/* 8 sectors */
	ext[EXT_CSD_OPTIMAL_TRIM_UNIT_SIZE] = 1;	/* 4 KiB */
	ext[EXT_CSD_OPTIMAL_WRITE_SIZE] = page;
	ext[EXT_CSD_OPTIMAL_READ_SIZE] = page;
	ext[EXT_CSD_FIRMWARE_VERSION] = 1;
	ext[EXT_CSD_PRE_EOL_INFO] = 1;			/* normal */
	ext[EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_A] = 1;	/* 0 to 10 % used */
	ext[EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_B] = 1;
}

/* BOOT_WP_STATUS: two bits for each boot partition (7.4.73). */
static void mmc_sim_boot_wp_status(struct mmc_sim_card *card)
{
	u8 status = 0;
	int i;

	for (i = 0; i < 2; i++) {
		enum mmc_sim_part part = MMC_SIM_PART_BOOT0 + i;

		if (card->boot_perm_wp & BIT(part))
			status |= 2 << (2 * i);
		else if (card->boot_pwr_wp & BIT(part))
			status |= 1 << (2 * i);
	}
	card->ext_csd[EXT_CSD_BOOT_WP_STATUS] = status;
}

/**
 * mmc_sim_ext_csd_reset - give volatile bytes their initial value
 * @card: the card
 * @power: power failure or RST_n; else CMD0
 *
 * The cell types of 7.4 decide: those that end in _E_P lose their value at a
 * power failure, RST_n and CMD0, those that end in _C_P keep it over CMD0.
 *
 * Context: under &mmc_sim_host.lock.
 */
void mmc_sim_ext_csd_reset(struct mmc_sim_card *card, bool power)
{
	static const u8 e_p[] = {
		EXT_CSD_CMDQ_MODE_EN, EXT_CSD_CACHE_CTRL,
		EXT_CSD_POWER_OFF_NOTIFICATION, EXT_CSD_EXP_EVENTS_CTRL,
		EXT_CSD_EXP_EVENTS_CTRL + 1, EXT_CSD_HPI_MGMT,
		EXT_CSD_ERASE_GROUP_DEF, EXT_CSD_BUS_WIDTH, EXT_CSD_HS_TIMING,
		EXT_CSD_POWER_CLASS, EXT_CSD_CMD_SET,
	};
	u8 *ext = card->ext_csd;
	int i;

	for (i = 0; i < ARRAY_SIZE(e_p); i++)
		ext[e_p[i]] = 0;
	ext[EXT_CSD_PART_CONFIG] &= ~EXT_CSD_PART_CONFIG_ACC_MASK;
	put_unaligned_le32(0, ext + EXT_CSD_CORRECTLY_PRG_SECTORS_NUM);

	if (!power)
		return;
	ext[EXT_CSD_BOOT_WP] &= MMC_SIM_BOOT_WP_FOREVER;
	card->boot_pwr_wp = 0;
	mmc_sim_boot_wp_status(card);
}

/**
 * mmc_sim_bkops_level - how urgent background operations are (6.6.25)
 * @card: the card
 *
 * A card whose host does not do manual background operations does them itself
 * in passing and has none outstanding.
 *
 * Context: under &mmc_sim_host.lock.
 * Return: value of BKOPS_STATUS: 0 none, 1 not critical, 2 performance is
 * impacted, 3 critical.
 */
u8 mmc_sim_bkops_level(const struct mmc_sim_card *card)
{
	u64 size = card->part[MMC_SIM_PART_USER].size;

	if (!(card->ext_csd[EXT_CSD_BKOPS_EN] & EXT_CSD_MANUAL_BKOPS_MASK))
		return 0;
	if (card->bkops_debt >= size / 2)
		return 3;
	if (card->bkops_debt >= size / 4)
		return 2;
	return card->bkops_debt >= size / 8;
}

/**
 * mmc_sim_ext_csd_read - the EXT_CSD as CMD8 sends it
 * @card: the card
 * @buf: 512 bytes
 *
 * Context: under &mmc_sim_host.lock.
 */
void mmc_sim_ext_csd_read(struct mmc_sim_card *card, u8 *buf)
{
	u8 level = mmc_sim_bkops_level(card);

	memcpy(buf, card->ext_csd, sizeof(card->ext_csd));
	buf[EXT_CSD_BKOPS_STATUS] = level;
	buf[EXT_CSD_EXP_EVENTS_STATUS] =
		level >= EXT_CSD_BKOPS_LEVEL_2 ? EXT_CSD_URGENT_BKOPS : 0;
}

/* HS_TIMING: interface and driver strength, which need a fitting bus width. */
static bool mmc_sim_hs_timing_valid(const u8 *ext, u8 val)
{
	u8 width = ext[EXT_CSD_BUS_WIDTH] & 0xf, type = ext[EXT_CSD_CARD_TYPE];
	u8 strength = val >> EXT_CSD_DRV_STR_SHIFT;

	if (strength > 4 ||
	    !(ext[EXT_CSD_DRIVER_STRENGTH] & mmc_driver_type_mask(strength)))
		return false;

	switch (val & 0xf) {
	case EXT_CSD_TIMING_BC:
		return true;
	case EXT_CSD_TIMING_HS:
		return type & EXT_CSD_CARD_TYPE_HS;
	case EXT_CSD_TIMING_HS200:
		return type & EXT_CSD_CARD_TYPE_HS200 &&
		       (width == EXT_CSD_BUS_WIDTH_4 ||
			width == EXT_CSD_BUS_WIDTH_8);
	case EXT_CSD_TIMING_HS400:
		return type & EXT_CSD_CARD_TYPE_HS400 &&
		       width == EXT_CSD_DDR_BUS_WIDTH_8;
	}
	return false;
}

/* BUS_WIDTH: dual data rate needs high speed, and HS200 no single line. */
static bool mmc_sim_bus_width_valid(const u8 *ext, u8 val)
{
	u8 timing = ext[EXT_CSD_HS_TIMING] & 0xf, type = ext[EXT_CSD_CARD_TYPE];

	switch (val) {
	case EXT_CSD_BUS_WIDTH_1:
		return timing <= EXT_CSD_TIMING_HS;
	case EXT_CSD_BUS_WIDTH_4:
	case EXT_CSD_BUS_WIDTH_8:
		return timing <= EXT_CSD_TIMING_HS200;
	case EXT_CSD_DDR_BUS_WIDTH_4:
		return timing == EXT_CSD_TIMING_HS &&
		       type & EXT_CSD_CARD_TYPE_DDR_52;
	case EXT_CSD_DDR_BUS_WIDTH_8:
		return timing == EXT_CSD_TIMING_HS &&
		       type & (EXT_CSD_CARD_TYPE_DDR_52 |
			       EXT_CSD_CARD_TYPE_HS400);
	case EXT_CSD_DDR_BUS_WIDTH_8 | EXT_CSD_BUS_WIDTH_STROBE:
		return timing == EXT_CSD_TIMING_HS &&
		       ext[EXT_CSD_STROBE_SUPPORT];
	}
	return false;
}

static bool mmc_sim_part_config_valid(const struct mmc_sim_card *card, u8 val)
{
	u8 boot = (val >> 3) & 7;

	if (val & BIT(7))
		return false;
	/* No boot, boot partition 1 or 2, or user area. */
	if (boot > 2 && boot != 7)
		return false;
	if ((boot == 1 || boot == 2) && !card->cfg->boot_kib)
		return false;

	switch (val & EXT_CSD_PART_CONFIG_ACC_MASK) {
	case MMC_SIM_PART_USER:
		return true;
	case MMC_SIM_PART_BOOT0:
	case MMC_SIM_PART_BOOT1:
		return card->cfg->boot_kib;
	case MMC_SIM_PART_RPMB:
		return card->cfg->rpmb_kib;
	}
	return false;
}

static bool mmc_sim_boot_wp_valid(u8 old, u8 val)
{
	if (val & BIT(5) || old & ~val & MMC_SIM_BOOT_WP_STICKY)
		return false;
	if (val & EXT_CSD_BOOT_WP_B_PWR_WP_EN &&
	    val & EXT_CSD_BOOT_WP_B_PWR_WP_DIS)
		return false;
	return !(val & EXT_CSD_BOOT_WP_B_PERM_WP_EN &&
		 val & EXT_CSD_BOOT_WP_B_PERM_WP_DIS);
}

/*
 * Returns 0 when SWITCH may set byte @index to @val, -EROFS when it may not set
 * it at all: read-only, reserved, or of a feature that this card has not.
 */
static int mmc_sim_reg_check(const struct mmc_sim_card *card, u8 index, u8 val)
{
	const struct mmc_sim_config *cfg = card->cfg;
	const u8 *ext = card->ext_csd;
	u8 old = ext[index];
	bool valid;

	switch (index) {
	case EXT_CSD_CMDQ_MODE_EN:
	case EXT_CSD_HPI_MGMT:
	case EXT_CSD_ERASE_GROUP_DEF:
		valid = val <= 1;
		break;
	case EXT_CSD_BARRIER_CTRL:
		if (!ext[EXT_CSD_BARRIER_SUPPORT])
			return -EROFS;
		valid = val <= 1 && val >= old;		/* R/W: for good */
		break;
	case EXT_CSD_FLUSH_CACHE:
		if (!cfg->cache_kib)
			return 0;			/* judged by its rule */
		valid = val == 1 || (val == 2 && ext[EXT_CSD_BARRIER_SUPPORT]);
		break;
	case EXT_CSD_CACHE_CTRL:
		if (!cfg->cache_kib)
			return -EROFS;
		valid = val <= 1;
		break;
	case EXT_CSD_POWER_OFF_NOTIFICATION:
		valid = val <= EXT_CSD_SLEEP_NOTIFICATION;
		break;
	case EXT_CSD_EXP_EVENTS_CTRL:
		valid = !(val & ~0x0e);
		break;
	case EXT_CSD_EXP_EVENTS_CTRL + 1:
		valid = !val;
		break;
	case EXT_CSD_RST_N_FUNCTION:
		/* R/W: once, to enable or to disable it for good. */
		valid = val == old || (!old && val <= 2);
		break;
	case EXT_CSD_BKOPS_EN:
		if (!cfg->bkops)
			return -EROFS;
		valid = val <= 3 &&
			!(old & ~val & EXT_CSD_MANUAL_BKOPS_MASK);
		break;
	case EXT_CSD_BKOPS_START:
		if (!cfg->bkops)
			return -EROFS;
		valid = true;
		break;
	case EXT_CSD_SANITIZE_START:
		valid = true;
		break;
	case EXT_CSD_BOOT_WP:
		if (!cfg->boot_kib)
			return -EROFS;
		valid = mmc_sim_boot_wp_valid(old, val);
		break;
	case EXT_CSD_BOOT_BUS_CONDITIONS:
		valid = !(val & ~0x1f) && (val & 3) < 3 && (val >> 3) < 3;
		break;
	case EXT_CSD_PART_CONFIG:
		valid = mmc_sim_part_config_valid(card, val);
		break;
	case EXT_CSD_BUS_WIDTH:
		valid = mmc_sim_bus_width_valid(ext, val);
		break;
	case EXT_CSD_HS_TIMING:
		valid = mmc_sim_hs_timing_valid(ext, val);
		break;
	case EXT_CSD_POWER_CLASS:
		valid = val <= 15;
		break;
	default:
		return -EROFS;
	}
	return valid ? 0 : -EINVAL;
}

static u64 mmc_sim_switch_error(struct mmc_sim_card *card, u64 now)
{
	card->status |= R1_SWITCH_ERROR;
	return now;
}

static u64 mmc_sim_switch_flush(struct mmc_sim_card *card, u8 val, u64 now)
{
	int i;

	if (!mmc_sim_cache_on(card)) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_CACHE_OFF_FLUSH,
				  "FLUSH_CACHE set to %u", val);
		return mmc_sim_switch_error(card, now);
	}

	if (val == 1) {
		card->prg_op = MMC_SIM_PRG_FLUSH;
		return mmc_sim_time_flush(&card->timing, now);
	}

	if (!(card->ext_csd[EXT_CSD_BARRIER_CTRL] & 1)) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_SWITCH_VALUE,
				  "BARRIER while BARRIER_CTRL is 0");
		return mmc_sim_switch_error(card, now);
	}
	for (i = 0; i < MMC_SIM_NR_PARTS; i++)
		mmc_sim_store_barrier(&card->part[i]);
	return now;
}

/* Areas that one of the two protections of BOOT_WP is about (7.4.74). */
static u8 mmc_sim_boot_wp_areas(u8 val, u8 sec_sel)
{
	if (!(val & EXT_CSD_BOOT_WP_B_SEC_WP_SEL))
		return BIT(MMC_SIM_PART_BOOT0) | BIT(MMC_SIM_PART_BOOT1);
	return val & sec_sel ? BIT(MMC_SIM_PART_BOOT1) : BIT(MMC_SIM_PART_BOOT0);
}

static void mmc_sim_switch_boot_wp(struct mmc_sim_card *card, u8 val)
{
	card->ext_csd[EXT_CSD_BOOT_WP] = val;
	if (val & EXT_CSD_BOOT_WP_B_PWR_WP_EN)
		card->boot_pwr_wp |=
			mmc_sim_boot_wp_areas(val, EXT_CSD_BOOT_WP_B_PWR_SEC_SEL);
	if (val & EXT_CSD_BOOT_WP_B_PERM_WP_EN)
		card->boot_perm_wp |=
			mmc_sim_boot_wp_areas(val, EXT_CSD_BOOT_WP_B_PERM_SEC_SEL);
	mmc_sim_boot_wp_status(card);
}

/* The queue and the RPMB partition exclude each other (6.6.39.1). */
static bool mmc_sim_switch_rpmb_queue(struct mmc_sim_card *card, u8 index,
				      u8 val)
{
	bool bad;

	if (index == EXT_CSD_CMDQ_MODE_EN)
		bad = val && mmc_sim_cur_part(card) == MMC_SIM_PART_RPMB;
	else
		bad = mmc_sim_cmdq_on(card) &&
		      (val & EXT_CSD_PART_CONFIG_ACC_MASK) == MMC_SIM_PART_RPMB;

	if (bad)
		mmc_sim_violation(card->judge, MMC_SIM_RULE_CQ_RPMB,
				  "EXT_CSD byte %u set to %#x", index, val);
	return bad;
}

static u64 mmc_sim_switch_apply(struct mmc_sim_card *card, u8 index, u8 val,
				u64 now)
{
	u8 *ext = card->ext_csd;

	switch (index) {
	case EXT_CSD_FLUSH_CACHE:
		return mmc_sim_switch_flush(card, val, now);
	case EXT_CSD_CACHE_CTRL:
		if (val || !mmc_sim_cache_on(card))
			break;
		/* Stays on until all is programmed: HPI may come before. */
		card->prg_op = MMC_SIM_PRG_CACHE_OFF;
		return mmc_sim_time_flush(&card->timing, now);
	case EXT_CSD_POWER_OFF_NOTIFICATION:
		ext[index] = val;
		if (val < EXT_CSD_POWER_OFF_SHORT || !mmc_sim_cache_on(card))
			return now;
		card->prg_op = MMC_SIM_PRG_FLUSH;
		return mmc_sim_time_flush(&card->timing, now);
	case EXT_CSD_BKOPS_START:
		card->prg_op = MMC_SIM_PRG_BKOPS;
		return mmc_sim_time_erase(&card->timing, now,
				div_u64(card->bkops_debt, MMC_SIM_SECTOR));
	case EXT_CSD_SANITIZE_START:
		card->prg_op = MMC_SIM_PRG_SANITIZE;
		return mmc_sim_time_erase(&card->timing, now,
				div_u64(card->part[MMC_SIM_PART_USER].size,
					MMC_SIM_SECTOR));
	case EXT_CSD_BOOT_WP:
		mmc_sim_switch_boot_wp(card, val);
		return now;
	case EXT_CSD_CMDQ_MODE_EN:
	case EXT_CSD_PART_CONFIG:
		if (mmc_sim_switch_rpmb_queue(card, index, val))
			return mmc_sim_switch_error(card, now);
		break;
	}

	ext[index] = val;
	return now;
}

/**
 * mmc_sim_switch - carry out CMD6 (6.6.3)
 * @card: the card, in the transfer state
 * @arg: argument of CMD6
 * @now: ns
 *
 * What takes time is left in mmc_sim_card.prg_op and has its effect when it is
 * over. A SWITCH that fails sets SWITCH_ERROR for the next response and changes
 * nothing.
 *
 * Context: under &mmc_sim_host.lock.
 * Return: when the card stops signalling busy, ns.
 */
u64 mmc_sim_switch(struct mmc_sim_card *card, u32 arg, u64 now)
{
	u8 mode = (arg >> 24) & 3, index = arg >> 16, val = arg >> 8;
	int err;

	switch (mode) {
	case MMC_SWITCH_MODE_CMD_SET:
		/* The standard command set is the only one there is. */
		if (!(arg & 7))
			return now;
		mmc_sim_violation(card->judge, MMC_SIM_RULE_SWITCH_VALUE,
				  "command set %u", arg & 7);
		return mmc_sim_switch_error(card, now);
	case MMC_SWITCH_MODE_SET_BITS:
		val |= card->ext_csd[index];
		break;
	case MMC_SWITCH_MODE_CLEAR_BITS:
		val = card->ext_csd[index] & ~val;
		break;
	}

	err = mmc_sim_reg_check(card, index, val);
	if (err) {
		mmc_sim_violation(card->judge, err == -EROFS ?
				  MMC_SIM_RULE_SWITCH_RO :
				  MMC_SIM_RULE_SWITCH_VALUE,
				  "EXT_CSD byte %u set to %#x", index, val);
		return mmc_sim_switch_error(card, now);
	}

	return mmc_sim_switch_apply(card, index, val, now);
}
