/* The decisions of guard.c by themselves: tables, and sequences of messages by chance, cut anywhere.
 * Ends with 1 and a line for the first fact that does not hold. A seed gives the same sequences
 * everywhere. */
#define main guard_main
#define clock_gettime fake_clock_gettime
#ifdef GUARD
#include GUARD
#else
#include "../../src/guard/guard.c"
#endif
#undef main
#undef clock_gettime
#include <inttypes.h>

/* What all clocks show. */
static ns now_everywhere = 1000 * MS;

int fake_clock_gettime(clockid_t clock, struct timespec *t) {
  (void)clock;
  t->tv_sec = (time_t)(now_everywhere / 1000000000);
  t->tv_nsec = (long)(now_everywhere % 1000000000);
  return 0;
}

#define CHECK(fact, ...)                                    \
  do {                                                      \
    if (!(fact)) {                                          \
      printf("line %d: %s: ", __LINE__, #fact);             \
      printf(__VA_ARGS__);                                  \
      printf("\n");                                         \
      exit(1);                                              \
    }                                                       \
  } while (0)

static uint64_t seed = 20261129;

static uint64_t random_below(uint64_t limit) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed % limit;
}

static instant on_clocks(ns monotonic, ns boot, ns wall) {
  return (instant){{monotonic, boot, wall}};
}

static struct state watching(void) {
  return (struct state){
    .stop_at = on_clocks(1000, 1000, 1000), .kill_at = on_clocks(2000, 2000, 2000),
    .stop_by = NEVER, .kill_by = NEVER, .signal = 15, .grace = 100, .phase = WATCHING,
  };
}

static void test_deadlines(void) {
  for (int i = 0; i < CLOCKS; i++) {
    struct state s = watching();
    s.stop_at = s.kill_at = on_clocks(NEVER, NEVER, NEVER);
    instant now = on_clocks(5, 5, 5);
    CHECK(!is_due(&s, KILLING, &now, 0) && !is_due(&s, STOPPING, &now, 0), "no clock");
    s.stop_at.at[i] = 50;
    now.at[i] = 49;
    CHECK(!is_due(&s, STOPPING, &now, 0), "clock %d", i);
    now.at[i] = 50;
    CHECK(is_due(&s, STOPPING, &now, 0), "clock %d", i);
    CHECK(!is_due(&s, STOPPING, &now, 1), "clock %d, later", i);
    CHECK(!is_due(&s, KILLING, &now, 0), "clock %d, the other deadline", i);
    now.at[i] = 51;
    CHECK(is_due(&s, STOPPING, &now, 1), "clock %d, later", i);
  }
}

static enum phase due(const struct state *s, ns now, ns delay) {
  instant at = on_clocks(now, now, now);
  return phase_due(s, &at, delay);
}

static void test_phases(void) {
  struct state s = watching();
  CHECK(due(&s, 999, 0) == WATCHING, "before");
  CHECK(due(&s, 1000, 0) == STOPPING, "stop");
  CHECK(due(&s, 1999, 0) == STOPPING, "before the second");
  CHECK(due(&s, 2000, 0) == KILLING, "kill");
  CHECK(due(&s, 1049, 50) == WATCHING, "the outer guard waits");
  CHECK(due(&s, 1050, 50) == STOPPING, "and acts");
  CHECK(due(&s, 2049, 50) == STOPPING, "the outer guard waits");
  CHECK(due(&s, 2050, 50) == KILLING, "and acts");
  s.killing = 300;
  CHECK(due(&s, 1699, 0) == STOPPING, "a large tree");
  CHECK(due(&s, 1700, 0) == KILLING, "is killed sooner");
  CHECK(due(&s, 1749, 50) == STOPPING, "a large tree, the outer guard");
  CHECK(due(&s, 1750, 50) == KILLING, "a large tree, the outer guard");
  s = watching();
  s.stop_by = 500, s.kill_by = 600;
  CHECK(due(&s, 499, 0) == WATCHING, "before a request");
  CHECK(due(&s, 500, 0) == STOPPING, "a request");
  CHECK(due(&s, 549, 50) == WATCHING, "a request, the outer guard");
  CHECK(due(&s, 600, 0) == KILLING, "its grace");
  CHECK(due(&s, 649, 50) == STOPPING, "its grace, the outer guard");
  instant now = on_clocks(900, 499, 900);
  CHECK(phase_due(&s, &now, 0) == WATCHING, "a request counts on the boot clock");
}

