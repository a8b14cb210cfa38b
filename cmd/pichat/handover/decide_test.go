package handover

import (
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	var (
		pi3   = Facts{Carries: true} // Cortex-A53; a Pi 4's A72 reports the same
		pi5   = Facts{Carries: true, DotProd: true, HalfPrec: true}
		dot   = Facts{Carries: true, DotProd: true}
		half  = Facts{Carries: true, HalfPrec: true}
		plain = Facts{DotProd: true, HalfPrec: true} // make build on a Pi 5
	)
	with := func(f Facts, wish string) Facts { f.Wish = wish; return f }
	probing := with(pi5, Auto)
	probing.Probing = true
	for _, tt := range []struct {
		name   string
		facts  Facts
		over   bool
		reason string
		fault  string
	}{
		{"Pi 3 and Pi 4", with(pi3, Auto), false, "baseline, the CPU does not report asimddp and asimdhp", ""},
		{"Pi 5", with(pi5, Auto), true, "Cortex-A76, the CPU reports asimddp and asimdhp", ""},
		{"dot products alone", with(dot, Auto), false, "baseline, the CPU does not report asimdhp", ""},
		{"half floats alone", with(half, Auto), false, "baseline, the CPU does not report asimddp", ""},
		{"Pi 5, baseline", with(pi5, Baseline), false, "baseline, by --cpu=baseline", ""},
		{"Pi 4, baseline", with(pi3, Baseline), false, "baseline, by --cpu=baseline", ""},
		{"Pi 5, native", with(pi5, Native), true, "Cortex-A76, by --cpu=native", ""},
		{"Pi 4, native", with(pi3, Native), false, "baseline, the CPU does not report asimddp and asimdhp", "would crash"},
		{"Pi 5, bad settings", pi5, false, "baseline, since the settings could not be read", ""},
		{"child that tries a model", probing, false, "baseline, as the process that started this one", ""},
		{"another build", with(plain, Native), false, "the only program in this file", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Decide(tt.facts)
			if d.HandOver != tt.over || d.Reason != tt.reason {
				t.Errorf("got %+v, want %v, %q", d, tt.over, tt.reason)
			}
			if (d.Fault != "") != (tt.fault != "") || !strings.Contains(d.Fault, tt.fault) {
				t.Errorf("fault %q, want %q", d.Fault, tt.fault)
			}
		})
	}
}
