package host_test

import (
	"context"
	"fmt"

	"pichat/sysmon"
	"pichat/sysmon/host"
)

// A program that looks once needs no goroutine. A server calls Run instead and
// hands the Sampler to whoever shows the board.
func Example() {
	sampler, err := sysmon.New(host.Readers(host.Config{}), sysmon.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	board := sampler.Sample(context.Background())
	if temp, ok := board.CPU.TempCelsius.Get(); ok {
		fmt.Printf("CPU %.1f °C\n", temp)
	} else {
		fmt.Println("CPU temperature n/a:", board.CPU.TempCelsius.Reason)
	}
}
