package api

import (
	"html"
	"net/http"
	"strings"
)

// page is HTML that is put together by hand: a template engine looks methods
// up by name, and so would make the linker keep every exported method of the
// program, a ninth of its size and of its memory, for two small pages.
type page struct{ strings.Builder }

// add adds markup, which is written down in this file, and texts in turn. A
// text stands between elements or within double quotes, never in a tag.
func (p *page) add(markup string, more ...string) {
	p.WriteString(markup)
	for i, s := range more {
		if i%2 == 0 {
			s = html.EscapeString(s)
		}
		p.WriteString(s)
	}
}

// begin adds what stands before the page's own words. A browser goes on to the
// address next at once, unless it is empty.
func (p *page) begin(title, next string) {
	p.add(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
`)
	if next != "" {
		p.add(`<meta http-equiv="refresh" content="0;url=`, next, `">`+"\n")
	}
	p.add("<title>", title, "</title>\n"+`<link rel="stylesheet" href="`+signInStyle+`">
</head>
<body>
<main>
`)
}

func (p *page) end() { p.add("</main>\n</body>\n</html>\n") }

// signInView is what the sign-in page shows. The page has no script, and what
// it loads is all that is public besides it.
type signInView struct {
	Title  string // why it didn't work; empty at first
	Reason string
	Code   string // of a link that waits for a person's word; empty for the form
	Next   string // where to go after; empty for the front page
}

// show writes the page.
func (v signInView) show(w http.ResponseWriter, status int) error {
	return writePage(w, status, v.page())
}

func (v signInView) page() string {
	var p page
	title, described, invalid := "Sign in · GoClaw", "help", ""
	if v.Title != "" {
		title, described, invalid = v.Title+" · "+title, "problem help", ` aria-invalid="true"`
	}
	p.begin(title, "")
	p.add("<h1>Sign in to GoClaw</h1>\n")
	if v.Title != "" {
		p.add(`<div class="problem" role="alert" id="problem">`+"\n<p><strong>", v.Title, ".</strong> ", v.Reason, "</p>\n</div>\n")
	}
	if v.Code != "" {
		p.add(`<p id="about">You came here by a sign-in link. It works once.</p>
<form method="post" action="/signin">
<input type="hidden" name="code" value="`, v.Code, `">
`)
		v.addNext(&p)
		p.add(`<button type="submit" autofocus aria-describedby="about">Sign in</button>
</form>
<p class="hint">If you did not ask for this link, close the page: it may sign you in as somebody else.</p>
`)
	} else {
		p.add(`<form method="post" action="/signin">
<input type="text" name="user" value="goclaw" autocomplete="username" hidden>
<label for="token">Token</label>
<input id="token" name="token" type="password" required autofocus autocomplete="current-password" autocapitalize="none" spellcheck="false" aria-describedby="`,
			described, `"`+invalid+`>
`)
		v.addNext(&p)
		p.add(`<button type="submit">Sign in</button>
</form>
<div class="hint" id="help">
<p>No token? On the machine that runs the gateway:</p>
<dl>
<dt><code>goclaw users link NAME</code></dt><dd>prints a link that signs you in</dd>
<dt><code>goclaw users token NAME</code></dt><dd>prints a token to enter here</dd>
</dl>
</div>
`)
	}
	p.end()
	return p.String()
}

func (v signInView) addNext(p *page) {
	if v.Next != "" {
		p.add(`<input type="hidden" name="next" value="`, v.Next, `">`+"\n")
	}
}

// arrivePage leads on to target, an address within this gateway.
func arrivePage(target string) string {
	var p page
	p.begin("GoClaw", target)
	p.add(`<p><a href="`, target, `">Go on to GoClaw</a></p>`+"\n")
	p.end()
	return p.String()
}
