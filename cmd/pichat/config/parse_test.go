package config

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// files is a readFile for tests.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	text, ok := f[name]
	switch {
	case !ok:
		return nil, &os.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case text == "denied":
		return nil, &os.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return []byte(text), nil
}

func defaultServe() Serve {
	return Serve{
		Listen: ":8080", Queue: 32, MaxWait: 5 * time.Minute, FloorPace: 5.2, Grace: time.Minute, TargetPace: 11,
		Backend: "llama", LogLevel: "info",
		Engine: Engine{Models: ModelsFolder, MaxTokens: 1024},
	}
}

func TestParseServe(t *testing.T) {
	tests := []struct {
		name   string
		args   string
		env    []string
		files  files
		change func(*Serve)
	}{
		{"defaults", "serve", nil, nil, func(*Serve) {}},
		{"flags", "serve --listen 127.0.0.1:0 -m a.gguf --slots=2 --context auto --grace 5s --no-qr", nil, nil, func(s *Serve) {
			s.Listen, s.Engine.Model, s.Slots, s.Grace, s.NoQR = "127.0.0.1:0", "a.gguf", 2, 5*time.Second, true
		}},
		{"environment", "serve", []string{"PICHAT_SLOTS=3", "PICHAT_PREFILL_THREADS=4", "PICHAT_NO_QR=yes", "HOME=/x"}, nil, func(s *Serve) {
			s.Slots, s.PrefillThreads, s.NoQR = 3, 4, true
		}},
		{"an empty variable is not set", "serve", []string{"PICHAT_SLOTS="}, files{DefaultFile: "PICHAT_SLOTS=5"}, func(s *Serve) { s.Slots = 5 }},
		{"flag over environment over file", "serve --slots 1", []string{"PICHAT_SLOTS=2", "PICHAT_QUEUE=2"},
			files{DefaultFile: "PICHAT_SLOTS=3\nPICHAT_QUEUE=3\nPICHAT_CONTEXT=333\n"}, func(s *Serve) {
				s.Slots, s.Queue, s.Context = 1, 2, 333
			}},
		{"file by flag", "serve --config my.env", []string{"PICHAT_CONFIG=other.env"},
			files{"my.env": "# a comment\n\n; another\n PICHAT_MODEL = \"a b.gguf\" \nPICHAT_LOG_LEVEL='debug'"}, func(s *Serve) {
				s.Engine.Model, s.LogLevel = "a b.gguf", "debug"
			}},
		{"file by environment", "serve", []string{"PICHAT_CONFIG=my.env"}, files{"my.env": "PICHAT_QUEUE=7"}, func(s *Serve) { s.Queue = 7 }},
		{"a default file that is someone else's", "serve", nil, files{DefaultFile: "denied"}, func(*Serve) {}},
		{"lists", "serve --allow-host a --allow-host b.example", nil, nil, func(s *Serve) { s.AllowHost = []string{"a", "b.example"} }},
		{"proxies", "serve --trust-proxy 192.0.2.7 --trust-proxy 2001:db8::7", nil, nil, func(s *Serve) { s.TrustProxy = []string{"192.0.2.7", "2001:db8::7"} }},
		{"lists in a variable", "serve", []string{"PICHAT_ALLOW_HOST=a, b"}, nil, func(s *Serve) { s.AllowHost = []string{"a", "b"} }},
		{"scripted", "serve --backend scripted --pace 5", nil, nil, func(s *Serve) { s.Backend, s.Pace = "scripted", 5 }},
		{"a variable of another command may be wrong", "serve", []string{"PICHAT_SEED=x"}, nil, func(*Serve) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := Parse(strings.Fields(tt.args), tt.env, tt.files.read)
			if err != nil {
				t.Fatal(err)
			}
			want := defaultServe()
			tt.change(&want)
			got, ok := inv.Command.(*Serve)
			if !ok || !reflect.DeepEqual(*got, want) {
				t.Errorf("got  %+v\nwant %+v", inv.Command, want)
			}
		})
	}
}

