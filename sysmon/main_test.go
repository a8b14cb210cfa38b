package sysmon_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Run must leave no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
