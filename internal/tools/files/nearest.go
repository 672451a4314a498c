package files

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxScanned = 50_000 // lines in which something similar is looked for
	maxShown   = 8      // lines that a message shows
	maxColumn  = 160    // characters of a line that a message shows
	alike      = 0.5    // how similar two lines are that are shown as a pair
)

// nearest finds the place in lines that is most like want. It returns the index
// of its first line, or −1 when nothing is like it.
func nearest(lines, want []string) int {
	lines = lines[:min(len(lines), maxScanned)]
	// Each line that is the same but for blanks votes for where want begins.
	at := map[string][]int{}
	for i, w := range want {
		if key := loose(w); len(key) > 2 {
			at[key] = append(at[key], i)
		}
	}
	votes, best := map[int]int{}, -1
	for j, line := range lines {
		for _, i := range at[loose(line)] {
			if start := j - i; start >= 0 {
				votes[start]++
				if best < 0 || votes[start] > votes[best] || votes[start] == votes[best] && start < best {
					best = start
				}
			}
		}
	}
	if best >= 0 {
		return best
	}
	return mostAlike(lines, want)
}

// mostAlike goes by the longest line of want alone.
func mostAlike(lines, want []string) int {
	longest := 0
	for i := range want {
		if len(want[i]) > len(want[longest]) {
			longest = i
		}
	}
	if len(want) == 0 {
		return -1
	}
	grams := gramsOf(want[longest])
	best, most := -1, alike
	for j, line := range lines {
		if s := grams.similar(line); s > most {
			best, most = j, s
		}
	}
	if best < 0 {
		return -1
	}
	return max(best-longest, 0)
}

// grams counts the pairs of letters of a line.
type grams map[[2]rune]int

func gramsOf(line string) grams {
	g := grams{}
	eachGram(line, func(p [2]rune) { g[p]++ })
	return g
}

func eachGram(line string, f func([2]rune)) {
	if len(line) > 2_000 {
		line = line[:2_000]
	}
	var last rune
	for _, r := range loose(line) {
		if last != 0 {
			f([2]rune{last, r})
		}
		last = r
	}
}

// similar is the share of pairs that both lines have (Dice's coefficient).
func (g grams) similar(line string) float64 {
	var both, all int
	used := grams{}
	eachGram(line, func(p [2]rune) {
		all++
		if used[p] < g[p] {
			used[p]++
			both++
		}
	})
	for _, n := range g {
		all += n
	}
	if all == 0 {
		return 0
	}
	return 2 * float64(both) / float64(all)
}

// loose is a line without the blanks at its ends, in lower case, with plain
// quotes and dashes.
func loose(line string) string { return strings.ToLower(strings.TrimSpace(plainQuotes(line))) }

