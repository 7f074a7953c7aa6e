package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	hash      = "$2y$05$abcdefghijklmnopqrstuuGbx1s1s8WYnVsvZ0KnS/9m3KkSFNwxS"
	otherHash = "$2y$10$abcdefghijklmnopqrstuuGbx1s1s8WYnVsvZ0KnS/9m3KkSFNwxS"
)

// who is a client that is right, with lines more.
func who(lines ...string) string {
	return "clients:\n  named:\n    - name: news\n      password: " + hash + "\n      " + strings.Join(lines, "\n      ") + "\n"
}

var badClients = []struct{ reason, file, fault string }{
	{"nothing", "clients:\n  named:\n    - {}\n", `FILE:3: clients.named[0]: has no name; write name: news, or whatever it is called in the log`},
	{"a name that no metric has", "clients:\n  named:\n    - {name: news bot, addresses: [10.0.0.1]}\n", `FILE:3: clients.named[0].name: "news bot" is no name of a client; write letters of ASCII, digits, dots, hyphens and underscores alone`},
	{"a name twice", who() + "    - {name: news, addresses: [10.0.0.1]}\n", `FILE:6: clients.named[1].name: "news" is the name of clients.named[0] already; keep one of them`},
	{"a name that nobody can have", "clients:\n  named:\n    - name: news\n", `FILE:3: clients.named[0]: has no password and no addresses, nor is there a line for it in clients.htpasswd, so that nobody can be it; write password: the hash that htpasswd -nB news prints, or addresses: [10.1.0.0/16]`},
	{"the password itself", "clients:\n  named:\n    - {name: news, password: hunter2}\n", `FILE:3: clients.named[0].password: what is written there is not a bcrypt hash; make one with htpasswd -nB NAME`},
	{"a dear hash", "clients:\n  named:\n    - {name: news, password: " + strings.Replace(hash, "$05$", "$16$", 1) + "}\n", `FILE:3: clients.named[0].password: what is written there is a bcrypt hash of a cost above 14, so that to verify it takes seconds; make one with htpasswd -nB -C 10 NAME`},
	{"every machine", who("addresses: ['::/0']"), `FILE:5: clients.named[0].addresses[0]: "::/0" lets every machine use this proxy; name your own networks, for example 10.0.0.0/8`},
	{"half of all machines", who("addresses: [10.0.0.0/8, 128.0.0.0/1]"), `FILE:5: clients.named[0].addresses[1]: "128.0.0.0/1" lets much of the world use this proxy; name your own networks, for example 10.0.0.0/8`},
	{"just wider than a network of IPv4", "clients: {allow: [10.0.0.0/7]}\n", `FILE:1: clients.allow[0]: "10.0.0.0/7" lets much of the world use this proxy; name your own networks, for example 10.0.0.0/8`},
	{"what IPv6 has of public addresses, beside what it has of local ones", "clients: {allow: ['fc00::/7', '2000::/3']}\n", `FILE:1: clients.allow[1]: "2000::/3" lets much of the world use this proxy; name your own networks, for example 10.0.0.0/8`},
	{"no destination", who("destinations: []"), `FILE:5: clients.named[0].destinations: "[]" allows no host at all, so that the client can ask for nothing; name some, or leave the key out for all`},
	{"octets beyond the prefix", who("addresses: [10.1.2.3/16]"), `FILE:5: clients.named[0].addresses[0]: "10.1.2.3/16" has octets beyond its prefix; write 10.1.0.0/16`},
	{"a range of two clients", who("addresses: [10.0.0.0/8]") + "    - {name: shop, addresses: [10.1.0.0/16, 10.0.0.0/8]}\n", `FILE:6: clients.named[1].addresses[1]: "10.0.0.0/8" is a range of news and of shop; keep one of them: a request has one client`},
	{"a range twice", who("addresses: [10.0.0.0/8, 10.0.0.0/8]"), `FILE:5: clients.named[0].addresses[1]: "10.0.0.0/8" is a range of news and of news; keep one of them: a request has one client`},
	{"a token with a version", who("token: NewsBot/1.0"), `FILE:5: clients.named[0].token: "NewsBot/1.0" is not a product token (RFC 9309 §2.2.1) that names somebody; write letters, digits, hyphens and underscores, for example NewsBot`},
	{"everybody as a token", who("token: '*'"), `FILE:5: clients.named[0].token: "*" is not a product token (RFC 9309 §2.2.1) that names somebody; write letters, digits, hyphens and underscores, for example NewsBot`},
	{"a browser as a token", who("token: Mozilla"), `FILE:5: clients.named[0].token: "Mozilla" is not a product token (RFC 9309 §2.2.1) that names somebody; write letters, digits, hyphens and underscores, for example NewsBot`},
	{"a browser's User-Agent", who("user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0'"), `FILE:5: clients.named[0].user_agent: "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0" names nobody: it has no product token but a browser's; write for example NewsBot/1.0 (+https://a.example/bot)`},
	{"a line end in a User-Agent", who(`user_agent: "NewsBot\r\nX: y"`), `FILE:5: clients.named[0].user_agent: "NewsBot\r\nX: y" cannot stand in a field; write at most 512 octets of visible ASCII, with blanks between words alone`},
	{"a User-Agent outside ASCII", who("user_agent: NewsBöt"), `FILE:5: clients.named[0].user_agent: "NewsBöt" cannot stand in a field; write at most 512 octets of visible ASCII, with blanks between words alone`},
	{"a sender that is none", who("from: a.example"), `FILE:5: clients.named[0].from: "a.example" is not a mailbox (RFC 9110 §10.1.2); write for example bots@a.example`},
	{"a line end in a sender", who(`from: "bots@a.example\r\n"`), `FILE:5: clients.named[0].from: "bots@a.example\r\n" is not a mailbox (RFC 9110 §10.1.2); write for example bots@a.example`},
	{"a purpose that no log holds", who("purpose: " + strings.Repeat("x", 201)), `FILE:5: clients.named[0].purpose: "` + strings.Repeat("x", 201) + `" is longer than 200 octets; clients are shown it, so say it shortly and put the rest where reference leads`},
	{"a URL as a destination", who("destinations: ['https://a.example/']"), `FILE:5: clients.named[0].destinations[0]: "https://a.example/" is not a host; write example.com, *.example.com or an address, without scheme, port and path`},
	{"a mode that is none", who("https: mitm"), `FILE:5: clients.named[0].https: "mitm" is not one of intercept, tunnel and deny`},
	{"a number without its unit", who("hold: 60"), `FILE:5: clients.named[0].hold: "60" is not a length of time; write for example 10s, 5m or 24h`},
	{"longer than anybody waits", who("hold: 1h"), `FILE:5: clients.named[0].hold: "1h" is not between 0s and 15m`},
	{"a slip of the pen", who("adresses: [10.0.0.1]"), `FILE:5: clients.named[0].adresses: no such key; did you mean "addresses"?`},
	{"a requirement that is none", "identity:\n  require: name\n", `FILE:2: identity.require: "name" is not one of any, token and named`},
	{"names where nobody has one", "identity:\n  require: named\n", `FILE:2: identity.require: "named" lets nobody in: no client has a name; write clients.named or clients.htpasswd`},

	// Of the file, which stands beside the configuration.
	{"a file that is not there", "clients: {htpasswd: absent}\n", `FILE:1: clients.htpasswd: reading credentials: stat DIR/absent: no such file or directory`},
	{"a folder", "clients: {htpasswd: .}\n", `FILE:1: clients.htpasswd: reading credentials: DIR is not a file; name one that htpasswd -B has written`},
	{"an empty file", "clients: {htpasswd: empty}\n", `FILE:1: clients.htpasswd: DIR/empty has no credentials; add one with htpasswd -B DIR/empty NAME, or leave the key out`},
	{"a file with faults", "clients: {htpasswd: bad}\n", "FILE:1: clients.htpasswd: DIR/bad: line 1: what stands for \"md5\" is not a bcrypt hash; make one with htpasswd -nB NAME\nFILE:1: clients.htpasswd: DIR/bad: line 4: the name \"shop\" stands in line 3 already; keep one of them"},
	{"a large file", "clients: {htpasswd: large}\n", `FILE:1: clients.htpasswd: reading credentials: DIR/large has 1048577 octets; such a file has at most 1048576`},
	{"two passwords for one name", "clients:\n  htpasswd: good\n  named:\n    - {name: shop, password: " + hash + "}\n", `FILE:4: clients.named[0].password: line 2 of clients.htpasswd has a password for shop too; keep one of them`},
}

