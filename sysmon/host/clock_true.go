package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// trueClock finds the clock, in hertz, that the firmware has measured at the
// ARM cores. It is what the CPU really runs at, throttled or not.
func trueClock(t tree, f *firmware) *locator[float64] {
	return &locator[float64]{
		tree: t,
		none: "no firmware to ask: " + strings.Join(mailboxDevices, " and ") + " are not there",
		scan: func(context.Context) []candidate[float64] {
			if !f.present() {
				return nil
			}
			return []candidate[float64]{{source: "firmware measure_clock", read: func(context.Context) (float64, error) {
				text, _, err := f.ask("measure_clock arm")
				if err != nil {
					return 0, err
				}
				return measuredClock(text)
			}}}
		},
	}
}

// measuredClock reads "frequency(0)=1000015168". Older firmware has another
// number in the brackets.
func measuredClock(text string) (float64, error) {
	index, value, ok := strings.Cut(strings.TrimPrefix(text, "frequency("), ")=")
	_, notIndex := strconv.Atoi(index)
	hertz, err := strconv.ParseUint(value, 10, 64)
	if !ok || !strings.HasPrefix(text, "frequency(") || notIndex != nil || err != nil {
		return 0, fmt.Errorf("measure_clock arm: want frequency(0)= and a number, not %.80q", text)
	}
	if hertz == 0 {
		return 0, errors.New("measure_clock arm: implausible clock of 0 Hz")
	}
	return float64(hertz), nil
}
