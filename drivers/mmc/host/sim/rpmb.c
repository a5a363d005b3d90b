// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmc-sim: the replay protected memory block (6.6.22).
 *
 * A request is written to the partition, and what is read next is its answer.
 * Key programming and authenticated writes have none: their result is kept in a
 * register, for which there is a request of its own. Answers of any length are
 * made a frame at a time while they are read, so nothing is allocated.
 */
#include <crypto/sha2.h>

#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/rpmb.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "card.h"

/* The longest request: an authenticated write of 8 KiB. */
#define MAX_FRAMES		32

#define HALF_SECTOR		256

/* Requests that <linux/rpmb.h> does not have; the answer's type is x << 8. */
#define RPMB_CONFIG_WRITE	0x6
#define RPMB_CONFIG_READ	0x7

/* Results */
#define RES_OK			0x0000
#define RES_GENERAL		0x0001
#define RES_AUTH		0x0002
#define RES_COUNTER		0x0003
#define RES_ADDR		0x0004
#define RES_WRITE		0x0005
#define RES_NO_KEY		0x0007
#define RES_EXPIRED		0x0080	/* flag: the write counter cannot grow */

/* What the MAC covers in each frame: all that follows it. */
#define MAC_FROM		offsetof(struct rpmb_frame, data)
#define MAC_LEN			(sizeof(struct rpmb_frame) - MAC_FROM)

static_assert(sizeof(struct rpmb_frame) == MMC_SIM_SECTOR);
static_assert(MAC_FROM == 228);

static void mac_update(struct hmac_sha256_ctx *ctx, const struct rpmb_frame *f)
{
	hmac_sha256_update(ctx, (const u8 *)f + MAC_FROM, MAC_LEN);
}

static bool mac_ok(struct mmc_sim_rpmb *r, u32 nr)
{
	struct hmac_sha256_ctx ctx;
	u8 mac[SHA256_DIGEST_SIZE];
	u32 i;

	hmac_sha256_init(&ctx, &r->key);
	for (i = 0; i < nr; i++)
		mac_update(&ctx, &r->in[i]);
	hmac_sha256_final(&ctx, mac);
	return !memcmp(mac, r->in[nr - 1].key_mac, sizeof(mac));
}

static u16 result_of(const struct mmc_sim_rpmb *r, u16 result)
{
	return result | (r->counter == U32_MAX ? RES_EXPIRED : 0);
}

static bool addr_ok(const struct mmc_sim_card *card, u32 addr, u32 nr)
{
	return addr + nr <= card->cfg->rpmb_kib * (SZ_1K / HALF_SECTOR);
}

static u16 program_key(struct mmc_sim_card *card, u32 nr)
{
	struct mmc_sim_rpmb *r = &card->rpmb;

	if (nr != 1) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
				  "key programming with %u frames", nr);
		return RES_GENERAL;
	}
	/* It can be programmed once. */
	if (r->key_set)
		return RES_GENERAL;

	hmac_sha256_preparekey(&r->key, r->in->key_mac,
			       sizeof(r->in->key_mac));
	r->key_set = true;
	return RES_OK;
}

static bool frames_agree(const struct mmc_sim_rpmb *r, u32 nr)
{
	const struct rpmb_frame *f = r->in;
	u32 i;

	for (i = 0; i < nr; i++)
		if (f[i].req_resp != f->req_resp || f[i].addr != f->addr ||
		    f[i].write_counter != f->write_counter ||
		    be16_to_cpu(f[i].block_count) != nr)
			return false;
	return true;
}

static bool write_size_ok(const struct mmc_sim_card *card, u32 nr)
{
	return nr == 1 || nr == 2 ||
	       (nr == MAX_FRAMES &&
		card->ext_csd[EXT_CSD_WR_REL_PARAM] &
		EXT_CSD_WR_REL_PARAM_EN_RPMB_REL_WR);
}

/* The order of the checks is that of 6.6.22. */
static u16 write_data(struct mmc_sim_card *card, u32 nr)
{
	struct mmc_sim_rpmb *r = &card->rpmb;
	u16 addr = be16_to_cpu(r->in->addr);
	u32 i;

	if (!write_size_ok(card, nr) || !frames_agree(r, nr)) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
				  "authenticated write of %u frames, block count %u",
				  nr, be16_to_cpu(r->in->block_count));
		return RES_GENERAL;
	}
	if (!r->key_set)
		return RES_NO_KEY;
	if (r->counter == U32_MAX)
		return RES_WRITE;
	if (!addr_ok(card, addr, nr))
		return RES_ADDR;
	if (!mac_ok(r, nr))
		return RES_AUTH;
	if (be32_to_cpu(r->in->write_counter) != r->counter)
		return RES_COUNTER;

	for (i = 0; i < nr; i++)
		if (mmc_sim_store_write(&card->part[MMC_SIM_PART_RPMB],
					(u64)(addr + i) * HALF_SECTOR,
					r->in[i].data, HALF_SECTOR, true))
			return RES_WRITE;
	r->counter++;
	return RES_OK;
}

