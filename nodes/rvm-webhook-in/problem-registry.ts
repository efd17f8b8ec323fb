import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { HintFile } from '../../lib/files';
import { ProblemArchive, ProblemCounter, UnseenProblems } from '../../lib/webhook/endpoint-health';
import { onFlowsState } from '../support/flows';
import { ownFolder } from '../support/settings';

/** What the last run knew, as hints are: a file that is missing or damaged costs nothing but that. */
const FILE = 'problems';

const numbers = new ProblemCounter();
/** By id of the *webhook in*: a deploy that builds it anew has cured nothing, and shown nothing to anybody. */
const ofWebhooks = new Map<string, UnseenProblems>();
/** Nor has a restart. */
let kept: ProblemArchive | undefined;

/** Has what nobody has seen come back after a restart. To be called once, when the type registers. */
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

/** Resolves when they are kept, or cannot be. */
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

/** The node is deleted or disabled. */
export function forgetProblemsOf(webhookId: string): void {
  ofWebhooks.delete(webhookId);
  kept?.saveSoon();
}

/** Ids of the *webhook in* nodes that there are, those that are just being deployed among them. */
export function webhookIds(): string[] {
  return [...ofWebhooks.keys()];
}

/** A person has seen all problems as far as this number. */
export function problemsSeen(upTo: number): void {
  for (const problems of ofWebhooks.values()) problems.seen(upTo);
}

/** The number of the newest problem. */
export function lastProblem(): number {
  return numbers.last;
}
