package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// request is one that arrives.
type request struct {
	client        string
	arrival       time.Duration
	prompt, reply int // tokens
}

// Traffic is the process that requests arrive by.
type Traffic int

const (
	// Poisson is people who know nothing of each other.
	Poisson Traffic = iota
	// Bursts is a meeting: nobody, then several at once. A burst has 5 requests
	// on average, 0.3 s apart.
	Bursts
	// Flood is Poisson, with one client that sends seven tenths of it all.
	Flood
)

func (t Traffic) String() string {
	switch t {
	case Bursts:
		return "bursts of 5"
	case Flood:
		return "one client sends 70 %"
	}
	return "Poisson"
}

// script is the client that floods.
const script = "script"

// Lengths of prompts and replies in tokens: logarithmically normal with this
// median and spread, up to a limit, as chats tend to be.
const (
	promptMedian, promptSpread, promptMost = 40, 0.9, 1000
	replyMedian, replySpread, replyMost    = 100, 0.6, 400
	people                                 = 20 // clients
)

// meanPrompt and meanReply are the expected lengths, limits included, as large
// numbers of draws have them.
var meanPrompt, meanReply = meanLength(promptMedian, promptSpread, promptMost), meanLength(replyMedian, replySpread, replyMost)

func meanLength(median, spread float64, most int) float64 {
	r := rand.New(rand.NewPCG(1, 1))
	const draws = 20_000
	sum := 0
	for range draws {
		sum += length(r, median, spread, most)
	}
	return float64(sum) / draws
}

func length(r *rand.Rand, median, spread float64, most int) int {
	return min(max(int(math.Round(median*math.Exp(spread*r.NormFloat64()))), 2), most)
}

// arrivals makes the requests of so many seconds, in order, at a mean rate per
// second.
func (t Traffic) arrivals(seed uint64, rate float64, during time.Duration) []request {
	r := rand.New(rand.NewPCG(seed, 2))
	const burst, gap = 5.0, 0.3
	var all []request
	for at := 0.0; ; {
		size := 1
		if t == Bursts {
			for r.Float64() > 1/burst {
				size++
			}
			at += r.ExpFloat64() * burst / rate
		} else {
			at += r.ExpFloat64() / rate
		}
		if at >= during.Seconds() {
			break
		}
		for i, start := 0, at; i < size && start < during.Seconds(); i++ {
			client := fmt.Sprint("person ", r.IntN(people))
			if t == Flood && r.Float64() < 0.7 {
				client = script
			}
			all = append(all, request{
				client:  client,
				arrival: seconds(start),
				prompt:  length(r, promptMedian, promptSpread, promptMost),
				reply:   length(r, replyMedian, replySpread, replyMost),
			})
			start += r.ExpFloat64() * gap
		}
	}
	slices.SortStableFunc(all, func(a, b request) int { return int(a.arrival - b.arrival) })
	return all
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
