package cli

import (
	"os/exec"
	"reflect"
	"testing"
)

// Texts that a shell would make something else of.
var oddTexts = []string{
	"", "plain", "two words", "it's", `"quoted"`, "$HOME", "`id`", "a\\b", "a\nb", "!x", "*", "~", "#x", "käse", "'", "''", `\'`,
}

func TestAShellReadsBackWhatWasQuoted(t *testing.T) {
	for _, text := range oddTexts {
		for _, word := range []string{quote(text), quoteUnlessPlain(text)} {
			out, err := exec.Command("sh", "-c", "printf %s "+word).Output()
			if err != nil || string(out) != text {
				t.Errorf("%q as %s is read as %q, %v", text, word, out, err)
			}
		}
	}
	if word := quoteUnlessPlain("/srv/heed"); word != "/srv/heed" {
		t.Errorf("a plain word is written %s", word)
	}
}

func TestAssignmentsAreInTheLanguageOfTheShell(t *testing.T) {
	v := variable{"A", `it's a \ $HOME`}
	for shell, want := range map[string]string{
		"sh":         `export A='it'\''s a \ $HOME'`,
		"fish":       `set -gx A 'it\'s a \\ $HOME'`,
		"powershell": `$env:A = 'it''s a \ $HOME'`,
	} {
		if got := assignment(shell, v); got != want {
			t.Errorf("%s: %s, want %s", shell, got, want)
		}
	}
}

func TestJavaOptionsAreAddedOnce(t *testing.T) {
	once := javaOptions("-Xmx1g", "127.0.0.1:3128", "/home/a b/store.p12")
	const want = `-Xmx1g -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 ` +
		`-Dhttp.nonProxyHosts= "-Djavax.net.ssl.trustStore=/home/a b/store.p12" ` +
		`-Djavax.net.ssl.trustStoreType=PKCS12 -Djavax.net.ssl.trustStorePassword=changeit`
	if once != want {
		t.Errorf("got\n%s\nwant\n%s", once, want)
	}
	if twice := javaOptions(once, "127.0.0.1:3128", "/home/a b/store.p12"); twice != once {
		t.Errorf("added twice: %s", twice)
	}
	if got := javaOptions("", "[::1]:3128", `/it's "odd"/s`); got[:23] != "-Dhttp.proxyHost=::1 -D" {
		t.Errorf("got %s", got)
	}
}

func TestOverlayReplacesAndKeeps(t *testing.T) {
	got := overlay([]string{"A=1", "B=2", "A=3", "C"}, []variable{{"A", "x=y"}, {"D", ""}})
	if want := []string{"B=2", "C", "A=x=y", "D="}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClientsOnThisMachineFindTheListener(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:3128": "127.0.0.1:3128",
		"0.0.0.0:3128":   "127.0.0.1:3128",
		":3128":          "127.0.0.1:3128",
		"[::]:3128":      "127.0.0.1:3128",
		"10.0.0.1:80":    "10.0.0.1:80",
		"127.0.0.1:0":    "",
		"127.0.0.1:00":   "",
	} {
		if got, err := clientAddress(listen); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want %q", listen, got, err, want)
		}
	}
}

func TestHeedNamesItselfAsItWasCalled(t *testing.T) {
	for arg0, want := range map[string]string{
		"heed":                              "heed",
		"./heed":                            "./heed",
		"/opt/my tools/heed":                "'/opt/my tools/heed'",
		"/tmp/go-build123/b001/exe/heed":    "go run .",
		"/home/a/.cache/go-build/ab/x/heed": "go run .",
	} {
		if got := program(arg0); got != want {
			t.Errorf("%s: %s, want %s", arg0, got, want)
		}
	}
}
