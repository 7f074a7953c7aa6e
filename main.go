// Command heed is a forward HTTP(S) proxy that makes any crawler heed
// robots.txt. See package heed/internal/cli for its commands.
package main

import (
	"os"

	"heed/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
