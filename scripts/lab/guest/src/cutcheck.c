// SPDX-License-Identifier: GPL-2.0-only
/*
 * cutcheck: what a card promised to keep is there after its power was cut.
 *
 * cutcheck write DEVICE LOG SEED [lie]
 *	Four processes write numbered versions of blocks at random places of
 *	their own until the device fails. A block's version counts as promised
 *	once a flush that began after the write has returned, or once a write
 *	that asked for durability has. With "lie" no flush is sent although the
 *	versions count as promised: the check has to notice. LOG is on a file
 *	system that survives the cut.
 *
 * cutcheck cut LOG FILE
 *	Write "power-cut", then "remove", to FILE. What returns to a writer from
 *	then on counts no more: with its power, a machine loses its programs.
 *
 * cutcheck check DEVICE LOG
 *	Every sector must hold, whole, a version that is at least the one
 *	promised and at most the one last written. Exits with 1 if not.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES	4
#define BLOCKS		256	/* for each process */
#define SECTORS		8	/* a block */
#define SECTOR		512
#define BLOCK		(SECTORS * SECTOR)

struct log {
	uint32_t next_version;
	uint32_t over;
	uint64_t flushes;
	uint64_t durable;
	struct {
		uint32_t written;
		uint32_t promised;
	} block[PROCESSES][BLOCKS];
};

struct sector {
	uint64_t number;
	uint64_t version;
	uint64_t fill[SECTOR / 8 - 2];
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ (x >> 33);
}

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return mix(*state);
}

static void fill(struct sector *s, uint64_t number, uint32_t version)
{
	uint64_t state = number << 32 | version;

	s->number = number;
	s->version = version;
	for (unsigned int i = 0; i < SECTOR / 8 - 2; i++)
		s->fill[i] = next_random(&state);
}

static struct log *open_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	struct log *log;

	if (fd < 0 || ftruncate(fd, sizeof(*log))) {
		perror(path);
		exit(2);
	}
	log = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (log == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	close(fd);

	return log;
}

static int open_device(const char *path, int flags)
{
	int fd = open(path, flags | O_DIRECT);

	if (fd < 0) {
		perror(path);
		exit(2);
	}

	return fd;
}

/* Write until the device fails. */
static void work(int fd, struct log *log, unsigned int process, uint64_t seed,
		 int lie)
{
	uint64_t rnd = seed * PROCESSES + process;
	struct sector *buf = aligned_alloc(4096, BLOCK);
	/* Not those of an earlier round: a cut may have taken them. */
	char pending[BLOCKS] = { 0 };

	if (!buf)
		_exit(2);

	for (;;) {
		unsigned int nr = 1 + next_random(&rnd) % 16;
		unsigned int b;

		while (nr--) {
			uint32_t version = __atomic_add_fetch(&log->next_version,
							      1, __ATOMIC_RELAXED);
			int durable = next_random(&rnd) % 8 == 0;
			struct iovec iov = { buf, BLOCK };
			uint64_t block;

			b = next_random(&rnd) % BLOCKS;
			block = process * BLOCKS + b;
			for (unsigned int s = 0; s < SECTORS; s++)
				fill(&buf[s], block * SECTORS + s, version);
			/* Before the write: any part of it can be there. */
			log->block[process][b].written = version;
			if (pwritev2(fd, &iov, 1, block * BLOCK,
				     durable && !lie ? RWF_DSYNC : 0) != BLOCK)
				return;
			if (__atomic_load_n(&log->over, __ATOMIC_SEQ_CST))
				return;
			pending[b] = 1;
			if (durable) {
				log->block[process][b].promised = version;
				__atomic_add_fetch(&log->durable, 1,
						   __ATOMIC_RELAXED);
			}
		}

		if (!lie && fsync(fd))
			return;
		if (__atomic_load_n(&log->over, __ATOMIC_SEQ_CST))
			return;
		for (b = 0; b < BLOCKS; b++) {
			if (pending[b])
				log->block[process][b].promised =
					log->block[process][b].written;
			pending[b] = 0;
		}
		__atomic_add_fetch(&log->flushes, 1, __ATOMIC_RELAXED);
	}
}

