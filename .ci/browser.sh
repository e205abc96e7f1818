#!/usr/bin/env bash
# A browser for the tests of the dashboard and of reports: Debian's chromium, installed unless it is there.
# Where it cannot be installed it says so and ends with 0; those tests are then skipped.
set -euo pipefail

say() { echo "$*" >&2; }

for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
command -v apt-get >/dev/null || { say "no browser and no apt-get: tests in a browser are skipped"; exit 0; }
sudo=""
[ "$(id -u)" = 0 ] || sudo="sudo -n"
say "installing chromium"
{
  $sudo apt-get update -qq &&
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
} >&2 || say "chromium cannot be installed: tests in a browser are skipped"
