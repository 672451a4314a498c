package selection

import (
	"slices"
	"testing"
)

func TestShapes(t *testing.T) {
	t.Parallel()
	for piece, want := range map[string]string{
		"bob@example.com": addressShape, "<bob@example.co.uk>,": addressShape, "@nasa": "", "a@b": "", "bob@": "",
		"https://example.org/x": linkShape, "(www.example.org)": linkShape,
		"8.8.8.8": machineShape, "8.8.8.8?": machineShape, "1.5": "", "3.14.15": "", "2001:db8::1": "",
		"+4917012345": numberShape, "+1": "", "+more": "", "2019-2024": "", "2026-01-31": "", "31-12-2026": "",
		"example.com": domainShape, "mail.example.ORG.": domainShape,
		"report.pdf": fileShape, "\"a/b.tar.gz\"": fileShape, "~/x.md": fileShape, ".go": "", "e.g": "", "end.": "", "and.then": "", "": "", "...": "", "😀.com": "",
	} {
		if got := shapeOf(piece); got != want {
			t.Errorf("%q is %q, want %q", piece, got, want)
		}
	}
}

// What something is by its shape speaks for the tools that speak of such.
func TestAShapeSpeaksForTools(t *testing.T) {
	t.Parallel()
	docs := []Doc{{Name: "email_verify"}, {Name: "ip_geolocate"}, {Name: "whois", Description: "Of a domain"}, {Name: "qr"}}
	x := NewIndex(docs)
	for message, want := range map[string]string{"does bob@exmaple.com exist": "email_verify", "where is 8.8.8.8": "ip_geolocate", "who owns example.com": "whois"} {
		hits := x.Rank(message, nil, 1)
		if len(hits) != 1 || docs[hits[0].Doc].Name != want || !slices.ContainsFunc(hits[0].Reasons, func(r Reason) bool { return len(r.Words) > 0 && r.Words[0][0] == '(' }) {
			t.Errorf("%q: %+v", message, hits)
		}
	}
	if hits := x.Rank("it weighs 1.5 tons. really", nil, 9); hits != nil {
		t.Errorf("a number speaks for %v", found(docs, hits))
	}
}
