# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# For tests that report in KTAP: ktap_begin, then ktap_case or ktap_skip for
# each test, then ktap_end. Needs common.sh.

ktap_begin() {
	ktap_nr=0
	ktap_failed=0
	ktap_output=$(mktemp)
	echo "KTAP version 1"
	echo "1..$1"
}

# ktap_case NAME CMD...: the command, or function, decides. What it printed is
# shown if it failed.
ktap_case() {
	local name=$1 rc
	shift
	ktap_nr=$((ktap_nr + 1))
	printf '== %s\n' "$name" >&2
	# Not a condition: in one, "set -e" would not hold inside.
	set +e
	(
		set -e
		"$@"
	) >"$ktap_output" 2>&1 </dev/null
	rc=$?
	set -e
	cat "$ktap_output" >&2
	if [ $rc -eq 0 ]; then
		echo "ok $ktap_nr $name"
	else
		ktap_failed=1
		tail -n 40 "$ktap_output" | sed 's/^/# /'
		echo "not ok $ktap_nr $name"
	fi
}

# ktap_skip NAME REASON
ktap_skip() {
	ktap_nr=$((ktap_nr + 1))
	echo "ok $ktap_nr $1 # SKIP $2"
}

ktap_end() {
	rm -f "$ktap_output"
	exit "$ktap_failed"
}

# fails STATUS TEXT CMD...: the command must end with that status, and TEXT
# must be in what it says
fails() {
	local want=$1 text=$2 rc=0 output
	shift 2
	output=$("$@" 2>&1) || rc=$?
	if [ $rc -ne "$want" ]; then
		printf 'status %s instead of %s from: %s\n%s\n' $rc "$want" "$*" "$output"
		return 1
	fi
	if [[ $output != *"$text"* ]]; then
		printf "no '%s' in what this said: %s\n%s\n" "$text" "$*" "$output"
		return 1
	fi
}
