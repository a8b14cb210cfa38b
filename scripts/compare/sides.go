package main

import (
	"fmt"
	"strconv"
	"strings"
)

// shape is what both sides must have in common.
type shape struct {
	slots  int
	window int // tokens a slot holds
}

// ours is bin/pichat with its own choices for all but the shape.
func (c config) ours(s shape) launch {
	return launch{
		name: "pichat", program: c.pichat, ready: "/readyz",
		args: append([]string{"serve", "--no-qr", "--log-level", "warn", "--model", c.model,
			"--slots", strconv.Itoa(s.slots), "--context", strconv.Itoa(s.window)}, c.pichatFlags...),
		address: func(host, port string) []string { return []string{"--listen", host + ":" + port} },
	}
}

// peerFlags are the flags of llama-server that a sweep varies. Zero values are
// left to its own choice.
type peerFlags struct {
	Threads int  `json:"threads,omitempty"`
	Batch   int  `json:"batch,omitempty"`
	UBatch  int  `json:"ubatch,omitempty"`
	Unified bool `json:"unified,omitempty"`
	Slots   int  `json:"slots,omitempty"` // in place of the shape's
}

// args are the flags as llama-server takes them.
func (f peerFlags) args() []string {
	var args []string
	for _, p := range []struct {
		flag  string
		value int
	}{{"--threads", f.Threads}, {"--batch-size", f.Batch}, {"--ubatch-size", f.UBatch}} {
		if p.value > 0 {
			args = append(args, p.flag, strconv.Itoa(p.value))
		}
	}
	if f.Unified {
		args = append(args, "--kv-unified")
	}
	return args
}

func (f peerFlags) String() string {
	args := f.args()
	if f.Slots > 0 {
		args = append(args, "-np", strconv.Itoa(f.Slots))
	}
	if len(args) == 0 {
		return "default flags"
	}
	return strings.Join(args, " ")
}

// peer is llama-server. Its context is that of all slots together.
func (c config) peer(s shape, f peerFlags) launch {
	slots := s.slots
	if f.Slots > 0 {
		slots = f.Slots
	}
	args := append([]string{"--model", c.model, "--parallel", strconv.Itoa(slots),
		"--ctx-size", strconv.Itoa(slots * s.window)}, f.args()...)
	return launch{
		name: "llama-server", program: c.llamaServer, ready: "/health", args: args,
		address: func(host, port string) []string { return []string{"--host", host, "--port", port} },
	}
}

func (s shape) String() string { return fmt.Sprintf("%d slots of %d tokens", s.slots, s.window) }
