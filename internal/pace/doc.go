// Package pace says when a request may go out, so that an origin is asked no
// faster than it can be asked, by all clients together.
//
//	pacer := pace.New(pace.Config{PerOrigin: 8, PerAddress: 16})
//	var turn pace.Turn
//	if err := pacer.Ask(&turn, pace.Request{Host: "a.example", Interval: 2 * time.Second, Hold: 3 * time.Second}); err != nil {
//		return err // a *Refusal, which tells when to come back
//	}
//	defer turn.End()
//	if err := turn.Wait(ctx); err != nil {
//		return err
//	}
//	// connect
//	if err := turn.Send(ctx); err != nil {
//		return err
//	}
//	// write the request; turn.Answered(status, retryAfter)
//
// # What is one place
//
// A host, whatever scheme and port: its server feels the sum. Only what an origin
// says of being asked too much (429, 503) counts for its port alone, since another
// server may answer at the next; 80 and 443 are one.
//
// Each request brings the interval that its own origin's robots.txt asks of its own
// client. Of any two requests the later begins at least the shorter of their two
// intervals after the earlier. So two clients that are asked for 2 seconds take
// turns every 2 seconds, a client that is asked for 10 seconds keeps 10 from the
// next of its own kind, and neither keeps those out whom the site asks for less.
// A request without an interval keeps nobody waiting.
//
// A fetch of a robots.txt (AskRobots) keeps the interval of whatever request it
// meets, since nobody knows before what the file will ask for. Of a host that is new
// the second one waits for what the first says (Teach), for a second at most.
//
// An interval is counted from the moment in which a request goes out (Send), not
// from that in which it was let go: to connect may take seconds. For one of them
// no other goes; then it is overtaken, and waits with its connection for the next
// moment that keeps the intervals. So does a request that is sent once more. And
// what was sent has not arrived yet: until it is answered it is taken to be on its
// way, for a twentieth of the interval and 100 ms at most. A busy origin takes
// that long to look at a connection, and it is its clock that counts.
//
// # What makes an interval longer
//
//   - the operator's floor (Config.MinInterval);
//   - an answer 429 or 503: nothing goes out there for as long as its Retry-After
//     says, or for a pause that doubles from a second to five minutes; after it the
//     interval is as long as the pause was, and halves with every good answer;
//   - slow answers, if Config.TargetConcurrency is set: the interval moves half
//     of the way towards the time of an answer divided by it.
//
// # Who goes first
//
// Whoever asked first; between clients by turns. Each has a tag, which grows with
// every turn that it has (start-time fair queueing), and the lowest goes. Who has
// many requests waiting, or comes back all the time, has no more turns than who
// comes with one; who was told to come back keeps its tag until then. Names that
// a client gives itself share what is the client's, by turns among themselves.
//
// A request that would wait longer than it may is refused at once, with the time
// at which it would be its turn. Those who are refused one after the other are
// told one time after the other. Who is pushed back by another's turn, so that
// it cannot make it any more, is refused then.
//
// # Bounds
//
// So many requests are under way at one host, so many at one address, and so many
// wait at one host. Hosts that wait for a place at an address get one by turns. A
// host of which nothing needs to be known any more is forgotten within a minute.
//
// All functions are safe for concurrent use. A host has a lock of its own;
// hosts share that of an address, if PerAddress is set, for some instructions.
package pace
