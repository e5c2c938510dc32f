/* redlock-guard: the init of the command that redlock-run runs under a lock. Read README.md first:
 * it has the two processes of this program, their arguments, messages and deadlines. Here are the
 * decisions (pure), what is known about processes, what is done to them, reports, the loop of both
 * guards, and the start.
 *
 * After the start nothing is allocated, and nothing that can fail for want of a descriptor is
 * needed to kill: the list of our own children was opened at the start. */
#define _GNU_SOURCE
#define _DARWIN_C_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#define IDLE_TIMEOUT (-1)
#else
#define IDLE_TIMEOUT 20 /* ms: neither timers nor children wake the loop */
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#define __WALL 0
#endif

typedef int64_t ns;

#define MS ((ns)1000000)
#define NEVER INT64_MAX
#define MAX_SUMMAND (INT64_MAX / 2) /* sums do not overflow */

/* ---- Decisions: pure functions ------------------------------------------------------------- */

enum { MONOTONIC, BOOT, WALL, CLOCKS };
typedef struct {
  ns at[CLOCKS];
} instant;

enum phase { WATCHING, STOPPING, KILLING };

struct state {
  enum phase phase;
  instant stop_at, kill_at; /* the deadlines of the lease */
  ns stop_by, kill_by;      /* what was requested, on the BOOT clock */
  int signal;               /* the stop signal */
  ns grace;                 /* from the stop signal to SIGKILL */
  ns killing;               /* SIGKILL is sent this much before its deadline */
  bool keeps;               /* background processes are left alone */
};

#define LONE_GUARD_GRACE (5000 * MS) /* how long one guard has where the other one is gone */
#define OUTER_DELAY (50 * MS)        /* the outer guard acts only where the inner one has not */

/* When a phase is due on this clock. NEVER: not by this clock. */
static ns due_at(const struct state *s, enum phase phase, int clock) {
  bool is_kill = phase == KILLING;
  ns deadline = is_kill ? s->kill_at.at[clock] : s->stop_at.at[clock];
  if (is_kill && deadline != NEVER) deadline -= s->killing;
  if (clock != BOOT) return deadline;
  ns requested = is_kill ? s->kill_by : s->stop_by;
  return requested < deadline ? requested : deadline;
}

static bool is_due(const struct state *s, enum phase phase, const instant *now, ns delay) {
  for (int i = 0; i < CLOCKS; i++)
    if (now->at[i] - delay >= due_at(s, phase, i)) return true;
  return false;
}

/* `delay`: of the outer guard while the inner one lives. */
static enum phase phase_due(const struct state *s, const instant *now, ns delay) {
  if (is_due(s, KILLING, now, delay)) return KILLING;
  return is_due(s, STOPPING, now, delay) ? STOPPING : WATCHING;
}

/* Requests a stop now, and SIGKILL after the grace. Requests never make anything later. */
static void request_stop(struct state *s, ns now, ns grace) {
  if (s->stop_by > now) s->stop_by = now;
  if (s->kill_by > now + grace) s->kill_by = now + grace;
}

static bool parse_number(const char **text, ns min, ns max, ns *value) {
  char *end;
  errno = 0;
  long long number = strtoll(*text, &end, 10);
  if (end == *text || errno != 0 || number < min || number > max) return false;
  *text = end;
  *value = number;
  return true;
}

static bool skip(const char **text, const char *expected) {
  size_t length = strlen(expected);
  if (strncmp(*text, expected, length) != 0) return false;
  *text += length;
  return true;
}

/* "MONOTONIC,BOOT,WALL" in nanoseconds; "-" for a clock that the sender does not have. */
static bool parse_instant(const char **text, instant *parsed) {
  bool has_clock = false;
  for (int i = 0; i < CLOCKS; i++) {
    parsed->at[i] = NEVER;
    if (i > 0 && !skip(text, ",")) return false;
    bool is_number = parse_number(text, -MAX_SUMMAND, MAX_SUMMAND, &parsed->at[i]);
    if (!is_number && !skip(text, "-")) return false;
    has_clock = has_clock || parsed->at[i] != NEVER;
  }
  return has_clock;
}

enum verb { MALFORMED, DEADLINES, STOP, KILL, RELAY, KEEP };
struct message {
  enum verb verb;
  ns signal, grace_ms;
  instant stop_at, kill_at;
};

static bool parse_signal(const char **text, ns *signal) {
  return parse_number(text, 1, NSIG - 1, signal);
}

/* One line from redlock-run, without its newline. */
static struct message parse_message(const char *line) {
  struct message m = {0};
  bool is_valid = true;
  if (skip(&line, "kill")) m.verb = KILL;
  else if (skip(&line, "keep")) m.verb = KEEP;
  else if (skip(&line, "relay ")) {
    m.verb = RELAY;
    is_valid = parse_signal(&line, &m.signal);
  } else if (skip(&line, "stop ")) {
    m.verb = STOP;
    is_valid = parse_signal(&line, &m.signal) && skip(&line, " ") &&
               parse_number(&line, 0, INT32_MAX, &m.grace_ms);
  } else if (skip(&line, "deadlines ")) {
    m.verb = DEADLINES;
    is_valid = parse_instant(&line, &m.stop_at) && skip(&line, " ") &&
               parse_instant(&line, &m.kill_at);
  }
  if (!is_valid || *line != 0) m.verb = MALFORMED;
  return m;
}

