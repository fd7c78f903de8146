#!/bin/sh
# Usage: render.sh RUN_DIR ADDRESS:PORT [PREFIX]
#        render.sh DIRECTORY include [PREFIX]
# Writes RUN_DIR/nginx/ so that `nginx -p RUN_DIR -c RUN_DIR/nginx/nginx.conf` works as any user; or, with "include",
# DIRECTORY/nginx/ without nginx.conf, for an nginx that is there (SOCKETS is then /run/larder unless it is set).
# PREFIX, such as /shop, serves everything below that path. In the environment: CONNECTIONS replaces the
# number of connections nginx may hold, SOCKETS the directory of the service's sockets (RUN_DIR), ACCESS_LOG
# the log's path (RUN_DIR/access.log). CERTIFICATE and CERTIFICATE_KEY are paths of PEM files: the port then speaks TLS and
# HTTP/2. LIMITS=on includes limits.conf. HSTS is for how many seconds browsers insist on TLS for the host (a year; with a
# prefix, where the host is somebody else's, 0: nothing is said).
set -eu
LC_ALL=C  # lengths in bytes
export LC_ALL

fail() {
    echo "render.sh: $1" >&2
    exit 1
}

[ $# -eq 2 ] || [ $# -eq 3 ] || fail "usage: render.sh RUN_DIR ADDRESS:PORT [PREFIX], or render.sh DIRECTORY include [PREFIX]"
run_dir=$1
listen=$2
prefix=${3:-}
connections=${CONNECTIONS:-1024}
limits=${LIMITS:-}
certificate=${CERTIFICATE:-}
key=${CERTIFICATE_KEY:-}

case $run_dir in
    '') fail "the run directory must not be empty." ;;
    /*) ;;
    *) run_dir=$(pwd)/$run_dir ;;
esac
[ "$listen" = include ] && sockets=${SOCKETS:-/run/larder} || sockets=${SOCKETS:-$run_dir}
access_log=${ACCESS_LOG:-$run_dir/access.log}
# nginx would read these as quotes, variables or wildcards; sed would trip over the rest.
case $run_dir$sockets$access_log$certificate$key in
    *[[:cntrl:]]* | *[\"\'\\\$*?[\;{}\#\|\&]*)
        fail "the run directory, SOCKETS, ACCESS_LOG and the certificate's paths must hold no control characters and none of \" ' \\ \$ * ? [ ; { } # | &." ;;
esac
case $sockets in
    /*) ;;
    *) fail "SOCKETS must be an absolute path." ;;
esac
case $access_log in
    /*) ;;
    *) fail "ACCESS_LOG must be an absolute path." ;;
esac
[ "${#sockets}" -le 96 ] || fail "the path of the run directory or of SOCKETS must have 96 bytes at most: a socket's has 107."
case $certificate,$key in
    , | /*,/*) ;;
    *) fail "CERTIFICATE and CERTIFICATE_KEY must be absolute paths, both." ;;
esac
case $listen in
    include) [ -z "$certificate$limits" ] || fail "CERTIFICATE and LIMITS are for an nginx.conf, not for include." ;;
    *[!][0-9A-Za-z.:_-]*) fail "the address may hold letters, digits and . : _ - [ ] alone." ;;
esac
case ${listen##*:} in
    include) ;;
    '' | *[!0-9]*) fail "the address must end in a port, such as 127.0.0.1:8080." ;;
esac
case $prefix in
    '') ;;
    *[!0-9A-Za-z._~/-]* | */ | *//* | */.*) fail "the prefix must be plain path segments, such as /shop." ;;
    /*) ;;
    *) fail "the prefix must start with a slash." ;;
esac
case $connections in
    *[!0-9]* | 0* | ???????*) fail "CONNECTIONS must be a number from 1 to 999999." ;;
esac

case $limits in
    '' | on) ;;
    *) fail "LIMITS must be on, or nothing." ;;
esac
case ${HSTS:-0} in
    *[!0-9]* | ??????????*) fail "HSTS must be a number of seconds." ;;
esac
[ -n "$prefix" ] && hsts=${HSTS:-0} || hsts=${HSTS:-31536000}
[ "$hsts" = 0 ] && hsts= || hsts=max-age=$hsts

[ "$listen" != include ] || umask 022  # nginx's own user reads the page
mkdir -p -- "$run_dir/nginx"
run_dir=$(cd -- "$run_dir" && pwd)
source=$(cd -- "$(dirname -- "$0")" && pwd)

# render FILE [SED_ARGUMENT...]: the file with the directories put in.
render() {
    file=$1
    shift
    sed -e "s|unix:/run/larder|unix:$sockets|" -e "s|\"/run/larder/access.log|\"$access_log|" \
        -e "/access_log/!s|\"/run/larder|\"$run_dir|" "$@" "$source/$file"
}

if [ "$listen" != include ]; then
    set -- -e "s|worker_connections 1024|worker_connections $connections|" -e "s|2048;|$((connections + connections / 4 + 64));|"
    if [ -n "$certificate" ]; then
        version=$(PATH=$PATH:/usr/local/sbin:/usr/sbin && nginx -v 2>&1) || fail "CERTIFICATE needs nginx, to know its version."
        case $version in  # since 1.25.1 HTTP/2 is a directive of its own
            */1.[0-9].* | */1.1[0-9].* | */1.2[0-4].* | */1.25.0*) listen="$listen ssl http2" ;;
            *)
                listen="$listen ssl"
                set -- "$@" -e '/listen 8080/a\
        http2 on;' ;;
        esac
        set -- "$@" -e '/include larder-server.conf/a\
        include tls.conf;\
        ssl_certificate      "'"$certificate"'";\
        ssl_certificate_key  "'"$key"'";'
    fi
    [ -z "$limits" ] || set -- "$@" -e '/include larder-server.conf/a\
        include limits.conf;'
    # Outside the prefix nginx would look for files.
    [ -z "$prefix" ] || set -- "$@" -e '/include larder-server.conf/a\
        location / { return 404; }\
        location = '"$prefix"' { return 404; }'
    {
        # As root, nginx's default user could not reach sockets below a private home.
        [ "$(id -u)" -ne 0 ] || echo "user root $(id -gn);"
        render nginx.conf "$@" -e "s|listen 8080|listen $listen|"
    } >"$run_dir/nginx/nginx.conf"
fi

render larder-http.conf -e "s|\"max-age=.*\"|\"$hsts\"|" >"$run_dir/nginx/larder-http.conf"

set --
[ -z "$prefix" ] || set -- -e "s|^\\( *location \\(= \\)*\\)/|\\1$prefix/|" -e "s| /larder:| $prefix/larder:|" \
    -e "s|# \\(fastcgi_param LARDER_PREFIX\\) .*|\\1 $prefix;|"
for file in larder.conf fastcgi.conf larder-server.conf tls.conf limits.conf; do
    render $file "$@" >"$run_dir/nginx/$file"
done

mkdir -p -- "$run_dir/nginx/docs"
cp -- "$source"/docs/* "$run_dir/nginx/docs/"
