package host

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"pichat/sysmon"
)

const loadFile = "/proc/loadavg"

// loadAverage reads the load averages. gopsutil asks sysinfo(2) when it cannot
// read the file, and so answers for another machine than it was pointed at.
func (t tree) loadAverage(context.Context) sysmon.Reading[sysmon.LoadAverage] {
	text, err := t.readValue(loadFile)
	if err != nil {
		return sysmon.Unknown[sysmon.LoadAverage](t.reason(err))
	}
	var load sysmon.LoadAverage
	fields := strings.Fields(text)
	for i, to := range []*float64{&load.One, &load.Five, &load.Fifteen} {
		if i >= len(fields) {
			return sysmon.Unknown[sysmon.LoadAverage](fmt.Sprintf("want three numbers, not %q: %s", text, loadFile))
		}
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return sysmon.Unknown[sysmon.LoadAverage](fmt.Sprintf("not a load, %q: %s", fields[i], loadFile))
		}
		*to = v
	}
	return sysmon.Measured(load, loadFile)
}
