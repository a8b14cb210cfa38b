package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pichat/sysmon"
)

// throttleCandidates is the throttleSource of the firmware's mailbox: all eight
// flags, fresh at every look.
func (f *firmware) throttleCandidates() []candidate[sysmon.Throttle] {
	if !f.present() {
		return nil
	}
	return []candidate[sysmon.Throttle]{{
		source: "firmware mailbox",
		read: func(context.Context) (sysmon.Throttle, error) {
			text, device, err := f.ask("get_throttled")
			if err != nil {
				return sysmon.Throttle{}, err
			}
			word, err := throttledWord(text)
			if err != nil {
				return sysmon.Throttle{}, err
			}
			return sysmon.DecodeThrottled(word, device+" get_throttled"), nil
		},
	}}
}

// throttledWord reads "throttled=0x50005".
func throttledWord(text string) (uint32, error) {
	value, ok := strings.CutPrefix(text, "throttled=0x")
	if ok {
		if word, err := strconv.ParseUint(value, 16, 32); err == nil {
			return uint32(word), nil
		}
	}
	return 0, fmt.Errorf("get_throttled: want throttled=0x and a word, not %.80q", text)
}
