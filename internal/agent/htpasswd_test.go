package agent

import (
	"fmt"
	"strings"
	"testing"
)

const (
	someHash  = "$2y$05$abcdefghijklmnopqrstuuGbx1s1s8WYnVsvZ0KnS/9m3KkSFNwxS"
	otherHash = "$2b$10$..ABCDEFGHIJKLMNOPQRSuGbx1s1s8WYnVsvZ0KnS/9m3KkSFNwxS"
)

func TestHtpasswdIsReadLineByLine(t *testing.T) {
	for _, row := range []struct{ why, text, want, faults string }{
		{"nothing", "", "", ""},
		{"empty lines and comments", "\n \n# news:x\r\n", "", ""},
		{"as htpasswd -B writes it, with the empty line that -n adds", "news:" + someHash + "\n\n", "1 news", ""},
		{"without an end of the last line", "a:" + someHash + "\nb.2_c-d:" + otherHash, "1 a, 2 b.2_c-d", ""},
		{"from Windows", "\ufeffa:" + someHash + "\r\nb:" + otherHash + "\r\n", "1 a, 2 b", ""},
		{"MD5", "news:$apr1$xyz$abc\n", "", `line 1: what stands for "news" is not a bcrypt hash; make one with htpasswd -nB NAME`},
		{"SHA", "news:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n", "", `line 1: what stands for "news" is not a bcrypt hash; make one with htpasswd -nB NAME`},
		{"the password itself", "news:hunter2\n", "", `line 1: what stands for "news" is not a bcrypt hash; make one with htpasswd -nB NAME`},
		{"the bcrypt of a defect in PHP", "news:" + strings.Replace(someHash, "2y", "2x", 1) + "\n", "", `line 1: what stands for "news" is not a bcrypt hash; make one with htpasswd -nB NAME`},
		{"a hash cut short", "news:" + someHash[:59] + "\n", "", `line 1: what stands for "news" is not a bcrypt hash; make one with htpasswd -nB NAME`},
		{"a hash with a blank behind it", "news:" + someHash + " \n", "", `line 1: what stands for "news" is not a bcrypt hash; make one with htpasswd -nB NAME`},
		{"another octet in a hash", "news:" + someHash[:59] + "!\n", "", `line 1: what stands for "news" is not a bcrypt hash; make one with htpasswd -nB NAME`},
		{"a cost that is none", "news:" + strings.Replace(someHash, "$05$", "$03$", 1) + "\n", "", `line 1: what stands for "news" is not a bcrypt hash; make one with htpasswd -nB NAME`},
		{"the most that it may cost", "news:" + strings.Replace(someHash, "$05$", "$14$", 1) + "\n", "1 news", ""},
		{"more", "news:" + strings.Replace(someHash, "$05$", "$15$", 1) + "\n", "", `line 1: what stands for "news" is a bcrypt hash of a cost above 14, so that to verify it takes seconds; make one with htpasswd -nB -C 10 NAME`},
		{"no colon", "news\n", "", `line 1: not NAME:HASH; make such a line with htpasswd -nB NAME`},
		{"no name", ":" + someHash + "\n", "", `line 1: "" is no name of a client; write 1 to 64 octets`},
		{"a name with a blank", "a b:" + someHash + "\n", "", `line 1: "a b" is no name of a client; write letters of ASCII, digits, dots, hyphens and underscores alone`},
		{"a name twice", "a:" + someHash + "\nb:" + someHash + "\na:" + otherHash + "\n", "1 a, 2 b", `line 3: the name "a" stands in line 1 already; keep one of them`},
		{"each fault by itself", "a\nb:x\nc:" + someHash + "\n", "3 c", `line 1: not NAME:HASH; make such a line with htpasswd -nB NAME, line 2: what stands for "b" is not a bcrypt hash; make one with htpasswd -nB NAME`},
	} {
		all, faults := ParseHtpasswd(row.text)
		var got, wrong []string
		for _, c := range all {
			got = append(got, fmt.Sprintf("%d %s", c.Line, c.Name))
		}
		for _, f := range faults {
			wrong = append(wrong, f.Error())
		}
		if g, w := strings.Join(got, ", "), strings.Join(wrong, ", "); g != row.want || w != row.faults {
			t.Errorf("%s:\n%s; %s\nwant\n%s; %s", row.why, g, w, row.want, row.faults)
		}
	}
}

func TestAHashNeverShowsItself(t *testing.T) {
	h := Hash(someHash)
	for _, shown := range []string{h.Redacted(), h.String(), fmt.Sprint(h), fmt.Sprintf("%+v", Credential{Name: "a", Hash: h})} {
		if strings.Contains(shown, someHash[hashHead:]) || !strings.Contains(shown, "$2y$05$REDACTED") {
			t.Errorf("shown as %q", shown)
		}
	}
	if again, err := ParseHash(h.Redacted()); err != nil || again.Redacted() != h.Redacted() {
		t.Errorf("%q is no hash: %v", h.Redacted(), err)
	}
	for _, password := range []string{"", "REDACTED", h.Redacted(), someHash} {
		if Hash(h.Redacted()).meets([]byte(password)) {
			t.Errorf("%q meets what stands in place of a hash", password)
		}
	}
	if Hash("").Redacted() != "" {
		t.Error("no hash is shown as one")
	}
}

// FuzzHtpasswd: every line that is not passed over is either a credential or a
// fault, and no fault shows what stands behind the colon.
func FuzzHtpasswd(f *testing.F) {
	f.Add("news:" + someHash + "\n# a comment\n\nshop:" + otherHash + "\r\n")
	f.Add("a:b:c\n:\n:::\n\ufeff\nx")
	f.Add("a:" + someHash + "\na:" + someHash)
	f.Fuzz(func(t *testing.T, text string) {
		all, faults := ParseHtpasswd(text)
		seen, at := map[string]bool{}, map[int]bool{}
		for _, c := range all {
			if CheckName(c.Name) != nil || seen[c.Name] || at[c.Line] {
				t.Errorf("%q in line %d is no name, or stands twice", c.Name, c.Line)
			}
			if _, err := ParseHash(string(c.Hash)); err != nil {
				t.Errorf("of %q the hash is none", c.Name)
			}
			seen[c.Name], at[c.Line] = true, true
		}
		for _, fault := range faults {
			if at[fault.Line] || strings.ContainsAny(fault.Error(), "\n\r") {
				t.Errorf("line %d: %q", fault.Line, fault)
			}
			at[fault.Line] = true
		}
		n := 0
		for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
			n++
			line = strings.TrimRight(line, "\r\n")
			if passedOver := strings.TrimSpace(line) == "" || line[0] == '#'; passedOver == at[n] {
				t.Errorf("line %d, %q: passed over %t", n, line, !at[n])
			}
		}
	})
}

// FuzzCredentials: whatever a client sends is nobody's, or somebody's whose
// password it has.
func FuzzCredentials(f *testing.F) {
	client := &Client{Name: "news"}
	c := NewClients([]Known{{Client: client, Hash: hashOf(f, "secret")}})
	f.Add(basic("news:secret")[0])
	f.Add("Basic " + strings.Repeat("A", 2000))
	f.Add("basic  bmV3czpzZWNyZXQ= ")
	f.Fuzz(func(t *testing.T, field string) {
		got, err := c.Authenticate([]string{field}, somewhere)
		var room [mostField]byte
		name, password, ok := decode(room[:0], field)
		right := ok && string(name) == "news" && string(password) == "secret"
		if right != (got == client) || right != (err == nil) {
			t.Errorf("%q is %v, %v", field, got, err)
		}
	})
}
