package wire

import "pichat/web/fault"

// ErrorOf is the frame that refuses a frame or, with an id, an ask.
func ErrorOf(id string, err error) Error {
	f := fault.Of(err)
	return Error{Type: TypeError, ID: id, Code: f.Code, Message: f.Message}
}
