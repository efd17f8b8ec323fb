import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { HintFile } from '../../lib/files';
import { ProblemArchive, ProblemCounter, UnseenProblems } from '../../lib/webhook/endpoint-health';
import { onFlowsState } from '../support/flows';
import { ownFolder } from '../support/settings';

/** Unseen problems of the last run. Like other hint files: a missing or damaged file loses only these. */
const FILE = 'problems';

const numbers = new ProblemCounter();
/** By id of the *webhook in*. Survives a deploy, which neither cures a problem nor shows it to a user. */
const ofWebhooks = new Map<string, UnseenProblems>();
/** Stores the problems over a restart, for the same reason. */
let kept: ProblemArchive | undefined;

/** Restores unseen problems after a restart. To be called once, when the type registers. */
export function keepProblems(RED: NodeAPI): void {
  if (kept !== undefined) return;
  const present = (): Map<string, ReturnType<UnseenProblems['kept']>> =>
    new Map([...ofWebhooks].map(([id, problems]) => [id, problems.kept()]));
  const keeping = new ProblemArchive(new HintFile(path.join(ownFolder(RED), FILE), FILE), present);
  kept = keeping;
  void keeping.loaded.then(() => {
    for (const [id, problems] of ofWebhooks) problems.restore(keeping.take(id));
  });
  onFlowsState(RED, 'started', () => keeping.dropLeft());
}

/** Resolves when the problems are stored, or cannot be. */
export async function problemsKept(): Promise<void> {
  await kept?.save();
}

export function problemsOf(webhookId: string): UnseenProblems {
  const known = ofWebhooks.get(webhookId);
  if (known !== undefined) return known;
  const problems = new UnseenProblems(numbers);
  problems.restore(kept?.take(webhookId) ?? []);
  problems.watch(() => kept?.saveSoon());
  ofWebhooks.set(webhookId, problems);
  return problems;
}

/** To be called when the node is deleted or disabled. */
export function forgetProblemsOf(webhookId: string): void {
  ofWebhooks.delete(webhookId);
  kept?.saveSoon();
}

/** Ids of the *webhook in* nodes, including those being deployed at the moment. */
export function webhookIds(): string[] {
  return [...ofWebhooks.keys()];
}

/** Marks all problems up to this number as seen by a user. */
export function problemsSeen(upTo: number): void {
  for (const problems of ofWebhooks.values()) problems.seen(upTo);
}

export function lastProblem(): number {
  return numbers.last;
}
