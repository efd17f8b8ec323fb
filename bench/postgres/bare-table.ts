import { Client } from 'pg';
import { type Question, Session } from '../../lib/inbox/postgres/session';
import type { ProvenMessage } from '../../lib/message/record';
import { inFlight } from './in-flight';

const INSERT = 'INSERT INTO bare SELECT * FROM unnest($1::text[], $2::bytea[]) ON CONFLICT DO NOTHING';
const DELETE = 'DELETE FROM bare WHERE id = ANY ($1::text[])';

/** How often it waits for the disk: for each statement, or once for a batch, as an inbox does. */
export type Commits = 'each' | 'together';

/** What goes together. */
interface Batch {
  readonly inserted: ProvenMessage[];
  readonly deleted: string[];
  readonly done: (() => void)[];
}

/**
 * The least that keeps an event: a table of ids and bodies, into which it goes, and out of which it is taken again, each by a prepared
 * statement of its own. In batches as the inbox has them: what comes while one is under way goes as the next.
 */
export class BareTable {
  #next: Batch = emptyBatch();
  #isBusy = false;
  #failed: (error: unknown) => void = () => undefined;

  private constructor(
    private readonly session: Session,
    private readonly commits: Commits,
  ) {}

  static async open(url: string, commits: Commits): Promise<BareTable> {
    const client = new Client({ connectionString: url, pipeline: true });
    await client.connect();
    await client.query('CREATE TABLE bare (id text PRIMARY KEY, body bytea NOT NULL)');
    return new BareTable(new Session(client), commits);
  }

  /** Inserts events, so many at once, and deletes each once it is there. @returns how many a second */
  async perSecond(events: readonly ProvenMessage[], senders: number): Promise<number> {
    const deletions: Promise<void>[] = [];
    const failure = new Promise<never>((_resolve, reject) => (this.#failed = reject));
    const begun = performance.now();
    const sent = inFlight(events, senders, async (event) => {
      await this.#ask(({ inserted }) => inserted.push(event));
      deletions.push(this.#ask(({ deleted }) => deleted.push(event.envelope.messageId)));
    });
    await Promise.race([sent.then(() => Promise.all(deletions)), failure]);
    return (events.length / (performance.now() - begun)) * 1000;
  }

  close(): Promise<void> {
    return this.session.client.end();
  }

  #ask(add: (batch: Batch) => unknown): Promise<void> {
    add(this.#next);
    if (!this.#isBusy) {
      this.#isBusy = true;
      setImmediate(() => void this.#run().catch(this.#failed));
    }
    return new Promise((resolve) => this.#next.done.push(resolve));
  }

  async #run(): Promise<void> {
    while (this.#next.done.length > 0) {
      const batch = this.#next;
      this.#next = emptyBatch();
      await this.#send(batch);
      for (const each of batch.done) each();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#isBusy = false;
  }

  async #send({ inserted, deleted }: Batch): Promise<void> {
    const { session } = this;
    const ids = inserted.map(({ envelope }) => envelope.messageId);
    const bodies = inserted.map(({ body }) => body);
    const questions: Question[] = [];
    if (deleted.length > 0) questions.push([DELETE, [deleted]]);
    if (inserted.length > 0) questions.push([INSERT, [ids, bodies]]);
    if (this.commits === 'together') await session.transaction(questions);
    else for (const [statement, values] of questions) await session.run(statement, values);
  }
}

function emptyBatch(): Batch {
  return { inserted: [], deleted: [], done: [] };
}
