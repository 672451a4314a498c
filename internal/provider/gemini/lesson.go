package gemini

// refusals are the things that a server said it doesn't take, or wants.
type refusals uint16

const (
	refusedTemperature refusals = 1 << iota
	refusedLevel                // a budget may be taken
	refusedBudget
	refusedThinking // the setting, whatever it says
	refusedPictures // images within results
	wantsSignatures // calls without one were sent
	refusedSystem   // the text may stand before the first message
)

// lesson is what a refusal of a request in the form sent teaches, 0 when it is
// about something else.
func (f *fault) lesson(sent form) refusals {
	if f.status != 400 {
		return 0
	}
	switch {
	case f.ofSignatures():
		if !sent.marks {
			return wantsSignatures
		}
		return 0
	case !f.says("not supported", "not support", "unsupported", "not enabled", "unknown name", "is invalid", "invalid value", "not a valid",
		"cannot find field", "not allowed", "only works in thinking mode"):
		return 0
	case sent.level != "" && f.says("thinking level", "thinking_level", "thinkinglevel"):
		return refusedLevel
	case sent.budgeted && f.says("thinking budget", "thinking_budget", "thinkingbudget", "budget 0", "thinking mode"):
		return refusedBudget
	case (sent.level != "" || sent.budgeted || sent.thoughts) && f.says("thinking", "thought"):
		return refusedThinking
	case sent.temperature != nil && f.says("temperature"):
		return refusedTemperature
	case !sent.spoken && f.says("developer instruction", "system instruction", "system_instruction", "systeminstruction"):
		return refusedSystem
	case sent.pictures && f.says("function_response.parts", "functionresponse.parts", "multimodal function response"):
		return refusedPictures
	}
	return 0
}

// ofSignatures reports whether a request was refused for the signatures that it
// sent back, or should have: another project's, another model's.
func (f *fault) ofSignatures() bool {
	return f.status == 400 && f.says("thought signature", "thought_signature", "thoughtsignature")
}
