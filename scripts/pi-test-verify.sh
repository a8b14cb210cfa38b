# shellcheck shell=bash disable=SC2034,SC2154 # pi-test.sh, which sources it, sets its variables
# The check of pi-test.sh that has an emulated target verified over ssh.

# start_sshd makes a target for pi-verify: an sshd of its own on loopback, whose
# programs run on a Cortex-A76, and a scratch root with the program installed.
start_sshd() {
	local box=$tmp/box name
	mkdir -p "$box/opt/pichat/current" "$box/etc/systemd/system" "$box/etc/pichat" /run/sshd
	ln -s "$program" "$box/opt/pichat/current/pichat"
	echo "ListenStream=$port" >"$box/etc/systemd/system/pichat.socket"
	echo "PICHAT_MODEL=$model" >"$box/etc/pichat/pichat.env"
	for name in host user; do ssh-keygen -q -t ed25519 -N '' -f "$tmp/$name"; done
	cat >"$tmp/sshd_config" <<-END
		ListenAddress 127.0.0.1:$ssh_port
		HostKey $tmp/host
		AuthorizedKeysFile $tmp/user.pub
		StrictModes no
		UsePAM no
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitRootLogin prohibit-password
		PidFile none
		SetEnv DEPLOY_ROOT=$box HOME=$box QEMU_CPU=cortex-a76
	END
	cat >"$tmp/ssh_config" <<-END
		Host box
		  HostName 127.0.0.1
		  Port $ssh_port
		  IdentityFile $tmp/user
		  IdentitiesOnly yes
		  IdentityAgent none
		  GlobalKnownHostsFile /dev/null
		  UserKnownHostsFile $tmp/known_hosts
	END
	echo "[127.0.0.1]:$ssh_port $(<"$tmp/host.pub")" >"$tmp/known_hosts"
	/usr/sbin/sshd -D -e -f "$tmp/sshd_config" 2>"$tmp/sshd.log" &
	sshd=$!
}

# check_verify runs make pi-verify against the emulated target: few tokens, and
# a report that says whose figures they are not.
check_verify() {
	local words report rc=0
	if [[ ! -x /usr/sbin/sshd ]]; then
		say "verify is skipped: no /usr/sbin/sshd (apt-get install openssh-server)"
		return
	fi
	start_sshd
	SSH="ssh -F $tmp/ssh_config" make --no-print-directory pi-verify PI=box SECONDS=1 TOKENS=8 >"$tmp/verify.log" 2>&1 || rc=$?
	expect "pi-verify without a service (status $rc)" "$(<"$tmp/verify.log")" 'no service answers at http://127.0.0.1:'"$port"
	replace="exec" on cortex-a76 "$program" serve --model "$model" --slots 1 --context 512 --threads 2 \
		--listen "127.0.0.1:$port" --no-qr >"$tmp/serve.log" 2>&1 &
	server=$!
	if ! comes_up readyz; then
		bad "the server has no model: $(<"$tmp/serve.log")"
		return
	fi
	rc=0
	words=$(SSH="ssh -F $tmp/ssh_config" make --no-print-directory pi-verify PI=box SECONDS=1 TOKENS=8 2>&1) || rc=$?
	if ((rc == 0)); then ok "pi-verify finds nothing that differs"; else bad "pi-verify ends with $rc: $words"; fi
	expect "whose figures" "$words" 'NOT A RASPBERRY PI, BUT AN EMULATION. No figure in this file is a Pi'
	report=$(sed -nE 's/.*box: (dist\/verify\/box-not-a-pi-emulated-.*)\.json and \.md$/\1/p' <<<"$words")
	expect "its file" "$report" '^dist/verify/box-not-a-pi-emulated-'
	[[ -n $report ]] || return 0
	expect "flavour" "$(<"$report.md")" '^\| flavour that runs \| a76 \(as expected'
	expect "kernels" "$(<"$report.md")" '^\| kernels use \|.* dotprod'
	expect "pace, by emulation" "$(<"$report.md")" '^\| tokens/s \| [0-9.]+ \|'
	kill "$server"
	wait "$server" || true
	server=''
}