// withFiles writes the files that configurations name.
func withFiles(t *testing.T, path string) {
	t.Helper()
	for name, text := range map[string]string{
		"empty": "# nobody yet\n\n",
		"good":  "# who\nshop:" + hash + "\n",
		"bad":   "md5:$apr1$xyz$abc\n\nshop:" + hash + "\nshop:" + otherHash + "\n",
		"large": strings.Repeat("#", maxHtpasswd+1),
	} {
		beside(t, path, name, text)
	}
}

func TestBadClientsAreRefusedByTheirExactFault(t *testing.T) {
	for _, row := range badClients {
		t.Run(row.reason, func(t *testing.T) {
			path := write(t, row.file)
			withFiles(t, path)
			want := strings.NewReplacer("FILE", path, "DIR", filepath.Dir(path)).Replace(row.fault)
			_, err := Load(path)
			if err == nil {
				t.Fatalf("was accepted:\n%s", row.file)
			}
			if got := err.Error(); got != want {
				t.Errorf("\n%s\nfault: %s\nwant:  %s", row.file, got, want)
			}
			checkFault(t, err)
		})
	}
}

func TestAFileThatMayNotBeReadIsAFault(t *testing.T) {
	path := write(t, "clients: {htpasswd: good}\n")
	withFiles(t, path)
	file := filepath.Join(filepath.Dir(path), "good")
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(file); err == nil {
		_ = f.Close()
		t.Log("whoever runs this may read everything: the fault cannot be had")
		return
	}
	if _, err := Load(path); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), file) {
		t.Errorf("the fault is %v", err)
	}
}

