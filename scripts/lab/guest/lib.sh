# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What the jobs of the guest share: modules, simulated cards and their counters,
# fio, and tests that report in KTAP. To be sourced by busybox's sh.
#
# shellcheck disable=SC2034	# what is set here is used in the jobs

SIM=/sys/kernel/config/mmc-sim
SIM_DEBUG=/sys/kernel/debug/mmc-sim
SKIP=4	# exit status of a test that cannot run here, as kselftest has it

# diag TEXT...: to the kernel's console, where the rest of the story is
diag() {
	echo "lab: $*" > /dev/kmsg
}

# load MODULE [PARAM=VALUE...]: with the modules that it needs
load() (
	name=$1
	shift
	[ ! -d "/sys/module/$(echo "$name" | tr - _)" ] || exit 0
	file=/lab/modules/$name.ko
	[ -f "$file" ] || { echo "this kernel has no module $name" >&2; exit 1; }
	for needed in $(tr '\0' '\n' < "$file" | sed -n 's/^depends=//p' | tr , ' '); do
		load "$needed" || exit 1
	done
	insmod "$file" "$@"
)

# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
	wait_end=$(($(uptime_s) + $1))
	shift
	until "$@" > /dev/null 2>&1; do
		[ "$(uptime_s)" -le "$wait_end" ] || return 1
		usleep 20000
	done
}

uptime_s() {
	sed 's/\..*//' /proc/uptime
}

# Debian's busybox prefers its own, which cannot write zeroes.
blkdiscard() {
	/bin/blkdiscard "$@"
}

gone() {
	! [ -e "$1" ]
}

# ended PID: the process has ended, waited for or not
ended() {
	gone "/proc/$1" || grep -q '^State:.*Z' "/proc/$1/status"
}

# must_fail COMMAND...: "!" would not end a test
must_fail() {
	if "$@"; then
		echo "succeeded, and must not: $*"
		return 1
	fi
}

#
# Simulated cards
#

# find_card NAME: set $host (mmcN), $card (its device in sysfs), $disk
# (mmcblkN) and $dev (its node); fails until they are there. The disk gets the
# scheduler $with_scheduler if that is set.
find_card() {
	host=$(cat "$SIM/$1/host_name") || return 1
	for card in "/sys/class/mmc_host/$host/$host":*; do
		for disk in "$card"/block/mmcblk*; do
			disk=${disk##*/}
			dev=/dev/$disk
			case $disk in
			*boot*|*gp*|*\**) ;;
			# Its node is there a moment before it can be opened.
			*) true < "$dev" || continue
				[ -z "${with_scheduler:-}" ] || scheduler "$disk" "$with_scheduler"
				return ;;
			esac
		done
	done
	return 1
}

# sim_create NAME [ATTR=VALUE...]: a card that is not live yet. The preset must
# come first, since it sets other attributes.
sim_create() {
	load mmc-sim || return 1
	sim_name=$1
	shift
	mkdir "$SIM/$sim_name" || return 1
	for sim_set; do
		if ! echo "${sim_set#*=}" > "$SIM/$sim_name/${sim_set%%=*}"; then
			echo "mmc-sim refuses $sim_set"
			rmdir "$SIM/$sim_name"
			return 1
		fi
	done
}

# sim_card NAME [ATTR=VALUE...]: a live card with a disk, as find_card has it
sim_card() {
	sim_create "$@" || return 1
	if ! echo 1 > "$SIM/$1/live"; then
		echo "card $1 does not go live"
		rmdir "$SIM/$1"
		return 1
	fi
	if ! wait_for 10 find_card "$1"; then
		echo "card $1 is live and no disk appears"
		sim_remove "$1"
		return 1
	fi
}

# replug NAME: out of its slot, which takes its power, and in again
replug() {
	echo remove > "$SIM_DEBUG/$1/card"
	wait_for 90 gone "/sys/block/$disk" || return 1
	echo insert > "$SIM_DEBUG/$1/card"
	wait_for 30 find_card "$1"
}

# rebind_card NAME: unbind the block driver from the card, and bind it again
rebind_card() {
	echo "${card##*/}" > /sys/bus/mmc/drivers/mmcblk/unbind || return 1
	echo "${card##*/}" > /sys/bus/mmc/drivers/mmcblk/bind || return 1
	wait_for 10 find_card "$1"
}

# sim_remove NAME
sim_remove() {
	echo 0 > "$SIM/$1/live" && rmdir "$SIM/$1"
}

# counter NAME COUNTER: one of the card's counters
counter() {
	awk -v name="$2" '$1 == name { print $2; found = 1 }
		END { exit !found }' "$SIM_DEBUG/$1/stats"
}

