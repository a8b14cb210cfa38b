package policy

import "time"

// Unknown is a predicted wait that cannot be told, since nothing has been
// measured yet.
const Unknown time.Duration = -1

// Waiting is a request that has not started.
type Waiting struct {
	// Client is whom it comes from, an address or a key; requests of one
	// client share what it may use. The empty name is a client too.
	Client string
	// Arrival is when it was accepted, on the clock of View.Now.
	Arrival time.Duration
	// Prompt is how many tokens are to be evaluated, without those that are
	// remembered.
	Prompt int
	// Reply is how many tokens are expected, as Replies.Expected has it; 0 is
	// unknown.
	Reply int
	// Exclusive asks to run alone.
	Exclusive bool
}

// Running is a request that holds a slot.
type Running struct {
	Client string
	// PromptLeft is how many prompt tokens are still to be evaluated; 0 once
	// it decodes.
	PromptLeft int
	// ReplyLeft is how many tokens are expected still on average, as
	// Replies.Left has it; 0 is unknown.
	ReplyLeft int
	Exclusive bool
}

// View is what a decision is made from. The policy keeps no part of it.
type View struct {
	Now     time.Duration // any monotonic clock
	Running []Running     // in the order of their admission
	Waiting []Waiting     // in any order
}

// Decision says who starts now.
type Decision struct {
	Admit  int // index in View.Waiting; -1 admits nobody
	Reason Reason
}

// Policy decides who starts. The caller asks again, with the view changed
// accordingly, until nobody is admitted.
type Policy interface {
	Next(v View) Decision
}
