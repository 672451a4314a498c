package command

import (
	"fmt"
	"strings"

	"github.com/goclaw/goclaw/internal/tool"
)

// Approve reads what stands behind /approve: an answer, allow_once when there
// is none, and the id of what is answered, empty when it isn't said. They may
// stand in any order.
func Approve(arg string) (answer tool.Answer, id string, err error) {
	answer = tool.AllowOnce
	said := false
	for _, word := range strings.Fields(arg) {
		if a, ok := AnswerOf(word); ok && !said {
			answer, said = a, true
			continue
		}
		if id != "" {
			return "", "", fmt.Errorf("%q is no answer: write once, always or no, and the id of what waits where several do", clip(word))
		}
		id = word
	}
	return answer, id, nil
}

// AnswerOf reads a word that a person answers an approval with.
func AnswerOf(word string) (answer tool.Answer, ok bool) {
	switch strings.ReplaceAll(strings.ToLower(word), "-", "_") {
	case "y", "yes", "once", "allow", "ok", string(tool.AllowOnce):
		return tool.AllowOnce, true
	case "a", "always", string(tool.AllowAlways):
		return tool.AllowAlways, true
	case "n", "no", string(tool.Deny):
		return tool.Deny, true
	}
	return "", false
}