/* What a message changes. RELAY is not remembered: the caller sends the signal. */
static void receive(struct state *s, const struct message *m, ns now) {
  if (m->verb == DEADLINES) {
    s->stop_at = m->stop_at;
    s->kill_at = m->kill_at;
  }
  if (m->verb == KEEP) s->keeps = true;
  if (m->verb == STOP && s->phase == WATCHING) s->signal = (int)m->signal;
  if (m->verb == STOP) request_stop(s, now, m->grace_ms * MS);
  if (m->verb == KILL) request_stop(s, now, 0);
  if (m->verb == MALFORMED) request_stop(s, now, s->grace); /* As if redlock-run had died. */
}

/* ---- What is known about processes --------------------------------------------------------- */

/* A process as it was in a list of children. */
struct item {
  pid_t pid, parent;
  uint64_t parent_start;
};

struct process {
  struct item listed;
  pid_t pid, parent, group, session;
  uint64_t start; /* a later process with the same number has another one */
  bool is_alive, is_running;
  long threads;
};

/* What a stop has done about a process. DUE: it existed before the stop. SPARED: cleanup. */
enum stop_state { UNKNOWN, DUE, SIGNALED, SPARED };
struct record {
  pid_t pid;
  uint64_t start;
  enum stop_state state;
  unsigned look; /* the look that has set SIGNALED or SPARED */
  bool is_killed;
};

/* Shared by both guards, so that either can carry on where the other left off. */
#define RECORDS (1 << 15)
static struct shared {
  pid_t command; /* as the inner guard numbers it */
  int status;    /* of the command, as waitpid(2) has it */
  _Atomic bool is_started, has_exited, is_reported;
  _Atomic bool is_stopping; /* one of the guards has begun to send the stop signal */
  _Atomic bool is_done;     /* a guard has found nothing left to do: its end is no loss */
  _Atomic unsigned beat;    /* the inner guard makes progress */
  _Atomic bool is_waiting;  /* it finds only what it cannot kill, and looks more rarely */
  bool is_group_signaled;
  unsigned look;
  struct record records[RECORDS];
} *shared;

static struct state state = {.stop_by = NEVER, .kill_by = NEVER};
static bool is_outer;           /* which of the two this process is */
static bool is_alone;           /* the other guard is gone */
static pid_t inner;             /* in the outer guard */
static bool is_foreground, is_isolated;
static pid_t our_session;
static int proc_fd = -1;        /* /proc, which survives an unmount and a mount over it */
static int children_fd = -1;    /* the list of our own children */
static int control = -1;        /* from redlock-run; closes when it has died */
static int reports = -1;        /* to redlock-run, from both guards */
static int other_guard = -1;    /* closes when the other guard has died */

