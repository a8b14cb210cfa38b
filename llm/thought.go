package llm

import "strings"

// thoughtSplitter tells reasoning from answer in a stream of text. Reasoning
// stands once, at the beginning, between two tags; the tags are shown nowhere.
type thoughtSplitter struct {
	open, close string // "" when the model knows no reasoning
	state       thoughtState
	held        string
}

type thoughtState int

const (
	beforeThought thoughtState = iota // nothing but space has come
	inThought
	afterThought // the closing tag has come, nothing but space since
	answering
)

func newThoughtSplitter(info TemplateInfo, inside bool) thoughtSplitter {
	s := thoughtSplitter{open: info.ThinkOpen, close: info.ThinkClose}
	switch {
	case s.open == "" || s.close == "":
		s.state = answering
	case inside:
		s.state = inThought
	}
	return s
}

// push adds text and returns what of it is reasoning and what is answer. Text
// that may be a part of a tag is held back.
func (s *thoughtSplitter) push(text string) (thought, answer string) {
	s.held += text
	if s.state == beforeThought {
		s.begin()
	}
	if s.state == inThought {
		thought = s.think()
	}
	if s.state == afterThought {
		s.held = strings.TrimLeft(s.held, " \r\n\t")
		if s.held != "" {
			s.state = answering
		}
	}
	if s.state == answering {
		answer, s.held = s.held, ""
	}
	return thought, answer
}

// begin decides whether the reply opens with reasoning.
func (s *thoughtSplitter) begin() {
	trimmed := strings.TrimLeft(s.held, " \r\n\t")
	switch {
	case strings.HasPrefix(trimmed, s.open):
		s.held, s.state = trimmed[len(s.open):], inThought
	case !strings.HasPrefix(s.open, trimmed):
		s.state = answering
	}
}

// think takes the reasoning out of what is held.
func (s *thoughtSplitter) think() string {
	if before, after, found := strings.Cut(s.held, s.close); found {
		s.held, s.state = after, afterThought
		return before
	}
	keep := 0
	for n := min(len(s.close)-1, len(s.held)); n > 0; n-- {
		if strings.HasSuffix(s.held, s.close[:n]) {
			keep = n
			break
		}
	}
	thought := s.held[:len(s.held)-keep]
	s.held = s.held[len(s.held)-keep:]
	return thought
}

// flush returns what is held at the end of a reply.
func (s *thoughtSplitter) flush() (thought, answer string) {
	rest := s.held
	s.held = ""
	if s.state == inThought {
		return rest, ""
	}
	return "", rest
}

// thinking reports whether a token that brought no text belongs to reasoning.
func (s *thoughtSplitter) thinking() bool { return s.state == inThought || s.state == afterThought }

// thoughtTags finds the control tokens in a template's reasoning tags. Control
// tokens have no bytes of their own, so that in some families (Ministral's
// [THINK], Gemma 4's <|channel>thought) the tags would not be seen; each of
// these tokens gets the text that it stands for in its tag.
func thoughtTags(v Vocabulary, info TemplateInfo) map[Token]string {
	tags := map[Token]string{}
	for _, tag := range []string{info.ThinkOpen, info.ThinkClose} {
		if tag == "" {
			continue
		}
		tokens, err := v.Tokenize(Text{Parts: []string{tag}, Special: true})
		if err != nil {
			continue
		}
		var spelled string // what follows the control token
		var control []Token
		for _, t := range tokens {
			if piece := v.AppendPiece(nil, t); len(piece) > 0 {
				spelled += string(piece)
			} else {
				control, spelled = append(control, t), ""
			}
		}
		if rest, ok := strings.CutSuffix(tag, spelled); ok && len(control) > 0 && rest != "" {
			tags[control[len(control)-1]] = rest
		}
	}
	return tags
}
