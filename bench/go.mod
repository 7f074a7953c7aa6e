// Measurements of heed next to its peers. The peers are dependencies of this
// module and not of heed.
module heed/bench

go 1.26.0

require (
	github.com/jimsmart/grobotstxt v1.0.3
	github.com/temoto/robotstxt v1.1.2
	heed v0.0.0
)

replace heed => ../