static ns read_clock(clockid_t clock) {
  struct timespec t;
  if (clock_gettime(clock, &t) != 0) return 0;
  return (ns)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const clockid_t clock_ids[CLOCKS] = {CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME};
static instant now_on_all(void) {
  instant now;
  for (int i = 0; i < CLOCKS; i++) now.at[i] = read_clock(clock_ids[i]);
  return now;
}

/* Reads a whole file below /proc into `text`, terminated. -1: not now. */
static ssize_t read_proc(const char *path, char *text, size_t size) {
  int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t length = read(fd, text, size - 1);
  close(fd);
  text[length < 0 ? 0 : length] = 0;
  return length;
}

static bool read_process(pid_t pid, struct process *p) {
  static const char format[] = /* proc(5) */
    ") %c %d %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %" SCNu64;
  char path[64], text[1024], state;
  snprintf(path, sizeof path, "%d/stat", (int)pid);
  if (read_proc(path, text, sizeof text) <= 0) return false;
  const char *end_of_name = strrchr(text, ')'); /* The name may contain anything. */
  if (!end_of_name || sscanf(end_of_name, format, &state, &p->parent, &p->group, &p->session,
                             &p->threads, &p->start) != 6)
    return false;
  p->pid = pid;
  p->is_running = state == 'R';
  p->is_alive = (state != 'Z' && state != 'X') || p->threads > 1;
  return true;
}

/* What is still to be visited by a look. */
#define STACK (1 << 16)
static struct item stack[STACK];
static int stack_size;

static void push(pid_t pid, const struct process *parent) {
  if (stack_size == STACK) return;
  pid_t parent_pid = parent ? parent->pid : getpid();
  stack[stack_size++] = (struct item){pid, parent_pid, parent ? parent->start : 0};
}

/* Pushes every number in a list of children (proc(5)). */
static bool push_list(int fd, const struct process *parent) {
  char text[4096];
  ssize_t length;
  long number = 0;
  while ((length = read(fd, text, sizeof text)) > 0)
    for (ssize_t i = 0; i < length; i++) {
      if (text[i] >= '0' && text[i] <= '9') number = number * 10 + (text[i] - '0');
      else if (number > 0) push((pid_t)number, parent), number = 0;
    }
  if (number > 0) push((pid_t)number, parent);
  return length == 0;
}

static bool push_own_children(void) {
  return children_fd >= 0 && lseek(children_fd, 0, SEEK_SET) == 0 && push_list(children_fd, NULL);
}

static bool push_children_of_thread(pid_t pid, const char *thread, const struct process *parent) {
  char path[64];
  snprintf(path, sizeof path, "%d/task/%.20s/children", (int)pid, thread);
  int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == ESRCH;
  bool is_whole = push_list(fd, parent);
  close(fd);
  return is_whole;
}

/* A process has one list of children for each of its threads. */
static bool push_children(const struct process *p) {
  bool is_whole = true;
#ifdef __linux__
  char path[64], entries[2048];
  snprintf(path, sizeof path, "%d", (int)p->pid);
  if (p->threads <= 1) return push_children_of_thread(p->pid, path, p);
  snprintf(path, sizeof path, "%d/task", (int)p->pid);
  int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == ESRCH;
  long length;
  while ((length = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0)
    for (long at = 0; at < length;) {
      /* struct linux_dirent64: inode, offset, length of the entry, type, name. */
      uint16_t size;
      memcpy(&size, entries + at + 16, sizeof size);
      const char *name = entries + at + 19;
      if (*name != '.') is_whole = push_children_of_thread(p->pid, name, p) && is_whole;
      at += size;
    }
  close(fd);
#endif
  return is_whole;
}

/* What can still be said of a process whose /proc entry cannot be read (hidden, or no descriptor is
 * free). Our own children keep their numbers until we reap them. */
static bool assume_child(const struct item *found, struct process *p) {
  if (found->parent != getpid() || kill(found->pid, 0) != 0) return false;
  pid_t group = getpgid(found->pid), session = getsid(found->pid);
  *p = (struct process){.pid = found->pid, .parent = found->parent, .group = group,
                        .session = session, .is_alive = true, .is_running = true, .threads = 1};
  return true;
}

typedef void visit(const struct process *p);

static long living, running; /* found by the last look; the second in threads that may be running */
static uint64_t signature;   /* of the set of living processes */

/* One look at every process of the tree: the command and what is below it first, then the other
 * children, youngest first. The children of a process are listed before it is visited, so that
 * what is done to it hides none of them. The look ends early at `until` on the BOOT clock, or when
 * it has found too many. Processes beyond STACK are left out without a sign. False: something could
 * not be read. */
static bool look(visit *visit, ns until) {
  stack_size = 0;
  living = running = 0;
  signature = 0;
  bool is_whole = push_own_children();
  for (int i = 0; i < stack_size; i++)
    if (stack[i].pid == shared->command) {
      struct item last = stack[stack_size - 1];
      stack[stack_size - 1] = stack[i];
      stack[i] = last;
    }
  while (stack_size > 0 && living < STACK) {
    struct item found = stack[--stack_size];
    struct process p;
    if (!is_outer) atomic_fetch_add(&shared->beat, 1);
    if (!read_process(found.pid, &p) && !assume_child(&found, &p)) continue;
    /* Neither below the parent that listed it nor an orphan of ours: it has ended, and its number
     * may be another's. */
    bool is_ours = p.parent == getpid() || (inner > 0 && p.parent == inner);
    if (p.parent != found.parent && !is_ours) continue;
    if (p.is_alive) is_whole = push_children(&p) && is_whole;
    if (is_outer && p.pid == inner && !is_alone) continue;
    if (p.is_alive) {
      living++;
      running += p.threads > 1 ? p.threads : p.is_running;
      signature += ((uint64_t)p.pid * 1000003u) ^ p.start;
    }
    p.listed = found;
    if (visit) visit(&p);
    if (read_clock(CLOCK_BOOTTIME) >= until) break;
  }
  return is_whole;
}

/* How many processes of the tree are alive; at least one where that cannot be read. */
static long count(void) {
  bool is_whole = look(NULL, NEVER);
  return living == 0 && !is_whole ? 1 : living;
}

/* The record of a process, new where there is none; NULL: there is no room. */
static struct record *record_of(pid_t pid, uint64_t start) {
  unsigned at = ((unsigned)pid * 2654435761u) % RECORDS;
  for (int tries = 0; tries < RECORDS; tries++, at = (at + 1) % RECORDS) {
    struct record *r = &shared->records[at];
    if (r->pid == 0) *r = (struct record){.pid = pid, .start = start};
    if (r->pid == pid && r->start == start) return r;
  }
  return NULL;
}

/* ---- What is done to processes ------------------------------------------------------------- */

/* The command's number, where it is certain that no other process has it. */
static pid_t command_here(void) {
  bool is_foreign = is_outer && (is_isolated || !is_alone);
  return shared->has_exited || is_foreign ? 0 : shared->command;
}

/* Signals a process that a look has found. The number of any but our own children may be another's
 * by now, so its start is compared again behind a descriptor. False: not permitted. */
static bool send_signal(const struct process *p, int number) {
#ifdef SYS_pidfd_open
  bool is_child = p->parent == getpid();
  int fd = is_child ? -1 : (int)syscall(SYS_pidfd_open, p->pid, 0);
  if (fd >= 0) {
    struct process same;
    bool is_same = read_process(p->pid, &same) && same.start == p->start;
    bool is_sent = !is_same || syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) == 0;
    bool is_permitted = is_sent || errno != EPERM;
    close(fd);
    return is_permitted;
  }
  if (!is_child && errno == ESRCH) return true;
#endif
  return kill(p->pid, number) == 0 || errno != EPERM;
}

/* Sends a signal to the command, or to the group that it leads. */
static void relay(int number) {
  pid_t command = command_here();
  if (command > 0) kill(is_foreground ? command : -command, number);
}

static bool has_new; /* the last look has found a process that none before it had */

static void note_before_stop(const struct process *p) {
  struct record *r = record_of(p->pid, p->start);
  if (r && r->state == UNKNOWN) r->state = p->group == shared->command ? SIGNALED : DUE;
}

/* Sends the stop signal to a process that has not had it, and is no cleanup of one that has. */
static void stop_one(const struct process *p) {
  struct record *r = record_of(p->pid, p->start);
  if (!r || r->state >= SIGNALED) return;
  const struct item *from = &p->listed;
  struct record *parent = from->parent_start ? record_of(from->parent, from->parent_start) : NULL;
  bool is_cleanup = r->state == UNKNOWN && parent && parent->look != shared->look &&
                    parent->state >= SIGNALED;
  has_new = true;
  r->state = is_cleanup ? SPARED : SIGNALED;
  r->look = shared->look;
  if (is_cleanup || (shared->is_group_signaled && p->group == shared->command)) return;
  send_signal(p, state.signal);
  send_signal(p, SIGCONT); /* A stopped process could not act on it. */
}

/* Sends the stop signal to each process once, whichever guard does it and however often it is
 * requested: to a command with a session of its own as a group, whose members cannot be missed, to
 * all others singly, in looks until one finds nothing new. They end after a quarter of the time to
 * SIGKILL: where processes fork, each look takes longer than the one before. */
static void stop_tree(ns time_left) {
  ns now = read_clock(CLOCK_BOOTTIME), until = now + time_left / 4;
  if (!is_foreground && command_here() > 0 && !shared->is_group_signaled) {
    look(note_before_stop, until < now + 100 * MS ? until : now + 100 * MS);
    relay(state.signal);
    shared->is_group_signaled = true;
    relay(SIGCONT);
  }
  for (int i = 0; i < 5; i++) {
    has_new = false;
    shared->look++;
    if (!look(stop_one, until) && is_foreground && i == 0 && !has_new) {
      relay(state.signal); /* Nothing can be read now. */
      relay(SIGCONT);
    }
    if (!has_new || read_clock(CLOCK_BOOTTIME) >= until) return;
  }
}

/* Reaps every child that has ended. True: the kernel says that no child is left. */
static bool reap(void) {
  for (;;) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL);
    if (pid == 0) return false;
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return errno == ECHILD;
    if (WIFSTOPPED(status)) {
      /* A stopped inner guard would report nothing. */
      if (is_outer && pid == inner) kill(inner, SIGCONT);
      continue;
    }
    if (is_outer && pid == inner) inner = 0;
    else if (pid == shared->command && !(is_outer && is_isolated)) {
      shared->status = status;
      shared->has_exited = true;
    }
  }
}

