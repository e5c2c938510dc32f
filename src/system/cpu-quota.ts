// How much processor time the control group of this process allows: cpu.max (cgroup v2) or
// cpu.cfs_quota_us (v1) of the group and of all groups around it. Linux only.

import { readFileSync } from 'node:fs';
import path from 'node:path';

export interface CpuQuota {
  /** It begins with the limit in microseconds of each period; something else: there is none. */
  readonly file: string;
  readonly periodUs: number;
  /** How many processors that are; infinite: not limited now. */
  readonly cores: number;
}

const root = '/sys/fs/cgroup';

/** The strictest limit, or where the own group would have one; null: there are no such groups. */
export function cpuQuota(): CpuQuota | null {
  if (process.platform !== 'linux') return null;
  const quotas = textOf('/proc/self/cgroup').split('\n').flatMap(quotasOf);
  return quotas.reduce<CpuQuota | null>(
    (strictest, quota) => (strictest && strictest.cores <= quota.cores ? strictest : quota),
    null,
  );
}

/** `line`: of /proc/self/cgroup, `ID:CONTROLLERS:PATH`; v2 has no controllers. */
function quotasOf(line: string): CpuQuota[] {
  const [, controllers, group = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
  if (controllers === undefined) return [];
  const isSecond = controllers === '';
  if (!isSecond && !controllers.split(',').includes('cpu')) return [];
  const mounts = isSecond ? [root, `${root}/unified`] : [`${root}/cpu`, `${root}/${controllers}`];
  const folders = mounts.flatMap((mount) => around(group).map((one) => path.join(mount, one)));
  return folders.flatMap((folder) => {
    const file = path.join(folder, isSecond ? 'cpu.max' : 'cpu.cfs_quota_us');
    const texts = [file, ...(isSecond ? [] : [path.join(folder, 'cpu.cfs_period_us')])].map(textOf);
    const [quotaUs = 0, periodUs = 0] = texts.join(' ').split(' ').map(Number);
    if (!(periodUs > 0)) return [];
    return [{ file, periodUs, cores: quotaUs > 0 ? quotaUs / periodUs : Number.POSITIVE_INFINITY }];
  });
}

/** The group and those around it. In a container, only the last one may be there. */
function around(group: string): string[] {
  return group === '/' || group === '.' ? ['/'] : [group, ...around(path.dirname(group))];
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1').trim();
  } catch {
    return '';
  }
}
