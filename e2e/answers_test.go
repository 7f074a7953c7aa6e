package e2e

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// answer is what a client shows its user of one URL.
type answer struct {
	url    string
	status int         // 0 where the client shows none
	reason string      // the phrase beside the status
	fields http.Header // nil where the client shows none
	body   []byte
	err    string // what the library raised instead
}

// readAnswers reads what the programs in clients/ print.
func readAnswers(_ string, stdout []byte) ([]answer, error) {
	var all []answer
	var a *answer
	lines := bufio.NewScanner(bytes.NewReader(stdout))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), " ")
		if key == "url" {
			all = append(all, answer{url: value})
			a = &all[len(all)-1]
			continue
		}
		if a == nil {
			return nil, fmt.Errorf("%q stands before the first url line", lines.Text())
		}
		var err error
		switch key {
		case "status":
			a.status, err = strconv.Atoi(value)
		case "reason":
			a.reason = value
		case "field":
			if a.fields == nil {
				a.fields = http.Header{}
			}
			name, v, _ := strings.Cut(value, ": ")
			a.fields.Add(name, v)
		case "body":
			a.body, err = base64.StdEncoding.DecodeString(value)
		case "error":
			a.err = value
		case "end":
			a = nil
		default:
			err = fmt.Errorf("unknown key")
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
	}
	if a != nil {
		return nil, fmt.Errorf("the output ends inside the answer for %s", a.url)
	}
	return all, lines.Err()
}

// readMessage reads a status line, fields and body as `curl -i` prints them.
// The body stands there decoded, whatever the fields say of its framing.
func readMessage(url string, stdout []byte) ([]answer, error) {
	if len(stdout) == 0 {
		return []answer{{url: url}}, nil
	}
	r := bufio.NewReader(bytes.NewReader(stdout))
	line, err := textproto.NewReader(r).ReadLine()
	if err != nil {
		return nil, err
	}
	version, status, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(version, "HTTP/") {
		return nil, fmt.Errorf("the output begins with %q, not with a status line", line)
	}
	code, reason, _ := strings.Cut(status, " ")
	a := answer{url: url, reason: reason}
	if a.status, err = strconv.Atoi(code); err != nil {
		return nil, fmt.Errorf("status line %q: %w", line, err)
	}
	fields, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("fields of the answer: %w", err)
	}
	a.fields = http.Header(fields)
	var body bytes.Buffer
	if _, err := body.ReadFrom(r); err != nil {
		return nil, err
	}
	a.body = body.Bytes()
	return []answer{a}, nil
}

// readDocument takes the whole output for the body, as a browser shows a page.
func readDocument(url string, stdout []byte) ([]answer, error) {
	return []answer{{url: url, body: stdout}}, nil
}
