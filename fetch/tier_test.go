package fetch_test

import (
	"testing"

	"heed/fetch"
	"heed/internal/store/storetest"
)

func TestMemoryIsATier(t *testing.T) {
	storetest.Run(t, func(*testing.T) fetch.Store { return fetch.NewMemoryTier() })
}
