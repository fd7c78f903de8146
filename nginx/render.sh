#!/bin/sh
# Usage: render.sh RUN_DIR ADDRESS:PORT [PREFIX]
# Writes RUN_DIR/nginx/ so that `nginx -p RUN_DIR -c RUN_DIR/nginx/nginx.conf` works as any user.
# PREFIX, such as /shop, serves everything below that path. In the environment: CONNECTIONS replaces the
# number of connections nginx may hold, SOCKETS the directory of the service's sockets (RUN_DIR), ACCESS_LOG
# the log's path (RUN_DIR/access.log).
set -eu
LC_ALL=C  # lengths in bytes
export LC_ALL

fail() {
    echo "render.sh: $1" >&2
    exit 1
}

[ $# -eq 2 ] || [ $# -eq 3 ] || fail "usage: render.sh RUN_DIR ADDRESS:PORT [PREFIX]"
run_dir=$1
listen=$2
prefix=${3:-}
connections=${CONNECTIONS:-1024}

case $run_dir in
    '') fail "the run directory must not be empty." ;;
    /*) ;;
    *) run_dir=$(pwd)/$run_dir ;;
esac
sockets=${SOCKETS:-$run_dir}
access_log=${ACCESS_LOG:-$run_dir/access.log}
# nginx would read these as quotes, variables or wildcards; sed would trip over the rest.
case $run_dir$sockets$access_log in
    *[[:cntrl:]]* | *[\"\'\\\$*?[\;{}\#\|\&]*)
        fail "the run directory, SOCKETS and ACCESS_LOG must hold no control characters and none of \" ' \\ \$ * ? [ ; { } # | &." ;;
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
case $listen in
    *[!][0-9A-Za-z.:_-]*) fail "the address may hold letters, digits and . : _ - [ ] alone." ;;
esac
case ${listen##*:} in
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

set -- -e "s|listen 8080|listen $listen|" -e "s|worker_connections 1024|worker_connections $connections|" \
    -e "s|2048;|$((connections + connections / 4 + 64));|"
if [ -n "$prefix" ]; then
    # Outside the prefix nginx would look for files.
    set -- "$@" -e '/include larder.conf/a\
        location / { return 404; }'
fi
{
    # As root, nginx's default user could not reach sockets below a private home.
    [ "$(id -u)" -ne 0 ] || echo "user root $(id -gn);"
    render nginx.conf "$@"
} >"$run_dir/nginx/nginx.conf"

render larder-http.conf >"$run_dir/nginx/larder-http.conf"

set --
[ -z "$prefix" ] || set -- -e "s|location / |location $prefix/ |" -e "s|/larder:write|$prefix/larder:write|"
[ -z "$prefix" ] || set -- "$@" -e "s|location = /docs |location = $prefix/docs |" -e "s|location /docs/ |location $prefix/docs/ |"
[ -z "$prefix" ] || set -- "$@" -e "s|location = /api/login |location = $prefix/api/login |"
[ -z "$prefix" ] || set -- "$@" -e "s|location = /metrics |location = $prefix/metrics |"
[ -z "$prefix" ] || set -- "$@" -e "s|# \\(fastcgi_param LARDER_PREFIX\\) .*|\\1 $prefix;|"
render larder.conf "$@" >"$run_dir/nginx/larder.conf"

set --
[ -z "$prefix" ] || set -- -e "s|^# \(fastcgi_param LARDER_PREFIX\) .*|\1 $prefix;|"
render fastcgi.conf "$@" >"$run_dir/nginx/fastcgi.conf"

mkdir -p -- "$run_dir/nginx/docs"
cp -- "$source"/docs/* "$run_dir/nginx/docs/"
