# shellcheck shell=bash disable=SC2034 # whoever sources it reads why_not
# Lets the kernel start programs for 64-bit ARM by qemu, for as long as a script
# runs. Sourced after lib.sh, never run. It takes root.

binfmt=/proc/sys/fs/binfmt_misc
binfmt_entry=pichat-arm-$$ binfmt_mounted='' binfmt_done='' why_not=''

# arm_is_registered asks the kernel whether ARM programs go to an emulator. It does
# not try one: env would give a program that does not run to the shell, as a script.
arm_is_registered() {
	local text
	for text in "$binfmt"/*; do
		text=$(cat "$text" 2>/dev/null) || continue
		[[ $text == enabled* && $text == *'magic 7f454c460201'*b700* ]] && return
	done
	return 1
}

# register_arm makes the kernel start ARM programs by qemu. F opens qemu now, so that
# it is found wherever the program that starts another looks. What was registered
# already stays as it is. Fails with why_not set where this machine does not let it.
register_arm() {
	[[ -z $binfmt_done ]] || return 0
	if [[ ! -e $binfmt/register ]]; then
		why_not="binfmt_misc cannot be mounted here (it takes root, and a kernel that has it)"
		mount -t binfmt_misc none "$binfmt" 2>/dev/null || return
		binfmt_mounted=yes
	fi
	if arm_is_registered; then
		say "ARM programs run here already; what is registered for them stays as it is"
		binfmt_done=yes
		return
	fi
	# An ELF file of 64 bits, little-endian, for machine 183, AArch64.
	printf '%s' ":$binfmt_entry:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$(command -v qemu-aarch64-static):F" \
		2>/dev/null >"$binfmt/register" || {
		why_not="qemu cannot be registered with binfmt_misc (it takes root)"
		return 1
	}
	[[ -e $binfmt/$binfmt_entry ]] || fail "the kernel took the registration, but $binfmt/$binfmt_entry is not there"
	binfmt_done=yes
}

# unregister_arm takes back what register_arm did.
unregister_arm() {
	[[ ! -e $binfmt/$binfmt_entry ]] || echo -1 >"$binfmt/$binfmt_entry"
	[[ -z $binfmt_mounted ]] || umount "$binfmt" || say "$binfmt stays mounted"
}
