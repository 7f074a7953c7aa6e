package proxy

import (
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// item is an Item of a Structured Field with its Parameters (RFC 9651 §3.3),
// under way. It has the octets that httpsfv would write, a token first; two of
// them stand in each denial.
type item []byte

// token appends a parameter that is a Token. It is one of heed's own.
func (i item) token(name, value string) item { return append(i.name(name), value...) }

// flag appends a parameter that is a Boolean and true.
func (i item) flag(name string) item { return append(append(i, ';'), name...) }

// number appends a parameter that is an Integer, unless it is 0.
func (i item) number(name string, value int) item {
	if value == 0 {
		return i
	}
	return strconv.AppendInt(i.name(name), int64(value), 10)
}

// seconds appends a parameter that is a Decimal, unless it is 0.
func (i item) seconds(name string, d time.Duration) item {
	if d <= 0 {
		return i
	}
	return strconv.AppendFloat(i.name(name), d.Seconds(), 'f', 3, 64)
}

// text appends a parameter that is a String, or a Display String where it has
// other than printable ASCII, unless it is empty.
func (i item) text(name, value string) item {
	if value == "" {
		return i
	}
	i = i.name(name)
	if !clean(value) {
		return append(i, marshal(httpsfv.NewItem(httpsfv.DisplayString(value)))...)
	}
	i = append(i, '"')
	for {
		n := quotable(value)
		if n < 0 {
			return append(append(i, value...), '"')
		}
		i = append(append(i, value[:n]...), '\\', value[n])
		value = value[n+1:]
	}
}

// quotable is the place of the first octet that has a backslash before it in a
// String; -1 where there is none.
func quotable(s string) int {
	n := strings.IndexByte(s, '"')
	if n < 0 {
		return strings.IndexByte(s, '\\')
	}
	if m := strings.IndexByte(s[:n], '\\'); m >= 0 {
		return m
	}
	return n
}

func (i item) name(name string) item { return append(append(append(i, ';'), name...), '=') }
