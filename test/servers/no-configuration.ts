// For programs that are started with an environment of their own: a configuration that is named and
// empty, so that none is looked for, in /etc above all.

export const noConfiguration = { REDLOCK_CONFIG: '/dev/null' } as const;
