import type { NodeRed } from './node-red';

/** What a piece of work gives, while the clock of a Node-RED with MOVABLE_CLOCK runs as fast as it can. */
export async function whileTimeFlies<Result>(nodeRed: NodeRed, work: Promise<Result>): Promise<Result> {
  const isOver = work.then(
    () => true,
    () => true,
  );
  do await nodeRed.advance(0.5);
  while (!(await Promise.race([isOver, Promise.resolve(false)])));
  return work;
}
