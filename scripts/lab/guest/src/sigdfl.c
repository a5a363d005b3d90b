// SPDX-License-Identifier: GPL-2.0-only
/*
 * sigdfl PROGRAM [ARG...]: run it with SIGINT as a terminal's foreground job has
 * it. What a shell without job control starts in the background ignores it, and a
 * shell that is started so cannot trap it.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "sigdfl: run what?\n");
		return 2;
	}
	signal(SIGINT, SIG_DFL);
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
