//go:build !unix

package cli

import "os"

// forwardedSignals are passed on to the command of heed run.
var forwardedSignals = []os.Signal{os.Interrupt}

// alreadySentToChild reports whether the command got a signal that heed got:
// Ctrl-C goes to every process of a console.
func alreadySentToChild(os.Signal) bool { return true }

// catchStop and stopSelf are for systems with job control.
func catchStop() chan os.Signal { return nil }

func stopSelf() {}
