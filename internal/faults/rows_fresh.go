package faults

import "time"

// freshness is how long what was obtained is used (RFC 9111): as long as the
// origin says, between five minutes and a day.
func freshness() []Row {
	var all []Row
	row := func(name string, fresh time.Duration, fields ...string) {
		all = append(all, Row{
			Name: "fresh: " + name, Why: "between five minutes and a day", Do: write(reply(ok, Good, fields...)), Robots: rules(1).fresh(fresh),
		})
	}
	const least, most = 5 * time.Minute, 24 * time.Hour
	row("nothing is said", most)
	row("an hour", time.Hour, "Cache-Control: max-age=3600")
	row("an hour, of which half is over", 30*time.Minute, "Cache-Control: max-age=3600", "Age: 1800")
	row("an hour, all of which is over", least, "Cache-Control: max-age=3600", "Age: 3600")
	row("older than there is time", least, "Cache-Control: max-age=3600", "Age: 99999999999999999999")
	row("an age that is none", time.Hour, "Cache-Control: max-age=3600", "Age: old")
	row("a negative age", time.Hour, "Cache-Control: max-age=3600", "Age: -1800")
	row("a second", least, "Cache-Control: max-age=1")
	row("nought", least, "Cache-Control: max-age=0")
	row("a year", most, "Cache-Control: max-age=31536000")
	row("past 64 bits", most, "Cache-Control: max-age=99999999999999999999")
	row("a negative time", least, "Cache-Control: max-age=-1")
	row("a time that is none", least, "Cache-Control: max-age=soon")
	row("no-store", least, "Cache-Control: no-store")
	row("no-cache", least, "Cache-Control: no-cache, max-age=3600")
	row("for shared caches another time", 2*time.Hour, "Cache-Control: max-age=3600, s-maxage=7200")
	row("a quoted comma", time.Hour, `Cache-Control: x="max-age=1, y", max-age=3600`)
	row("Expires is nought", least, "Expires: 0")
	row("Expires in the past", least, "Expires: Sun, 06 Nov 1994 08:49:37 GMT")
	row("Expires in 2099", most, "Expires: Thu, 31 Dec 2099 23:59:59 GMT")
	row("a Date of tomorrow", most, "Date: Fri, 31 Dec 2099 23:59:59 GMT")
	row("a Date of long ago", most, "Date: Sun, 06 Nov 1994 08:49:37 GMT")
	row("a Date that is none", most, "Date: yesterday")
	all = append(all, Row{
		Name: "fresh: Expires in an hour", Why: "counted from Date, whatever clock that is of", Robots: rules(1).fresh(time.Hour),
		Do: answer(func(*Conn) string {
			theirs := time.Now().UTC().AddDate(3, 0, 0)
			return reply(ok, Good, "Date: "+theirs.Format(httpDate), "Expires: "+theirs.Add(time.Hour).Format(httpDate))
		}),
	})
	return append(all, Row{
		Name: "fresh: a 404 for an hour", Why: "that there is none may be cached too", Do: write(reply("404 No", "", "Cache-Control: max-age=3600")),
		Robots: unavailable(1).fresh(time.Hour),
	}, Row{
		Name: "fresh: a 404", Why: "§2.4: a day", Do: write(reply("404 No", "")), Robots: unavailable(1).fresh(most),
	})
}

const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"
