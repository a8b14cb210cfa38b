package policy

// Replies learns the length of replies. The zero value knows nothing.
type Replies struct {
	mean, square float64 // of the lengths, and of their squares
	count        int
}

// repliesMemory is about how many replies the means go back.
const repliesMemory = 32

// Observe takes the length of a reply that ended by itself or at its cap, in
// tokens. Fewer than 1 are ignored.
func (r *Replies) Observe(tokens int) {
	if tokens < 1 {
		return
	}
	r.count = min(r.count+1, repliesMemory)
	length := float64(tokens)
	r.mean += (length - r.mean) / float64(r.count)
	r.square += (length*length - r.square) / float64(r.count)
}

// Expected is how many tokens a reply will have that has not begun and may have
// most; 0 if unknown.
func (r *Replies) Expected(most int) int { return r.within(r.mean, most) }

// Left is how many more tokens are expected of a reply that is met in the midst
// of being written and may have so many more; 0 if unknown. It does not depend
// on how many it has: one that is met is more likely a long one, and is about
// half through, so E[L^2]/2E[L] are left, a little more than half the mean.
func (r *Replies) Left(most int) int {
	if r.count == 0 {
		return 0
	}
	return r.within(r.square/(2*r.mean), most)
}

func (r *Replies) within(tokens float64, most int) int {
	if r.count == 0 {
		return 0
	}
	return max(1, min(int(tokens+0.5), most))
}
