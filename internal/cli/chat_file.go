package cli

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// shownFiles is how many files are offered for a name.
	shownFiles = 20
	// filesWithin is how long looking for them may take: nothing is painted
	// meanwhile.
	filesWithin = 500 * time.Millisecond
)

// completeFile offers files of the agent's workspace for a word that begins
// with @ and may be any part of a path; in quotes it may have spaces. A file
// stands in the message as its plain path, as the tools take it; a folder keeps
// the @, so that what is in it can be offered next.
func (c *chat) completeFile(ctx context.Context, before string) (from int, list [][2]string, ok bool) {
	from, query, ok := mentioned(before)
	if !ok {
		return 0, nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, filesWithin)
	defer cancel()
	found, err := c.g.Files(ctx, c.message(""), query, shownFiles)
	if err != nil {
		return 0, nil, false // what can't be found out now is not offered
	}
	for _, f := range found.Files {
		switch path := f.Path + "/"; {
		case !f.Folder:
			list = append(list, [2]string{written(f.Path)})
		case path == query:
			list = append(list, [2]string{written(path), "this folder"})
		default:
			list = append(list, [2]string{"@" + strings.TrimSuffix(written(path), `"`), "folder"})
		}
	}
	return from, list, true
}

// mentioned finds the file that is named at the end of a text: where its word
// begins, and what is written of its path.
func mentioned(before string) (from int, query string, ok bool) {
	line := before[strings.LastIndexByte(before, '\n')+1:]
	begins := func(at int) bool { return at == 0 || strings.ContainsRune(" \t([{\"'`", rune(line[at-1])) }
	at := strings.LastIndex(line, `@"`)
	if at >= 0 && begins(at) && !strings.Contains(line[at+2:], `"`) {
		return len(before) - len(line) + at, line[at+2:], true
	}
	at = strings.LastIndexByte(line, '@')
	if at < 0 || !begins(at) || strings.ContainsFunc(line[at:], func(r rune) bool { return unicode.IsSpace(r) || r == '"' }) {
		return 0, "", false
	}
	return len(before) - len(line) + at, line[at+1:], true
}

// written is a path as it stands in a message: in quotes where it would not end
// with the word.
func written(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("\"'`", r) }) {
		return strconv.Quote(path)
	}
	return path
}
