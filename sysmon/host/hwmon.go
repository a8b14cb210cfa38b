package host

import "strings"

const hwmonDir = "/sys/class/hwmon"

// hwmon is one device of the kernel's hardware monitoring.
type hwmon struct {
	dir  string // such as /sys/class/hwmon/hwmon2
	name string // as in its name file, with '-' written '_'
}

// hwmons lists the devices that have a name, by number. The number says
// nothing: it is the order in which drivers loaded, and changes with the
// kernel and from boot to boot. Only the name tells what a device is.
func (t tree) hwmons() []hwmon {
	var all []hwmon
	for _, entry := range t.list(hwmonDir, "hwmon") {
		dir := hwmonDir + "/" + entry
		if name, err := t.readValue(dir + "/name"); err == nil {
			all = append(all, hwmon{dir: dir, name: normalName(name)})
		}
	}
	return all
}

// normalName spells a sensor's name in one way: kernels differ in '-' and '_'.
func normalName(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), "-", "_")
}
