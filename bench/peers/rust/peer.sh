#!/bin/bash
# See bench/peers/README.md for the verbs. Debian's compiler and crates: what rustup may have put first in PATH is
# newer, but not what the crates were built and tested with, and not on every machine.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
out=$root/build/bench/rust
crates=(base64 chrono hmac hyper rand rusqlite serde serde-json sha2 socket2 tokio)

case ${1:-} in
install)
    packages=(gcc=gcc stdlib.h=libc6-dev sqlite3.h=libsqlite3-dev npm=npm /usr/bin/cargo=cargo /usr/bin/rustc=rustc)
    for crate in "${crates[@]}"; do
        # found by nothing, so always missing to packages.sh
        compgen -G "/usr/share/cargo/registry/${crate/-/_}-[0-9]*" >/dev/null || packages+=("lib$crate=librust-$crate-dev")
    done
    if ! "$root/tools/packages.sh" "${packages[@]}" >&2; then
        echo "Debian's packages of Rust cannot be installed."
        exit 1
    fi
    if ! "$root/tools/sqlite.sh" "$root/build/sqlite" >&2; then
        echo "SQLite's source cannot be fetched with npm."
        exit 1
    fi
    ;;
build)
    # what the driver gives its own copy (libsqlite3-sys, feature bundled, less what only adds functions), as -O3
    ../sqlite.sh "$out" -O3 -DSQLITE_CORE -DSQLITE_DEFAULT_FOREIGN_KEYS=1 -DSQLITE_ENABLE_API_ARMOR \
        -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_FTS3 \
        -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_LOAD_EXTENSION=1 \
        -DSQLITE_ENABLE_MEMORY_MANAGEMENT -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_STAT4 -DSQLITE_SOUNDEX \
        -DSQLITE_THREADSAFE=1 -DSQLITE_USE_URI -DHAVE_USLEEP=1 -D_POSIX_THREAD_SAFE_FUNCTIONS
    mkdir -p "$out/source/.cargo"
    cp -r Cargo.toml src "$out/source/"
    printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' \
        >"$out/source/.cargo/config.toml"
    export CARGO_HOME=$out/cargo RUSTC=/usr/bin/rustc SQLITE3_LIB_DIR=$out SQLITE3_STATIC=1 SQLITE3_NO_PKG_CONFIG=1
    export SQLITE3_INCLUDE_DIR=$root/build/sqlite RUSTC_VERSION
    RUSTC_VERSION=$(/usr/bin/rustc --version)
    cd "$out/source"
    /usr/bin/cargo build --offline --release --quiet --target-dir "$out/target"
    ;;
version) "$out/target/release/peer" version ;;
size) stat -c %s "$out/target/release/peer" ;;
kind) echo http ;;
serve) exec "$out/target/release/peer" ;;
*)
    echo "usage: peer.sh install|build|version|size|kind|serve" >&2
    exit 2
    ;;
esac
