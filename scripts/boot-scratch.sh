#!/usr/bin/env bash
# Boots the systemd of a scratch root as PID 1 of namespaces of its own, and stays
# until it ends. scripts/systemd-test.sh runs it.
#
#   scripts/boot-scratch.sh ROOT CGROUP
#
# ROOT is the folder, CGROUP a folder of the version 2 hierarchy that is systemd's
# alone. Nothing is mounted outside of the namespaces; its network is a loopback.
set -euo pipefail
echo "$$" >"$2/cgroup.procs"
# shellcheck disable=SC2016 # the inner shell expands them
exec unshare --mount --uts --ipc --net --pid --cgroup --fork --kill-child=SIGKILL \
	bash -euo pipefail -c '
	root=$1
	mount --make-rprivate /
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount -t sysfs sysfs "$root/sys"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	for dir in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$dir"; done
	chmod 1777 "$root/tmp"
	for name in null zero full random urandom tty; do
		touch "$root/dev/$name"
		mount --bind "/dev/$name" "$root/dev/$name"
	done
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	for n in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${n%:*}" "$root/dev/${n#*:}"; done
	hostname pichat
	cd "$root"
	mkdir -p .old
	pivot_root . .old
	umount -l /.old
	# It skips what belongs to a machine of its own where it finds itself contained.
	exec env -i container=scratch PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		/lib/systemd/systemd --log-target=journal-or-kmsg --show-status=false
	' boot-scratch "$1"
