# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the scripts share: messages, the cache and its lock, packages, disk
# space, logs, and git without the person's own configuration. To be sourced
# by bash with "set -euo pipefail"; all messages go to stderr, so that stdout
# is free for a script's result.
#
# Environment, for people and for tests:
#   XDG_CACHE_HOME        where the cache is (its mmc-mq/ folder)
#   MMC_MQ_MIRROR         Debian mirror to use instead of the machine's own
#   MMC_MQ_LOCK_TIMEOUT   seconds to wait for the cache's lock (default: for ever)

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
# shellcheck disable=SC2034	# for those who source this
SCRIPTS=$REPO/scripts
: "${MMC_MQ_START:=$(date +%s)}"
export MMC_MQ_START
export LC_ALL=C.UTF-8

# A git hook that calls these scripts must not redirect their git commands.
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY \
	GIT_ALTERNATE_OBJECT_DIRECTORIES

script_name() {
	local path
	path=$(cd "$(dirname "$0")" && pwd -P)/$(basename "$0")
	printf '%s\n' "${path#"$REPO"/}"
}

# The transient progress line, if one is on the screen, must go first.
progress_shown=
progress_clear() {
	if [ -n "$progress_shown" ]; then
		printf '\r\033[K' >&2
		progress_shown=
	fi
}

# die MSG...: what is wrong, with the value, and what to do
die() {
	progress_clear
	printf '%s: %s\n' "$(script_name)" "$*" >&2
	exit 1
}

# usage_error MSG...: a wrong command line
usage_error() {
	printf "%s: %s; see '%s --help'\n" "$(script_name)" "$*" "$(script_name)" >&2
	exit 2
}

say() {
	progress_clear
	printf '%s\n' "$*" >&2
}

# elapsed: m:ss since the first of the scripts that call one another began
elapsed() {
	local s=$(($(date +%s) - MMC_MQ_START))
	printf '%d:%02d' $((s / 60)) $((s % 60))
}

# step N M TEXT: the header of step N of M
step() {
	progress_clear
	printf '[%s/%s %s] %s\n' "$1" "$2" "$(elapsed)" "${*:3}" >&2
}

# progress TEXT: how far a long step is; one line rewritten in place on a
# terminal, elsewhere a new line at most every 30 s
progress_last=$MMC_MQ_START
progress() {
	local now
	if [ -t 2 ]; then
		printf '\r\033[K  %s' "$*" >&2
		progress_shown=1
		return
	fi
	now=$(date +%s)
	if [ $((now - progress_last)) -ge 30 ]; then
		progress_last=$now
		printf '  [%s] %s\n' "$(elapsed)" "$*" >&2
	fi
}

