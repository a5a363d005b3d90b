# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# shellcheck disable=SC2034,SC2154	# variables set by one function for others
#
# Kernel source from Debian, fetched with apt through a configuration of its
# own, so that the machine's apt sources stay as they are. Needs common.sh.

# base_names: the names in the table of bases
base_names() {
	awk '!/^#/ && NF { print $1 }' "$SCRIPTS/lab/bases"
}

# base_read NAME: set base_package, base_newer, base_suites and base_state
base_read() {
	local name=
	while read -r name base_package base_newer base_suites _ _ base_state; do
		[ "$name" != "$1" ] || break
	done < <(grep -v -e '^#' -e '^$' "$SCRIPTS/lab/bases")
	[ "$name" = "$1" ] ||
		die "no base is called '$1': the bases are $(base_names | xargs | sed 's/ /, /g')"
	[ "$base_state" = ready ] || die "base '$1': $base_state"
}

# debian_mirror SUITE: the mirror that the machine's own apt uses
debian_mirror() {
	local label=Debian mirror codename
	if [ -n "${MMC_MQ_MIRROR:-}" ]; then
		printf '%s\n' "$MMC_MQ_MIRROR"
		return
	fi
	case $1 in *-security) label=Debian-Security ;; esac
	# shellcheck disable=SC2016	# apt's variables, not the shell's
	mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 2>/dev/null |
		awk -v label="$label" '$1 == label { print $2; exit }')
	if [ -z "$mirror" ]; then
		# Before the first "apt-get update" apt knows only addresses.
		codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
		case $1 in *-security) codename=$codename-security ;; esac
		mirror=$(apt-get --print-uris update 2>/dev/null |
			sed -n "s|^'\\(.*\\)dists/$codename/InRelease'.*|\\1|p" | sed -n 1p)
	fi
	[ -n "$mirror" ] ||
		die "this machine's apt names no Debian mirror: set MMC_MQ_MIRROR to one, for example the address in /etc/apt/sources.list of a Debian machine"
	printf '%s\n' "$mirror"
}

# papt_setup SUITE...: write the private configuration; papt uses it
papt_setup() {
	local suite mirror new
	papt_dir=$(cache_dir)/apt
	need_packages debian-archive-keyring
	mkdir -p "$papt_dir/lists/partial" "$papt_dir/cache/archives/partial" "$papt_dir/parts"
	cat >"$papt_dir/apt.conf" <<-EOC
		Dir::Etc::sourcelist "$papt_dir/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::State::lists "$papt_dir/lists";
		Dir::Cache "$papt_dir/cache";
		APT::Sandbox::User "root";
		Acquire::Retries "3";
		Acquire::http::Timeout "30";
	EOC
	new=$(for suite; do
		mirror=$(debian_mirror "$suite") || exit
		for type in deb deb-src; do
			echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
		done
	done) || exit
	if [ "$new" != "$(cat "$papt_dir/sources.list" 2>/dev/null)" ]; then
		rm -f "$papt_dir/updated"
		printf '%s\n' "$new" >"$papt_dir/sources.list"
	fi
}

papt() {
	local tool=$1
	shift
	APT_CONFIG=$papt_dir/apt.conf "$tool" "$@"
}

# papt_update MINUTES: get the package lists, unless they are that fresh
papt_update() {
	if find "$papt_dir/updated" -mmin "-$1" 2>/dev/null | grep -q .; then
		return
	fi
	rm -f "$papt_dir/updated"
	say "fetching the package lists: $(awk '{ print $3, $4 }' "$papt_dir/sources.list" | sort -u | xargs)"
	need_space 200 "$papt_dir" "the package lists"
	run_logged "$papt_dir/update.log" papt apt-get -o APT::Update::Error-Mode=any update ||
		die "cannot fetch the package lists from $(awk '{ print $3; exit }' "$papt_dir/sources.list"): check the network (and the proxy, if there is one), then run this again"
	touch "$papt_dir/updated"
}

