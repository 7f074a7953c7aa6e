package main

import "heed/bench/engine/load"

// scenario is a row of the table: what clients do.
type scenario struct {
	name string
	plan load.Plan
	// without names a participant that could take part, and does not.
	without string
}

// The names of the scenarios.
const (
	one1        = "plain, 1 KiB, 1 connection"
	plain32     = "plain, 1 KiB, 32 connections"
	plain256    = "plain, 1 KiB, 256 connections"
	mid32       = "plain, 64 KiB, 32 connections"
	large8      = "plain, 10 MiB, 8 connections"
	inside32    = "intercepted, 1 KiB, 32 connections"
	inside256   = "intercepted, 1 KiB, 256 connections"
	inside2     = "intercepted, HTTP/2, 1 KiB, 1 connection with 32 streams"
	insideNew   = "intercepted, new connections, 32 at a time"
	tunnel32    = "tunnel, 1 KiB, 32 connections"
	tunnelLarge = "tunnel, 10 MiB, 8 connections"
	tunnelNew   = "tunnel, new connections, 32 at a time"
	denied32    = "denied, 32 connections"
)

const (
	intercepted = load.Intercepted
	relayed     = load.Relayed
)

// scenarios are all of them, in the order of the table.
var scenarios = []scenario{
	{name: one1, plan: load.Plan{Conns: 1, Size: load.Small}},
	{name: plain32, plan: load.Plan{Conns: 32, Size: load.Small}},
	{name: plain256, plan: load.Plan{Conns: 256, Size: load.Small}},
	{name: mid32, plan: load.Plan{Conns: 32, Size: load.Mid}},
	{name: large8, plan: load.Plan{Conns: 8, Size: load.Large}},
	{name: inside32, plan: load.Plan{Way: intercepted, Conns: 32, Size: load.Small}},
	{name: inside256, plan: load.Plan{Way: intercepted, Conns: 256, Size: load.Small}},
	{name: inside2, plan: load.Plan{Way: intercepted, Conns: 1, Streams: 32, Size: load.Small}},
	// goproxy as it comes makes an RSA key for each, which takes a processor 50 ms.
	{name: insideNew, plan: load.Plan{Way: intercepted, Conns: 32, Size: load.Small, Each: true}, without: bareGoproxy},
	{name: tunnel32, plan: load.Plan{Way: relayed, Conns: 32, Size: load.Small}},
	{name: tunnelLarge, plan: load.Plan{Way: relayed, Conns: 8, Size: load.Large}},
	{name: tunnelNew, plan: load.Plan{Way: relayed, Conns: 32, Size: load.Small, Each: true}},
	{name: denied32, plan: load.Plan{Conns: 32, Size: load.Small, Denied: true}},
}

// takes tells whether a participant can take part.
func (s *scenario) takes(p *participant) bool {
	if s.plan.Denied {
		return p.denies
	}
	if s.plan.Streams > 0 {
		return p.http2
	}
	return p.ways[s.plan.Way] && p.name != s.without
}
