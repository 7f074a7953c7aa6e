// Package e2e tests the built heed from outside, with nothing in between that
// a user would not have: real clients from Debian's packages and npm, local
// origins that write down every request that reaches them, real robots.txt
// files, and octets on a raw connection where no client would send them.
//
//	make deps            install the clients
//	make e2e             all of it; the table of clients comes last
//	make e2e E2E_FLAGS='-run TestRealClients/curl -v'
//
// TestMain builds heed once, as `make build` does; with HEED_E2E_RACE=1 it
// builds it with the race detector, and a report of a race fails the run.
//
// # Origins
//
// An origin (origin_test.go) is a local server for http and one for https. A
// host name such as open.example leads to it by heed's own --connect-to, so
// the name stays what robots.txt is about. Its log of requests is the witness:
// a denial counts only when the origin was never asked. Its certificates come
// from a test root that heed is told of and no client is, so a client that
// gets a page over https got it by heed's CA.
//
// # Clients
//
// Each client (clients_test.go) is a command and the variables that its own
// manual asks for. It is started twice: with those variables set by hand for a
// `heed serve`, and with none under `heed run`. A client that is not on this
// machine is listed as absent; with CI=true it fails by name.
//
// # Answers
//
// The programs in clients/ are what a user would write with that library. For
// each URL in their arguments they print
//
//	url http://open.example/x
//	status 403
//	reason Forbidden
//	field Robots-Decision: disallowed; …
//	body PGh0bWw+…
//	end
//
// with the body in base64, or `error …` in place of status to body where the
// library raised. curl, wget, wget2 and Chromium print in their own way.
//
// # Fidelity
//
// The files fidelity_… hold what heed must not change, as tables of
// properties: fields, targets, bodies, streams, connections and so on. Each is
// tried over every way for which it has a meaning: the channel that the request
// comes by, the version of HTTP that the client speaks, and that of the origin.
//
//	go -C e2e test -run 'TestBodies/of/trailers_of_an_answer/intercepted,2-1.1'
//
// is the one in which a client of HTTP/2 that is intercepted asks an origin of
// HTTP/1.1. Where octets matter both ends are played on bare connections, else
// they are net/http's. What does not hold yet stands in notYet, and a test fails
// when it holds all the same.
//
// # Ways past it
//
// Package bypass holds what a client may try to reach what a rule forbids.
//
// # Pace
//
// The files pace_… hold when requests reach an origin: those of real clients at
// their defaults, and of some that try to be served before others. TestPace runs
// all of it side by side, since it waits most of the time:
//
//	go -C e2e test -v -run 'TestPace/of_real_clients/50_curls'
//
// prints the gaps that the origin saw. The times are the kernel's
// (arrival_linux_test.go), so that they are exact on a machine that is busy.
package e2e
