import type { MessageState } from '../../inbox';
import type { StoreCalls } from '../../store/protocol';
import { MOST_STEPS, stepFacts, stepRow, type NotedStep, type StepRow } from '../../store/step';
import { isOpenState } from '../../store/stored-message';
import { oneEvent, type OneEvent } from './one-event';
import { storedMessage, type Statements } from './statements';

/** The steps of messages beyond their usual course, which stands in the rows of the messages. */
export class HistoryTable {
  constructor(private readonly statements: Statements) {}

  /** What is known of a message that is there. */
  add(one: OneEvent, step: NotedStep): void {
    const { time, attempt = null, by = null } = step;
    this.statements.note.run(time, step.step, attempt, by, stepFacts(step), ...one);
    this.statements.trimHistory.run(one[0], MOST_STEPS);
  }

  /** Once, however often it is asked. */
  note({ deliveryId, step, ifOpen = false }: StoreCalls['note']['take']): MessageState | undefined {
    const one = oneEvent(this.statements, deliveryId);
    const row = this.statements.find.get(...one);
    if (row === undefined) return undefined;
    const { state } = storedMessage(row);
    if (ifOpen && !isOpenState(state)) return state;
    const { time, step: name } = step;
    if (this.statements.isNoted.get(one[0], time, name, stepFacts(step)) !== undefined) return state;
    if (step.verdict !== undefined) this.statements.judge.run(step.verdict, step.time, ...one);
    this.add(one, step);
    return state;
  }

  /** What the flow had of a message is over with the process, or the consumer; to be told before the message is changed. */
  cutOff(one: OneEvent): void {
    this.statements.noteCutOff.run(Date.now(), 'cut-off', null, null, ...one);
  }

  /** And of all that are leased. */
  cutOffAll(): void {
    this.statements.noteCutOffAll.run(Date.now(), 'cut-off', null, null);
  }

  /** It was not delivered after all; to be told after the message is changed. */
  unsent([sequence]: OneEvent): void {
    this.statements.forgetUnsent.run(sequence);
  }

  /** Open events and dead letters of an endpoint are given to another; to be told before they are changed. */
  assigned(from: string, { to, by = null }: { to: string; by?: string | null }): void {
    const step: NotedStep = { time: Date.now(), step: 'assigned', reason: to };
    for (const statement of ['noteMoved', 'noteMovedDead'] as const)
      this.statements[statement].run(step.time, step.step, null, by, stepFacts(step), from);
  }

  /** In place of what was known. */
  replace(one: OneEvent, steps: readonly NotedStep[]): void {
    const [sequence] = one;
    const first = steps.find(({ step }) => step === 'delivered');
    const settled = steps.findLast(({ step }) => step === 'settled');
    this.statements.bringCourse.run(
      first?.time ?? null,
      settled?.time ?? null,
      settled?.by ?? null,
      sequence,
    );
    this.statements.deleteHistory.run(sequence);
    for (const step of steps) if (step !== first && step !== settled) this.#bring(one, step);
  }

  of(sequence: number): StepRow[] {
    return this.statements.history
      .all(sequence)
      .map(({ place, time, step, attempt, actor, facts }) =>
        stepRow({ place, time, step, attempt, actor, facts }),
      );
  }

  #bring(one: OneEvent, step: NotedStep): void {
    if (step.verdict !== undefined) this.statements.judge.run(step.verdict, step.time, ...one);
    this.add(one, step);
  }
}
