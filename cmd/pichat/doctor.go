package main

import (
	"context"
	"encoding/json"
	"os"

	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/doctor"
	"pichat/llm/llamacpp"
	"pichat/sysmon/host"
)

// reportWidth is the line length of a report.
const reportWidth = 100

// doctor examines the machine and prints what it found.
func (a *app) doctor(ctx context.Context, c *config.Doctor) error {
	report := a.examine(ctx, c)
	err := error(nil)
	if c.JSON {
		encoder := json.NewEncoder(a.stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.Text(a.stdout, reportWidth)
	}
	if err == nil && report.Faults > 0 {
		return errReported
	}
	return err
}

// examine looks at everything that serving needs.
func (a *app) examine(ctx context.Context, c *config.Doctor) *doctor.Report {
	return doctor.Examine(ctx, doctor.Config{
		Version:  version,
		Program:  half.Reason,
		Boot:     a.boot(ctx, c.Engine, c.Slots, 1, newLogger(c.LogLevel, a.stderr)),
		Engine:   llamacpp.Engine(),
		Cores:    llamacpp.DefaultThreads(),
		Readers:  host.Readers(host.Config{}),
		PageSize: os.Getpagesize(),
		Listen:   c.Listen,
		Cache:    a.cacheFolder(c.Cache),
	})
}
