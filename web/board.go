package web

import (
	"strings"
	"time"

	"pichat/llm"
	"pichat/sysmon"
	"pichat/web/views"
)

// drawn is the number of points of a small line.
const drawn = 60

// boardModel flattens the board's state for the page.
func (s *Server) boardModel() views.BoardModel {
	snap, past := s.config.Vitals.Latest(), s.config.Vitals.History()
	info := s.config.Service.Info()
	return views.BoardModel{
		TempCelsius:  figure(snap.CPU.TempCelsius),
		ClockHz:      figure(snap.CPU.RunningClockHz()),
		ClockAsked:   !snap.CPU.TrueClockHz.Known,
		ClockOfHz:    wanted(snap.CPU),
		FanRPM:       figure(snap.FanRPM),
		Watts:        figure(snap.Power.Watts),
		BusyPercent:  figure(snap.CPU.BusyPercent),
		Memory:       memoryModel(snap, info),
		Throttle:     throttleModel(snap.Throttle),
		Now:          s.nowModel(),
		TempHistory:  points(past.TempCelsius),
		BusyHistory:  points(past.BusyPercent),
		ClockHistory: points(past.ClockHz),
		UsedHistory:  points(past.UsedBytes),
		Timeline:     s.timelineModel(past, snap.At),
	}
}

func (s *Server) boardName() string {
	host := s.config.Vitals.Latest().Host
	if name, ok := host.BoardModel.Get(); ok {
		return name
	}
	name, _ := host.CPUModel.Get()
	return name
}

func (s *Server) nowModel() views.NowModel {
	st := s.config.Service.Status()
	m := views.NowModel{Answering: st.Running, Waiting: st.Waiting, Places: st.Slots}
	if pace, ok := s.replies.Pace(); ok {
		m.PaceTPS = views.Figure{Value: pace, Known: true}
	}
	sch, _ := s.config.Service.Schedule()
	for _, t := range sch.StepTimes {
		if t.Measured > 0 && t.Time > 0 {
			m.Together = append(m.Together, views.TogetherModel{Answers: t.Streams, PaceTPS: 1 / t.Time.Seconds()})
		}
	}
	if st.Waiting > 0 {
		m.Why = sch.Decision
	}
	return m
}

func figure(r sysmon.Reading[float64]) views.Figure {
	return views.Figure{Value: r.Value, Known: r.Known, Reason: r.Reason, Source: r.Source}
}

// memoryModel parts the machine's memory. Pages of the mapped model count as
// the model's and not as free, although the kernel could drop them: each
// token would have to read them again.
func memoryModel(snap *sysmon.Snapshot, info llm.ModelInfo) views.MemoryModel {
	ram, ok := snap.Memory.RAM.Get()
	if !ok {
		return views.MemoryModel{Reason: snap.Memory.RAM.Reason}
	}
	m := views.MemoryModel{Known: true, Total: ram.TotalBytes}
	if p, ok := snap.Process.Memory.Get(); ok {
		m.Model = min(p.FileBytes, info.FileBytes)
		m.Cache = min(p.AnonBytes, info.KVBytes)
		m.Process = p.ResidentBytes - min(p.ResidentBytes, m.Model+m.Cache)
	}
	own := m.Model + m.Cache + m.Process
	m.Free = ram.AvailableBytes - min(ram.AvailableBytes, m.Model)
	m.Free = min(m.Free, ram.TotalBytes-min(ram.TotalBytes, own))
	return m
}

// wanted is the clock that the kernel asks for where the CPU runs well below
// it, else 0.
func wanted(c sysmon.CPU) float64 {
	is, known := c.TrueClockHz.Get()
	asked, asks := c.ClockHz.Get()
	if known && asks && is < .95*asked {
		return asked
	}
	return 0
}

// throttleModel says of what has been only what is not said of now.
func throttleModel(t sysmon.Throttle) views.ThrottleModel {
	const (
		wasWeak = "The supply voltage was too low for a while: use the board's own power supply and a short, thick cable."
		wasHot  = "It was too hot for a while: a fan, a heat sink or a cooler place keeps its pace."
	)
	unless := func(now bool, text string) string {
		if now {
			return ""
		}
		return text
	}
	return views.ThrottleModel{
		Now: heldModel(t.Now,
			"The supply voltage is too low: use the board's own power supply and a short, thick cable.",
			"The board slows down to stay cool: give it a fan or a heat sink, or a cooler place."),
		SinceBoot: heldModel(t.SinceBoot, unless(t.Now.Supply(), wasWeak), unless(t.Now.Heat(), wasHot)),
	}
}

// heldModel says what to do by the cause: the supply, heat, or both.
func heldModel(l sysmon.Limits, supply, heat string) views.HeldModel {
	any := l.Any()
	m := views.HeldModel{Limits: l.Active(), Known: any.Known, Clear: l.Clear(), Reason: any.Reason}
	var remedies []string
	if l.Supply() {
		remedies = append(remedies, supply)
	}
	if l.Heat() {
		remedies = append(remedies, heat)
	}
	m.Remedy = strings.TrimSpace(strings.Join(remedies, " "))
	return m
}

func points(s sysmon.Series) []views.Point {
	s = s.Resample(drawn)
	out := make([]views.Point, len(s))
	for i, p := range s {
		out[i] = views.Point{Value: p.Value, Known: p.Known}
	}
	return out
}

// timelineModel lays pace and heat over the last ten minutes.
func (s *Server) timelineModel(past sysmon.History, now time.Time) views.TimelineModel {
	begin := now.Add(-timeline)
	share := func(at time.Time) float64 { return float64(at.Sub(begin)) / float64(timeline) }
	m := views.TimelineModel{Minutes: int(timeline / time.Minute), TargetTPS: s.config.TargetTPS, PaceTPS: points(s.hub.paces.last())}
	m.TempCelsius = make([]views.Point, drawn)
	sums := make([]int, drawn)
	for i, at := range past.At {
		x := share(at)
		if x < 0 || x > 1 {
			continue
		}
		if p := past.TempCelsius[i]; p.Known {
			bin := min(int(x*drawn), drawn-1)
			t := &m.TempCelsius[bin]
			t.Known = true
			t.Value += p.Value
			sums[bin]++
		}
	}
	m.Held = heldSpans(past, share)
	for i, n := range sums {
		if n > 0 {
			m.TempCelsius[i].Value /= float64(n)
		}
	}
	return m
}

// heldSpans finds the times in which a limit held. What is not known ends one.
func heldSpans(past sysmon.History, share func(time.Time) float64) []views.HeldSpan {
	var spans []views.HeldSpan
	held, knownBefore := false, false
	for i, at := range past.At {
		x, p := share(at), past.Limited[i]
		now := p.Known && p.Value > 0
		switch {
		case x < 0 || x > 1: // before the stretch that is drawn
		case now && held && len(spans) > 0:
			spans[len(spans)-1].To = x
		case now:
			temp := past.TempCelsius[i]
			spans = append(spans, views.HeldSpan{From: x, To: x, Began: knownBefore && !held, TempCelsius: views.Point{Value: temp.Value, Known: temp.Known}})
		}
		held, knownBefore = now, p.Known
	}
	return spans
}
