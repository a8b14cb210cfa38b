#!/usr/bin/env bash
# Builds dist/pichat-linux-arm64: one file that runs on every 64-bit Pi, with its
# checksums and the licences of what is in it.
#
#   scripts/pi.sh
#
# On a machine that has no compiler for it and cannot get one, or where BUILD_ON
# asks for it, scripts/build-on-pi.sh does the same over ssh on a Pi.
#
# Environment: that of scripts/bundle.sh, which does the work, and
#   BUILD_ON, PI   see scripts/build-on-pi.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# can_build tells whether this machine has a compiler for 64-bit ARM Linux, or can
# install one.
can_build() {
	[[ $(uname -s) == Linux ]] || return
	[[ -n ${CROSS:-} || $(uname -m) == aarch64 ]] || has aarch64-linux-gnu-g++ || has apt-get
}

if [[ -n ${BUILD_ON:-} ]] || ! can_build; then
	exec "$root/scripts/build-on-pi.sh"
fi
[[ $(uname -m) != aarch64 || $(getconf LONG_BIT) == 64 ]] ||
	fail "this system is 32-bit (the kernel says aarch64 all the same): build on a 64-bit Raspberry Pi OS, or on another machine"
exec "$root/scripts/bundle.sh" arm64
