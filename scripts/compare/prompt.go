package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
)

// words are tokens of their own, with the space before them, in the usual
// vocabularies, so that a prompt's length can be chosen. sized checks it.
var words = strings.Fields(`time people way day man thing woman life child world school state family student
group country problem hand part place case week company system program question work government number night
point home water room mother area money story fact month lot right study book eye job word business issue side
kind head house service friend father power hour game line end member law car city community name president team
minute idea body information back parent face others level office door health person art war history party result
change morning reason research girl guy air teacher force education`)

// unique is a run of random words.
func unique(r *rand.Rand, n int) string {
	var b strings.Builder
	b.WriteString("The")
	for range n {
		b.WriteByte(' ')
		b.WriteString(words[r.IntN(len(words))])
	}
	return b.String()
}

// prefixWords is the length of the random run at the front of each prompt, in
// the system message, so that no side finds a prompt in its memory.
const prefixWords = 6

const request = "\nWrite a long story with these words."

// prompt is a chat of one question that begins like no other. Its length grows
// by one token with each word.
func prompt(r *rand.Rand, words int) []message {
	return []message{
		{"system", unique(r, prefixWords)},
		{"user", unique(r, words) + request},
	}
}

// promptOverhead is how many tokens a prompt has beside its words, as the
// server counts.
func promptOverhead(ctx context.Context, s *server) (int, error) {
	const probe = 8
	r, err := s.say(ctx, ask{messages: prompt(rand.New(rand.NewPCG(1, 1)), probe), maxTokens: 2})
	if err != nil {
		return 0, err
	}
	if r.promptTokens <= probe {
		return 0, fmt.Errorf("%s counts %d tokens in a prompt of more words", s.name, r.promptTokens)
	}
	return r.promptTokens - probe, nil
}
