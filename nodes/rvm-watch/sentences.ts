import type { NodeAPI, NodeStatus } from 'node-red';
import { inOrder, isFault, severityOf, type Finding, type Standing } from '../../lib/watch/findings';
import { status } from '../support/status';

/** What a flow gets of all that stands. */
export interface Verdict {
  /** True where there is no fault. */
  ok: boolean;
  findings: Finding[];
}

export function verdictOn(RED: NodeAPI, standing: readonly Standing[]): Verdict {
  const findings = inOrder(standing).map(({ what, station, since, sentence, values }) => ({
    what,
    severity: severityOf(what),
    station,
    since,
    text: RED._(`rvm-watch.finding.${sentence}`, { ...values }),
  }));
  return { ok: !standing.some(isFault), findings };
}

/** The first of them, and how many there are besides. */
export function statusOf(RED: NodeAPI, standing: readonly Standing[]): NodeStatus {
  const [first, ...others] = inOrder(standing);
  if (first === undefined) return status(RED, 'allWell');
  const only = { key: `rvm-watch.short.${first.what}` };
  const what =
    others.length === 0
      ? only
      : { key: 'rvm-watch.short.more', values: { what: only, count: others.length } };
  return status(RED, isFault(first) ? 'watchFault' : 'watchWarning', { what });
}