/* A session that was created in the tree has no other processes in its groups. A group dies in one
 * step, so none of its members can fork during that time. */
static void kill_group(pid_t group, pid_t session) {
  if (session > 0 && session != our_session && group > 1) kill(-group, SIGKILL);
}

/* This alone ends a tree, whatever cannot be read: our children keep their numbers until we reap
 * them, their orphans become our children, and the list is open already. */
static void kill_children(void) {
  if (is_outer && !is_alone) return; /* The other guard is one of them. */
  int before = stack_size;
  push_own_children();
  for (int i = stack_size - 1; i >= before; i--) {
    kill_group(getpgid(stack[i].pid), getsid(stack[i].pid));
    kill(stack[i].pid, SIGKILL);
  }
  stack_size = before;
}

static long visited, permitted;

static void kill_one(const struct process *p) {
  kill_group(p->group, p->session);
  if (send_signal(p, SIGKILL) && p->is_alive) permitted++;
  struct record *r = record_of(p->pid, p->start);
  has_new = has_new || (r && p->is_alive && !r->is_killed);
  if (r) r->is_killed = true;
  /* What these have left behind is killed without a look at each. */
  if (++visited % 100 == 0) {
    kill_children();
    reap();
  }
}

/* Sends SIGKILL to everything once. */
static void kill_tree(void) {
  relay(SIGKILL);
  if (command_here() > 0) kill(command_here(), SIGKILL); /* It may not lead its group yet. */
  kill_children();
  if (reap()) return;
  visited = permitted = 0;
  has_new = false;
  look(kill_one, NEVER);
}

/* ---- Reports to redlock-run ----------------------------------------------------------------- */

/* One write, best effort: where redlock-run has died or reads nothing, the deadlines still end the
 * tree. */
static void write_once(int fd, const void *bytes, size_t size) {
  if (write(fd, bytes, size) < 0) return;
}

static void report(const char *format, ...) {
  char text[1200];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text - 1, format, values);
  va_end(values);
  strcat(text, "\n");
  write_once(reports, text, strlen(text));
}

static int start_socket = -1; /* in the inner guard: closes when the command has been executed */
static bool is_failed;        /* the command could not be started */
static bool is_stopped_early; /* a deadline had passed before it was known whether it started */

static void hear_of_start(void) {
  if (start_socket < 0) return;
  int error;
  ssize_t got = read(start_socket, &error, sizeof error);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  close(start_socket);
  start_socket = -1;
  is_failed = got == (ssize_t)sizeof error;
  shared->is_started = !is_failed;
  if (is_failed) report("failed %d", error);
  else report("started %d", (int)shared->command);
  if (!is_failed && is_stopped_early) report("stopping");
}

static void report_exit(void) {
  hear_of_start();
  if (is_failed || !shared->has_exited) return;
  if (atomic_exchange(&shared->is_reported, true)) return;
  instant now = now_on_all();
  long left = reap() ? 0 : count();
  int status = shared->status;
  int code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  report("%s %d %ld %lld,%lld,%lld", WIFSIGNALED(status) ? "signaled" : "exited", code, left,
         (long long)now.at[MONOTONIC], (long long)now.at[BOOT], (long long)now.at[WALL]);
}

static char unkillable[1000];
static void note_unkillable(const struct process *p) {
  size_t length = strlen(unkillable);
  if (p->is_alive && length < sizeof unkillable - 16)
    snprintf(unkillable + length, 16, " %d", (int)p->pid);
}

/* Whether what is left cannot be killed: looks have found the same processes for 50 ms and no
 * SIGKILL is permitted, or for ten seconds, as in an uninterruptible wait. Reports that once. */
