// Package enginebench measures what llm.Engine adds to the bare binding: the
// same model, the same process, in turn. Run it with "make bench".
package enginebench
