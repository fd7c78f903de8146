#!/bin/sh
# Usage: machine.sh DIRECTORY PROJECT [inside]
# Starts systemd in a copy of this system: its processes, mounts, network and control groups are its own, and whatever
# it writes is gone with it. Called by machine.py, as root. DIRECTORY is an empty one, the name of the control groups too.
set -e
directory=$1
project=$2
name=$(basename "$directory")

if [ "${3:-}" != inside ]; then
    # Each hierarchy gets a group to be the root of what the machine sees.
    for procs in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do
        group=${procs%/cgroup.procs}/$name
        if [ -e "$procs" ] && mkdir "$group" 2>/dev/null; then
            { echo $$ >"$group/cgroup.procs"; } 2>/dev/null || true # of cpuset, which is not needed
        fi
    done
    exec unshare --pid --mount --ipc --uts --net --cgroup --fork --kill-child "$0" "$directory" "$project" inside
fi

mount -t tmpfs tmpfs "$directory"
root=$directory/root
mkdir "$directory/upper" "$directory/work" "$root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$directory/upper,workdir=$directory/work" "$root"
mkdir -p "$root$project"
mount --bind "$project" "$root$project"
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
    mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/systemd"
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
fi
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    cp -a "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts" "$root/dev/mqueue" "$root/dev/hugepages"
ln -s pts/ptmx "$root/dev/ptmx"
touch "$root/dev/console"

# A target that wants nothing, so that no service of this system starts.
printf '[Unit]\nDefaultDependencies=no\n' >"$root/etc/systemd/system/machine.target"
mkdir -p "$root/etc/systemd/system/larder.service.d"
printf '[Unit]\nDefaultDependencies=no\n' >"$root/etc/systemd/system/larder.service.d/machine.conf"
: >"$root/etc/machine-id"
: >"$root/etc/fstab"

cd "$root"
mkdir -p old
pivot_root . old
umount -l old
export container=lxc
exec chroot . /lib/systemd/systemd --system --unit=machine.target --log-target=null </dev/null
