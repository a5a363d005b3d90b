// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin for QEMU's TCG: how many instructions the guest executed between two
 * visits to a marker, by translated block.
 *
 *	-plugin insns.so,mark=ADDRESS,out=FILE
 *
 * Each time the guest comes to ADDRESS, a line "mark" goes to FILE, and a line
 * "ADDRESS INSTRUCTIONS VISITS" for each block that was executed since the last
 * time. Debian has no header of the plugin API (docs/devel/tcg-plugins.rst in
 * QEMU's source), so what is used of its version 1 is declared here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct qemu_plugin_tb;
struct qemu_info;

enum { CALLBACK_NO_REGS };
enum { INLINE_ADD_U64 };

typedef void (*translate_fn)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*execute_fn)(unsigned int vcpu, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translate_fn fn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  execute_fn fn, int flags, void *data);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
					      void *ptr, uint64_t imm);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

EXPORT int qemu_plugin_version = 1;

/* One for each translation: QEMU may translate a block more than once. */
struct block {
	uint64_t address;
	uint64_t visits;
	size_t insns;
	struct block *next;
};

static struct block *blocks;
static uint64_t mark;
static FILE *out;

/* One processor only, as the virtual clock has it: nobody else counts. */
static void on_mark(unsigned int vcpu, void *data)
{
	struct block *b;

	(void)vcpu;
	(void)data;
	fprintf(out, "mark\n");
	for (b = blocks; b; b = b->next) {
		if (b->visits)
			fprintf(out, "%" PRIx64 " %zu %" PRIu64 "\n", b->address,
				b->insns, b->visits);
		b->visits = 0;
	}
	fflush(out);
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *tb)
{
	struct block *b = calloc(1, sizeof(*b));

	(void)id;
	if (!b)
		abort();
	b->address = qemu_plugin_tb_vaddr(tb);
	b->insns = qemu_plugin_tb_n_insns(tb);
	b->next = blocks;
	blocks = b;
	if (b->address == mark)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_mark,
						     CALLBACK_NO_REGS, NULL);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &b->visits, 1);
}

EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	const char *path = NULL;
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "mark=", 5))
			mark = strtoull(argv[i] + 5, NULL, 16);
		else if (!strncmp(argv[i], "out=", 4))
			path = argv[i] + 4;
	}
	if (!mark || !path) {
		fprintf(stderr, "insns: needs mark=ADDRESS,out=FILE\n");
		return -1;
	}
	out = fopen(path, "w");
	if (!out) {
		perror(path);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
