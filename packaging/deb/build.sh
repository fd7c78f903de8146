#!/bin/bash
# Usage: build.sh BUILD VERSION
# Makes BUILD/larder_VERSION_ARCHITECTURE.deb from the program in BUILD. Called by `make deb`.
# The libraries it depends on are Debian's, so that Debian's security updates reach it.
set -euo pipefail
build=$1
version=$2
here=$(cd -- "$(dirname -- "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
package=$root/package

make --no-print-directory -C "$here/../.." install BUILD="$build" DESTDIR="$package" PREFIX=/usr UNITDIR=/lib/systemd/system
strip --strip-unneeded "$package/usr/bin/larder"
install -D -m 644 "$here/default" "$package/etc/default/larder"
documents=$package/usr/share/doc/larder
mv "$documents/LICENSE" "$documents/copyright"
printf 'larder (%s) stable; urgency=medium\n\n  * See the commits of the project.\n\n -- The Larder project <larder@localhost>  %s\n' \
    "$version" "$(date -R)" | gzip -9n >"$documents/changelog.Debian.gz"
gzip -9n "$package/usr/share/man/man1/larder.1"

# dpkg-shlibdeps wants a source package's file beside it
mkdir "$root/debian"
printf 'Source: larder\n\nPackage: larder\nArchitecture: any\n' >"$root/debian/control"
depends=$(cd "$root" && dpkg-shlibdeps -O package/usr/bin/larder 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { echo "build.sh: no dependencies found" >&2; exit 1; }

mkdir "$package/DEBIAN"
architecture=$(dpkg --print-architecture)
sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$architecture|" -e "s|@DEPENDS@|$depends|" \
    -e "s|@SIZE@|$(du -sk "$package" | cut -f1)|" "$here/control" >"$package/DEBIAN/control"
echo /etc/default/larder >"$package/DEBIAN/conffiles"
(cd "$package" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\0' | sort -z | xargs -0 md5sum) >"$package/DEBIAN/md5sums"
for script in postinst prerm postrm; do
    install -m 755 "$here/$script" "$package/DEBIAN/$script"
done
dpkg-deb --root-owner-group --build "$package" "$build/larder_${version}_$architecture.deb" >/dev/null
echo "  made $build/larder_${version}_$architecture.deb"
