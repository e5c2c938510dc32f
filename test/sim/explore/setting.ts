// What all small worlds have in common, and how they differ. Times are in ms.

/** One step of time. All instants at which something may begin are multiples of it. */
export const tickMs = 1_000;
/** A key lasts for one tick and is gone with the second, and so is the validity. */
export const ttlMs = 1_990;
/** Longer than one tick, and shorter than two. */
export const masterTimeoutMs = 1_500;
export const reserveMs = 100;
export const restartGraceMs = 2_000;

export const prefix = 'lock:';
export const resource = 'r';
export const key = prefix + resource;
export const counter = `{${key}}:fence`;

/** How often each client may begin what. It begins at any instant, or never. */
export interface Budget {
  readonly acquires: number;
  readonly extends: number;
}

export interface Setting {
  readonly name: string;
  /** What is special about it, in one line. */
  readonly what: string;
  readonly clients: readonly Budget[];
  /** How often time passes. */
  readonly ticks: number;
  /** How many connections break, with the requests or the answers under way. */
  readonly losses: number;
  /** How many masters restart, with or without their memory. */
  readonly crashes: number;
  /** Whether they fsync every change, so that a restart without memory is one with another disk. */
  readonly isDurable: boolean;
  /** What the counters of the masters stand at, above some large number; null: there are none. */
  readonly counts: readonly [number, number, number] | null;
  /** How often a failed attempt is repeated by the wait of the program; null: no wait around it. */
  readonly retries: number | null;
}

const plain = {
  ticks: 0,
  losses: 0,
  crashes: 0,
  isDurable: false,
  counts: null,
  retries: null,
};
const once = { acquires: 1, extends: 0 };
const twice = { acquires: 2, extends: 0 };
const extending = { acquires: 1, extends: 1 };

/** The smallest ones of each kind. Those with two clients and faults have no end within an hour. */
export const settings: readonly Setting[] = [
  {
    ...plain,
    name: 'contention',
    what: 'two clients acquire and release',
    clients: [once, once],
  },
  {
    ...plain,
    name: 'loss-alone',
    what: 'one client acquires and releases, and a connection breaks',
    clients: [once],
    losses: 1,
  },
  {
    ...plain,
    name: 'crash-alone',
    what: 'one client acquires and releases, and a master restarts',
    clients: [once],
    crashes: 1,
  },
  {
    ...plain,
    name: 'expiry-alone',
    what: 'one client acquires and releases, and time passes twice',
    clients: [once],
    ticks: 2,
  },
  {
    ...plain,
    name: 'alone',
    what: 'one client acquires and extends, and time passes three times',
    clients: [extending],
    ticks: 3,
  },
  {
    ...plain,
    name: 'again',
    what: 'one client acquires twice, and a connection breaks',
    clients: [twice],
    losses: 1,
  },
  {
    ...plain,
    name: 'expiry',
    what: 'two clients acquire and release, and time passes twice',
    clients: [once, once],
    ticks: 2,
  },
  {
    ...plain,
    name: 'loss',
    what: 'two clients acquire and release, and a connection breaks',
    clients: [once, once],
    losses: 1,
  },
  {
    ...plain,
    name: 'crash',
    what: 'two clients acquire and release, and a master restarts',
    clients: [once, once],
    crashes: 1,
  },
  {
    ...plain,
    name: 'disk',
    what: 'two clients acquire and release; a master that fsyncs restarts, or its disk is replaced',
    clients: [once, once],
    crashes: 1,
    isDurable: true,
  },
  {
    ...plain,
    name: 'extension',
    what: 'one client extends, another one acquires, and time passes twice',
    clients: [extending, once],
    ticks: 2,
  },
  {
    ...plain,
    name: 'repair',
    what: 'one client acquires and extends; time passes once, and a master restarts',
    clients: [extending],
    ticks: 1,
    crashes: 1,
  },
  {
    ...plain,
    name: 'fence',
    what: 'two clients, and counters of which one is behind',
    clients: [once, once],
    counts: [1, 1, 0],
  },
  {
    ...plain,
    name: 'turns',
    what: 'one client acquires twice, another one once',
    clients: [twice, once],
  },
  {
    ...plain,
    name: 'retries',
    what: 'two clients, which repeat a failed attempt once',
    clients: [once, once],
    retries: 1,
  },
];
