import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { StoreServer } from '../../lib/inbox/sqlite/store-server';
import type { FromStore, Request } from '../../lib/inbox/sqlite/store-thread';
import type { LocalCall, StoreCalls } from '../../lib/inbox/store/port';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { folderOfEach } from '../support/inbox/folders';
import { cannotRun } from '../support/suite/programs';
import { ENDPOINT, proven } from './samples';

/** Events that a commit shares on a busy day, and events that are measured. */
const BATCH = 16;
const MEASURED = 2048;
const STORED = 20_000;
const BODY = 1024;
const MOST = 6 * 1024;

describe('what the store writes', () => {
  let server: StoreServer;
  const folder = folderOfEach(() => server.close());
  /** With the flow, and marked as delivered in the commit of the next ones. */
  let delivered: string[];
  let lastId = 0;

  beforeEach(function () {
    if (!fs.existsSync('/proc/self/io')) cannotRun(this, 'there is no /proc');
    delivered = [];
    server = new StoreServer(path.join(folder(), 'inbox.sqlite'), false, hear);
    // None waits: from now on each is leased in the commit that stores it.
    server.run([request('lease', { endpoint: ENDPOINT, limit: 1, health: 1, ordered: false })]);
  });

  function hear(news: FromStore): void {
    if (!('replies' in news)) return;
    for (const { give } of news.replies)
      if (isObject(give) && typeof give.deliveryId === 'string') delivered.push(give.deliveryId);
  }

  function request<Name extends LocalCall>(name: Name, take: StoreCalls[Name]['take']): Request {
    lastId += 1;
    return { id: lastId, name, take };
  }

  const sample = newMessage(proven());
  const bytes = new Uint8Array(BODY).fill(0x78);

  function store(count: number): void {
    const marked = request('markDelivered', delivered.splice(0));
    const accepted = Array.from({ length: count }, () =>
      request('accept', {
        message: {
          ...sample,
          id: randomUUID(),
          alarm: randomUUID(),
          fingerprint: randomBytes(32).toString('hex'),
          bytes,
        },
        lease: 'any',
      }),
    );
    server.run([marked, ...accepted]);
    server.pause();
  }

  /** Handed to the system, log and checkpoints and settlement included, for each event. */
  function bytesOfAnEvent(): number {
    const before = written();
    for (let count = 0; count < MEASURED; count += BATCH) store(BATCH);
    return (written() - before) / MEASURED;
  }

  it('is at most 6 KiB for an event of 1 KiB, and hardly more where many are stored', () => {
    const few = bytesOfAnEvent();
    assert.ok(few <= MOST, `${few} bytes`);
    store(STORED);
    // What was written of those until they were settled is none of the measured ones'.
    bytesOfAnEvent();
    const many = bytesOfAnEvent();
    assert.ok(many <= 1.2 * few, `${many} bytes with ${STORED} stored, ${few} with none`);
  });
});

/** Bytes that this process has handed to the system to write. */
function written(): number {
  return Number(/^wchar: (\d+)$/m.exec(fs.readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
