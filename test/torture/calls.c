/* Has redlock-run or one of its guards signal itself at an exact point: before or after its n-th
   call. Of redlock-run, reads and writes on a pipe or a socket and forks count; of a guard, every
   system call. It also makes each program that a guard starts slow to begin. In all other programs
   it does nothing.
   LD_TORTURE="PROGRAM N WHEN SIGNAL EXEC_MS LOG RUN", where PROGRAM is redlock-run, outer-guard or
   inner-guard, WHEN before or after, and N 0 for never, -1 for the moment between fork and exec of
   the command. The name of the variable begins with LD_, because a guard clears all others. It
   writes a line into the log before it signals.
   cc -shared -fPIC, then LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum role { OTHER, RUN, OUTER, INNER, COMMAND };
static const char *const programs[] = {"", "redlock-run", "outer-guard", "inner-guard", ""};

static enum role role, wished_role;
static pid_t pids[COMMAND + 1]; /* of each role, as this process sees it */
static int number, count, number_of_signal, exec_ms, is_busy;
static char phase[8], log_file[512], run[64];

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

static int is_guard(int argc, char **argv) {
  const char *slash = strrchr(argv[0], '/');
  const char *name = slash ? slash + 1 : argv[0];
  if (strcmp(name, "redlock-guard")) return 0;
  /* These guard nothing: they watch the caller of a waiter, or try out what a run needs. */
  for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
    if (!strcmp(argv[i], "--until-hung-up") || !strcmp(argv[i], "--check")) return 0;
  return 1;
}

/* glibc passes the arguments of main to constructors. */
__attribute__((constructor)) static void begin(int argc, char **argv) {
  const char *wish = getenv("LD_TORTURE");
  char program[32];
  enum role here = OTHER;
  if (!wish || argc == 0) return;
  if (is_guard(argc, argv)) here = OUTER;
  else if (strstr(argv[0], "redlock-run") || (argc > 1 && strstr(argv[1], "bin/redlock-run")))
    here = RUN;
  if (sscanf(wish, "%31s %d %7s %d %d %511s %63s", program, &number, phase, &number_of_signal,
             &exec_ms, log_file, run) != 7) return;
  for (enum role one = RUN; one < COMMAND; one++)
    if (!strcmp(program, programs[one])) wished_role = one;
  pids[here] = getpid();
  role = here;
}

/* In the child: the outer guard forks the inner one, which forks the command. */
static void forked(void) {
  if (role == OUTER || role == INNER) role++;
  else role = OTHER;
  pids[role] = getpid();
  count = 0;
}

static void signal_it(const char *call) {
  char line[800];
  struct timespec now;
  int saved = errno;
  is_busy = 1;
  int file = open(log_file, O_WRONLY | O_APPEND | O_CLOEXEC);
  clock_gettime(CLOCK_MONOTONIC, &now);
  int size = snprintf(line, sizeof line, "%ld.%06ld itself %d %s %s %s %s its %s (%d)\n",
                      (long)now.tv_sec, now.tv_nsec / 1000, pids[wished_role], run,
                      programs[wished_role], number_of_signal == SIGKILL ? "killed" : "stopped",
                      phase, call, count);
  if (file >= 0) {
    ssize_t written = write(file, line, (size_t)size);
    (void)written;
    close(file);
  }
  kill(pids[wished_role], number_of_signal);
  is_busy = 0;
  errno = saved;
}

static int is_stream(int file) {
  struct stat what;
  int saved = errno;
  int is_known = file >= 0 && !fstat(file, &what);
  errno = saved;
  return is_known && (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
}

/* Whether this call is the one. `file`: what is read or written; -1: another call. */
static int is_turn(int file) {
  if (number <= 0 || is_busy || role != wished_role) return 0;
  if (role == RUN && !is_stream(file)) return 0;
  return __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) == number;
}

