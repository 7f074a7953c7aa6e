// Measurements of heed next to its peers. The peers are dependencies of this
// module and not of heed.
module heed/bench

go 1.26.0

require (
	github.com/elazarl/goproxy v1.9.2
	github.com/jimsmart/grobotstxt v1.0.3
	github.com/temoto/robotstxt v1.1.2
	golang.org/x/net v0.62.0
	golang.org/x/sys v0.49.0
	heed v0.0.0
)

require (
	code.dny.dev/ssrf v0.3.0 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/elnormous/contenttype v1.0.4 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/puzpuzpuz/xsync/v4 v4.5.0 // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/rs/zerolog v1.35.1 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace heed => ../
