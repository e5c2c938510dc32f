// No configuration of the machine or of a developer's shell may lead a test to real masters. Every
// worker starts with this file: it removes all variables of redlock-run, and names an empty
// configuration file. Nor may colours depend on them.

import { noConfiguration } from './no-configuration.ts';

for (const name of Object.keys(process.env)) {
  if (name.startsWith('REDLOCK_') && name !== 'REDLOCK_RUN_PROGRAM') delete process.env[name];
}
Object.assign(process.env, noConfiguration);
for (const name of ['NO_COLOR', 'FORCE_COLOR']) delete process.env[name];
