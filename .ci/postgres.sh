#!/usr/bin/env bash
# A throw-away PostgreSQL for the tests of the store.
#   eval "$(bash .ci/postgres.sh start)"    starts one unless it runs, sets POSTGRES_FOR_TESTS
#   bash .ci/postgres.sh stop               stops it and removes its folder
# It listens on a socket in a folder of its own, POSTGRES_FOR_TESTS_DIR (by default one for each user
# and checkout); it writes nothing to disk for safety, so keep nothing in it.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
folder=${POSTGRES_FOR_TESTS_DIR:-${TMPDIR:-/tmp}/tollens-pg-$(id -u)-$(cksum <<<"$here" | cut -d' ' -f1)}

say() { echo "$*" >&2; }

# where the server's programs are; Debian keeps them out of PATH, the newest version counts
binaries() {
  local found
  found=$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1) || true
  [ -n "$found" ] || found=$(command -v initdb || true)
  [ -n "$found" ] || found=$(pg_config --bindir 2>/dev/null | sed 's:$:/initdb:') || true
  [ -n "$found" ] && [ -x "$found" ] && [ -x "$(dirname "$found")/pg_ctl" ] && dirname "$found"
}

install_server() {
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo="sudo -n"
  command -v apt-get >/dev/null || { say "no PostgreSQL server found: install one (initdb, pg_ctl)"; exit 1; }
  say "installing PostgreSQL"
  $sudo apt-get update -qq >&2
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2
}

# the server refuses to run as root
as_owner() {
  if [ "$(id -u)" = 0 ]; then (cd / && runuser -u postgres -- "$@"); else "$@"; fi
}

running() { [ -f "$folder/data/PG_VERSION" ] && as_owner "$bin/pg_ctl" -D "$folder/data" status >/dev/null 2>&1; }

# only a folder that this script made, or an empty one, is removed
remove() {
  if [ -n "$(ls -A "$folder" 2>/dev/null)" ] && [ ! -f "$folder/password" ]; then
    say "$folder holds something else; set POSTGRES_FOR_TESTS_DIR to a folder that is not there"
    exit 1
  fi
  rm -rf "$folder"
}

start() {
  if ! running; then
    remove
    mkdir -p "$folder"
    chmod 755 "$folder"
    echo tollens >"$folder/password"
    [ "$(id -u)" != 0 ] || chown -R postgres "$folder"
    as_owner "$bin/initdb" -D "$folder/data" -U tollens --pwfile="$folder/password" \
      --auth=scram-sha-256 -E UTF8 --locale=C --no-sync >"$folder/log" 2>&1 ||
      { cat "$folder/log" >&2; exit 1; }
    as_owner "$bin/pg_ctl" -D "$folder/data" -l "$folder/data/log" -w -t 60 \
      -o "-k '$folder' -c listen_addresses= -c fsync=${POSTGRES_FOR_TESTS_FSYNC:-off}" start >/dev/null ||
      { cat "$folder/data/log" >&2; exit 1; }
  fi
  echo "export POSTGRES_FOR_TESTS='postgresql://tollens:tollens@/postgres?host=$folder'"
}

stop() {
  ! running || as_owner "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null
  remove
}

bin=$(binaries) || bin=""
case "${1:-}" in
  start)
    [ -n "$bin" ] || { install_server; bin=$(binaries) || { say "no initdb after installing"; exit 1; }; }
    start ;;
  stop) [ -z "$bin" ] || stop ;;
  *) say "usage: postgres.sh start|stop"; exit 2 ;;
esac
