// Package config turns a command line, the environment and a settings file
// into one checked command.
//
// Every setting can be given in three places under one name: as a flag
// (--max-tokens 300), as an environment variable (PICHAT_MAX_TOKENS=300) and
// as the same line in a file of KEY=VALUE lines, which systemd reads as an
// EnvironmentFile too. A flag wins over the environment, the environment over
// the file, the file over the default. Faults are collected over all of them
// and reported together ([Faults]); nothing is guessed.
//
// [Parse] is pure: it reads nothing but what it is given. Everything is safe
// for concurrent use.
package config

import "time"

// Names and places that other parts of the project rely on.
const (
	// EnvPrefix begins every environment variable of the program.
	EnvPrefix = "PICHAT_"
	// DefaultFile is read when no file is named, if it is there, so that the
	// commands an owner types see what the service on the same box sees.
	DefaultFile = "/etc/pichat/pichat.env"
	// ModelsFolder is where an installed service keeps models.
	ModelsFolder = "/srv/pichat/models"
)

// grammar is the whole command line as kong reads it.
type grammar struct {
	Settings string `name:"config" placeholder:"FILE" help:"Read settings from FILE, lines of KEY=VALUE with the names of the environment. Default: /etc/pichat/pichat.env where it exists."`
	CPU      string `name:"cpu" placeholder:"WHICH" default:"auto" oneof:"auto,baseline,native" help:"Which program of a file made by make pi or make deb runs: auto, by the CPU (default); baseline, for every 64-bit Pi or PC; native, for a Pi 5 or a PC with AVX2. Other builds have one program."`

	Serve   Serve   `cmd:"" help:"Serve the chat page on the network."`
	Ask     Ask     `cmd:"" help:"Answer one question in the terminal."`
	Doctor  Doctor  `cmd:"" help:"Check model, engine and board, and say what to do about each fault."`
	Verify  Verify  `cmd:"" help:"Hold the running service against what is expected of this board, and measure its pace and temperature."`
	Model   Model   `cmd:"" help:"Choose, fetch, look into and remove model files."`
	Tune    Tune    `cmd:"" help:"Measure with how many threads a model is fastest on this machine, and remember it."`
	Version Version `cmd:"" help:"Show versions and, on request, licences."`
	Probe   Probe   `cmd:"" name:"probe-model" hidden:"" help:"Load a model file in this process and exit; the program runs itself so on files it has not seen."`
}

// Serve is the command that serves the page.
type Serve struct {
	Listen     string `placeholder:"ADDR" default:":8080" check:"listen" help:"Address and port to listen on (default :8080, every address of this machine)."`
	Engine     `embed:""`
	Slots      int           `placeholder:"N" default:"auto" range:"1..64" auto:"" help:"Serving places: how many replies are written at once (default 4, fewer where memory is short)."`
	Queue      int           `placeholder:"N" default:"32" range:"1..10000" help:"Requests that may wait for a place; more are refused (default 32)."`
	MaxWait    time.Duration `placeholder:"TIME" default:"5m" range:"1s..24h" help:"Refuse a request that would wait longer than this for a place, by prediction (default 5m)."`
	Grace      time.Duration `placeholder:"TIME" default:"60s" range:"1s..1h" help:"How long a reply goes on after its page was lost (default 60s)."`
	TargetPace float64       `placeholder:"N" default:"11" range:"0.1..1000" help:"Pace in tokens/s that the page measures against (default 11)."`
	FloorPace  float64       `placeholder:"N" default:"5.2" range:"0..1000" help:"Where people would wait for their first word, more are let in at once as long as each gets so many tokens/s (default 5.2, an average reader's pace; 0 lets in only as many as get the target pace)."`
	AllowHost  []string      `placeholder:"NAME" check:"host" help:"Answer under this host name too, such as a DNS name or that of a VPN. May be repeated."`
	TrustProxy []string      `placeholder:"ADDR" check:"ip" help:"Address of a reverse proxy before this server, whose X-Real-IP header names the client. May be repeated."`
	Backend    string        `placeholder:"NAME" default:"llama" oneof:"llama,scripted" help:"What answers: llama, a real model (default), or scripted, a fixed text for demos without a model; the page says so."`
	Pace       float64       `placeholder:"N" default:"auto" range:"0.1..10000" auto:"" help:"Tokens/s of the scripted backend (default 20)."`
	NoQR       bool          `name:"no-qr" help:"Print no QR code."`
	LogLevel   string        `placeholder:"LEVEL" default:"info" oneof:"debug,info,warn,error" help:"Least serious log lines to print: debug, info (default), warn, error. What people write is never logged."`
}

