// Nothing that stands on the machine or in the shell of a developer may lead a test to masters of
// theirs. Every worker starts with this file: no variable of redlock-run is left, and a program
// that is started with what remains reads an empty configuration instead of looking for one.

import { noConfiguration } from './no-configuration.ts';

for (const name of Object.keys(process.env)) {
  if (name.startsWith('REDLOCK_') && name !== 'REDLOCK_RUN_PROGRAM') delete process.env[name];
}
Object.assign(process.env, noConfiguration);
