// Package enginebench measures what llm.Engine adds to the bare binding: the
// same model, the same process, in turn; and what a number of threads that
// adapts is worth beside a busy process. Run it with "make bench".
package enginebench
