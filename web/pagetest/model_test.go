package pagetest

import (
	"math"
	"time"

	"pichat/llm/reader"
	"pichat/web/views"
)

// pageModel is a Raspberry Pi 5 that is ready.
func pageModel() views.PageModel {
	return views.PageModel{
		Version: "test", Host: "pi-kitchen",
		State: stateModel(), Board: boardModel(),
		Empty: views.EmptyModel{
			Board:     "Raspberry Pi 5 Model B",
			Questions: []string{"Why is the sky blue?", "Write a short letter to a friend who moved away.", "How does a bicycle stay upright?"},
			Address:   "http://192.168.1.20:8080",
		},
		Settings: views.SettingsModel{
			System: "You are a helpful assistant.", Temperature: .7, TopK: 40, TopP: .95, MinP: .05,
			RepeatPenalty: 1.1, MaxTokens: 512, Window: 2048,
		},
		TargetTPS: reader.Target, AverageTPS: reader.Average, PatienceS: reader.Patience.Seconds(), MaxInput: 64 << 10,
	}
}

func stateModel() views.StateModel {
	return views.StateModel{Host: "pi-kitchen", Phase: views.PhaseReady, Progress: 1, Model: "SmolLM2", Size: "135M · Q4_1"}
}

// boardModel is a board in the middle of its work, ten minutes of it.
func boardModel() views.BoardModel {
	const n = 60
	series := func(f func(x float64) float64) []views.Point {
		out := make([]views.Point, n)
		for i := range out {
			out[i] = views.Point{Value: f(float64(i) / (n - 1)), Known: true}
		}
		return out
	}
	pace := series(func(x float64) float64 { return 7.5 - 2.4*x + .4*math.Sin(40*x) })
	for i := range pace { // pauses between the answers
		if i < 6 || (i > 17 && i < 24) || (i > 40 && i < 45) {
			pace[i] = views.Point{}
		}
	}
	heat := series(func(x float64) float64 { return 48 + 16*(1-math.Exp(-3*x)) + .5*math.Sin(30*x) })
	const gib = 1 << 30 // the parts below are of a board with 8 GB
	return views.BoardModel{
		TempCelsius: views.Figure{Value: 62.1, Known: true, Source: "hwmon cpu_thermal"},
		ClockHz:     views.Figure{Value: 2.4e9, Known: true, Source: "cpufreq"},
		BusyPercent: views.Figure{Value: 97, Known: true, Source: "/proc/stat"},
		Memory:      views.MemoryModel{Known: true, Total: 79 * gib / 10, Model: 19 * gib / 10, Cache: 3 * gib / 10, Process: gib / 10, Free: 5 * gib},
		FanRPM:      views.Figure{Value: 2950, Known: true, Source: "cooling_fan"},
		Watts:       views.Figure{Value: 6.8, Known: true, Source: "firmware pmic_read_adc, 8 rails"},
		Throttle: views.ThrottleModel{Now: views.HeldModel{Known: true}, SinceBoot: views.HeldModel{
			Known: true, Limits: []string{"under-voltage"},
			Remedy: "The supply voltage was too low for a while: use the board's own power supply and a short, thick cable."}},
		Now:         views.NowModel{Answering: 1, Places: 4, PaceTPS: views.Figure{Value: 5.1, Known: true}},
		TempHistory: heat, BusyHistory: series(func(x float64) float64 { return 90 + 8*math.Sin(25*x) }),
		ClockHistory: series(func(float64) float64 { return 2.4e9 }),
		UsedHistory:  series(func(x float64) float64 { return (2.4 + .5*x) * gib }),
		Timeline:     views.TimelineModel{Minutes: 10, TargetTPS: reader.Target, PaceTPS: pace, TempCelsius: heat},
	}
}

// bareBoard is a machine of which nothing is known.
func bareBoard() views.BoardModel {
	none := views.Figure{Reason: "no sensor named cpu_thermal, coretemp or k10temp"}
	return views.BoardModel{
		TempCelsius: none, ClockHz: views.Figure{Reason: "no cpufreq: a virtual machine"}, BusyPercent: none,
		Memory: views.MemoryModel{Reason: "/proc/meminfo cannot be read"},
		Throttle: views.ThrottleModel{
			Now: views.HeldModel{Reason: "not a Raspberry Pi: no firmware to ask"}, SinceBoot: views.HeldModel{Reason: "not a Raspberry Pi: no firmware to ask"}},
		Now:      views.NowModel{Places: 1},
		Timeline: views.TimelineModel{Minutes: 10, TargetTPS: reader.Target},
	}
}

const ms = time.Millisecond

const sky = "The sky looks blue because air scatters short waves of light more than long ones. Sunlight holds every colour. " +
	"On its way through the air it meets molecules of nitrogen and oxygen, which are far smaller than a wave of light. " +
	"They send blue light off in all directions, about four times as strongly as red. So blue reaches your eye from every part of the sky.\n\n" +
	"At sunset the light comes a longer way through the air. Most of the blue has been scattered out of it by then, and **red and orange** are what is left.\n\n" +
	"- Short waves scatter most (*Rayleigh scattering*).\n- Violet is scattered even more, but sunlight holds less of it and the eye sees it less well.\n"
