package llm

// EventType tells the variants of an [Event] apart.
type EventType uint8

const (
	// EventText adds Text to the answer.
	EventText EventType = iota + 1
	// EventReasoning adds Text to what the model shows of its reasoning.
	EventReasoning
	// EventCall says that the call at Index begins or grows; Text is its name
	// when that is known. It is for progress only; Done holds the calls.
	EventCall
	// EventRetracted takes back all text and reasoning streamed by this call so
	// far: another attempt begins anew. Only agent.Models sends it.
	EventRetracted
	// EventNotice tells people what happened on the way (retry, failover,
	// cooldown); Text is one sentence. Only agent.Models sends it.
	EventNotice
	// EventDone ends the stream with Reply.
	EventDone
)

// Event is one step of a streamed reply. It is a flat struct, not an
// interface, because there is one per chunk and none should allocate.
type Event struct {
	Type  EventType
	Text  string
	Index int
	Reply *Reply // only EventDone
}
