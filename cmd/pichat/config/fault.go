package config

import (
	"fmt"
	"strings"
)

// Fault is one thing wrong with the settings.
type Fault struct {
	// Where names the setting as it was given, with its value:
	// "--slots 0", "PICHAT_SLOTS=0 (environment)", "pichat.env:3: PICHAT_SLOTS=0".
	Where string
	// What says what is wrong and what is allowed.
	What string
}

func (f Fault) String() string {
	if f.Where == "" {
		return f.What
	}
	return f.Where + ": " + f.What
}

// Faults is the error of Parse: everything that is wrong, in the order in
// which it was found. It is never empty.
type Faults struct {
	// Command is the command the faults belong to, such as "serve"; "" when
	// none was named.
	Command string
	List    []Fault
}

// Error is one line for one fault, and a list for more.
func (f *Faults) Error() string {
	program := strings.TrimSpace("pichat " + f.Command)
	help := fmt.Sprintf("(%s --help shows what is allowed)", program)
	if len(f.List) == 1 {
		return f.List[0].String() + " " + help
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d faults:", len(f.List))
	for _, fault := range f.List {
		b.WriteString("\n  " + fault.String())
	}
	b.WriteString("\n" + help)
	return b.String()
}
