package catalogue

import "strings"

// Board is a family of boards with the same processor.
type Board string

// The boards of which enough runs are published.
const (
	Pi4 Board = "Pi 4"
	Pi5 Board = "Pi 5"
)

// Boards are all of them.
func Boards() []Board { return []Board{Pi4, Pi5} }

// soc begins the name of the board's processor in published.csv.
func (b Board) soc() string {
	if b == Pi4 {
		return "BCM2711"
	}
	return "BCM2712"
}

// BoardOf tells the family by what the device tree calls the board, such as
// "Raspberry Pi 5 Model B Rev 1.0"; "" for any other machine.
func BoardOf(model string) Board {
	rest, ok := strings.CutPrefix(model, "Raspberry Pi ")
	if !ok {
		return ""
	}
	rest = strings.TrimPrefix(rest, "Compute Module ")
	for _, f := range []struct {
		begin string
		board Board
	}{{"400", Pi4}, {"500", Pi5}, {"4", Pi4}, {"5", Pi5}} {
		if rest == f.begin || strings.HasPrefix(rest, f.begin+" ") || strings.HasPrefix(rest, f.begin+"+") || strings.HasPrefix(rest, f.begin+"S") {
			return f.board
		}
	}
	return ""
}
