package llm

import (
	"time"

	"pichat/llm/threads"
)

// threadPace adapts the backend's threads to what other processes leave of the
// machine (package threads). It belongs to Run's goroutine. A nil one does
// nothing: of a backend without threads to set, or without a meter.
type threadPace struct {
	setter          ThreadSetter
	meter           LoadMeter
	most            ThreadStatus // as configured
	decode, prefill *threads.Tuner
	began           time.Time
	alone           bool          // the last step was of an exclusive request
	end             time.Time     // of the last step
	decoded, read   time.Duration // time of decode and prefill steps since the last reading
	failed          string        // why the counts stay; "" while they can be changed
	chosen          string        // how the most were chosen; "" when they were configured
}

func newThreadPace(b Backend) *threadPace {
	setter, settable := b.(ThreadSetter)
	meter, metered := b.(LoadMeter)
	if !settable || !metered {
		return nil
	}
	info := b.Info()
	return &threadPace{
		setter:  setter,
		meter:   meter,
		most:    ThreadStatus{MostDecode: info.DecodeThreads, MostPrefill: info.PrefillThreads},
		decode:  threads.New(info.DecodeThreads),
		prefill: threads.New(info.PrefillThreads),
		began:   time.Now(),
	}
}

// runPaced is run with as many threads as are best now. An exclusive request
// has all of them at any time: results are rounded by how work is split.
func (e *Engine) runPaced(parts []part) error {
	if p := e.pace; p != nil && e.exclusive() {
		p.alone = true
		p.set(p.most.MostDecode, p.most.MostPrefill)
		return e.run(parts)
	} else if p != nil && p.alone {
		p.alone = false
		p.set(p.decode.Count(), p.prefill.Count())
	}
	begin := time.Now()
	if p := e.pace; p != nil && begin.Sub(p.end) > pause {
		p.begin(begin.Sub(p.began))
	}
	err := e.run(parts)
	end := time.Now()
	if p := e.pace; p != nil && p.failed == "" {
		if err == nil {
			p.observe(&e.batch, end.Sub(begin))
		}
		p.adapt(end.Sub(p.began))
		p.end = end
	}
	return err
}

// pause is the time without steps after which readings begin anew.
const pause = 100 * time.Millisecond

// begin takes the reading that the first ones after a pause are held against.
func (p *threadPace) begin(at time.Duration) {
	load, ok := p.meter.CPULoad()
	if !ok || p.failed != "" {
		return // adapt says so
	}
	reading := threads.Load{At: at, CPUs: load.CPUs, Process: load.Process, Idle: load.Idle}
	p.decode.Begin(reading)
	p.prefill.Begin(reading)
	p.read, p.decoded = 0, 0
}

// observe takes a step.
func (p *threadPace) observe(b *Batch, took time.Duration) {
	step := threads.Step{Tokens: b.Len(), Wall: took}
	if b.Prefill {
		p.read += took
		p.prefill.Observe(step)
	} else {
		p.decoded += took
		p.decode.Observe(step)
	}
}

// adapt sets the threads of the next steps, a few times a second.
func (p *threadPace) adapt(at time.Duration) {
	if !p.decode.Due(at) && !p.prefill.Due(at) {
		return
	}
	load, ok := p.meter.CPULoad()
	if !ok {
		p.failed = "the machine does not tell what its processors do"
		return
	}
	reading := threads.Load{At: at, CPUs: load.CPUs, Process: load.Process, Idle: load.Idle}
	switch {
	case p.read > p.decoded:
		reading.Threads = p.prefill.Count()
	case p.decoded > 0:
		reading.Threads = p.decode.Count()
	}
	p.read, p.decoded = 0, 0
	p.decode.Read(reading)
	p.prefill.Read(reading)
	p.set(p.decode.Count(), p.prefill.Count())
}

// set sets the threads of the steps to come.
func (p *threadPace) set(decode, prefill int) {
	if p.failed != "" {
		return
	}
	if d, f := p.setter.Threads(); d == decode && f == prefill {
		return
	}
	if err := p.setter.SetThreads(decode, prefill); err != nil {
		p.failed = err.Error() // the backend goes on with what it has
	}
}

// status is what Status shows.
func (p *threadPace) status() ThreadStatus {
	if p == nil {
		return ThreadStatus{}
	}
	st := p.most
	st.Decode, st.Prefill = p.setter.Threads()
	st.Reason, st.PrefillReason = p.decode.Reason(), p.prefill.Reason()
	switch {
	case p.failed != "":
		st.Reason = p.failed
	case st.Reason == "":
		st.Reason = p.chosen
	}
	return st
}
