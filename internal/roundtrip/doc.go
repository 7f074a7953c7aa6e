// Package roundtrip makes requests in HTTP/1.1 on the caller's goroutine, over
// connections that it keeps, with http.Transport behind it for HTTP/2.
//
// http.Transport has two goroutines for each connection, and hands a request
// and its answer from one to the other: half of what a small exchange costs.
// Here a request is one write, and its answer is read where it is wanted, by
// http.ReadResponse. Only a body has a goroutine, for as long as it is sent: an
// origin may answer before it has it all. A connection that is kept holds no
// buffers and no goroutine.
//
// HTTP/2 is agreed on in the handshake. An origin is known by its first
// connection, for which the other requests to it wait; one that speaks HTTP/2
// is handed over to the http.Transport, which gets no other kind: if the origin
// goes back to HTTP/1.1, so does the request, to here.
//
// As net/http does:
//
//   - a kept connection is looked at before it is used, in the socket and in
//     what crypto/tls holds: an answer that nobody asked for is nobody's, and
//     never that to the next request;
//   - a request without a body whose method is safe is sent once more, on a new
//     connection, if it went out on a kept one which the origin was just closing;
//     no other one is;
//   - what would be two requests, or one for another, is refused before anything
//     is sent: octets in the method, the target, the host, fields, trailers;
//   - half an upload looks like half an upload; a body without a length that
//     breaks off does not look whole;
//   - a body may be closed while it is read. So may the connection of a 101,
//     which is read and written at the same time.
//
// Beyond what net/http does:
//
//   - a header section is looked at before it is parsed: a response with a
//     length and a coding, or a coding in HTTP/1.0, is refused, since two readers
//     take different parts of it for the body (RFC 9112 §6.1, §6.3), and a blank
//     before a colon is taken away (§5.1), be it one of framing or not;
//   - inside TLS a body without a length must end with a close_notify, or anybody
//     on the way could cut it (RFC 9112 §9.8); crypto/tls does not tell;
//   - an origin that does not take a body has ResponseHeaderTimeout for each
//     part of it;
//   - the spelling and the order of fields are those of a header section that
//     the caller has (Exchange.Request), and those of the answer can be had
//     (Exchange.Response). No field is added but those of framing and, to a
//     proxy, the credentials.
//
// What net/http does and this does not: it does not follow a request for which a
// body could be had anew (Request.GetBody), takes no CONNECT, and does not
// translate host names from Unicode: they are in ASCII or are refused.
package roundtrip
