// Package preset keeps calls that were worth writing down: saved queries of
// db_query and presets of other tools, each with its arguments. A person
// proposes one, an admin approves it; only approved ones are shown to models,
// in the descriptions of their tools and beside a failed call that they may
// replace. A preset gives no power: whoever uses it makes an ordinary call.
//
// A [Book] is shared by all agents of the process, lives as long as the
// gateway and has nothing to close. It reads what other processes changed
// within two seconds. Start reading at [Preset]; describe.go writes what models
// read.
package preset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goclaw/goclaw/internal/lib/recent"
	"github.com/goclaw/goclaw/internal/tool"
)

// Preset is a call that was written down. Tool and Name together are its
// identity.
type Preset struct {
	Tool        string          `json:"tool"`
	Name        string          `json:"name"`        // for people and models, at most 80 characters
	Description string          `json:"description"` // what it answers, in a sentence, at most 300 characters
	Args        json.RawMessage `json:"args"`        // an object, at most 8 KiB
	Author      string          `json:"author"`
	Created     time.Time       `json:"created"`
	ApprovedBy  string          `json:"approved_by,omitempty"` // empty while nobody has
	Approved    time.Time       `json:"approved,omitzero"`
}

const (
	maxName        = 80
	maxDescription = 300
	maxArgs        = 8 << 10
)

// Check says what is wrong with a preset that somebody proposes.
func (p Preset) Check() error {
	var object map[string]json.RawMessage
	switch {
	case !tool.ValidName(p.Tool):
		return fmt.Errorf("tool: %q is no name of a tool", p.Tool)
	case !oneLine(p.Name, maxName):
		return fmt.Errorf("name: give one line of 1 to %d characters", maxName)
	case p.Description != "" && !oneLine(p.Description, maxDescription):
		return fmt.Errorf("description: give one line of at most %d characters", maxDescription)
	case len(p.Args) > maxArgs:
		return fmt.Errorf("args: they have %d bytes, and may have %d", len(p.Args), maxArgs)
	case json.Unmarshal(p.Args, &object) != nil || object == nil:
		return errors.New("args: give a JSON object")
	}
	return nil
}

func oneLine(s string, most int) bool {
	return strings.TrimSpace(s) != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= most && !strings.ContainsFunc(s, unicode.IsControl)
}

// Datasource is the database that the preset asks; empty when it names none.
func (p Preset) Datasource() string { return datasource(p.Args) }

func datasource(args json.RawMessage) string {
	var in struct {
		Datasource string `json:"datasource"`
	}
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	return in.Datasource
}

var (
	// ErrUnknown says that there is no such preset.
	ErrUnknown = errors.New("there is no such preset")
	// ErrExists says that the tool has a preset of that name.
	ErrExists = errors.New("the tool has a preset of that name already")
	// ErrTooMany says that of one author [MaxWaiting] wait to be approved.
	ErrTooMany = fmt.Errorf("%d of your presets wait to be approved; no more can be added before", MaxWaiting)
)

// MaxWaiting bounds how many presets of one author wait to be approved.
const MaxWaiting = 50

// Store keeps presets. Implementations are safe for concurrent use.
type Store interface {
	// Presets lists all, in the order in which they were added.
	Presets(ctx context.Context) ([]Preset, error)
	// Add adds one, or returns [ErrExists], or [ErrTooMany].
	Add(ctx context.Context, p Preset) error
	// Approve notes who approved one, or returns [ErrUnknown]. One that is
	// approved stays as it is.
	Approve(ctx context.Context, toolName, name, by string, at time.Time) error
	// Remove removes one, or returns [ErrUnknown].
	Remove(ctx context.Context, toolName, name string) error
}

// freshFor is how old what a book knows may get.
const freshFor = 2 * time.Second

// Book gives quick access to the approved presets.
type Book struct {
	Store
	// Fits says why a preset can't be a call of its tool; nil takes all. It is set
	// before the book is used.
	Fits func(Preset) error

	approved *recent.Value[map[string]*Listing] // by tool
}

// NewBook makes a book on a store.
func NewBook(s Store, log *slog.Logger) *Book {
	return &Book{Store: s, approved: recent.New(freshFor, log, "presets", func(ctx context.Context) (map[string]*Listing, error) {
		all, err := s.Presets(ctx)
		if err != nil {
			return nil, err
		}
		approved := map[string][]Preset{}
		for _, p := range all {
			if p.ApprovedBy != "" {
				approved[p.Tool] = append(approved[p.Tool], p)
			}
		}
		lists := make(map[string]*Listing, len(approved))
		for name, of := range approved {
			lists[name] = list(of)
		}
		return lists, nil
	})}
}

// Approved lists the approved presets of each tool that has some. While they can't be read it is what was last known. A nil book has
// none. The answer must not be changed.
func (b *Book) Approved(ctx context.Context) map[string]*Listing {
	if b == nil {
		return nil
	}
	return b.approved.Get(ctx)
}

// Add adds a preset that its tool could be called with. The error is an
// [*UnfitError] for another one.
func (b *Book) Add(ctx context.Context, p Preset) error {
	if b.Fits != nil {
		if err := b.Fits(p); err != nil {
			return &UnfitError{p.Tool, err.Error()}
		}
	}
	return b.Store.Add(ctx, p)
}

// UnfitError says why a preset can't be a call of its tool.
type UnfitError struct{ Tool, Problem string }

func (e *UnfitError) Error() string { return "a preset of " + e.Tool + ": " + e.Problem }

// Approve approves a preset and makes it known at once.
func (b *Book) Approve(ctx context.Context, toolName, name, by string, at time.Time) error {
	defer b.approved.Forget()
	return b.Store.Approve(ctx, toolName, name, by, at)
}

// Remove removes a preset and has it gone at once.
func (b *Book) Remove(ctx context.Context, toolName, name string) error {
	defer b.approved.Forget()
	return b.Store.Remove(ctx, toolName, name)
}
