//go:build !linux

package cli

import "os"

// knowsReader says that readsLines cannot tell, so that no line is drawn.
const knowsReader = false

func readsLines(*os.File) bool { return false }
