package anthropic

// refusals are the things that a server said it doesn't take.
type refusals uint16

const (
	refusedTemperature refusals = 1 << iota
	refusedEffort
	refusedThinking // the setting, whatever its type
	refusedAdaptive // a budget may be taken
	refusedBudget   // what goes without one may be taken
	refusedOff      // thinking can't be switched off
	wantsBetween    // another word switches it off
	wantsDrops      // thinking of another conversation was sent back
	refusedDrops    // the setting that forgives that
)

// lesson is what a refusal of a request in the form sent teaches, 0 when it is
// about something else.
func (f *fault) lesson(sent form) refusals {
	if f.status != 400 && f.status != 422 {
		return 0
	}
	refused := f.says("not supported", "not support", "unsupported", "not permitted", "not allowed", "extra inputs", "unexpected",
		"unknown", "unrecognized", "deprecated", "may only be set", "does not accept", "does not match", "input should be")
	switch {
	case f.says("bound to a different conversation"):
		return wantsDrops
	case sent.drops && f.says("block_binding", "anthropic-beta"):
		return refusedDrops
	case sent.thinking == thinkDisabled && f.says(thinkBetween):
		return wantsBetween
	case !refused:
		return 0
	case sent.tempered && f.says("temperature"):
		return refusedTemperature
	case sent.thinking == thinkEnabled && f.says("thinking.type.enabled", "budget_tokens"):
		return refusedBudget
	case sent.thinking == thinkAdaptive && f.says("adaptive"):
		return refusedAdaptive
	case sent.effort != "" && f.says("effort", "output_config"):
		return refusedEffort
	case (sent.thinking == thinkDisabled || sent.thinking == thinkBetween) && f.says("thinking"):
		return refusedOff
	case sent.thinking != "" && f.says("thinking"):
		return refusedThinking
	}
	return 0
}

// ofThinking reports whether a request was refused for the thinking that it
// sent back, or should have: another account's, another conversation's.
func (f *fault) ofThinking() bool {
	return f.status == 400 && f.says("thinking") && f.says("signature", "cannot be modified", "bound to", "must start with", "expected `thinking`")
}
