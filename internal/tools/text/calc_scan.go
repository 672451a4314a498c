package text

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	endToken tokenKind = iota
	numberToken
	nameToken
	signToken // an operator, a parenthesis or a comma
)

type token struct {
	kind  tokenKind
	text  string
	at    int  // position in characters, from 1
	tight bool // no white space before it
}

// spellings of operators that people write in other ways.
var spellings = map[string]string{"**": "^", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "=": "==", "≤": "<=", "≥": ">=", "≠": "!="}

// scan cuts an expression into tokens.
func scan(text string) ([]token, error) {
	var tokens []token
	at, tight := 1, false
	for len(text) > 0 {
		n, t := 0, token{at: at, tight: tight}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsSpace(r):
			text, tight = text[size:], false
			at++
			continue
		case r >= '0' && r <= '9' || r == '.':
			if n = numeral(text); n == 0 {
				return nil, &exprError{at, errors.New("a point without digits")}
			}
			t.kind = numberToken
		case unicode.IsLetter(r):
			n, t.kind = name(text), nameToken
		default:
			n, t.kind = size, signToken
			for _, op := range [...]string{"**", "<=", ">=", "==", "!="} {
				if strings.HasPrefix(text, op) {
					n = len(op)
				}
			}
			t.text = text[:n]
			if plain, ok := spellings[t.text]; ok {
				t.text = plain
			}
			if !strings.Contains(" + - * / % ^ ( ) , < > <= >= == != ", " "+t.text+" ") {
				digit := len(tokens) > 0 && tight && tokens[len(tokens)-1].kind == numberToken
				if digit && (t.text == "_" || t.text == "'" || t.text == "’") {
					return nil, &exprError{at, errors.New("write 1234 without separators between the digits")}
				}
				return nil, &exprError{at, fmt.Errorf("%q is no part of an expression", t.text)}
			}
		}
		if t.kind != signToken {
			t.text = text[:n]
		}
		tokens = append(tokens, t)
		at += utf8.RuneCountInString(text[:n])
		text, tight = text[n:], true
	}
	return append(tokens, token{at: at}), nil
}

// numeral gives the length of the number that text begins with: digits with a
// point and an exponent, as in 12, .5 and 1.2e-3.
func numeral(text string) int {
	i, digits := 0, 0
	for ; i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.' && !strings.Contains(text[:i], ".")); i++ {
		if text[i] != '.' {
			digits++
		}
	}
	if digits == 0 {
		return 0
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		j := i + 1
		if j < len(text) && (text[j] == '+' || text[j] == '-') {
			j++
		}
		for ; j < len(text) && text[j] >= '0' && text[j] <= '9'; j++ {
			i = j + 1
		}
	}
	return i
}

// name gives the length of the name that text begins with: letters, and digits
// when a parenthesis follows (log10(…) is a name, min20 in 3h5min20s isn't).
func name(text string) int {
	letters := len(text) - len(strings.TrimLeftFunc(text, unicode.IsLetter))
	digits := len(text) - len(strings.TrimLeft(text[letters:], "0123456789"))
	if digits > letters && strings.HasPrefix(strings.TrimSpace(text[digits:]), "(") {
		return digits
	}
	return letters
}
