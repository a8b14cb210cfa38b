package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"pichat/sysmon"
)

const statmFile = "/proc/self/statm"

// processMemory reads this program's resident memory. statm counts pages,
// whose size differs: 16 KiB on a Pi 5, 4 KiB elsewhere.
func processMemory(t tree, pageSize int) func(context.Context) sysmon.Reading[sysmon.ProcessMemory] {
	page := uint64(pageSize)
	return func(context.Context) sysmon.Reading[sysmon.ProcessMemory] {
		text, err := t.readValue(statmFile)
		if err != nil {
			return sysmon.Unknown[sysmon.ProcessMemory](t.reason(err))
		}
		// Fields: size, resident, and the part of resident that files back.
		var pages [3]uint64
		fields := strings.Fields(text)
		for i := range pages {
			if i >= len(fields) {
				return sysmon.Unknown[sysmon.ProcessMemory](fmt.Sprintf("want three numbers, not %q: %s", text, statmFile))
			}
			if pages[i], err = strconv.ParseUint(fields[i], 10, 48); err != nil {
				return sysmon.Unknown[sysmon.ProcessMemory](fmt.Sprintf("not a number of pages, %q: %s", fields[i], statmFile))
			}
		}
		resident := pages[1]
		file := min(pages[2], resident) // the kernel's two counters are not read at one instant
		return sysmon.Measured(sysmon.ProcessMemory{
			ResidentBytes: resident * page,
			FileBytes:     file * page,
			AnonBytes:     (resident - file) * page,
		}, statmFile)
	}
}
