package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pichat/sysmon"
)

// machine writes files under a new directory, as a Config's Root.
func machine(t *testing.T, files map[string]string) Config {
	t.Helper()
	c := Config{Root: t.TempDir(), PageSize: 4096}
	for name, data := range files {
		path := filepath.Join(c.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// expect checks what a user is told: the state, a part of the value, and a
// remedy wherever something is wrong.
func expect(t *testing.T, f Finding, state State, value, remedy string) {
	t.Helper()
	if f.State != state || !strings.Contains(f.Value, value) || !strings.Contains(f.Remedy, remedy) {
		t.Errorf("got %+v, want %s, %q, remedy %q", f, state, value, remedy)
	}
	if f.State == Warning && f.Remedy == "" {
		t.Errorf("no remedy: %+v", f)
	}
}

func TestSystem(t *testing.T) {
	none := machine(t, nil)
	expect(t, none.bits(), Unknown, "no /bin/sh", "")
	expect(t, none.governor(), Unknown, "no such file", "")
	expect(t, none.dotProduct(), Unknown, "no such file", "")

	pi5 := machine(t, map[string]string{
		"usr/bin/sh": "\x7fELF\x02\x01", cpufreq + "scaling_governor": "ondemand\n",
		"proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd aes crc32 atomics fphp asimdhp asimddp\n",
	})
	expect(t, pi5.bits(), OK, "64-bit", "")
	expect(t, pi5.governor(), OK, "ondemand", "")
	expect(t, pi5.dotProduct(), OK, "has it", "")

	pi3 := machine(t, map[string]string{
		"bin/sh": "\x7fELF\x01\x01", cpufreq + "scaling_governor": "powersave\n",
		"proc/cpuinfo": "Features\t: fp asimd crc32 cpuid\n",
	})
	expect(t, pi3.bits(), Warning, "32-bit", "64-bit Raspberry Pi OS")
	expect(t, pi3.governor(), Warning, "holds the clock down", "echo ondemand")
	expect(t, pi3.dotProduct(), OK, "the CPU has none", "")

	pc := machine(t, map[string]string{
		cpufreq + "scaling_governor": "powersave\n", cpufreq + "scaling_driver": "intel_pstate\n", "proc/cpuinfo": "flags\t: avx2\n",
	})
	expect(t, pc.governor(), OK, "powersave (intel_pstate)", "")
	expect(t, pc.dotProduct(), Unknown, "no ARM CPU", "")
}

func TestPageSize(t *testing.T) {
	c := Config{PageSize: 16384}
	c.Readers.BoardModel = always(sysmon.Measured("Raspberry Pi 5 Model B Rev 1.0", "test"))
	expect(t, c.pages(t.Context()), OK, "16 KiB, as the Pi 5's own kernel has", "")
	c.PageSize = 4096
	expect(t, c.pages(t.Context()), OK, "4 KiB: not the Pi 5's own kernel", "")
	c.Readers.BoardModel = always(sysmon.Measured("Raspberry Pi 4 Model B Rev 1.4", "test"))
	if f := c.pages(t.Context()); f.Value != "4 KiB" {
		t.Errorf("a Pi 4: %+v", f)
	}
}

func TestSwap(t *testing.T) {
	const heading = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
	expect(t, machine(t, nil).swap(), Unknown, "no such file", "")
	expect(t, machine(t, map[string]string{"proc/swaps": heading}).swap(), OK, "none", "")
	zram := machine(t, map[string]string{
		"proc/swaps":              heading + "/dev/zram0 partition\t2097136\t500000\t100\n",
		"sys/block/zram0/mm_stat": " 512000000 128000000 130000000 0 130000000 0 0 0 0\n",
	})
	expect(t, zram.swap(), OK, "/dev/zram0 (compressed memory, holds 512.0 MB in 130.0 MB), 2.1 GB, 512.0 MB used", "")
	file := machine(t, map[string]string{"proc/swaps": heading + "/var/swap file\t524284\t400000\t-2\n"})
	expect(t, file.swap(), Warning, "/var/swap, 536.9 MB, 409.6 MB used", "zram")
}

func TestPressure(t *testing.T) {
	expect(t, machine(t, nil).pressure(), Unknown, "started without psi=1", "cmdline.txt")
	psi := func(memory, io string) Config {
		line := func(share string) string {
			return "some avg10=" + share + " avg60=0.10 avg300=0.05 total=12345\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
		}
		return machine(t, map[string]string{"proc/pressure/cpu": line("83.00"), "proc/pressure/memory": line(memory), "proc/pressure/io": line(io)})
	}
	expect(t, psi("0.00", "1.20").pressure(), OK, "cpu 83 %, memory 0 %, io 1 %", "")
	expect(t, psi("12.50", "0.00").pressure(), Warning, "memory 12 %", "memory is short")
	expect(t, psi("12.50", "40.00").pressure(), Warning, "io 40 %", "memory is short: take a smaller model or --context, or stop other programs; the disk")
	expect(t, psi("soon", "1").pressure(), Unknown, "/proc/pressure/memory cannot be read", "")
}

// What people are told of supply and cooling, by the firmware's word.
func TestSupplyAndCooling(t *testing.T) {
	tests := map[string]struct {
		word            uint32
		celsius         float64
		supply, cooling State
		says, tells     string
	}{
		"all well":                  {0x0, 55, OK, OK, "no under-voltage since boot", "55.0 °C"},
		"a weak supply now":         {0x50005, 55, Warning, OK, "under-voltage now: below 4.63 V", "55.0 °C"},
		"a weak supply, once":       {0x10000, 55, Warning, OK, "at some time since boot, not now", "55.0 °C"},
		"too hot now":               {0xE000E, 84, OK, Warning, "no under-voltage since boot", "slowed down by heat now"},
		"too hot once":              {0x80000, 60, OK, Warning, "no under-voltage since boot", "slowed down by heat at some time since boot"},
		"hot and not yet throttled": {0x0, 80.5, OK, Warning, "no under-voltage since boot", "80.5 °C"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Config{Readers: sysmon.Readers{
				TempCelsius: always(sysmon.Measured(tt.celsius, "test")),
				Throttle:    func(context.Context) sysmon.Throttle { return sysmon.DecodeThrottled(tt.word, "vcio") },
				Power: func(context.Context) sysmon.Power {
					return sysmon.Power{Watts: sysmon.Measured(6.82, "test"), SupplyVolts: sysmon.Measured(5.09, "test")}
				},
			}}
			found := c.limits(t.Context())
			expect(t, found[2], tt.supply, tt.says, "")
			expect(t, found[2], tt.supply, "5.09 V at the input, the board's rails take 6.8 W", "")
			expect(t, found[3], tt.cooling, tt.tells, "")
		})
	}
}

// A refused mailbox is named with its remedy; what the voltage monitor knows
// still counts.
func TestDeniedMailbox(t *testing.T) {
	reason := "firmware mailbox: permission denied: /dev/vcio"
	c := Config{Readers: sysmon.Readers{Throttle: func(context.Context) sysmon.Throttle { return sysmon.UnknownThrottle(reason) }}}
	found := c.limits(t.Context())
	expect(t, found[0], Unknown, reason, "usermod -aG video")
	expect(t, found[2], Unknown, reason, "")

	partly := sysmon.UnknownThrottle("rpi_volt reports under-voltage only; " + reason)
	partly.Now.UnderVoltage = sysmon.Measured(false, "hwmon rpi_volt")
	c.Readers.Throttle = func(context.Context) sysmon.Throttle { return partly }
	found = c.limits(t.Context())
	expect(t, found[0], OK, "no under-voltage; the rest is n/a: rpi_volt reports under-voltage only", "usermod -aG video")
	expect(t, found[2], OK, "no under-voltage now", "")
}

func TestDisk(t *testing.T) {
	big := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(big, make([]byte, 8<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	f := disk(big, 8<<20)
	if f.State != Unknown { // a file system without direct reads says so
		expect(t, f, OK, "over 8.4 MB of the model file", "")
	} else if f.Value != "the file system offers no reads past the cache" && f.Value != "not timed on this system" {
		t.Errorf("got %+v", f)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s, want about a second at most", took)
	}
	small := filepath.Join(t.TempDir(), "small.gguf")
	if err := os.WriteFile(small, make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, disk(small, 100), Unknown, "", "")
	expect(t, disk(small+".none", 100), Unknown, "no such file", "")
	expect(t, verdictOnDisk(20<<20, time.Second, 4<<30), Warning, "the model is read in 3m24.8s", "SSD")
	expect(t, verdictOnDisk(90<<20, time.Second, 98<<20), OK, "the model is read in 1.1s", "")
}
