#!/bin/sh
# The store tests want a real PostgreSQL server: use the one installed, install Debian's when root, else say so.
have() { ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null 2>&1; }
have && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } >/dev/null 2>&1 && have && exit 0
fi
echo "NOT RUN: postgres, no server binary is installed and it could not be installed"
exit 0
