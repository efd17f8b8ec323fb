import { randomBytes, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { NewMessage } from '../lib/inbox/store/port';
import { Store } from '../lib/inbox/sqlite/store';
import { newMessage } from '../lib/inbox/store/stored-message';
import { endpointKey } from '../lib/webhook/endpoint';
import { proven } from '../test/inbox/samples';
import { PATH } from '../test/support/node-red/flows';

/** That of *webhook in* of the benchmark's flow. */
const ENDPOINT = endpointKey('', PATH);
/** Messages of one transaction: one sync for all of them, and no more pages than the memory of the store has. */
const BATCH = 20_000;

/** The inbox of a user directory, while no Node-RED runs there; by default of a new one, which the caller removes. */
export class FilledInbox {
  readonly file: string;
  readonly #store: Store;

  constructor(readonly userDir = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-bench-'))) {
    this.file = path.join(userDir, 'remote-monitoring', 'inbox.sqlite');
    this.#store = new Store({ file: this.file, resumed: false });
  }

  /** Events of it that waited when the inbox was opened. */
  get waiting(): number {
    return this.#store.opened.waiting[ENDPOINT] ?? 0;
  }

  /** Stores events of it, each with ids of its own: they wait, or the flow has had them. */
  add(count: number, state: 'waiting' | 'delivered'): void {
    const events = eventsLike(sample());
    for (let left = count; left > 0; left -= BATCH)
      this.#addBatch(events, Math.min(BATCH, left), state === 'delivered');
  }

  /** In peace: nothing is left in the log of the file. */
  close(): void {
    this.#store.close();
  }

  #addBatch(events: () => NewMessage, count: number, delivered: boolean): void {
    const { work } = this.#store;
    this.#store.transaction(() => {
      const accept = (): string =>
        work.accept({ message: events(), lease: delivered ? 'any' : 'no' }).deliveryId;
      const deliveryIds = Array.from({ length: count }, accept);
      if (delivered) work.markDelivered(deliveryIds);
    });
  }
}

function sample(): NewMessage {
  return newMessage(proven({}, { endpointId: ENDPOINT, remoteAddress: '127.0.0.1' }));
}

/** As many more as are asked for, of which only the ids differ. */
function eventsLike(event: NewMessage): () => NewMessage {
  const { id: sampleId, alarm: sampleAlarm = '' } = event;
  const text = Buffer.from(event.bytes).toString();
  return () => {
    const [id, alarm] = [randomUUID(), randomUUID()];
    return {
      ...event,
      id,
      alarm,
      fingerprint: randomBytes(32).toString('hex'),
      received: Date.now(),
      bytes: Buffer.from(text.replace(sampleId, id).replace(sampleAlarm, alarm)),
    };
  };
}
