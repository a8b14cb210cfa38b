//go:build !carries

package handover

// carried is empty: this build is one program.
var carried []byte
