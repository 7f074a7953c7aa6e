// Package arch tests the shape of the tree: what may import what, which names
// appear where, and that the documents speak of things that exist. It holds no
// code of heed's own.
//
//	graph_test.go      the import graph as a table; a row a package
//	names_test.go      names that do not belong in a place, or anywhere
//	shape_test.go      package comments, the top of the tree, go.mod
//	documents_test.go  docs/rfc9309.md, docs/operations.md, paths and links
//	checks_test.go     made-up sources that break each rule: the checks see them
//
// # When a test here fails
//
// The message says what is wrong, where, and why there is a rule. Either the
// change does not belong where it was made, or the rule has become wrong: then
// the table is changed in the same commit, and the reason with it.
//
// # How it reads
//
// The sources are parsed with go/parser, here in the test's own process. Two
// things follow. A test that ran `go list` would be served stale: the go
// command keeps a test's result as long as the files that the test itself
// opened are unchanged, and knows nothing of what a child process read. And
// files for every system are seen, not only those that this one would build.
package arch
