// For programs that are started with an environment of their own: names an empty configuration
// file, so that none is searched for, above all not in /etc.

export const noConfiguration = { REDLOCK_CONFIG: '/dev/null' } as const;
