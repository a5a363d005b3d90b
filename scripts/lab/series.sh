# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The series and a git tree of a kernel: does it apply, is it there already,
# put it there. Needs common.sh.

# is_kernel DIR
is_kernel() {
	[ -f "$1/Makefile" ] && [ -f "$1/Kbuild" ] && [ -f "$1/MAINTAINERS" ] &&
		grep -q '^PATCHLEVEL = ' "$1/Makefile" && [ -d "$1/drivers/mmc" ]
}

# series_read: set the array patches, after a check of series against patches/
series_read() {
	local patch
	mapfile -t patches < <(series_patches)
	for patch in "${patches[@]}"; do
		[ -f "$REPO/patches/$patch" ] ||
			die "series names '$patch', which is not in patches/: run scripts/refresh, or restore the file"
	done
}

# in_scratch_index TREE REV CMD...: run with an index of its own, holding REV,
# and an object folder of its own, so that TREE is only read
in_scratch_index() {
	local tree=$1 rev=$2 scratch rc=0 objects
	shift 2
	scratch=$(mktemp -d)
	mkdir "$scratch/objects"
	objects=$(kgit -C "$tree" rev-parse --path-format=absolute --git-path objects)
	(
		export GIT_INDEX_FILE=$scratch/index
		export GIT_OBJECT_DIRECTORY=$scratch/objects
		export GIT_ALTERNATE_OBJECT_DIRECTORIES=$objects
		kgit -C "$tree" read-tree "$rev" && "$@"
	) || rc=$?
	rm -rf "$scratch"
	return $rc
}

# series_check TREE REV [PATCH...]: whether the patches (default: all) apply to
# REV in order, without fuzz; if not, print which patch, file and hunk fail
series_check() {
	local tree=$1 rev=$2
	shift 2
	[ $# -gt 0 ] || set -- "${patches[@]}"
	[ $# -eq 0 ] || in_scratch_index "$tree" "$rev" apply_each "$tree" "$@"
}

apply_each() {
	local tree=$1 patch errors
	shift
	for patch; do
		if ! errors=$(kgit -C "$tree" apply --cached --whitespace=nowarn \
			"$REPO/patches/$patch" 2>&1); then
			say "patches/$patch does not apply:"
			explain_errors "$REPO/patches/$patch" <<<"$errors" >&2
			return 1
		fi
	done
}

# explain_errors PATCH: say what "git apply" said, with number and header of
# each hunk
explain_errors() {
	local line file at
	while IFS= read -r line; do
		case $line in
		'error: patch failed: '*)
			file=${line#error: patch failed: }
			at=${file##*:}
			file=${file%:*}
			awk -v file="$file" -v at="$at" '
				/^diff --git / { in_file = ($0 ~ " b/" file "$"); hunk = 0 }
				/^@@ / && in_file {
					hunk++
					split(substr($2, 2), start, ",")
					if (start[1] == at)
						printf "  %s: hunk %d: %s\n", file, hunk, $0
				}' "$1"
			;;
		*': patch does not apply') ;;
		'error: '*) printf '  %s\n' "${line#error: }" ;;
		*) printf '  %s\n' "$line" ;;
		esac
	done
}

# series_added: the files that the series adds
series_added() {
	local patch
	for patch in "${patches[@]}"; do
		awk '/^--- \/dev\/null/ { getline; sub(/^\+\+\+ b\//, ""); print }' \
			"$REPO/patches/$patch"
	done | sort -u
}

# series_folders: the folders in which the series changes or adds files
series_folders() {
	cat "${patches[@]/#/$REPO/patches/}" | sed -n 's|^+++ b/\(.*\)/[^/]*$|\1|p' | sort -u
}

# series_state TREE REV: print none, all (exactly these patches) or other
# (files that the series adds are there, but not as these patches leave them)
series_state() {
	local have
	have=$(series_added | sed "s|^|$2:|" | kgit -C "$1" cat-file --batch-check |
		grep -cv ' missing$' || :)
	if [ "${have:-0}" -eq 0 ]; then
		echo none
	elif in_scratch_index "$1" "$2" unapply_each "$1"; then
		echo all
	else
		echo other
	fi
}

