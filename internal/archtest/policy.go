package archtest

import (
	"path"
	"strings"
)

const module = "github.com/goclaw/goclaw"

// policy is what the rules compare the source with.
type policy struct {
	// order has a line for every package. A package imports only packages of later lines; those of one line know
	// nothing of each other. A line may use * for one element of a folder's name and end with /** for all below.
	order [][]string
	// peers are rooms that know nothing of each other though their packages stand on different lines.
	peers [][]string
	// closed packages import nothing of ours but what stands here.
	closed []closed
	// importers says who may import what is put together in one place. The first line that matches counts.
	importers []importers
	// confined names packages, or names of packages, that only some rooms may use.
	confined []confined
	// goroutines lists the packages that start goroutines, each with who waits for them.
	goroutines map[string]string
	limits     limits
	// large has the reason for what exceeds a limit of size: a package ("internal/llm") for its exported names, a file
	// ("internal/llm/wire.go") for its lines, a function ("internal/llm.Wire" or "internal/llm.Wire.Read") for its.
	large map[string]string
}

type closed struct {
	dirs   []string
	only   []string
	reason string
}

type importers struct {
	dirs   []string
	by     []string
	tests  bool // whether tests are held to it
	reason string
}

type confined struct {
	path   string   // of the import; one that ends with /... names all below too
	names  []string // what of it is confined; none: importing it at all
	types  []string // those of names that may be spoken of as pointers, which makes nothing
	only   []string // the folders that may
	tests  bool     // whether tests are held to it
	reason string
}

