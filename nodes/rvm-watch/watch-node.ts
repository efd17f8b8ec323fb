import type { Node, NodeAPI } from 'node-red';
import type { Standing } from '../../lib/watch/findings';

export interface WatchNode extends Node {
  /** What it has found; absent where it cannot look. */
  watch?: { readonly standing: readonly Standing[] };
}

/** What all *watch* nodes have found, each thing once; undefined where there is none that looks. */
export function allStanding(RED: NodeAPI): Standing[] | undefined {
  const watches: NonNullable<WatchNode['watch']>[] = [];
  RED.nodes.eachNode(({ type, id }) => {
    const node = type === 'rvm-watch' ? (RED.nodes.getNode(id) as WatchNode | null | undefined) : undefined;
    if (node?.watch !== undefined) watches.push(node.watch);
  });
  if (watches.length === 0) return undefined;
  return [
    ...new Map(watches.flatMap(({ standing }) => standing.map((each) => [each.id, each] as const))).values(),
  ];
}