# source_choose BASE: set source_package and source_version to what to fetch
source_choose() {
	local names
	source_package=$base_package
	source_version=$(source_newest "$source_package")
	if [ -z "$source_version" ] && [ "$base_newer" != - ]; then
		names=$(papt apt-cache pkgnames linux-source- | { grep -E "$base_newer" || :; } |
			{ cat; echo "$base_package"; } | sort -V -u |
			sed "1,/^${base_package//./\\.}\$/d" | tail -n 1)
		if [ -n "$names" ]; then
			source_package=$names
			source_version=$(source_newest "$source_package")
			say "$base_package is gone from Debian's $base_suites; taking the newer $source_package $source_version"
		fi
	fi
	[ -n "$source_version" ] ||
		die "neither $base_package nor a newer package of its kind is in Debian's $base_suites: use --kernel DIR with a kernel tree that you have"
}

source_newest() {
	papt apt-cache show --no-all-versions "$1" 2>/dev/null |
		sed -n 's/^Version: //p' | head -n 1 || :
}

# deb_verified FILE: whether the file is what the (signed) package list says
deb_verified() {
	local sum
	[ -f "$1" ] || return 1
	sum=$(papt apt-cache show "$source_package=$source_version" | sed -n 's/^SHA256: //p' | sed -n 1p)
	[ -n "$sum" ] && printf '%s  %s\n' "$sum" "$1" | sha256sum -c --status -
}

size_mib() {
	local size
	size=$(du -sm "$1" | cut -f 1)
	printf '%s: %s of %s MiB' "$2" "${size:-0}" "$3"
}

# source_download: fetch the package, set source_deb
source_download() {
	local dir size
	dir=$(cache_dir)/deb
	mkdir -p "$dir"
	source_deb=$dir/${source_package}_${source_version//:/%3a}_all.deb
	if [ -f "$source_deb" ]; then
		deb_verified "$source_deb" && return
		say "$source_deb is truncated or damaged; fetching it again"
		rm -f "$source_deb"
	fi
	size=$(papt apt-cache show "$source_package=$source_version" | sed -n 's/^Size: //p' | sed -n 1p)
	size=$((${size:-200000000} / 1048576 + 1))
	need_space $((size + 50)) "$dir" "the kernel source package"
	rm -rf "$dir/new"
	mkdir "$dir/new"
	watch_start size_mib "$dir/new" "downloading" "$size"
	if ! (cd "$dir/new" && run_logged "$dir/download.log" \
		papt apt-get download "$source_package=$source_version"); then
		watch_stop
		die "cannot download $source_package $source_version from $(awk '{ print $3; exit }' "$papt_dir/sources.list"): check the network (and the proxy, if there is one), then run this again"
	fi
	watch_stop
	mv "$dir/new"/*.deb "$source_deb"
	rmdir "$dir/new"
	deb_verified "$source_deb" ||
		die "$source_deb is not what Debian's package list describes: run this again to fetch it anew"
}

files_in() {
	printf '%s: %s files' "$2" "$(find "$1" -type f | wc -l)"
}

# source_unpack DIR: make the git work tree DIR, with the base as one commit
source_unpack() {
	local new=$1.new
	need_space 3000 "$(dirname "$1")" "the kernel source"
	rm -rf "$new"
	mkdir "$new"
	watch_start files_in "$new" "unpacking (about 95,000 files)"
	if ! { dpkg-deb --fsys-tarfile "$source_deb" | tar -xO --wildcards '*.tar.xz' |
		tar -xJ -C "$new" --strip-components=1; }; then
		die "cannot unpack $source_deb: see the message above; check the free disk space, then run this again"
	fi
	watch_stop
	[ -f "$new/Kbuild" ] || die "$source_deb holds no kernel: report this, with the package's version"
	# Debian's .gitignore ends with lines that hide every new file from git.
	sed -i -e '\|^/\*$|d' -e '\|^!/debian/$|d' "$new/.gitignore"
	say "committing it as the base (half a minute)"
	kgit -C "$new" init -q
	kgit -C "$new" -c core.looseCompression=1 add -f -A ||
		die "cannot commit the kernel source: see the message above; check the free disk space, then run this again"
	GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' \
		kgit -C "$new" commit -q -m "Linux ${source_version%-*} (Debian $source_version)"
	kgit -C "$new" tag mmc-mq-base
	mv "$new" "$1"
}