// goclaw is the policy of this repository.
var goclaw = policy{
	order: [][]string{
		{"examples/*/goclaw"}, // builds with the example beside them
		{"cmd/*", "scripts/**", "examples/**"},
		{"."}, // goclaw.go
		{"internal/cli"},
		{"internal/cli/*"}, // the parts of the terminal chat

		// The gateway builds everything in one readable order; its parts don't know it, nor each other.
		{"internal/gateway"},
		{"internal/gateway/builtin", "internal/gateway/api", "internal/gateway/web", "internal/gateway/page", "internal/gateway/telemetry"},

		{"internal/store/sqlite", "internal/store/postgres", "internal/store/*"},
		{"internal/store"},
		{"internal/config"},

		{"internal/automation/sop", "internal/automation/cron", "internal/automation/webhook"},
		{"internal/automation/job"},

		// Ways to bring an owner in; what each owner brought is kept in host.
		{"internal/extend/bundle"},
		{"internal/extend/subprocess", "internal/extend/mcp", "internal/extend/node"},
		{"internal/extend/host"},

		{"plugin"},

		// The children implement what the loop declares, so they know it and it doesn't know them. run drives.
		{"internal/agent/subagent", "internal/agent/command"},
		{"internal/agent/run"},
		{"internal/agent/prompt"},
		{"internal/agent/memory", "internal/agent/skill", "internal/agent/budget"},
		{"internal/agent/session"},
		{"internal/agent"},

		{"internal/engine"},
		{"internal/engine/surface", "internal/engine/selection", "internal/engine/pool", "internal/engine/cache", "internal/engine/preset", "internal/engine/spill"},
		{"internal/engine/owner"},

		{"internal/provider/*", "internal/tools/*", "internal/channel/*"},
		{"internal/provider/openai/responses"},
		{"internal/provider", "internal/channel"},

		{"internal/hook/rule"},
		{"internal/hook"},
		{"internal/approval"},
		{
			"internal/guard/workspace", "internal/guard/process", "internal/guard/safehttp", "internal/guard/sqlguard",
			"internal/guard/shellguard", "internal/guard/htmlguard", "internal/guard/secret",
		},
		{"internal/blob"},
		{"internal/tool"},
		{"internal/llm/wire"},
		{"internal/llm", "internal/auth"},

		// docs embeds the manual. Fakes and this test are imported by tests alone and know nothing of ours.
		{"internal/lib/supervisor", "internal/lib/*", "docs", "internal/fakellm", "internal/archtest"},
	},

	peers: [][]string{
		{"internal/provider/**", "internal/tools/**", "internal/channel/**"},
	},

	closed: []closed{
		{
			dirs:   []string{"internal/agent"},
			only:   []string{"internal/llm", "internal/tool", "internal/lib/*"},
			reason: "the loop declares the interfaces it needs and stays on one screen",
		},
		{
			dirs:   []string{"internal/tool"},
			only:   []string{"internal/llm", "internal/auth", "internal/lib/*"},
			reason: "the contract of tools speaks of models and callers and of nothing that acts",
		},
		{
			dirs:   []string{"internal/llm", "internal/auth", "internal/lib/*", "docs", "internal/fakellm", "internal/archtest"},
			reason: "what everything may use uses nothing of ours",
		},
	},

	importers: []importers{
		{
			dirs: []string{"internal/cli"}, by: []string{"."}, tests: true,
			reason: "a build with plugins of one's own calls goclaw.Main and gets the same commands",
		},
		{
			dirs: []string{"internal/gateway"}, by: []string{"internal/cli"}, tests: true,
			reason: "the gateway is built, opened and closed by a command",
		},
		{
			dirs: []string{"internal/gateway/*"}, by: []string{"internal/gateway", "internal/cli"}, tests: true,
			reason: "the gateway is built, opened and closed by a command",
		},
		{
			dirs: []string{"internal/config"}, by: []string{"internal/gateway", "internal/gateway/*", "internal/cli"}, tests: true,
			reason: "rooms get their settings as values; where those come from is the gateway's matter",
		},
		{
			dirs: []string{"internal/store/*", "internal/tools/*", "internal/provider/demo"}, by: []string{"internal/gateway/builtin"},
			reason: "what is compiled in is one list; tests use real stores, tools and the scripted model rather than mocks",
		},
		{
			dirs: []string{"internal/provider/*", "internal/channel/*"}, by: []string{"internal/gateway/builtin"}, tests: true,
			reason: "what is compiled in is one list; a test that links a vendor's SDK takes a minute to build",
		},
	},

	confined: []confined{
		// Vendors.
		{
			path: "github.com/openai/openai-go/...", only: []string{"internal/provider/openai/**"},
			reason: "a vendor's types end at the package that translates them; a test may be a client of ours by them",
		},
		vendor("github.com/anthropics/anthropic-sdk-go/...", "internal/provider/anthropic"),
		vendor("google.golang.org/genai/...", "internal/provider/gemini"),
		vendor("github.com/ollama/ollama/...", "internal/provider/ollama"),
		vendor("github.com/go-telegram/bot/...", "internal/channel/telegram"),
		vendor("github.com/slack-go/slack/...", "internal/channel/slack"),
		vendor("github.com/bwmarrin/discordgo/...", "internal/channel/discord"),
		vendor("github.com/modelcontextprotocol/go-sdk/...", "internal/extend/mcp"),

		// Databases.
		driver("modernc.org/sqlite/..."),
		driver("github.com/jackc/pgx/..."),
		driver("github.com/go-sql-driver/mysql/..."),
		driver("github.com/pressly/goose/..."),

		// The code of whoever brought a tool.
		{
			path: module + "/internal/tool", names: []string{"Toucher", "Binder", "Stamper"}, only: []string{"internal/engine/owner", "plugin"},
			reason: "code of a plugin may hang or panic where it is asked, so it is asked in one place, fenced and with a time limit",
		},

		// The network.
		{
			path: "net/http", names: []string{"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"},
			types: []string{"Client", "Transport"}, only: []string{"internal/guard/safehttp", "scripts/load"}, reason: dialing,
		},
		{
			path: "net", names: []string{"Dial", "DialTimeout", "DialIP", "DialTCP", "DialUDP", "DialUnix", "Dialer"},
			types: []string{"Dialer"}, only: []string{"internal/guard/safehttp"}, reason: dialing,
		},
		{
			path: "crypto/tls", names: []string{"Dial", "DialWithDialer", "Dialer"},
			types: []string{"Dialer"}, only: []string{"internal/guard/safehttp"}, reason: dialing,
		},
		{
			path: "net/http/httputil", names: []string{"ReverseProxy", "NewSingleHostReverseProxy"},
			only: []string{"internal/guard/safehttp"}, reason: dialing,
		},
		{path: "net/smtp", only: []string{"internal/guard/safehttp"}, reason: dialing},
		{path: "net/rpc/...", only: []string{"internal/guard/safehttp"}, reason: dialing},
		{path: "github.com/coder/websocket", names: []string{"Dial"}, only: []string{"internal/guard/safehttp"}, reason: dialing},
		{path: "code.dny.dev/ssrf/...", only: []string{"internal/guard/safehttp"}, reason: dialing},

		// The process and what surrounds it.
		{
			path: "os", names: []string{
				"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv",
				"UserHomeDir", "UserConfigDir", "UserCacheDir",
			},
			only: []string{"internal/config"}, reason: environment,
		},
		{path: "syscall", names: []string{"Getenv", "Environ", "Setenv", "Unsetenv", "Clearenv"}, only: []string{"internal/config"}, reason: environment},
		{
			path: "os/exec", names: []string{"Command", "CommandContext", "Cmd"}, types: []string{"Cmd"},
			only: []string{"internal/guard/process", "scripts/**"}, reason: starting,
		},
		{path: "os", names: []string{"StartProcess"}, only: []string{"internal/guard/process"}, reason: starting},
		{path: "syscall", names: []string{"Exec", "ForkExec", "StartProcess"}, only: []string{"internal/guard/process"}, reason: starting},
		{
			path: "os", names: []string{"Exit"}, only: []string{"cmd/*", "scripts/**", "examples/**"},
			reason: "Main returns the exit status, so that everything that was opened is closed before",
		},
		{path: "html/template", only: []string{"scripts/**"}, reason: templates},
		{path: "text/template", only: []string{"scripts/**"}, reason: templates},
		{
			path: "log", tests: true,
			reason: "log/slog only: messages have attributes and a level",
		},

		// Authority.
		{
			path: module + "/internal/tool", names: []string{"NewScope"}, only: []string{"internal/agent/run"},
			reason: "a scope is authority; where it is minted must be one place",
		},

		// Test libraries.
		testLibrary("testing/..."),
		testLibrary("net/http/httptest"),
		testLibrary("github.com/google/go-cmp/..."),
		// Its package diff, which imports nothing, also serves the program.
		testLibrary("github.com/rogpeppe/go-internal/testscript/..."),
		testLibrary("github.com/rogpeppe/go-internal/txtar/..."),
		testLibrary("go.uber.org/goleak/..."),
		testLibrary("pgregory.net/rapid/..."),
		// Of the wire only its tests know; see docs/dependencies.md.
	},

	goroutines: map[string]string{
		"scripts/load":            "the model server and the clients of a measurement, which waits for them",
		"internal/approval":       "looks for answers of other processes while calls wait; the last one that waited ends it and waits for it",
		"internal/agent/run":      "drives each run past its viewers; Close stops the runs and waits",
		"internal/gateway":        "serving and tidying, by lib/supervisor; Serve waits for both",
		"internal/engine":         "the timer of a call's time limit; it only ends a context and is stopped with the call",
		"internal/engine/pool":    "the workers; Close waits for them",
		"internal/cli/follow":     "reads the events of runs for a screen; end with the context that they were started with, and are waited for",
		"internal/cli/term":       "reads the terminal; nobody can call that read off, so it ends with the process",
		"internal/cli":            "Ctrl-C: the function is withdrawn, or has stopped the run, before the command ends; a read of a terminal that it gave up ends with the process; what hands on the events of a run, or of a call, while its person is asked, ends with it",
		"internal/gateway/api":    "the timer that asks whether an open request's token still holds, and what brings a stream its events; the request ends them and waits",
		"internal/tools/code":     "the calls of a script and who watches its process, which its call waits for; and the script itself, whose process ends with it",
		"internal/provider":       "the timer of a model call's time-outs; it only ends a context and is stopped with the call; questions about a list of models, which who asks waits for",
		"internal/hook":           "tells observers what happened; Close waits for them",
		"internal/lib/contain":    "code that may hang; who calls waits for it, or leaves it behind its fence, which Wait waits for",
		"internal/lib/supervisor": "starts what others own and waits for it",
	},

	limits: limits{exported: 30, function: 80, file: 600},
	large: map[string]string{
		"internal/config":             "the settings, a type for each group of keys, so that one tree shows them all",
		"internal/agent/session":      "what the stores keep of a conversation and what is asked of it, in one vocabulary",
		"internal/agent":              "the loop's interfaces, what passes between them, and the events that every front end reads",
		"internal/llm":                "a vocabulary: the types that every provider translates, together so that they are read together",
		"internal/llm/wire":           "what five wires have in common, each name in place of five copies of it",
		"internal/cli/term":           "the keys of a keyboard and what they mean, each by its name",
		"internal/gateway/api":        "the types on the wire, from which the document and the pages' types are made",
		"internal/gateway/api.routes": "the interface as one table, to be read from top to bottom",
		"internal/provider":           "what asks models, and the tables of providers, models and what vendors take, which their packages read",
		"plugin":                      "what plugins are given, flat in one place, since none of them may import an inner package",
		"internal/engine/selection":   "the pick, the index, the semantic channel and the measuring: they share what a hit is, and each is of no use alone",
		"internal/tool":               "a vocabulary: the contract that every tool and every part of the engine speaks",
	},
}