static void test_requests(void) {
  struct state s = watching();
  request_stop(&s, 300, 50);
  CHECK(s.stop_by == 300 && s.kill_by == 350, "the first");
  request_stop(&s, 310, 100);
  CHECK(s.stop_by == 300 && s.kill_by == 350, "a later one lengthens nothing");
  request_stop(&s, 320, 10);
  CHECK(s.stop_by == 300 && s.kill_by == 330, "a later one may shorten");
  s = watching();
  struct message m = {.verb = STOP, .signal = 2, .grace_ms = 70};
  receive(&s, &m, 400);
  CHECK(s.signal == 2 && s.stop_by == 400 && s.kill_by == 400 + 70 * MS, "stop");
  s.phase = STOPPING, m.signal = 3;
  receive(&s, &m, 410);
  CHECK(s.signal == 2, "the signal of a stop that has begun stays");
  s = watching();
  m = (struct message){.verb = KILL};
  receive(&s, &m, 400);
  CHECK(s.stop_by == 400 && s.kill_by == 400, "kill");
  s = watching();
  m = (struct message){.verb = MALFORMED};
  receive(&s, &m, 400);
  CHECK(s.stop_by == 400 && s.kill_by == 500, "malformed: the grace of the start");
  s = watching();
  m = (struct message){.verb = KEEP};
  receive(&s, &m, 400);
  CHECK(s.keeps && s.stop_by == NEVER && s.kill_by == NEVER, "keep");
  s = watching();
  m = (struct message){.verb = RELAY, .signal = 10};
  receive(&s, &m, 400);
  struct state same = watching();
  CHECK(!memcmp(&s, &same, sizeof s), "relay changes nothing");
  m = (struct message){.verb = DEADLINES, .stop_at = on_clocks(1, 2, 3),
                       .kill_at = on_clocks(4, 5, 6)};
  receive(&s, &m, 400);
  CHECK(s.stop_at.at[2] == 3 && s.kill_at.at[0] == 4 && s.stop_by == NEVER, "deadlines");
}

static enum verb verb_of(const char *line) { return parse_message(line).verb; }

static void test_lines(void) {
  static const char *malformed[] = {
    "", " ", "stop", "stop ", "stop 15", "stop 15 ", "stop 15 1 ", "stop 15 1x", "stop 0 1",
    "stop 65 1", "stop -1 1", "stop 15 -1", "stop 15 2147483648", "stop 15 99999999999999999999",
    "stopp 15 1", "sto 15 1", "kill ", "kill 1", "kil", "killl", "keep ", "keep 1", "kee", "relay",
    "relay 0", "relay 65", "relay 1 1", "rela 1", "deadlines", "deadlines 1,1,1", "deadlines 1,1,1 ",
    "deadlines 1,1,1 1,1", "deadlines 1,1,1 1,1,1,1", "deadlines 1,1 1,1,1", "deadlines -,-,- 1,1,1",
    "deadlines 1,1,1 -,-,-", "deadlines 1,1,1  1,1,1x", "deadlines ,, ,,", "deadline 1,1,1 1,1,1",
    "deadlines 1,1,--1 1,1,1", "deadlines 9223372036854775808,1,1 1,1,1", "Kill", "kill\r",
  };
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
    CHECK(verb_of(malformed[i]) == MALFORMED, "'%s'", malformed[i]);
  CHECK(verb_of("kill") == KILL && verb_of("keep") == KEEP, "words");
  struct message m = parse_message("stop 64 2147483647");
  CHECK(m.verb == STOP && m.signal == 64 && m.grace_ms == 2147483647, "stop");
  m = parse_message("stop 1 0");
  CHECK(m.verb == STOP && m.signal == 1 && m.grace_ms == 0, "stop at once");
  m = parse_message("relay 28");
  CHECK(m.verb == RELAY && m.signal == 28, "relay");
  m = parse_message("deadlines -,-5,7 8,-,9");
  CHECK(m.verb == DEADLINES, "deadlines");
  CHECK(m.stop_at.at[0] == NEVER && m.stop_at.at[1] == -5 && m.stop_at.at[2] == 7, "stop_at");
  CHECK(m.kill_at.at[0] == 8 && m.kill_at.at[1] == NEVER && m.kill_at.at[2] == 9, "kill_at");
}

