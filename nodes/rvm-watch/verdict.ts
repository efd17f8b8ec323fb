import type { Node, NodeAPI, NodeStatus } from 'node-red';
import { type ActiveFinding, type Finding, inOrder, isFault, severityOf } from '../../lib/watch/findings';
import { status } from '../support/status';

export interface WatchNode extends Node {
  /** Its active findings; absent where the node cannot watch. */
  watch?: { readonly standing: readonly ActiveFinding[] };
}

/** Active findings of all *watch* nodes without duplicates; undefined where no node watches. */
export function allStanding(RED: NodeAPI): ActiveFinding[] | undefined {
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

/** The state of all findings, as a flow receives it. */
export interface Verdict {
  /** True where there is no fault. */
  ok: boolean;
  findings: Finding[];
}

export function verdictOn(RED: NodeAPI, standing: readonly ActiveFinding[]): Verdict {
  const findings = inOrder(standing).map(({ what, station, since, sentence, values }) => ({
    what,
    severity: severityOf(what),
    station,
    since,
    text: RED._(`rvm-watch.finding.${sentence}`, { ...values }),
  }));
  return { ok: !standing.some(isFault), findings };
}

/** Status with the first finding, and the number of further ones. */
export function statusOf(RED: NodeAPI, standing: readonly ActiveFinding[]): NodeStatus {
  const [first, ...others] = inOrder(standing);
  if (first === undefined) return status(RED, 'allWell');
  const only = { key: `rvm-watch.short.${first.what}` };
  const what =
    others.length === 0
      ? only
      : { key: 'rvm-watch.short.more', values: { what: only, count: others.length } };
  return status(RED, isFault(first) ? 'watchFault' : 'watchWarning', { what });
}
