// Nobody opens an inspector in our programs by a signal. Each of them imports this file first, and what it does is never
// undone: Node listens on SIGUSR1 itself, for anybody who wants to debug it, as long as nobody else does. The surprise: what
// the signal means to a run is told elsewhere (run/signals.ts), and only once there is somebody to relay it to.

process.on('SIGUSR1', () => {});
