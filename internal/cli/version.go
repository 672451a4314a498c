package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the build (-X); without it the module's own version
// counts, which "go install module@version" knows.
var version string

// buildVersion is the version for people.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "development"
}

// versionLine is what people are shown of it.
func versionLine() string {
	return fmt.Sprintf("goclaw %s (%s, %s/%s)", buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{buildVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			return a.print(v, func(w io.Writer) error {
				_, err := fmt.Fprintln(w, versionLine())
				return err
			})
		},
	}
}
