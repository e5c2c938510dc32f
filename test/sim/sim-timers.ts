// setTimeout and clearTimeout of the running process, in place of the real ones while a world runs,
// so that src/system/clock.ts is simulated as it is. They are global, so a thread runs one world at
// a time. Outside of the processes of the world, timers are real.

import type { World } from './world.ts';

interface Handle {
  cancel(): void;
}

const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

/** Returns the function that restores the real ones. */
export function installTimers(world: World): () => void {
  const setTimer = (action: () => void, ms = 0): unknown =>
    world.current === null ? real.setTimeout(action, ms) : world.current.timer(ms, action);
  const clearTimer = (handle: unknown): void => {
    if (isHandle(handle)) handle.cancel();
    else real.clearTimeout(handle as NodeJS.Timeout);
  };
  globalThis.setTimeout = setTimer as typeof globalThis.setTimeout;
  globalThis.clearTimeout = clearTimer as typeof globalThis.clearTimeout;
  return () => Object.assign(globalThis, real);
}

function isHandle(handle: unknown): handle is Handle {
  return typeof handle === 'object' && handle !== null && 'cancel' in handle;
}
