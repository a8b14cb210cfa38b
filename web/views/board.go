package views

// Figure is one measured value as the page shows it, or the reason why there
// is none. The zero Figure is unknown without a reason and reads "n/a".
type Figure struct {
	Value float64
	Known bool
	// Reason says in words for people why the value is unknown.
	Reason string
	// Source says where a known value came from, such as "hwmon cpu_thermal".
	Source string
}

// Point is one value of a series, or a gap where it was not known.
type Point struct {
	Value float64
	Known bool
}

// BoardModel fills Board, Line and BoardNotices: the machine and what it is
// doing, once a second.
type BoardModel struct {
	TempCelsius Figure
	ClockHz     Figure
	BusyPercent Figure // of all cores, 0 to 100
	Memory      MemoryModel
	Throttle    ThrottleModel
	Now         NowModel
	// Histories of the last minutes, oldest first and evenly spaced; 30 to 60
	// points draw well. Empty draws nothing.
	TempHistory  []Point
	BusyHistory  []Point
	ClockHistory []Point
	UsedHistory  []Point // bytes
	Timeline     TimelineModel
}

// MemoryModel is the machine's memory in bytes, in parts that add up to Total.
type MemoryModel struct {
	Known  bool
	Reason string // why it is unknown
	Total  uint64
	// Model is the resident part of the mapped model file, Cache the KV cache
	// of all slots, Process the rest of this program. Each is 0 when unknown.
	Model   uint64
	Cache   uint64
	Process uint64
	// Free is what can be had without swapping. The rest, Total less the
	// parts above, is shown as other.
	Free uint64
}

// ThrottleModel says what holds the board back.
type ThrottleModel struct {
	Known  bool
	Reason string // why it is unknown
	// Now and SinceBoot name the limits, such as "under-voltage"; empty when
	// none holds or held.
	Now       []string
	SinceBoot []string
	// Remedy says what to do about the limits of Now, one sentence; empty
	// when there is none.
	Remedy string
}

// NowModel counts the replies on this engine.
type NowModel struct {
	Answering int
	Waiting   int
	Places    int // slots in all; 0 while the model is loading
	// PaceTPS is the pace of the answers being written, over the last
	// seconds; unknown when there is none.
	PaceTPS Figure
}

// TimelineModel is the pace of answers and the heat of the CPU over the same
// stretch of time, oldest first and evenly spaced. The slices may differ in
// length; each spans the whole stretch.
type TimelineModel struct {
	Minutes int // length of the stretch
	// TargetTPS is the reader's pace, drawn as a dotted line; 0 draws none.
	TargetTPS float64
	// PaceTPS has a gap wherever nothing was being written.
	PaceTPS     []Point
	TempCelsius []Point
	// ThrottledAt are the moments at which a limit set in, as a share of the
	// stretch, 0 (oldest) to 1 (now).
	ThrottledAt []float64
}
