//go:build !race

package serving_test

// idleMost is what an idle connection may take: buffer, stack and all that
// package net keeps. It is 10 KiB or a little less; what the runtime rounds up
// to may change.
const idleMost = 12 << 10
