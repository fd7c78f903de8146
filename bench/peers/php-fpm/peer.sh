#!/bin/bash
# See bench/peers/README.md for the verbs. Debian's PHP 8.2.
set -euo pipefail
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
fpm=php-fpm8.2
modules=/usr/lib/php/20220829 # of PHP 8.2
settings=(-d opcache.validate_timestamps=0 -d opcache.jit=off -d expose_php=0)

case ${1:-} in
install)
    had_fpm=$(command -v $fpm || true)
    packages=("$fpm=php8.2-fpm")
    # files that packages.sh does not find by name, so always missing to it
    [ -e $modules/pdo_sqlite.so ] || packages+=(pdo_sqlite=php8.2-sqlite3)
    [ -e $modules/opcache.so ] || packages+=(opcache=php8.2-opcache)
    if ! ../../../tools/packages.sh "${packages[@]}" >&2; then
        echo "Debian's packages of PHP 8.2 cannot be installed."
        exit 1
    fi
    # Debian would start it at every boot
    if [ -z "$had_fpm" ]; then
        root=()
        [ "$(id -u)" = 0 ] || root=(sudo)
        "${root[@]}" update-rc.d php8.2-fpm disable >&2 || true
        [ ! -d /run/systemd/system ] || "${root[@]}" systemctl --quiet disable php8.2-fpm || true
    fi
    ;;
build) ;;
version) # its two facts, from what phpinfo() tells
    $fpm -i | awk -F ' => ' '/^PHP Version/ { php = $2 } /^SQLite Library/ { sqlite = $2 }
                             END { print "PHP " php ", PHP-FPM, SQLite " sqlite }'
    ;;
size)
    installed=$(dpkg-query --show --showformat='${Installed-Size}\n' php8.2-fpm php8.2-common php8.2-opcache \
        php8.2-sqlite3 libsqlite3-0 | awk '{ kib += $1 } END { print kib * 1024 }')
    echo $((installed + $(cat ./*.php fpm.conf | wc -c)))
    ;;
kind) echo fastcgi ;;
script) echo "$PWD/index.php" ;;
serve)
    # once for the file; what belongs to a connection is set by index.php
    php8.2 -r '(new PDO("sqlite:" . getenv("DB")))->exec("PRAGMA journal_mode = WAL");'
    export PEER_LISTEN=${SOCKET:-127.0.0.1:${PORT:-}} PEER_USER
    PEER_USER=$(id -un)
    exec $fpm --allow-to-run-as-root --fpm-config fpm.conf "${settings[@]}"
    ;;
*)
    echo "usage: peer.sh install|build|version|size|kind|script|serve" >&2
    exit 2
    ;;
esac
