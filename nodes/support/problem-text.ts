import type { NodeAPI } from 'node-red';
import type { Problem } from '../../lib/webhook/problem';

/** A problem as a flow gets it. */
export interface ToldProblem extends Problem {
  /** One sentence in the language of Node-RED: what happened, and what to do. */
  text: string;
}

/** The text of a problem, by its key among those that all types share; the sidebar has it in the language of who looks. */
export function problemKey({ kind, reason, ended }: Pick<Problem, 'kind' | 'reason' | 'ended'>): string {
  if (ended === true) return `shared.problem.${reason}Ended`;
  // A conflict may be one of dead letters: what there is to do comes from the conflict.
  return `shared.problem.${kind === 'conflict' || reason === null ? kind : reason}`;
}

/** @param values what a text of this kind names besides the number of messages */
export function toldProblem(
  RED: NodeAPI,
  problem: Problem,
  values: Record<string, string> = {},
): ToldProblem {
  const { kind, reason, ...facts } = problem;
  const incident = reason === 'store' ? problem.note : undefined;
  const text = incident ?? RED._(problemKey(problem), { count: problem.count, ...values });
  return { kind, reason, text, ...facts };
}
