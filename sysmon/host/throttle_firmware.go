package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pichat/sysmon"
)

const sysfsThrottled = "sysfs get_throttled"

// firmwareWord is the throttleSource of the file in which the Raspberry Pi
// kernel shows the firmware's get_throttled word: hexadecimal without 0x. Newer
// kernels on a Pi 5 no longer have it. The kernel logs a warning at its first
// read, and answers with a value that it may have kept for a while.
func (t tree) firmwareWord() []candidate[sysmon.Throttle] {
	var found []candidate[sysmon.Throttle]
	for _, name := range t.glob("/sys/devices/platform/soc*/soc*:firmware/get_throttled") {
		found = append(found, candidate[sysmon.Throttle]{
			source: sysfsThrottled,
			read: func(context.Context) (sysmon.Throttle, error) {
				text, err := t.readValue(name)
				if err != nil {
					return sysmon.Throttle{}, err
				}
				word, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
				if err != nil {
					return sysmon.Throttle{}, fmt.Errorf("not a hexadecimal word, %q: %s", text, name)
				}
				return sysmon.DecodeThrottled(uint32(word), sysfsThrottled), nil
			},
		})
	}
	return found
}
