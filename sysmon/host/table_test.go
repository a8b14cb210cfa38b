package host

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pichat/sysmon"
)

const tableFile = "../../docs/board.md"

// tableBoards are the columns of the table. The reference boards read as sound
// ones do, though they may be hot.
var tableBoards = []struct {
	fixture, heading string
	reference        bool
}{
	{"zero2w", "Zero 2 W", true},
	{"pi3", "Pi 3", true},
	{"pi4", "Pi 4, hot on a weak supply", true},
	{"pi5-bookworm", "Pi 5, Bookworm", true},
	{"pi5-reordered", "Pi 5, other hwmon order, no mailbox", false},
	{"pi5-new-kernel", "Pi 5, new kernel", true},
	{"pi5-denied", "Pi 5, new kernel, mailbox denied", false},
	{"pc", "PC", false},
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

// expected.json holds what the boards of the table read, for programs.
func TestExpectedFile(t *testing.T) {
	data, err := json.MarshalIndent(readBoards(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := string(data) + "\n"
	if want == string(expectedJSON) {
		return
	}
	if !*update {
		t.Fatal("expected.json is not what the boards read: run go test ./sysmon/host -update")
	}
	if err := os.WriteFile("expected.json", []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readBoards reads every board of the table.
func readBoards(t *testing.T) []tableBoard {
	t.Helper()
	var boards []tableBoard
	for _, b := range tableBoards {
		archive := parse(t, "testdata/"+b.fixture+".txtar")
		read := tableBoard{Fixture: b.fixture, Reference: b.reference}
		synctest.Test(t, func(t *testing.T) {
			snapshot := sampleTwice(t, unpack(t, archive), strings.HasPrefix(b.fixture, "pi5"))
			read.Model = snapshot.Host.BoardModel.Value // "" where unknown
			snapshot.EachReading(func(name string, r sysmon.AnyReading) {
				cell := tableReading{Name: name, Reason: r.Reason}
				if r.Known {
					cell = tableReading{Name: name, Value: r.InWords(name), Source: r.Source}
				}
				read.Readings = append(read.Readings, cell)
			})
		})
		boards = append(boards, read)
	}
	return boards
}

// table makes a row of every reading and a column of every board, and lists
// the reasons of what is n/a below.
func table(t *testing.T) string {
	t.Helper()
	rows, order, reasons := map[string][]string{}, []string{}, []string{}
	number := map[string]int{}
	for _, b := range readBoards(t) {
		for _, r := range b.Readings {
			if rows[r.Name] == nil {
				order = append(order, r.Name)
			}
			cell := r.Value + "<br><sub>" + r.Source + "</sub>"
			if r.Reason != "" {
				if number[r.Reason] == 0 {
					reasons = append(reasons, r.Reason)
					number[r.Reason] = len(reasons)
				}
				cell = fmt.Sprintf("n/a <sup>%d</sup>", number[r.Reason])
			}
			rows[r.Name] = append(rows[r.Name], cell)
		}
	}
	var b strings.Builder
	b.WriteString("| reading |")
	for _, board := range tableBoards {
		b.WriteString(" " + board.heading + " |")
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
