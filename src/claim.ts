// Makes what one run asks of the masters, from its settings: a claim, new for every attempt, and
// the id of a waiter.

import { randomBytes } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import type { Settings } from './config/settings.ts';
import type { Claim, Sharing } from './lock/types.ts';
import { type HolderNote, newClaim, onSomeSlot, waiterIdOf, whoOf } from './lock/value.ts';
import { userName } from './system/user.ts';

/** A claim with a value that was never used before. */
export function claimFor(settings: Settings): Claim {
  const { names: resources, ttlMs, isFenced, yields } = settings;
  const note = { ...noteOf(settings), since: new Date().toISOString() };
  const wish = { resources, sharing: sharingOf(settings), yields, ttlMs, isFenced };
  return newClaim(wish, randomBytes(20).toString('base64url'), note);
}

export function waiterIdFor(settings: Settings, runId: string): string {
  return waiterIdOf(
    { sharing: sharingOf(settings), yields: settings.yields },
    runId,
    whoOf(noteOf(settings)),
  );
}

/** The holder record without its time, for the lock and for its history. */
export function noteOf({ command }: Settings): Omit<HolderNote, 'since'> {
  ourselves ??= { host: os.hostname(), pid: process.pid, user: userName() };
  return { ...ourselves, label: path.basename(command[0] ?? '') };
}

/** Found out once: the system reads files for it, and every attempt needs it. */
let ourselves: Pick<HolderNote, 'host' | 'pid' | 'user'> | null = null;

function sharingOf({ sharing, slotCount }: Settings): Sharing {
  if (sharing !== 'slots') return { kind: sharing };
  return onSomeSlot(slotCount, Math.random);
}
