// Package policy decides who may start to run, and how long the others will
// wait. It is pure: the caller brings the time and what runs and waits, and
// tells what it measured; there is no clock, no goroutine and no I/O here. So
// the same code serves the engine and the simulator (package sim).
//
// Adaptive is the policy that pichat uses. It learns the time of a step at each
// number of streams (Curve) and admits one more only while every stream would
// still keep ahead of the reader. Fixed and Hold are what it is compared with.
//
// Nothing here is safe for concurrent use: one goroutine owns a policy and its
// curve.
package policy
