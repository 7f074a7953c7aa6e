package fetch

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"heed/internal/origin"
)

// maxLocation bounds a redirect's target: hops are kept with the snapshot.
const maxLocation = 16 << 10

// isRedirect reports whether a status redirects a GET to its Location. The
// other 3xx do not, and 304 answers a condition that was not set.
func isRedirect(code int) bool {
	switch code {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// target returns where a redirect at from leads, with a canonical authority
// and without a fragment.
func target(from *url.URL, resp *http.Response) (*url.URL, error) {
	location, err := locationOf(resp)
	if err != nil {
		return nil, err
	}
	reference, err := url.Parse(location)
	if err != nil {
		// What url.Parse says repeats the text, userinfo included.
		return nil, fmt.Errorf("status %d to a Location that is no URL", resp.StatusCode)
	}
	to := from.ResolveReference(reference)
	if to.User != nil {
		to.User = nil // not to be repeated in a text either
		return nil, fmt.Errorf("redirect to %s with userinfo: credentials are never sent", to)
	}
	o, err := origin.Parse(to.Scheme, to.Host)
	if err != nil {
		return nil, fmt.Errorf("redirect to %s: %w", to, err)
	}
	return &url.URL{
		Scheme:  o.Scheme,
		Host:    o.Authority(),
		Path:    to.Path,
		RawPath: to.RawPath,
		// A raw space would end the request-target (RFC 9112 §3.2).
		RawQuery:   strings.ReplaceAll(to.RawQuery, " ", "%20"),
		ForceQuery: to.ForceQuery,
	}, nil
}

func locationOf(resp *http.Response) (string, error) {
	values := slices.Compact(slices.Clone(resp.Header.Values("Location")))
	switch {
	case len(values) == 0 || values[0] == "":
		return "", fmt.Errorf("status %d without a Location", resp.StatusCode)
	case len(values) > 1:
		return "", fmt.Errorf("status %d with %d different Locations", resp.StatusCode, len(values))
	case len(values[0]) > maxLocation:
		return "", fmt.Errorf("status %d to a Location of %d octets, more than %d", resp.StatusCode, len(values[0]), maxLocation)
	}
	return values[0], nil
}

// checkHop decides whether one more redirect is followed.
//
// RFC 9309 §2.3.1.2 lets a crawler take more than five for "unavailable", that
// is for permission. A guard takes them for unreachable: whether there are
// rules at their end is not known, and a loop is a fault of the origin, not
// its consent.
func (r *retriever) checkHop(first origin.Origin, to *url.URL, hops []string) error {
	if s := to.String(); s == first.RobotsURL() || slices.Contains(hops, s) {
		return fmt.Errorf("redirect to %s, where it came from: a loop", s)
	}
	if len(hops) >= r.maxRedirects {
		return fmt.Errorf("more than %d redirects, the next to %s", r.maxRedirects, to)
	}
	return nil
}
