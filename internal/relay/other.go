//go:build !linux

package relay

func (h *half) copy() error { return h.copyBuffered() }
