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
	// ClockHz is the clock as measured, else as the kernel asks for it, which
	// ClockAsked tells. ClockOfHz is what was asked for where the measured
	// clock is well below it; 0 where it is not.
	ClockHz     Figure
	ClockAsked  bool
	ClockOfHz   float64
	FanRPM      Figure
	Watts       Figure // of the rails that the board measures
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

// ThrottleModel says what holds the board back now, and what has at some time
// since it was started. The two are never mixed.
type ThrottleModel struct{ Now, SinceBoot HeldModel }

// HeldModel is what is known of the limits.
type HeldModel struct {
	// Limits that hold, such as "under-voltage".
	Limits []string
	// Known is set when every limit is known. Else Reason says why not, and
	// Clear names those that are known not to hold.
	Known  bool
	Reason string
	Clear  []string
	// Remedy says what to do about Limits; empty when there are none, or when
	// the same is said of now.
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
	// Together is the pace of each answer when so many are written at once, as
	// measured so far; smallest number first.
	Together []TogetherModel
	// Why says why those who wait do; empty when nobody does.
	Why string
}

// TogetherModel is a number of answers and the tokens/s that each then gets.
type TogetherModel struct {
	Answers int
	PaceTPS float64
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
	// Held are the times in which a limit held, oldest first.
	Held []HeldSpan
}

// HeldSpan is a time in which the board was held back. From and To are shares
// of the stretch, 0 (oldest) to 1 (now).
type HeldSpan struct {
	From, To float64
	// Began is set when From is when it began, and not just how far back is
	// known.
	Began bool
	// TempCelsius is the heat of the CPU at From.
	TempCelsius Point
}
