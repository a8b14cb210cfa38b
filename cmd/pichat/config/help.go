package config

import "github.com/alecthomas/kong"

const description = `A chat page for a small board: a quantized model through llama.cpp, and its pace beside the machine's temperature and memory.

Every flag can be given as an environment variable or in a settings file too (see --config). A flag wins over the environment, the environment over the file.`

// withVariable ends the help of a flag with its environment variable.
func withVariable(v *kong.Value) string {
	if v.Flag == nil || v.Name == "help" {
		return v.Help
	}
	return v.Help + " [$" + variable(v.Name) + "]"
}

// Help gives examples.
func (Serve) Help() string {
	return `Examples:

    pichat serve
    pichat serve --model models/SmolLM2-135M-Instruct.Q4_1.gguf --slots 2 --context 2048
    pichat serve --backend scripted --pace 5      # a demo without a model
`
}

// Help gives examples.
func (Ask) Help() string {
	return `The answer goes to standard output as it is written, then a line with its timings.

Examples:

    pichat ask "Why is the sky blue?"
    pichat ask --temperature 0 --system "Answer in one sentence." "What is a star?"
    pichat ask - < letter.txt
`
}

// Help gives examples.
func (Doctor) Help() string {
	return `The exit status is 1 when a fault was found.

Examples:

    pichat doctor
    pichat doctor --model /srv/pichat/models/model.gguf --json
`
}

// Help gives examples.
func (Verify) Help() string {
	return `It asks the service that runs here, with questions of its own, so it takes a little longer than --seconds; stop other work first. The exit status is 1 when something is not as expected. On a machine that is no Raspberry Pi the report says so, and expects nothing of its sensors.

Examples:

    pichat verify
    pichat verify --url http://127.0.0.1:80 --seconds 300 --json > pi.json
    pichat verify --show pi.json
`
}

// Help gives examples.
func (ModelList) Help() string {
	return `A pace is published (others measured this model on such a board), projected (from what such a board moved in other published runs) or unknown. None was measured on this machine.

Examples:

    pichat model list
    pichat model list --offline --json
`
}

// Help gives examples.
func (ModelPull) Help() string {
	return `The file's own header is read first and held against memory and disk. A download that was cut goes on where it was. Only a whole file that is what it should be gets its name. Standard output has one line, the path of the file; all else goes to standard error.

Examples:

    pichat model pull llama-3.2-1b-instruct
    pichat model pull --dir /mnt/models https://example.org/model.Q4_K_M.gguf
`
}

// Help gives examples.
func (ModelRm) Help() string {
	return `Example:

    pichat model rm llama-3.2-1b-instruct
`
}

// Help gives examples.
func (ModelInfo) Help() string {
	return `Example:

    pichat model info --context 2048 --slots 4 models/SmolLM2-135M-Instruct.Q4_1.gguf
`
}

// Help gives examples.
func (ModelCheck) Help() string {
	return `Example:

    pichat model check models/SmolLM2-135M-Instruct.Q4_1.gguf
`
}

// Help gives examples.
func (Tune) Help() string {
	return `Decode and prefill are measured with each number of threads in turn, for some seconds to some minutes. Where several are equally fast the fewest are chosen. Nothing is remembered when another process was busy meanwhile. serve and ask take the choice from then on, unless --threads says otherwise.

Examples:

    pichat tune
    pichat tune --model /srv/pichat/models/model.gguf
`
}

// Help gives examples.
func (Version) Help() string {
	return `Examples:

    pichat version
    pichat version --licences
`
}