static bool is_unkillable(void) {
  static uint64_t last;
  static ns since;
  static bool is_reported;
  ns now = read_clock(CLOCK_BOOTTIME);
  if (signature != last || living == 0) since = now;
  last = signature;
  bool is_stuck = now - since > (permitted == 0 ? 50 : 10000) * MS;
  if (is_stuck && !is_reported) {
    unkillable[0] = 0;
    look(note_unkillable, NEVER);
    if (unkillable[0] == 0) return false; /* They have ended after all: waitpid(2) decides. */
    is_reported = true;
    report("unkillable%s", unkillable);
  }
  return is_stuck;
}

/* ---- The loop of both guards ---------------------------------------------------------------- */

static int quota_fd = -1;    /* the limit of processor time, which may change at any time */
static int quota_watch = -1; /* readable when the limit has changed */
static ns quota_period;      /* in microseconds */
static int child_watch = -1; /* readable when a child has changed */
static int timers[CLOCKS] = {-1, -1, -1};
static ns quota;             /* the limit, in microseconds of each period; 0: a core or more */

/* Under a quota either guard may wake late, so whichever wakes first acts. */
static ns delay(void) { return is_outer && !is_alone && quota == 0 ? OUTER_DELAY : 0; }

#define MAX_PERIOD 1000000 /* of the kernel: a second */

/* In cgroup v2 the file has a second number, the period, which may have changed too. */
static void read_quota(void) {
  char text[64];
  ssize_t length = quota_fd < 0 ? -1 : pread(quota_fd, text, sizeof text - 1, 0);
  text[length < 0 ? 0 : length] = 0;
  const char *at = text;
  if (!parse_number(&at, 1, MAX_SUMMAND, &quota)) quota = 0;
  if (quota > 0 && skip(&at, " ")) parse_number(&at, 1, MAX_PERIOD, &quota_period);
  if (quota >= quota_period) quota = 0;
}

/* How long it takes to end the tree. Under a limit, each thread that runs has a turn of 4 ms before
 * this process wakes, some have two, and what is killed ends within a few periods. */
static ns killing_time(void) {
  ns time = count() * MS;
  return quota > 0 ? time + (6 * running * MS / quota + 4000) * quota_period : time;
}

/* Under a limit this process wakes late, so it has to know beforehand when to begin. */
static void prepare_for_quota(void) {
  read_quota();
  if (state.phase == KILLING) return;
  if (quota > 0) state.killing = killing_time();
  else if (state.phase == WATCHING) state.killing = 0;
}

static void lose_control(void) {
  close(control);
  control = -1; /* Reports would fail from now on, and do no harm. */
  request_stop(&state, read_clock(CLOCK_BOOTTIME), state.grace);
}

/* Reads what redlock-run has sent. The end of the socket means that it has died. */
static void listen_to_run(void) {
  static char text[512];
  static size_t length;
  while (control >= 0) {
    ssize_t got = read(control, text + length, sizeof text - 1 - length);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (got <= 0) return lose_control();
    length += (size_t)got;
    text[length] = 0;
    char *line = text;
    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
      *end = 0;
      struct message m = parse_message(line);
      receive(&state, &m, read_clock(CLOCK_BOOTTIME));
      if (m.verb == RELAY && !is_outer) relay((int)m.signal);
      if (m.verb == DEADLINES) prepare_for_quota();
      if (m.verb == MALFORMED) return lose_control();
    }
    length -= (size_t)(line - text);
    memmove(text, line, length);
    if (length == sizeof text - 1) return lose_control();
  }
}

/* The other guard is gone. This one ends the tree soon, because nothing would if it died too. */
static void lose_other(void) {
  close(other_guard);
  other_guard = -1;
  if (is_alone || shared->is_done) return;
  is_alone = true;
  report("lost");
  /* The other guard may have signaled only part of the tree. */
  if (state.phase == STOPPING) state.phase = WATCHING;
  ns grace = state.grace < LONE_GUARD_GRACE ? state.grace : LONE_GUARD_GRACE;
  request_stop(&state, read_clock(CLOCK_BOOTTIME), grace);
}

static ns time_to_kill(const instant *now) {
  ns left = NEVER;
  for (int i = 0; i < CLOCKS; i++) {
    ns at = due_at(&state, KILLING, i);
    if (at != NEVER && at - now->at[i] < left) left = at - now->at[i];
  }
  return left;
}

static void enter(enum phase phase, const instant *now) {
  bool is_requested = now->at[BOOT] - delay() >= state.stop_by;
  bool is_first = !atomic_exchange(&shared->is_stopping, true);
  if (is_first && !is_requested) {
    bool is_starved = quota > 0 && !is_due(&state, STOPPING, now, 0);
    if (shared->is_started) report(is_starved ? "starved" : "stopping");
    else is_stopped_early = true;
  }
  state.phase = phase;
  if (state.kill_by == NEVER) state.kill_by = now->at[BOOT] + state.grace;
  if (phase == KILLING || !(is_first || is_alone)) return;
  /* A tree so large that it takes longer to kill than there is time gets no stop signal. */
  read_quota();
  state.killing = killing_time();
  ns left = time_to_kill(now);
  if (left > 0) stop_tree(left);
  else state.kill_by = now->at[BOOT];
}

/* How long the inner guard may make no progress. A `killing` from before a quota is too short. */
static ns patience(void) {
  ns periods = 4000 * quota_period;
  if (quota == 0) return shared->is_waiting ? 10 * OUTER_DELAY : OUTER_DELAY;
  return state.killing > periods ? state.killing : periods;
}