unapply_each() {
	local i
	for ((i = ${#patches[@]} - 1; i >= 0; i--)); do
		kgit -C "$1" apply --cached -R --whitespace=nowarn \
			"$REPO/patches/${patches[i]}" 2>/dev/null || return 1
	done
}

# The stamp of a work tree: which commit came from which patch, in order;
# first the base. One line each: COMMIT, SHA-256 of the patch, its name.
stamp_file() {
	printf '%s/.git/mmc-mq-stamp' "$1"
}

# stamp_write TREE: for a tree whose commits after the base are the series
stamp_write() {
	local tree=$1 base i=0 commit commits
	base=$(kgit -C "$tree" rev-parse 'mmc-mq-base^{commit}')
	mapfile -t commits < <(kgit -C "$tree" rev-list --reverse "$base..HEAD")
	{
		echo "$base base -"
		for commit in "${commits[@]}"; do
			echo "$commit $(sha256sum <"$REPO/patches/${patches[i]}" | cut -d ' ' -f 1) ${patches[i]}"
			i=$((i + 1))
		done
	} >"$(stamp_file "$tree").new"
	mv "$(stamp_file "$tree").new" "$(stamp_file "$tree")"
}

# tree_idle TREE: no git at work there; a lock that a killed one left is taken
# away
tree_idle() {
	local proc
	[ -e "$1/.git/index.lock" ] || return 0
	for proc in /proc/[0-9]*; do
		if [ "$(cat "$proc/comm" 2>/dev/null || :)" = git ] &&
			[[ "$(readlink "$proc/cwd" 2>/dev/null || :)/" == "$1"/* ]]; then
			die "a git command (pid ${proc#/proc/}) is at work in $1: run this again when it has ended"
		fi
	done
	say "removing $1/.git/index.lock, which a killed git left"
	rm -f "$1/.git/index.lock"
}

# series_apply TREE: bring a work tree of the cache to what patches/ says.
# While the marker exists, whatever is in the tree is ours to throw away;
# without it, what the stamp does not know is someone's work, and is kept.
series_apply() {
	local tree=$1 marker=$1/.git/mmc-mq-applying head work='' line keep=0 i
	local stamp=() want=() last
	series_read
	if [ -e "$marker" ]; then
		say "an earlier run was interrupted in $tree; starting again from the base"
		rm -rf "$tree/.git/index.lock" "$tree/.git/rebase-apply"
		kgit -C "$tree" checkout -q -f -B mmc-mq mmc-mq-base
		kgit -C "$tree" clean -fdq
		rm -f "$(stamp_file "$tree")"
		stamp_write "$tree"
		rm -f "$marker"
	fi
	tree_idle "$tree"

	mapfile -t stamp < <(cat "$(stamp_file "$tree")" 2>/dev/null ||
		echo "$(kgit -C "$tree" rev-parse 'mmc-mq-base^{commit}') base -")
	last=${stamp[-1]%% *}
	head=$(kgit -C "$tree" rev-parse HEAD)
	if [ -e "$tree/.git/rebase-apply" ] || [ -e "$tree/.git/rebase-merge" ]; then
		work="a rebase or am under way"
	elif [ "$head" != "$last" ]; then
		work="commits that are not in patches/"
	elif [ -n "$(kgit -C "$tree" status --porcelain | head -n 1)" ]; then
		work="uncommitted changes"
	fi
	if [ -n "$work" ] && [ -n "${MMC_MQ_AS_IS:-}" ]; then
		say "$tree has $work; used as it is"
		return
	elif [ -n "$work" ]; then
		die "$tree has $work: commit and run scripts/refresh to take them into patches/, use --as-is to try them first, or drop them with 'git -C $tree reset --hard ${last:0:12}' and 'git -C $tree clean -fd'"
	fi

	for line in "${patches[@]}"; do
		want+=("$(sha256sum <"$REPO/patches/$line" | cut -d ' ' -f 1)")
	done
	while [ $keep -lt ${#want[@]} ] && [ $((keep + 1)) -lt ${#stamp[@]} ]; do
		line=${stamp[keep + 1]#* }
		[ "${line%% *}" = "${want[keep]}" ] || break
		keep=$((keep + 1))
	done
	if [ $keep -eq ${#want[@]} ] && [ $((keep + 1)) -eq ${#stamp[@]} ]; then
		return
	fi

	line=${stamp[keep]%% *}
	if [ $keep -lt ${#want[@]} ]; then
		series_check "$tree" "$line" "${patches[@]:keep}" ||
			die "the series does not apply to $(kgit -C "$tree" log -1 --format=%s mmc-mq-base): correct the patch, or rebase it in a tree where it applies and run scripts/refresh"
	fi
	: >"$marker"
	[ "$line" = "$head" ] || kgit -C "$tree" reset -q --hard "$line"
	for ((i = keep; i < ${#patches[@]}; i++)); do
		progress "applying patch $((i + 1)) of ${#patches[@]}: ${patches[i]}"
		kgit -C "$tree" am -q --no-3way --committer-date-is-author-date \
			--whitespace=nowarn --no-scissors "$REPO/patches/${patches[i]}" >&2 ||
			die "git am failed on patches/${patches[i]}: see the message above; the next run starts again from the base"
	done
	stamp_write "$tree"
	rm -f "$marker"
	progress_clear
	say "$tree: ${#patches[@]} patches applied"
}
