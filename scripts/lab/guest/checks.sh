# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Checks of a disk, $dev, that know nothing of what is behind it. To be sourced
# after lib.sh; each is the body of a test.
: "${dev:=}"

# check_files: a tree of files is the same after a remount, and the file system
# is clean
check_files() {
	mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=1 "$dev" 48m
	mount -t ext4 "$dev" /mnt
	for dir in a b c; do
		mkdir -p "/mnt/$dir/deep/er"
		for n in 1 2 3 4 5; do
			# Sizes on both sides of a page and of a sector.
			dd if=/dev/urandom of="/mnt/$dir/deep/er/$n" bs=1021 \
				count=$((n * n * n)) 2>/dev/null
			echo "$dir $n" > "/mnt/$dir/$n"
		done
	done
	dd if=/dev/urandom of=/mnt/large bs=64k count=20 2>/dev/null
	ln /mnt/large /mnt/b/hard
	ln -s ../large /mnt/c/soft
	(cd /mnt && find . -type f -print0 | sort -z | xargs -0 sha256sum) > /tmp/before.sum
	umount /mnt
	mount -t ext4 "$dev" /mnt
	(cd /mnt && find . -type f -print0 | sort -z | xargs -0 sha256sum) > /tmp/after.sum
	umount /mnt
	[ "$(wc -l < /tmp/before.sum)" = 32 ]
	diff /tmp/before.sum /tmp/after.sum
	e2fsck -fn "$dev" > /tmp/fsck.log || { cat /tmp/fsck.log; return 1; }
}

# check_verify SIZE SECTOR: what fio writes is what it reads, in order and at
# random, one at a time and with many in flight
check_verify() {
	for rw in write randwrite; do
		for depth in 1 32; do
			bs=4k
			[ $rw = randwrite ] || bs=64k
			run_fio verify --name=verify --filename="$dev" --rw=$rw \
				--bs=$bs --size="$1" --ioengine=libaio \
				--iodepth=$depth --verify=crc32c --do_verify=1 \
				--verify_fatal=1 --verify_state_save=0 ||
				{ echo "fio $rw, depth $depth"; return 1; }
		done
	done
	# Mixed sizes and directions, some larger than a request can be.
	run_fio verify --name=verify --filename="$dev" --rw=randrw \
		--bsrange="$2-1m" --blockalign="$2" --size="$1" --io_size="$1" \
		--ioengine=libaio --iodepth=32 --fsync=20 --verify=crc32c \
		--verify_fatal=1 --verify_state_save=0 ||
		{ echo "fio randrw, depth 32"; return 1; }
}

# check_discard BYTE: what is discarded reads as erased where the disk promises
# that (BYTE is empty where it does not), and what is beside it is kept
check_discard() {
	tr '\0' '\245' < /dev/zero | dd of="$dev" bs=1M count=4 \
		iflag=fullblock oflag=direct 2>/dev/null
	blkdiscard -o 1M -l 2M "$dev"
	for part in 0 1 2 3; do
		want=245
		case $part in
		1|2) want=$1 ;;
		esac
		[ -n "$want" ] || continue
		found=$(dd if="$dev" bs=1M skip=$part count=1 iflag=direct 2>/dev/null |
			tr -d "\\$want" | wc -c)
		[ "$found" = 0 ] || {
			echo "MiB $part: $found bytes are not \\$want"
			return 1
		}
	done
	# Zeroes by command, and by writing where there is no command.
	blkdiscard -z -o 512k -l 1M "$dev"
	found=$(dd if="$dev" bs=512k skip=1 count=2 iflag=direct 2>/dev/null |
		tr -d '\000' | wc -c)
	[ "$found" = 0 ] || { echo "$found bytes are not zero"; return 1; }
}