/* ---- By chance ------------------------------------------------------------------------------ */

static void random_instant(char *text, size_t size) {
  char numbers[CLOCKS][24];
  int known = (int)random_below(CLOCKS); /* At least one clock is known. */
  for (int i = 0; i < CLOCKS; i++) {
    uint64_t kind = random_below(12);
    ns ms = (ns)random_below(4000000);
    if (kind == 0 && i != known) strcpy(numbers[i], "-");
    else if (kind == 1) snprintf(numbers[i], sizeof *numbers, "-%" PRId64, ms);
    else if (kind == 2) snprintf(numbers[i], sizeof *numbers, "%" PRId64, INT64_MAX / 4 - ms);
    else snprintf(numbers[i], sizeof *numbers, "%" PRId64, ms * 1000);
  }
  snprintf(text, size, "%s,%s,%s", numbers[0], numbers[1], numbers[2]);
}

/* A line of the table of messages, without its newline. */
static void random_line(char *text, size_t size) {
  char stop_at[80], kill_at[80];
  random_instant(stop_at, sizeof stop_at);
  random_instant(kill_at, sizeof kill_at);
  int number = 1 + (int)random_below(NSIG - 1);
  switch (random_below(6)) {
  case 0: snprintf(text, size, "kill"); return;
  case 1: snprintf(text, size, "keep"); return;
  case 2: snprintf(text, size, "relay %d", number); return;
  case 3: snprintf(text, size, "stop %d %d", number, (int)random_below(60000)); return;
  default: snprintf(text, size, "deadlines %s %s", stop_at, kill_at);
  }
}

/* A byte is changed, added or removed. It never becomes a newline. */
static void spoil(char *text, size_t size) {
  static const char bytes[] = "0123456789,- \tkilstopx\x01\xff";
  size_t length = strlen(text), at = (size_t)random_below(length);
  char byte = bytes[random_below(sizeof bytes - 1)];
  uint64_t kind = random_below(3);
  if (kind == 0) text[at] = byte;
  else if (kind == 1) memmove(text + at, text + at + 1, length - at);
  else if (length + 2 < size) memmove(text + at + 1, text + at, length - at + 1), text[at] = byte;
}

/* Whatever comes: nothing requested becomes later, and only a deadline moves one. */
static void take_line(struct state *s, const char *line) {
  struct state before = *s;
  struct message m = parse_message(line);
  receive(s, &m, now_everywhere);
  CHECK(s->stop_by <= before.stop_by && s->kill_by <= before.kill_by, "'%s'", line);
  CHECK(m.verb == DEADLINES || !memcmp(&s->stop_at, &before.stop_at, sizeof s->stop_at), "'%s'",
        line);
  CHECK(m.verb != STOP || (m.signal > 0 && m.signal < NSIG && m.grace_ms >= 0), "'%s'", line);
  CHECK(m.verb != RELAY || (m.signal > 0 && m.signal < NSIG), "'%s'", line);
  CHECK(s->keeps || !before.keeps, "'%s'", line);
  instant now = now_on_all();
  enum phase due = phase_due(s, &now, 0), outer = phase_due(s, &now, OUTER_DELAY);
  CHECK(outer <= due, "the outer guard is never first: '%s'", line);
  if (due > s->phase) s->phase = due;
}

