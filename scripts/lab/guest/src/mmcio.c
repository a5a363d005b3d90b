// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmcio: send one command, or several in a row, to a card past the block layer.
 *
 * mmcio DEVICE COMMAND...
 *
 * A COMMAND is OPCODE:ARGUMENT:KIND. KIND is "ac" (48-bit response), "bc" (no
 * response), "busy" (response with busy), or "r" or "w" with the number of
 * 512-byte blocks that are read or written, such as "r8". Prints the response
 * of each; exits with 1 if the kernel reports an error for any.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <linux/mmc/ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* include/linux/mmc/core.h, which is not for user space */
#define MMC_RSP_PRESENT	(1 << 0)
#define MMC_RSP_CRC	(1 << 2)
#define MMC_RSP_BUSY	(1 << 3)
#define MMC_RSP_OPCODE	(1 << 4)
#define MMC_RSP_R1	(MMC_RSP_PRESENT | MMC_RSP_CRC | MMC_RSP_OPCODE)
#define MMC_CMD_AC	(0 << 5)
#define MMC_CMD_ADTC	(1 << 5)
#define MMC_CMD_BC	(2 << 5)

static int parse(const char *text, struct mmc_ioc_cmd *cmd)
{
	char kind[16];
	unsigned int blocks;

	if (sscanf(text, "%u:%i:%15s", &cmd->opcode, (int *)&cmd->arg, kind) != 3)
		return -1;

	cmd->flags = MMC_RSP_R1 | MMC_CMD_AC;
	if (!strcmp(kind, "ac"))
		return 0;

	if (!strcmp(kind, "bc")) {
		cmd->flags = MMC_CMD_BC;
		return 0;
	}

	if (!strcmp(kind, "busy")) {
		cmd->flags |= MMC_RSP_BUSY;
		return 0;
	}

	if ((kind[0] != 'r' && kind[0] != 'w') ||
	    sscanf(kind + 1, "%u", &blocks) != 1 || !blocks || blocks > 1024)
		return -1;

	cmd->flags = MMC_RSP_R1 | MMC_CMD_ADTC;
	cmd->write_flag = kind[0] == 'w';
	cmd->blksz = 512;
	cmd->blocks = blocks;
	void *data = calloc(blocks, 512);

	if (!data)
		return -1;
	mmc_ioc_cmd_set_data((*cmd), data);

	return 0;
}

int main(int argc, char **argv)
{
	int nr = argc - 2;

	if (nr < 1) {
		fprintf(stderr, "usage: mmcio DEVICE OPCODE:ARGUMENT:KIND...\n");
		return 2;
	}

	int fd = open(argv[1], O_RDWR);

	if (fd < 0) {
		perror(argv[1]);
		return 2;
	}

	struct mmc_ioc_multi_cmd *multi;

	multi = calloc(1, sizeof(*multi) + nr * sizeof(multi->cmds[0]));
	if (!multi)
		return 2;
	multi->num_of_cmds = nr;
	for (int i = 0; i < nr; i++) {
		if (parse(argv[i + 2], &multi->cmds[i])) {
			fprintf(stderr, "mmcio: '%s' is not OPCODE:ARGUMENT:KIND\n",
				argv[i + 2]);
			return 2;
		}
	}

	int ret = ioctl(fd, MMC_IOC_MULTI_CMD, multi);

	if (ret)
		fprintf(stderr, "mmcio: %s\n", strerror(errno));
	for (int i = 0; i < nr; i++)
		printf("CMD%u %08x\n", multi->cmds[i].opcode,
		       multi->cmds[i].response[0]);

	return ret ? 1 : 0;
}
