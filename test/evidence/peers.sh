#!/usr/bin/env bash
# peers.sh DIR puts Debian's rsyslog and syslog-ng into DIR without installing them: the packages conflict with
# each other, and each would become the machine's own logger. It fails without apt-get or a mirror.
set -euo pipefail

dir=$1
[ ! -e "$dir/complete" ] || exit 0
mkdir -p "$dir/packages"
cd "$dir/packages"
apt-get -qq update
apt-get -qq download rsyslog libestr0 libfastjson4 syslog-ng-core libivykis0 libnet1 libpcre3
for package in *.deb; do
    dpkg -x "$package" ..
done
touch ../complete
