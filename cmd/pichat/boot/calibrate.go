package boot

import (
	"context"
	"errors"
	"time"

	"pichat/cmd/pichat/remember"
	"pichat/cmd/pichat/tune"
	"pichat/llm"
	"pichat/llm/llamacpp"
)

// A calibration is short: a fast machine takes under a second for it, and a
// slow board some seconds. pichat tune is more thorough.
const (
	calibrationRounds = 2
	calibrationSlice  = 100 * time.Millisecond
	calibrationWatch  = 300 * time.Millisecond // before it, so as not to measure in vain
)

// calibrate measures, if nothing else is busy before and meanwhile.
func calibrate(ctx context.Context, m *llamacpp.Model, most, sequence int) (tune.Measurement, error) {
	if err := tune.Quiet(ctx, m, calibrationWatch); err != nil {
		return tune.Measurement{}, err
	}
	measured, err := tune.Measure(ctx, m, tune.Config{
		Counts: tune.Counts(most), Rounds: calibrationRounds, Slice: calibrationSlice, Sequence: sequence,
	})
	if err == nil {
		err = measured.Spoilt()
	}
	return measured, err
}

// calibration chooses the threads for a loaded model in idle time and
// remembers them; nil where there is nothing to choose.
func (c Config) calibration(m *llamacpp.Model, path string) llm.Calibration {
	most := m.Info().DecodeThreads
	if !c.Calibrate || c.Threads != 0 || c.PrefillThreads != 0 || most < 2 {
		return nil
	}
	if _, known := c.tuned().Load(path, c.Processors); known {
		return nil
	}
	return func(ctx context.Context, sequence int) (decode, prefill int, ok bool) {
		began := time.Now()
		measured, err := calibrate(ctx, m, most, sequence)
		if ctx.Err() != nil {
			return 0, 0, false // a request came
		}
		if err != nil {
			c.Logger.Info("threads are not calibrated", "err", err)
			return 0, 0, false
		}
		decode, prefill = tune.Choose(measured.Results)
		c.Logger.Info("threads are calibrated", "decode", decode, "prefill", prefill, "took", time.Since(began).Round(time.Millisecond))
		choice := tune.Choice{Model: path, At: time.Now().UTC().Truncate(time.Second), Decode: decode, Prefill: prefill, Results: measured.Results}
		if err := c.tuned().Save(choice); err != nil && !errors.Is(err, remember.ErrNowhere) {
			c.Logger.Warn("the choice of threads is not remembered", "err", err)
		}
		return decode, prefill, true
	}
}
