import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Delivery, ProvenMessage } from '../../lib/inbox/inbox';
import { SqliteInbox } from '../../lib/inbox/sqlite-inbox';

function message(messageId: string, changes: Partial<ProvenMessage> = {}): ProvenMessage {
  return {
    kind: 'event',
    endpointId: 'e',
    stationKey: 'north',
    stationName: 'North',
    sandbox: false,
    receivedTime: new Date().toISOString(),
    fingerprint: 'f',
    body: Buffer.from('{}'),
    proof: 'hmac',
    secret: 'current',
    envelope: {
      messageId,
      payloadType: 'BlueEvent',
      version: '1',
      transmitTime: null,
      logCorrelationId: null,
    },
    event: { eventName: 'Ærø 港' },
    warnings: [],
    ...changes,
  };
}

describe('the durable inbox', () => {
  let folder: string;
  let inbox: SqliteInbox;
  const file = (): string => path.join(folder, 'inbox', 'inbox.sqlite');

  beforeEach(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-inbox-'));
    inbox = await SqliteInbox.open({ file: file() });
  });
  afterEach(async () => {
    await inbox.close();
    fs.rmSync(folder, { recursive: true });
  });

  /** Collects what is delivered until there are `count` of them. */
  async function deliveries(count: number): Promise<Delivery[]> {
    const seen: Delivery[] = [];
    let stop: (() => void) | undefined;
    await new Promise<void>((resolve) => {
      stop = inbox.consume('e', (delivery) => {
        seen.push(delivery);
        if (seen.length === count) resolve();
      });
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    stop?.();
    return seen;
  }

  async function reopen(): Promise<void> {
    await inbox.close();
    inbox = await SqliteInbox.open({ file: file() });
  }

  it('delivers what it accepted, in order of acceptance', async () => {
    for (const id of ['a', 'b', 'c']) assert.equal((await inbox.accept(message(id))).outcome, 'new');
    const seen = await deliveries(3);
    assert.deepEqual(
      seen.map(({ message: { envelope }, attempt }) => [envelope.messageId, attempt]),
      [
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ],
    );
    const { event, body } = seen[0]?.message ?? {};
    assert.deepEqual([event, Buffer.from(body ?? []).toString()], [{ eventName: 'Ærø 港' }, '{}']);
  });

  it('C-75 knows a repeat and a conflict over a restart', async () => {
    const { deliveryId } = await inbox.accept(message('a'));
    await deliveries(1);
    await reopen();
    assert.deepEqual(await inbox.accept(message('a')), { outcome: 'repeat', deliveryId });
    assert.equal((await inbox.accept(message('a', { fingerprint: 'other' }))).outcome, 'conflict');
    assert.equal((await inbox.accept(message('a', { stationKey: 'south' }))).outcome, 'new');
  });

  it('delivers after a restart what waited, and nothing twice', async () => {
    await inbox.accept(message('a'));
    await deliveries(1);
    await inbox.accept(message('b'));
    await reopen();
    const seen = await deliveries(1);
    assert.deepEqual(
      seen.map((delivery) => delivery.message.envelope.messageId),
      ['b'],
    );
  });

  it('C-76 delivers again what left the moment its consumer went, under the same id', async () => {
    const { deliveryId } = await inbox.accept(message('a'));
    await new Promise<void>((resolve) => {
      const stop = inbox.consume('e', () => {
        stop();
        resolve();
      });
    });
    await reopen();
    const [again] = await deliveries(1);
    assert.deepEqual([again?.deliveryId, again?.attempt], [deliveryId, 2]);
  });

  it('knows the first event of an alarm and one that comes after its end, over a restart', async () => {
    const of = (id: string, end: string | null): ProvenMessage =>
      message(id, { event: { alarmId: 'alarm', eventEndTime: end } });
    await inbox.accept(of('a', null));
    await inbox.accept(of('b', '2026-03-04T05:06:07'));
    await reopen();
    await inbox.accept(of('c', null));
    assert.deepEqual(
      (await deliveries(3)).map(({ first, ended }) => [first, ended]),
      [
        [true, false],
        [false, false],
        [false, true],
      ],
    );
  });

  it('commits together what arrives together', async () => {
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, at) => inbox.accept(message(`m${at}`))),
    );
    assert.equal(new Set(answers.map(({ deliveryId }) => deliveryId)).size, 500);
    assert.equal((await deliveries(500)).length, 500);
  });

  it('C-78 accepts once what is sent three times at the same moment', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => inbox.accept(message('a'))));
    assert.deepEqual(answers.map(({ outcome }) => outcome).sort(), ['new', 'repeat', 'repeat']);
    assert.equal((await deliveries(1)).length, 1);
  });

  it('C-129 lets no second one open its file', async () => {
    await assert.rejects(SqliteInbox.open({ file: file() }), { code: 'STORE_FAILED', message: /locked/ });
  });

  it('C-135 refuses a file of a newer version', async () => {
    await inbox.close();
    const database = new DatabaseSync(file());
    database.exec('PRAGMA user_version = 99');
    database.close();
    await assert.rejects(SqliteInbox.open({ file: file() }), {
      code: 'STORE_FAILED',
      message: /newer version/,
    });
    fs.rmSync(path.dirname(file()), { recursive: true });
    inbox = await SqliteInbox.open({ file: file() });
  });

  it('C-126 keeps everything it acknowledged when its process is killed', async function () {
    this.timeout(20_000);
    await inbox.close();
    const child = spawn(
      process.execPath,
      ['--import=tsx', path.join(__dirname, 'accept-for-ever.ts'), file()],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let told = '';
    child.stdout.on('data', (piece: Buffer) => {
      told += piece.toString();
      if (told.split('\n').length > 300) child.kill('SIGKILL');
    });
    await once(child, 'close');
    const acknowledged = told.slice(0, told.lastIndexOf('\n')).split('\n');
    inbox = await SqliteInbox.open({ file: file() });
    for (const id of acknowledged) assert.equal((await inbox.accept(message(id))).outcome, 'repeat', id);
  });
});
