/* <stdatomic.h> for tcc, whose version in Debian and Ubuntu (0.9.27) has none: as much of it as
 * guard.c uses. Every other compiler gets its own. */
#if defined __TINYC__ && __TINYC__ < 928
#ifndef __x86_64__
#error "this tcc has no atomic operations for this processor (install gcc)"
#endif

#define _Atomic volatile

/* The instructions lock the memory: xchg always does, xadd by its prefix. */
static int exchange_byte(volatile void *at, int value) {
  unsigned char byte = (unsigned char)value;
  __asm__ volatile("xchgb %0, %1" : "+q"(byte), "+m"(*(volatile unsigned char *)at) : : "memory");
  return byte;
}

static unsigned add_unsigned(volatile unsigned *at, unsigned value) {
  __asm__ volatile("lock xaddl %0, %1" : "+r"(value), "+m"(*at) : : "memory");
  return value;
}

#define atomic_exchange(at, value) exchange_byte(at, value) /* of a bool */
#define atomic_fetch_add(at, value) add_unsigned(at, value) /* to an unsigned */

#else
#include_next <stdatomic.h>
#endif