func TestParseAsk(t *testing.T) {
	seed := uint32(4294967295)
	inv, err := Parse([]string{"ask", "--seed", "4294967295", "--temperature", "0", "--system", "", "why", "a,b"}, nil, files{}.read)
	if err != nil {
		t.Fatal(err)
	}
	got := inv.Command.(*Ask)
	if !reflect.DeepEqual(got.Text, []string{"why", "a,b"}) || *got.Seed != seed || got.Temperature != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestParseCommands(t *testing.T) {
	for args, want := range map[string]any{
		"ask -":                        &Ask{},
		"ask -- --not-a-flag":          &Ask{},
		"doctor --json":                &Doctor{},
		"model list --offline":         &ModelList{},
		"model pull --force a":         &ModelPull{},
		"model rm a.gguf":              &ModelRm{},
		"model info f.gguf":            &ModelInfo{},
		"model check f.gguf":           &ModelCheck{},
		"tune -m f.gguf":               &Tune{},
		"version --licences":           &Version{},
		"probe-model f.gguf":           &Probe{},
		"doctor --log-level debug":     &Doctor{},
		"verify --json --seconds 5":    &Verify{},
		"model info --slots 3 -- -odd": &ModelInfo{},
	} {
		inv, err := Parse(strings.Fields(args), nil, files{}.read)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		} else if reflect.TypeOf(inv.Command) != reflect.TypeOf(want) {
			t.Errorf("%s: got %T", args, inv.Command)
		}
	}
}

func TestParseCPU(t *testing.T) {
	for _, tt := range []struct {
		args string
		env  []string
		file files
		want string
	}{
		{"version", nil, nil, "auto"},
		{"--cpu=baseline serve", nil, nil, "baseline"},
		{"serve --cpu native", []string{"PICHAT_CPU=baseline"}, nil, "native"},
		{"serve", []string{"PICHAT_CPU=baseline"}, files{DefaultFile: "PICHAT_CPU=native"}, "baseline"},
		{"doctor", nil, files{DefaultFile: "PICHAT_CPU=native"}, "native"},
		{"--help", []string{"PICHAT_CPU=native"}, nil, ""},
	} {
		inv, err := Parse(strings.Fields(tt.args), tt.env, tt.file.read)
		if err != nil || inv.CPU != tt.want {
			t.Errorf("%s %v %v: got %+v, %v, want %q", tt.args, tt.env, tt.file, inv, err, tt.want)
		}
	}
	_, err := Parse([]string{"serve", "--cpu=a76"}, nil, files{}.read)
	if err == nil || !strings.Contains(err.Error(), "--cpu a76: allowed are auto, baseline, native") {
		t.Errorf("a wrong value: %v", err)
	}
}

