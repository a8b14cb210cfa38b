package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v3/common"
	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"

	"pichat/sysmon"
)

// gopsutil is all that comes from gopsutil. No other file imports it: v3 gets
// no more releases, and a move to v4 should touch this file alone.
type gopsutil struct {
	tree     tree
	log      *slog.Logger
	warnOnce sync.Once
}

// in points gopsutil at our tree. The directories are always given, so that
// HOST_PROC and its kind in the environment cannot point gopsutil at one
// machine while our own readings look at another.
func (g *gopsutil) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: g.tree.path("/proc"),
		common.HostSysEnvKey:  g.tree.path("/sys"),
		common.HostEtcEnvKey:  g.tree.path("/etc"),
		common.HostVarEnvKey:  g.tree.path("/var"),
		common.HostRunEnvKey:  g.tree.path("/run"),
		common.HostDevEnvKey:  g.tree.path("/dev"),
		common.HostRootEnvKey: string(g.tree),
	})
}

// cpuTimes counts the machine's CPU time. We do not use cpu.Percent, which
// keeps its last count in a global: its first answer is wrong, and several
// callers take each other's interval away.
func (g *gopsutil) cpuTimes(ctx context.Context) sysmon.Reading[sysmon.CPUTimes] {
	all, err := cpu.TimesWithContext(g.in(ctx), false)
	if err != nil || len(all) == 0 {
		return sysmon.Unknown[sysmon.CPUTimes](g.why(err, "/proc/stat", "no CPU counters"))
	}
	c := all[0]
	idle := c.Idle + c.Iowait
	// Guest time is left out: the kernel counts it in User and Nice already.
	total := c.User + c.Nice + c.System + c.Irq + c.Softirq + c.Steal + idle
	return sysmon.Measured(sysmon.CPUTimes{Busy: seconds(total - idle), Total: seconds(total)}, "/proc/stat")
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// memory reads RAM and swap in one look. gopsutil's own Used can underflow,
// its UsedPercent can be NaN, and where it cannot read anything it returns
// zeros without an error. Its SwapMemory asks sysinfo(2), and so answers for
// the real machine whatever tree it was given.
func (g *gopsutil) memory(ctx context.Context) sysmon.Memory {
	const source = "/proc/meminfo"
	vm, err := mem.VirtualMemoryWithContext(g.in(ctx))
	if err != nil || vm.Total == 0 {
		reason := g.why(err, source, "no memory total")
		return sysmon.Memory{RAM: sysmon.Unknown[sysmon.RAM](reason), Swap: sysmon.Unknown[sysmon.Swap](reason)}
	}
	m := sysmon.Memory{
		RAM: sysmon.Measured(sysmon.RAM{
			TotalBytes:     vm.Total,
			AvailableBytes: vm.Available,
			UsedBytes:      vm.Total - vm.Available,
		}, source),
		Swap: sysmon.Measured(sysmon.Swap{TotalBytes: vm.SwapTotal, UsedBytes: vm.SwapTotal - vm.SwapFree}, source),
	}
	if vm.Available == 0 || vm.Available > vm.Total {
		m.RAM = sysmon.Unknown[sysmon.RAM](fmt.Sprintf("%d of %d bytes available is not plausible: %s", vm.Available, vm.Total, source))
	}
	if vm.SwapFree > vm.SwapTotal {
		m.Swap = sysmon.Unknown[sysmon.Swap](fmt.Sprintf("%d of %d bytes of swap free is not plausible: %s", vm.SwapFree, vm.SwapTotal, source))
	}
	return m
}

// cpuModel is the CPU's name; on ARM gopsutil looks it up by its part number.
func (g *gopsutil) cpuModel(ctx context.Context) sysmon.Reading[string] {
	// An error may come together with good entries.
	all, err := cpu.InfoWithContext(g.in(ctx))
	if len(all) == 0 {
		return sysmon.Unknown[string](g.why(err, "/proc/cpuinfo", "no CPU listed"))
	}
	switch name := strings.TrimSpace(all[0].ModelName); name {
	case "", "Undefined":
		return sysmon.Unknown[string](fmt.Sprintf("CPU of vendor %q, part %q has no known name", all[0].VendorID, all[0].Model))
	default:
		return sysmon.Measured(name, "/proc/cpuinfo")
	}
}

// cores counts the logical CPUs.
func (g *gopsutil) cores(ctx context.Context) sysmon.Reading[int] {
	n, err := cpu.CountsWithContext(g.in(ctx), true)
	if err != nil || n < 1 {
		return sysmon.Unknown[int](g.why(err, "/proc/cpuinfo", "no CPU listed"))
	}
	return sysmon.Measured(n, "/proc/cpuinfo")
}

// cpuSensorKeys are beginnings of gopsutil's sensor keys that stand for the
// CPU: our hwmon names, and the proximity and die sensors of a Mac.
var cpuSensorKeys = append(slices.Clone(cpuHwmons), "TC0P", "TC0D")

// temperatures lists the CPU sensors among gopsutil's, the best first. Good
// readings come together with an error that tells of the bad ones: they are
// kept, and the warning is logged once.
func (g *gopsutil) temperatures(ctx context.Context) []candidate[float64] {
	all := g.sensors(ctx)
	var found []candidate[float64]
	for _, want := range cpuSensorKeys {
		i := slices.IndexFunc(all, func(s host.TemperatureStat) bool { return strings.HasPrefix(s.SensorKey, want) })
		if i < 0 {
			continue
		}
		key := all[i].SensorKey
		found = append(found, candidate[float64]{source: "sensor " + key, read: func(ctx context.Context) (float64, error) {
			for _, s := range g.sensors(ctx) {
				if s.SensorKey == key {
					return plausible(s.Temperature)
				}
			}
			return 0, fmt.Errorf("sensor %s is gone", key)
		}})
	}
	return found
}

func (g *gopsutil) sensors(ctx context.Context) []host.TemperatureStat {
	all, err := host.SensorsTemperaturesWithContext(g.in(ctx))
	var warnings *host.Warnings
	if errors.As(err, &warnings) {
		g.warnOnce.Do(func() { g.log.Warn("some temperature sensors cannot be read", "warnings", warnings.List) })
	}
	return all
}

// why says what went wrong with a file. gopsutil often hides that it could not
// read one, so we look ourselves; otherwise says what was missing in it.
func (g *gopsutil) why(err error, name, otherwise string) string {
	if err != nil {
		return g.tree.reason(err)
	}
	f, err := os.Open(g.tree.path(name))
	if err != nil {
		return g.tree.reason(err)
	}
	defer f.Close()
	return fmt.Sprintf("%s: %s", otherwise, name)
}
