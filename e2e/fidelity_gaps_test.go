package e2e

// notYet are the properties that heed does not have yet. A test fails when one
// of them holds, so that it is taken off.
var notYet = []gap{
	// The order and the case of fields, and phrases: net/http keeps fields in a
	// map by their canonical names, and has phrases of its own.
	{"case and order of a request's fields", nil, "net/http sorts them"},
	{"case and order of a request's fields with a body", nil, "net/http sorts them"},
	{"repeated fields of a request stay in their places", nil, "net/http keeps them together"},
	{"case and order of an answer's fields", nil, "net/http sorts them"},
	{"repeated fields of an answer stay in their places", nil, "net/http keeps them together"},
	{"fields of an answer without a body", nil, "net/http sorts them, and takes length and type from a 304"},
	{"a reason phrase", nil, "net/http writes its own"},
	{"an empty reason phrase", nil, "net/http writes its own"},
	{"a status that nobody registered", nil, "net/http writes a phrase of its own"},
	{"1xx octet by octet", nil, "net/http sorts its fields and writes a phrase of its own"},
	{"304 has fields and no body", nil, "net/http takes length and type from a 304"},
	{"fields in several lines are refused", nil, "net/http joins them"},

	{"204 loses a length that it must not have", []string{"intercepted,2-1.1"}, "net/http takes it from HTTP/1.1 alone"},

	// Expect: the request that is given to net/http has no version, so that it
	// does not wait with the body; and its HTTP/2 waits a second though the
	// answer has come.
	{"100 is the origin's to say", []string{"plain,1.1-1.1", "secure,1.1-1.1", "tunnelled,1.1-1.1", "intercepted,1.1-1.1"}, "the body is asked for at once"},
	{"417 instead of 100", nil, "the body is asked for all the same"},
	{"403 instead of 100", nil, "the body is asked for all the same"},
	{"200 instead of 100", nil, "the body is asked for all the same"},

	// Where a length is known the answer waits in net/http's buffer.
	{"each part of a body with a length comes before the next", nil, "only what has no length is passed on at once"},
	{"a long poll shows its head at once", nil, "only that without a length is"},

	// net/http reads the request to its end before an answer in HTTP/1.1 begins.
	{"both directions at once", []string{"plain,1.1-1.1", "secure,1.1-1.1", "secure,1.1-2", "tunnelled,1.1-1.1", "intercepted,1.1-1.1", "intercepted,1.1-2"}, "not asked for (EnableFullDuplex)"},
	{"a large upload while the answer has begun", []string{"plain,1.1-1.1", "secure,1.1-1.1", "secure,1.1-2", "tunnelled,1.1-1.1", "intercepted,1.1-1.1", "intercepted,1.1-2"}, "not asked for (EnableFullDuplex)"},
}
