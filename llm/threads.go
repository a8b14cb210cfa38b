package llm

import "time"

// ThreadSetter is a Backend whose compute threads can be changed between two
// Evaluate calls. Its methods belong to the engine's goroutine, like Evaluate.
type ThreadSetter interface {
	// SetThreads sets how many threads compute the steps to come, without and
	// with prompt tokens: 1 to ModelInfo.DecodeThreads, 1 to
	// ModelInfo.PrefillThreads. After an error the counts are as before.
	SetThreads(decode, prefill int) error
	// Threads returns the present counts.
	Threads() (decode, prefill int)
}

// LoadMeter is a Backend that can tell what this process and the whole machine
// do with the CPUs that it may run on.
type LoadMeter interface {
	// CPULoad returns false where the machine does not tell. It takes some
	// 10 us, so it is not for every step.
	CPULoad() (CPULoad, bool)
}

// CPULoad are CPU times since any fixed moment: their differences count.
type CPULoad struct {
	CPUs    int           // processors that this process may run on, at least 1
	Process time.Duration // used by this process, all its threads together
	Idle    time.Duration // not used by anyone, all these processors together
}

// ThreadStatus says how many threads compute.
type ThreadStatus struct {
	Decode, Prefill         int // of the steps to come
	MostDecode, MostPrefill int // as configured, or as calibrated since
	// Reason says in words why Decode, or both, last changed, PrefillReason why
	// Prefill did; "" when they never did.
	Reason, PrefillReason string
}
