import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { DurableInbox } from '../../../lib/inbox/durable-inbox';
import type { Incident } from '../../../lib/inbox/model';
import type { InboxEvents } from '../../../lib/inbox/store-health';
import { Taker } from '../../inbox/samples';
import { eventually, PATIENCE } from '../time/patience';

type Told =
  | { news: InboxEvents }
  | { incident: Incident }
  | { durable: boolean | undefined }
  | { messageId: string; outcome: string };

const DAY = 24 * 60 * 60 * 1000;

/** An inbox that another process has open, whose flow leaves all events open: the process is killed, and the inbox opened here. */
export class HeldInbox {
  readonly #process: ChildProcess;
  readonly told: Told[] = [];
  /** Ids of what was acknowledged. */
  readonly acknowledged: string[] = [];

  constructor(
    private readonly file: string,
    private readonly spillFolder: string,
    private readonly lastSequence: string,
  ) {
    this.#process = fork(path.join(__dirname, 'inbox-holder.ts'), [file, spillFolder, lastSequence], {
      execArgv: ['--import=tsx'],
    });
    this.#process.on('message', (told: Told) => this.told.push(told));
  }

  get incidents(): Incident[] {
    return this.told.flatMap((told) => ('incident' in told ? [told.incident] : []));
  }

  get hasFailed(): boolean {
    return this.told.some((told) => 'durable' in told && told.durable === false);
  }

  get isDurable(): boolean {
    const last = this.told.findLast((told) => 'durable' in told);
    return last !== undefined && last.durable === true;
  }

  /** What became of a message. */
  async send(messageId: string): Promise<string> {
    const from = this.told.length;
    this.#process.send(messageId);
    const answer = (): Told | undefined =>
      this.told.slice(from).find((told) => 'messageId' in told && told.messageId === messageId);
    await eventually(() => answer() !== undefined, `an answer to ${messageId}`);
    const told = answer();
    const outcome = told !== undefined && 'outcome' in told ? told.outcome : '';
    if (outcome !== 'cut') this.acknowledged.push(messageId);
    return outcome;
  }

  async sendSome(prefix: string, count: number): Promise<void> {
    for (let number = 0; number < count; number += 1) await this.send(`${prefix}-${number}`);
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGKILL');
    await once(this.#process, 'exit');
  }

  /** Kills it, and gives the ids of all that the next process delivers, once all that was acknowledged is among them, and what befell it. */
  async afterKill(): Promise<{ ids: string[]; incidents: Incident[] }> {
    await this.kill();
    const inbox = new DurableInbox({
      file: this.file,
      spillFolder: this.spillFolder,
      lastSequence: this.lastSequence,
      keep: { keys: 7 * DAY, bodies: 30 * DAY },
      timeoutMs: PATIENCE,
      lookAgain: 100,
    });
    const taker = new Taker(inbox, { handledWhen: 'settled', maxInFlight: 1000 });
    await eventually(() => inbox.state().durable === true, 'the inbox');
    const missing = (): string[] => this.acknowledged.filter((id) => !taker.ids.includes(id));
    await eventually(() => missing().length === 0, 'all that was acknowledged').catch(() => undefined);
    const { ids, incidents } = taker;
    await inbox.close();
    return { ids, incidents };
  }
}
