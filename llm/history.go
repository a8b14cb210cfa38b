package llm

// fitting finds where a chat has to begin to leave room for its reply: whole
// turns are left out, oldest first, the system message never and the last turn
// never. sizes are the messages' tokens, with what the template adds to each;
// room is what the prompt may have.
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
		total += sizes[i]
		if m.Role != RoleUser || total <= room {
			continue
		}
		for from < i && total > room/2 {
			total -= sizes[from]
			from++
			for from < i && messages[from].Role != RoleUser { // a turn begins with a question
				total -= sizes[from]
				from++
			}
		}
	}
	return from
}

// prompt renders and tokenizes a request's chat. Where the request allows it,
// old turns are left out until the chat fits; leftOut is how many messages.
func (e *Engine) prompt(r Request) (p Prompt, tokens []Token, leftOut int, err error) {
	p, tokens, err = e.render(r.Messages, r.Thinking)
	room := e.info.Window - min(e.replyCap(r), e.info.Window/4)
	if err != nil || !r.TrimHistory || len(tokens) <= room {
		return p, tokens, 0, err
	}
	sizes, err := e.sizes(r.Messages, len(tokens))
	if err != nil {
		return Prompt{}, nil, 0, err
	}
	first, last := 0, len(r.Messages)-1
	if r.Messages[0].Role == RoleSystem {
		first = 1
	}
	for from := fitting(r.Messages, sizes, room); ; from++ {
		if from > first && from < last && r.Messages[from].Role != RoleUser {
			continue // sizes are not exact: one turn more has to go
		}
		kept := append(append([]Message(nil), r.Messages[:first]...), r.Messages[from:]...)
		p, tokens, err = e.render(kept, r.Thinking)
		if err != nil || len(tokens) <= room || from >= last {
			return p, tokens, from - first, err
		}
	}
}

// sizes are the tokens of each message, with its share of what the template
// adds to all of them; whole is what they have together.
func (e *Engine) sizes(messages []Message, whole int) ([]int, error) {
	sizes, sum := make([]int, len(messages)), 0
	for i, m := range messages {
		t, err := e.config.Backend.Tokenize(Text{Parts: []string{m.Content}})
		if err != nil {
			return nil, err
		}
		sizes[i] = len(t)
		sum += len(t)
	}
	added := max(0, whole-sum+len(messages)-1) / len(messages) // rounded up
	for i := range sizes {
		sizes[i] += added
	}
	return sizes, nil
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
