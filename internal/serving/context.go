package serving

import (
	"context"
	"sync"
)

// requestContext is the context of a request. It is part of the request, and
// makes a channel only for who waits for it: one of context.WithCancel takes
// three pieces of memory, and three more for each context.AfterFunc.
type requestContext struct {
	context.Context //nolint:containedctx // it is one: that of the connection, for its values

	values interface{ Value(key any) any } // of the handler; nil: none

	mu    sync.Mutex
	done  chan struct{} // nil until somebody asked
	err   error
	after map[*func()]struct{}
	first *func() // of after, without a map while there is one
}

// Value asks the handler's values first.
func (c *requestContext) Value(key any) any {
	if c.values != nil {
		if v := c.values.Value(key); v != nil {
			return v
		}
	}
	return c.Context.Value(key)
}

// Done returns the channel that is closed when the exchange ends, or its client
// goes away.
func (c *requestContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err returns context.Canceled when Done is closed.
func (c *requestContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc calls f on a goroutine of its own when the context has ended. stop
// keeps it from that, and reports whether it did. Package context asks for this
// method in place of a goroutine that waits for Done.
func (c *requestContext) AfterFunc(f func()) (stop func() bool) {
	at := &f
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		go f()
		return func() bool { return false }
	case c.first == nil:
		c.first = at
	default:
		if c.after == nil {
			c.after = map[*func()]struct{}{}
		}
		c.after[at] = struct{}{}
	}
	return func() bool { return c.forget(at) }
}

func (c *requestContext) forget(at *func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first == at {
		c.first = nil
		return true
	}
	_, there := c.after[at]
	delete(c.after, at)
	return there
}

// cancel ends the context.
func (c *requestContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = context.Canceled
	if c.done != nil {
		close(c.done)
	}
	if c.first != nil {
		go (*c.first)()
	}
	for f := range c.after {
		go (*f)()
	}
	c.first, c.after = nil, nil
}
