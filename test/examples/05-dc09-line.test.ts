import assert from 'node:assert/strict';
import { Dc09Run, ZONES, type Dc09Options } from '../support/examples/dc09';
import { eventually } from '../support/time/patience';

const zones = { default: 0, ...ZONES };

describe('example 05, restores', () => {
  let dc09: Dc09Run;

  async function start(options: Dc09Options): Promise<void> {
    dc09 = await Dc09Run.start(options);
  }

  afterEach(() => dc09?.stop());

  const dataOf = (): string[] => dc09.receiver.reports.map(({ data }) => data);

  it('follow an alarm when its camera is quiet again, each with the code and zone of its alarm', async () => {
    const codes = {
      default: { cid: 130, alarm: 'BA', restore: 'BR' },
      Smoke: { cid: 111, alarm: 'FA', restore: 'FR' },
    };
    await start({ hold: 2, table: { format: 'SIA-DCS', zones, codes } });
    await dc09.run.raise({ camera: 'SANDBOX Gate 1', eventName: 'Smoke' });
    await dc09.run.raise({ camera: 'SANDBOX Gate 1', eventName: 'Person at the fence' });
    await eventually(() => dc09.receiver.reports.length >= 4, 'two alarms and two restores');
    assert.deepEqual(
      dataOf().map((data) => data.slice(0, 16)),
      ['FA', 'BA', 'FR', 'BR'].map((code) => `#1234|Nri1/${code}001`),
    );
    const numbers = dc09.receiver.reports.map(({ sequence }) => sequence);
    assert.equal(new Set(numbers).size, 4);
  });

  it('do not come while the camera is raised', async () => {
    await start({ hold: 3600, table: { zones } });
    await dc09.report({ camera: 'SANDBOX Yard 1', seconds: 1 });
    dc09.receiver.frames.length = 0;
    // What comes later is reported, and still no restore.
    await dc09.report({ camera: 'SANDBOX Gate 1' });
    assert.deepEqual(dataOf(), ['#1234|1130 01 001']);
  });

  it('wait for the alarm to be acknowledged, however long the receiver is away', async () => {
    await start({ hold: 1, table: { zones } });
    const back = await dc09.away();
    const { messageId } = await dc09.run.raise({ camera: 'SANDBOX Yard 1' });
    const levels = (): string[] => dc09.run.nodeRed.statuses('rvm-example-05-level');
    const isOver = (): boolean =>
      levels().some((text) => text.startsWith('raised')) && /armed/i.test(levels().at(-1) ?? '');
    await dc09.run.nodeRed.until(isOver, 'the end of the alarm');
    await back();
    await dc09.acknowledged(messageId);
    await dc09.frame('|3130 01 002');
    assert.deepEqual(dataOf(), ['#1234|1130 01 002', '#1234|3130 01 002']);
  });

  it('are sent again until they are acknowledged, with one number', async () => {
    await start({ hold: 1, table: { zones } });
    await dc09.report({ camera: 'SANDBOX Gate 1' });
    dc09.receiver.manner = 'NAK';
    const restores = (): string[] =>
      dc09.receiver.reports.filter(({ data }) => data.includes('|3')).map(({ sequence }) => sequence);
    await eventually(() => restores().length > 1, 'the restore once more');
    dc09.receiver.manner = 'ACK';
    const acknowledgedAfter = restores().length;
    await eventually(() => restores().length > acknowledgedAfter, 'the last one');
    // Whatever is reported next comes after it.
    await dc09.report({ camera: 'SANDBOX Yard 1' });
    assert.equal(new Set(restores()).size, 1);
    assert.equal(restores().length, acknowledgedAfter + 1);
  });

  it('are told after a restart of alarms that were over meanwhile, where the context is kept on disk', async () => {
    await start({
      hold: 3,
      table: { zones },
      settings: `contextStorage: { default: { module: 'localfilesystem' } },`,
    });
    await dc09.report({ camera: 'SANDBOX Gate 1' });
    await dc09.run.restart();
    await dc09.frame('|3130 01 001');
  });
});

describe('example 05, supervision', () => {
  let dc09: Dc09Run;

  before(async () => {
    dc09 = await Dc09Run.start({
      table: { supervise: { accounts: ['1234', '5678'], seconds: 1, lostAfter: 3 } },
    });
  });

  beforeEach(() => {
    dc09.receiver.manner = 'ACK';
    dc09.receiver.frames.length = 0;
  });

  after(() => dc09?.stop());

  const nulls = (account: string): string[] =>
    dc09.receiver.frames
      .filter((frame) => frame.kind === 'NULL' && frame.account === account)
      .map(({ sequence, data }) => `${sequence}${data}`);

  it('sends NULL messages by a timer, for each account that it names, each with a number of its own', async () => {
    for (const account of ['1234', '5678']) {
      await eventually(() => nulls(account).length >= 3, `three NULL messages of ${account}`);
      for (const number of nulls(account)) assert.match(number, /^\d{4}$/);
    }
    const all = [...nulls('1234'), ...nulls('5678')];
    assert.equal(new Set(all).size, all.length);
  });

  it('awaits the ACK of a NULL message: another number is none, and the message is sent again with its own', async () => {
    dc09.receiver.manner = 'another sequence number';
    await eventually(() => dc09.receiver.frames.length > 2, 'three frames');
    const frames = dc09.receiver.frames.map(({ sequence }) => sequence);
    // That before the first of them may have been acknowledged.
    assert.ok(new Set(frames.slice(1)).size === 1, frames.join(' '));
  });

  it('tells once that the line is lost, and that it is back', async () => {
    const from = dc09.run.nodeRed.at('lost').length;
    const told = (): unknown[] =>
      dc09.run.nodeRed
        .at('lost')
        .slice(from)
        .map(({ lost }) => lost);
    const back = await dc09.away();
    await dc09.run.nodeRed.until(() => told().includes(true), 'the loss');
    const { messageId } = await dc09.run.raise();
    await dc09.refused(messageId);
    await back();
    await dc09.acknowledged(messageId);
    await dc09.run.nodeRed.until(() => told().at(-1) === false, 'that it is back');
    assert.deepEqual(told().slice(-2), [true, false]);
  });

  it('sends an alarm before the NULL messages that wait', async () => {
    const back = await dc09.away();
    const { messageId } = await dc09.run.raise();
    await dc09.refused(messageId);
    await back();
    await dc09.acknowledged(messageId);
    assert.deepEqual(
      dc09.receiver.frames.slice(0, 1).map(({ kind }) => kind),
      ['ADM-CID'],
    );
  });

  it('an account that the receiver does not know holds up no other', async () => {
    dc09.receiver.unknownAccounts.add('5678');
    await eventually(() => nulls('1234').length >= 2 && nulls('5678').length >= 2, 'NULL of both');
    dc09.receiver.unknownAccounts.clear();
    await dc09.report();
  });
});
