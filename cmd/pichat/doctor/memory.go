package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"pichat/cmd/pichat/boot"
)

const (
	// swapped is how much in swap is more than what idle programs leave there.
	swapped = 256 << 20
	// pressed is the share of time, in percent, in which tasks waited for
	// memory or the disk over the last ten seconds, from where on it is felt.
	pressed = 10
)

// swap looks at where memory is moved to: compressed memory, or a disk.
func (c Config) swap() Finding {
	const name = "swap"
	text, err := c.read("/proc/swaps")
	if err != nil {
		return Finding{name, "/proc/swaps: " + because(err), Unknown, ""}
	}
	var places []string
	onDisk := uint64(0)
	for i, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if i == 0 || len(f) < 4 {
			continue // the heading
		}
		size, sizeErr := strconv.ParseUint(f[2], 10, 64)
		used, usedErr := strconv.ParseUint(f[3], 10, 64)
		if sizeErr != nil || usedErr != nil {
			continue
		}
		place := f[0]
		if strings.Contains(f[0], "zram") {
			place += " (compressed memory" + c.compression(f[0]) + ")"
		} else {
			onDisk += used << 10
		}
		places = append(places, fmt.Sprintf("%s, %s, %s used", place, boot.Bytes(size<<10), boot.Bytes(used<<10)))
	}
	switch {
	case len(places) == 0:
		return Finding{name, "none", OK, ""}
	case onDisk >= swapped:
		return Finding{name, strings.Join(places, "; "), Warning,
			"memory was short, and swapping to a card stalls replies and wears it: take a smaller model or --context, or swap to zram"}
	}
	return Finding{name, strings.Join(places, "; "), OK, ""}
}

// compression says how much zram saves, by the first three numbers of its
// mm_stat: stored bytes, the same compressed, memory in use.
func (c Config) compression(device string) string {
	text, err := c.read("/sys/block/" + device[strings.LastIndex(device, "/")+1:] + "/mm_stat")
	f := strings.Fields(text)
	if err != nil || len(f) < 3 {
		return ""
	}
	stored, _ := strconv.ParseUint(f[0], 10, 64)
	taken, err := strconv.ParseUint(f[2], 10, 64)
	if err != nil || stored < 1<<20 {
		return ""
	}
	return fmt.Sprintf(", holds %s in %s", boot.Bytes(stored), boot.Bytes(taken))
}

// pressure reads how long tasks have waited for the CPU, memory and disks.
func (c Config) pressure() Finding {
	f := Finding{"pressure", "", OK, ""}
	var words []string
	for _, kind := range []string{"cpu", "memory", "io"} {
		text, err := c.read("/proc/pressure/" + kind)
		if errors.Is(err, fs.ErrNotExist) || err != nil && strings.Contains(err.Error(), "not supported") {
			return Finding{f.Name, "the kernel keeps no count: it was started without psi=1", Unknown,
				"to have it, add psi=1 to the one line of /boot/firmware/cmdline.txt and reboot"}
		}
		share, ok := someAvg10(text)
		if err != nil || !ok {
			return Finding{f.Name, fmt.Sprintf("/proc/pressure/%s cannot be read", kind), Unknown, ""}
		}
		words = append(words, fmt.Sprintf("%s %.0f %%", kind, share))
		if share < pressed {
			continue
		}
		switch kind {
		case "memory":
			f.State, f.Remedy = Warning, "memory is short: take a smaller model or --context, or stop other programs"
		case "io":
			f.State = Warning
			f.Remedy = strings.TrimPrefix(f.Remedy+"; the disk holds things up: see what reads it (iotop), or move the model to an SSD", "; ")
		}
	}
	f.Value = "of the last 10 s tasks waited for: " + strings.Join(words, ", ")
	return f
}

// someAvg10 reads "some avg10=1.23 avg60=… total=…".
func someAvg10(text string) (float64, bool) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "some" {
			value, is := strings.CutPrefix(f[1], "avg10=")
			share, err := strconv.ParseFloat(value, 64)
			return share, is && err == nil
		}
	}
	return 0, false
}
