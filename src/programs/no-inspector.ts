// Prevents that SIGUSR1 opens an inspector, which Node does as long as the signal has no handler.
// Each program imports this file first. What the signal means to a run is decided elsewhere
// (run/terminal.ts), and only once there is a command to relay it to.

process.on('SIGUSR1', () => {});
