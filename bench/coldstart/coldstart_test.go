package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"heed/bench/record"
)

func TestBoundIsTwoLatenciesAnOriginByTheConcurrency(t *testing.T) {
	if got := bound(effort{origins: 10_000, latency: 20 * time.Millisecond}, 64); got != 6250*time.Millisecond {
		t.Errorf("got %v", got)
	}
}

func TestNumbersAreAboveNought(t *testing.T) {
	if got, err := numbers("1,256"); err != nil || len(got) != 2 || got[1] != 256 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "0", "-1", "a", "1,,2"} {
		if got, err := numbers(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func TestOriginsAreToldByTheirAddresses(t *testing.T) {
	o := &origins{port: 80}
	for _, n := range []int{0, 1, 255, 256, 65_535, 65_536, 1<<20 - 1} {
		if a := o.addr(n); number(a.Addr()) != n || !a.Addr().IsLoopback() {
			t.Errorf("origin %d is at %s, which is that of %d", n, a, number(a.Addr()))
		}
	}
}

// What the program is to find must be found: an origin that is asked twice, one
// that is not asked, and a request that nobody made.
func TestCheckSeesWhatAnOriginSaw(t *testing.T) {
	for _, c := range []struct {
		why, targets, want string
	}{
		{"one of each", "/robots.txt /page", ""},
		{"asked twice", "/robots.txt /robots.txt /page", "saw 2 requests for its robots.txt"},
		{"never asked", "/page", "saw 0 requests for its robots.txt"},
		{"the page twice", "/robots.txt /page /page", "2 for its page"},
		{"another request", "/robots.txt /page /favicon.ico", "1 requests that no client made"},
	} {
		t.Run(c.why, func(t *testing.T) {
			o, err := newOrigins(effort{origins: 1, latency: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer o.close()
			conn, err := net.Dial("tcp", o.addr(0).String())
			if err != nil {
				t.Fatalf("connecting to 127.1.0.0, which is to be this machine: %v", err)
			}
			defer conn.Close()
			for _, target := range strings.Fields(c.targets) {
				if _, err := io.WriteString(conn, "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				answer := page
				if target == "/robots.txt" {
					answer = rules
				}
				got := make([]byte, len(answer))
				if _, err := io.ReadFull(conn, got); err != nil || string(got) != string(answer) {
					t.Fatalf("%s: %q, %v", target, got, err)
				}
			}
			err = o.check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTheTableSaysWhatWasMeasured(t *testing.T) {
	e := effort{origins: 100, latency: 20 * time.Millisecond, rounds: 3}
	var r row
	for _, s := range []float64{0.5, 0.6, 0.4} {
		r.add(10, measurement{took: time.Duration(s * float64(time.Second)), cpu: time.Second, own: time.Second / 2, memory: 64 << 20})
	}
	r.finish(e)
	text := (&results{environment{record.Here(), "1.2.3"}, effortOf(e), []row{r}}).markdown()
	if want := "| 10 | 0.40 | 0.50 (0.40–0.60) | 1.25 | 200 | 1.00 (1.00–1.00) | 0.50 (0.50–0.50) | 64 (64–64) |"; !strings.Contains(text, want) {
		t.Errorf("%s\nhas no %s", text, want)
	}
}
