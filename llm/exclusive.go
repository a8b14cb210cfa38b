package llm

// exclusiveChunk is how many prompt tokens a step of an exclusive request
// takes. It is fixed, since results are rounded by the shape of the steps.
const exclusiveChunk = 128

// exclusive tells whether a request runs that wants to be alone.
func (e *Engine) exclusive() bool {
	for i := range e.slots {
		if j := e.slots[i].job; j != nil && j.request.Exclusive {
			return true
		}
	}
	return false
}

// emptySlots forgets what the slots keep; none may be serving.
func (e *Engine) emptySlots() error {
	for i := range e.slots {
		if err := e.trim(&e.slots[i], 0); err != nil {
			return err
		}
	}
	return nil
}
