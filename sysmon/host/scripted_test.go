package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// scriptedMailbox is a firmware that answers as a file of the tree says: lines
// of "> command", each followed by its reply. A file that says "denied" cannot
// be opened, and what is not in the script is not registered. It stands in
// for the kernel's device: messages are packed and unpacked as on a board.
type scriptedMailbox struct{ replies map[string]string }

// openScripted opens the device files of a tree as scripted mailboxes.
func openScripted(path string) (Mailbox, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(data)) == "denied" {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.EACCES}
	}
	m := &scriptedMailbox{map[string]string{}}
	for part := range strings.SplitSeq(strings.TrimPrefix(string(data), "> "), "\n> ") {
		command, text, _ := strings.Cut(part, "\n")
		m.replies[command] = text
	}
	return m, nil
}

func (m *scriptedMailbox) Property(w []uint32) error {
	// What the firmware, and the kernel's filter on vcio_gencmd, insist on.
	if len(w) < 7 || int(w[0]) != 4*len(w) || w[1] != 0 || w[2] != 0x00030080 || w[len(w)-1] != 0 {
		return fmt.Errorf("malformed message %#x", w[:min(len(w), 7)])
	}
	command := unpackText(w[6:])
	if strings.HasPrefix(command, "get_throttled") && command != "get_throttled" {
		return errors.New("an argument to get_throttled clears its sticky bits")
	}
	text, ok := m.replies[command]
	if !ok {
		text = `error=1 error_msg="Command not registered"`
	}
	w[1] = 0x80000000
	clear(w[5:])
	for i, b := range []byte(text) {
		var word [4]byte
		binary.NativeEndian.PutUint32(word[:], w[6+i/4])
		word[i%4] = b
		w[6+i/4] = binary.NativeEndian.Uint32(word[:])
	}
	return nil
}

func (*scriptedMailbox) Close() error { return nil }

func unpackText(words []uint32) string {
	var text []byte
	for _, w := range words {
		text = binary.NativeEndian.AppendUint32(text, w)
	}
	s, _, _ := strings.Cut(string(text), "\x00")
	return s
}

// boardReaders reads a tree with its scripted mailbox.
func boardReaders(root string) Config { return Config{Root: root, OpenMailbox: openScripted} }

// mailboxWith is a tree that holds one scripted device.
func mailboxWith(t *testing.T, device, script string) Config {
	t.Helper()
	root := t.TempDir()
	put(t, root, "dev/"+device, script)
	return boardReaders(root)
}
