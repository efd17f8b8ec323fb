import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import type { Inbox } from '../../../lib/inbox/model';
import { folderOfEach } from '../../support/inbox/folders';
import { runProgram, type ProgramRun } from '../../support/inbox/moving';
import { InlineInbox } from '../../support/inbox/each-store';
import { PostgresStand } from '../../support/postgres/stores';
import { eventually } from '../../support/time/patience';
import { proven, Taker } from '../samples';

const HEAD =
  'time,station,site,camera,rule,class,alarmId,messageId,deliveryId,state,step,by,from,proof,attempt,reason,note,verdict';

/** What is in a CSV, read as RFC 4180 says. */
function recordsIn(csv: string): Record<string, string>[] {
  const cells = [...csv.matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/g)];
  const lines: string[][] = [[]];
  for (const [, cell = '', end] of cells) {
    lines.at(-1)?.push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end === '\r\n') lines.push([]);
  }
  const [head = [], ...records] = lines.slice(0, -1);
  return records.map((record) => Object.fromEntries(head.map((name, i) => [name, record[i] ?? ''])));
}

describe('rvm-inbox export', () => {
  const folder = folderOfEach();

  /** An event of noon that a person found to be false, with much that a table must not stumble over, and one of the evening. */
  async function fill(inbox: Inbox): Promise<void> {
    await eventually(() => inbox.state().durable === true, 'the opening of the inbox');
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    const noon = { receivedTime: '2026-03-04T12:00:00.000Z', remoteAddress: '192.0.2.7', messageId: 'noon' };
    const odd = { locationName: '=HYPERLINK("http://x","y")', cameraName: 'Gate, "west"', alarmId: 'a-1' };
    const { deliveryId } = await taker.takes(proven(odd, noon));
    const finding = { verdict: 'false', note: 'a cat\nor two', by: '+Anna' } as const;
    await inbox.settle(deliveryId, { action: 'done', finding }, { node: { id: '1a', name: 'panel' } });
    await taker.consumption.end();
    await inbox.accept(proven({}, { receivedTime: '2026-03-04T18:00:00.000Z', messageId: 'evening' }));
  }

  async function fillFile(): Promise<void> {
    const inbox = new InlineInbox({ folder: folder() });
    await fill(inbox);
    await inbox.close();
  }
  const run = (...args: string[]): Promise<ProgramRun> => runProgram(['export', ...args]);
  const rows = (csv: string, message: string): Record<string, string>[] =>
    recordsIn(csv).filter(({ messageId }) => messageId === message);

  function assertNoon(csv: string): void {
    assert.ok(csv.startsWith(`${HEAD}\r\n`));
    const noon = rows(csv, 'noon');
    const steps = new Set(noon.map(({ step }) => step));
    assert.deepEqual(steps, new Set(['received', 'delivered', 'settled', 'verdict']));
    const of = (name: string): Record<string, string> => noon.find(({ step }) => step === name) ?? {};
    const { time, station, class: kind, alarmId, state, from, proof } = of('received');
    assert.deepEqual(
      [time, station, kind, alarmId, state, from, proof],
      ['2026-03-04T12:00:00.000Z', 'north', 'security', 'a-1', 'delivered', '192.0.2.7', 'hmac'],
    );
    assert.deepEqual([of('delivered')['attempt'], of('settled')['by']], ['1', 'panel']);
    const { verdict, note } = of('verdict');
    assert.deepEqual([verdict, note], ['false', 'a cat\nor two']);
  }

  it('prints each step of the events of an inbox that is a file, oldest first', async () => {
    await fillFile();
    const { code, out, error } = await run('--folder', folder());
    assert.deepEqual([code, error], [0, 'Exported 2 events.\n']);
    assertNoon(out);
    assert.equal(recordsIn(out).at(-1)?.['messageId'], 'evening');
  });

  it('quotes what has commas, quotes and lines in it, and lets no spreadsheet take a text for a formula', async () => {
    await fillFile();
    const { out } = await run('--folder', folder());
    const [row] = rows(out, 'noon').filter(({ step }) => step === 'verdict');
    assert.equal(row?.['site'], `'=HYPERLINK("http://x","y")`);
    assert.equal(row?.['camera'], 'Gate, "west"');
    assert.equal(row?.['by'], `'+Anna`);
  });

  it('leaves out what was received before or after the period', async () => {
    await fillFile();
    const morning = await run('--folder', folder(), '--from', '2026-03-04', '--to', '2026-03-04T18:00:00Z');
    assert.deepEqual(new Set(recordsIn(morning.out).map(({ messageId }) => messageId)), new Set(['noon']));
    const none = await run('--folder', folder(), '--from', '2026-03-05');
    assert.equal(none.out, `${HEAD}\r\n`);
  });

  it('writes a new file that its owner alone may read, and no other in its place', async () => {
    await fillFile();
    const file = path.join(folder(), 'march.csv');
    const { code, out } = await run('--folder', folder(), '--out', file);
    assert.deepEqual([code, out], [0, '']);
    assertNoon(fs.readFileSync(file, 'utf8'));
    assert.equal(fs.statSync(file).mode % 0o1000, 0o600);
    const again = await run('--folder', folder(), '--out', file);
    assert.equal(again.code, 2);
    assert.match(again.error, /^rvm-inbox: The file of --out is there already: name another one: /);
  });

  it('leaves the inbox as it is', async () => {
    await fillFile();
    const first = await run('--folder', folder());
    assert.equal((await run('--folder', folder())).out, first.out);
    const inbox = new InlineInbox({ folder: folder() });
    await eventually(() => inbox.state().durable === true, 'the opening of the inbox');
    const { messages } = await inbox.list({ state: 'all', limit: 9 });
    assert.deepEqual([inbox.waiting('webhook-in'), messages.length], [1, 2]);
    await inbox.close();
  });

  it('says what to do while Node-RED has the file, where there is none, and which source is missing', async () => {
    const inbox = new InlineInbox({ folder: folder() });
    await eventually(() => inbox.state().durable === true, 'the opening of the inbox');
    const used = await run('--folder', folder());
    await inbox.close();
    assert.equal(used.code, 1);
    assert.match(used.error, /cannot be read: Node-RED has the inbox in .+: stop it, and run this again\./);
    const absent = await run('--folder', path.join(folder(), 'absent'));
    assert.match(absent.error, /there is no inbox\.sqlite in .+: name the folder of the inbox with --folder/);
    const nothing = await run();
    assert.equal(nothing.code, 2);
    assert.match(nothing.error, /The connection is missing: --folder, --url, --url-file or the variable/);
  });

  describe('of an inbox in PostgreSQL', () => {
    const postgres = PostgresStand.shared();

    it('prints the same, while Node-RED may use it', async () => {
      const { schema } = postgres;
      const exported = (): Promise<ProgramRun> =>
        run('--url', postgres.server.url(), '--schema', schema, '--tls', 'off');
      const none = await exported();
      assert.equal(none.code, 1);
      assert.ok(none.error.includes(`there is none in the schema "${schema}" of this database`), none.error);
      await fill(await postgres.inbox());
      const { code, out, error } = await exported();
      assert.deepEqual([code, error], [0, 'Exported 2 events.\n']);
      assertNoon(out);
    });
  });
});
