#!/bin/bash
# Installs what is missing: packages.sh PROBE=PACKAGE...
# A probe is a command, or a header such as sqlite3.h. Where the probe is found nothing is asked of the
# system; elsewhere Debian's and Ubuntu's packages are installed, as root or with sudo.
set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

found() { # PROBE
    case $1 in
    *.h) printf '#include <stdio.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <%s>\n' "$1" |
        "${CC:-cc}" -E - >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

missing=()
for pair; do
    found "${pair%%=*}" || missing+=("${pair#*=}")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "Please install what Debian calls ${missing[*]}, then call make again." >&2
    exit 1
fi
root=()
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Please install these packages as root, then call make again: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    root=(sudo)
fi

# Debian starts a service as soon as it is installed, and at every boot after. The user asked for a program,
# not for a web server on port 80: both are prevented, for this installation only.
policy=/usr/sbin/policy-rc.d
is_ours() { # also one that stayed behind when a run was killed
    grep -qs "made by larder's make" "$policy"
}
restore() {
    if [ -e "$policy.larder" ]; then
        "${root[@]}" mv "$policy.larder" "$policy"
    elif is_ours; then
        "${root[@]}" rm -f "$policy"
    fi
}
trap restore EXIT
trap 'exit 1' INT TERM HUP
services=(nginx lighttpd)
had=$(command -v "${services[@]}" || true)
if [ -e $policy ] && ! is_ours; then
    "${root[@]}" mv $policy $policy.larder
fi
printf "#!/bin/sh\n# made by larder's make for the time of an installation\nexit 101\n" | "${root[@]}" tee $policy >/dev/null
"${root[@]}" chmod 755 $policy

echo "Installing ${missing[*]}"
"${root[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 install --no-install-recommends --yes "${missing[@]}" >/dev/null
for service in "${services[@]}"; do
    program=$(command -v "$service" || true)
    if [ -n "$program" ] && ! grep -qx "$program" <<<"$had"; then
        "${root[@]}" update-rc.d "$service" disable >/dev/null 2>&1 || true
        if [ -d /run/systemd/system ]; then
            "${root[@]}" systemctl --quiet disable "$service" || true
        fi
        echo "The system's own $service service was left switched off."
    fi
done
