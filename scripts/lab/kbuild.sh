# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Kernel builds outside the tree, with ccache, the same on every machine. Needs
# common.sh.

kbuild_packages() {
	need_packages gcc libc6-dev make flex bison bc libelf-dev libssl-dev ccache perl \
		python3 kmod git
}

# kmake TREE OUT ARG...: make in TREE with its objects in OUT. Where OUT is a
# sibling of TREE, ccache sees the same relative names whatever the cache's path.
kmake() {
	local tree=$1 out=$2
	shift 2
	CCACHE_DIR=$(cache_dir)/ccache CCACHE_BASEDIR=$(dirname "$tree") \
	CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-2G} \
	KBUILD_BUILD_TIMESTAMP='2026-01-01 00:00:00 UTC' \
	KBUILD_BUILD_USER=mmc-mq KBUILD_BUILD_HOST=lab \
		make -C "$tree" O="$out" ARCH="${KARCH:-x86_64}" CC="ccache ${CROSS_COMPILE:-}gcc" \
		LOCALVERSION= -j"$(nproc)" "$@"
}

# config_fragments NAME: the files in kunit/ that NAME stands for
config_fragments() {
	local fragments=("$REPO/kunit/lab.config")
	[ -f "$REPO/kunit/$1.config" ] ||
		die "no configuration is called '$1': those in kunit/ are $(config_names)"
	[ "$1" = lab ] || fragments+=("$REPO/kunit/$1.config")
	printf '%s\n' "${fragments[@]}"
}

config_names() {
	(cd "$REPO/kunit" && printf '%s\n' *.config | sed 's/\.config$//' | xargs | sed 's/ /, /g')
}

# tree_version TREE: a name for what is in TREE, changes that are not committed
# included
tree_version() {
	kgit -C "$1" rev-parse HEAD
	kgit -C "$1" diff HEAD | sha256sum
}

# config_make TREE OUT NAME [baseline]: OUT/.config from the fragments, unless it
# is that already; fails if a symbol is not what they ask for
config_make() {
	local tree=$1 out=$2 key lost fragments
	mapfile -t fragments < <(config_fragments "$3")
	[ ${#fragments[@]} -gt 0 ] || exit 1
	key=$({ tree_version "$tree"; cat "${fragments[@]}"; gcc --version; } | sha256sum)
	if [ -f "$out/.config" ] && [ "$key" = "$(cat "$out/.mmc-mq-config" 2>/dev/null)" ]; then
		return
	fi
	rm -f "$out/.mmc-mq-config"
	config_any "$tree" "$out" "${fragments[@]}"
	lost=$(config_lost "$out/.config" "${fragments[@]}")
	# The options that the series adds are not in the baseline.
	[ "${4-}" != baseline ] || lost=$(grep -vwF "$(series_options)" <<<"$lost" || :)
	if [ -n "$lost" ]; then
		say "$lost"
		die "the configuration '$3' is not possible with this kernel: correct kunit/ (what a symbol depends on, or its name), or use a kernel that has it"
	fi
	printf '%s\n' "$key" >"$out/.mmc-mq-config"
}

# series_options: the configuration options that the series adds
series_options() {
	sed -n 's/^+config \([A-Z0-9_]*\)$/CONFIG_\1/p' "$REPO"/patches/*.patch
}

# config_any TREE OUT FRAGMENT...: tinyconfig with the fragments, as far as the
# kernel has what they ask for
config_any() {
	local tree=$1 out=$2 log=$2.config.log
	shift 2
	mkdir -p "$out"
	if ! run_logged "$log" kmake "$tree" "$out" tinyconfig ||
		! run_logged "$log" "$tree/scripts/kconfig/merge_config.sh" -m -O "$out" \
			"$out/.config" "$@" ||
		! run_logged "$log" kmake "$tree" "$out" olddefconfig; then
		die "cannot configure the kernel: see $log"
	fi
}

# config_lost CONFIG FRAGMENT...: what the fragments ask for (the last one wins)
# and CONFIG does not have
config_lost() {
	awk -F = '
		FNR == 1 { file++ }
		!/^CONFIG_[A-Za-z0-9_]+=/ { next }
		{ value = substr($0, length($1) + 2) }
		file == 1 { have[$1] = value; next }
		{ want[$1] = value }
		END {
			for (name in want) {
				is = name in have ? have[name] : "n"
				if (is != want[name])
					printf "  %s=%s was asked for and became %s\n", name, want[name], is
			}
		}' "$@" | sort
}