#define CALL(type, name, arguments, values, file) \
  type name arguments { \
    static type (*real) arguments; \
    if (!real) real = next(#name); \
    int is_it = is_turn(file); \
    if (is_it && phase[0] == 'b') signal_it(#name); \
    type result = real values; \
    if (is_it && phase[0] == 'a') signal_it(#name); \
    return result; \
  }

CALL(ssize_t, read, (int file, void *to, size_t size), (file, to, size), file)
CALL(ssize_t, write, (int file, const void *from, size_t size), (file, from, size), file)
CALL(ssize_t, readv, (int file, const struct iovec *to, int n), (file, to, n), file)
CALL(ssize_t, writev, (int file, const struct iovec *from, int n), (file, from, n), file)
CALL(ssize_t, recv, (int file, void *to, size_t size, int how), (file, to, size, how), file)
CALL(ssize_t, send, (int file, const void *from, size_t size, int how), (file, from, size, how),
     file)
CALL(ssize_t, recvmsg, (int file, struct msghdr *to, int how), (file, to, how), file)
CALL(ssize_t, sendmsg, (int file, const struct msghdr *from, int how), (file, from, how), file)
CALL(int, close, (int file), (file), -1)
CALL(off_t, lseek, (int file, off_t to, int how), (file, to, how), -1)
CALL(int, pipe, (int files[2]), (files), -1)
CALL(int, socketpair, (int domain, int type, int protocol, int files[2]),
     (domain, type, protocol, files), -1)
CALL(int, poll, (struct pollfd *files, nfds_t n, int ms), (files, n, ms), -1)
CALL(int, kill, (pid_t pid, int signal), (pid, signal), -1)
CALL(pid_t, waitpid, (pid_t pid, int *status, int how), (pid, status, how), -1)
CALL(pid_t, setsid, (void), (), -1)
CALL(int, setpgid, (pid_t pid, pid_t group), (pid, group), -1)
CALL(int, chdir, (const char *folder), (folder), -1)
CALL(int, sigprocmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old), -1)
CALL(int, timerfd_create, (int clock, int flags), (clock, flags), -1)
CALL(int, timerfd_settime,
     (int file, int flags, const struct itimerspec *to, struct itimerspec *old),
     (file, flags, to, old), -1)

/* What follows in `...`, as far as any of these calls has arguments. */
#define MORE(last, type, name) \
  type name; \
  { \
    va_list more; \
    va_start(more, last); \
    name = va_arg(more, type); \
    va_end(more); \
  }

int openat(int folder, const char *path, int flags, ...) {
  static int (*real)(int, const char *, int, ...);
  if (!real) real = next("openat");
  MORE(flags, unsigned, mode)
  int is_it = is_turn(-1);
  if (is_it && phase[0] == 'b') signal_it("openat");
  int file = real(folder, path, flags, mode);
  if (is_it && phase[0] == 'a') signal_it("openat");
  return file;
}

int fcntl(int file, int command, ...) {
  static int (*real)(int, int, ...);
  if (!real) real = next("fcntl");
  MORE(command, void *, value)
  int is_it = is_turn(-1);
  if (is_it && phase[0] == 'b') signal_it("fcntl");
  int result = real(file, command, value);
  if (is_it && phase[0] == 'a') signal_it("fcntl");
  return result;
}

int prctl(int option, ...) {
  static int (*real)(int, ...);
  unsigned long values[4];
  va_list more;
  va_start(more, option);
  for (int i = 0; i < 4; i++) values[i] = va_arg(more, unsigned long);
  va_end(more);
  if (!real) real = next("prctl");
  int is_it = is_turn(-1);
  if (is_it && phase[0] == 'b') signal_it("prctl");
  int result = real(option, values[0], values[1], values[2], values[3]);
  if (is_it && phase[0] == 'a') signal_it("prctl");
  return result;
}

/* Also clone(2), by which the outer guard makes a PID namespace. */
long syscall(long which, ...) {
  static long (*real)(long, ...);
  long values[6];
  va_list more;
  va_start(more, which);
  for (int i = 0; i < 6; i++) values[i] = va_arg(more, long);
  va_end(more);
  if (!real) real = next("syscall");
  int is_it = is_turn(-1);
  if (is_it && phase[0] == 'b') signal_it("syscall");
  long result = real(which, values[0], values[1], values[2], values[3], values[4], values[5]);
  if (which == SYS_clone && result == 0) forked();
  else if (is_it && phase[0] == 'a') signal_it("syscall");
  return result;
}

pid_t fork(void) {
  static pid_t (*real)(void);
  if (!real) real = next("fork");
  int is_it = number > 0 && role == wished_role && !is_busy && ++count == number;
  if (is_it && phase[0] == 'b') signal_it("fork");
  pid_t child = real();
  if (child == 0) forked();
  else if (is_it && phase[0] == 'a') signal_it("fork");
  return child;
}

/* The command between fork and exec: the guards wait for it, and may die during that time. */
int execve(const char *file, char *const *words, char *const *environment) {
  static int (*real)(const char *, char *const *, char *const *);
  struct timespec left = {exec_ms / 1000, exec_ms % 1000 * 1000000L};
  if (!real) real = next("execve");
  if (role == COMMAND) {
    if (exec_ms) nanosleep(&left, NULL);
    if (number == -1) signal_it("start");
    exec_ms = number = 0; /* A name is looked for in several folders. */
  }
  return real(file, words, environment);
}
