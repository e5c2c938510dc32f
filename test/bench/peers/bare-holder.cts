// The floor of holding and of waiting: a bare Node program with ioredis that sends each master the
// shortest script that extends a key, or takes it where it is free. No guard, no deadline, no
// queue: no lock could be built on it. `bare-holder.cjs extend|poll EVERY-MS SOCKET...`

const ioredis = require('ioredis') as typeof import('ioredis');

const [way = '', everyMs, ...sockets] = process.argv.slice(2);
const scripts: Record<string, string> = {
  extend: "return redis.call('get',KEYS[1])==ARGV[1] and redis.call('pexpire',KEYS[1],30000)",
  poll: "return redis.call('set',KEYS[1],ARGV[1],'nx','px',30000) or redis.call('pttl',KEYS[1])",
};
const masters = sockets.map((path) => new ioredis.Redis({ path }));
const ask = () => {
  return Promise.all(masters.map((master) => master.eval(scripts[way] ?? '', 1, 'bare', 'value')));
};
void Promise.all(masters.map((master) => master.set('bare', 'value'))).then(ask);
setInterval(ask, Number(everyMs));
