package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goclaw/goclaw/internal/config"
)

// Every command says which of the flags of all commands do something in it.
func TestEffectiveFlagsAreKnown(t *testing.T) {
	t.Parallel()
	root := (&app{Streams: Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}}).root()
	known := map[string]bool{}
	for _, c := range commands(root) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		known[path] = true
		if _, ok := effective[path]; !ok && !c.HasSubCommands() {
			t.Errorf("%s says nothing", path)
		}
	}
	for path, names := range effective {
		if !known[path] {
			t.Errorf("there is no command %s", path)
		}
		for _, name := range strings.Fields(names) {
			if root.PersistentFlags().Lookup(name) == nil {
				t.Errorf("%s: there is no flag --%s", path, name)
			}
		}
	}
}

func TestHelpShowsFlagsThatDoSomething(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"":               everywhere,
		"start":          "home json log-level quiet",
		"run":            everywhere,
		"version":        "json",
		"config":         "home json quiet",
		"config schema":  "",
		"users add":      "home role json log-level quiet",
		"sessions list":  "home agent role user json log-level quiet",
		"sessions":       "home agent session role user json log-level quiet",
		"completion zsh": "",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := &app{Streams: Streams{In: strings.NewReader(""), Out: &out, Err: &out}, env: config.Environ{}}
			if got := a.execute(t.Context(), append(strings.Fields(command), "--help")); got != 0 {
				t.Fatalf("exit status %d: %s", got, &out)
			}
			for name := range strings.FieldsSeq(everywhere) {
				shown := strings.Contains(out.String(), "\n      --"+name+" ")
				if should := strings.Contains(" "+want+" ", " "+name+" "); shown != should {
					t.Errorf("--%s is shown: %v", name, shown)
				}
			}
			if strings.Contains(out.String(), "Global Flags") != (want != "" && command != "") {
				t.Errorf("help is\n%s", &out)
			}
		})
	}
}
