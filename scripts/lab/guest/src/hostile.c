// SPDX-License-Identifier: GPL-2.0-only
/*
 * hostile: ioctls of the MMC block driver that nobody in his right mind makes.
 *
 * hostile [-u] DEVICE COUNT SEED
 *
 * Makes COUNT of them, MMC_IOC_CMD, MMC_IOC_MULTI_CMD and numbers that do not
 * exist, with opcodes, flags, sizes, counts and pointers of all kinds, and prints
 * how often each result came. With -u as a user without capabilities, who must get
 * EPERM each time. Exits with 1 if a result is none that an ioctl may have, or if
 * something was written past the caller's memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mmc/ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	4096
#define BUF	(512 * 1024)

static uint64_t state;
static char *buf;		/* BUF bytes, and nothing mapped after them */
static char *readonly;
static struct mmc_ioc_multi_cmd *multi;	/* the same, for as many as there may be */

static uint32_t rnd(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 33;
}

static uint32_t below(uint32_t n)
{
	return rnd() % n;
}

static uint32_t rnd32(void)
{
	return rnd() << 16 ^ rnd();
}

#define PICK(...) ({							\
	const uint32_t list_[] = { __VA_ARGS__ };			\
	list_[below(sizeof(list_) / sizeof(list_[0]))];			\
})

static uint64_t pointer(void)
{
	switch (below(8)) {
	case 0:
		return 0;
	case 1:
		return 0xffff888000000000ULL + rnd();
	case 2:
		return ~0ULL - below(PAGE);
	case 3:
		return (uintptr_t)readonly;
	case 4:
		return (uintptr_t)buf + BUF - below(PAGE);
	case 5:
		return (uintptr_t)buf + below(PAGE);
	default:
		return (uintptr_t)buf;
	}
}

static void command(struct mmc_ioc_cmd *cmd)
{
	memset(cmd, 0, sizeof(*cmd));

	/* What a card is asked for, what it may be, and what does not exist */
	switch (below(20)) {
	case 0:
		cmd->opcode = rnd32();
		break;
	case 1:
	case 2:
		cmd->opcode = below(64);
		break;
	default:
		cmd->opcode = PICK(6, 8, 12, 13, 16, 17, 18, 23, 24, 25, 30, 31, 35, 36, 38, 56);
	}
	cmd->arg = PICK(0, 1, below(2048), 1 << 16, 0x00010000, rnd32(), rnd32(),
			0x03200100, 0x03b70000 | below(256) << 8, ~0U);
	/* R1, R1b, none, R2, without and with data; or anything */
	cmd->flags = PICK(0x15, 0x15 | 1 << 5, 0x1d, 0x1d, 0, 2 << 5, 0x7, 0x95,
			  rnd32(), below(512));
	cmd->write_flag = PICK(0, 0, 0, 1, 1, 0x80000001, rnd32());
	cmd->is_acmd = PICK(0, 0, 0, 0, 0, 0, 1, rnd32());
	cmd->blksz = PICK(0, 1, 3, 8, 511, 512, 512, 512, 512, 513, 1024, 4096, 65536,
			  rnd32(), ~0U);
	cmd->blocks = PICK(0, 1, 1, 1, 2, 8, 128, 1024, 1025, 65536, rnd32(), ~0U);
	/* Who asks for a wait gets it, so only for short ones. */
	cmd->postsleep_min_us = PICK(0, 0, 0, 1, 10);
	cmd->postsleep_max_us = PICK(0, 1, 10);
	cmd->data_timeout_ns = PICK(0, 0, 1, 1000000, ~0U);
	cmd->cmd_timeout_ms = PICK(0, 1, 100, 1000);
	cmd->data_ptr = pointer();
}

static unsigned long results[200];

static int judge(int ret)
{
	int err = ret ? errno : 0;

	if (ret > 0 || ret < -1 || err >= 200) {
		printf("hostile: result %d, errno %d\n", ret, err);
		return 1;
	}
	results[err]++;
	return 0;
}

static int once(int fd, int unprivileged)
{
	uint64_t count, i;
	int ret;

	switch (unprivileged ? below(2) * 6 : below(10)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		command((struct mmc_ioc_cmd *)buf);
		/* The commands are not where their data is. */
		memcpy(multi->cmds, buf, sizeof(struct mmc_ioc_cmd));
		ret = ioctl(fd, MMC_IOC_CMD, multi->cmds);
		break;
	case 5:
		ret = ioctl(fd, MMC_IOC_CMD, pointer());
		break;
	case 6:
	case 7:
	case 8:
		count = PICK(0, 1, 2, 3, 5, MMC_IOC_MAX_CMDS, MMC_IOC_MAX_CMDS + 1, ~0U);
		multi->num_of_cmds = below(8) ? count : count << 32 | 1;
		for (i = 0; i < 5; i++)
			command(multi->cmds + i);
		/* So that they come to its end; and mostly small ones. */
		if (count == MMC_IOC_MAX_CMDS)
			for (i = 5; i < MMC_IOC_MAX_CMDS; i++)
				multi->cmds[i] = multi->cmds[i % 5];
		ret = ioctl(fd, MMC_IOC_MULTI_CMD, multi);
		break;
	default:
		ret = ioctl(fd, below(2) ? _IOWR(179, below(256), struct mmc_ioc_cmd) :
			    _IOC(below(4), 179, below(3), below(16384)), pointer());
	}
	if (!unprivileged)
		return judge(ret);
	if (ret != -1 || errno != EPERM) {
		printf("hostile: result %d, errno %d (%s) without CAP_SYS_RAWIO\n",
		       ret, errno, strerror(errno));
		return 1;
	}
	results[EPERM]++;
	return 0;
}

/* SIZE bytes that end where nothing is mapped */
static void *guarded(size_t size)
{
	size_t pages = (size + PAGE - 1) / PAGE * PAGE;
	char *p = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + pages, PAGE, PROT_NONE)) {
		perror("hostile: memory");
		exit(2);
	}
	return p + pages - size;
}

int main(int argc, char **argv)
{
	int unprivileged = argc > 1 && !strcmp(argv[1], "-u");
	unsigned long n, i, bad = 0;
	int fd;

	argv += unprivileged;
	if (argc - unprivileged != 4) {
		fprintf(stderr, "usage: hostile [-u] DEVICE COUNT SEED\n");
		return 2;
	}
	fd = open(argv[1], O_RDWR);
	if (fd < 0) {
		perror(argv[1]);
		return 2;
	}
	n = strtoul(argv[2], NULL, 0);
	state = strtoull(argv[3], NULL, 0);
	buf = guarded(BUF);
	multi = guarded(sizeof(*multi) + MMC_IOC_MAX_CMDS * sizeof(struct mmc_ioc_cmd));
	readonly = mmap(NULL, BUF, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (unprivileged && (setgid(65534) || setuid(65534))) {
		perror("hostile: setuid");
		return 2;
	}
	for (i = 0; i < n; i++)
		bad += once(fd, unprivileged);

	for (i = 0; i < 200; i++)
		if (results[i])
			printf("%8lu %s\n", results[i], i ? strerror(i) : "Success");
	return bad ? 1 : 0;
}
