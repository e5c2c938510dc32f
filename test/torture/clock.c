/* Shows a program another time of day: what it is by the kernel, and as many microseconds more as
   the file TORTURE_CLOCK says, a number of 64 bits. Other clocks stay as they are. It allocates no
   memory, because allocators ask for the time (libfaketime cannot be used with jemalloc).
   cc -shared -fPIC, then LD_PRELOAD. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *shift;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("TORTURE_CLOCK");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) return;
  void *page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) shift = page;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed || clock != CLOCK_REALTIME || !shift) return (int)failed;
  int64_t micros = now->tv_sec * INT64_C(1000000) + now->tv_nsec / 1000 + *shift;
  now->tv_sec = micros / 1000000;
  now->tv_nsec = micros % 1000000 * 1000;
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds) *seconds = now.tv_sec;
  return now.tv_sec;
}
