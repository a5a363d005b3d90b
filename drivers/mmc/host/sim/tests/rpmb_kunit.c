// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of mmc-sim's replay protected memory block: requests as a host
 * sends them, and answers as a host verifies them.
 */
#include <kunit/test.h>

#include <crypto/sha2.h>

#include <linux/sizes.h>

#include "../card.h"

#define KIB		128
#define END		(KIB * 4)	/* half sectors */
#define MAC_LEN		(512 - 228)
#define EXPIRED		0x80

static const u8 key[32] = "0123456789abcdef0123456789ABCDE";
static const u8 other_key[32] = "another key";

struct ctx {
	struct mmc_sim_config cfg;
	struct mmc_sim_judge judge;
	struct mmc_sim_card card;
	struct rpmb_frame f[40];
	struct rpmb_frame answer[40];
	u8 covered[40 * MAC_LEN];
};

static int rpmb_test_init(struct kunit *test)
{
	struct ctx *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	int err;

	if (!c)
		return -ENOMEM;
	c->cfg.rpmb_kib = KIB;
	c->judge.quiet = true;
	c->card.cfg = &c->cfg;
	c->card.judge = &c->judge;
	err = mmc_sim_store_init(&c->card.part[MMC_SIM_PART_RPMB], KIB * SZ_1K, 0);
	if (err)
		return err;
	err = mmc_sim_rpmb_init(&c->card);
	if (err) {
		mmc_sim_store_destroy(&c->card.part[MMC_SIM_PART_RPMB]);
		return err;
	}
	test->priv = c;
	return 0;
}

static void rpmb_test_exit(struct kunit *test)
{
	struct ctx *c = test->priv;

	if (!c)
		return;
	mmc_sim_rpmb_destroy(&c->card);
	mmc_sim_store_destroy(&c->card.part[MMC_SIM_PART_RPMB]);
}

static u64 violations(struct ctx *c)
{
	return c->judge.nr[MMC_SIM_RULE_RPMB_FRAME];
}

static void mac(struct ctx *c, const struct rpmb_frame *f, u32 nr,
		const u8 *with, u8 *out)
{
	u32 i;

	for (i = 0; i < nr; i++)
		memcpy(c->covered + i * MAC_LEN, (const u8 *)&f[i] + 228, MAC_LEN);
	hmac_sha256_usingrawkey(with, 32, c->covered, nr * MAC_LEN, out);
}

static void send(struct ctx *c, u32 nr, bool reliable)
{
	mmc_sim_rpmb_write(&c->card, c->f, nr * sizeof(*c->f));
	mmc_sim_rpmb_write_end(&c->card, reliable);
}

static void receive(struct ctx *c, u32 nr)
{
	memset(c->answer, 0xee, sizeof(c->answer));
	mmc_sim_rpmb_read_start(&c->card, nr);
	mmc_sim_rpmb_read(&c->card, c->answer, nr * sizeof(*c->answer));
}

static u16 result(struct ctx *c, u32 i)
{
	return be16_to_cpu(c->answer[i].result);
}

/* A request of one frame; its nonce counts up from @seed. */
static void ask(struct ctx *c, u16 type, u16 addr, u8 seed)
{
	u8 i;

	memset(c->f, 0, sizeof(*c->f));
	c->f->req_resp = cpu_to_be16(type);
	c->f->addr = cpu_to_be16(addr);
	for (i = 0; i < sizeof(c->f->nonce); i++)
		c->f->nonce[i] = seed + i;
	send(c, 1, false);
}

static u16 fetch_result(struct ctx *c)
{
	ask(c, RPMB_RESULT_READ, 0, 0);
	receive(c, 1);
	return result(c, 0);
}

static u16 program_key(struct ctx *c, const u8 *with)
{
	memset(c->f, 0, sizeof(*c->f));
	c->f->req_resp = cpu_to_be16(RPMB_PROGRAM_KEY);
	memcpy(c->f->key_mac, with, 32);
	send(c, 1, true);
	return fetch_result(c);
}

/* Half sector @addr + i has the byte @value + i. */
static void prepare_write(struct ctx *c, u16 addr, u32 nr, u32 counter, u8 value)
{
	u32 i;

	memset(c->f, 0, sizeof(c->f));
	for (i = 0; i < nr; i++) {
		c->f[i].req_resp = cpu_to_be16(RPMB_WRITE_DATA);
		c->f[i].addr = cpu_to_be16(addr);
		c->f[i].block_count = cpu_to_be16(nr);
		c->f[i].write_counter = cpu_to_be32(counter);
		memset(c->f[i].data, value + i, sizeof(c->f[i].data));
	}
}

