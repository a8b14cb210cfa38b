// Package stress holds no code but tests: they drive the engine with random
// arrivals, cancellations and failures of a scripted backend, in simulated
// time, and check after every step what must always hold.
package stress
