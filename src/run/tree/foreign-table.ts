// The process table of systems without /proc: macOS and the BSDs by ps, Windows by PowerShell. Untested, and weaker: nobody's
// environment can be read, so who leaves both the group and the family is not found. The surprise: there is no session
// either; what ps prints as one is an address, and Windows has none.

import { createRequire } from 'node:module';
import type { ProcessEntry, ProcessTable } from './census.ts';

export function foreignTable(platform: NodeJS.Platform): ProcessTable {
  const read = platform === 'win32' ? readWindows : readPs;
  return {
    read: (since) => ({ entries: read().filter(({ startedAt }) => startedAt >= since), isSettled: true }),
    startedAt: (pid) => read().find((entry) => entry.pid === pid)?.startedAt ?? null,
  };
}

function readPs(): ProcessEntry[] {
  const lines = outputOf('ps', ['-Axo', 'pid=,ppid=,pgid=,stat=,lstart=']);
  return lines.flatMap((line) => {
    const [pid, parent, group, state = 'Z', ...started] = line.trim().split(/\s+/);
    if (!pid || state.startsWith('Z')) return [];
    const startedAt = Date.parse(started.join(' '));
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: 0,
        startedAt,
        found: [],
        isBlank: false,
      },
    ];
  });
}

const windowsQuery =
  'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId) $($_.CreationDate.Ticks)" }';

function readWindows(): ProcessEntry[] {
  return outputOf('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', windowsQuery]).flatMap((line) => {
    const [pid, parent, startedAt] = line.trim().split(' ').map(Number);
    if (!pid || parent === undefined || startedAt === undefined) return [];
    return [{ pid, parent, group: 0, session: 0, startedAt, found: [], isBlank: false }];
  });
}

function outputOf(program: string, words: readonly string[]): string[] {
  // Loaded here, because the guard, which is waited for, needs it nowhere else.
  const { execFileSync } = createRequire(import.meta.url)('node:child_process') as typeof import('node:child_process');
  return execFileSync(program, words, { encoding: 'utf8', windowsHide: true }).split('\n');
}
