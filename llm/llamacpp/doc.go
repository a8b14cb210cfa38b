// Package llamacpp runs GGUF models through llama.cpp, inside this process.
//
// It is the only package that imports "C". Three layers, each thin:
//
//   - shim.h and shim_*.cpp: C functions over llama.cpp's C interface. No C++
//     exception leaves them, and no compute thread ever calls Go.
//   - The Go files around them check every length, id and range first, because
//     llama.cpp answers many wrong arguments by aborting the process, and a Go
//     program cannot recover from that.
//   - [Model] gives the rest of the program what [llm.Backend] asks for.
//
// llama.cpp itself is built by `make engine` as static libraries and found
// through the link build/engine; [Engine] says which one this program holds.
//
// A model file can make llama.cpp's loader abort. Who opens files of unknown
// origin checks them beforehand and loads them in a child process first.
package llamacpp
