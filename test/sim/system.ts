// The system under test: the real modules of src/, or a mutant's copies of them
// (mutant-build.ts). Only ioredis is simulated (sim-ioredis.ts).

import * as lockStateModule from '../../src/ctl/lock-state.ts';
import * as masterQueryModule from '../../src/ctl/master-query.ts';
import * as operationsModule from '../../src/ctl/operations.ts';
import * as holderDaemonModule from '../../src/ctl/steps/holder-daemon.ts';
import * as lockHandleModule from '../../src/ctl/steps/lock-handle.ts';
import * as acquireModule from '../../src/lock/acquire.ts';
import * as historyModule from '../../src/lock/history.ts';
import * as peopleModule from '../../src/lock/people.ts';
import * as redlockModule from '../../src/lock/redlock.ts';
import * as valueModule from '../../src/lock/value.ts';
import * as waitModule from '../../src/lock/wait.ts';
import * as waiterIdModule from '../../src/lock/waiter-id.ts';
import type { ScriptName } from '../../src/redis/calls/scripts.ts';
import * as scriptsModule from '../../src/redis/calls/scripts.ts';
import * as identityModule from '../../src/redis/identity.ts';
import * as mastersWatchModule from '../../src/redis/masters-watch.ts';
import * as serverModule from '../../src/redis/server.ts';
import * as acquisitionModule from '../../src/run/acquisition.ts';
import * as outcomeModule from '../../src/run/outcome.ts';
import * as runModule from '../../src/run/run.ts';
import * as clockModule from '../../src/system/clock.ts';

/** The modules by their paths in src/. */
export interface Modules {
  readonly 'ctl/operations': typeof operationsModule;
  readonly 'ctl/steps/holder-daemon': typeof holderDaemonModule;
  readonly 'ctl/steps/lock-handle': typeof lockHandleModule;
  readonly 'ctl/lock-state': typeof lockStateModule;
  readonly 'ctl/master-query': typeof masterQueryModule;
  readonly 'lock/acquire': typeof acquireModule;
  readonly 'lock/history': typeof historyModule;
  readonly 'lock/people': typeof peopleModule;
  readonly 'lock/redlock': typeof redlockModule;
  readonly 'lock/wait': typeof waitModule;
  readonly 'lock/value': typeof valueModule;
  readonly 'lock/waiter-id': typeof waiterIdModule;
  readonly 'redis/identity': typeof identityModule;
  readonly 'redis/masters-watch': typeof mastersWatchModule;
  readonly 'redis/server': typeof serverModule;
  readonly 'redis/calls/scripts': typeof scriptsModule;
  readonly 'run/acquisition': typeof acquisitionModule;
  readonly 'run/outcome': typeof outcomeModule;
  readonly 'run/run': typeof runModule;
  readonly 'system/clock': typeof clockModule;
}

export type System = ReturnType<typeof systemOf>;

const realModules: Modules = {
  'ctl/operations': operationsModule,
  'ctl/steps/holder-daemon': holderDaemonModule,
  'ctl/steps/lock-handle': lockHandleModule,
  'ctl/lock-state': lockStateModule,
  'ctl/master-query': masterQueryModule,
  'lock/acquire': acquireModule,
  'lock/history': historyModule,
  'lock/people': peopleModule,
  'lock/redlock': redlockModule,
  'lock/wait': waitModule,
  'lock/value': valueModule,
  'lock/waiter-id': waiterIdModule,
  'redis/identity': identityModule,
  'redis/masters-watch': mastersWatchModule,
  'redis/server': serverModule,
  'redis/calls/scripts': scriptsModule,
  'run/acquisition': acquisitionModule,
  'run/outcome': outcomeModule,
  'run/run': runModule,
  'system/clock': clockModule,
};

export const modulePaths = Object.keys(realModules) as (keyof Modules)[];

export const realSystem: System = systemOf(realModules);

export function systemOf(modules: Modules) {
  const { scriptNames, scriptOf } = modules['redis/calls/scripts'];
  const names = new Map<string, ScriptName>();
  for (const name of scriptNames)
    for (const hasForms of [true, false])
      for (const hasHistory of [true, false])
        names.set(scriptOf(name, hasForms, hasHistory).text, name);
  return {
    acquireLock: modules['lock/acquire'].acquireLock,
    historyOf: modules['run/acquisition'].historyOf,
    newClaim: modules['lock/value'].newClaim,
    waitForLock: modules['lock/wait'].waitForLock,
    Redlock: modules['lock/redlock'].Redlock,
    waiterIdOf: modules['lock/waiter-id'].waiterIdOf,
    ServerRegistry: modules['redis/identity'].ServerRegistry,
    MastersWatch: modules['redis/masters-watch'].MastersWatch,
    Server: modules['redis/server'].Server,
    MasterQuery: modules['ctl/master-query'].MasterQuery,
    hold: modules['ctl/steps/holder-daemon'].hold,
    freezeLock: modules['ctl/operations'].freezeLock,
    thawLock: modules['ctl/operations'].thawLock,
    askable: modules['ctl/operations'].askable,
    askToStop: modules['ctl/operations'].askToStop,
    addToHistory: modules['ctl/operations'].addToHistory,
    renderAct: modules['lock/history'].renderAct,
    lockStateOf: modules['ctl/lock-state'].lockStateOf,
    HolderChannel: modules['lock/people'].HolderChannel,
    entryOf: modules['run/outcome'].entryOf,
    extendBy: modules['ctl/steps/lock-handle'].extendBy,
    releaseByToken: modules['ctl/steps/lock-handle'].releaseByToken,
    look: modules['ctl/steps/lock-handle'].look,
    Run: modules['run/run'].Run,
    createSystemClock: modules['system/clock'].createSystemClock,
    scriptNamed(text: string): ScriptName {
      const name = names.get(text);
      if (name === undefined) throw new Error(`no such script in src/redis/: ${text.slice(0, 80)}`);
      return name;
    },
  };
}
