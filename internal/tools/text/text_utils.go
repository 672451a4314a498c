package text

import (
	"context"
	"crypto/md5" //nolint:gosec // as a checksum that people ask for, not for security
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"github.com/goclaw/goclaw/internal/lib/nearest"
	"github.com/goclaw/goclaw/internal/tool"
)

//go:embed text_utils.md
var textUtilsDoc string

type textUtilsIn struct {
	Op   string `json:"op" enum:"count,upper,lower,title,trim,slug,sort_lines,unique_lines,reverse_lines,number_lines,reverse,base64_encode,base64_decode,url_encode,url_decode,hex_encode,hex_decode,html_escape,html_unescape,json_escape,json_unescape,sha256,md5,nfc"`
	Text string `json:"text"`
}

// An operation makes a text of a text.
type operation func(string) (string, error)

// always is an operation that can't fail.
func always(f func(string) string) operation {
	return func(s string) (string, error) { return f(s), nil }
}

// operations has all of them by name. The tag of the parameter op lists the
// names too, for the schema; a test compares the two.
var operations = map[string]operation{
	"count":         always(count),
	"upper":         always(func(s string) string { return cases.Upper(language.Und).String(s) }),
	"lower":         always(func(s string) string { return cases.Lower(language.Und).String(s) }),
	"title":         always(func(s string) string { return cases.Title(language.Und).String(s) }),
	"trim":          always(strings.TrimSpace),
	"slug":          slug,
	"sort_lines":    lines(func(l []string) []string { slices.Sort(l); return l }),
	"unique_lines":  lines(uniqueLines),
	"reverse_lines": lines(func(l []string) []string { slices.Reverse(l); return l }),
	"number_lines":  lines(numberLines),
	"reverse":       always(reverse),
	"base64_encode": always(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
	"base64_decode": base64Decode,
	"url_encode":    always(url.QueryEscape),
	"url_decode":    url.QueryUnescape,
	"hex_encode":    always(func(s string) string { return hex.EncodeToString([]byte(s)) }),
	"hex_decode":    hexDecode,
	"html_escape":   always(html.EscapeString),
	"html_unescape": always(html.UnescapeString),
	"json_escape":   jsonEscape,
	"json_unescape": jsonUnescape,
	"sha256":        always(func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }),
	"md5":           always(func(s string) string { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }), //nolint:gosec // see above
	"nfc":           always(norm.NFC.String),
}

func textUtils() tool.Tool {
	return tool.New(definition("text_utils", textUtilsDoc), func(_ context.Context, _ tool.Call, in textUtilsIn) (string, error) {
		op, ok := operations[in.Op]
		if !ok {
			var names []string
			for name := range operations {
				names = append(names, name)
			}
			slices.Sort(names)
			if near := nearest.Names(in.Op, names, 3); len(near) > 0 {
				return "", fmt.Errorf("unknown op %q; did you mean %s?", in.Op, strings.Join(near, ", "))
			}
			return "", fmt.Errorf("unknown op %q; there are %s", in.Op, strings.Join(names, ", "))
		}
		text, err := op(in.Text)
		if err != nil {
			return "", fmt.Errorf("%s: %w", in.Op, err)
		}
		return text, nil
	})
}

// count tells the sizes of a text. Characters are those that a person sees
// (grapheme clusters); words are runs between white space; a last line without
// a line break counts.
func count(s string) string {
	lines := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		lines++
	}
	points, chars := utf8.RuneCountInString(s), uniseg.GraphemeClusterCount(s)
	text := fmt.Sprintf("characters %d, words %d, lines %d, bytes %d", chars, len(strings.Fields(s)), lines, len(s))
	if points != chars {
		text += fmt.Sprintf(", code points %d", points)
	}
	return text
}

// lines applies f to the lines of a text. Line breaks stay what they were
// (\n or \r\n), and so does one at the end.
func lines(f func([]string) []string) operation {
	return func(s string) (string, error) {
		if s == "" {
			return "", nil
		}
		eol := "\n"
		if strings.Contains(s, "\r\n") {
			eol = "\r\n"
		}
		body, ended := strings.CutSuffix(s, eol)
		body = strings.Join(f(strings.Split(body, eol)), eol)
		if ended {
			body += eol
		}
		return body, nil
	}
}

// uniqueLines keeps the first of equal lines, wherever they stand.
func uniqueLines(list []string) []string {
	seen := make(map[string]bool, len(list))
	return slices.DeleteFunc(list, func(line string) bool {
		was := seen[line]
		seen[line] = true
		return was
	})
}

func numberLines(list []string) []string {
	width := len(fmt.Sprint(len(list)))
	for i, line := range list {
		list[i] = fmt.Sprintf("%*d  %s", width, i+1, line)
	}
	return list
}

// reverse turns a text around, keeping what a person sees as one character.
func reverse(s string) string { return uniseg.ReverseString(s) }

// slug makes a name for a URL or a file: a-z, 0-9 and single hyphens. Accents
// are dropped; what has no Latin letter is dropped too.
func slug(s string) (string, error) {
	plain, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), s)
	if err != nil {
		return "", err
	}
	// Letters that don't decompose.
	plain = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "ł", "l", "đ", "d", "þ", "th", "ð", "d", "ı", "i").
		Replace(strings.ToLower(plain))
	var b strings.Builder
	for _, r := range plain {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '\'' || r == '’':
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	text := strings.TrimSuffix(b.String(), "-")
	if text == "" && s != "" {
		return "", errors.New("nothing in it is a Latin letter or a digit")
	}
	return text, nil
}

var errNotText = errors.New("the decoded bytes are not text (invalid UTF-8)")

// base64Decode takes the standard and the URL alphabet, with or without
// padding and line breaks.
func base64Decode(s string) (string, error) {
	plain := strings.NewReplacer("-", "+", "_", "/", "\r", "", "\n", "", " ", "", "\t", "").Replace(s)
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(plain, "="))
	if err != nil {
		return "", err
	}
	return asText(raw)
}

func hexDecode(s string) (string, error) {
	plain := strings.NewReplacer("\r", "", "\n", "", " ", "", "\t", "", ":", "").Replace(strings.TrimPrefix(strings.TrimSpace(s), "0x"))
	raw, err := hex.DecodeString(plain)
	if err != nil {
		return "", err
	}
	return asText(raw)
}

func asText(raw []byte) (string, error) {
	if !utf8.Valid(raw) {
		return "", errNotText
	}
	return string(raw), nil
}

// jsonEscape gives the text as a JSON string, quotes included.
func jsonEscape(s string) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// jsonUnescape reads a JSON string, with or without its quotes.
func jsonUnescape(s string) (string, error) {
	text := strings.TrimSpace(s)
	if !strings.HasPrefix(text, `"`) {
		text = `"` + text + `"`
	}
	var out string
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return "", err
	}
	return out, nil
}
