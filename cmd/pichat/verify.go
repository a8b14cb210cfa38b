package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/doctor"
	"pichat/cmd/pichat/verify"
)

// reportLimit bounds the report of an earlier run.
const reportLimit = 16 << 20

// verify holds the running service against what is expected, and measures it.
func (a *app) verify(ctx context.Context, c *config.Verify) error {
	if c.Show != "" {
		return a.showReport(c.Show)
	}
	hostname, _ := os.Hostname() // without it the service's is not compared
	status := newStatusLine(a.stderr)
	report, err := verify.Run(ctx, verify.Config{
		Version:  version,
		URL:      serviceURL(c),
		Hostname: hostname,
		Decode:   time.Duration(c.Seconds) * time.Second,
		Tokens:   c.Tokens,
		Machine:  verify.Look(""),
		Doctor:   func(ctx context.Context) *doctor.Report { return a.examine(ctx, &c.Doctor) },
		Progress: status.show,
	})
	status.clear()
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	if c.JSON {
		encoder := json.NewEncoder(a.stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.Text(a.stdout)
	}
	if err == nil && len(report.Differs) > 0 {
		return errReported
	}
	return err
}

// serviceURL is the address that was given, else that of this machine's port.
func serviceURL(c *config.Verify) string {
	if c.URL != "" {
		return c.URL
	}
	_, port, _ := net.SplitHostPort(c.Listen) // config checked it
	return "http://127.0.0.1:" + port
}

// showReport prints the report of an earlier run for people.
func (a *app) showReport(name string) error {
	from := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	var report verify.Report
	err := json.NewDecoder(io.LimitReader(from, reportLimit)).Decode(&report)
	if err != nil || report.Notice == "" || report.Doctor == nil || len(report.Load.Samples) == 0 {
		return fmt.Errorf("--show %s: not a whole report of 'pichat verify --json'", name)
	}
	return report.Text(a.stdout)
}
