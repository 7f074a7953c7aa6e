// Package serving serves HTTP/1.1 and HTTP/1.0 to clients, each connection on
// one goroutine.
//
// net/http's server reads a client's connection on a second goroutine while a
// handler works, keeps two buffers for each connection that waits, writes fields
// in an order and a spelling of its own, holds back the first 4 KiB of an
// answer, answers what it cannot read with a bare "400 Bad Request", and has no
// bound on how long a client may take for an answer or for the rest of a body.
// Half of what a small exchange costs is spent on it. Requests are parsed by
// http.ReadRequest here, too, but the header section is looked at first:
//
//   - its end is found before anything is parsed, so that its size is bounded and
//     what cannot be read can be shown to whoever has to say what is wrong
//     (Config.Malformed);
//   - it is there for the handler (Response.Section), since the order and the
//     spelling of fields are in it alone;
//   - a Host must be an authority, and a body in chunks is read here: of both
//     net/http takes what others may read in another way.
//
// An answer is one write where its body is there when its header section is. What
// comes of a body in parts is passed on in parts: nothing is held back for more.
// An answer that has the header section of another as its model (Response.Like)
// has its phrase, its order and its spelling.
//
// A handler is an http.Handler, whose ResponseWriter is a *Response. The context
// of a request ends with it, and when its client goes away; that is looked for
// when an exchange takes longer than most. http.ErrAbortHandler, and any other
// panic, breaks the connection off.
//
// A request follows on another only where the end of the one before is certain:
// its body was read to a proper end, by the handler or, if what is left of it is
// little, by the connection. One that broke off, that is long, or that the client
// may not send at all (Expect) ends the connection, and what comes behind the
// last answer is read for a second and dropped, so that the answer arrives.
//
// What net/http's server does besides is left to handlers: no Content-Type is
// guessed, no Content-Length is found out (an answer without one is chunked), an
// expectation that is not 100-continue is not answered with 417, forms leave
// nothing behind to be removed, and the context has neither the server nor the
// local address.
//
// HTTP/2 is not served here.
package serving