/* Requests that change something, and only leave a result behind. */
static void execute(struct mmc_sim_card *card, u16 type, u32 nr, bool reliable)
{
	struct mmc_sim_rpmb *r = &card->rpmb;
	u16 result = RES_GENERAL;

	if (!reliable)
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
				  "request %#x without reliable write", type);
	else if (type == RPMB_PROGRAM_KEY)
		result = program_key(card, nr);
	else if (type == RPMB_WRITE_DATA)
		result = write_data(card, nr);
	/* There is no device configuration area, so its write fails. */

	r->done = type;
	r->done_addr = be16_to_cpu(r->in->addr);
	r->result = result;
}

/**
 * mmc_sim_rpmb_write() - take bytes of a request
 * @card: card that has the RPMB partition selected
 * @buf: bytes of the data phase
 * @len: how many; not necessarily whole frames
 *
 * What is longer than the longest request is counted and forgotten.
 *
 * Context: Any; the caller holds the lock that protects @card.
 * Return: 0. What is wrong with the request becomes its result.
 */
int mmc_sim_rpmb_write(struct mmc_sim_card *card, const void *buf, size_t len)
{
	struct mmc_sim_rpmb *r = &card->rpmb;
	size_t room = MAX_FRAMES * sizeof(*r->in);

	if (r->in_len < room)
		memcpy((u8 *)r->in + r->in_len, buf,
		       min(len, room - r->in_len));
	r->in_len += len;
	return 0;
}

/**
 * mmc_sim_rpmb_write_end() - execute the request that was received
 * @card: card
 * @reliable: CMD23 had the reliable write bit (6.6.22 asks for it with key
 *	programming and authenticated writes)
 *
 * For the end of a data phase without error; after an error
 * mmc_sim_rpmb_reset() is to be called instead. A request replaces one whose
 * answer was not read.
 *
 * Context: Any; the caller holds the lock that protects @card.
 */
void mmc_sim_rpmb_write_end(struct mmc_sim_card *card, bool reliable)
{
	struct mmc_sim_rpmb *r = &card->rpmb;
	u32 len = r->in_len;
	u32 nr = len / sizeof(*r->in);
	u16 type;

	r->in_len = 0;
	r->request = 0;
	r->nr_out = 0;
	r->out = 0;
	r->frame_pos = sizeof(r->frame);

	if (!nr || len % sizeof(*r->in) || nr > MAX_FRAMES) {
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
				  "request of %u bytes", len);
		return;
	}

	type = be16_to_cpu(r->in->req_resp);
	switch (type) {
	case RPMB_PROGRAM_KEY:
	case RPMB_WRITE_DATA:
	case RPMB_CONFIG_WRITE:
		execute(card, type, nr, reliable);
		return;
	case RPMB_RESULT_READ:
		if (!r->done)
			mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
					  "result read, but nothing was done");
		break;
	case RPMB_GET_WRITE_COUNTER:
	case RPMB_READ_DATA:
	case RPMB_CONFIG_READ:
		break;
	default:
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
				  "request %#x", type);
		return;
	}

	if (nr != 1)
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
				  "request %#x with %u frames", type, nr);
	r->request = type;
	r->addr = be16_to_cpu(r->in->addr);
	memcpy(r->nonce, r->in->nonce, sizeof(r->nonce));
}

/**
 * mmc_sim_rpmb_read_start() - a read of the RPMB partition begins
 * @card: card
 * @blocks: frames that the host is going to read (CMD23); 0: it did not say
 *
 * To be called once for each CMD17 or CMD18, before mmc_sim_rpmb_read(). The
 * number decides how much an authenticated read returns, and the frame that has
 * the MAC.
 *
 * Context: Any; the caller holds the lock that protects @card.
 */
void mmc_sim_rpmb_read_start(struct mmc_sim_card *card, u32 blocks)
{
	struct mmc_sim_rpmb *r = &card->rpmb;

	if (!r->request)
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
				  "read without a request");
	else if (!blocks || (blocks != 1 && r->request != RPMB_READ_DATA))
		mmc_sim_violation(card->judge, MMC_SIM_RULE_RPMB_FRAME,
				  "read of %u frames for request %#x", blocks,
				  r->request);

	r->nr_out = max(blocks, 1);
	r->out = 0;
	r->frame_pos = sizeof(r->frame);
	if (r->key_set)
		hmac_sha256_init(&r->mac, &r->key);
}

