package serving_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a test leaves a goroutine behind: each server's are gone
// when it was closed.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
