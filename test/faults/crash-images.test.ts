import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Store } from '../../lib/inbox/sqlite/store';
import { newMessage } from '../../lib/inbox/store/stored-message';
import { proven } from '../inbox/samples';
import { crashImage, seededChance, stepsIn, type Step } from '../support/inbox/broken-files';
import { needsStrace } from '../support/inbox/strace';

/** Enough for the log to be written into the file, and begun anew, twice. */
const EVENTS = 420;
const IMAGES = 100;
const SEED = 20_261_121;
const SENT = newMessage(proven());
const FILES = ['inbox.sqlite', 'inbox.sqlite-wal'];

describe('the files of an inbox after a loss of power', () => {
  let folder: string | undefined;
  let steps: Step[] = [];

  before(async function () {
    needsStrace(this);
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-crash-')));
    steps = await record(folder);
  });

  after(() => {
    if (folder !== undefined) fs.rmSync(folder, { recursive: true });
  });

  it('C-127 records writes, syncs and acknowledgements, and more than one checkpoint', () => {
    assert.equal(accepted(steps).length, EVENTS);
    const syncs = steps.filter(({ kind }) => kind === 'sync').length;
    assert.ok(syncs > EVENTS, `${syncs} syncs`);
    const checkpoints = steps.filter((step) => step.kind === 'sync' && step.file === 'inbox.sqlite').length;
    assert.ok(checkpoints > 2, `${checkpoints} checkpoints`);
  });

  it(`C-127 has every accepted event in each of ${IMAGES} images (seed ${SEED})`, () => {
    const chance = seededChance(SEED);
    const first = steps.findIndex(({ kind }) => kind === 'told');
    for (let number = 0; number < IMAGES; number += 1) {
      const end = first + 1 + Math.floor(chance() * (steps.length - first));
      const image = path.join(folder ?? '', `image-${number}`);
      fs.mkdirSync(image);
      for (const [file, content] of crashImage(steps.slice(0, end), chance))
        if (FILES.includes(file)) fs.writeFileSync(path.join(image, file), content);
      check(image, accepted(steps.slice(0, end)), `image ${number}, behind step ${end}`);
      fs.rmSync(image, { recursive: true });
    }
  });
});

async function record(folder: string): Promise<Step[]> {
  const trace = path.join(folder, 'trace');
  const inbox = path.join(folder, 'inbox');
  const calls = 'trace=pwrite64,write,fsync,fdatasync,ftruncate';
  const program = path.join(__dirname, '..', 'support', 'inbox', 'accept-one-by-one.js');
  const traced = ['-f', '-y', '-xx', '-s', '65536', '-e', calls, '-o', trace];
  const args = [...traced, process.execPath, program, inbox, String(EVENTS)];
  const child = spawn('strace', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  await once(child, 'exit');
  return stepsIn(fs.readFileSync(trace, 'utf8'), inbox);
}

function accepted(steps: readonly Step[]): string[] {
  return steps.flatMap((step) =>
    step.kind === 'told' && step.text.startsWith('event-') ? [step.text.trim()] : [],
  );
}

function check(image: string, ids: readonly string[], name: string): void {
  const file = path.join(image, 'inbox.sqlite');
  const store = new Store({ file, resumed: false });
  const rows = store.work.list({ state: 'all', limit: EVENTS * 2 });
  const there = new Set(rows.map(({ id }) => id));
  // A repeat is told from the file as the loss of power left it.
  for (const { station, id, fingerprint } of rows) {
    const message = { ...SENT, station, id, fingerprint };
    assert.equal(store.work.accept({ message, lease: 'no' }).outcome, 'repeat', name);
  }
  store.close();
  assert.equal(rows.length, there.size, `${name}: an id is there twice`);
  const lost = ids.filter((id) => !there.has(id));
  assert.deepEqual(lost, [], name);
  const database = new DatabaseSync(file);
  const found = database.prepare('PRAGMA integrity_check').all();
  database.close();
  const told = found.map((row) => row['integrity_check']);
  assert.deepEqual(told, ['ok'], name);
}