static u16 read_data(struct mmc_sim_card *card, struct rpmb_frame *f)
{
	struct mmc_sim_rpmb *r = &card->rpmb;

	f->addr = cpu_to_be16(r->addr);
	f->block_count = cpu_to_be16(r->nr_out);
	if (!r->key_set)
		return RES_NO_KEY;
	if (!addr_ok(card, r->addr, r->nr_out))
		return RES_ADDR;
	mmc_sim_store_read(&card->part[MMC_SIM_PART_RPMB],
			   (u64)(r->addr + r->out) * HALF_SECTOR, f->data,
			   HALF_SECTOR);
	return RES_OK;
}

/* The next frame of the answer. */
static void make_frame(struct mmc_sim_card *card)
{
	struct mmc_sim_rpmb *r = &card->rpmb;
	struct rpmb_frame *f = &r->frame;
	u16 type = r->request;
	u16 result = RES_GENERAL;

	memset(f, 0, sizeof(*f));
	switch (type) {
	case RPMB_RESULT_READ:
		type = r->done;
		if (type == RPMB_WRITE_DATA) {
			f->write_counter = cpu_to_be32(r->counter);
			f->addr = cpu_to_be16(r->done_addr);
		}
		if (type)
			result = r->result;
		break;
	case RPMB_GET_WRITE_COUNTER:
		f->write_counter = cpu_to_be32(r->counter);
		result = r->key_set ? RES_OK : RES_NO_KEY;
		memcpy(f->nonce, r->nonce, sizeof(f->nonce));
		break;
	case RPMB_READ_DATA:
		result = read_data(card, f);
		memcpy(f->nonce, r->nonce, sizeof(f->nonce));
		break;
	default:
		memcpy(f->nonce, r->nonce, sizeof(f->nonce));
		break;
	}
	f->result = cpu_to_be16(result_of(r, result));
	f->req_resp = cpu_to_be16(type << 8);

	r->out++;
	r->frame_pos = 0;
	if (r->key_set)
		mac_update(&r->mac, f);
	if (r->out < r->nr_out)
		return;

	/* The answer to key programming is not authenticated (6.6.22). */
	if (r->key_set && type != RPMB_PROGRAM_KEY)
		hmac_sha256_final(&r->mac, f->key_mac);
	r->request = 0;
}

/**
 * mmc_sim_rpmb_read() - give bytes of the answer
 * @card: card
 * @buf: where to
 * @len: how many; not necessarily whole frames
 *
 * Beyond the number of frames that mmc_sim_rpmb_read_start() was told there are
 * zeroes.
 *
 * Context: Any; the caller holds the lock that protects @card.
 */
void mmc_sim_rpmb_read(struct mmc_sim_card *card, void *buf, size_t len)
{
	struct mmc_sim_rpmb *r = &card->rpmb;

	while (len) {
		size_t part;

		if (r->frame_pos == sizeof(r->frame)) {
			if (r->out == r->nr_out) {
				memset(buf, 0, len);
				return;
			}
			make_frame(card);
		}
		part = min(len, sizeof(r->frame) - r->frame_pos);
		memcpy(buf, (u8 *)&r->frame + r->frame_pos, part);
		r->frame_pos += part;
		buf += part;
		len -= part;
	}
}

/**
 * mmc_sim_rpmb_reset() - forget what is under way
 * @card: card
 *
 * For loss of power, CMD0 and a data phase that failed. Key and counter stay.
 *
 * Context: Any; the caller holds the lock that protects @card.
 */
void mmc_sim_rpmb_reset(struct mmc_sim_card *card)
{
	struct mmc_sim_rpmb *r = &card->rpmb;

	r->in_len = 0;
	r->request = 0;
	r->done = 0;
	r->nr_out = 0;
	r->out = 0;
	r->frame_pos = sizeof(r->frame);
}

/**
 * mmc_sim_rpmb_init() - make a block without a key
 * @card: card; its partitions are mmc_sim_card_init()'s
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENOMEM.
 */
int mmc_sim_rpmb_init(struct mmc_sim_card *card)
{
	struct mmc_sim_rpmb *r = &card->rpmb;

	memset(r, 0, sizeof(*r));
	r->in = kcalloc(MAX_FRAMES, sizeof(*r->in), GFP_KERNEL);
	if (!r->in)
		return -ENOMEM;
	mmc_sim_rpmb_reset(card);
	return 0;
}

/**
 * mmc_sim_rpmb_destroy() - free what mmc_sim_rpmb_init() allocated
 * @card: card
 *
 * Context: Any.
 */
void mmc_sim_rpmb_destroy(struct mmc_sim_card *card)
{
	kfree(card->rpmb.in);
	card->rpmb.in = NULL;
}
