package verify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"pichat/cmd/pichat/doctor"
	"pichat/sysmon"
	"pichat/web"
	"pichat/web/openai"
)

// Report is all that a run found. Its JSON is what `pichat verify --json`
// prints and --show reads.
type Report struct {
	// Notice says first of all whose figures these are.
	Notice string `json:"notice"`
	// Pi tells whether the machine is a Raspberry Pi, and NotAPi why it is not
	// taken for one.
	Pi     bool     `json:"pi"`
	NotAPi []string `json:"not_a_pi,omitempty"`
	// FileName is a name for the report, made of the board and the version.
	FileName string `json:"file_name"`
	// Differs lists in words what is not as expected; empty where nothing is.
	Differs []string `json:"differs"`

	TakenAt  time.Time       `json:"taken_at"`
	Version  string          `json:"version"`
	Machine  Machine         `json:"machine"`
	Service  Service         `json:"service"`
	Flavour  Check           `json:"flavour"`
	Readings []Check         `json:"readings"`
	Throttle sysmon.Throttle `json:"throttle"` // after the last reply
	Load     Load            `json:"load"`
	Doctor   *doctor.Report  `json:"doctor"`
}

// Service is what the service says of itself.
type Service struct {
	URL   string           `json:"url"`
	Build web.Build        `json:"build"`
	Model *openai.ModelDoc `json:"model"`
}

// State says how what was found stands to what was expected.
type State string

// The states of a check.
const (
	AsExpected  State = "as expected"
	Differs     State = "differs"
	NotCompared State = "not compared" // nothing is expected of this machine
)

// Check is one thing that was held against what is expected.
type Check struct {
	Name     string `json:"name"`
	Expected string `json:"expected"`
	// Found is in words; "n/a" where it is not known.
	Found string `json:"found"`
	// Source is where a known value came from, and Reason why one is not known.
	Source string `json:"source,omitempty"`
	Reason string `json:"reason,omitempty"`
	State  State  `json:"state"`
}

// judge fills in what follows from what was found.
func (r *Report) judge(vitals sysmon.Snapshot) {
	r.NotAPi = r.Machine.NotAPi()
	r.Pi = r.NotAPi == nil
	r.Notice = r.notice()
	r.FileName = r.fileName()
	r.Flavour = checkFlavour(r.Machine, r.Service.Build)
	board := ""
	if r.Pi {
		board = r.Machine.Board.Value
	}
	r.Readings = checkReadings(board, vitals)
	r.Differs = r.differences()
}

func (r *Report) notice() string {
	if r.Pi {
		return "Measured on a " + r.Machine.Board.Value + "."
	}
	what := "NOT A RASPBERRY PI."
	if r.Machine.Emulated() {
		what = "NOT A RASPBERRY PI, BUT AN EMULATION."
	}
	return what + " No figure in this file is a Pi's: neither pace nor temperature says anything about one."
}

var notInNames = regexp.MustCompile(`[^a-z0-9.+]+`)

func (r *Report) fileName() string {
	board := "not-a-pi"
	switch {
	case r.Pi:
		board = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(r.Machine.Board.Value), "-"), "-.")
	case r.Machine.Emulated():
		board = "not-a-pi-emulated"
	}
	return board + "-" + strings.Trim(notInNames.ReplaceAllString(strings.ToLower(r.Version), "-"), "-.")
}

// compared tells whether something is expected of this board's readings.
func (r *Report) compared() bool {
	return slices.ContainsFunc(r.Readings, func(c Check) bool { return c.State != NotCompared })
}

func (r *Report) differences() []string {
	list := []string{}
	for _, c := range append([]Check{r.Flavour}, r.Readings...) {
		if c.State != Differs {
			continue
		}
		from := ""
		if c.Source != "" {
			from = " (" + c.Source + ")"
		} else if c.Reason != "" {
			from = " (" + c.Reason + ")"
		}
		list = append(list, fmt.Sprintf("%s: expected %s, found %s%s", c.Name, c.Expected, c.Found, from))
	}
	if r.Load.Shared {
		list = append(list, "pace: the service worked for somebody else meanwhile, so it is not the board's alone")
	}
	if r.Pi && r.Service.Model != nil && r.Service.Model.Meta.Scripted {
		list = append(list, "model: a scripted text answers, so the pace is not the board's")
	}
	for _, s := range r.Doctor.Sections {
		for _, f := range s.Findings {
			if f.State == doctor.Fault {
				list = append(list, "doctor: "+f.Name+": "+f.Value)
			}
		}
	}
	return list
}
