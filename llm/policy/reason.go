package policy

import (
	"fmt"
	"time"
)

// Kind is what a decision was made for.
type Kind uint8

// The kinds of reasons: first those that admit, then those that keep waiting,
// then those that refuse.
const (
	Idle         Kind = iota + 1 // nobody runs
	KeepsPace                    // one more, and all keep ahead of the reader
	KeepsFloor                   // one more that would wait for long, and all keep the floor
	FinishSooner                 // no stream keeps ahead, and together they finish sooner on average
	Learning                     // one more is tried to measure its step time
	UnderLimit                   // fewer run than a fixed number

	Empty          // nobody waits
	SlotsFull      // no slot is free
	BelowPace      // one more, and they would fall behind the reader
	NoGain         // no stream keeps ahead, and together they would finish later on average
	BackedOff      // streams were measured to fall behind
	Measuring      // the present size is measured before one more is tried
	PromptFirst    // a shorter prompt is read to its end first
	ExclusiveRuns  // a request that runs alone is running
	ExclusiveWaits // the next one runs alone, and others still run
	Holding        // a batch is held until it is full or old enough

	WaitTooLong     // it would wait longer than allowed
	ClientQueueFull // its client has too many waiting
)

// Reason tells why a decision was made. Its text is made only when asked for.
// Which numbers are set depends on the kind.
type Reason struct {
	Kind    Kind
	Streams int           // how many would run
	Rate    float64       // tokens/s of each stream, or the gain in throughput
	Limit   float64       // what Rate is compared with
	Wait    time.Duration // predicted wait, or the reader's patience
}

// String is one line that a person understands.
func (r Reason) String() string {
	switch r.Kind {
	case Idle:
		return "nobody else is running"
	case KeepsPace:
		if r.Rate < r.Limit {
			return fmt.Sprintf("%d streams run at %.1f tok/s each: a reader of %.1f waits less than %v in a reply", r.Streams, r.Rate, r.Limit, r.Wait)
		}
		return fmt.Sprintf("%d streams run at %.1f tok/s each, at least %.1f", r.Streams, r.Rate, r.Limit)
	case KeepsFloor:
		return fmt.Sprintf("a slot would come too late; %d streams run at %.1f tok/s each, at least %.1f", r.Streams, r.Rate, r.Limit)
	case FinishSooner:
		return fmt.Sprintf("even one stream is slower than the reader; %d at once give %.2f times the tokens, and with so many waiting all finish sooner on average", r.Streams, r.Rate)
	case Learning:
		return fmt.Sprintf("%d streams are tried, to measure their pace", r.Streams)
	case UnderLimit:
		return fmt.Sprintf("%d streams are within the fixed number", r.Streams)
	case Empty:
		return "nobody waits"
	case SlotsFull:
		return fmt.Sprintf("all %d slots are taken", r.Streams)
	case BelowPace:
		return fmt.Sprintf("%d streams would run at %.1f tok/s, below %.1f", r.Streams, r.Rate, r.Limit)
	case NoGain:
		return fmt.Sprintf("even one stream is slower than the reader; %d at once would give %.2f times the tokens, and %.2f are needed for all to finish sooner", r.Streams, r.Rate, r.Limit)
	case BackedOff:
		return fmt.Sprintf("streams fell behind %.1f tok/s lately, so at most %d run for now", r.Limit, r.Streams)
	case Measuring:
		return fmt.Sprintf("the pace of %d streams is measured before one more is tried", r.Streams)
	case PromptFirst:
		return "the prompt that is being read is shorter and goes first"
	case ExclusiveRuns:
		return "a request that asked to run alone is running"
	case ExclusiveWaits:
		return "the next request asked to run alone and waits for the running ones to end"
	case Holding:
		return "a batch is being collected"
	case WaitTooLong:
		return fmt.Sprintf("it would wait about %v, longer than the limit of %v", r.Wait.Round(time.Second), time.Duration(r.Limit*float64(time.Second)))
	case ClientQueueFull:
		return fmt.Sprintf("%d requests of the same client wait already", r.Streams)
	}
	return "no reason"
}
