package tool

import (
	"encoding/json"
	"slices"
)

// State is what earlier rounds left and may grow or shrink. It holds no
// authority: it is an input of Offer beside the scope. Tools change it by
// effects in their results, never directly.
type State struct {
	Plan  bool     `json:"plan,omitempty"`  // plan mode is on: write tools are refused
	Told  bool     `json:"told,omitempty"`  // the model was last told that plan mode is on
	Tools []string `json:"tools,omitempty"` // the session's tool list, in the order it was offered
	Added []string `json:"added,omitempty"` // tools that search_tools added in this run
	Used  []string `json:"used,omitempty"`  // tools that the previous turn used, or this one: see Picked

	// Picked is the run for which the list was last picked. What that turn used
	// so far is in Used then; before, Used is what the turn before used.
	Picked string `json:"picked,omitempty"`
	// Own is the list of that run when it has one of its own, as cron and SOP
	// runs do; Tools is then left as it was.
	Own []string `json:"own,omitempty"`
	// Meant are those of Tools that the last message which spoke for any picked, with
	// which one that speaks for none goes on.
	Meant []string `json:"meant,omitempty"`

	// Files holds the digest of each workspace file when the session last read
	// or wrote it, so that a write can see that the file changed meanwhile.
	Files []SeenFile `json:"files,omitempty"`

	// Presets are those that descriptions show of tools that have more than there
	// is room for, chosen when the list in Tools began.
	Presets []PresetChoice `json:"presets,omitempty"`

	// Dropped is how many messages the last request left out to fit the window,
	// Room what is left of the windows of models that found a request too long.
	Dropped int    `json:"dropped,omitempty"`
	Room    []Room `json:"room,omitempty"`
}

// PresetChoice names the presets that a tool's description shows, in order.
type PresetChoice struct {
	Tool  string   `json:"tool"`
	Names []string `json:"names"`
}

// Room is the largest request, in estimated tokens, that the session makes of
// Target (provider/model).
type Room struct {
	Target string `json:"target"`
	Tokens int    `json:"tokens"`
}

// maxRooms is of how many targets a session remembers that.
const maxRooms = 8

// RoomFor is the room that target has; 0 when no request was too long for it.
func (s State) RoomFor(target string) int {
	for _, r := range s.Room {
		if r.Target == target {
			return r.Tokens
		}
	}
	return 0
}

// WithRoom is s with another room for target.
func (s State) WithRoom(target string, tokens int) State {
	rest := slices.DeleteFunc(slices.Clone(s.Room), func(r Room) bool { return r.Target == target })
	s.Room = append(rest[max(len(rest)-maxRooms+1, 0):], Room{target, tokens})
	return s
}

// SeenFile is a file as the session knows it. The list is ordered by when the
// file was last seen, oldest first, and holds at most maxSeenFiles.
type SeenFile struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

const maxSeenFiles = 500

// EffectKind tells the variants of an [Effect] apart.
type EffectKind string

const (
	// FileSeen: the file Key had the digest Value when it was read or written;
	// an empty Value forgets it.
	FileSeen EffectKind = "file_seen"
	// PlanMode: Value "on" or "off".
	PlanMode EffectKind = "plan_mode"
	// ToolAdded: the tool Key is offered from the next round of this run on.
	ToolAdded EffectKind = "tool_added"
	// Undoable: calling the inverse tool Key with Args undoes what was done.
	Undoable EffectKind = "undoable"
	// Attached: the blob Key goes out with the answer.
	Attached EffectKind = "attached"
)

// Effect is a change that a result asks for; it is stored with the result and
// applied when the round is settled.
type Effect struct {
	Kind  EffectKind      `json:"kind"`
	Key   string          `json:"key,omitempty"`
	Value string          `json:"value,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
}

// Apply returns s changed by effects, in order. s itself stays as it is.
func (s State) Apply(effects ...Effect) State {
	own := false // s.Files is a copy that may be changed
	for _, e := range effects {
		switch e.Kind {
		case FileSeen:
			if !own {
				s.Files, own = append(make([]SeenFile, 0, len(s.Files)+len(effects)), s.Files...), true
			}
			s.Files = slices.DeleteFunc(s.Files, func(f SeenFile) bool { return f.Path == e.Key })
			if e.Value != "" {
				s.Files = append(s.Files, SeenFile{Path: e.Key, Digest: e.Value})
			}
			if len(s.Files) > maxSeenFiles {
				s.Files = s.Files[len(s.Files)-maxSeenFiles:]
			}
		case PlanMode:
			s.Plan = e.Value == "on"
		case ToolAdded:
			if !slices.Contains(s.Added, e.Key) {
				s.Added = append(slices.Clone(s.Added), e.Key)
			}
		}
	}
	return s
}

// Listing is s with the session's list of tools, and what belongs to it, as t has
// them.
func (s State) Listing(t State) State {
	s.Tools, s.Added, s.Used, s.Picked, s.Own, s.Meant, s.Presets = t.Tools, t.Added, t.Used, t.Picked, t.Own, t.Meant, t.Presets
	return s
}

// Coalesce is effects without those that later ones of them make void, which a
// call collects that makes many calls of its own. Of files no more are told as
// seen than a state keeps, the latest.
func Coalesce(effects []Effect) []Effect {
	type what struct {
		kind EffectKind
		key  string
	}
	void := make([]bool, len(effects))
	last, first, files := map[what]bool{}, map[what]int{}, 0
	for i, e := range slices.Backward(effects) {
		w := what{e.Kind, e.Key}
		switch e.Kind {
		case FileSeen, PlanMode:
			if e.Kind == FileSeen && !last[w] && e.Value != "" {
				files++
			}
			void[i] = last[w] || e.Kind == FileSeen && e.Value != "" && files > maxSeenFiles
			last[w] = true
		case ToolAdded:
			if later, ok := first[w]; ok {
				void[later] = true
			}
			first[w] = i
		}
	}
	var rest []Effect
	for i, e := range effects {
		if !void[i] {
			rest = append(rest, e)
		}
	}
	return rest
}

// maxUsed bounds how many tools of a turn are remembered: a script may call
// hundreds. The next turn most likely goes on with the last ones.
const maxUsed = 24

// Using is s in which the present turn has used a tool, as the last.
func (s State) Using(name string) State {
	if n := len(s.Used); n > 0 && s.Used[n-1] == name {
		return s
	}
	used := slices.DeleteFunc(slices.Clone(s.Used), func(u string) bool { return u == name })
	used = append(used, name)
	s.Used = used[max(len(used)-maxUsed, 0):]
	return s
}

// Digest is the digest of the file at path when the session last saw it.
func (s State) Digest(path string) (string, bool) {
	for _, f := range s.Files {
		if f.Path == path {
			return f.Digest, true
		}
	}
	return "", false
}

// Equal reports whether s and t are the same.
func (s State) Equal(t State) bool {
	return s.Plan == t.Plan && s.Told == t.Told && slices.Equal(s.Tools, t.Tools) && slices.Equal(s.Added, t.Added) &&
		slices.Equal(s.Used, t.Used) && s.Picked == t.Picked && slices.Equal(s.Own, t.Own) && slices.Equal(s.Meant, t.Meant) && slices.Equal(s.Files, t.Files) && s.Dropped == t.Dropped && slices.Equal(s.Room, t.Room) &&
		slices.EqualFunc(s.Presets, t.Presets, func(a, b PresetChoice) bool { return a.Tool == b.Tool && slices.Equal(a.Names, b.Names) })
}