static int do_write(const char *device, const char *path, uint64_t seed, int lie)
{
	struct log *log = open_log(path);
	int fd = open_device(device, O_RDWR);

	log->over = 0;
	log->flushes = 0;
	log->durable = 0;
	for (unsigned int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 2;
		}
		if (!pid) {
			work(fd, log, i, seed, lie);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;

	return 0;
}

static int do_cut(const char *path, const char *file)
{
	static const char * const words[] = { "power-cut", "remove" };
	struct log *log = open_log(path);
	int fd = open(file, O_WRONLY);

	if (fd < 0) {
		perror(file);
		return 2;
	}

	__atomic_store_n(&log->over, 1, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < 2; i++) {
		if (write(fd, words[i], strlen(words[i])) < 0) {
			perror(words[i]);
			return 2;
		}
	}

	return 0;
}

static int check_sector(const struct sector *s, uint64_t number,
			uint32_t promised, uint32_t written)
{
	static const struct sector erased;
	struct sector want;

	if (!promised && !memcmp(s, &erased, SECTOR))
		return 0;

	if (s->number != number || s->version > UINT32_MAX) {
		printf("sector %llu: neither erased nor written by this program, and version %u was promised\n",
		       (unsigned long long)number, promised);
		return 1;
	}

	fill(&want, number, s->version);
	if (memcmp(s, &want, SECTOR)) {
		printf("sector %llu: part of version %llu and part of something else\n",
		       (unsigned long long)number, (unsigned long long)s->version);
		return 1;
	}

	if (s->version < promised || s->version > written) {
		printf("sector %llu: version %llu, but %u was promised and %u the last written\n",
		       (unsigned long long)number, (unsigned long long)s->version,
		       promised, written);
		return 1;
	}

	return 0;
}

static int do_check(const char *device, const char *path)
{
	struct log *log = open_log(path);
	int fd = open_device(device, O_RDONLY);
	struct sector *buf = aligned_alloc(4096, BLOCKS * BLOCK);
	unsigned int bad = 0, promised_blocks = 0, ahead = 0;

	if (!buf)
		return 2;

	for (unsigned int p = 0; p < PROCESSES; p++) {
		if (pread(fd, buf, BLOCKS * BLOCK, (off_t)p * BLOCKS * BLOCK) !=
		    BLOCKS * BLOCK) {
			perror("read");
			return 2;
		}
		for (unsigned int b = 0; b < BLOCKS; b++) {
			uint32_t promised = log->block[p][b].promised;
			uint32_t written = log->block[p][b].written;
			uint32_t oldest = UINT32_MAX;

			promised_blocks += !!promised;
			ahead += promised != written;
			for (unsigned int s = 0; s < SECTORS; s++) {
				const struct sector *sector = &buf[b * SECTORS + s];
				uint64_t number = (p * BLOCKS + b) * SECTORS + s;

				if (check_sector(sector, number, promised, written)) {
					if (++bad >= 10)
						return 1;
				}
				if (sector->version < oldest)
					oldest = sector->version;
			}
			/* What a cut left is there to stay. */
			log->block[p][b].promised = oldest;
		}
	}
	printf("%u blocks promised, %u with a later version under way, after %llu flushes and %llu durable writes\n",
	       promised_blocks, ahead, (unsigned long long)log->flushes,
	       (unsigned long long)log->durable);

	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc >= 5 && !strcmp(argv[1], "write"))
		return do_write(argv[2], argv[3], strtoull(argv[4], NULL, 0),
				argc > 5 && !strcmp(argv[5], "lie"));
	if (argc == 4 && !strcmp(argv[1], "cut"))
		return do_cut(argv[2], argv[3]);
	if (argc == 4 && !strcmp(argv[1], "check"))
		return do_check(argv[2], argv[3]);

	fprintf(stderr, "usage: cutcheck write DEVICE LOG SEED [lie] | cut LOG FILE | check DEVICE LOG\n");
	return 2;
}
