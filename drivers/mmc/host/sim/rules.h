/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmc-sim: what the standard forbids the host. What the card answers is
 * another matter. Define
 *
 * MMC_SIM_RULE(id, name, section, text)
 *
 * and include this file.
 */

MMC_SIM_RULE(STATE, "illegal-state", "6.7 and table 56",
	     "command that is illegal in the current state")
MMC_SIM_RULE(UNKNOWN, "unknown-command", "6.10.4",
	     "command that the card does not have")
MMC_SIM_RULE(CLASS_CQ_ON, "class-2-4-queue-on", "6.6.39.1",
	     "read, write or CMD23 of classes 2 and 4 while the command queue is on")
MMC_SIM_RULE(CMDQ_OFF, "cmdq-queue-off", "6.6.39.1",
	     "CMD44 to CMD48 while the command queue is off")
MMC_SIM_RULE(CMDQ_BUSY_ID, "task-id-busy", "6.6.39.2",
	     "CMD44 with the number of a task that is queued")
MMC_SIM_RULE(CMDQ_PAIR, "cmd44-cmd45", "6.6.39.2",
	     "CMD45 without CMD44 before it, or CMD44 without CMD45 after it")
MMC_SIM_RULE(CMDQ_NOT_READY, "task-not-ready", "6.6.39.3",
	     "CMD46 or CMD47 for a task that is not ready, or of the other direction")
MMC_SIM_RULE(CMDQ_DEPTH, "task-id-depth", "6.6.39.2",
	     "task number that is beyond the card's queue depth")
MMC_SIM_RULE(CMDQ_NOT_EMPTY, "queue-not-empty", "6.6.39.1",
	     "command that needs an empty queue while tasks are queued")
MMC_SIM_RULE(CQ_RPMB, "queue-on-rpmb", "6.6.39.1",
	     "command queue on while the RPMB partition is selected")
MMC_SIM_RULE(RANGE, "out-of-range", "6.10.4",
	     "address or length beyond the end of the partition")
MMC_SIM_RULE(ALIGN, "misaligned", "6.6.2 and 7.4.22",
	     "address or length that is not a multiple of the sector size")
MMC_SIM_RULE(COUNT, "block-count", "6.6.7",
	     "transfer that does not match CMD23 or its task descriptor")
MMC_SIM_RULE(ERASE_SEQ, "erase-sequence", "6.6.13",
	     "CMD36 or CMD38 out of sequence")
MMC_SIM_RULE(WRITE_PROT, "write-protected", "6.6.18",
	     "write to a write protected area")
MMC_SIM_RULE(SWITCH_RO, "switch-read-only", "6.6.3",
	     "SWITCH of a read-only or reserved EXT_CSD byte")
MMC_SIM_RULE(SWITCH_VALUE, "switch-value", "6.6.3 and 7.4",
	     "SWITCH to a reserved value")
MMC_SIM_RULE(BUSY, "busy", "6.5.13",
	     "data command while the card signals busy")
MMC_SIM_RULE(CACHE_OFF_FLUSH, "flush-cache-off", "6.6.34",
	     "FLUSH_CACHE or BARRIER while the cache is off or absent")
MMC_SIM_RULE(POWER_OFF_DIRTY, "power-off-dirty", "6.6.34 and 6.6.39.5",
	     "power removed while the cache holds data that was not flushed")
MMC_SIM_RULE(BUS_MODE, "bus-mode", "6.6.2 and 10.10",
	     "host clock, width or timing that does not match the card's")
MMC_SIM_RULE(RPMB_FRAME, "rpmb-frame", "6.6.22",
	     "RPMB access that is not made of whole frames in request-response order")
MMC_SIM_RULE(CQE_SLOT_BUSY, "doorbell-busy-slot", "CQHCI B.3.2",
	     "doorbell for a slot that is busy")
MMC_SIM_RULE(CQE_DISABLED, "doorbell-disabled", "CQHCI B.3.2",
	     "doorbell while the command queue engine is disabled or halted")
MMC_SIM_RULE(CQE_DESC, "descriptor", "CQHCI B.2",
	     "descriptor that is invalid, or of the wrong kind for its slot")
MMC_SIM_RULE(CQE_LENGTH, "descriptor-length", "CQHCI B.2.3",
	     "transfer descriptors that do not add up to the task's block count")
MMC_SIM_RULE(CQE_CFG, "config-while-enabled", "CQHCI B.3.1",
	     "configuration or list base changed while the engine is enabled")
MMC_SIM_RULE(CQE_CLEAR, "clear-not-halted", "CQHCI B.3.2",
	     "tasks cleared while the engine is not halted")
MMC_SIM_RULE(CQE_LEGACY, "command-while-cqe", "CQHCI B.4",
	     "command sent past the engine while it is enabled and not halted")

#undef MMC_SIM_RULE
