package web

import (
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
		ClockHz:      figure(snap.CPU.ClockHz),
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

func throttleModel(t sysmon.Throttle) views.ThrottleModel {
	m := views.ThrottleModel{Now: t.Now.Active(), SinceBoot: t.SinceBoot.Active()}
	any := t.Now.Any()
	m.Known, m.Reason = any.Known, any.Reason
	switch {
	case t.Now.UnderVoltage.Known && t.Now.UnderVoltage.Value:
		m.Remedy = "The supply voltage is too low: use the board's own power supply and a short, thick cable."
	case len(m.Now) > 0:
		m.Remedy = "The board slows down to stay cool: give it a fan or a heat sink, or a cooler place."
	}
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
	limited := false
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
		if p := past.Limited[i]; p.Known {
			if p.Value > 0 && !limited {
				m.ThrottledAt = append(m.ThrottledAt, x)
			}
			limited = p.Value > 0
		}
	}
	for i, n := range sums {
		if n > 0 {
			m.TempCelsius[i].Value /= float64(n)
		}
	}
	return m
}
