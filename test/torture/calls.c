/* Has redlock-run or its guard signal itself at an exact point: before or after its n-th read,
   write or fork. Reads and writes count where they are on a pipe or a socket. And makes each
   program that the guard starts slow to begin. In all other programs it does nothing.
   LD_TORTURE="PROGRAM N WHEN SIGNAL EXEC_MS LOG RUN", where PROGRAM is redlock-run or
   redlock-guard, WHEN before or after, and N 0 for never, -1 for the moment between fork and exec.
   The name of the variable begins with LD_, because the guard inherits only such ones. It writes a
   line into the log before it signals.
   cc -shared -fPIC, then LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static pid_t own;
static int number, count, number_of_signal, exec_ms;
static char phase[8], log_file[512], run[64], program[32];
static int (*real_execve)(const char *, char *const *, char *const *);
static int (*real_execvp)(const char *, char *const *);

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }

/* glibc passes the arguments of main to constructors. */
__attribute__((constructor)) static void begin(int argc, char **argv) {
  const char *wish = getenv("LD_TORTURE");
  int is_guard = argc > 0 && !strncmp(argv[0], "redlock-guard", 13);
  int is_run = argc > 1 && (strstr(argv[0], "redlock-run") || strstr(argv[1], "bin/redlock-run"));
  int wished, slow;
  if (!wish || !(is_guard || is_run)) return;
  if (sscanf(wish, "%31s %d %7s %d %d %511s %63s", program, &wished, phase, &number_of_signal,
             &slow, log_file, run) != 7) return;
  own = getpid();
  real_execve = next("execve");
  real_execvp = next("execvp");
  if (is_guard) exec_ms = slow;
  if (!strcmp(program, is_guard ? "redlock-guard" : "redlock-run")) number = wished;
}

static void signal_self(const char *call) {
  char line[800];
  struct timespec now;
  int saved = errno, file = open(log_file, O_WRONLY | O_APPEND | O_CLOEXEC);
  clock_gettime(CLOCK_MONOTONIC, &now);
  int size = snprintf(line, sizeof line, "%ld.%06ld itself %d %s %s %s %s its %s (%d)\n",
                      (long)now.tv_sec, now.tv_nsec / 1000, own, run, program,
                      number_of_signal == SIGKILL ? "killed" : "stopped", phase, call, count);
  if (file >= 0) {
    syscall(SYS_write, file, line, size);
    close(file);
  }
  kill(own, number_of_signal);
  errno = saved;
}

static int counts(int file) {
  struct stat what;
  int saved = errno;
  int is_stream = number > 0 && getpid() == own && !fstat(file, &what) &&
                  (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
  errno = saved;
  return is_stream && __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST) == number;
}

#define CALL(type, name, arguments, values, file) \
  type name arguments { \
    static type (*real) arguments; \
    if (!real) real = next(#name); \
    int is_it = counts(file); \
    if (is_it && phase[0] == 'b') signal_self(#name); \
    type result = real values; \
    if (is_it && phase[0] == 'a') signal_self(#name); \
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

pid_t fork(void) {
  static pid_t (*real)(void);
  if (!real) real = next("fork");
  int is_it = number > 0 && getpid() == own && ++count == number;
  if (is_it && phase[0] == 'b') signal_self("fork");
  pid_t child = real();
  if (is_it && child > 0 && phase[0] == 'a') signal_self("fork");
  return child;
}

/* A child of the guard, whose parent waits in the kernel until the program has begun. */
static void begin_slowly(void) {
  struct timespec left = {exec_ms / 1000, exec_ms % 1000 * 1000000L};
  if (!own || getpid() == own) return;
  if (exec_ms) nanosleep(&left, NULL);
  if (number == -1) signal_self("start");
}

int execve(const char *file, char *const *words, char *const *environment) {
  begin_slowly();
  if (!real_execve) real_execve = next("execve");
  return real_execve(file, words, environment);
}

int execvp(const char *file, char *const *words) {
  begin_slowly();
  if (!real_execvp) real_execvp = next("execvp");
  return real_execvp(file, words);
}
