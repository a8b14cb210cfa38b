package verify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pichat/sysmon"
	"pichat/web/wire"
)

// questions are asked in turn. None begins as another does, so that the engine
// has to read each; they ask for long answers.
var questions = []string{
	"What is gravity, and how did people come to understand it?",
	"Tell me the story of a lighthouse keeper who finds a message in a bottle.",
	"How does a steam engine turn heat into motion? Explain every step.",
	"Describe a walk through a forest in each of the four seasons.",
	"Why do empires fall? Give several examples from history.",
	"Explain to a beginner how bread is baked, from the grain to the loaf.",
}

// emptyReplies is how many replies without a pace end the measurement.
const emptyReplies = 3

// Load is what was measured while the service wrote.
type Load struct {
	// DecodeS is the time of writing in all, seconds; the first token of each
	// reply, which is reading, is not in it.
	DecodeS float64 `json:"decode_s"`
	Replies []Reply `json:"replies"`
	// Spreads over the replies. TPS is tokens/s of writing, PrefillTPS of reading.
	TPS        *Spread `json:"tps,omitempty"`
	TTFTS      *Spread `json:"ttft_s,omitempty"`
	PrefillTPS *Spread `json:"prefill_tps,omitempty"`
	// Samples are the board from before the first question to after the last
	// reply.
	Samples []Sample `json:"samples"`
	// Shared tells that the service worked for somebody else meanwhile.
	Shared bool `json:"shared"`
}

// Reply is one answer, with its timings as the service measured them.
type Reply struct {
	Question string `json:"question"`
	Finish   string `json:"finish"`
	wire.Timings
}

// Spread is the least, the middle and the greatest of some values.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

// Sample is the board at one moment.
type Sample struct {
	// AtS is the time since the first question, seconds.
	AtS         float64                 `json:"at_s"`
	TempCelsius sysmon.Reading[float64] `json:"temp_celsius"`
	ClockHz     sysmon.Reading[float64] `json:"clock_hz"` // asked for
	TrueClockHz sysmon.Reading[float64] `json:"true_clock_hz"`
	FanRPM      sysmon.Reading[float64] `json:"fan_rpm"`
	Watts       sysmon.Reading[float64] `json:"watts"`
	// Limited tells whether anything holds the board back.
	Limited sysmon.Reading[bool] `json:"limited"`
}

func sampleOf(s *status, at time.Duration) Sample {
	v := s.Vitals
	return Sample{
		AtS: at.Seconds(), TempCelsius: v.CPU.TempCelsius, ClockHz: v.CPU.ClockHz, TrueClockHz: v.CPU.TrueClockHz,
		FanRPM: v.FanRPM, Watts: v.Power.Watts, Limited: v.Throttle.Now.Any(),
	}
}

// measure asks until the service has written for long enough, and looks at the
// board meanwhile. It returns the state after the last reply too.
func (c Config) measure(ctx context.Context, service client, before *status) (Load, *status, error) {
	begin := time.Now()
	load := Load{Samples: []Sample{sampleOf(before, 0)}}
	watch := c.watch(ctx, service, begin)
	err := c.load(ctx, service, &load)
	seen := watch()
	if err != nil {
		return load, nil, err
	}
	after, err := service.status(ctx)
	if err != nil {
		return load, nil, err
	}
	load.Samples = append(append(load.Samples, seen.samples...), sampleOf(after, time.Since(begin)))
	load.Shared = seen.shared
	load.spreads()
	return load, after, nil
}

// load asks one question after the other.
func (c Config) load(ctx context.Context, service client, load *Load) error {
	empty := 0
	for i := 0; load.DecodeS < c.Decode.Seconds(); i++ {
		c.Progress(fmt.Sprintf("measuring: %.0f of %.0f s of writing", load.DecodeS, c.Decode.Seconds()))
		question := questions[i%len(questions)]
		if round := i / len(questions); round > 0 { // else its answer's beginning is kept in memory
			question = fmt.Sprintf("%d. %s", round+1, question)
		}
		a, err := service.ask(ctx, question, c.Tokens)
		if err != nil {
			return err
		}
		t := a.Timings
		load.Replies = append(load.Replies, Reply{Question: question, Finish: a.Choices[0].FinishReason, Timings: t})
		if t.TPS == nil || t.TTFTS == nil {
			if empty++; empty == emptyReplies {
				return fmt.Errorf("the model gave %d replies in a row that are too short to measure: take one tuned for chat", empty)
			}
			continue
		}
		empty = 0
		load.DecodeS += t.E2ES - *t.TTFTS
	}
	return nil
}

// seen is what was seen of the service while it wrote.
type seen struct {
	samples []Sample
	shared  bool
}

// watch looks at the board every c.Every until the function it returns is called.
func (c Config) watch(ctx context.Context, service client, begin time.Time) func() seen {
	ctx, stop := context.WithCancel(ctx)
	result := make(chan seen, 1)
	go func() {
		var all seen
		defer func() { result <- all }()
		tick := time.NewTicker(c.Every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			s, err := service.status(ctx)
			if err != nil {
				continue // the questions will tell what is wrong
			}
			all.samples = append(all.samples, sampleOf(s, time.Since(begin)))
			all.shared = all.shared || s.Engine.Running+s.Engine.Waiting > 1
		}
	}()
	return func() seen {
		stop()
		return <-result
	}
}

// spreads sums the replies up.
func (l *Load) spreads() {
	l.TPS = spread(l.Replies, func(t wire.Timings) *float64 { return t.TPS })
	l.TTFTS = spread(l.Replies, func(t wire.Timings) *float64 { return t.TTFTS })
	l.PrefillTPS = spread(l.Replies, func(t wire.Timings) *float64 { return t.PrefillTPS })
}

// spread is nil where no reply has the value.
func spread(replies []Reply, of func(wire.Timings) *float64) *Spread {
	var values []float64
	for _, r := range replies {
		if v := of(r.Timings); v != nil {
			values = append(values, *v)
		}
	}
	return spreadOf(values)
}

// spreadOf sorts the values; it is nil where there are none.
func spreadOf(values []float64) *Spread {
	n := len(values)
	if n == 0 {
		return nil
	}
	slices.Sort(values)
	return &Spread{Min: values[0], Median: (values[(n-1)/2] + values[n/2]) / 2, Max: values[n-1], N: n}
}
