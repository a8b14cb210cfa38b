package handover

import (
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	var (
		pi3   = Facts{Carries: true, Other: cortexA76(false, false)} // Cortex-A53; a Pi 4's A72 reports the same
		pi5   = Facts{Carries: true, Other: cortexA76(true, true)}
		dot   = Facts{Carries: true, Other: cortexA76(true, false)}
		half  = Facts{Carries: true, Other: cortexA76(false, true)}
		plain = Facts{Other: cortexA76(true, true)} // make build on a Pi 5
		old   = Facts{Carries: true, Other: x64v3(false, false, false, false)}
		pc    = Facts{Carries: true, Other: x64v3(true, true, true, true)}
		vm    = Facts{Carries: true, Other: x64v3(true, true, false, true)} // one that hides f16c
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
		{"PC", with(pc, Auto), true, "x86-64-v3, the CPU reports avx2, fma, f16c and bmi2", ""},
		{"PC, native", with(pc, Native), true, "x86-64-v3, by --cpu=native", ""},
		{"old PC", with(old, Auto), false, "baseline, the CPU does not report avx2, fma, f16c and bmi2", ""},
		{"virtual machine", with(vm, Auto), false, "baseline, the CPU does not report f16c", ""},
		{"virtual machine, native", with(vm, Native), false, "baseline, the CPU does not report f16c", "so the x86-64-v3 program would crash"},
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
