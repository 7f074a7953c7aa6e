package faults

import (
	"strings"
	"time"

	h2 "golang.org/x/net/http2"
)

// http2 are faults of HTTP/2 (RFC 9113).
func http2() []Row {
	const broken = "http_protocol_error"
	row := func(name, why string, r *Robots, p *Page, f func(*Stream)) Row {
		return Row{Name: "HTTP/2: " + name, Why: why, On: "https", H2: f, Robots: r, Page: p}
	}
	const fast, steady = 20 * time.Millisecond, 200 * time.Millisecond
	// Time passes, or a bubble of testing/synctest would see no end of it.
	flooding := func(each time.Duration, frame func(*Stream) error) func(*Stream) {
		return func(s *Stream) {
			go hang(s.Conn) // what comes is taken, and nobody looks at it
			for {
				for range 20 {
					if frame(s) != nil {
						return
					}
				}
				if !s.wait(each) || s.origin.isBroken() == Nothing {
					_ = s.Close()
					return
				}
			}
		}
	}
	return []Row{
		row("well", "nothing is wrong", rules(1), forwarded(200), func(s *Stream) { s.answer(s.origin.good(s.Target)) }),
		row("status 404", "4xx is unavailable", unavailable(1), forwarded(404), func(s *Stream) { s.answer(reply("404 No", "")) }),
		row("hang", "10 s, and a minute", unreachable(1).takes(connectTime), failed(504, "http_response_timeout").takes(headerTime), func(*Stream) {}),
		row("hang in the body", "half a file may lack the rule", unreachable(1).takes(connectTime), nil, func(s *Stream) {
			s.goodHeaders()
			_ = s.WriteData(s.ID, false, []byte(Good[:10]))
		}),
		row("closed", "one retry", unreachable(2).atMost(), failed(502, "").requests(0), func(s *Stream) { _ = s.Close() }),
		row("GOAWAY in the body, then closed", "the missing lines may be the rules", unreachable(1), aborted(), func(s *Stream) {
			s.goodHeaders()
			_ = s.WriteData(s.ID, false, []byte(Good[:10]))
			_ = s.WriteGoAway(s.ID, h2.ErrCodeNo, nil)
			_ = s.Close()
		}),
		row("GOAWAY with ENHANCE_YOUR_CALM", "no retry: it says that there were too many", unreachable(1).takes(time.Second), failed(502, "").takes(time.Second), func(s *Stream) {
			s.wait(500 * time.Millisecond)
			_ = s.WriteGoAway(0, h2.ErrCodeEnhanceYourCalm, []byte("slow down"))
			_ = s.Close()
		}),
		row("GOAWAY behind the answer", "the answer is whole", rules(1), forwarded(200), func(s *Stream) {
			s.answer(s.origin.good(s.Target))
			_ = s.WriteGoAway(s.ID, h2.ErrCodeNo, nil)
		}),
		row("RST_STREAM with INTERNAL_ERROR", "the origin broke off", unreachable(2).atMost(), failed(502, "").requests(0), func(s *Stream) {
			_ = s.WriteRSTStream(s.ID, h2.ErrCodeInternal)
		}),
		row("RST_STREAM in the body", "the missing lines may be the rules", unreachable(1), aborted(), func(s *Stream) {
			s.goodHeaders()
			_ = s.WriteData(s.ID, false, []byte(Good[:10]))
			_ = s.WriteRSTStream(s.ID, h2.ErrCodeCancel)
		}),
		row("RST_STREAM behind the answer", "RFC 9113 §8.1: the answer is whole", rules(1), forwarded(200), func(s *Stream) {
			s.answer(s.origin.good(s.Target))
			_ = s.WriteRSTStream(s.ID, h2.ErrCodeNo)
		}),
		row("less than its length", "the missing lines may be the rules", unreachable(1), aborted(), func(s *Stream) {
			s.goodHeaders()
			_ = s.WriteData(s.ID, true, []byte(Good[:10]))
		}),
		row("more than its length", "RFC 9113 §8.1.1: malformed", unreachable(1).takes(time.Second), aborted().takes(time.Second), func(s *Stream) {
			s.goodHeaders()
			_ = s.WriteData(s.ID, false, []byte(Good))
			s.wait(time.Second)
			_ = s.WriteData(s.ID, true, []byte("Allow: /private\n"))
		}),
		row("no status", "RFC 9113 §8.3.2: malformed", unreachable(1), failed(502, broken), func(s *Stream) { s.headers(true, "x", "y") }),
		row("a status that is none", "RFC 9113 §8.3.2: malformed", unreachable(1), failed(502, broken), func(s *Stream) { s.headers(true, ":status", "abc") }),
		row("two statuses", "RFC 9113 §8.3: malformed", unreachable(1), failed(502, broken), func(s *Stream) {
			s.headers(true, ":status", "404", ":status", "200")
		}),
		row("a name in upper case", "RFC 9113 §8.2: malformed", unreachable(1), failed(502, broken), func(s *Stream) { s.headers(true, ":status", "404", "Server", "x") }),
		row("a value with LF", "RFC 9113 §8.2.1: malformed", unreachable(1), failed(502, broken), func(s *Stream) { s.headers(true, ":status", "404", "server", "x\nset-cookie: y") }),
		row("101", "RFC 9113 §8.6: there is none", unreachable(1), failed(502, broken), func(s *Stream) { s.headers(true, ":status", "101") }),
		row("early hints, then well", "nothing is wrong", rules(1), forwarded(200), func(s *Stream) {
			s.headers(false, ":status", "103", "link", "</x>")
			s.answer(s.origin.good(s.Target))
		}),
		row("a flood of 103", "bounded", unreachable(1).takes(2*time.Second), failed(502, broken).takes(2*time.Second), flooding(fast, func(s *Stream) error {
			return s.WriteHeaders(h2.HeadersFrameParam{StreamID: s.ID, BlockFragment: block(":status", "103", "link", "</style.css>; rel=preload"), EndHeaders: true})
		})),
		row("a header of 200 KiB", "bounded at 64 KiB", unreachable(1), failed(502, broken), func(s *Stream) {
			all := block(":status", "200", "x", strings.Repeat("x", 200<<10))
			_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: s.ID, BlockFragment: all[:16<<10]})
			for all = all[16<<10:]; len(all) > 16<<10; all = all[16<<10:] {
				_ = s.WriteContinuation(s.ID, false, all[:16<<10])
			}
			_ = s.WriteContinuation(s.ID, true, all)
		}),
		row("a flood of CONTINUATION", "bounded", unreachable(1).takes(2*time.Second), failed(502, broken).takes(2*time.Second), func(s *Stream) {
			_ = s.WriteHeaders(h2.HeadersFrameParam{StreamID: s.ID, BlockFragment: block(":status", "200")})
			flooding(fast, func(s *Stream) error { return s.WriteContinuation(s.ID, false, block("x", "yyyyyyyyyyyyyyyy")) })(s)
		}),
		row("a promise", "heed said that it takes none", unreachable(1), failed(502, broken), func(s *Stream) {
			_ = s.WritePushPromise(h2.PushPromiseParam{StreamID: s.ID, PromiseID: 2, BlockFragment: block(":method", "GET", ":scheme", "https", ":authority", "a.example", ":path", "/"), EndHeaders: true})
		}),
		row("DATA before HEADERS", "RFC 9113 §8.1: malformed", unreachable(1), failed(502, ""), func(s *Stream) { _ = s.WriteData(s.ID, true, []byte(Good)) }),
		row("a frame that is too long", "RFC 9113 §4.2", unreachable(1), failed(502, ""), func(s *Stream) {
			_ = s.WriteRawFrame(h2.FrameHeaders, h2.FlagHeadersEndHeaders, s.ID, make([]byte, 2<<20))
		}),
		row("header compression that is broken", "RFC 9113 §4.3", unreachable(1), failed(502, ""), func(s *Stream) {
			_ = s.WriteRawFrame(h2.FrameHeaders, h2.FlagHeadersEndHeaders, s.ID, []byte("\xff\xff\xff\xff\xff\xff\xff\xff"))
		}),
		row("HTTP/1.1 inside", "HTTP/2 was agreed on", unreachable(2).atMost(), failed(502, ""), func(s *Stream) {
			s.write(reply(ok, Good))
			_ = s.Close()
		}),
		row("an endless body", "the first 500 KiB count", rules(1), nil, func(s *Stream) {
			s.headers(false, ":status", "200")
			_ = s.WriteData(s.ID, false, []byte(Good))
			flooding(fast, func(s *Stream) error { return s.WriteData(s.ID, false, []byte(strings.Repeat("#", 10<<10))) })(s)
		}),
		row("a flood of SETTINGS", "the time of a fetch is bounded", unreachable(1).takes(connectTime), nil, flooding(steady, func(s *Stream) error {
			return s.WriteSettings(h2.Setting{ID: h2.SettingMaxFrameSize, Val: 16 << 10})
		})),
		row("a flood of PING", "the time of a fetch is bounded", unreachable(1).takes(connectTime), nil, flooding(steady, func(s *Stream) error {
			return s.WritePing(false, [8]byte{1})
		})),
		row("a flood of empty DATA", "the time of a fetch is bounded", unreachable(1).takes(connectTime), nil, func(s *Stream) {
			s.headers(false, ":status", "200")
			flooding(steady, func(s *Stream) error { return s.WriteData(s.ID, false, nil) })(s)
		}),
		row("no window for requests", "a GET needs none", rules(1), forwarded(200), func(s *Stream) {
			_ = s.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 0})
			s.answer(s.origin.good(s.Target))
		}),
	}
}

// retried are answers after which net/http tries again by itself. An origin
// that has trouble is not to be asked more than twice.
func retried() []Row {
	row := func(name, why string, r *Robots, f func(*Stream)) Row {
		return Row{Name: "HTTP/2: " + name, Why: why, On: "https", H2: f, Robots: r, Page: failed(502, "").requests(0).takes(4 * time.Second)}
	}
	return []Row{
		row("REFUSED_STREAM for ever", "one retry", unreachable(2).atMost().takes(2*time.Second), func(s *Stream) {
			_ = s.WriteRSTStream(s.ID, h2.ErrCodeRefusedStream)
		}),
		row("GOAWAY for ever", "one retry", unreachable(2).atMost().takes(2*time.Second), func(s *Stream) {
			s.wait(500 * time.Millisecond)
			_ = s.WriteGoAway(0, h2.ErrCodeNo, nil)
			_ = s.Close()
		}),
	}
}
