package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"pichat/cmd/pichat/boot"
	"pichat/cmd/pichat/catalogue"
	"pichat/cmd/pichat/config"
	"pichat/cmd/pichat/fetch"
	"pichat/llm/gguf"
)

// askSizes bounds the time for which the hub is asked for sizes.
const askSizes = 15 * time.Second

// listed is a model of the list. Pointers are nil for what is not known.
type listed struct {
	catalogue.Entry
	URL string `json:"url"`
	// SizeSource is "server" or "file" for an exact size, "published" for one
	// that was rounded by whoever published a run.
	SizeBytes  *uint64 `json:"size_bytes,omitempty"`
	SizeSource string  `json:"size_source,omitempty"`
	// MemoryBytes is what one slot needs by the header of the file that is
	// there.
	MemoryBytes *uint64        `json:"memory_bytes,omitempty"`
	Fits        *bool          `json:"fits_this_machine,omitempty"`
	Path        string         `json:"path,omitempty"` // where it is there
	Pi4         catalogue.Pace `json:"raspberry_pi_4"`
	Pi5         catalogue.Pace `json:"raspberry_pi_5"`
}

// modelList prints the catalogue.
func (a *app) modelList(ctx context.Context, c *config.ModelList) error {
	folder, machine := modelFolder(c.Folder), memory(ctx)
	sizes := map[string]uint64{}
	if !c.Offline {
		var err error
		if sizes, err = a.askSizes(ctx); ctx.Err() != nil {
			return errInterrupted
		} else if err != nil {
			fmt.Fprintf(a.stderr, "the model hub does not tell all sizes: %s\n", oneLine(err))
		}
	}
	var list []listed
	for _, e := range catalogue.All() {
		list = append(list, describeModel(e, sizes[e.Name], folder, machine))
	}
	if c.JSON {
		out := json.NewEncoder(a.stdout)
		out.SetIndent("", "  ")
		return out.Encode(list)
	}
	return a.printList(list)
}

// askSizes asks for the sizes of all models, four at a time, and returns those
// that it got and why others are missing.
func (a *app) askSizes(ctx context.Context) (map[string]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, askSizes)
	defer cancel()
	var mu sync.Mutex
	sizes := map[string]uint64{}
	var refused error
	parts, ctx := errgroup.WithContext(ctx) // where the hub cannot be reached once, it cannot at all
	parts.SetLimit(4)
	for _, e := range catalogue.All() {
		parts.Go(func() error {
			size, err := fetch.Size(ctx, fetch.Config{Transport: a.transport}, e.URL())
			if errors.Is(err, fetch.ErrConnection) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused = err
				return nil
			}
			sizes[e.Name] = size
			return nil
		})
	}
	err := parts.Wait()
	return sizes, errors.Join(err, refused)
}

// describeModel collects what is known of a model. told is the server's size
// of it, 0 where it was not told.
func describeModel(e catalogue.Entry, told uint64, folder string, machine boot.Memory) listed {
	m := listed{Entry: e, URL: e.URL()}
	size := e.PublishedBytes()
	if size > 0 {
		m.SizeSource = "published"
	}
	if e.PinnedBytes > 0 {
		size, m.SizeSource = e.PinnedBytes, "file"
	}
	if told > 0 {
		size, m.SizeSource = told, "server"
	}
	path := filepath.Join(folder, e.File)
	if st, err := os.Stat(path); err == nil {
		size, m.SizeSource, m.Path = uint64(st.Size()), "file", path
		if info, err := gguf.Check(path); err == nil {
			if plan, err := boot.Fit(info, boot.Wish{Slots: 1}, machine); err == nil {
				need := plan.Need.Total()
				m.MemoryBytes = &need
			}
		}
	}
	if size > 0 {
		m.SizeBytes = &size
		if machine.Total > 0 {
			fits := float64(size) <= catalogue.WeightsShare*float64(machine.Total)
			m.Fits = &fits
		}
	}
	m.Pi4, m.Pi5 = e.Pace(catalogue.Pi4, size), e.Pace(catalogue.Pi5, size)
	return m
}

func (a *app) printList(list []listed) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tWEIGHTS\tQUANTIZATION\tSIZE\tMEMORY\tHERE\tPI 4 tok/s\tPI 5 tok/s\tLICENCE")
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, weights(m.Billions), m.Quant, m.size(), m.memory(), m.here(), m.Pi4, m.Pi5, m.Licence)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(a.stdout, listLegend)
	return err
}

const listLegend = `
SIZE      with ~: as somebody published it, rounded. Unknown where neither the server nor anybody told it.
MEMORY    "+": the weights are as large as the file; context and work memory come to it. pull reads the need from
          the file's header before it fetches, and says it.
HERE      "fits": the weights take at most 6 tenths of this machine's memory.
PI 4, 5   published: others measured this model on such a board. projected: from what such a board moved in other
          published runs. None is measured by pichat; --json names the sources.

fetch one: pichat model pull NAME
`

// weights words a number of weights: "1.24 B", "2 B effective".
func weights(billions string) string {
	var number, rest string
	if n, _ := fmt.Sscan(billions, &number, &rest); n == 2 {
		return number + " B " + rest
	}
	return billions + " B"
}

func (m listed) size() string {
	switch {
	case m.SizeBytes == nil:
		return "unknown"
	case m.SizeSource == "published":
		return "~" + boot.Bytes(*m.SizeBytes)
	}
	return boot.Bytes(*m.SizeBytes)
}

func (m listed) memory() string {
	switch {
	case m.MemoryBytes != nil:
		return boot.Bytes(*m.MemoryBytes)
	case m.SizeBytes != nil:
		return m.size() + " +"
	}
	return "unknown"
}

func (m listed) here() string {
	switch {
	case m.Path != "":
		return "is here"
	case m.Fits == nil:
		return "unknown"
	case *m.Fits:
		return "fits"
	}
	return "too large"
}