static void test_lines_by_chance(int count) {
  char line[512];
  struct state s = watching();
  for (int i = 0; i < count; i++) {
    random_line(line, sizeof line);
    CHECK(verb_of(line) != MALFORMED, "'%s'", line);
    for (uint64_t n = random_below(4); n > 0 && *line; n--) spoil(line, sizeof line);
    take_line(&s, line);
    now_everywhere += (ns)random_below(2 * (uint64_t)MS);
    if (random_below(20) == 0) s = watching();
  }
}

static bool is_same_state(const struct state *one, const struct state *other) {
  return one->stop_by == other->stop_by && one->kill_by == other->kill_by &&
         one->signal == other->signal && one->keeps == other->keeps &&
         !memcmp(&one->stop_at, &other->stop_at, sizeof one->stop_at) &&
         !memcmp(&one->kill_at, &other->kill_at, sizeof one->kill_at);
}

/* Lines through a socket, cut anywhere, have the same effect as each by itself. */
static void test_cuts_by_chance(int count) {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
  control = pair[1];
  fcntl(control, F_SETFL, O_NONBLOCK);
  for (int i = 0; i < count; i++) {
    char text[2048], line[256];
    size_t length = 0;
    struct state expected = watching();
    state = watching();
    for (uint64_t lines = 1 + random_below(6); lines > 0; lines--) {
      random_line(line, sizeof line);
      take_line(&expected, line);
      expected.phase = WATCHING;
      length += (size_t)sprintf(text + length, "%s\n", line);
    }
    for (size_t at = 0, size; at < length; at += size) {
      size = 1 + (size_t)random_below(random_below(3) ? 9 : 700);
      if (size > length - at) size = length - at;
      CHECK(write(pair[0], text + at, size) == (ssize_t)size, "write");
      listen_to_run();
      CHECK(control == pair[1], "no line is malformed: %s", text);
    }
    CHECK(is_same_state(&state, &expected), "%s", text);
  }
}

/* Bytes by chance never do more than end the connection, as the death of redlock-run does. */
static void test_bytes_by_chance(int count) {
  for (int i = 0; i < count; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      int pair[2];
      char text[900];
      size_t size = 1 + (size_t)random_below(sizeof text);
      for (int n = (int)random_below(500) + i; n > 0; n--) random_below(2);
      for (size_t at = 0; at < size; at++) text[at] = (char)random_below(256);
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) _exit(2);
      control = pair[1];
      state = watching();
      if (write(pair[0], text, size) < 0) _exit(2);
      close(pair[0]);
      listen_to_run();
      _exit(control == -1 && state.stop_by == now_everywhere ? 0 : 1);
    }
    random_below(2);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "sequence %d: %d", i, status);
  }
}

/* ---- What needs a process or two ------------------------------------------------------------ */

static void test_start_without_guard(void) {
  char *argv[] = {"/bin/sh", "-c", "exit 5", NULL};
  sigset_t mask;
  sigemptyset(&mask);
  for (int is_there = 0; is_there < 2; is_there++) {
    int pair[2], status;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
    if (is_there) CHECK(write(pair[0], "", 1) == 1, "write");
    close(pair[0]);
    state = watching();
    state.stop_at = state.kill_at = on_clocks(NEVER, NEVER, NEVER);
    pid_t pid = fork();
    if (pid == 0) become_command(pair[1], argv, &mask);
    CHECK(waitpid(pid, &status, 0) == pid, "waitpid");
    CHECK(WEXITSTATUS(status) == (is_there ? 5 : 127), "guard: %d, %d", is_there, status);
  }
}

int main(void) {
  static struct shared memory = {.has_exited = true};
  shared = &memory;
  test_deadlines();
  test_phases();
  test_requests();
  test_lines();
  test_lines_by_chance(100000);
  test_cuts_by_chance(20000);
  test_start_without_guard();
  test_bytes_by_chance(300);
  return 0;
}
