// Deliberate mistakes in guard.c: each replaces one piece of text, which occurs once. The tests
// have to catch each of them.

export interface Mutant {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  /** The part of a test's name that catches it; otherwise decisions.c does. */
  readonly caughtBy: string | undefined;
}

const rows: readonly (readonly [name: string, from: string, to: string, caughtBy?: string])[] = [
  // When something is due.
  ['any-clock-to-all', 'phase, i)) return true;', 'phase, i) && i == WALL) return true;'],
  ['a-tick-late', '- delay >= due_at', '- delay > due_at'],
  ['unknown-clock-counts', 'parsed->at[i] = NEVER;', 'parsed->at[i] = 0;'],
  ['kill-not-requested', 'is_kill ? s->kill_by :', 'is_kill ? NEVER :'],
  ['stop-not-requested', ' : s->stop_by;', ' : NEVER;'],
  ['kill-not-sooner', 'deadline -= s->killing', 'deadline -= 0'],
  ['outer-stops-at-once', '- delay >=', '- (phase == STOPPING ? 0 : delay) >='],
  ['outer-kills-at-once', '- delay >=', '- (phase == KILLING ? 0 : delay) >='],
  ['requests-on-any-clock', 'if (clock != BOOT)', 'if (clock == BOOT)'],
  // Requests.
  ['stop-becomes-later', 'if (s->stop_by > now) s->stop_by', 's->stop_by'],
  ['kill-becomes-later', 'if (s->kill_by > now + grace) s->kill_by', 's->kill_by'],
  ['grace-ignored', 's->kill_by = now + grace;', 's->kill_by = now;'],
  ['signal-of-second-stop', 'STOP && s->phase == WATCHING) s->signal', 'STOP) s->signal'],
  ['kill-has-grace', 'request_stop(s, now, 0);', 'request_stop(s, now, s->grace);'],
  ['keep-forgotten', 's->keeps = true;', ';'],
  ['malformed-ignored', '== MALFORMED) request_stop', '== MALFORMED && false) request_stop'],
  ['deadline-not-moved', 's->stop_at = m->stop_at;', ''],
  ['kill-deadline-not-moved', 's->kill_at = m->kill_at;', ''],
  // Lines.
  ['zero-is-a-signal', '1, NSIG - 1, signal', '0, NSIG - 1, signal'],
  ['no-limit-of-signals', '1, NSIG - 1, signal', '1, 999, signal'],
  ['no-clock-is-enough', 'return has_clock;', 'return true;'],
  ['rest-ignored', '!is_valid || *line != 0', '!is_valid'],
  ['prefix-is-a-verb', 'skip(&line, "kill")', 'skip(&line, "kil")'],
  ['negative-grace', '0, INT32_MAX, &m.grace_ms', '-INT32_MAX, INT32_MAX, &m.grace_ms'],
  ['rest-of-line-lost', 'memmove(text, line, length);', 'length = 0;'],
  ['end-of-run-ignored', 'if (got <= 0) return lose_control();', 'if (got <= 0) return;'],
  ['unguarded-start', '&byte, 1) != 1) _exit', '&byte, 1) > 1) _exit'],
  // What is done.
  ['no-timer', 'if (at != NEVER && state.phase', 'if (false && state.phase', 'the first deadline'],
  [
    'first-deadline-only',
    'due_at(&state, KILLING, i), stop_at',
    'NEVER, stop_at',
    'SIGKILL after its grace',
  ],
  ['stopped-inner-stays', 'kill(inner, SIGCONT);', ';', 'stopped, and the command ends'],
  [
    'outer-never-takes-over',
    'if (seen_at != 0 && beats == beat) {',
    'if (seen_at < 0) {',
    'traced',
  ],
  ['stopped-outer-stays', 'kill(getppid(), SIGCONT);', ';', 'outer guard is stopped'],
  [
    'late-start',
    'phase_due(&state, &now, 0) == WATCHING) {',
    'now.at[0] > 0) {',
    'nothing is started',
  ],
  ['started-for-failed', 'got == (ssize_t)sizeof error;', 'false;', 'reported as failed'],
  ['reported-twice', 'if (atomic_exchange(&shared->is_reported, true)) return;', '', 'is counted'],
  [
    'no-subreaper',
    'PR_SET_CHILD_SUBREAPER, 1',
    'PR_SET_CHILD_SUBREAPER, 0',
    'the stop signal once',
  ],
  ['keeps-streams', 'for (int fd = 0; fd < 1024', 'for (int fd = 3; fd < 1024', 'no stream open'],
  [
    'signal-at-each-look',
    'r->state >= SIGNALED) return',
    'r->state > SIGNALED) return',
    'the stop signal once',
  ],
  ['stopped-stays', 'send_signal(p, SIGCONT);', ';', 'in the foreground'],
  ['keeps-without-keep', 'state.keeps && shared->has_exited', 'shared->has_exited', 'is counted'],
  ['keeps-past-stop', ' && is_watching;', ';', 'after a stop'],
  ['never-ended', 'return errno == ECHILD;', 'return false;', 'exit code 0'],
  ['loss-unreported', 'report("lost")', '(void)0', 'guard dies in a stop'],
  [
    'relay-to-group',
    'kill(is_foreground ? command : -command, number)',
    'kill(-command, number)',
    'a signal is relayed',
  ],
  ['no-choice-for-oom', 'oom_score_adj", "500"', 'oom_score_adj", "0"', 'oom_score_adj'],
  ['environment-shown', 'environ = take(env, "");', '', 'show neither'],
  ['quota-not-watched', 'quota_watch = inotify_init1', 'inotify_init1', 'set later'],
  ['quota-not-read-again', 'm.verb == DEADLINES) prepare', 'false) prepare', 'of the start'],
  [
    'quota-not-read-in-a-stop',
    'if (state.phase == KILLING) return;',
    'if (state.phase != WATCHING) return;',
    'in the grace of',
  ],
  ['waiting-counts', '6 * running * MS', '6 * living * MS', 'that waits'],
  ['list-not-kept', 'children_fd >= 0 && lseek', 'children_fd < 0 && lseek', 'descriptors'],
];

export const mutants: readonly Mutant[] = rows.map(([name, from, to, caughtBy]) => ({
  name,
  from,
  to,
  caughtBy,
}));
