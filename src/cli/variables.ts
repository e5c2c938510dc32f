// Variables of the environment whose names are nearly those of settings. Others of the form
// REDLOCK_... are left alone: Kubernetes sets some for a service that is called redlock.

import { environmentName, keyTable } from './key-table.ts';
import { nearest } from './nearest.ts';

const settings = [...keyTable.map(({ key }) => environmentName(key)), 'REDLOCK_CONFIG'];

/** What redlock-run itself sets for commands, guards and hooks. */
const ours = /^REDLOCK_(NAMES?|TOKEN|FENCE|TTL_MS|HELD|HELD_LEASES|LOST|EVENT|HOLDER|GUARD\w*|RUN_\w*)$/;

/** One line for each that differs by at most two letters from one that would be read. */
export function misspeltVariables(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('REDLOCK_') && !settings.includes(name) && !ours.test(name))
    .flatMap((name) => {
      const meant = nearest(name, settings, 2);
      return meant === null ? [] : [`${name.slice(0, 80)}: not a setting (did you mean ${meant}?)`];
    });
}
