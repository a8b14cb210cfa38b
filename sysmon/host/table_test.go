package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pichat/sysmon"
)

const tableFile = "../../docs/board.md"

// tableBoards are the columns of the table: fixture and heading.
var tableBoards = [][2]string{
	{"zero2w", "Zero 2 W"},
	{"pi3", "Pi 3"},
	{"pi4", "Pi 4, hot on a weak supply"},
	{"pi5-bookworm", "Pi 5, Bookworm"},
	{"pi5-reordered", "Pi 5, other hwmon order, no mailbox"},
	{"pi5-new-kernel", "Pi 5, new kernel"},
	{"pi5-denied", "Pi 5, new kernel, mailbox denied"},
	{"pc", "PC"},
}

// The table in docs/board.md says what is read from the boards of testdata. Run
// with -update to write it anew.
func TestTableInDocs(t *testing.T) {
	data, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- readings: made by go test ./sysmon/host -update -->\n", "<!-- readings: end -->"
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", tableFile)
	}
	want := table(t)
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("%s says\n%s\nbut the boards read\n%s\nRun go test ./sysmon/host -update", tableFile, got, want)
	}
	if err := os.WriteFile(tableFile, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// table makes a row of every reading and a column of every board, and lists
// the reasons of what is n/a below.
func table(t *testing.T) string {
	t.Helper()
	rows, order, reasons := map[string][]string{}, []string{}, []string{}
	number := map[string]int{}
	for _, b := range tableBoards {
		archive := parse(t, "testdata/"+b[0]+".txtar")
		synctest.Test(t, func(t *testing.T) {
			snapshot := sampleTwice(t, unpack(t, archive), strings.HasPrefix(b[0], "pi5"))
			eachReading(snapshot, func(name string, r reading) {
				if rows[name] == nil {
					order = append(order, name)
				}
				cell := ""
				if r.known {
					cell = inWords(name, r.value) + "<br><sub>" + r.source + "</sub>"
				} else {
					if number[r.reason] == 0 {
						reasons = append(reasons, r.reason)
						number[r.reason] = len(reasons)
					}
					cell = fmt.Sprintf("n/a <sup>%d</sup>", number[r.reason])
				}
				rows[name] = append(rows[name], cell)
			})
		})
	}
	var b strings.Builder
	b.WriteString("| reading |")
	for _, board := range tableBoards {
		b.WriteString(" " + board[1] + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(tableBoards)) + "\n")
	for _, name := range order {
		b.WriteString("| `" + name + "` | " + strings.Join(rows[name], " | ") + " |\n")
	}
	b.WriteString("\nWhy a reading is n/a:\n\n")
	for i, reason := range reasons {
		fmt.Fprintf(&b, "%d. %s\n", i+1, reason)
	}
	return b.String()
}

// inWords writes a value with its unit, which its name gives.
func inWords(name string, value any) string {
	gb := func(n uint64) string { return strconv.FormatFloat(float64(n)/1e9, 'f', 2, 64) }
	switch v := value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case float64:
		for suffix, word := range map[string]string{
			"Celsius": fmt.Sprintf("%.1f °C", v), "Hz": fmt.Sprintf("%.2f GHz", v/1e9), "RPM": fmt.Sprintf("%.0f/min", v),
			"Watts": fmt.Sprintf("%.2f W", v), "Volts": fmt.Sprintf("%.2f V", v), "Percent": fmt.Sprintf("%.0f %%", v),
		} {
			if strings.HasSuffix(name, suffix) {
				return word
			}
		}
	case sysmon.RAM:
		return gb(v.UsedBytes) + " of " + gb(v.TotalBytes) + " GB used"
	case sysmon.Swap:
		return gb(v.UsedBytes) + " of " + gb(v.TotalBytes) + " GB used"
	case sysmon.ProcessMemory:
		return gb(v.ResidentBytes) + " GB, " + gb(v.FileBytes) + " of files"
	case sysmon.LoadAverage:
		return fmt.Sprintf("%.2f, %.2f, %.2f", v.One, v.Five, v.Fifteen)
	}
	return fmt.Sprint(value)
}

// A firmware that does not answer costs what it is asked for and nothing else.
func TestStuckMailbox(t *testing.T) {
	root := board(t, "pi5-bookworm")
	release := make(chan struct{})
	c := Config{Root: root, OpenMailbox: func(string) (Mailbox, error) { return stuckMailbox(release), nil }}
	s, err := sysmon.New(Readers(c), sysmon.Config{Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Sample(t.Context())
	for name, reason := range map[string]string{
		"throttling": got.Throttle.Now.Throttled.Reason, "true clock": got.CPU.TrueClockHz.Reason, "power": got.Power.Watts.Reason,
	} {
		if reason != "no answer within 300ms" {
			t.Errorf("%s has the reason %q", name, reason)
		}
	}
	if !got.CPU.TempCelsius.Known || !got.CPU.ClockHz.Known || !got.FanRPM.Known || !got.Load.Known || !got.Host.BoardModel.Known {
		t.Errorf("other readings are lost: %+v", got)
	}
	if got := got.CPU.RunningClockHz(); got.Source != "cpufreq scaling_cur_freq" {
		t.Errorf("the clock is %+v, want the requested one", got)
	}
	close(release)
}

type stuckMailbox chan struct{}

func (m stuckMailbox) Property([]uint32) error { <-m; return os.ErrClosed }
func (m stuckMailbox) Close() error            { return nil }
