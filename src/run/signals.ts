// Which signals reach a run, and how to die of one. What they mean is the supervisor's business. The surprise: SIGUSR1 has
// another handler besides, from the first line of the program to its end (no-inspector.ts).

import type { Signal } from './supervisor.ts';

const handled: readonly Signal[] = [
  'SIGHUP',
  'SIGINT',
  'SIGQUIT',
  'SIGTERM',
  'SIGUSR1',
  'SIGUSR2',
  'SIGWINCH',
  'SIGCONT',
];

/**
 * Ctrl-Z stops a child in our process group together with us, and then the kernel's own way is best; only a child in a
 * session of its own must be stopped by us. Returns the function that puts everything back.
 */
export function subscribe(isForeground: boolean, onSignal: (signal: Signal) => void): () => void {
  const signals: readonly Signal[] = isForeground ? handled : [...handled, 'SIGTSTP'];
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/**
 * Dies of the signal, as the caller's shell must see it to stop its loop. Resolves after 200 ms if we are still there, as
 * the first process of a container is, which its own signals do not end.
 */
export async function raiseAgain(signal: Signal): Promise<void> {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  await new Promise((resolve) => setTimeout(resolve, 200));
}