const (
	dialing     = "addresses are checked where a connection is made, and nowhere else can it be checked for good"
	environment = "every value has one place where it was read and can say which"
	templates   = "a template looks methods up by name, so that the linker keeps every exported method there is: 5 MB"
	starting    = "a child process gets a chosen environment, a group of its own and an end"
)

func vendor(importPath, dir string) confined {
	return confined{
		path: importPath, only: []string{dir}, tests: true,
		reason: "a vendor's types end at the package that translates them",
	}
}

func driver(importPath string) confined {
	return confined{
		path: importPath, only: []string{"internal/store/*", "internal/tools/data"}, tests: true,
		reason: "rooms declare what they store; only a store knows the database",
	}
}

func testLibrary(importPath string) confined {
	return confined{
		path: importPath, only: []string{"scripts/**"},
		reason: "the program carries no test code",
	}
}

// support reports whether dir is test support: a fake, this package, or a suite named after the package beside which it
// stands, such as internal/tool/tooltest.
func support(dir string) bool {
	return dir == "internal/fakellm" || dir == "internal/archtest" || path.Base(dir) == path.Base(path.Dir(dir))+"test"
}

// subject is the package that a suite of test support serves, and dir itself for all other packages.
func subject(dir string) string {
	if support(dir) && strings.HasSuffix(dir, "test") && dir != "internal/archtest" {
		return path.Dir(dir)
	}
	return dir
}

// line is the number of dir's line in the order. A suite stands with its subject.
func (p *policy) line(dir string) (int, bool) {
	dir = subject(dir)
	for exact := range 2 {
		for i, line := range p.order {
			for _, pattern := range line {
				if pattern == dir || exact == 1 && matches(pattern, dir) {
					return i, true
				}
			}
		}
	}
	return 0, false
}
