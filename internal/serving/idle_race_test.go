//go:build race

package serving_test

// idleMost is what an idle connection may take, with the race detector's stacks.
const idleMost = 20 << 10