static void sign(struct ctx *c, u32 nr, const u8 *with)
{
	mac(c, c->f, nr, with, c->f[nr - 1].key_mac);
}

static u16 write_data(struct ctx *c, u16 addr, u32 nr, u32 counter, u8 value)
{
	prepare_write(c, addr, nr, counter, value);
	sign(c, nr, key);
	send(c, nr, true);
	return fetch_result(c);
}

static void expect_mac(struct kunit *test, u32 nr)
{
	struct ctx *c = test->priv;
	static const u8 none[32];
	u8 want[32];
	u32 i;

	mac(c, c->answer, nr, key, want);
	KUNIT_EXPECT_MEMEQ(test, c->answer[nr - 1].key_mac, want, 32);
	for (i = 0; i + 1 < nr; i++)
		KUNIT_EXPECT_MEMEQ(test, c->answer[i].key_mac, none, 32);
}

static void expect_nonce(struct kunit *test, u32 i, u8 seed)
{
	struct ctx *c = test->priv;
	u8 k;

	for (k = 0; k < sizeof(c->answer->nonce); k++)
		KUNIT_EXPECT_EQ(test, c->answer[i].nonce[k], (u8)(seed + k));
}

/* --------------------------------------------------------------------- key */

static const struct type_case {
	const char *name;
	u16 type;
} no_key_cases[] = {
	{ "read counter", RPMB_GET_WRITE_COUNTER },
	{ "authenticated read", RPMB_READ_DATA },
};

KUNIT_ARRAY_PARAM_DESC(no_key_case, no_key_cases, name);

static void no_key(struct kunit *test)
{
	const struct type_case *p = test->param_value;
	static const u8 none[32];
	struct ctx *c = test->priv;

	ask(c, p->type, 0, 5);
	receive(c, 1);
	KUNIT_EXPECT_EQ(test, result(c, 0), 7);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer->req_resp), p->type << 8);
	KUNIT_EXPECT_MEMEQ(test, c->answer->key_mac, none, 32);
	expect_nonce(test, 0, 5);
	KUNIT_EXPECT_EQ(test, violations(c), 0);
}

static void no_key_write(struct kunit *test)
{
	struct ctx *c = test->priv;

	KUNIT_EXPECT_EQ(test, write_data(c, 0, 1, 0, 1), 7);
	KUNIT_EXPECT_EQ(test, c->card.rpmb.counter, 0);
	KUNIT_EXPECT_EQ(test, violations(c), 0);
}

static void key_once(struct kunit *test)
{
	struct ctx *c = test->priv;

	KUNIT_EXPECT_EQ(test, program_key(c, key), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer->req_resp), 0x0100);
	KUNIT_EXPECT_EQ(test, program_key(c, other_key), 1);
	/* The first one is still it. */
	KUNIT_EXPECT_EQ(test, write_data(c, 0, 1, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, violations(c), 0);
}

/* ------------------------------------------------------------------- write */

static const struct write_case {
	const char *name;
	u16 addr;
	u16 nr;
	u16 result;
	bool violation;
	/* What is wrong with it. */
	bool other_key;
	bool flip_data;
	bool flip_mac;
	bool unreliable;
	bool no_rel_wr;
	bool wrong_count;
	bool wrong_type;
	s32 counter;		/* difference */
	u32 start;		/* counter of the card */
} write_cases[] = {
	{ .name = "one", .nr = 1 },
	{ .name = "two", .nr = 2 },
	{ .name = "32", .nr = 32 },
	{ .name = "last", .addr = END - 1, .nr = 1 },
	{ .name = "last two", .addr = END - 2, .nr = 2 },
	{ .name = "counter is about to expire", .nr = 1, .start = U32_MAX - 1,
	  .result = EXPIRED },
	{ .name = "counter expired", .nr = 1, .start = U32_MAX,
	  .result = 5 | EXPIRED },
	{ .name = "wrong key", .nr = 1, .other_key = true, .result = 2 },
	{ .name = "changed data", .nr = 1, .flip_data = true, .result = 2 },
	{ .name = "changed data in the first of two", .nr = 2,
	  .flip_data = true, .result = 2 },
	{ .name = "changed mac", .nr = 1, .flip_mac = true, .result = 2 },
	{ .name = "counter too low", .nr = 1, .counter = -1, .start = 9,
	  .result = 3 },
	{ .name = "counter too high", .nr = 1, .counter = 1, .result = 3 },
	{ .name = "beyond the end", .addr = END, .nr = 1, .result = 4 },
	{ .name = "across the end", .addr = END - 1, .nr = 2, .result = 4 },
	{ .name = "highest address", .addr = U16_MAX, .nr = 2, .result = 4 },
	{ .name = "three", .nr = 3, .result = 1, .violation = true },
	{ .name = "32 without EN_RPMB_REL_WR", .nr = 32, .no_rel_wr = true,
	  .result = 1, .violation = true },
	{ .name = "without reliable write", .nr = 1, .unreliable = true,
	  .result = 1, .violation = true },
	{ .name = "wrong block count", .nr = 2, .wrong_count = true,
	  .result = 1, .violation = true },
	{ .name = "second frame of another type", .nr = 2, .wrong_type = true,
	  .result = 1, .violation = true },
};