func TestParseFaults(t *testing.T) {
	env := files{"my.env": "PICHAT_SLOTS=0\nnonsense\nPICHAT_QUEUE=1\nPICHAT_QUEUE=2\nPICHAT_LISEN=x\nPICHAT_MODEL=\"a"}
	tests := []struct {
		args string
		env  []string
		want []string // every fault, in order
	}{
		{"serve --slots 0", nil, []string{"--slots 0: allowed are 1 to 64, or auto"}},
		{"serve --slots -3", nil, []string{"--slots -3: allowed are 1 to 64, or auto"}},
		{"serve --slots", nil, []string{"--slots: needs a value; allowed are 1 to 64, or auto"}},
		{"serve --slots --queue 3", nil, []string{"--slots: needs a value; allowed are 1 to 64, or auto"}},
		{"serve --context 99999999999999999999", nil, []string{"--context 99999999999999999999: allowed are 128 to 1048576, or auto"}},
		{"serve --context 4k", nil, []string{`--context 4k: "4k" is not a whole number; allowed are 128 to 1048576, or auto`}},
		{"serve --target-pace NaN", nil, []string{"--target-pace NaN: allowed are 0.1 to 1000"}},
		{"serve --grace 5", nil, []string{`--grace 5: "5" is not a time such as 30s or 2m; allowed are 1s to 1h`}},
		{"serve --grace 2h", nil, []string{"--grace 2h: allowed are 1s to 1h"}},
		{"serve --listen 8080", nil, []string{"--listen 8080: allowed is HOST:PORT or :PORT, such as :8080 or 127.0.0.1:8080"}},
		{"serve --listen :99999", nil, []string{"--listen :99999: allowed is HOST:PORT or :PORT, such as :8080 or 127.0.0.1:8080"}},
		{"serve --allow-host http://a/", nil, []string{"--allow-host http://a/: allowed is a host name alone, such as box.example.org, without http://, port or path"}},
		{"serve --trust-proxy nginx.local", nil, []string{"--trust-proxy nginx.local: allowed is an IP address alone, such as 192.168.1.2"}},
		{"serve --no-qr=maybe", nil, []string{"--no-qr maybe: allowed are true and false"}},
		{"serve --backend scriptd", nil, []string{"--backend scriptd: allowed are llama, scripted: did you mean scripted?"}},
		{"serve --pace 5", nil, []string{"--pace 5: only the scripted backend has a pace of its own: add --backend scripted, or leave it out (--target-pace is the reader's)"}},
		{"serve --backend scripted --model x", nil, []string{"--model x: the scripted backend has no model: leave out one of --model and --backend scripted"}},
		{"ask --seed -1 hi", nil, []string{`--seed -1: "-1" is not a whole number; allowed are 0 to 4294967295`}},
		{"ask --temperature 3 hi", nil, []string{"--temperature 3: allowed are 0 to 2"}},
		{"ask", nil, []string{`missing "<text> ..."`}},
		{"model pull --sha256 12 a", nil, []string{"--sha256 12: allowed are 64 hexadecimal digits"}},
		{"model info", nil, []string{`missing "<file>"`}},
		{"model", nil, []string{`expected one of "list", "pull", "rm", "info", "check"`}},
		{"", nil, []string{`expected one of "serve", "ask", "doctor", "verify", "model", ...`}},
		{"srve --slots 0", nil, []string{"unknown command srve: did you mean serve?"}},
		{"--slots 3 serve", nil, []string{"unknown flag --slots before the command (flags of a command stand after it)"}},
		{"serve -x", nil, []string{"unknown flag -x"}},
		{"serve --bogus 3 --lisen=:1 --slots 0 extra", []string{"PICHAT_THREADS=x", "PICHAT_SLOT=3"}, []string{
			"unknown flag --bogus",
			"unknown flag --lisen: did you mean --listen?",
			"unexpected argument extra",
			"--slots 0: allowed are 1 to 64, or auto",
			`PICHAT_THREADS=x (environment): "x" is not a whole number; allowed are 1 to 512, or auto`,
			"PICHAT_SLOT=3 (environment): no such setting: did you mean PICHAT_SLOTS?",
		}},
		{"serve --config my.env", nil, []string{
			"my.env:1: PICHAT_SLOTS=0: allowed are 1 to 64, or auto",
			"my.env:2: nonsense: not a KEY=VALUE line",
			"my.env:4: PICHAT_QUEUE=2: this key stands above already",
			`my.env:6: PICHAT_MODEL="a: the quote does not end`,
			"my.env:5: PICHAT_LISEN=x: no such setting: did you mean PICHAT_LISTEN?",
		}},
		{"serve --config none.env", nil, []string{"--config none.env: cannot be read: file does not exist"}},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			_, err := Parse(strings.Fields(tt.args), tt.env, env.read)
			var faults *Faults
			if !errors.As(err, &faults) {
				t.Fatalf("got %v, want faults", err)
			}
			var got []string
			for _, f := range faults.List {
				got = append(got, f.String())
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
			}
			for _, f := range got {
				if !strings.Contains(err.Error(), f) {
					t.Errorf("%q is not in the message %q", f, err)
				}
			}
		})
	}
}

func TestHelpGivesExamples(t *testing.T) {
	for _, args := range []string{"serve", "ask", "doctor", "model list", "model pull", "model rm", "model info", "model check", "tune", "version"} {
		inv, err := Parse(append(strings.Fields(args), "--help"), []string{"PICHAT_SLOTS=wrong"}, files{}.read)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(inv.Help, "Example") || !strings.Contains(inv.Help, "\n    pichat "+args) {
			t.Errorf("%s --help has no example:\n%s", args, inv.Help)
		}
	}
	inv, err := Parse([]string{"serve", "--help"}, nil, files{}.read)
	if err != nil || !strings.Contains(inv.Help, "PICHAT_MAX_TOKENS") {
		t.Errorf("help names no variable: %v\n%s", err, inv.Help)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("serve --slots 3 --bogus=1 -x", "PICHAT_QUEUE=1", "PICHAT_MODEL='x")
	f.Add("ask - --seed 1 -- --x", "PICHAT_=", "=\n#\n'")
	f.Fuzz(func(t *testing.T, args, env, file string) {
		inv, err := Parse(strings.Fields(args), []string{env}, files{DefaultFile: file}.read)
		if (inv == nil) == (err == nil) {
			t.Fatalf("got %v and %v", inv, err)
		}
	})
}

// The example that comes with the service must be true, with its commented
// settings too.
func TestEnvironmentExample(t *testing.T) {
	data, err := os.ReadFile("../../../systemd/pichat.env")
	if err != nil {
		t.Skip(err)
	}
	text := strings.ReplaceAll(string(data), "#"+EnvPrefix, EnvPrefix)
	if _, err := Parse([]string{"serve"}, nil, files{DefaultFile: text}.read); err != nil {
		t.Error(err)
	}
}
