/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmc-sim: every setting that is a number, in one place. It makes the members
 * of struct mmc_sim_config, the configfs attributes, the module parameters of
 * the cards that exist at boot, and the range checks: define
 *
 * MMC_SIM_ATTR(name, default, min, max, step, unit)
 *
 * and include this file. A value is valid when it is in [min, max] and a
 * multiple of step. Booleans have the range 0 to 1.
 */

/* the card */
MMC_SIM_ATTR(capacity_mib, 1024, 8, 524288, 1, "MiB")
MMC_SIM_ATTR(boot_kib, 4096, 0, 32640, 128, "KiB")
MMC_SIM_ATTR(rpmb_kib, 4096, 0, 16384, 128, "KiB")
MMC_SIM_ATTR(cache_kib, 1024, 0, 65536, 4, "KiB")
MMC_SIM_ATTR(sector_size, 512, 512, 4096, 512, "bytes")
MMC_SIM_ATTR(erased_byte, 0, 0, 255, 255, "0 or 255")
MMC_SIM_ATTR(queue_depth, 32, 1, 32, 1, "tasks")
MMC_SIM_ATTR(hpi_cmd, 13, 12, 13, 1, "command index")
MMC_SIM_ATTR(barrier, 1, 0, 1, 1, "boolean")
MMC_SIM_ATTR(bkops, 1, 0, 1, 1, "boolean")

/* the host */
MMC_SIM_ATTR(cqe, 1, 0, 1, 1, "boolean")
MMC_SIM_ATTR(dcmd, 1, 0, 1, 1, "boolean")
MMC_SIM_ATTR(hsq, 0, 0, 1, 1, "boolean")
MMC_SIM_ATTR(done_complete, 0, 0, 1, 1, "boolean")
MMC_SIM_ATTR(cmd23, 1, 0, 1, 1, "boolean")
MMC_SIM_ATTR(wait_busy, 1, 0, 1, 1, "boolean")
MMC_SIM_ATTR(aggressive_pm, 0, 0, 1, 1, "boolean")
MMC_SIM_ATTR(task_desc_bits, 64, 64, 128, 64, "bits")
MMC_SIM_ATTR(dma_bits, 64, 32, 64, 32, "bits")
MMC_SIM_ATTR(short_txfr_desc, 0, 0, 1, 1, "boolean")
MMC_SIM_ATTR(coalescing, 1, 0, 1, 1, "boolean")
MMC_SIM_ATTR(bus_width, 8, 1, 8, 1, "1, 4 or 8 lines")
MMC_SIM_ATTR(max_segs, 128, 1, 128, 1, "segments")
MMC_SIM_ATTR(max_req_kib, 512, 4, 32767, 1, "KiB")

/* time */
MMC_SIM_ATTR(channels, 1, 1, 64, 1, "channels")
MMC_SIM_ATTR(page_kib, 16, 1, 1024, 1, "KiB")
MMC_SIM_ATTR(read_us, 0, 0, 1000000, 1, "us a page")
MMC_SIM_ATTR(program_us, 0, 0, 1000000, 1, "us a page")
MMC_SIM_ATTR(erase_us, 0, 0, 1000000, 1, "us an erase group")
MMC_SIM_ATTR(read_setup_us, 0, 0, 1000000, 1, "us a command")
MMC_SIM_ATTR(write_setup_us, 0, 0, 1000000, 1, "us a command")
MMC_SIM_ATTR(random_write_us, 0, 0, 1000000, 1, "us a command")
MMC_SIM_ATTR(random_write_kib, 0, 0, 65536, 1, "KiB, 0: any length")
MMC_SIM_ATTR(gc_us, 0, 0, 1000000, 1, "us a page of a random write")
MMC_SIM_ATTR(read_ahead_kib, 0, 0, 65536, 1, "KiB, 0: no read-ahead")
MMC_SIM_ATTR(flush_us, 0, 0, 1000000, 1, "us a flush")
MMC_SIM_ATTR(cmd_ns, 0, 0, 1000000, 1, "ns a command")
MMC_SIM_ATTR(block_gap_ns, 0, 0, 1000000, 1, "ns a block")
MMC_SIM_ATTR(bus_kbps, 0, 0, 4000000, 1, "kB/s, 0: from clock and width")
MMC_SIM_ATTR(timer_khz, 192000, 1, 1000000, 1, "kHz")
MMC_SIM_ATTR(seed, 1, 1, 0x7fffffff, 1, "")

#undef MMC_SIM_ATTR
