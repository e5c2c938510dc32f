// The checks that do not look at one master alone: whether it was reached, the masters as a set,
// this machine, the configuration, and what hosts and operators have recorded on the masters. Pure.
// *Note:* only addresses tell whether masters share a host; two names of one host count as two.

import type { ConfigWarning } from '../../config/layer.ts';
import { quorumOf } from '../../lock/quorum.ts';
import type { Failed } from '../../lock/types.ts';
import { endpointOf, type MasterAddress } from '../../redis/address.ts';
import { isFailed } from '../../redis/errors.ts';
import type { UsedSet } from '../../redis/identity.ts';
import {
  dangerousSets,
  differenceAdvice,
  differenceFrom,
  idsOf,
  type MarkedMasters,
} from '../../redis/masters-watch.ts';
import type { SeenHistory } from '../../redis/snapshot.ts';
import { printable, quoted } from '../../text/foreign-text.ts';
import { roughly } from '../../text/lines.ts';
import { plural } from '../../text/plural.ts';
import { pastActsOf } from '../history/run-history.ts';
import { describeFreeze, shownFreezeOf } from '../holdings.ts';
import type { MasterReport } from '../lock-state.ts';
import { asArgument } from '../names.ts';
import type { Checks } from './findings.ts';
import { isOnThisMachine } from './findings.ts';
import { isWaitedFor, type SeenMaster } from './master-checks.ts';

export const reachability: Checks<SeenMaster | Failed> = {
  reachable: {
    why: 'it does not vote: the quorum has to come from the others',
    fix: (seen) =>
      (isFailed(seen) && seen.advice) || 'check that it runs and can be reached from here',
    find: (seen) => (isFailed(seen) ? ['error', seen.message] : ['ok', 'reached']),
  },
};

export interface SeenSet {
  readonly masters: readonly (SeenMaster | Failed)[];
  readonly addresses: readonly MasterAddress[];
  readonly configFile: string | null;
  readonly minorWarnings: readonly ConfigWarning[];
  /** Why a run could not guard its command here; null: it could. */
  readonly whyUnguarded: string | null;
}

export const canGuard = 'a command can be guarded on this machine';

export const setChecks: Checks<SeenSet> = {
  /** Whether a lock could be acquired now. */
  quorum: {
    why: 'no lock can be acquired, and holders lose theirs',
    fix: 'fix the masters that do not answer or refuse',
    find: ({ masters }) => {
      const fit = reached(masters).filter(({ refusal }) => refusal === null);
      const votingCount = fit.filter((seen) => !isWaitedFor(seen)).length;
      const needed = quorumOf(masters.length);
      const textOf = (count: number, does: string) =>
        `${count} of ${masters.length} masters ${does}, ${needed} are needed`;
      if (votingCount >= needed) return ['ok', textOf(fit.length, 'keep locks')];
      if (fit.length < needed) return ['error', `no quorum: ${textOf(fit.length, 'keep locks')}`];
      const why = 'no lock can be acquired until more of them vote';
      const fix = 'do what the lines of these masters say';
      return ['warning', `no quorum yet: ${textOf(votingCount, 'vote')}`, { why, fix }];
    },
  },
  count: {
    why: ({ addresses: { length } }) =>
      length === 1
        ? 'when it fails, no lock can be acquired'
        : `as with ${length - 1}, and there is one more that can fail`,
    fix: 'use three or five',
    find: ({ addresses: { length } }) => {
      const survivedCount = length - quorumOf(length);
      const message = `${plural(length, 'master')}: ${survivedCount || 'none'} may fail`;
      return [length % 2 === 1 && length > 1 ? 'ok' : 'warning', message];
    },
  },
  /** Whether the masters fail together. */
  hosts: {
    why: ({ addresses }) =>
      commonHost(addresses).count >= quorumOf(addresses.length)
        ? 'when that host fails there is no quorum'
        : 'they fail together',
    fix: 'put each on a machine of its own, that does not fail with the others',
    find: ({ addresses }) => {
      const { host, count } = commonHost(addresses);
      if (count > 1) return ['warning', `${count} on ${host}`];
      return ['ok', 'each on a host of its own, as far as addresses tell'];
    },
  },
  /** The same server under several addresses. */
  duplicates: {
    why: 'one server would vote twice, and a minority could grant a lock',
    fix: 'list each server once',
    find: ({ masters }) => {
      const known = reached(masters);
      for (const { runId, address } of known) {
        const same = known.filter((other) => runId !== null && other.runId === runId);
        const others = same.flatMap((one) => (one.address === address ? [] : one.address.name));
        if (others.length > 0)
          return ['error', `${address.name} is the same server as ${others.join(', ')}`];
      }
      const silentCount = known.filter(({ runId }) => runId === null).length;
      if (silentCount === 0) return ['ok', 'no server is listed twice'];
      const message = `${plural(silentCount, 'master does', 'masters do')} not tell a run_id`;
      return ['unknown', message, { fix: 'grant INFO, or check that no server is listed twice' }];
    },
  },
  guard: {
    why: 'no run on this machine starts its command (69 or 78)',
    fix: 'install what is missing: docs/install.md, "What it needs"',
    find: ({ whyUnguarded }) => (whyUnguarded ? ['error', whyUnguarded] : ['ok', canGuard]),
  },
  /** Permissions of files with secrets. */
  configFile: {
    why: 'every user of this machine could read the password and end locks',
    fix: (seen) =>
      `chmod 600 ${exposed(seen)
        .map(({ file }) => file)
        .join(' ')}`,
    find: (seen) => {
      const lines = exposed(seen).map(({ file, message }) => `${file}: ${message}`);
      if (lines.length > 0) return ['error', lines.join('; ')];
      const path = seen.configFile;
      return ['ok', path ? `${path}: shows no password to others` : 'no configuration file'];
    },
  },
};

