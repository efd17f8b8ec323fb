import { ProblemNumbers, UnseenProblems } from '../../lib/webhook/unseen-problems';

const numbers = new ProblemNumbers();
/** By id of the *webhook in*: a deploy that builds it anew has cured nothing, and shown nothing to anybody. */
const ofWebhooks = new Map<string, UnseenProblems>();

export function problemsOf(webhookId: string): UnseenProblems {
  const known = ofWebhooks.get(webhookId) ?? new UnseenProblems(numbers);
  ofWebhooks.set(webhookId, known);
  return known;
}

/** The node is deleted or disabled. */
export function forgetProblemsOf(webhookId: string): void {
  ofWebhooks.delete(webhookId);
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