// Ask is the command that answers once in the terminal.
type Ask struct {
	Text        []string `arg:"" placeholder:"TEXT" help:"The question; - reads it from standard input."`
	System      string   `placeholder:"TEXT" help:"System prompt: how to answer."`
	Temperature float64  `placeholder:"N" default:"0.7" range:"0..2" help:"Randomness of the answer; 0 always takes the likeliest token (default 0.7)."`
	Seed        *uint32  `placeholder:"N" range:"0..4294967295" help:"Repeat the random choices of an earlier answer (default: another seed each time)."`
	TargetPace  float64  `placeholder:"N" default:"11" range:"0.1..1000" help:"Pace in tokens/s that the verdict is about (default 11)."`
	Engine      `embed:""`
	LogLevel    string `placeholder:"LEVEL" default:"error" oneof:"debug,info,warn,error" help:"Least serious log lines to print: debug, info, warn, error (default)."`
}

// Doctor is the command that checks everything the service needs.
type Doctor struct {
	JSON     bool   `name:"json" help:"Print JSON."`
	Listen   string `placeholder:"ADDR" default:":8080" check:"listen" help:"Address and port the service is to listen on (default :8080)."`
	Slots    int    `placeholder:"N" default:"auto" range:"1..64" auto:"" help:"Serving places the memory must hold (default 4, fewer where memory is short)."`
	Engine   `embed:""`
	LogLevel string `placeholder:"LEVEL" default:"error" oneof:"debug,info,warn,error" help:"Least serious log lines to print: debug, info, warn, error (default)."`
}

// Verify is the command that checks the running service on this machine and
// measures it. Its flags include those of Doctor, whose findings are part of
// the report.
type Verify struct {
	URL     string `name:"url" placeholder:"URL" help:"Address of the service, on this machine. Default: http://127.0.0.1 with the port of --listen."`
	Seconds int    `placeholder:"N" default:"60" range:"1..3600" help:"Least time of writing to measure over, in seconds (default 60)."`
	Tokens  int    `placeholder:"N" default:"256" range:"2..4096" help:"Longest reply of the measurement in tokens (default 256)."`
	Show    string `placeholder:"FILE" help:"Measure nothing: print the report in FILE, JSON of an earlier run, for people; - is standard input."`
	Doctor  `embed:""`
}

// Model holds the commands about model files.
type Model struct {
	List  ModelList  `cmd:"" help:"List the models that can be fetched: size, licence, memory, and the pace to expect on a Raspberry Pi 4 and 5."`
	Pull  ModelPull  `cmd:"" help:"Fetch a model of the list, or a GGUF file from an address."`
	Rm    ModelRm    `cmd:"" name:"rm" help:"Remove a model file from the folder of models."`
	Info  ModelInfo  `cmd:"" help:"Show what a model file holds and what memory it needs."`
	Check ModelCheck `cmd:"" help:"Check a model file as serve does, and try it in a process of its own."`
}

// ModelList is the command that shows the catalogue.
type ModelList struct {
	JSON    bool `name:"json" help:"Print JSON, with the sources of all figures."`
	Offline bool `help:"Do not ask the model hub for sizes."`
	Folder  `embed:""`
}

