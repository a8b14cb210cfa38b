// Package verify holds the running service against what is expected of the
// board it runs on, and measures it: which program of the file runs, where each
// sensor's reading comes from, pace and temperature while it writes.
//
// Everything is asked of the service itself over its own API, since what it may
// read is what counts. A run on a machine that is no Raspberry Pi, or under
// emulation, says so first of all: none of its figures is a Pi's.
package verify

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"pichat/cmd/pichat/doctor"
)

// Config says what to verify.
type Config struct {
	// Version is this program's, which the service must have too.
	Version string
	// URL is the service's address on this machine.
	URL string
	// Hostname is this machine's; "" where unknown.
	Hostname string
	// Decode is the least time of writing to measure over, and Tokens the
	// longest reply.
	Decode time.Duration
	Tokens int
	// Machine is what this program sees of the machine: Look.
	Machine Machine
	// Doctor examines the machine once the service is idle again.
	Doctor func(context.Context) *doctor.Report
	// Progress is told in words what is being done. It must be set.
	Progress func(string)
	// LoadWait is how long a model that is loading is waited for; 0 is 10 min.
	// Every is the time between two looks at the board; 0 is 2 s.
	LoadWait, Every time.Duration
	// Now is the clock of the report; nil is time.Now.
	Now func() time.Time
}

// Run asks and measures. The error says why there is no report: no service, no
// model, another version, an answer that does not come. What is not as expected
// is in the report.
func Run(ctx context.Context, c Config) (*Report, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.LoadWait == 0 {
		c.LoadWait = 10 * time.Minute
	}
	if c.Every == 0 {
		c.Every = 2 * time.Second
	}
	service := client{base: strings.TrimSuffix(c.URL, "/"), http: &http.Client{}}
	c.Progress("asking the service")
	before, err := c.meet(ctx, service)
	if err != nil {
		return nil, err
	}
	load, after, err := c.measure(ctx, service, before)
	if err != nil {
		return nil, err
	}
	c.Progress("examining the machine")
	r := &Report{
		TakenAt: c.Now().UTC().Truncate(time.Second), Version: c.Version, Machine: c.Machine,
		Service: Service{URL: c.URL, Build: after.Build, Model: after.Model}, Load: load,
		Throttle: after.Vitals.Throttle, Doctor: c.Doctor(ctx),
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Machine.OS = after.Vitals.Host.OS
	r.judge(*after.Vitals)
	return r, nil
}

// meet waits for the service to have its model, and makes sure that it is this
// program's, on this machine, and idle.
func (c Config) meet(ctx context.Context, service client) (*status, error) {
	version, err := service.version(ctx)
	if err != nil {
		return nil, err
	}
	if version != c.Version {
		return nil, fmt.Errorf("the service at %s is pichat %s, this program is %s: restart the service (sudo systemctl restart pichat), or run its own program", c.URL, version, c.Version)
	}
	if err := service.awaitModel(ctx, c.LoadWait, c.Progress); err != nil {
		return nil, err
	}
	s, err := service.status(ctx)
	switch {
	case err != nil:
		return nil, err
	case c.Hostname != "" && s.Host != "" && s.Host != c.Hostname:
		return nil, fmt.Errorf("the service at %s runs on %q, this program on %q: run verify where the service is", c.URL, s.Host, c.Hostname)
	case s.Engine.Running+s.Engine.Waiting > 0:
		return nil, fmt.Errorf("the service at %s answers somebody: try again when it is idle, else the pace is not the board's alone", c.URL)
	}
	return s, nil
}
