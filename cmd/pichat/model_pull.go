package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/catalogue"
	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/fetch"
	"pichat/llm/gguf"
)

// modelPull fetches a model of the catalogue, or from an address. Its only line
// on standard output is the file's path, for scripts; all else is for people.
func (a *app) modelPull(ctx context.Context, c *config.ModelPull) error {
	file, err := wanted(c)
	if err != nil {
		return err
	}
	if file.SHA256 == "" {
		fmt.Fprintln(a.stderr, "no checksum is known for this file: what the server gives is taken as it is (--sha256 HEX pins one)")
	}
	dir := modelFolder(c.Folder)
	if _, err := os.Stat(c.Models); err == nil && c.Dir == "" && dir != c.Models {
		fmt.Fprintf(a.stderr, "this user may not write to %s: the file goes to %s here, where the service does not look (sudo would put it there)\n", c.Models, dir)
	}
	line := a.newPullLine()
	result, err := fetch.Pull(ctx, fetch.Config{
		Dir: dir, Force: c.Force, Transport: a.transport,
		Judge:    func(info *gguf.Info) error { return a.judge(line, info, memory(ctx), c.Force) },
		Progress: line.progress,
		Note:     line.note,
	}, file)
	line.clear()
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(a.stderr, "pichat: %s\n", oneLine(err))
		return errInterrupted
	case err != nil:
		return err
	}
	verb := "fetched"
	if result.Already {
		verb = "there already, and whole"
	}
	fmt.Fprintf(a.stderr, "%s: %s, %s\n", result.Path, verb, boot.Bytes(result.Bytes))
	if file.SHA256 == "" {
		fmt.Fprintf(a.stderr, "sha256, not compared with anything: %s\n", result.SHA256)
	}
	fmt.Fprint(a.stderr, howToServe(result.Path, c.Folder))
	_, err = fmt.Fprintln(a.stdout, result.Path)
	return err
}

// wanted finds what a name or an address stands for.
func wanted(c *config.ModelPull) (fetch.File, error) {
	if strings.Contains(c.Name, "://") {
		name, err := fetch.NameOf(c.Name)
		return fetch.File{URL: c.Name, Name: name, SHA256: strings.ToLower(c.SHA256)}, err
	}
	e, ok := catalogue.Find(c.Name)
	switch {
	case !ok:
		return fetch.File{}, unknownModel(c.Name)
	case c.SHA256 != "" && !strings.EqualFold(c.SHA256, e.SHA256):
		return fetch.File{}, fmt.Errorf("%s has the sha256 %s in the catalogue, --sha256 says %s: leave it out, or name an address", e.Name, e.SHA256, c.SHA256)
	}
	return fetch.File{URL: e.URL(), Name: e.File, SHA256: e.SHA256}, nil
}

// judge holds what a model needs against the machine's memory, with one slot
// and the window that serve would choose. What the machine has not at all is
// refused; what is taken at the moment is only said, as another model may be
// what takes it.
func (a *app) judge(line *pullLine, info *gguf.Info, machine boot.Memory, force bool) error {
	plan, err := boot.Fit(info, boot.Wish{Slots: 1}, machine)
	need := plan.Need
	line.note(fmt.Sprintf("%s: %s, %s; it needs about %s of memory (weights %s, context of %d tokens %s, work memory %s)",
		info.Name, info.Architecture, info.Quantization, boot.Bytes(need.Total()), boot.Bytes(need.Weights), plan.Window, boot.Bytes(need.KV), boot.Bytes(need.Compute)))
	switch {
	case machine.Total == 0:
		line.note("the memory of this machine is not known")
	case err != nil || need.Total() > machine.Total:
		text := fmt.Sprintf("the model needs about %s and this machine has %s in all: it would be read from the disk again and again",
			boot.Bytes(need.Total()), boot.Bytes(machine.Total))
		if !force {
			return fmt.Errorf("%w: %s; choose a smaller one (`pichat model list`), or go on with --force", boot.ErrTooLarge, text)
		}
		line.note(text + "; going on, as --force says")
	case machine.Available > 0 && need.Total() > machine.Available:
		line.note(fmt.Sprintf("of this machine's %s only %s are free now: end other programs before it is served",
			boot.Bytes(machine.Total), boot.Bytes(machine.Available)))
	}
	return nil
}

// pullLine shows how far a download is: on a terminal a line that is written
// over, elsewhere a line for each tenth.
type pullLine struct {
	app    *app
	status *statusLine
	begin  time.Time // of the bytes counted from first on
	first  uint64
	next   time.Time
	tenths int
}

func (a *app) newPullLine() *pullLine {
	return &pullLine{app: a, status: newStatusLine(a.stderr), tenths: -1}
}

func (l *pullLine) clear() { l.status.clear() }

// note prints a sentence.
func (l *pullLine) note(text string) {
	l.status.clear()
	fmt.Fprintln(l.app.stderr, text)
}

func (l *pullLine) progress(done, total uint64) {
	now := time.Now()
	if l.begin.IsZero() || done < l.first { // the first bytes, or begun anew
		l.begin, l.first = now, done
	}
	if l.status.w == nil {
		if total == 0 || int(done*10/total) <= l.tenths {
			return
		}
		l.tenths = int(done * 10 / total)
		fmt.Fprintln(l.app.stderr, pullText(done, total, done-l.first, now.Sub(l.begin)))
		return
	}
	if now.Before(l.next) && done != total {
		return
	}
	l.next = now.Add(200 * time.Millisecond)
	l.status.show(pullText(done, total, done-l.first, now.Sub(l.begin)))
}

// pullText words how far a download is: "45 %, 450.1 MB of 1.0 GB, 5.2 MB/s,
// 1m46s left". received bytes came within took.
func pullText(done, total, received uint64, took time.Duration) string {
	text := boot.Bytes(done)
	if total > 0 {
		text = fmt.Sprintf("%d %%, %s of %s", done*100/total, text, boot.Bytes(total))
	}
	if took < time.Second || received == 0 {
		return text
	}
	perSecond := float64(received) / took.Seconds()
	text += fmt.Sprintf(", %s/s", boot.Bytes(uint64(perSecond)))
	if total > done {
		left := time.Duration(float64(total-done) / perSecond * float64(time.Second))
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}
