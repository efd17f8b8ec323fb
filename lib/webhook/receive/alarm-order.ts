import type { RvmEvent } from '../../event';
import { seemingTexts } from '../../message/unproven-fields';

/** A message that is not proven yet. */
interface Undecided {
  body: Uint8Array;
  /** Of all alarms that it may be of, once somebody asked. */
  alarmIds?: Set<string>;
  decided: Promise<void>;
}

/** Fields named `alarmId` that are looked at in a message: it has one, and a stranger may write any number. */
const MAX_IDS = 16;

/**
 * Keeps the events of an alarm in their order while the proof of one takes longer than that of the next. Only those that name the
 * same alarm wait for it: others pass, so that large forgeries hold up nothing.
 */
export class AlarmOrder {
  readonly #undecided = new Map<string, Set<Undecided>>();

  /**
   * Notes a message whose proof takes long.
   * @param line those of one line are in order
   * @returns to be called when it is accepted or refused
   */
  begin(line: string, body: Uint8Array): () => void {
    const all = this.#undecided.get(line) ?? new Set();
    this.#undecided.set(line, all);
    let resolve: () => void = () => undefined;
    const message = { body, decided: new Promise<void>((decide) => (resolve = decide)) };
    all.add(message);
    return () => {
      all.delete(message);
      if (all.size === 0 && this.#undecided.get(line) === all) this.#undecided.delete(line);
      resolve();
    };
  }

  /**
   * Resolves once all that came before a message and may be of the alarm of its event are decided; undefined where there are none.
   * @param body of the message
   */
  before(line: string, body: Uint8Array, event: RvmEvent | undefined): Promise<unknown> | undefined {
    const alarmId: unknown = event?.alarmId;
    if (typeof alarmId !== 'string' || alarmId === '') return undefined;
    const earlier: Promise<void>[] = [];
    for (const message of this.#undecided.get(line) ?? []) {
      if (message.body === body) break;
      if (alarmIdsOf(message).has(alarmId)) earlier.push(message.decided);
    }
    return earlier.length === 0 ? undefined : Promise.all(earlier);
  }
}

function alarmIdsOf(message: Undecided): Set<string> {
  return (message.alarmIds ??= new Set(seemingTexts(message.body, 'alarmId', MAX_IDS)));
}
