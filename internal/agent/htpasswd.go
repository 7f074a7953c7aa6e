package agent

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// Hash is a bcrypt hash of a password as it is written: "$2y$10$…". It never
// shows itself: as a text it is Redacted.
type Hash string

const (
	hashOctets = 60 // of "$2y$", two digits, "$", 22 octets of salt and 31 of hash
	hashHead   = len("$2y$10$")

	// mostCost bounds what a verification takes: a second at 14, and twice as
	// long with each more. Nobody new gets in meanwhile.
	mostCost = 14
)

var (
	errNotBcrypt = errors.New("not a bcrypt hash; make one with htpasswd -nB NAME")
	errCost      = fmt.Errorf("a bcrypt hash of a cost above %d, so that to verify it takes seconds; make one with htpasswd -nB -C 10 NAME", mostCost)
)

// ParseHash returns a text as a hash. An error says what is wrong, and shows
// nothing of the text: it may be the password itself.
func ParseHash(text string) (Hash, error) {
	if len(text) != hashOctets || !strings.HasPrefix(text, "$2") || strings.IndexByte("aby", text[2]) < 0 || text[3] != '$' || text[6] != '$' {
		return "", errNotBcrypt
	}
	for i := hashHead; i < len(text); i++ {
		if c := text[i]; !isLetter(c) && (c < '.' || c > '9') {
			return "", errNotBcrypt
		}
	}
	cost, err := bcrypt.Cost([]byte(text))
	if err != nil {
		return "", errNotBcrypt
	}
	if cost > mostCost {
		return "", errCost
	}
	return Hash(text), nil
}

// Redacted is a hash that says what it is in place of another. It is one in
// form, and no password is known for it.
func (h Hash) Redacted() string {
	if h == "" {
		return ""
	}
	const word = "REDACTED"
	return string(h[:hashHead]) + word + strings.Repeat(".", hashOctets-hashHead-len(word))
}

// String is Redacted.
func (h Hash) String() string { return h.Redacted() }

// Meets reports whether a password is the one that the hash was made of. It
// takes as long as the hash costs.
func (h Hash) meets(password []byte) bool {
	return bcrypt.CompareHashAndPassword([]byte(h), password) == nil
}

// Credential is a line of an htpasswd file.
type Credential struct {
	Name string
	Hash Hash
	Line int // in the file, from 1
}

// LineError is what is wrong with a line of an htpasswd file.
type LineError struct {
	Line  int // from 1
	Cause string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Cause) }

// ParseHtpasswd reads the text of an htpasswd file: lines NAME:HASH as
// `htpasswd -B` writes them. Empty lines and those that begin with # are left
// out, a line may end with CR LF. It returns what can be read, and a fault for
// each other line: a name that is none (CheckName) or stands twice, and a hash
// that is not bcrypt's. No fault shows a hash.
func ParseHtpasswd(text string) (all []Credential, faults []*LineError) {
	text = strings.TrimPrefix(text, "\ufeff")
	lines := map[string]int{} // where a name stands
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		c, err := parseLine(line)
		if first, twice := lines[c.Name]; err == nil && twice {
			err = fmt.Errorf("the name %q stands in line %d already; keep one of them", c.Name, first)
		}
		if err != nil {
			faults = append(faults, &LineError{n, err.Error()})
			continue
		}
		c.Line, lines[c.Name] = n, n
		all = append(all, c)
	}
	return all, faults
}

func parseLine(line string) (c Credential, err error) {
	name, hash, found := strings.Cut(line, ":")
	if !found {
		return c, errors.New("not NAME:HASH; make such a line with htpasswd -nB NAME")
	}
	if err := CheckName(name); err != nil {
		return c, err
	}
	h, err := ParseHash(hash)
	if err != nil {
		return c, fmt.Errorf("what stands for %q is %w", name, err)
	}
	return Credential{Name: name, Hash: h}, nil
}

// longestName is how many octets the name of a client may have.
const longestName = 64

// CheckName says what is wrong with a client's name: it has letters and digits
// of ASCII, dots, hyphens and underscores, so that it can stand in a URL, a log
// and a metric as it is.
func CheckName(name string) error {
	for i := range len(name) {
		if c := name[i]; !isLetter(c) && !isFurther(c) && c != '.' {
			return fmt.Errorf("%.80q is no name of a client; write letters of ASCII, digits, dots, hyphens and underscores alone", name)
		}
	}
	if name == "" || len(name) > longestName {
		return fmt.Errorf("%.80q is no name of a client; write 1 to %d octets", name, longestName)
	}
	return nil
}
