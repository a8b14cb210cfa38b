package host

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Mailbox is an open device of the Raspberry Pi firmware's property interface.
// It is used by one caller at a time.
type Mailbox interface {
	// Property hands the message to the firmware, which answers in its place.
	Property(message []uint32) error
	Close() error
}

// Layout of a message that carries one command of vcgencmd as text. Tag and
// layout are those of the firmware's property interface:
// https://github.com/raspberrypi/firmware/wiki/Mailbox-property-interface
const (
	gencmdTag  = 0x00030080
	replied    = 0x80000000 // in word 1: the firmware has understood
	codeWord   = 5          // the command's own error code
	textWord   = 6          // the command, and then the reply
	textBytes  = 1024
	totalWords = textWord + textBytes/4 + 1 // the last is the end tag, 0
)

// errNotRegistered is a command that this board's firmware does not have.
var errNotRegistered = errors.New("the firmware of this board does not have it")

// message packs a command.
func message(command string) []uint32 {
	m := make([]uint32, totalWords)
	m[0] = totalWords * 4
	m[2] = gencmdTag
	m[3] = textBytes // room for the answer
	var text [textBytes]byte
	copy(text[:textBytes-1], command)
	for i := range textBytes / 4 {
		m[textWord+i] = binary.NativeEndian.Uint32(text[4*i:])
	}
	return m
}

// reply unpacks the firmware's answer.
func reply(m []uint32) (string, error) {
	if m[1] != replied {
		return "", fmt.Errorf("the firmware refused the request: code %#x", m[1])
	}
	var text [textBytes]byte
	for i := range textBytes / 4 {
		binary.NativeEndian.PutUint32(text[4*i:], m[textWord+i])
	}
	end := bytes.IndexByte(text[:], 0)
	if end < 0 {
		return "", fmt.Errorf("the firmware's reply does not end within %d bytes", textBytes)
	}
	s := strings.TrimSpace(string(text[:end]))
	switch {
	case strings.Contains(s, "Command not registered"):
		return "", errNotRegistered
	case m[codeWord] != 0 || strings.HasPrefix(s, "error="):
		return "", fmt.Errorf("the firmware reports error %d: %.80q", m[codeWord], s)
	}
	return s, nil
}