# cache_dir: make the cache's folder and print its path
cache_dir() {
	local dir
	dir=${XDG_CACHE_HOME:-~/.cache}
	case $dir in
	/*) ;;
	*) die "XDG_CACHE_HOME is '$dir', not an absolute path: set it to one" ;;
	esac
	dir=$dir/mmc-mq
	if ! mkdir -p "$dir" 2>/dev/null || ! [ -w "$dir" ]; then
		die "cannot write to the cache '$dir': make it writable or set XDG_CACHE_HOME to another folder"
	fi
	printf '%s\n' "$dir"
}

# take_lock: hold the cache's lock until this process and its children end.
# A script that was called by a holder goes on under the caller's lock.
take_lock() {
	local file waited=0 holder limit=${MMC_MQ_LOCK_TIMEOUT:-}
	file=$(cache_dir)/lock
	[ "${MMC_MQ_LOCK_HELD:-}" != "$file" ] || return 0
	exec 9<>"$file"
	while ! flock -n 9; do
		if [ $((waited % 30)) -eq 0 ]; then
			holder=$(cat "$file" 2>/dev/null || :)
			say "waiting for the cache's lock $file, held by ${holder:-another process} (waited ${waited} s)"
		fi
		if [ -n "$limit" ] && [ "$waited" -ge "$limit" ]; then
			die "gave up waiting for $file, held by ${holder:-another process}: try again when it has ended"
		fi
		sleep 1
		waited=$((waited + 1))
	done
	printf 'pid %s (%s) since %s\n' $$ "$(script_name)" "$(date '+%F %T')" >"$file"
	export MMC_MQ_LOCK_HELD=$file
}

# need_space MIB DIR WHAT: refuse to begin what cannot fit
need_space() {
	local have
	have=$(df -Pm "$2" | awk 'NR == 2 { print $4 }')
	if [ "${have:-0}" -lt "$1" ]; then
		die "$3 needs $1 MiB, and $2 has ${have:-0} MiB free: free some space or set XDG_CACHE_HOME to a folder on a larger disk"
	fi
}

# run_logged LOG CMD...: run with all output in LOG; on failure show its end
run_logged() {
	local log=$1 rc=0
	shift
	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	if [ $rc -ne 0 ]; then
		log_tail "$log"
	fi
	return $rc
}

log_tail() {
	progress_clear
	{
		printf -- '--- the end of %s:\n' "$1"
		tail -n "${2:-20}" "$1"
		printf -- '---\n'
	} >&2
}

# need_packages PKG...: Debian packages that must be installed
need_packages() {
	local missing=() pkg log
	for pkg; do
		if ! dpkg-query -W -f '${Status}\n' "$pkg" 2>/dev/null |
			grep -q '^install ok installed$'; then
			missing+=("$pkg")
		fi
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if ! command -v apt-get >/dev/null; then
		die "needs the equivalent of these Debian packages: ${missing[*]}"
	fi
	if [ "$(id -u)" -ne 0 ]; then
		die "needs packages that are not installed; run: sudo apt-get install --no-install-recommends ${missing[*]}"
	fi
	say "installing the Debian packages: ${missing[*]}"
	log=$(cache_dir)/packages.log
	export DEBIAN_FRONTEND=noninteractive
	if apt_lists_old && ! run_logged "$log" apt-get -o DPkg::Lock::Timeout=300 update; then
		die "'apt-get update' failed: check the network and the machine's apt sources, then run this again"
	fi
	if ! run_logged "$log" apt-get -o DPkg::Lock::Timeout=300 -y \
		--no-install-recommends install "${missing[@]}"; then
		# A list that is a few hours old can name packages that are gone.
		say "refreshing the package lists"
		if ! run_logged "$log" apt-get -o DPkg::Lock::Timeout=300 update ||
			! run_logged "$log" apt-get -o DPkg::Lock::Timeout=300 -y \
				--no-install-recommends install "${missing[@]}"; then
			die "cannot install ${missing[*]}: see $log; check the network and the free disk space, then run this again"
		fi
	fi
}

# apt_lists_old: whether apt knows no packages, or was last updated a week ago
apt_lists_old() {
	! find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' 2>/dev/null | grep -q . ||
		! find /var/lib/apt/lists/partial -maxdepth 0 -mtime -7 2>/dev/null | grep -q .
}

# watch_start CMD...: while the next command runs in the foreground (where it
# gets Ctrl-C), show as progress what CMD prints; watch_stop ends that
watch_pid=
watch_start() {
	(
		exec 9>&- >/dev/null
		while sleep 1 && kill -0 $$ 2>/dev/null; do
			progress "$("$@" 2>/dev/null || :)"
		done
	) &
	watch_pid=$!
	trap watch_stop EXIT
}

watch_stop() {
	[ -n "$watch_pid" ] || return 0
	kill "$watch_pid" 2>/dev/null || :
	wait "$watch_pid" 2>/dev/null || :
	watch_pid=
	[ ! -t 2 ] || printf '\r\033[K' >&2
}

# kgit ARG...: git as the cache's trees need it. The person's configuration
# does not apply, so that every machine makes the same commits and patches.
kgit() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 \
	GIT_AUTHOR_NAME=mmc-mq GIT_AUTHOR_EMAIL=mmc-mq@localhost \
	GIT_COMMITTER_NAME=mmc-mq GIT_COMMITTER_EMAIL=mmc-mq@localhost \
	GIT_TERMINAL_PROMPT=0 git \
		-c gc.auto=0 -c maintenance.auto=false -c core.autocrlf=false \
		-c core.hooksPath=/dev/null -c commit.gpgSign=false \
		-c core.attributesFile=/dev/null -c core.excludesFile=/dev/null \
		-c advice.detachedHead=false -c init.defaultBranch=mmc-mq \
		-c safe.directory='*' "$@"
}

# series_patches: the patches of the series in order, one name a line
series_patches() {
	sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$REPO/series" 2>/dev/null || :
}
