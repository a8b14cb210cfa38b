package llm

// perMessage is what a template adds to a message, about, in tokens.
const perMessage = 8

// fitting finds where a chat has to begin to leave room for its reply: whole
// turns are left out, oldest first, the system message never and the last turn
// never. sizes are the messages' tokens, room what the prompt may have.
//
// Once the chat is too long it is cut to half of the room, and stays cut there
// until it is too long again: as long as the beginning is the same from turn to
// turn, what is kept of the last prompt serves the next one. The result depends
// on the chat alone, so that it needs no memory of the turns before.
func fitting(messages []Message, sizes []int, room int) (from int) {
	first := 0
	if messages[0].Role == RoleSystem {
		first = 1
	}
	from = first
	total := 0
	for i, m := range messages {
		total += sizes[i] + perMessage
		if m.Role != RoleUser || total <= room {
			continue
		}
		for from < i && total > room/2 {
			total -= sizes[from] + perMessage
			from++
			for from < i && messages[from].Role != RoleUser { // a turn begins with a question
				total -= sizes[from] + perMessage
				from++
			}
		}
	}
	return from
}

// prompt renders and tokenizes a request's chat. Where the request allows it,
// old turns are left out until the chat fits; leftOut is how many messages.
func (e *Engine) prompt(r Request) (p Prompt, tokens []Token, leftOut int, err error) {
	if !r.TrimHistory {
		p, tokens, err = e.render(r.Messages, r.Thinking)
		return p, tokens, 0, err
	}
	sizes := make([]int, len(r.Messages))
	for i, m := range r.Messages {
		t, err := e.config.Backend.Tokenize(Text{Parts: []string{m.Content}})
		if err != nil {
			return Prompt{}, nil, 0, err
		}
		sizes[i] = len(t)
	}
	room := e.info.Window - min(e.replyCap(r), e.info.Window/4)
	first := 0
	if r.Messages[0].Role == RoleSystem {
		first = 1
	}
	for from := fitting(r.Messages, sizes, room); ; from++ {
		if from > first && from < len(r.Messages)-1 && r.Messages[from].Role != RoleUser {
			continue // sizes are estimates: one turn more has to go
		}
		kept := append(append([]Message(nil), r.Messages[:first]...), r.Messages[from:]...)
		p, tokens, err = e.render(kept, r.Thinking)
		if err != nil || len(tokens) <= room || from >= len(r.Messages)-1 {
			return p, tokens, from - first, err
		}
	}
}

func (e *Engine) render(messages []Message, thinking *bool) (Prompt, []Token, error) {
	p, err := e.config.Template.Render(messages, thinking)
	if err != nil {
		return Prompt{}, nil, err
	}
	tokens, err := e.config.Backend.Tokenize(Text{Parts: p.Parts, Special: true})
	return p, tokens, err
}

// replyCap is the most tokens that the reply may have.
func (e *Engine) replyCap(r Request) int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return e.config.MaxTokens
}