KUNIT_ARRAY_PARAM_DESC(write_case, write_cases, name);

static void authenticated_write(struct kunit *test)
{
	const struct write_case *p = test->param_value;
	bool ok = !(p->result & ~EXPIRED);
	struct ctx *c = test->priv;
	struct mmc_sim_rpmb *r = &c->card.rpmb;
	u8 got;
	u32 i;

	if (!p->no_rel_wr)
		c->card.ext_csd[EXT_CSD_WR_REL_PARAM] =
			EXT_CSD_WR_REL_PARAM_EN_RPMB_REL_WR;
	KUNIT_ASSERT_EQ(test, program_key(c, key), 0);
	r->counter = p->start;

	prepare_write(c, p->addr, p->nr, p->start + p->counter, 0x40);
	if (p->wrong_count)
		c->f[1].block_count = cpu_to_be16(1);
	if (p->wrong_type)
		c->f[1].req_resp = cpu_to_be16(RPMB_READ_DATA);
	sign(c, p->nr, p->other_key ? other_key : key);
	if (p->flip_data)
		c->f[0].data[255] ^= 1;
	if (p->flip_mac)
		c->f[p->nr - 1].key_mac[31] ^= 0x80;
	send(c, p->nr, !p->unreliable);

	KUNIT_EXPECT_EQ(test, fetch_result(c), p->result);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer->req_resp), 0x0300);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer->addr), p->addr);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(c->answer->write_counter),
			p->start + ok);
	expect_mac(test, 1);
	KUNIT_EXPECT_EQ(test, r->counter, p->start + ok);
	KUNIT_EXPECT_EQ(test, violations(c), p->violation);

	for (i = 0; i < p->nr && p->addr + i < END; i++) {
		mmc_sim_store_read(&c->card.part[MMC_SIM_PART_RPMB],
				   (p->addr + i) * 256 + 255, &got, 1);
		KUNIT_EXPECT_EQ_MSG(test, got, ok ? 0x40 + i : 0,
				    "half sector %u", i);
	}
	KUNIT_EXPECT_EQ(test, c->card.part[MMC_SIM_PART_RPMB].dirty, 0);
}

static void replay(struct kunit *test)
{
	struct ctx *c = test->priv;
	struct rpmb_frame *old = kunit_kmalloc(test, sizeof(*old), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, old);
	KUNIT_ASSERT_EQ(test, program_key(c, key), 0);
	prepare_write(c, 3, 1, 0, 1);
	sign(c, 1, key);
	*old = c->f[0];
	send(c, 1, true);
	KUNIT_EXPECT_EQ(test, fetch_result(c), 0);
	c->f[0] = *old;
	send(c, 1, true);
	KUNIT_EXPECT_EQ(test, fetch_result(c), 3);
	KUNIT_EXPECT_EQ(test, c->card.rpmb.counter, 1);
}

static void counter_counts_requests(struct kunit *test)
{
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, program_key(c, key), 0);
	KUNIT_EXPECT_EQ(test, write_data(c, 0, 1, 0, 1), 0);
	KUNIT_EXPECT_EQ(test, write_data(c, 0, 2, 1, 1), 0);
	KUNIT_EXPECT_EQ(test, write_data(c, 0, 1, 1, 1), 3);
	ask(c, RPMB_GET_WRITE_COUNTER, 0, 0x33);
	receive(c, 1);
	KUNIT_EXPECT_EQ(test, result(c, 0), 0);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer->req_resp), 0x0200);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(c->answer->write_counter), 2);
	expect_nonce(test, 0, 0x33);
	expect_mac(test, 1);
}

