package agent

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What came of looking at credentials, where they are nobody's or could not be
// looked at. None of them says whether there is a client of that name.
var (
	// ErrScheme is a field that has no credentials of the scheme Basic.
	ErrScheme = errors.New("the field Proxy-Authorization is not of the scheme Basic with NAME:PASSWORD in base64 (RFC 7617)")
	// ErrWrong is a name that is unknown, or a password that is not its own.
	ErrWrong = errors.New("the name or the password is wrong")
	// ErrBusy is that the turn of these credentials did not come in time.
	ErrBusy = errors.New("too many credentials wait to be verified")
)

const (
	mostField    = 1 << 10 // octets of a field; a name of 64 and a password of 72 have 184 in base64
	mostPassword = 72      // octets that bcrypt looks at: of a longer one every end would do
	mostWrong    = 8 << 10 // credentials that are remembered as wrong

	patience = 3 * time.Second // of a request for its turn: no client waits less for an answer
)

// secret is a client and the hash of its password.
type secret struct {
	client *Client
	hash   Hash
}

// digest stands for a name and a password. It is keyed, by a key of this process:
// what is remembered is of no use to whoever sees it.
type digest [sha256.Size]byte

// passwords verifies credentials and remembers what came of it. To verify takes
// 50 ms of a processor and more, so it is done once for each name and password,
// for as long as heed runs: hashes do not change. Right ones are as many as
// there are clients at most, since two passwords that one hash is met by are
// refused; wrong ones are forgotten all at once when there are too many.
type passwords struct {
	key     [sha256.BlockSize]byte
	secrets map[string]secret
	any     []Hash // those of secrets, in some order

	right atomic.Pointer[map[digest]*Client] // replaced, never changed

	mu      sync.Mutex
	wrong   map[digest]struct{}
	pending map[digest]*verification
	turns   turns
}

// verification is one under way. Who has the same credentials waits for it.
type verification struct {
	done   chan struct{} // closed when the others are set
	client *Client
	err    error
}

func newPasswords(secrets map[string]secret) *passwords {
	p := &passwords{secrets: secrets, wrong: map[digest]struct{}{}, pending: map[digest]*verification{}, turns: newTurns()}
	_, _ = rand.Read(p.key[:]) // which never fails
	p.right.Store(&map[digest]*Client{})
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		p.any = append(p.any, secrets[name].hash)
	}
	return p
}

// Authenticate returns the client whose credentials the Proxy-Authorization
// fields of a request from an address have (RFC 9110 §11.7.2, RFC 7617). Ones
// that were right before take a look, and no memory; others wait for their turn
// and for what it takes to verify them. Errors are ErrScheme, ErrWrong and
// ErrBusy. Without any client that has a password it is nobody's, without error.
func (c *Clients) Authenticate(fields []string, from netip.Addr) (*Client, error) {
	if !c.HavePasswords() {
		return nil, nil
	}
	if len(fields) != 1 {
		return nil, ErrScheme
	}
	var room [mostField]byte
	name, password, ok := decode(room[:0], fields[0])
	if !ok {
		return nil, ErrScheme
	}
	return c.passwords.client(name, password, from)
}

// decode reads the value of a field into room.
func decode(room []byte, field string) (name, password []byte, ok bool) {
	scheme, encoded, found := strings.Cut(field, " ")
	if !found || len(field) > mostField || !strings.EqualFold(scheme, "Basic") {
		return nil, nil, false
	}
	text, err := base64.StdEncoding.AppendDecode(room, []byte(strings.Trim(encoded, " ")))
	if err != nil {
		return nil, nil, false
	}
	return bytes.Cut(text, colon)
}

var colon = []byte(":")

// client returns whose a name and a password are.
func (p *passwords) client(name, password []byte, from netip.Addr) (*Client, error) {
	d := p.digest(name, password)
	if client := (*p.right.Load())[d]; client != nil {
		return client, nil
	}
	if len(name) > longestName || len(password) > mostPassword || bytes.ContainsFunc(password, isControl) {
		return nil, ErrWrong // bcrypt would look at a part of them; RFC 7617 §2 has no controls
	}
	v, first := p.join(d)
	if first {
		p.settle(v, d, string(name), bytes.Clone(password), from)
	}
	<-v.done
	return v.client, v.err
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// digest is HMAC (RFC 2104) with SHA-256 of a name and a password, which a length
// keeps apart, without what crypto/hmac allocates.
func (p *passwords) digest(name, password []byte) digest {
	var room [sha256.BlockSize + 8 + mostField]byte
	message := room[:0]
	for _, k := range p.key {
		message = append(message, k^0x36)
	}
	message = binary.BigEndian.AppendUint64(message, uint64(len(name)))
	message = append(append(message, name...), password...)
	inner := sha256.Sum256(message)
	message = room[:0]
	for _, k := range p.key {
		message = append(message, k^0x5c)
	}
	return sha256.Sum256(append(message, inner[:]...))
}

// join returns the verification of credentials: one that is under way, one whose
// end is remembered, or a new one, which is the caller's to settle.
func (p *passwords) join(d digest) (v *verification, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.pending[d]; v != nil {
		return v, false
	}
	v = &verification{done: make(chan struct{}), err: ErrWrong}
	if _, known := p.wrong[d]; known {
		close(v.done)
		return v, false
	}
	if v.client = (*p.right.Load())[d]; v.client != nil { // since the caller looked
		v.err = nil
		close(v.done)
		return v, false
	}
	p.pending[d] = v
	return v, true
}

// settle finds out whose credentials are, when it is their turn. It does not end
// with the request that they came with: others may wait for it, and the client
// will ask again.
func (p *passwords) settle(v *verification, d digest, name string, password []byte, from netip.Addr) {
	var client *Client
	err := ErrBusy
	defer func() { // whatever happens: others wait
		p.mu.Lock()
		defer p.mu.Unlock()
		v.client, v.err = client, err
		delete(p.pending, d)
		switch {
		case client != nil:
			right := maps.Clone(*p.right.Load())
			right[d] = client
			p.right.Store(&right)
		case errors.Is(err, ErrWrong):
			if len(p.wrong) >= mostWrong {
				clear(p.wrong)
			}
			p.wrong[d] = struct{}{}
		}
		close(v.done)
	}()
	leave, ok := p.turns.take(from, patience)
	if !ok {
		return
	}
	defer leave()
	if client = p.verify(name, password); client != nil {
		err = nil
	} else {
		err = ErrWrong
	}
}

// verify looks at a password. One for a name that does not exist is held against
// some client's hash, the same each time, so that by the time it takes nobody
// learns which names there are.
func (p *passwords) verify(name string, password []byte) *Client {
	s, known := p.secrets[name]
	if !known {
		named := p.digest([]byte(name), nil)
		s = secret{hash: p.any[binary.BigEndian.Uint64(named[:])%uint64(len(p.any))]} // of nobody
	}
	if !s.hash.meets(password) {
		return nil
	}
	return s.client
}
