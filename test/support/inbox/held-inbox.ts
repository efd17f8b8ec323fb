import { fork, type ChildProcess } from 'node:child_process';
import { DurableInbox } from '../../../lib/inbox/durable-inbox';
import type { Incident } from '../../../lib/inbox/model';
import type { InboxEvents } from '../../../lib/inbox/store-health';
import { DAY, proven, Taker } from '../../inbox/samples';
import { endProcess } from '../network/servers';
import { eventually, PATIENCE } from '../time/patience';

type Told =
  | { news: InboxEvents }
  | { incident: Incident }
  | { durable: boolean | undefined }
  | { messageId: string; outcome: string };

const KEEP = { keys: 7 * DAY, bodies: 30 * DAY };

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
    const execArgv = ['--import=tsx'];
    this.#process = fork(__filename, [file, spillFolder, lastSequence], { execArgv });
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
    await endProcess(this.#process, 'SIGKILL');
  }

  /** Kills it, and gives the ids of all that the next process delivers, once all that was acknowledged is among them, and what befell it. */
  async afterKill(): Promise<{ ids: string[]; incidents: Incident[] }> {
    await this.kill();
    const inbox = new DurableInbox({
      file: this.file,
      spillFolder: this.spillFolder,
      lastSequence: this.lastSequence,
      keep: KEEP,
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

/** The process: it takes ids of messages to accept, and says what became of each; and tells what befell the inbox. */
function hold([file = '', spillFolder = '', lastSequence = '']: readonly string[]): void {
  const tell = (told: Told): void => void process.send?.(told);
  const inbox = new DurableInbox({
    file,
    spillFolder,
    lastSequence,
    keep: KEEP,
    lookAgain: 100,
    log: (news) => tell({ news }),
  });
  void new Taker(inbox, { handledWhen: 'settled', onIncident: (incident) => tell({ incident }) });
  inbox.watch(() => tell({ durable: inbox.state().durable }));
  process.on('message', (messageId: string) => {
    inbox.accept(proven({}, { messageId })).then(
      ({ outcome }) => tell({ messageId, outcome }),
      () => tell({ messageId, outcome: 'cut' }),
    );
  });
  process.on('disconnect', () => process.exit());
}

if (require.main === module) hold(process.argv.slice(2));