// explain says for a model which place of lines is most like want, shows it,
// and why it is not the same.
func explain(lines, want []string) string {
	at := nearest(lines, want)
	if at < 0 {
		return "Nothing in the file is like it"
	}
	end := min(at+len(want), len(lines))
	var b strings.Builder
	fmt.Fprintf(&b, "The nearest place is line %d", at+1)
	if end > at+1 {
		b.Reset()
		fmt.Fprintf(&b, "The nearest place is lines %d to %d", at+1, end)
	}
	first := 0
	for first < len(want) && at+first < end && chomp(lines[at+first]) == chomp(want[first]) {
		first++
	}
	ending := slices.IndexFunc(want[:first], func(line string) bool { return strings.HasSuffix(line, "\n") && !strings.HasSuffix(line, "\r\n") })
	switch {
	case first == len(want) && ending >= 0 && strings.HasSuffix(lines[at+ending], "\r\n"):
		fmt.Fprintf(&b, "; line %d ends in \\r\\n there, not in \\n as other lines of the file do: write it so, or edit line by line", at+ending+1)
	case first == len(want):
		b.WriteString("; it differs at the very end (a line ending or a part of a line)")
	case at+first == end:
		b.WriteString("; the file ends there")
	default:
		fmt.Fprintf(&b, "; line %d differs: %s", at+first+1, difference(chomp(lines[at+first]), chomp(want[first])))
	}
	b.WriteString(":\n")
	from := at
	if first >= maxShown {
		from = at + first - maxShown/2
	}
	for i := from; i < min(end, from+maxShown); i++ {
		fmt.Fprintf(&b, "%d\t%s\n", i+1, cutLine(chomp(lines[i]), 0, maxColumn))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// difference says in a few words how a line of the file differs from what was
// expected.
func difference(have, want string) string {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	h, w := squeeze(have), squeeze(want)
	switch {
	case h == w:
		return blanks(have, want)
	case strings.ReplaceAll(h, " ", "") == strings.ReplaceAll(w, " ", ""):
		return "blanks within the line"
	case norm.NFC.String(have) == norm.NFC.String(want):
		return "letters with accents are stored in another Unicode form; copy them from what reading the file shows"
	case plainQuotes(have) == plainQuotes(want):
		return "typographic quotes or dashes: " + firstStrange(have, want)
	case visibleOnly(have) == visibleOnly(want):
		return "an invisible character: " + firstStrange(have, want)
	case strings.EqualFold(have, want):
		return "capital and small letters"
	}
	return "the text"
}

func blanks(have, want string) string {
	indent := func(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }
	if h, w := indent(have), indent(want); h != w {
		return fmt.Sprintf("the file indents it by %s, not by %s", spell(h), spell(w))
	}
	if strings.TrimRight(have, " \t") != have || strings.TrimRight(want, " \t") != want {
		return "blanks at the end of the line"
	}
	return "tabs or blanks within the line"
}

// spell names a run of blanks.
func spell(s string) string {
	tabs, spaces := strings.Count(s, "\t"), strings.Count(s, " ")
	switch {
	case s == "":
		return "nothing"
	case spaces == 0:
		return count(tabs, "tab")
	case tabs == 0:
		return count(spaces, "blank")
	}
	return count(tabs, "tab") + " and " + count(spaces, "blank")
}

var quotes = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‘", "'", "’", "'", "–", "-", "—", "-", "−", "-", "…", "...", "\u00a0", " ")

func plainQuotes(s string) string { return quotes.Replace(s) }

func visibleOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// firstStrange names the first character at which the lines part.
func firstStrange(have, want string) string {
	h, w := []rune(have), []rune(want)
	i := 0
	for i < len(h) && i < len(w) && h[i] == w[i] {
		i++
	}
	name := func(s []rune) string {
		if i >= len(s) {
			return "nothing"
		}
		return fmt.Sprintf("U+%04X", s[i])
	}
	return fmt.Sprintf("the file has %s at column %d, not %s", name(h), i+1, name(w))
}

// chomp takes the line ending off a line.
func chomp(line string) string { return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") }

// cutLine shows at most most characters of a line, those around the byte at.
func cutLine(line string, at, most int) string {
	if len(line) <= most || utf8.RuneCountInString(line) <= most {
		return line
	}
	start := at
	for range most / 4 {
		_, n := utf8.DecodeLastRuneInString(line[:start])
		start -= n
	}
	end := start
	for range most {
		_, n := utf8.DecodeRuneInString(line[end:])
		end += n
	}
	s := line[start:end]
	if start > 0 {
		s = "…" + s
	}
	if end < len(line) {
		s += "…"
	}
	return s
}

// lineNumbers reports whether all lines begin with a number and a tab, as
// file_read writes them when it is asked for line numbers.
func lineNumbers(lines []string) bool {
	return len(lines) > 0 && !slices.ContainsFunc(lines, func(line string) bool {
		digits, _, ok := strings.Cut(line, "\t")
		digits = strings.TrimSpace(digits)
		return !ok || digits == "" || strings.Trim(digits, "0123456789") != ""
	})
}
