// Package supervise speaks systemd's protocols: it tells when the program is
// ready, what it is doing and when it ends, feeds the watchdog while the engine
// makes progress, and takes over sockets that systemd listens on.
//
// Started by anything else than systemd it does nothing. The protocols are
// described in sd_notify(3), sd_watchdog_enabled(3) and sd_listen_fds(3).
package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"pichat/llm"
)

// looks is how many times the engine is looked at within the time after which
// systemd would end the program. One look may fall between two signs of life;
// all of them cannot.
const looks = 4

// Run tells systemd that the program is ready, then the state of service at
// each change, until ctx ends; then that it is stopping. Call it when the
// program listens: a model that still loads is no reason to wait. It returns at
// once where no systemd waits to be told. The log gets a line when systemd
// cannot be told, and when the engine is stuck.
func Run(ctx context.Context, service *llm.Service, log *slog.Logger) {
	s := supervisor{service: service, log: log}
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("no watchdog: systemd's settings for it cannot be read", "err", err)
	}
	changed := service.Changed()
	shown := statusText(service)
	if told, err := daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS="+shown); !told {
		if err != nil {
			s.log.Error("systemd cannot be told that the program is ready: it will restart it", "err", err)
		}
		return
	}
	defer s.stopping()

	look, stop := ticks(limit)
	defer stop()
	dog := watchdog{last: Read(s.service)}
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			changed = s.service.Changed()
			if text := statusText(s.service); text != shown {
				shown = text
				s.tell("STATUS=" + text)
			}
		case <-look:
			s.look(&dog)
		}
	}
}

// supervisor is Run's arguments.
type supervisor struct {
	service *llm.Service
	log     *slog.Logger
}

// ticks returns when to look at the engine; never, without a limit.
func ticks(limit time.Duration) (<-chan time.Time, func()) {
	if limit <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(max(limit/looks, time.Millisecond))
	return t.C, t.Stop
}

// look feeds the watchdog if the engine is alive.
func (s *supervisor) look(dog *watchdog) {
	was := dog.starving
	if dog.fed(Read(s.service)) {
		s.tell(daemon.SdNotifyWatchdog)
		return
	}
	if !was {
		s.log.Warn("the engine computes nothing although it has work: systemd restarts the program if this goes on",
			"running", dog.last.Running, "waiting", dog.last.Waiting)
	}
}

// stopping leaves the reason standing where the model has failed.
func (s *supervisor) stopping() {
	text := string(llm.PhaseStopping)
	if s.service.State().Phase == llm.PhaseFailed {
		text = statusText(s.service)
	}
	s.tell(daemon.SdNotifyStopping + "\nSTATUS=" + text)
}

func (s *supervisor) tell(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.log.Warn("systemd could not be told", "state", state, "err", err)
	}
}

// statusText is what `systemctl status` shows. It is one line, whatever a model
// file calls itself: systemd would read a second one as another message.
func statusText(service *llm.Service) string {
	return strings.Join(strings.Fields(describe(service)), " ")
}

func describe(service *llm.Service) string {
	st := service.State()
	switch st.Phase {
	case llm.PhaseLoading:
		note := st.Note
		if note == "" {
			note = "starting"
		}
		if st.Progress > 0 {
			return fmt.Sprintf("%s: %.0f %%", note, 100*st.Progress)
		}
		return note
	case llm.PhaseReady:
		info := service.Info()
		return fmt.Sprintf("%s, %s", info.Name, count(info.Slots, "slot"))
	case llm.PhaseFailed:
		return "no model: " + st.Err.Error()
	}
	return string(st.Phase)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