/* -------------------------------------------------------------------- read */

static const struct read_case {
	const char *name;
	u16 addr;
	u16 nr;
	u16 result;
} read_cases[] = {
	{ "one", 7, 1, 0 },
	{ "two", 7, 2, 0 },
	{ "40", 0, 40, 0 },
	{ "last two", END - 2, 2, 0 },
	{ "across the end", END - 1, 2, 4 },
	{ "beyond the end", END, 1, 4 },
	{ "highest address", U16_MAX, 2, 4 },
};

KUNIT_ARRAY_PARAM_DESC(read_case, read_cases, name);

static void authenticated_read(struct kunit *test)
{
	const struct read_case *p = test->param_value;
	struct ctx *c = test->priv;
	u32 i;

	KUNIT_ASSERT_EQ(test, program_key(c, key), 0);
	for (i = 0; i < END; i++)
		KUNIT_ASSERT_EQ(test, write_data(c, i, 1, i, i * 3), 0);

	ask(c, RPMB_READ_DATA, p->addr, 0x77);
	receive(c, p->nr);
	for (i = 0; i < p->nr; i++) {
		u8 want = p->result ? 0 : (p->addr + i) * 3;

		KUNIT_EXPECT_EQ(test, result(c, i), p->result);
		KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer[i].req_resp), 0x0400);
		KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer[i].addr), p->addr);
		KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer[i].block_count), p->nr);
		KUNIT_EXPECT_NULL(test, memchr_inv(c->answer[i].data, want, 256));
		expect_nonce(test, i, 0x77);
	}
	expect_mac(test, p->nr);
	KUNIT_EXPECT_EQ(test, violations(c), 0);
}

static const struct piece_case {
	const char *name;
	u32 len;
} piece_cases[] = {
	{ "a byte", 1 },
	{ "7 bytes", 7 },
	{ "a frame and one", 513 },
	{ "3 frames", 1536 },
};

KUNIT_ARRAY_PARAM_DESC(piece_case, piece_cases, name);

/* The data phase may come in pieces of any size. */
static void in_pieces(struct kunit *test)
{
	const struct piece_case *p = test->param_value;
	struct ctx *c = test->priv;
	u32 at, len = 2 * sizeof(*c->f);

	KUNIT_ASSERT_EQ(test, program_key(c, key), 0);
	prepare_write(c, 4, 2, 0, 0x11);
	sign(c, 2, key);
	for (at = 0; at < len; at += p->len)
		mmc_sim_rpmb_write(&c->card, (u8 *)c->f + at, min(p->len, len - at));
	mmc_sim_rpmb_write_end(&c->card, true);
	KUNIT_EXPECT_EQ(test, fetch_result(c), 0);

	ask(c, RPMB_READ_DATA, 4, 1);
	mmc_sim_rpmb_read_start(&c->card, 2);
	for (at = 0; at < len; at += p->len)
		mmc_sim_rpmb_read(&c->card, (u8 *)c->answer + at,
				  min(p->len, len - at));
	KUNIT_EXPECT_EQ(test, c->answer[0].data[0], 0x11);
	KUNIT_EXPECT_EQ(test, c->answer[1].data[255], 0x12);
	expect_mac(test, 2);
	KUNIT_EXPECT_EQ(test, violations(c), 0);
}

/* ------------------------------------------------------------------ results */

static void result_stays(struct kunit *test)
{
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, program_key(c, key), 0);
	KUNIT_EXPECT_EQ(test, write_data(c, END, 1, 0, 1), 4);
	ask(c, RPMB_GET_WRITE_COUNTER, 3, 0);
	receive(c, 1);
	KUNIT_EXPECT_EQ(test, fetch_result(c), 4);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer->addr), END);
}

static void device_configuration(struct kunit *test)
{
	struct ctx *c = test->priv;

	memset(c->f, 0, sizeof(*c->f));
	c->f->req_resp = cpu_to_be16(6);
	send(c, 1, true);
	KUNIT_EXPECT_EQ(test, fetch_result(c), 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer->req_resp), 0x0600);
	ask(c, 7, 0, 2);
	receive(c, 1);
	KUNIT_EXPECT_EQ(test, result(c, 0), 1);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(c->answer->req_resp), 0x0700);
	expect_nonce(test, 0, 2);
}

/* -------------------------------------------------------------------- order */

