// Package sim runs the policies of package policy on made-up traffic in
// simulated time, with step times that were measured or derived, and reports
// what the people in front of it would have seen. It is deterministic: the same
// seed gives the same figures.
//
// It plans steps as the engine does: running streams first, one token each, then
// as much of the prompts as the stall budget allows. Left out are remembered
// prompts, contexts of different length and clients that go away.
package sim
