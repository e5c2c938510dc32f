// Whether a stream may have colours: no-color.org, force-color.org, and what the terminal is.

/** NO_COLOR beats FORCE_COLOR, and that beats what the terminal can do. */
export function mayColour(isTerminal: boolean, environment: NodeJS.ProcessEnv): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = environment;
  if (NO_COLOR) return false;
  if (FORCE_COLOR !== undefined) return !['0', 'false'].includes(FORCE_COLOR);
  return isTerminal && TERM !== 'dumb';
}
