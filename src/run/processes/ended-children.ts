// When to look for children that have ended, orphans that were inherited included. On Linux the
// kernel tells by SIGCHLD, and a slow look is a net below it. On other systems looks find the
// processes of the command, so there they come once a second.

const isLinux = process.platform === 'linux';

/** The interval of looks that nothing calls for. */
export const calmMs = isLinux ? 10_000 : 1_000;
/**
 * One look takes all children that end within so long: at most twenty looks a second, however many
 * orphans come.
 */
const togetherMs = 50;

/** Looks soon after a child has ended (Linux). Returns the function that ends that. */
export function onEndedChild(look: () => void): () => void {
  let due: NodeJS.Timeout | null = null;
  const tell = () => {
    due ??= setTimeout(() => {
      due = null;
      look();
    }, togetherMs);
  };
  if (isLinux) process.on('SIGCHLD', tell);
  return () => {
    process.off('SIGCHLD', tell);
    if (due) clearTimeout(due);
  };
}