func TestAListenerForOthersTakesNamesForAccessControl(t *testing.T) {
	for _, row := range []struct{ why, clients string }{
		{"a password", "clients: {named: [{name: news, password: " + hash + "}]}\n"},
		{"addresses", "clients: {named: [{name: news, addresses: [10.0.0.0/8]}]}\n"},
		{"a file", "clients: {htpasswd: good}\n"},
	} {
		path := write(t, "listen: 0.0.0.0:3128\n"+row.clients)
		withFiles(t, path)
		if _, err := Load(path); err != nil {
			t.Errorf("%s: %v", row.why, err)
		}
	}
}

func TestOddClientsAreWarnedOf(t *testing.T) {
	for _, row := range []struct {
		why, file string
		want      []string // how each begins
	}{
		{"nothing is odd", who("token: NewsBot", "user_agent: newsbot/1.0", "addresses: [10.0.0.0/8]"), nil},
		{"a token that origins may not see", who("token: NewsBot"), []string{"clients.named[0]: news goes by the token NewsBot, but origins are sent its own User-Agent"}},
		{"a token that they do not see", who("token: NewsBot", "user_agent: ShopBot/1.0"), []string{"clients.named[0]: the user_agent of news does not have its token NewsBot in it"}},
		{"a User-Agent that cannot be sent", who("user_agent: NewsBot/1.0", "https: tunnel"), []string{"clients.named[0]: tunnels of news are not read (https: tunnel)"}},
		{"a From that no tunnel of anybody's has", "https: {mode: tunnel}\n" + who("from: bots@a.example"), []string{"clients.named[0]: tunnels of news are not read (https.mode: tunnel)"}},
		{"tunnels that are read, of this client", "https: {mode: tunnel}\n" + who("user_agent: NewsBot/1.0", "https: intercept"), nil},
		{"tunnels that are denied", "https: {mode: deny}\n" + who("user_agent: NewsBot/1.0"), nil},
		{"what was printed", "clients:\n  named:\n    - {name: news, password: $2y$05$REDACTED.............................................}\n", []string{"clients.named[0]: the password of news is what heed config print shows"}},
		{"a range within another's", who("addresses: [10.1.0.0/16]") + "    - {name: lab, addresses: [10.0.0.0/8]}\n    - {name: shop, addresses: [10.1.2.0/24]}\n", []string{
			"clients.named[0].addresses[0]: 10.1.0.0/16 lies within a range of lab; what comes from it is news",
			"clients.named[2].addresses[0]: 10.1.2.0/24 lies within a range of news; what comes from it is shop",
		}},
		{"a range within one of its own", who("addresses: [10.0.0.0/8, 10.1.0.0/16]"), nil},
		{"a file that everybody can read", "clients: {htpasswd: good}\n", []string{"clients.htpasswd: everybody on this machine can read or write DIR/good (mode 0644)"}},
	} {
		path := write(t, row.file)
		withFiles(t, path)
		if err := os.Chmod(filepath.Join(filepath.Dir(path), "good"), 0o644); err != nil { //nolint:gosec // that is what is warned of
			t.Fatal(err)
		}
		c, err := Load(path)
		if err != nil {
			t.Errorf("%s: %v", row.why, err)
			continue
		}
		got := c.Warnings(time.Now())
		if len(got) != len(row.want) {
			t.Errorf("%s: %q, want %q", row.why, got, row.want)
			continue
		}
		for i, want := range row.want {
			if want = strings.Replace(want, "DIR", filepath.Dir(path), 1); !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: %q, want %q…", row.why, got[i], want)
			}
		}
	}
}

func TestTheFileIsReadFromBesideTheConfiguration(t *testing.T) {
	path := write(t, "clients: {htpasswd: good, named: [{name: shop}]}\n")
	withFiles(t, path)
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := c.Clients.Credentials()
	if err != nil || len(all) != 1 || all[0].Name != "shop" || string(all[0].Hash) != hash || all[0].Line != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := new(Clients).Credentials(); all != nil || err != nil {
		t.Errorf("without a file: %v, %v", all, err)
	}
	if reflect.DeepEqual(c.Clients, Clients{}) {
		t.Error("nothing was read")
	}
}