// ModelPull is the command that fetches a model.
type ModelPull struct {
	Name   string `arg:"" placeholder:"NAME|URL" help:"A name from the list, or the address of a GGUF file."`
	SHA256 string `name:"sha256" placeholder:"HEX" check:"sha256" help:"Checksum that a file from an address must have. Models of the list have theirs."`
	Force  bool   `help:"Go on where memory or disk seem too small."`
	Folder `embed:""`
}

// ModelRm is the command that removes a model.
type ModelRm struct {
	Name   string `arg:"" placeholder:"NAME|FILE" help:"A name from the list, or a file in the folder of models."`
	Folder `embed:""`
}

// Folder says where models are kept.
type Folder struct {
	Dir    string `placeholder:"DIR" help:"Folder of models. Default: that of --models where it can be written to, else models/ here."`
	Models string `placeholder:"DIR" default:"/srv/pichat/models" help:"Folder of an installed service (default /srv/pichat/models)."`
}

// ModelInfo is the command that shows a model file.
type ModelInfo struct {
	File    string `arg:"" placeholder:"FILE" help:"A GGUF file."`
	Context int    `placeholder:"N" default:"4096" range:"128..1048576" help:"Context window to compute memory for (default 4096 tokens)."`
	Slots   int    `placeholder:"N" default:"1" range:"1..64" help:"Serving places to compute memory for (default 1)."`
}

// ModelCheck is the command that tries a model file.
type ModelCheck struct {
	File     string `arg:"" placeholder:"FILE" help:"A GGUF file."`
	LogLevel string `placeholder:"LEVEL" default:"error" oneof:"debug,info,warn,error" help:"Least serious log lines to print: debug, info, warn, error (default)."`
}

// Tune is the command that chooses numbers of threads.
type Tune struct {
	Model    string `short:"m" placeholder:"FILE" help:"Model file (GGUF). Default: the one that serve would take."`
	Models   string `placeholder:"DIR" default:"/srv/pichat/models" help:"Folder of models to look in last (default /srv/pichat/models)."`
	Cache    string `placeholder:"DIR" help:"Folder that remembers the choice (default: the service's state folder, else ~/.cache/pichat)."`
	LogLevel string `placeholder:"LEVEL" default:"error" oneof:"debug,info,warn,error" help:"Least serious log lines to print: debug, info, warn, error (default)."`
}

// Version is the command that shows versions.
type Version struct {
	Licences bool `help:"Print the licences of everything the program contains."`
}

// Probe is the hidden command of the child process.
type Probe struct {
	File string `arg:"" placeholder:"FILE" help:"A GGUF file."`
}

// Engine are the settings of the model and its engine. A value of 0 means
// that the program chooses.
type Engine struct {
	Model          string `short:"m" placeholder:"FILE" help:"Model file (GGUF). Default: the default model, else the only one, in models/ here or beside the program, else in the folder of --models."`
	Models         string `placeholder:"DIR" default:"/srv/pichat/models" help:"Folder of models to look in last (default /srv/pichat/models)."`
	Context        int    `placeholder:"N" default:"auto" range:"128..1048576" auto:"" help:"Context window of a slot in tokens, prompt and reply together (default 4096, fewer where the model or memory ends before)."`
	Threads        int    `placeholder:"N" default:"auto" range:"1..512" auto:"" help:"Threads that write replies, at most (default: what pichat tune found, else the physical cores)."`
	PrefillThreads int    `placeholder:"N" default:"auto" range:"1..512" auto:"" help:"Threads that read prompts (default: what pichat tune found, else as --threads)."`
	MaxTokens      int    `placeholder:"N" default:"1024" range:"1..1048576" help:"Longest reply in tokens unless a request says otherwise (default 1024)."`
	Cache          string `placeholder:"DIR" help:"Folder that remembers which model files were tried, and what pichat tune found (default: the service's state folder, else ~/.cache/pichat)."`
}
