#!/usr/bin/env bash
# Builds one file for every 64-bit Pi: dist/pichat-linux-arm64, with its
# checksums and the licences of what is in it. docs/pi.md tells more.
#
#   scripts/pi.sh
#
# Environment: that of scripts/bundle.sh, which does the work.
set -euo pipefail
# Before anything that an older bash of another system does not know.
if [[ $(uname -s) != Linux ]]; then
	echo "pi.sh: this builds on Linux only, and this is $(uname -s): run 'make pi' on a Linux machine, in a Linux container, or in a clone on the Pi itself" >&2
	exit 1
fi
exec "$(dirname "${BASH_SOURCE[0]}")/bundle.sh" arm64