/* The outer guard kills an inner one that has not begun, or makes no progress. */
static void take_over(void) {
  static unsigned beat;
  static ns seen_at;
  ns now = read_clock(CLOCK_BOOTTIME);
  unsigned beats = shared->beat;
  if (seen_at != 0 && now - seen_at < patience()) return;
  if (seen_at != 0 && beats == beat) {
    kill(inner, SIGKILL);
    is_alone = true; /* Its end may never be seen: it may be traced or frozen. */
    request_stop(&state, now, 0);
  }
  beat = beats;
  seen_at = now;
}

/* Sends SIGKILL until nothing is left: without a pause while a look finds a new process, so that
 * nothing that forks can outrun it, then more and more rarely, because dying takes processor time
 * too. Returns for how many ms to wait until the next call. */
static int keep_killing(void) {
  static ns next, pause = MS;
  if (is_outer && !is_alone) {
    take_over();
    if (quota == 0) return 10;
  }
  ns now = read_clock(CLOCK_BOOTTIME);
  if (now < next) return (int)((next - now) / MS) + 1;
  kill_tree();
  bool is_stuck = is_unkillable();
  if (!is_outer) shared->is_waiting = is_stuck;
  if (is_stuck) return 100;
  pause = has_new ? 0 : pause < MS ? MS : pause < 32 * MS ? 2 * pause : pause;
  next = read_clock(CLOCK_BOOTTIME) + pause;
  return (int)(pause / MS);
}

/* Wakes the loop at the next deadline. While it kills it waits for nothing, and a timer that has
 * expired would keep it awake. */
static void set_timers(void) {
#ifdef __linux__
  for (int i = 0; i < CLOCKS; i++) {
    ns at = due_at(&state, KILLING, i), stop_at = due_at(&state, STOPPING, i);
    if (state.phase == WATCHING && stop_at < at) at = stop_at;
    struct itimerspec timer = {0};
    if (at != NEVER && state.phase != KILLING) {
      at = at + delay() < 1 ? 1 : at + delay();
      timer.it_value.tv_sec = (time_t)(at / 1000000000);
      timer.it_value.tv_nsec = (long)(at % 1000000000);
    }
    timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &timer, NULL);
  }
#endif
}

/* Waits for a message, the end of a child or of the other guard, or a deadline, and reads whatever
 * has come. */
static void wait_for_events(int timeout) {
  char drained[512];
  struct pollfd fds[] = {
    {control, POLLIN, 0},      {child_watch, POLLIN, 0}, {other_guard, POLLIN, 0},
    {start_socket, POLLIN, 0}, {timers[0], POLLIN, 0},   {timers[1], POLLIN, 0},
    {timers[2], POLLIN, 0},    {quota_watch, POLLIN, 0},
  };
  int ready = poll(fds, sizeof fds / sizeof *fds, timeout);
  /* poll fails where RLIMIT_NOFILE is now below the number of entries. */
  if (ready < 0 && errno == EINVAL) poll(NULL, 0, timeout >= 0 && timeout < 10 ? timeout : 10);
  while (read(child_watch, drained, sizeof drained) > 0) {}
  while (read(quota_watch, drained, sizeof drained) > 0) prepare_for_quota();
  hear_of_start();
  listen_to_run();
  if (other_guard >= 0 && read(other_guard, drained, 1) == 0) lose_other();
}

/* Whether this guard has nothing left to do. `is_empty`: as reap() returns it. */
static bool is_over(bool is_empty) {
  if (is_outer && inner == 0 && shared->is_done) return true;
  if (is_outer && inner == 0) lose_other();
  instant now = now_on_all();
  bool is_watching = phase_due(&state, &now, 0) == WATCHING;
  bool is_kept = state.keeps && shared->has_exited && is_watching;
  if (!is_empty && !is_kept) return false;
  report_exit();
  if (is_empty) report("ended");
  shared->is_done = true;
  return true;
}

static void guard(void) {
  read_quota();
  for (;;) {
    bool is_empty = reap();
    if (is_over(is_empty)) return;
    if (!is_outer || is_alone) report_exit();
    instant now = now_on_all();
    enum phase phase = phase_due(&state, &now, delay());
    if (phase > state.phase) {
      listen_to_run(); /* Later deadlines may have been sent while this process was stopped. */
      phase = phase_due(&state, &now, delay());
    }
    if (phase > state.phase) enter(phase, &now);
    int timeout = IDLE_TIMEOUT;
    if (state.phase == KILLING) {
      timeout = keep_killing();
      if (timeout == 100 && control < 0) return; /* Nothing more can be done. */
    }
    set_timers();
    wait_for_events(timeout);
  }
}

/* ---- The start ------------------------------------------------------------------------------ */

extern char **environ;

static void die(const char *what) {
  int error = errno;
  report("unable %s: %s", what, strerror(error));
  dprintf(2, "redlock-guard: %s: %s\n", what, strerror(error));
  _exit(125);
}

/* Whether a pipe or socket has no reader any more. */
static bool is_hung_up(int fd) {
  struct stat s;
  struct pollfd p = {fd, 0, 0};
  if (fstat(fd, &s) != 0 || !(S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode))) return false;
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP));
}

/* Ends with 10 when stderr is hung up, and with 0 when redlock-run closes descriptor 3. */
static int watch_for_hang_up(void) {
  for (;;) {
    struct pollfd fds[] = {{2, 0, 0}, {3, POLLIN, 0}};
    if (is_hung_up(2)) return 10;
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return 125;
    if (fds[1].revents) return 0;
  }
}

/* As execvp(3), which runs a script without an interpreter line by /bin/sh, except in musl: there a
 * shell has to look it up again. Returns the error. */
