package text

import (
	"errors"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"
)

// placeable refuses an index at which setting a value would fill memory, and
// the search for a long array.
func placeable(v any) error {
	if n, ok := gojq.ToInt(v); ok && (n > maxParts || n < -maxParts) {
		return errors.New("an index is too large")
	}
	if list, ok := v.([]any); ok && len(list) > 1000 {
		return errors.New("too long an array to search for")
	}
	return nil
}

// check judges the input and the arguments of a function before it runs.
type check func(v any, args []any) error

// checks has the functions whose cost or result is more than linear in what
// they get, and operators of that kind.
var checks = map[string]check{
	"*":            checkTimes,
	"-":            func(_ any, args []any) error { return checkPairs(args[0], args[1]) },
	"contains":     func(v any, args []any) error { return checkPairs(v, args[0]) },
	"inside":       func(v any, args []any) error { return checkPairs(v, args[0]) },
	"index":        func(v any, args []any) error { return checkPairs(v, args[0]) },
	"rindex":       func(v any, args []any) error { return checkPairs(v, args[0]) },
	"indices":      func(v any, args []any) error { return checkPairs(v, args[0]) },
	"join":         checkJoin,
	"explode":      checkExplode,
	"split":        checkSplit,
	"transpose":    checkTranspose,
	"tonumber":     checkNumber,
	"setpath":      func(_ any, args []any) error { return checkPath(args[0]) },
	"getpath":      func(_ any, args []any) error { return checkPath(args[0]) },
	"nth":          func(_ any, args []any) error { return placeable(args[0]) },
	"match":        checkMatch,
	"capture":      checkMatch,
	"scan":         checkMatch,
	"splits":       checkMatch,
	"sub":          checkMatch,
	"gsub":         checkMatch,
	"test":         checkTest,
	"strftime":     checkFormat,
	"strptime":     checkFormat,
	"combinations": checkCombinations,

	"strflocaltime": checkFormat,
	"fromstream":    func(v any, _ []any) error { return checkEvent(v) },
}

// lazy names the functions with an argument that is a filter: that is not
// evaluated for the check. The value is how many arguments come before it.
var lazy = map[string]int{"sub": 1, "gsub": 1, "nth": 1, "combinations": 0}

func checkTimes(_ any, args []any) error {
	for i, v := range args {
		text, ok := v.(string)
		if !ok {
			continue
		}
		if n, ok := gojq.ToFloat64(args[1-i]); ok && n*float64(len(text)) > maxTextBytes {
			return errLarge
		}
	}
	return nil
}

// checkPairs bounds what compares each part of one value with each of another.
func checkPairs(a, b any) error {
	m, n := elements(a), elements(b)
	if m > 1 && n > 1 && m*n > maxPairs {
		return fmt.Errorf("comparing %d with %d elements takes too long; use an object as an index, or group_by", m, n)
	}
	return nil
}

// elements counts what a comparison with v may look at. Texts compare fast.
func elements(v any) int {
	switch v := v.(type) {
	case []any, map[string]any:
		parts, bytes := 0, 0
		if measure(v, &parts, &bytes) != nil {
			return maxParts
		}
		return parts
	}
	return 1
}

func checkJoin(v any, args []any) error {
	list, _ := v.([]any)
	sep, _ := args[0].(string)
	if len(list)*len(sep) > maxTextBytes {
		return errLarge
	}
	return nil
}

func checkExplode(v any, _ []any) error {
	if text, ok := v.(string); ok && len(text) > maxParts {
		return errLarge
	}
	return nil
}

func checkSplit(v any, args []any) error {
	if len(args) > 1 {
		return checkMatch(v, args)
	}
	text, _ := v.(string)
	sep, _ := args[0].(string)
	if len(text) > maxParts && strings.Count(text, sep) > maxParts {
		return errLarge
	}
	return nil
}

func checkTranspose(v any, _ []any) error {
	rows, _ := v.([]any)
	longest := 0
	for _, row := range rows {
		if row, ok := row.([]any); ok {
			longest = max(longest, len(row))
		}
	}
	if len(rows)*longest > maxParts {
		return errLarge
	}
	return nil
}

func checkNumber(v any, _ []any) error {
	if text, ok := v.(string); ok && len(text) > maxNumberLen {
		return fmt.Errorf("a number has more than %d digits", maxNumberLen)
	}
	return nil
}

func checkPath(v any) error {
	path, _ := v.([]any)
	if len(path) > maxParts/1000 {
		return errors.New("a path is too long")
	}
	for _, step := range path {
		if err := placeable(step); err != nil {
			return err
		}
	}
	return nil
}

// checkEvent looks at the path of one event of a stream.
func checkEvent(v any) error {
	if event, ok := v.([]any); ok && len(event) > 0 {
		return checkPath(event[0])
	}
	return nil
}

// checkMatch bounds what may find many matches, each of which is an object.
func checkMatch(v any, args []any) error {
	if text, ok := v.(string); ok && len(text) > maxRegexpInput {
		return fmt.Errorf("the text has more than %d KiB; use the tool regex", maxRegexpInput>>10)
	}
	return checkTest(v, args)
}

// checkTest bounds the work of one match: instructions times bytes.
func checkTest(v any, args []any) error {
	text, _ := v.(string)
	pattern, _ := args[0].(string)
	if list, ok := args[0].([]any); ok && len(list) > 0 {
		pattern, _ = list[0].(string)
	}
	if len(pattern) > maxRegexp {
		return fmt.Errorf("the regular expression has more than %d bytes", maxRegexp)
	}
	if len(text) < 4096 {
		return nil
	}
	// A pattern that doesn't compile is an error of the function itself.
	if size, err := programSize(pattern); err == nil && size*len(text) > maxAtOnce {
		return errors.New("the text is too long for this regular expression; use the tool regex")
	}
	return nil
}

func checkFormat(_ any, args []any) error {
	if text, ok := args[0].(string); ok && len(text) > maxRegexp {
		return fmt.Errorf("the format has more than %d bytes", maxRegexp)
	}
	return nil
}

func checkCombinations(v any, _ []any) error {
	if list, ok := v.([]any); ok && len(list) > 1000 {
		return errors.New("more than 1000 arrays to combine")
	}
	return nil
}
