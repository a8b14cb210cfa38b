package llm

import (
	"time"

	"pichat/llm/threads"
)

// threadPace adapts the backend's decode threads to what other processes leave
// of the machine (package threads). It belongs to Run's goroutine. A nil one
// does nothing: of a backend without threads to set, or without a meter.
type threadPace struct {
	setter ThreadSetter
	meter  LoadMeter
	most   ThreadStatus // as configured
	tuner  *threads.Tuner
	used   int // decode threads as last set
	began  time.Time
	failed string // why the count stays; "" while it can be changed
	chosen string // how the most were chosen; "" when they were configured
}

func newThreadPace(b Backend) *threadPace {
	setter, settable := b.(ThreadSetter)
	meter, metered := b.(LoadMeter)
	if !settable || !metered {
		return nil
	}
	info := b.Info()
	return &threadPace{
		setter: setter,
		meter:  meter,
		most:   ThreadStatus{MostDecode: info.DecodeThreads, MostPrefill: info.PrefillThreads},
		tuner:  threads.New(info.DecodeThreads),
		used:   info.DecodeThreads,
		began:  time.Now(),
	}
}

// runPaced is run with as many threads as are best now. An exclusive request
// has all of them at any time: results are rounded by how work is split.
func (e *Engine) runPaced(parts []part) error {
	if e.pace != nil && e.exclusive() {
		e.pace.use(e.pace.most.MostDecode)
		return e.run(parts)
	}
	e.pace.use(0)
	begin := time.Now()
	err := e.run(parts)
	e.pace.observe(e.batch.Prefill || err != nil, len(parts), begin, time.Now())
	return err
}

// observe takes a step and sets the threads of the next one. Other steps than
// those that only decode count as time that went by.
func (p *threadPace) observe(other bool, streams int, begin, end time.Time) {
	if p == nil || p.failed != "" {
		return
	}
	if !other {
		p.tuner.Observe(threads.Step{Streams: streams, Wall: end.Sub(begin)})
	}
	at := end.Sub(p.began)
	if !p.tuner.Due(at) {
		return
	}
	load, ok := p.meter.CPULoad()
	if !ok {
		p.failed = "the machine does not tell what its processors do"
		return
	}
	p.tuner.Read(threads.Load{At: at, CPUs: load.CPUs, Process: load.Process, Idle: load.Idle})
}

// use sets the decode threads of the next step; 0 takes the tuner's number.
func (p *threadPace) use(n int) {
	if p == nil || p.failed != "" {
		return
	}
	if n == 0 {
		n = p.tuner.Count()
	}
	if n == p.used {
		return
	}
	_, prefill := p.setter.Threads()
	if err := p.setter.SetThreads(n, prefill); err != nil {
		p.failed = err.Error() // the backend goes on with what it has
		return
	}
	p.used = n
}

// status is what Status shows.
func (p *threadPace) status() ThreadStatus {
	if p == nil {
		return ThreadStatus{}
	}
	st := p.most
	st.Decode, st.Prefill = p.setter.Threads()
	st.Reason = p.tuner.Reason()
	switch {
	case p.failed != "":
		st.Reason = p.failed
	case st.Reason == "":
		st.Reason = p.chosen
	}
	return st
}
