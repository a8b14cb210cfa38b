package policy

// Replies learns the length of replies. The zero value knows nothing.
type Replies struct {
	mean  float64
	count int
}

// repliesMemory is about how many replies the mean goes back.
const repliesMemory = 32

// Observe takes the length of a reply that ended by itself or at its cap, in
// tokens. Fewer than 1 are ignored.
func (r *Replies) Observe(tokens int) {
	if tokens < 1 {
		return
	}
	r.count = min(r.count+1, repliesMemory)
	r.mean += (float64(tokens) - r.mean) / float64(r.count)
}

// Left is how many more tokens are expected of a reply with so many left until
// its cap; 0 if unknown. It does not depend on how long the reply is already:
// what is left of a reply that goes on is, on average, about the mean again.
func (r *Replies) Left(untilCap int) int {
	if r.count == 0 {
		return 0
	}
	return max(1, min(int(r.mean+0.5), untilCap))
}
