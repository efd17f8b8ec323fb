import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { steadyNow } from './event-loop';

/**
 * How long a test waits for what must come before it calls it missing, in milliseconds. No bound of the package: it is far
 * above what a busy machine needs, and below the time after which mocha ends a test without saying what was missing.
 */
export const PATIENCE = 150_000;

/**
 * Waits until something is so that no event tells of, looking often.
 * @param every milliseconds between two looks, for one that costs something
 */
export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
  every = 5,
): Promise<void> {
  const deadline = steadyNow() + PATIENCE;
  while (!(await condition())) {
    if (steadyNow() > deadline) throw new Error(`waited ${PATIENCE / 1000} s in vain for ${what}`);
    await delay(every);
  }
}

/** So many pauses of so many milliseconds each, one after the other; nothing is kept alive for them. */
async function pauses(count: number, each: number): Promise<void> {
  for (let done = 0; done < count; done += 1) await delay(each, undefined, { ref: false });
}

/**
 * What the work gives, which must be there before a row of pauses is over: about two seconds unless told otherwise. What holds
 * up a busy machine holds up each of the pauses, too, so that this says "without waiting for anything" and not "in so many
 * milliseconds".
 */
export async function soon<Result>(work: Promise<Result>, count = 40): Promise<Result> {
  const late = Symbol('late');
  const first = await Promise.race([work, pauses(count, 50).then(() => late)]);
  if (first === late) throw new Error(`not there after ${count} pauses of 50 ms`);
  return work;
}

/**
 * Fails where less than half of a pause was made, in milliseconds. A timer counts from the beginning of the turn of the event
 * loop that set it, and on a busy machine what came before the pause is noticed late: no pause measures its whole length.
 */
export function assertPause(measured: number, wanted: number): void {
  assert.ok(measured >= wanted / 2, `${measured} ms of ${wanted}`);
}

/** A promise that a test resolves when it wants the waiting side to go on. */
export class Gate {
  readonly #opening = Promise.withResolvers<void>();
  readonly opened = this.#opening.promise;

  open(): void {
    this.#opening.resolve();
  }
}

/** A method as it is called: with what it belongs to. */
type Method<Holder> = (this: Holder, ...values: unknown[]) => unknown;

/**
 * Puts another method in place of one that belongs to all objects of a kind.
 * @param made gets the former one
 * @returns the way back
 */
export function replaceMethod<Holder>(
  prototype: object,
  name: PropertyKey,
  made: (former: Method<Holder>) => Method<Holder>,
): () => void {
  const former = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
  Object.defineProperty(prototype, name, { ...former, value: made(former.value as Method<Holder>) });
  return () => Object.defineProperty(prototype, name, former);
}