static int execute(char **argv) {
  execvp(argv[0], argv);
  if (errno != ENOEXEC) return errno;
  size_t count = 0;
  while (argv[count]) count++;
  char *script[count + 4];
  memcpy(script, (char *[]){"sh", "-c", "exec \"$0\" \"$@\""}, 3 * sizeof *script);
  memcpy(script + 3, argv, (count + 1) * sizeof *argv);
  execv("/bin/sh", script);
  return errno;
}

static bool write_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool is_written = write(fd, text, strlen(text)) >= 0;
  close(fd);
  return is_written;
}

/* Makes the kernel take the command first when memory runs out, unless the caller has set
 * oom_score_adj. */
static void prefer_for_oom(void) {
  char value[16];
  if (read_proc("self/oom_score_adj", value, sizeof value) < 1 || strcmp(value, "0\n") != 0) return;
  write_file("/proc/self/oom_score_adj", "500");
}

/* In the child, once the inner guard has left its process group and sent a byte. The socket closes
 * when the command is executed. */
static void become_command(int socket, char **argv, const sigset_t *mask) {
  char byte;
  if (!is_foreground) setsid();
  if (read(socket, &byte, 1) != 1) _exit(127); /* The inner guard has died, maybe the other too. */
  instant now = now_on_all();
  int error = ETIME;
  if (phase_due(&state, &now, 0) == WATCHING) {
    prefer_for_oom();
    sigprocmask(SIG_SETMASK, mask, NULL);
    error = execute(argv);
  }
  write_once(socket, &error, sizeof error);
  _exit(127);
}

static void open_pair(int pair[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) die("socketpair");
  for (int i = 0; i < 2; i++) fcntl(pair[i], F_SETFD, FD_CLOEXEC);
}

static void start_command(char **argv, const sigset_t *mask) {
  int pair[2];
  open_pair(pair);
  pid_t pid = fork();
  if (pid == 0) {
    close(pair[0]);
    become_command(pair[1], argv, mask);
  }
  int error = errno;
  close(pair[1]);
  if (pid < 0) {
    report("failed %d", error);
    shared->is_done = true;
    _exit(0);
  }
  shared->command = pid;
  start_socket = pair[0];
  fcntl(start_socket, F_SETFL, O_NONBLOCK);
  setpgid(0, 0); /* What kills the caller's group must not kill the guard with the command. */
  write_once(start_socket, "", 1);
}

#ifdef __linux__
/* Opens /proc, and the list of our own children, for good. */
static void open_proc(void) {
  char self[32], path[64];
  proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ssize_t length = readlinkat(proc_fd, "self", self, sizeof self - 1);
  self[length < 0 ? 0 : length] = 0;
  if (atol(self) != getpid()) {
    errno = ENOENT;
    die("/proc shows no processes of this PID namespace");
  }
  snprintf(path, sizeof path, "self/task/%s/children", self);
  children_fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
  if (children_fd < 0) die("the kernel lists no children");
}
#endif

/* Makes every orphan of the tree a child of this process, and lets it reap them. */
static void adopt_orphans(void) {
  signal(SIGCHLD, SIG_DFL); /* The caller may have ignored it. */
#ifdef __linux__
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) die("prctl");
#endif
}

/* What each of the two guards does for itself after the fork. */
static void settle(void) {
  const int sockets[] = {control, reports, other_guard};
  for (int i = 0; i < 3; i++) {
    fcntl(sockets[i], F_SETFL, O_NONBLOCK);
    fcntl(sockets[i], F_SETFD, FD_CLOEXEC);
  }
  adopt_orphans();
#ifdef __linux__
  sigset_t of_child;
  sigemptyset(&of_child);
  sigaddset(&of_child, SIGCHLD);
  child_watch = signalfd(-1, &of_child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (child_watch < 0) die("signalfd");
  for (int i = 0; i < CLOCKS; i++) {
    timers[i] = timerfd_create(clock_ids[i], TFD_CLOEXEC | TFD_NONBLOCK);
    if (timers[i] < 0) die("timerfd_create");
  }
  char quota_file[32];
  snprintf(quota_file, sizeof quota_file, "/proc/self/fd/%d", quota_fd);
  if (quota_fd >= 0) quota_watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  inotify_add_watch(quota_watch, quota_file, IN_MODIFY);
  mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT); /* As far as it is allowed. */
  open_proc();
#endif
  our_session = getsid(0);
}

/* Makes the inner guard the init of a PID namespace: root directly, another user in a user
 * namespace in which it keeps its own user. Returns as fork(2). */
static pid_t fork_isolated(void) {
#ifdef __linux__
  const char *files[] = {"/proc/self/setgroups", "/proc/self/uid_map", "/proc/self/gid_map"};
  char texts[3][64] = {"deny"};
  snprintf(texts[1], sizeof texts[1], "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
  snprintf(texts[2], sizeof texts[2], "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
  int flags = CLONE_NEWPID | CLONE_NEWNS | SIGCHLD;
  pid_t pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
  bool is_mapped = pid < 0 && errno == EPERM;
  if (is_mapped) pid = (pid_t)syscall(SYS_clone, flags | CLONE_NEWUSER, 0, 0, 0, 0);
  if (pid != 0) return pid;
  for (int i = 0; is_mapped && i < 3; i++)
    if (!write_file(files[i], texts[i])) die(files[i]);
  /* /proc has to show the numbers of the namespace. All other mounts stay shared. */
  mount("none", "/proc", NULL, MS_PRIVATE | MS_REC, NULL);
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) die("/proc");
  return 0;
#else
  errno = ENOSYS;
  return -1;
#endif
}

/* Lets this process run soon after it wakes. The short slice needs no right, and kernels before
 * 6.12 ignore it: sched_setattr(2). */
static void shorten_turns(void) {
#ifdef SYS_sched_setattr
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } wanted = {.size = 48, .flags = 0x08 /* SCHED_FLAG_KEEP_POLICY */, .runtime = MS / 10};
  wanted.nice = getpriority(PRIO_PROCESS, 0);
  syscall(SYS_sched_setattr, 0, &wanted, 0);
  setpriority(PRIO_PROCESS, 0, -20); /* Where it is allowed. The command keeps its own. */
#endif
}