# violations NAME: rules that the host broke, one a line: how often, name,
# section of the standard, text
violations() {
	awk '$1 ~ /^[0-9]+$/ && $1 > 0' "$SIM_DEBUG/$1/violations"
}

# check_violations NAME: fails, and lists them, if there are any
check_violations() {
	check_list=$(violations "$1") || { echo "cannot read the violations of $1"; return 1; }
	[ -z "$check_list" ] && return 0
	echo "protocol violations:"
	echo "$check_list"
	return 1
}

# scheduler DISK NAME: a disk of the thread model has none to choose
scheduler() {
	if [ -e "/sys/block/$1/queue/scheduler" ] || [ "$2" != none ]; then
		echo "$2" > "/sys/block/$1/queue/scheduler"
	fi
}

#
# fio
#

# run_fio NAME ARG...: run fio; its JSON is in /tmp/NAME.json
run_fio() {
	fio_name=$1
	shift
	# A device that has gone is no reason to make a file in its place.
	case "$*" in
	*--filename=/dev/*) set -- --allow_file_create=0 "$@" ;;
	esac
	if ! fio --output-format=json --output="/tmp/$fio_name.json" \
		--clocksource=clock_gettime --direct=1 --randrepeat=1 \
		--randseed=1 --allow_mounted_write=1 "$@" \
		2> "/tmp/$fio_name.err"; then
		cat "/tmp/$fio_name.err"
		sed '/^{/,$d' "/tmp/$fio_name.json"
		return 1
	fi
}

# fio_figures NAME: of /tmp/NAME.json, a line "DIRECTION FIGURE VALUE" each: total_ios,
# bw_bytes, the 99.9th percentile and the longest of clat_ns of read and write,
# total_ios and the longest lat_ns of sync
fio_figures() {
	awk '
		/^ *"(read|write|trim|sync)" : \{/ { gsub(/"/, ""); direction = $1 }
		/"(slat_ns|clat_ns|lat_ns)" : \{/ { gsub(/"/, ""); latency = $1 }
		{ gsub(/[",]/, "") }
		$1 == "max" && (latency == "clat_ns" || direction == "sync") {
			print direction, "max", $3
		}
		$1 == "99.900000" && latency == "clat_ns" { print direction, "p99.9", $3 }
		$1 == "total_ios" || $1 == "bw_bytes" { print direction, $1, $3 }
	' "/tmp/$1.json"
}

# load_disk: I/O on $dev in the background, until it fails or is stopped; returns
# when some of it is done. Arguments are more options of fio's.
load_disk() {
	fio --name=load --filename="${dev:?}" --allow_file_create=0 --rw=randrw \
		--bs=4k --direct=1 --ioengine=libaio --iodepth=8 --numjobs=2 \
		--size=8m --time_based --runtime=1h --clocksource=clock_gettime \
		--continue_on_error=none "$@" > /tmp/load.log 2>&1 &
	load_pid=$!
	wait_for 60 loaded "${dev#/dev/}" "$(written "${dev#/dev/}")"
}

# written DISK: how many writes it has completed
written() {
	awk '{ print $5 }' "/sys/block/$1/stat"
}

# loaded DISK N: it has completed more than N writes
loaded() {
	[ "$(written "$1")" -gt "$2" ]
}

# end_load: wait until the load has failed, as it must
end_load() {
	wait_for 60 ended "$load_pid"
	! wait "$load_pid"
}

# one_line FILE: JSON without line breaks and indentation
one_line() {
	sed -n '/^{/,$p' "$1" | tr '\n\t' '  ' | tr -s ' '
}

#
# Tests
#

# one_test NUMBER TITLE FUNCTION: run test_FUNCTION in a subshell with "set -e".
# It fails with a status that is not 0, which sets $status to 1, is skipped with
# $SKIP, and what it prints explains that.
one_test() {
	test_status=0
	diag "test $1: $2"
	# In the background, because a shell that tests the status of a function
	# does not heed "set -e" inside.
	(
		set -e
		"test_$3"
	) > /tmp/test.log 2>&1 &
	wait $! || test_status=$?
	case $test_status in
	0)
		echo "ok $1 $2" ;;
	"$SKIP")
		echo "ok $1 $2 # SKIP $(tail -n 1 /tmp/test.log)" ;;
	*)
		status=1
		tail -n 40 /tmp/test.log | sed 's/^/# /'
		echo "not ok $1 $2" ;;
	esac
}

# run_tests NAME...: each test is a function test_NAME; of a NAME with a dot,
# SETTING.REST, the function is test_REST and $setting is SETTING.
run_tests() {
	status=0
	test_number=0
	echo "KTAP version 1"
	echo "1..$#"
	for test_name; do
		test_number=$((test_number + 1))
		setting=${test_name%%.*}
		one_test $test_number "$test_name" "${test_name#*.}"
	done
	return $status
}
