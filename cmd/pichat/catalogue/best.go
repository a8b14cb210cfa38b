package catalogue

// leastTPS is the slowest pace at which an answer is still of use: somewhat
// below the 5 tokens/s at which an average reader reads.
const leastTPS = 4

// WeightsShare is the part of a machine's memory that a model's weights may
// take. The rest is for the context, work memory and the system. It is a rule
// for choosing; pull reads the file's header and computes the need.
const WeightsShare = 0.6

// Choice is a model that suits a machine.
type Choice struct {
	Entry
	Bytes uint64
	Pace  Pace
}

// Best is the largest model that fits into a memory of so many bytes and, on a
// board of which paces are known, writes at 4 tokens/s or more. Only models
// whose size is known are looked at. False where none is found, or where the
// memory is not known.
func Best(b Board, memoryBytes uint64) (Choice, bool) {
	var best Choice
	for _, e := range entries {
		size := e.KnownBytes()
		if size == 0 || float64(size) > WeightsShare*float64(memoryBytes) {
			continue
		}
		pace := e.Pace(b, size)
		if b != "" && (pace.Kind == Unknown || pace.TPS < leastTPS) {
			continue
		}
		if e.Parameters() > best.Parameters() {
			best = Choice{e, size, pace}
		}
	}
	return best, best.Name != ""
}

// KnownBytes is the file's size as far as it is known without asking the
// server: pinned with the checksum, or published; else 0.
func (e Entry) KnownBytes() uint64 {
	if e.PinnedBytes > 0 {
		return e.PinnedBytes
	}
	return e.PublishedBytes()
}
