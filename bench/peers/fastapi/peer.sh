#!/bin/bash
# See bench/peers/README.md for the verbs. Debian's packages for Debian's Python, which is not always the first in PATH.
set -euo pipefail
cd "$(dirname "$0")"
python=/usr/bin/python3
packages=(python3-fastapi python3-uvicorn python3-uvloop python3-httptools)

case ${1:-} in
install)
    # not commands, so always missing to packages.sh
    if ! $python -c 'import fastapi, uvicorn, uvloop, httptools' 2>/dev/null &&
        ! ../../../tools/packages.sh "${packages[@]/#/python-module:=}" >&2; then
        echo "Debian's packages of FastAPI cannot be installed."
        exit 1
    fi
    ;;
build) ;;
version)
    $python -c 'import platform, sqlite3, fastapi, uvicorn
print("Python %s, FastAPI %s, uvicorn %s, SQLite %s" % (
    platform.python_version(), fastapi.__version__, uvicorn.__version__, sqlite3.sqlite_version))'
    ;;
size) # Python, the packages, those they load, and the source
    installed=$(dpkg-query --show --showformat='${Installed-Size}\n' libpython3.11-minimal libpython3.11-stdlib \
        python3.11-minimal libsqlite3-0 "${packages[@]}" python3-anyio python3-asgiref python3-click python3-pydantic \
        python3-sniffio python3-starlette python3-typing-extensions | awk '{ kib += $1 } END { print kib * 1024 }')
    echo $((installed + $(cat ./*.py | wc -c)))
    ;;
kind) echo http ;;
serve)
    # a proxy in front keeps its connections for less long than the peer
    export PYTHONDONTWRITEBYTECODE=1
    exec $python -m uvicorn app:app --host 127.0.0.1 --port "$PORT" --workers 2 --loop uvloop --http httptools \
        --timeout-keep-alive 65 --backlog 4096 --no-access-log --log-level warning
    ;;
*)
    echo "usage: peer.sh install|build|version|size|kind|serve" >&2
    exit 2
    ;;
esac