/* Closes the caller's files, which belong to the command: a pipeline waits for their end. Ours are
 * close-on-exec; inherited ones cannot be, and that tells them apart. */
static void leave_caller(void) {
  for (int fd = 0; fd < 1024; fd++)
    if (fcntl(fd, F_GETFD) == 0) close(fd);
  if (chdir("/") != 0) return; /* Then a folder stays busy. */
}

static bool is_check, is_hang_up_watched;
static bool is_known; /* the caller sends the messages of README.md */

/* The index of the first argument that is no option; 0: one of them is unknown. */
static int parse_options(int argc, char **argv) {
  int at = 1;
  for (; at < argc && !strncmp(argv[at], "--", 2) && argv[at][2]; at++) {
    const char *name = argv[at] + 2, *value = strchr(name, '=');
    const char *rest = value ? value + 1 : "";
    ns number = 0;
    bool has_number = value && parse_number(&rest, 0, INT32_MAX, &number) && *rest == 0;
    if (!strcmp(name, "foreground")) is_foreground = true;
    else if (!strcmp(name, "isolate")) is_isolated = true;
    else if (!strcmp(name, "unless-hung-up")) is_hang_up_watched = true;
    else if (!strcmp(name, "check")) is_check = true;
    else if (!strcmp(name, "protocol=1")) is_known = true;
    else if (!strcmp(name, "until-hung-up")) _exit(watch_for_hang_up());
    else if (has_number && !strncmp(name, "signal=", 7)) state.signal = (int)number;
    else if (has_number && !strncmp(name, "grace=", 6)) state.grace = number * MS;
    else if (has_number && !strncmp(name, "quota-period=", 13)) quota_period = number;
    else if (!strncmp(name, "quota=", 6)) quota_fd = open(name + 6, O_RDONLY | O_CLOEXEC);
    else return 0;
  }
  return at;
}

/* Copies the arguments or the environment, and overwrites the original, so that a search for the
 * command in ps(1) does not find its guard. */
static char **take(char **list, const char *name) {
  size_t count = 0;
  while (list[count]) count++;
  char **copy = calloc(count + 1, sizeof *copy);
  for (size_t i = 0; i < count; i++) {
    size_t length = strlen(list[i]);
    if (!copy || !(copy[i] = strdup(list[i]))) die("memory");
    /* A preloaded library reads its own variables. */
    bool is_of_library = !strncmp(list[i], "LD_", 3) || !strncmp(list[i], "FAKETIME", 8);
    if (!is_of_library) memset(list[i], 0, length);
    if (i == 0 && *name) snprintf(list[i], length + 1, "%s", name);
  }
  return copy;
}

/* Tries out what a run needs, without a command. */
static int check(void) {
  is_outer = true;
  settle();
  pid_t pid = is_isolated ? fork_isolated() : fork();
  if (pid == 0) _exit(0);
  int status;
  if (pid < 0) die(is_isolated ? "clone" : "fork");
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

/* The index of the command in `argv`; 0: the arguments are not those of redlock-run. */
static int parse_arguments(int argc, char **argv) {
  int at = parse_options(argc, argv);
  if (at > 0 && is_check) _exit(check());
  if (at == 0 || !is_known || argc - at < 4 || strcmp(argv[at + 2], "--") != 0) return 0;
  const char *stop_at = argv[at], *kill_at = argv[at + 1];
  if (!parse_instant(&stop_at, &state.stop_at) || *stop_at) return 0;
  if (!parse_instant(&kill_at, &state.kill_at) || *kill_at) return 0;
  return state.signal < 1 || state.signal >= NSIG ? 0 : at + 3;
}

int main(int argc, char **argv, char **env) {
  int at = parse_arguments(argc, argv);
  if (at == 0) {
    dprintf(2, "redlock-guard: it is started by redlock-run of the same version, not by hand\n");
    return 64;
  }
  reports = 5;
  if (is_hang_up_watched && is_hung_up(2)) return report("hung-up"), 0;
  char **command = take(argv, "redlock-guard") + at;
  environ = take(env, "");
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) die("mmap");
  int pair[2];
  open_pair(pair);
  sigset_t blocked, mask;
  sigfillset(&blocked);
  sigprocmask(SIG_SETMASK, &blocked, &mask);
  if (!is_foreground) setsid();
  adopt_orphans(); /* The inner guard may have started the command and died before this one runs. */
  is_outer = true;
  inner = is_isolated ? fork_isolated() : fork();
  if (inner < 0 && is_isolated) die("clone");
  if (inner < 0) return report("failed %d", errno), 0;
  is_outer = inner > 0;
  other_guard = pair[is_outer ? 0 : 1];
  control = is_outer ? 3 : 4;
  close(pair[is_outer ? 1 : 0]);
  close(is_outer ? 4 : 3);
  settle();
  if (is_outer) setpgid(0, 0);
  else start_command(command, &mask);
  leave_caller();
  shorten_turns();
  guard();
  /* If redlock-run has died, nobody else would continue a stopped outer guard. */
  if (!is_outer && !is_alone && getppid() > 1) kill(getppid(), SIGCONT);
  return 0;
}
