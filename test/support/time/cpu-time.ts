/**
 * Seconds of computing that a piece of work costs this process: other programs make it take longer, but not cost more. For work
 * that would never end if it were done the wrong way; a bound of it needs room for a slow machine.
 */
export async function cpuSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
