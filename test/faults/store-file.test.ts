import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Store } from '../../lib/inbox/sqlite/store';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import { cloud, PATH, PHRASE, station, webhookIn } from '../support/node-red/flows';
import { NodeRed, watched, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';
import { FileSink, sentFlow } from '../support/webhook/sinks';

interface Case {
  title: string;
  /** Spoils an inbox that is to lie in `folder`; there is no folder yet. */
  spoil: (folder: string) => void;
  repair: (folder: string) => void;
  says: RegExp;
  /** Where the spill folder is; not given = in the folder. */
  spill?: (folder: string) => string;
}

const file = (folder: string): string => path.join(folder, 'inbox.sqlite');
const moveAway = (folder: string): void => fs.renameSync(file(folder), `${file(folder)}-away`);

const CASES: Case[] = [
  {
    title: 'a file that is no database',
    spoil: (folder) => {
      fs.mkdirSync(folder);
      fs.writeFileSync(file(folder), 'no database at all\n'.repeat(1000));
    },
    repair: moveAway,
    says: /inbox.sqlite is not a database: stop Node-RED, move/,
  },
  {
    title: 'a directory in place of the file',
    spoil: (folder) => fs.mkdirSync(file(folder), { recursive: true }),
    repair: moveAway,
    says: /cannot be opened or made: check the folder/,
  },
  {
    title: 'a damaged page in the middle',
    spoil: (folder) => {
      fill(file(folder), 500);
      damage(file(folder), 'message');
    },
    repair: moveAway,
    says: /malformed|damaged/,
  },
  {
    title: 'a folder that cannot be made, and a spill folder elsewhere',
    spoil: (folder) => fs.writeFileSync(folder, 'in the way'),
    repair: (folder) => fs.rmSync(folder),
    says: /EEXIST|ENOTDIR/,
    spill: (folder) => `${folder}-spill`,
  },
  {
    title: 'a file that cannot be written',
    spoil: (folder) => {
      fs.mkdirSync(folder);
      fs.symlinkSync('/proc/version', file(folder));
    },
    repair: moveAway,
    says: /cannot be (written|opened)|not a database/,
  },
];

describe('an inbox whose file cannot be used', () => {
  const messages = CASES.map(() => alarmMessage());
  const answers: (number | 'cut')[] = [];
  let userDir: string;
  let sink: FileSink;
  let nodeRed: NodeRed;

  const folder = (index: number): string => path.join(userDir, `inbox-${index}`);
  const pathOf = (index: number): string => `${PATH}-${index}`;

  before(async () => {
    userDir = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-store-file-'));
    sink = new FileSink(path.join(userDir, 'sink'));
    CASES.forEach(({ spoil }, index) => spoil(folder(index)));
    nodeRed = await NodeRed.start({ userDir });
    await nodeRed.deploy(
      watched(
        cloud(),
        station(),
        sink.node('sink'),
        ...CASES.flatMap(({ spill }, index): FlowNode[] => [
          {
            id: `inbox-${index}`,
            type: 'rvm-inbox',
            folder: folder(index),
            spillFolder: spill?.(folder(index)) ?? '',
          },
          webhookIn({
            id: `webhook-${index}`,
            path: pathOf(index),
            inbox: `inbox-${index}`,
            wires: [['sink'], ['sink'], ['sink']],
          }),
        ]),
      ),
    );
    for (const [index, message] of messages.entries())
      answers.push(await answerTo(nodeRed.url + pathOf(index), message, PHRASE));
  });

  after(() => nodeRed.stopAndRemove());

  for (const [index, { title, says }] of CASES.entries()) {
    it(`C-128 says so and answers alarms from the spill folder: ${title}`, async () => {
      assert.equal(answers[index], 200);
      const status = 'status.notDurable';
      await nodeRed.until(() => nodeRed.statuses(`webhook-${index}`).includes(status), status);
      const lines = nodeRed.log.split('\n').filter((line) => line.includes(`${folder(index)} cannot store`));
      assert.match(lines[0] ?? '', says);
      assert.match(lines[0] ?? '', /\[error\]/);
    });

    it(`C-128 delivers all the same, once: ${title}`, async () => {
      const { messageId } = messages[index] ?? {};
      const arrivals = (): number => sink.events().filter((event) => event.messageId === messageId).length;
      await eventually(() => arrivals() > 0, 'the event');
      assert.equal(await answerTo(nodeRed.url + pathOf(index), messages[index] ?? {}, PHRASE), 200);
      assert.equal(arrivals(), 1);
    });
  }

  describe('once it can be', () => {
    before(() => {
      CASES.forEach(({ repair }, index) => repair(folder(index)));
    });

    for (const [index, { title }] of CASES.entries()) {
      it(`C-128 takes in what was spilled, and delivers it no more: ${title}`, async () => {
        const { messageId } = messages[index] ?? {};
        const shown = (): string | undefined => nodeRed.statuses(`webhook-${index}`).at(-1);
        await nodeRed.until(() => shown() !== 'status.notDurable', 'a better status');
        assert.equal(await answerTo(nodeRed.url + pathOf(index), messages[index] ?? {}, PHRASE), 200);
        assert.equal(sink.events().filter((event) => event.messageId === messageId).length, 1);
      });
    }
  });
});

describe('an inbox of a Node-RED that runs', () => {
  let nodeRed: NodeRed;
  let sink: FileSink;

  const folder = (): string => path.join(nodeRed.userDir, 'remote-monitoring');
  const send = (message: Record<string, unknown>): Promise<number | 'cut'> =>
    answerTo(nodeRed.url + PATH, message, PHRASE);
  const count = (message: Record<string, unknown>): number =>
    sink.events().filter(({ messageId }) => messageId === message.messageId).length;

  async function start(userDir?: string): Promise<void> {
    nodeRed = await NodeRed.start(userDir === undefined ? {} : { userDir });
    if (userDir !== undefined) return;
    sink = new FileSink(path.join(nodeRed.userDir, 'sink'));
    await nodeRed.deploy(sentFlow(sink));
  }

  afterEach(() => nodeRed.stopAndRemove());

  it('C-128 cuts alarms where the spill folder cannot be written either, and takes them once it can', async () => {
    await start();
    await nodeRed.stop();
    const { userDir } = nodeRed;
    fs.rmSync(folder(), { recursive: true });
    fs.writeFileSync(folder(), 'in the way');
    await start(userDir);
    const message = alarmMessage();
    assert.equal(await send(message), 'cut');
    await nodeRed.logged(/cannot store/);
    fs.rmSync(folder());
    await eventually(() => nodeRed.statuses('webhook').at(-1) !== 'status.notDurable', 'a better status');
    assert.equal(await send(message), 200);
    await eventually(() => count(message) === 1, 'the event');
  });

  it('C-128 says that the file is an older copy where its log was deleted, and goes on', async () => {
    await start();
    const [lost, next] = [alarmMessage(), alarmMessage()];
    assert.equal(await send(lost), 200);
    await eventually(() => count(lost) === 1, 'the event');
    await nodeRed.stop('SIGKILL');
    fs.rmSync(`${file(folder())}-wal`);
    await start(nodeRed.userDir);
    await nodeRed.logged(/is an older copy of itself/);
    assert.equal(await send(next), 200);
    await eventually(() => count(next) === 1, 'the event');
  });

  it('C-128 delivers the events around a damaged page of bodies', async () => {
    await start();
    await nodeRed.stop();
    fs.rmSync(folder(), { recursive: true });
    fill(file(folder()), 500);
    damage(file(folder()), 'body');
    await start(nodeRed.userDir);
    const message = alarmMessage();
    assert.equal(await send(message), 200);
    await eventually(() => count(message) === 1, 'the event');
    await nodeRed.logged(/stored event .* cannot be read/);
    await eventually(() => sink.events().length > 490, 'the others');
    assert.equal(count(message), 1);
    assert.doesNotMatch(nodeRed.log, /cannot store/);
  });
});

/** A store with events that wait for the node `webhook`. */
function fill(database: string, count: number): void {
  const store = new Store({ file: database, resumed: false });
  store.transaction(() => {
    for (let number = 0; number < count; number += 1) {
      const id = `stored-${String(number).padStart(5, '0')}`;
      const facts = { stationName: 'North', sandbox: false, kind: 'event', proof: 'hmac', secret: 'current' };
      store.work.accept({
        lease: 'no',
        message: {
          station: 'north',
          id,
          named: true,
          fingerprint: id,
          endpoint: 'webhook',
          state: 'received',
          rank: 0,
          isEnd: false,
          received: Date.now(),
          facts: JSON.stringify({ ...facts, warnings: [] }),
          bytes: Buffer.from(JSON.stringify(alarmMessage({}, { messageId: id }))),
        },
      });
    }
  });
  store.close();
}

/** Overwrites a leaf page in the middle of a table. */
function damage(database: string, table: string): void {
  const open = new DatabaseSync(database);
  const pages = open
    .prepare(`SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path`)
    .all(table);
  const size = Number(open.prepare('PRAGMA page_size').get()?.['page_size']);
  open.close();
  const page = Number(pages[Math.floor(pages.length / 2)]?.['pageno']);
  const handle = fs.openSync(database, 'r+');
  fs.writeSync(handle, Buffer.alloc(size, 0x5a), 0, size, (page - 1) * size);
  fs.closeSync(handle);
}
