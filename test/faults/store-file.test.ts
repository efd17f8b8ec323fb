import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PAGE } from '../../lib/inbox/sqlite/database';
import { Store } from '../../lib/inbox/sqlite/store';
import { alarmMessage, answerTo, sendUntilAnswered } from '../support/webhook/alarm-message';
import { cloud, PATH, PHRASE, station, webhookIn } from '../support/node-red/flows';
import { NodeRed, watched, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';
import { FileSink, sentFlow } from '../support/webhook/sinks';
import { damagePage, flipBits } from '../support/inbox/broken-files';
import { needs } from '../support/suite/programs';

interface Case {
  title: string;
  /** Spoils an inbox that is to lie in `folder`; there is no folder yet. */
  spoil: (folder: string) => void;
  /** Of a damage that is not mended by itself. */
  repair?: (folder: string) => void;
  /** What the log says. */
  says?: RegExp;
  /** Events that were stored before, of which at least so many come. */
  stored?: number;
  /** Where the spill folder is; not given = in the folder. */
  spill?: (folder: string) => string;
}

const STORED = 500;
const MANY = 4 * STORED;
const file = (folder: string): string => path.join(folder, 'inbox.sqlite');
const moveAway = (folder: string): void => fs.renameSync(file(folder), `${file(folder)}-away`);
const SET_ASIDE = /was damaged and is kept as inbox\.sqlite\.damaged-/;

/** A file of an inbox that was killed: what came last is in its log alone. */
function withLog(folder: string): void {
  fill(file(folder), STORED);
  const copy = `${folder}-copy`;
  fs.mkdirSync(copy);
  const store = new Store({ file: file(folder), resumed: false });
  add(store, STORED, STORED + 100);
  for (const name of fs.readdirSync(folder)) fs.copyFileSync(path.join(folder, name), path.join(copy, name));
  store.close();
  fs.rmSync(folder, { recursive: true });
  fs.renameSync(copy, folder);
}

/** Half of its pages are left, and so many bytes of the next. */
function truncate(folder: string, more: number): void {
  fill(file(folder), STORED);
  const pages = Math.floor(fs.statSync(file(folder)).size / PAGE / 2);
  fs.truncateSync(file(folder), pages * PAGE + more);
}

/** Root may write what is read-only; not what is immutable. */
function changeable(may: boolean, ...names: string[]): void {
  if (process.getuid?.() === 0) execFileSync('chattr', [may ? '-i' : '+i', ...names]);
  else for (const name of names) fs.chmodSync(name, may ? 0o700 : 0o500);
}

const CASES: Case[] = [
  {
    title: 'random bytes',
    spoil: (folder) => {
      fs.mkdirSync(folder);
      fs.writeFileSync(file(folder), randomBytes(200_000));
    },
    says: SET_ASIDE,
  },
  {
    title: '500 flipped bits',
    spoil: (folder) => {
      fill(file(folder), MANY);
      flipBits(file(folder), 500);
    },
    says: SET_ASIDE,
    stored: 0.9 * MANY,
  },
  ...[0, PAGE / 2].map((more) => ({
    title: `a file truncated ${more === 0 ? 'between pages' : 'within a page'}`,
    spoil: (folder: string) => truncate(folder, more),
    says: SET_ASIDE,
    stored: 1,
  })),
  {
    title: 'a damaged page in the middle',
    spoil: (folder) => {
      fill(file(folder), STORED);
      damagePage(file(folder), 'message');
    },
    says: SET_ASIDE,
    stored: 480,
  },
  {
    title: 'a truncated log',
    spoil: (folder) => {
      withLog(folder);
      fs.truncateSync(`${file(folder)}-wal`, 5000);
    },
    stored: STORED,
  },
  {
    title: 'a log of another file',
    spoil: (folder) => {
      withLog(`${folder}-other`);
      fill(file(folder), 2 * STORED);
      fs.renameSync(`${file(`${folder}-other`)}-wal`, `${file(folder)}-wal`);
    },
  },
  {
    title: 'a symbolic link to what is no database',
    spoil: (folder) => {
      fs.mkdirSync(folder);
      fs.symlinkSync('/proc/version', file(folder));
    },
    repair: moveAway,
    says: /cannot be (written|opened)/,
  },
  {
    title: 'a directory in place of the file',
    spoil: (folder) => fs.mkdirSync(file(folder), { recursive: true }),
    repair: moveAway,
    says: /cannot be opened or made: see that inbox.sqlite is a file/,
  },
  {
    title: 'a file and a folder that are read-only, and a spill folder elsewhere',
    spoil: (folder) => {
      fill(file(folder), 1);
      changeable(false, file(folder), folder);
    },
    repair: (folder) => changeable(true, folder, file(folder)),
    says: /cannot store/,
    spill: (folder) => `${folder}-spill`,
  },
  {
    title: 'a folder that cannot be made, and a spill folder elsewhere',
    spoil: (folder) => fs.writeFileSync(folder, 'in the way'),
    repair: (folder) => fs.rmSync(folder),
    says: /EEXIST|ENOTDIR/,
    spill: (folder) => `${folder}-spill`,
  },
  {
    title: 'a file of another version',
    spoil: (folder) => {
      fill(file(folder), 1);
      setVersion(file(folder), (version) => version + 96);
    },
    repair: (folder) => setVersion(file(folder), (version) => version - 96),
    says: /another version of this package/,
  },
];

/** Where the tests ended before that. */
function mendIfSpoilt(repair: Case['repair'], spoilt: string): void {
  try {
    repair?.(spoilt);
  } catch {
    // It is mended.
  }
}

describe('an inbox whose file cannot be used', () => {
  const messages = CASES.map(() => alarmMessage());
  const answers: (number | 'cut' | undefined)[] = [];
  let userDir: string;
  let sink: FileSink;
  let nodeRed: NodeRed;

  const folder = (index: number): string => path.join(userDir, `inbox-${index}`);
  const pathOf = (index: number): string => `${PATH}-${index}`;
  const arrivals = (index: number): number =>
    sink.events().filter(({ messageId }) => messageId === messages[index]?.messageId).length;

  before(async function () {
    if (process.getuid?.() === 0) needs(this, 'chattr');
    userDir = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-store-file-'));
    sink = new FileSink(path.join(userDir, 'sink'));
    CASES.forEach(({ spoil }, index) => spoil(folder(index)));
    nodeRed = await NodeRed.start({ userDir });
    await nodeRed.deploy(
      watched(
        cloud(),
        station(),
        sink.node('sink'),
        ...CASES.flatMap(({ spill }, index): FlowNode[] => {
          const id = `inbox-${index}`;
          const spillFolder = spill?.(folder(index)) ?? '';
          const ofWebhook = { id: `webhook-${index}`, path: pathOf(index), inbox: id };
          return [
            { id, type: 'rvm-inbox', folder: folder(index), spillFolder },
            webhookIn({ ...ofWebhook, wires: [['sink'], ['sink'], []] }),
          ];
        }),
      ),
    );
    for (const [index, message] of messages.entries())
      answers.push((await sendUntilAnswered(nodeRed.url + pathOf(index), message, PHRASE)).at(-1));
  });

  after(async () => {
    CASES.forEach(({ repair }, index) => mendIfSpoilt(repair, folder(index)));
    await nodeRed.stopAndRemove();
  });

  for (const [index, { title, says, stored = 0 }] of CASES.entries()) {
    it(`C-128 delivers all the same, once: ${title}`, async () => {
      assert.equal(answers[index], 200);
      await eventually(() => arrivals(index) > 0, 'the event');
      const again = await sendUntilAnswered(nodeRed.url + pathOf(index), messages[index] ?? {}, PHRASE);
      assert.equal(again.at(-1), 200);
      assert.equal(arrivals(index), 1);
    });

    if (says !== undefined)
      it(`C-128 says what is wrong: ${title}`, async () => {
        const told = (): string | undefined =>
          nodeRed.log.split('\n').find((line) => line.includes(`${folder(index)} `) && says.test(line));
        await eventually(() => told() !== undefined, 'the line of the log');
        assert.match(told() ?? '', /\[error\]/);
      });

    if (stored > 0)
      it(`C-128 delivers what was stored before and can be read: ${title}`, async () => {
        const prefix = path.basename(folder(index));
        const count = (): number => {
          const ids = sink.events().map(({ messageId }) => messageId);
          return new Set(ids.filter((id) => id.startsWith(`${prefix}-`))).size;
        };
        await eventually(() => count() >= stored, `${stored} events`);
      });
  }

  describe('once it can be', () => {
    before(() => {
      CASES.forEach(({ repair }, index) => repair?.(folder(index)));
    });

    for (const [index, { title }] of CASES.entries()) {
      it(`C-128 has all in the inbox, and delivers nothing again: ${title}`, async () => {
        const shown = (): string | undefined => nodeRed.statuses(`webhook-${index}`).at(-1);
        await nodeRed.until(() => shown() !== 'status.notDurable', 'a better status');
        assert.equal(await answerTo(nodeRed.url + pathOf(index), messages[index] ?? {}, PHRASE), 200);
        assert.equal(arrivals(index), 1);
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

  const arrives = (message: Record<string, unknown>): Promise<void> =>
    eventually(() => count(message) === 1, 'the event');

  beforeEach(async () => {
    nodeRed = await NodeRed.start();
    sink = new FileSink(path.join(nodeRed.userDir, 'sink'));
    await nodeRed.deploy(sentFlow(sink));
  });
  afterEach(() => nodeRed.stopAndRemove());

  /** Stops Node-RED, and starts it again once something has been done to its inbox. */
  async function restart(act: () => void, signal?: NodeJS.Signals): Promise<void> {
    const { userDir } = nodeRed;
    await nodeRed.stop(signal);
    act();
    nodeRed = await NodeRed.start({ userDir });
  }

  it('C-128 cuts alarms where the spill folder cannot be written either, and takes them once it can', async () => {
    await restart(() => {
      fs.rmSync(folder(), { recursive: true });
      fs.writeFileSync(folder(), 'in the way');
    });
    const message = alarmMessage();
    assert.equal(await send(message), 'cut');
    await nodeRed.logged(/cannot store/);
    fs.rmSync(folder());
    await eventually(() => nodeRed.statuses('webhook').at(-1) !== 'status.notDurable', 'a better status');
    assert.equal(await send(message), 200);
    await arrives(message);
  });

  it('C-128 says that the file is an older copy where its log was deleted, and goes on', async () => {
    const [lost, next] = [alarmMessage(), alarmMessage()];
    assert.equal(await send(lost), 200);
    await arrives(lost);
    await restart(() => fs.rmSync(`${file(folder())}-wal`), 'SIGKILL');
    await nodeRed.logged(/is an older copy of itself/);
    assert.equal(await send(next), 200);
    await arrives(next);
  });

  it('C-128 says of a damaged file that alarms may be lost that waited in it, and what to do, and of one that is gone', async () => {
    assert.equal(await send(alarmMessage()), 200);
    await restart(() => fs.writeFileSync(file(folder()), 'no database at all\n'.repeat(1000)));
    await nodeRed.logged(
      /damaged-.* could not be read do not reach the flow, also where a count below is 0: compare .* keep the damaged file.*events that are not settled: 0,/,
    );
    await restart(() => fs.rmSync(file(folder())));
    await nodeRed.logged(
      /is gone, and a new one was made: .* Compare the alarms of that time with the service/,
    );
  });

  it('C-128 delivers the events around a damaged page of bodies', async () => {
    await restart(() => {
      fs.rmSync(folder(), { recursive: true });
      fill(file(folder()), 500);
      damagePage(file(folder()), 'body');
    });
    const message = alarmMessage();
    assert.equal(await send(message), 200);
    await arrives(message);
    await nodeRed.logged(/stored event .* cannot be read/);
    await eventually(() => sink.events().length > 490, 'the others');
    assert.equal(count(message), 1);
    assert.doesNotMatch(nodeRed.log, /cannot store/);
  });
});

/** A store with events that wait for the node of its folder, or for `webhook`. */
function fill(database: string, count: number): void {
  const store = new Store({ file: database, resumed: false });
  add(store, 0, count, path.basename(path.dirname(database)));
  store.close();
}

function add(store: Store, from: number, to: number, folder = 'inbox-of-log'): void {
  const endpoint = folder.startsWith('inbox-') ? folder.replace('inbox', 'webhook') : 'webhook';
  store.transaction(() => {
    for (let number = from; number < to; number += 1) {
      const id = `${folder}-${String(number).padStart(5, '0')}`;
      const facts = { stationName: 'North', sandbox: false, kind: 'event', proof: 'hmac', secret: 'current' };
      store.work.accept({
        lease: 'no',
        message: {
          station: 'north',
          id,
          named: true,
          fingerprint: id,
          endpoint,
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
}

function setVersion(database: string, to: (version: number) => number): void {
  const open = new DatabaseSync(database);
  const version = Number(open.prepare('PRAGMA user_version').get()?.['user_version']);
  open.exec(`PRAGMA user_version = ${to(version)}`);
  open.close();
}
