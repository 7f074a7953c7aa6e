package serving_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"heed/internal/serving"
)

type key string

type values map[any]any

func (v values) Value(key any) any { return v[key] }

// TestContextOfARequest ends with it, and so do those that were made of it, and
// what waits for it; what was taken back does not happen.
func TestContextOfARequest(t *testing.T) {
	type seen struct {
		own, child, value context.Context
		called            chan string
		stops             []func() bool
	}
	all := make(chan seen, 1)
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.(*serving.Response).With(values{key("handler"): 1})
		x := seen{own: r.Context(), called: make(chan string, 10)}
		child, cancel := context.WithCancel(x.own)
		t.Cleanup(cancel) // it is to end with its parent, long before
		x.child = child
		x.value = context.WithValue(x.own, key("child"), 2)
		for _, name := range []string{"first", "taken back", "third", "fourth"} {
			x.stops = append(x.stops, context.AfterFunc(x.own, func() { x.called <- name }))
		}
		if !x.stops[1]() || x.stops[1]() {
			t.Error("taking back: once, and once only")
		}
		if x.own.Err() != nil || x.child.Err() != nil {
			t.Error("it has ended already")
		}
		for k, want := range map[key]any{"handler": 1, "child": 2, "none": nil} {
			if got := x.value.Value(k); got != want {
				t.Errorf("the value of %s is %v, want %v", k, got, want)
			}
		}
		all <- x
		text(w, http.StatusOK, "ok")
	})
	s.ask(get("/")).says(http.StatusOK, "ok")
	x := <-all
	for _, ctx := range []context.Context{x.own, x.child, x.value} {
		<-ctx.Done()
		if err := ctx.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	}
	called := map[string]bool{<-x.called: true, <-x.called: true, <-x.called: true}
	if len(called) != 3 || called["taken back"] {
		t.Errorf("called: %v", called)
	}
	if x.stops[0]() || x.stops[2]() {
		t.Error("what has happened was taken back")
	}
	late := make(chan struct{})
	if stop := context.AfterFunc(x.own, func() { close(late) }); stop() {
		t.Error("what comes late was taken back")
	}
	<-late
}
