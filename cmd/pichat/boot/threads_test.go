package boot

import (
	"errors"
	"testing"
)

func TestCheckThreads(t *testing.T) {
	tests := []struct {
		threads, prefill, processors int
		warns                        bool
		err                          error
	}{
		{0, 0, 4, false, nil},
		{4, 2, 4, false, nil},
		{2, 5, 4, true, nil},
		{16, 0, 4, true, nil},
		{17, 0, 4, false, ErrThreads},
		{2, 512, 4, false, ErrThreads},
		{512, 512, 0, false, nil},
	}
	for _, tt := range tests {
		warning, err := CheckThreads(tt.threads, tt.prefill, tt.processors)
		if (warning != "") != tt.warns || !errors.Is(err, tt.err) {
			t.Errorf("%+v: got %q, %v", tt, warning, err)
		}
	}
}