const reached = (masters: SeenSet['masters']): SeenMaster[] =>
  masters.flatMap((seen) => (isFailed(seen) ? [] : seen));

const exposed = ({ minorWarnings }: SeenSet) =>
  minorWarnings.filter(({ kind }) => kind === 'exposed-secret');

/** The host of most masters. */
function commonHost(addresses: readonly MasterAddress[]): { host: string; count: number } {
  const hosts = addresses.map((address) =>
    isOnThisMachine(address) ? 'this machine' : (address.host ?? endpointOf(address)).toLowerCase(),
  );
  const countOf = (host: string) => hosts.filter((other) => other === host).length;
  const [host = ''] = hosts.toSorted((a, b) => countOf(b) - countOf(a));
  return { host, count: countOf(host) };
}

export interface SeenLists {
  readonly masters: readonly (SeenMaster | Failed)[];
  /** Whether runs compare lists of masters here. */
  readonly isCompared: boolean;
  /** By the clock of the facts. */
  readonly now: number;
}

/** The sets of masters that hosts have recorded (redis/masters-watch.ts), the last used first. */
export const listChecks: Checks<SeenLists> = {
  lists: {
    why: differenceAdvice.why,
    fix: differenceAdvice.advice,
    find: ({ masters, isCompared, now }) => {
      if (!isCompared) return ['ok', 'lists of masters are not compared here'];
      const known = reached(masters);
      if (known.some(({ mark }) => mark === null)) {
        const message = 'not every master shows which lists of masters are in use';
        return ['unknown', message, { fix: 'redlockctl acl prints the rules' }];
      }
      const marked = known.flatMap(({ address: { name }, mark }) =>
        mark?.id ? [{ name, mark }] : [],
      );
      if (marked.length < masters.length) {
        const message =
          'lists of masters are not compared until every master has a mark and answers';
        return ['ok', message];
      }
      const ours = idsOf(marked).join();
      const dangerous = new Set(dangerousSets(marked, now).map(({ ids }) => ids.join()));
      const sets = lastUsed(marked);
      if (sets.length === 0) return ['ok', 'no host has recorded which masters it uses'];
      return sets.map((set) => {
        const who = `${printable(set.host)} (${roughly(now - set.usedAt)} ago)`;
        const ids = set.ids.join();
        if (ids === ours) return ['ok', `these masters are those of ${who}`] as const;
        return [dangerous.has(ids) ? 'warning' : 'ok', `${who} has ${setText(set, marked)}`];
      });
    },
  },
};

/** Each set once, as it was used last; the last used first. */
function lastUsed(masters: MarkedMasters): UsedSet[] {
  const sets = masters.flatMap(({ mark }) => mark.sets).sort((a, b) => a.usedAt - b.usedAt);
  return [...new Map(sets.map((set) => [set.ids.join(), set])).values()].reverse();
}

/** `3 masters: 10.0.0.1:6379 and 2 that are not configured here` */
function setText(set: UsedSet, masters: MarkedMasters): string {
  const shared = masters.filter(({ mark }) => set.ids.includes(mark.id ?? ''));
  const { otherCount } = differenceFrom(set, masters);
  const names = shared.map(({ name }) => printable(name)).join(', ');
  const others = otherCount > 0 ? ` and ${otherCount} that are not configured here` : '';
  return `${plural(set.ids.length, 'master')}: ${names}${others}`;
}

/** A lock that was frozen when names were collected, as each master shows it. */
export interface SeenFreeze {
  readonly name: string;
  readonly reports: readonly MasterReport[];
  readonly histories: readonly SeenHistory[];
}

/**
 * A freeze that too few masters show bars no run. Whether it was thawed, and a master missed that,
 * is in the history of the lock.
 */
export const freezeChecks: Checks<SeenFreeze> = {
  freezes: {
    why: 'masters forgot it, or it never was on a quorum: runs start although the lock was frozen',
    fix: ({ name }) => `${thawCommand(name)} && redlockctl freeze ${asArgument(name)} --note WHY`,
    find: ({ name, reports, histories }) => {
      const seen = reports.flatMap(({ snapshot }) => (isFailed(snapshot) ? [] : [snapshot.freeze]));
      const freeze = shownFreezeOf(seen);
      if (freeze === null) return []; // Thawed since.
      // A master refuses runs whichever freeze it shows.
      const isBarred = seen.filter((one) => one !== null).length >= quorumOf(reports.length);
      const votes = `on ${freeze.votes} of ${reports.length} masters`;
      const effect = isBarred ? '' : 'bars no run: ';
      const message = `${quoted(name)}: ${effect}${describeFreeze(freeze)}; ${votes}`;
      if (freeze.votes === seen.length) return ['ok', message];
      const acts = pastActsOf(name, histories);
      if (acts.some(({ act, token }) => act === 'thaw' && token === freeze.token)) {
        const why = 'it was thawed, and these masters missed that';
        return ['warning', message, { why, fix: thawCommand(name) }];
      }
      if (!isBarred) return ['error', message];
      const why =
        'a master forgot it, or shows another one: it bars runs only while the others remember';
      return ['warning', message, { why }];
    },
  },
};

const thawCommand = (name: string) => `redlockctl thaw ${asArgument(name)}`;
