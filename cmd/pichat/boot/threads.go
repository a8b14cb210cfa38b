package boot

import (
	"errors"
	"fmt"

	"pichat/cmd/pichat/tune"
)

// threads are the counts to load the model at path with; 0 leaves a choice to
// the engine. What was asked for comes before what was measured.
func (c Config) threads(path string) (decode, prefill int) {
	decode, prefill = c.Threads, c.PrefillThreads
	if decode != 0 {
		return decode, prefill
	}
	choice, ok := c.tuned().Load(path, c.Processors)
	if !ok {
		return decode, prefill
	}
	if prefill == 0 {
		prefill = choice.Prefill
	}
	return choice.Decode, prefill
}

// ErrThreads means that far more threads were asked for than can run.
var ErrThreads = errors.New("too many threads")

// crowd is how many threads a processor may be asked to take. The engine's
// threads wait for each other spinning, so a crowd of them hardly gets on.
const crowd = 4

// CheckThreads warns of more threads than the machine has processors, and
// refuses a multiple. 0 threads is a choice left to the program, 0 processors
// are unknown.
func CheckThreads(threads, prefillThreads, processors int) (warning string, err error) {
	most := max(threads, prefillThreads)
	switch {
	case processors == 0 || most <= processors:
		return "", nil
	case most > crowd*processors:
		return "", fmt.Errorf("%w: %d are asked for and this machine has %d processors: lower --threads and --prefill-threads",
			ErrThreads, most, processors)
	}
	return fmt.Sprintf("%d threads are asked for and this machine has %d processors: they hold each other up", most, processors), nil
}

// tuned is where choices of threads are.
func (c Config) tuned() tune.Store { return tune.Store{Folder: c.Remembered} }
