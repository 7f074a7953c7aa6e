package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a client waits for an answer.
const patience = 30 * time.Second

// ask has clients, each on a connection of its own, ask for the page of every
// origin once.
func ask(ctx context.Context, proxy string, o *origins, clients int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			if err := client(ctx, proxy, o, &next); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// client takes one origin after the other that nobody has taken.
func client(ctx context.Context, proxy string, o *origins, next *atomic.Int64) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", proxy)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for ctx.Err() == nil {
		n := int(next.Add(1)) - 1
		if n >= o.effort.origins {
			return nil
		}
		at := o.addr(n).String()
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c, "GET http://%s/page HTTP/1.1\r\nHost: %s\r\nUser-Agent: ColdStart/1.0\r\n\r\n", at, at); err != nil {
			return err
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return fmt.Errorf("asking for the page of %s: %w", at, err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(body) != "page\n" {
			return fmt.Errorf("asking for the page of %s: %s, %.300q, %w", at, resp.Status, body, err)
		}
	}
	return nil
}
