/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmc-sim: what can go wrong on purpose. Define
 *
 * MMC_SIM_FAULT_TYPE(id, name, text)
 *
 * and include this file.
 */

MMC_SIM_FAULT_TYPE(DATA_CRC, "data-crc", "CRC error in the data phase")
MMC_SIM_FAULT_TYPE(CMD_TIMEOUT, "cmd-timeout", "no response")
MMC_SIM_FAULT_TYPE(CMD_CRC, "cmd-crc", "CRC error in the response")
MMC_SIM_FAULT_TYPE(RESPONSE, "response", "error bits in the response")
MMC_SIM_FAULT_TYPE(STUCK_BUSY, "stuck-busy", "the card stays busy")
MMC_SIM_FAULT_TYPE(TASK_ERROR, "task-error", "the card reports an error for a queued task")
MMC_SIM_FAULT_TYPE(LOST_IRQ, "lost-irq", "a task completes and no interrupt follows")
MMC_SIM_FAULT_TYPE(LOST_TASK, "lost-task", "a doorbell bit stays set, nothing follows")
MMC_SIM_FAULT_TYPE(NO_HALT, "no-halt", "the engine does not halt")
MMC_SIM_FAULT_TYPE(NO_CLEAR, "no-clear", "the engine does not clear its tasks")
MMC_SIM_FAULT_TYPE(SPURIOUS, "spurious", "completion for a free slot")
MMC_SIM_FAULT_TYPE(DCMD_REFUSED, "dcmd-refused", "the card refuses a direct command")
MMC_SIM_FAULT_TYPE(DCMD_TIMEOUT, "dcmd-timeout", "a direct command gets no response")
MMC_SIM_FAULT_TYPE(TUNING, "tuning", "tuning fails")
MMC_SIM_FAULT_TYPE(REMOVE, "remove", "the card is removed")
MMC_SIM_FAULT_TYPE(POWER_CUT, "power-cut", "the card loses its power")

#undef MMC_SIM_FAULT_TYPE
