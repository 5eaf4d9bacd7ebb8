# First process in the new namespaces. It builds the view from its arguments and makes it the root. It then starts the
# program as an unprivileged user in a nested user namespace.
set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
echo up >&3; read -r go <&3
umask 022
root=$1; shift
mount -t tmpfs -o size=4m,mode=755,nosuid,nodev sandbox "$root"
mkdir "$root/proc" "$root/dev" "$root/old"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
echo 1 > "$root/proc/sys/user/max_user_namespaces"
exec 7< "$root/proc/sys/user"
mount -t tmpfs -o size=1m,mode=755,nosuid sandbox "$root/dev"
mkdir "$root/dev/shm"
cd "$root"
{
  for name in sys sysrq-trigger irq bus; do
    [ ! -e "proc/$name" ] || echo "proc/$name proc/$name none bind,ro,nosuid,nodev,noexec"
  done
  for name in null zero full random urandom tty; do
    : > "dev/$name"; echo "/dev/$name dev/$name none bind"
  done
  echo "sandbox dev/shm tmpfs size=$1,mode=1777,nosuid,nodev"
} > mounts
mount --all --fstab ./mounts
rm mounts; shift
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"; ln -s /proc/self/fd/1 "$root/dev/stdout"; ln -s /proc/self/fd/2 "$root/dev/stderr"
mount -o remount,bind,ro,nosuid "$root/dev"
folder() { [ -d "$1" ] || mkdir -p "$1"; }
show() {
  if [ -d "$1" ]; then folder "$2"; else folder "${2%/*}"; [ -e "$2" ] || : > "$2"; fi
  mount --rbind -- "$1" "$2"
  while read -r id parent device from place options rest; do
    case $place in *\\*) place=$(printf '%b.' "$place"); place=${place%.};; esac
    case $place in "$2"|"$2"/*) mount -o "remount,bind,${options#r[ow],},$3,nosuid,nodev" -- "$place";; esac
  done < "$root/proc/self/mountinfo"
}
# perl sets the flags "up" and "running" by the number of SIOCSIFFLAGS.
loopback() {
  ip link set lo up || ifconfig lo up || perl -e '$up = pack("a16 s x22", "lo", 65); socket(S, 2, 2, 0) && ioctl(S, 0x8914, $up) || exit 1'
}
while [ "$1" != - ]; do
  case $1 in
    own-loopback) loopback 2>/dev/null || :; shift;;
    loopback) loopback 2>/dev/null || { echo "no loopback network: install iproute2" >&2; exit 1; }; shift;;
    --ro-bind) show "$2" "$root$3" ro; shift 3;;
    --bind) show "$2" "$root$3" rw; shift 3;;
    --symlink) folder "$root${3%/*}"; ln -s -- "$2" "$root$3"; shift 3;;
    --dir) folder "$root$2"; shift 2;;
    --size) folder "$root$4"; mount -t tmpfs -o "size=$2,mode=1777,nosuid,nodev" sandbox "$root$4"; shift 4;;
  esac
done
shift
cd "$root"
pivot_root . old
umount -l /old
rmdir /old
mount -o remount,bind,ro,nosuid,nodev /
hostname sandbox 2>/dev/null || :
cd -- "$1"; shift
echo begun >&3
exec 3>&- 5<&0 6>&2 2>/dev/null
set +e
"$@" <&5 2>&6 5<&- 6>&- &
exec <&- >&- 4<&- 5<&- 6>&- 7<&-
wait $!
