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
	// EventNotice tells what happened on the way; Text is one sentence for
	// people, empty when the error that follows says it. Kind is retry,
	// failover, cooldown or fallback. Attempt is the failure that it is about.
	// Only agent.Models sends it.
	EventNotice
	// EventDone ends the stream with Reply.
	EventDone
	// EventUsage tells what the call has used so far, for when it ends without
	// Done. A later one replaces it, and so does Done. It is for agent.Models,
	// which tells what became of it.
	EventUsage
	// EventDropped says that an attempt has ended that began to answer and whose
	// answer is not used. Usage is what it used, nil when the provider didn't
	// say. Only agent.Models sends it.
	EventDropped
)

// Event is one step of a streamed reply. It is a flat struct, not an
// interface, because there is one per chunk and none should allocate.
type Event struct {
	Type  EventType
	Text  string
	Index int
	Reply *Reply // only EventDone

	Usage   *Usage   // only EventUsage and EventDropped
	Kind    string   // only EventNotice
	Attempt *Attempt // only EventNotice; nil when it is about no failure
}
