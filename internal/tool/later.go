package tool

// later names the tools of GoClaw that this version does not have yet, by their
// family. Whoever asks for one of them is to hear that, and not that something
// is to be installed. The tests of what is compiled in hold that none of them is.
var later = map[string][]string{
	"memory":     {"memory_search", "memory_write", "memory_get"},
	"messages":   {"message"},
	"secrets":    {"secret_get", "secret_list"},
	"shell":      {"shell"},
	"git":        {"git"},
	"web":        {"http_request", "web_fetch", "web_search", "browser", "html_page"},
	"data":       {"db_query", "db_write", "db_schema", "spreadsheet", "chart"},
	"devops":     {"gitlab", "sonarqube", "observability"},
	"media":      {"diagram_render"},
	"docs":       {"goclaw_docs"},
	"skills":     {"skill_read"},
	"subagents":  {"subagents"},
	"automation": {"sop_list", "sop_run", "sop_edit", "sop_status", "cron"},
	"code":       {"code_run"},
}

// Later is the family to which a tool of that name will belong, "" for a name
// that none has that is still to come.
func Later(name string) (family string) {
	for family, names := range later {
		for _, n := range names {
			if n == name {
				return family
			}
		}
	}
	return ""
}
