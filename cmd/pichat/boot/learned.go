package boot

import (
	"fmt"

	"pichat/llm/policy"
)

// learnedKind is what step times are remembered as; they differ with the number
// of threads.
func learnedKind(threads int) string { return fmt.Sprintf("step-times-%d", threads) }

// learned is what an engine measured in an earlier run; the zero value when
// there was none.
func (c Config) learned(path string, threads int) policy.Snapshot {
	var s policy.Snapshot
	if !c.Remembered.Load(learnedKind(threads), path, &s) {
		return policy.Snapshot{}
	}
	return s
}

// Remember keeps what the engine has measured so far for the next run. Where
// nothing was, nothing is kept.
func (r *Running) Remember() error {
	learned := r.Engine.Schedule().Learned
	if len(learned.Sizes) == 0 {
		return nil
	}
	return r.remembered.Save(learnedKind(r.threads), r.path, learned)
}
