# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# For the tests that boot guests: each boot is a subtest, whose own subtests are
# those that its job reports. To be sourced by a script of scripts/tests; needs
# common.sh.

guest_names=()
guest_args=()
guest_config=lab

guest_usage() {
	cat <<-EOU
		usage: $(script_name) [--config NAME] [--kernel-build DIR]

		$1

		  --config NAME       kernel to boot, of kunit/NAME.config (default: $guest_config)
		  --kernel-build DIR  object folder of a kernel instead

		example: $(script_name) --config debug
	EOU
}

# guest_options WHAT ARG...: the options that all these tests have
guest_options() {
	local what=$1
	shift
	guest_build=
	while [ $# -gt 0 ]; do
		case $1 in
		-h | --help) guest_usage "$what"; exit 0 ;;
		--config) guest_config=${2:?--config needs a name}; shift ;;
		--kernel-build) guest_build=${2:?--kernel-build needs a folder}; shift ;;
		*) usage_error "unknown argument '$1'" ;;
		esac
		shift
	done
}

# guest NAME BOOT-ARG...: one boot; it is started by guests_run
guest() {
	local name=$1
	shift
	guest_names+=("$name")
	guest_args+=("$(printf '%q ' "$@")")
}

# guest_ktap FOLDER: the job's report as a subtest; last in it is whether the
# kernel ran to the end with nothing to complain about
guest_ktap() {
	awk -v status="$(cat "$1/status")" -v errors="$1/boot.log" '
		/^KTAP version/ && !seen { seen = 1; print "    " $0; next }
		/^1\.\.[0-9]+$/ && !plan { plan = substr($0, 4); print "    1.." plan + 1; next }
		/^not ok / { bad = 1 }
		/^lab: end/ { ended = 1; next }
		{ print "    " $0 }
		END {
			if (!seen)
				print "    KTAP version 1"
			if (!plan)
				print "    1..1"
			# A failed test is reason enough for the status.
			while ((getline line < errors) > 0) {
				if (line ~ /the kernel reports:|ended before|not finished|QEMU failed/)
					trouble = 1
				text = text "    # " line "\n"
			}
			if (status == 0 || (bad && ended && !trouble)) {
				print "    ok " plan + 1 " kernel-log"
			} else {
				printf "%s", text
				print "    not ok " plan + 1 " kernel-log"
			}
		}
	' "$1/output.log"
}

# guests_run: boots them, as many at a time as there are processors, and prints
# the report. The status is that of the whole.
guests_run() {
	local i j build logs pids=() failed=0 running
	build=$guest_build
	[ -n "$build" ] || build=$("$SCRIPTS/lab/build" "$guest_config")
	"$SCRIPTS/lab/initramfs" >/dev/null
	logs=$(cache_dir)/logs/$(basename "$0")
	rm -rf "$logs"

	# shellcheck disable=SC2317	# called by the trap
	guests_stop() {
		local pid
		for pid in "${pids[@]}"; do
			kill "$pid" 2>/dev/null || :
		done
	}
	trap guests_stop EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM

	echo "KTAP version 1"
	echo "1..${#guest_names[@]}"
	i=0
	for j in "${!guest_names[@]}"; do
		# Start what there is room for, then report in order.
		while [ "$i" -lt ${#guest_names[@]} ]; do
			running=$(jobs -rp | wc -l)
			[ "$running" -lt "$(nproc)" ] || break
			guest_start "$build" "$logs/${guest_names[$i]}" "${guest_args[$i]}" &
			pids+=($!)
			i=$((i + 1))
		done
		wait "${pids[$j]}" || :
		guest_ktap "$logs/${guest_names[$j]}"
		if [ "$(cat "$logs/${guest_names[$j]}/status")" = 0 ]; then
			echo "ok $((j + 1)) ${guest_names[$j]}"
		else
			failed=1
			echo "# logs: $logs/${guest_names[$j]}"
			echo "not ok $((j + 1)) ${guest_names[$j]}"
		fi
	done
	pids=()
	return $failed
}

# guest_start BUILD FOLDER QUOTED-ARGS
guest_start() {
	local args status=0 pid
	eval "args=($3)"
	mkdir -p "$2"
	: >"$2/output.log"
	echo 1 >"$2/status"
	"$SCRIPTS/lab/boot" --kernel-build "$1" --log "$2" --quiet "${args[@]}" \
		>"$2/boot.log" 2>&1 &
	pid=$!
	# shellcheck disable=SC2064	# this boot
	trap "kill $pid 2>/dev/null" TERM
	wait $pid || status=$?
	echo $status >"$2/status"
}
