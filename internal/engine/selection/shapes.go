package selection

import (
	"net/netip"
	"strings"
	"unicode"
)

// The words for what a piece of a message is, told by its shape.
const (
	addressShape = "email"
	linkShape    = "url"
	machineShape = "ip"
	numberShape  = "phone"
	domainShape  = "domain"
	fileShape    = "file"
)

// shapeOf is what a piece without blanks is by its shape: an e-mail address, a
// link, a machine's address, a phone number, a domain or a file. It is empty for
// a mere word.
func shapeOf(piece string) string {
	if !strings.ContainsAny(piece, shapely) {
		return ""
	}
	piece = strings.TrimFunc(piece, func(c rune) bool {
		return c != '+' && c != '/' && c != '~' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	at, dot := strings.IndexByte(piece, '@'), strings.LastIndexByte(piece, '.')
	switch {
	case strings.HasPrefix(piece, "http://"), strings.HasPrefix(piece, "https://"), strings.HasPrefix(piece, "www."):
		return linkShape
	case at > 0 && dot > at+1 && dot < len(piece)-2:
		return addressShape
	case strings.HasPrefix(piece, "+") && digits(piece[1:]) && len(piece) > 7:
		return numberShape
	case dot <= 0 || dot == len(piece)-1:
		return ""
	}
	if _, err := netip.ParseAddr(piece); err == nil {
		return machineShape
	}
	switch end := strings.ToLower(piece[dot+1:]); {
	case strings.Contains(domainEnds, " "+end+" "):
		return domainShape
	case strings.Contains(fileEnds, " "+end+" "):
		return fileShape
	}
	return ""
}

// shapely are characters one of which is in whatever has a shape.
const shapely = ".+@-:"

// Common ends of domains and of files. What both have counts as a file's.
const (
	domainEnds = " com org net io dev app ai co eu de uk fr es it nl ch at us gov edu info "
	fileEnds   = " txt md pdf doc docx odt xls xlsx ods ppt pptx csv tsv json yaml yml xml html htm log png jpg jpeg gif svg webp zip tar gz go py js ts java c h cpp rs rb php sh sql ini toml conf "
)

func digits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c < '0' || c > '9' })
}
