// SPDX-License-Identifier: GPL-2.0-only
/*
 * churn: writers and readers that go on, whatever happens to the disk.
 *
 * churn DEVICE [removed]
 *	Four processes write numbered versions of blocks of their own at random, flush
 *	now and then, and read blocks back, until SIGTERM. When the device fails or is
 *	gone they close it and wait until it can be opened again. What is read must be
 *	what was written last; of a write that has failed, either version will do. With
 *	"removed" the card loses its power whenever the device fails: then what was
 *	flushed must be there, or something later. Prints how much was done, and exits
 *	with 1 if anything was not there.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES	4
#define BLOCKS		64	/* for each process */
#define WORDS		512	/* of 8 bytes, in a block of 4 KiB */
#define SECTOR_WORDS	64

struct totals {
	uint64_t writes, reads, flushes, reopened;
};

/* What a block may hold. */
struct block {
	uint64_t tried;		/* the last that a write was begun of */
	uint64_t acked;		/* the last of which a write has succeeded */
	uint64_t durable;	/* the last that was flushed after that */
};

static volatile sig_atomic_t stop;
static pid_t pids[PROCESSES];	/* none in the processes themselves */

static void on_term(int signal)
{
	stop = 1;
	for (unsigned int i = 0; i < PROCESSES; i++)
		if (pids[i] > 0)
			kill(pids[i], signal);
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static uint64_t word(uint64_t place, uint64_t version, unsigned int i)
{
	/* Each sector begins with its version. */
	return i % SECTOR_WORDS ? (place << 32 ^ version << 9 ^ i) * 0x9e3779b97f4a7c15ULL : version;
}

/* Each sector of BUF is whole, and of a version from LEAST to MOST. */
static int check(const uint64_t *buf, uint64_t place, uint64_t least, uint64_t most)
{
	for (unsigned int i = 0; i < WORDS; i++) {
		uint64_t version = buf[i / SECTOR_WORDS * SECTOR_WORDS];

		if (version < least || version > most) {
			printf("block %llu, sector %u: version %llu is not in %llu..%llu\n",
			       (unsigned long long)place, i / SECTOR_WORDS, (unsigned long long)version,
			       (unsigned long long)least, (unsigned long long)most);
			return 1;
		}
		if (buf[i] != word(place, version, i)) {
			printf("block %llu, byte %u: not as version %llu was written\n",
			       (unsigned long long)place, i * 8, (unsigned long long)version);
			return 1;
		}
	}

	return 0;
}

static int write_block(int fd, uint64_t *buf, struct block *b, uint64_t place)
{
	b->tried++;
	for (unsigned int i = 0; i < WORDS; i++)
		buf[i] = word(place, b->tried, i);
	if (pwrite(fd, buf, WORDS * 8, place * WORDS * 8) != WORDS * 8)
		return -1;
	b->acked = b->tried;

	return 0;
}

static int flush(int fd, struct block *blocks)
{
	if (fsync(fd))
		return -1;
	for (unsigned int i = 0; i < BLOCKS; i++)
		blocks[i].durable = blocks[i].acked;

	return 0;
}

/* -1: the device has failed, 1: something was not there */
static int work(int fd, uint64_t *buf, struct block *blocks, uint64_t first,
		uint64_t *rnd, struct totals *totals)
{
	while (!stop) {
		uint64_t r = next_random(rnd);
		unsigned int i = r % BLOCKS;

		switch (r >> 32 & 15) {
		case 0:
			if (flush(fd, blocks))
				return -1;
			__atomic_add_fetch(&totals->flushes, 1, __ATOMIC_RELAXED);
			break;
		case 1 ... 8:
			if (write_block(fd, buf, &blocks[i], first + i))
				return -1;
			__atomic_add_fetch(&totals->writes, 1, __ATOMIC_RELAXED);
			break;
		default:
			if (pread(fd, buf, WORDS * 8, (first + i) * WORDS * 8) != WORDS * 8)
				return -1;
			if (check(buf, first + i, blocks[i].acked, blocks[i].acked))
				return 1;
			__atomic_add_fetch(&totals->reads, 1, __ATOMIC_RELAXED);
			break;
		}
	}

	return 0;
}

/* What is there after a failure, or in the beginning; then all of it anew. */
static int begin(int fd, uint64_t *buf, struct block *blocks, uint64_t first, int removed,
		 int *known)
{
	for (unsigned int i = 0; i < BLOCKS; i++) {
		struct block *b = &blocks[i];

		if (pread(fd, buf, WORDS * 8, (first + i) * WORDS * 8) != WORDS * 8)
			return -1;
		if (*known && check(buf, first + i, removed ? b->durable : b->acked, b->tried))
			return 1;
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		if (write_block(fd, buf, &blocks[i], first + i))
			return -1;
	if (flush(fd, blocks))
		return -1;
	*known = 1;

	return 0;
}

static int process(const char *device, unsigned int number, int removed, struct totals *totals)
{
	struct block *blocks = calloc(BLOCKS, sizeof(*blocks));
	uint64_t *buf = aligned_alloc(4096, WORDS * 8);
	uint64_t rnd = number;
	int known = 0, result = 0;

	if (!blocks || !buf)
		return 2;

	while (!stop && result <= 0) {
		int fd = open(device, O_RDWR | O_DIRECT);

		if (fd < 0) {
			usleep(1000);
			continue;
		}
		result = begin(fd, buf, blocks, number * BLOCKS, removed, &known);
		if (!result)
			result = work(fd, buf, blocks, number * BLOCKS, &rnd, totals);
		close(fd);
		if (result < 0) {
			__atomic_add_fetch(&totals->reopened, 1, __ATOMIC_RELAXED);
			usleep(1000);
		}
	}
	fflush(stdout);

	return result > 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_term };
	struct totals *totals;
	int status, result = 0;

	if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "removed"))) {
		fprintf(stderr, "usage: churn DEVICE [removed]\n");
		return 2;
	}
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (totals == MAP_FAILED) {
		perror("mmap");
		return 2;
	}

	sigaction(SIGTERM, &action, NULL);
	for (unsigned int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			on_term(SIGTERM);
			return 2;
		}
		if (!pid) {
			memset(pids, 0, sizeof(pids));
			_exit(process(argv[1], i, argc == 3, totals));
		}
		pids[i] = pid;
	}
	if (stop)
		on_term(SIGTERM);
	for (unsigned int ended = 0; ended < PROCESSES;) {
		if (wait(&status) < 0)
			continue;
		ended++;
		/* One that was not told to end has found something. */
		if (!stop || !WIFEXITED(status) || WEXITSTATUS(status)) {
			result = 1;
			on_term(SIGTERM);
		}
	}
	printf("%llu writes, %llu reads, %llu flushes, opened again %llu times\n",
	       (unsigned long long)totals->writes, (unsigned long long)totals->reads,
	       (unsigned long long)totals->flushes, (unsigned long long)totals->reopened);

	return result;
}
