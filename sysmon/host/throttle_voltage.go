package host

import (
	"context"
	"fmt"
	"time"

	"pichat/sysmon"
)

// alarmHold is how long an under-voltage alarm is kept up after its last
// sight. On a bad supply the alarm comes and goes every few seconds, and what
// people must see is the bad supply.
const alarmHold = 6 * time.Second

const voltageSource = "hwmon rpi_volt"

// voltageMonitor is the throttleSource of the hwmon device rpi_volt. It needs
// no privilege but knows only under-voltage, and only whether it acts now.
type voltageMonitor struct {
	tree tree
	now  func() time.Time

	lastAlarm time.Time // zero when none was seen
}

func (m *voltageMonitor) candidates() []candidate[sysmon.Throttle] {
	var found []candidate[sysmon.Throttle]
	for _, h := range m.tree.hwmons() {
		if h.name != "rpi_volt" {
			continue
		}
		name := h.dir + "/in0_lcrit_alarm"
		found = append(found, candidate[sysmon.Throttle]{
			source: voltageSource,
			read:   func(context.Context) (sysmon.Throttle, error) { return m.read(name) },
		})
	}
	return found
}

func (m *voltageMonitor) read(name string) (sysmon.Throttle, error) {
	alarm, err := m.tree.readValue(name)
	if err != nil {
		return sysmon.Throttle{}, err
	}
	now := m.now()
	switch alarm {
	case "0":
	case "1":
		m.lastAlarm = now
	default:
		return sysmon.Throttle{}, fmt.Errorf("want 0 or 1, not %q: %s", alarm, name)
	}
	seen := !m.lastAlarm.IsZero()
	throttle := sysmon.UnknownThrottle("rpi_volt reports under-voltage only")
	throttle.Now.UnderVoltage = sysmon.Measured(seen && now.Sub(m.lastAlarm) < alarmHold, voltageSource)
	throttle.SinceBoot.UnderVoltage = sysmon.Unknown[bool]("rpi_volt reports the present only")
	if seen {
		throttle.SinceBoot.UnderVoltage = sysmon.Measured(true, voltageSource)
	}
	return throttle, nil
}
