import path from 'node:path';
import type { NodeAPI } from 'node-red';
import { JsonFile } from '../../lib/files';
import { ProblemArchive, ProblemCounter, UnseenProblems } from '../../lib/webhook/unseen-problems';
import { onFlowsState } from '../support/flows';
import { ownFolder } from '../support/settings';

/** Unseen problems of the last run. Like other hint files: a missing or damaged file loses only these. */
const FILE = 'problems';

const numbers = new ProblemCounter();
/** By id of the *webhook in*. Survives a deploy, which neither cures a problem nor shows it to a user. */
const ofWebhooks = new Map<string, UnseenProblems>();
/** Stores the problems over a restart, for the same reason. */
let archive: ProblemArchive | undefined;

/** Restores unseen problems after a restart. To be called once, when the type registers. */
export function keepProblems(RED: NodeAPI): void {
  if (archive !== undefined) return;
  const present = (): Map<string, ReturnType<UnseenProblems['snapshot']>> =>
    new Map([...ofWebhooks].map(([id, problems]) => [id, problems.snapshot()]));
  const keeping = new ProblemArchive(new JsonFile(path.join(ownFolder(RED), FILE), FILE), present);
  archive = keeping;
  void keeping.loaded.then(() => {
    for (const [id, problems] of ofWebhooks) problems.restore(keeping.take(id));
  });
  onFlowsState(RED, 'started', () => keeping.dropLeft());
}

/** Resolves when the problems are stored, or cannot be. */
export async function problemsKept(): Promise<void> {
  await archive?.save();
}

export function problemsOf(webhookId: string): UnseenProblems {
  const known = ofWebhooks.get(webhookId);
  if (known !== undefined) return known;
  const problems = new UnseenProblems(numbers);
  problems.restore(archive?.take(webhookId) ?? []);
  problems.watch(() => archive?.saveSoon());
  ofWebhooks.set(webhookId, problems);
  return problems;
}

/** To be called when the node is deleted or disabled. */
export function forgetProblemsOf(webhookId: string): void {
  ofWebhooks.delete(webhookId);
  archive?.saveSoon();
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
