// Command sim runs the simulator of the batching policies, prints its tables,
// and draws the pictures of docs/batching.md. Run it with "make sim".
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"pichat/llm/policy/sim"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sim FOLDER, where the pictures go")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	curves, err := sim.Curves()
	if err != nil {
		return err
	}
	fmt.Print(sim.CurveTable(curves))
	var met, ends []panel
	for _, c := range curves {
		for _, traffic := range []sim.Traffic{sim.Poisson, sim.Bursts} {
			sweep := sim.Sweep(c, traffic)
			fmt.Printf("\n%s: %s on %s, %v, capacity %.2g requests/s\n", c.Title(), c.Model, c.Machine, traffic, sim.Capacity(c))
			fmt.Print(sim.FullTable(sweep))
			fmt.Printf("predicted waits of adaptive against the actual ones\n%s", sim.WaitTable(sweep))
			if traffic == sim.Poisson {
				if p := metPanel(c, sweep); p.highest() > 0 { // nothing is met where no stream keeps the pace
					met = append(met, p)
				}
				ends = append(ends, endPanel(c, sweep))
			}
		}
	}
	for name, chart := range map[string]figure{
		"batching-gain.svg":    {panels: []panel{stepPanel(curves), gainPanel(curves)}, columns: 2},
		"batching-goodput.svg": {panels: met, columns: 3},
		"batching-e2e.svg":     {panels: ends, columns: 3},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), chart.svg(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// stepPanel shows T(B) and gainPanel g(B) of each curve.
func stepPanel(curves []sim.Curve) panel {
	p := panel{title: "tokens/s of each stream, 1/T(B)", x: "streams B", log: true}
	for _, c := range curves {
		s := line{name: c.Title(), dashed: c.Derived}
		for i, step := range c.StepSeconds {
			s.points = append(s.points, point{float64(i + 1), 1 / step})
		}
		p.lines = append(p.lines, s)
	}
	p.lines = append(p.lines, line{name: "left: 11 tokens/s; right: break-even", rule: true, points: []point{{1, sim.Pace}, {8, sim.Pace}}})
	return p
}

func gainPanel(curves []sim.Curve) panel {
	p := panel{title: "throughput over that of one stream, g(B)", x: "streams B"}
	for _, c := range curves {
		s := line{name: c.Title(), dashed: c.Derived}
		for i := range c.StepSeconds {
			s.points = append(s.points, point{float64(i + 1), c.Gain(i + 1)})
		}
		p.lines = append(p.lines, s)
	}
	even := line{name: "break-even, 2B/(B+1)", rule: true}
	for b := 1.0; b <= 8; b++ {
		even.points = append(even.points, point{b, 2 * b / (b + 1)})
	}
	p.lines = append(p.lines, even)
	return p
}

func metPanel(c sim.Curve, sweep [][]sim.Result) panel {
	p := sweepPanel(c, sweep, func(r *sim.Result) float64 {
		part, _ := r.Attainment()
		return 100 * part
	})
	p.title += ": % in time and at pace"
	return p
}

func endPanel(c sim.Curve, sweep [][]sim.Result) panel {
	p := sweepPanel(c, sweep, func(r *sim.Result) float64 { return r.E2E.Mean().Seconds() })
	p.title += ": mean s to the end"
	p.log = true
	return p
}

func sweepPanel(c sim.Curve, sweep [][]sim.Result, value func(*sim.Result) float64) panel {
	p := panel{title: c.Title(), x: "load, in parts of the capacity"}
	for i := range sweep[0] {
		s := line{name: sweep[0][i].Contender.Name, dashed: sweep[0][i].Contender.Fixed != nil}
		for _, row := range sweep {
			s.points = append(s.points, point{row[i].Scenario.Load, value(&row[i])})
		}
		p.lines = append(p.lines, s)
	}
	return p
}