static void read_without_request(struct kunit *test)
{
	struct ctx *c = test->priv;

	receive(c, 1);
	KUNIT_EXPECT_EQ(test, violations(c), 1);
	KUNIT_EXPECT_EQ(test, result(c, 0), 1);

	/* An answer can be read once. */
	ask(c, RPMB_GET_WRITE_COUNTER, 0, 0);
	receive(c, 1);
	KUNIT_EXPECT_EQ(test, violations(c), 1);
	receive(c, 1);
	KUNIT_EXPECT_EQ(test, violations(c), 2);
}

static void result_of_nothing(struct kunit *test)
{
	struct ctx *c = test->priv;

	KUNIT_EXPECT_EQ(test, fetch_result(c), 1);
	KUNIT_EXPECT_EQ(test, violations(c), 1);
}

static const struct frame_case {
	const char *name;
	u16 type;
	u32 len;
	u32 blocks;		/* read after it, U32_MAX: none */
} frame_cases[] = {
	{ "nothing", RPMB_GET_WRITE_COUNTER, 0, U32_MAX },
	{ "half a frame", RPMB_GET_WRITE_COUNTER, 256, U32_MAX },
	{ "a frame and a byte", RPMB_GET_WRITE_COUNTER, 513, U32_MAX },
	{ "two frames for a counter", RPMB_GET_WRITE_COUNTER, 1024, U32_MAX },
	{ "33 frames", RPMB_WRITE_DATA, 33 * 512, U32_MAX },
	{ "type 0", 0, 512, U32_MAX },
	{ "type 8", 8, 512, U32_MAX },
	{ "type of an answer", 0x0300, 512, U32_MAX },
	{ "two frames of a counter", RPMB_GET_WRITE_COUNTER, 512, 2 },
	{ "unknown number of frames", RPMB_READ_DATA, 512, 0 },
};

KUNIT_ARRAY_PARAM_DESC(frame_case, frame_cases, name);

static void frames_are_judged(struct kunit *test)
{
	const struct frame_case *p = test->param_value;
	struct ctx *c = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(c->f); i++)
		c->f[i].req_resp = cpu_to_be16(p->type);
	mmc_sim_rpmb_write(&c->card, c->f, p->len);
	mmc_sim_rpmb_write_end(&c->card, true);
	if (p->blocks != U32_MAX) {
		KUNIT_EXPECT_EQ(test, violations(c), 0);
		receive(c, p->blocks);
	}
	KUNIT_EXPECT_EQ(test, violations(c), 1);
}

static void reset_forgets(struct kunit *test)
{
	struct ctx *c = test->priv;

	KUNIT_ASSERT_EQ(test, program_key(c, key), 0);
	KUNIT_EXPECT_EQ(test, write_data(c, 0, 1, 0, 9), 0);
	ask(c, RPMB_GET_WRITE_COUNTER, 0, 0);
	mmc_sim_rpmb_reset(&c->card);
	receive(c, 1);
	KUNIT_EXPECT_EQ(test, violations(c), 1);

	/* Half of a frame, then the power went. */
	mmc_sim_rpmb_write(&c->card, c->f, 256);
	mmc_sim_rpmb_reset(&c->card);
	KUNIT_EXPECT_EQ(test, write_data(c, 0, 1, 1, 9), 0);
	KUNIT_EXPECT_EQ(test, program_key(c, other_key), 1);
	KUNIT_EXPECT_EQ(test, violations(c), 1);
}

static struct kunit_case rpmb_test_cases[] = {
	KUNIT_CASE_PARAM(no_key, no_key_case_gen_params),
	KUNIT_CASE(no_key_write),
	KUNIT_CASE(key_once),
	KUNIT_CASE_PARAM(authenticated_write, write_case_gen_params),
	KUNIT_CASE(replay),
	KUNIT_CASE(counter_counts_requests),
	KUNIT_CASE_PARAM(authenticated_read, read_case_gen_params),
	KUNIT_CASE_PARAM(in_pieces, piece_case_gen_params),
	KUNIT_CASE(result_stays),
	KUNIT_CASE(device_configuration),
	KUNIT_CASE(read_without_request),
	KUNIT_CASE(result_of_nothing),
	KUNIT_CASE_PARAM(frames_are_judged, frame_case_gen_params),
	KUNIT_CASE(reset_forgets),
	{}
};

static struct kunit_suite rpmb_test_suite = {
	.name = "mmc_sim_rpmb",
	.init = rpmb_test_init,
	.exit = rpmb_test_exit,
	.test_cases = rpmb_test_cases,
};

kunit_test_suite(rpmb_test_suite);
