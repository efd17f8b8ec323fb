import assert from 'node:assert/strict';
import { dc09Crc, readDc09, Dc09Run, ZONES } from '../support/examples/dc09';
import { eventually } from '../support/time/patience';

describe('the DC-09 receiver of the tests', () => {
  // Frames that other transmitters and receivers have published, from panels in the field among them.
  const PUBLISHED = [
    'CE110032"SIA-DCS"9876R579BDFL789ABC#12345A[#12345A|NFA129]',
    '9EC40027"ADM-CID"0001L0#1002[#1002|1602 00 001]',
    'F68B003B"ADM-CID"0028L0#9757[#9757|1602 00 000]_20:59:45,02-20-2024',
    'B0970029"NULL"0000L000#0809[]_21:00:01,02-20-2024',
    'B4330036"SIA-DCS"0442L000#36214[36214|NRP]_00:00:00,02-21-2024',
  ];

  for (const published of PUBLISHED) {
    it(`reads ${published}`, () => {
      const { sequence } = readDc09(`\n${published}\r`);
      assert.equal(sequence, published.slice(8).split('"')[2]?.slice(0, 4));
    });
  }

  it('has the CRC of the published NAK, which names no account', () => {
    assert.equal(dc09Crc('"NAK"0000R0L0A0[]_10:10:18,07-30-2024'), 'E563');
  });
});

describe('example 05, alarm to a receiver as SIA DC-09', () => {
  let dc09: Dc09Run;

  before(async () => {
    dc09 = await Dc09Run.start({ table: { zones: { default: 0, ...ZONES } } });
  });

  beforeEach(() => {
    dc09.receiver.manner = 'ACK';
    dc09.receiver.frames.length = 0;
  });

  after(() => dc09?.stop());

  it('sends one frame of a new alarm, and settles it by the ACK', async () => {
    const before = Date.now();
    await dc09.report({ camera: 'SANDBOX Gate 1' });
    assert.equal(dc09.receiver.reports.length, 1);
    const { time, sequence, ...frame } = dc09.receiver.reports[0] ?? assert.fail('no frame');
    assert.deepEqual(frame, { kind: 'ADM-CID', line: 'L0', account: '1234', data: '#1234|1130 01 001' });
    assert.match(sequence, /^(?!0000)\d{4}$/);
    // In whole seconds.
    assert.ok(Number(time) > before - 1000 && Number(time) <= Date.now(), String(time));
  });

  it('sends no frame of the message that tells of the end', async () => {
    await dc09.run.end('settled at once', await dc09.run.raise({ seconds: 1 }));
    assert.equal(dc09.receiver.reports.length, 1);
  });

  for (const manner of ['NAK', 'DUH', 'another sequence number', 'wrong CRC', 'silent'] as const) {
    it(`an answer "${manner}" does not settle: the frame is sent again with its sequence number`, async () => {
      dc09.receiver.manner = manner;
      const { messageId } = await dc09.run.raise();
      await eventually(() => dc09.receiver.reports.length > 1, 'the second frame');
      assert.equal(dc09.at('refused', messageId).length, 1, 'told once');
      assert.equal(dc09.at('acknowledged', messageId).length, 0);
      dc09.receiver.manner = 'ACK';
      await dc09.acknowledged(messageId);
      assert.equal(new Set(dc09.receiver.reports.map(({ sequence }) => sequence)).size, 1);
    });
  }

  it('gives each report a sequence number of its own', async () => {
    for (const camera of ['SANDBOX Gate 1', 'SANDBOX Yard 1']) await dc09.report({ camera });
    const [first, second] = dc09.receiver.reports.map(({ sequence }) => Number(sequence));
    assert.equal(second, (first ?? assert.fail()) + 1);
  });

  it('keeps an alarm while the receiver is away', async () => {
    const back = await dc09.away();
    const { messageId } = await dc09.run.raise();
    await dc09.refused(messageId);
    await back();
    await dc09.acknowledged(messageId);
    assert.equal(dc09.receiver.reports.length, 1);
  });

  it('takes the time of a receiver whose clock differs', async () => {
    dc09.receiver.clockAhead = 7_200_000;
    try {
      await dc09.report();
      const { time } = dc09.receiver.reports.at(-1) ?? assert.fail();
      assert.ok(Math.abs(Number(time) - Date.now() - 7_200_000) < 60_000, String(time));
    } finally {
      dc09.receiver.clockAhead = 0;
    }
  });

  it('reports an alarm that came while the receiver was away and Node-RED was killed', async () => {
    await Dc09Run.during({ open: true, table: { zones: ZONES } }, async (killed) => {
      const back = await killed.away();
      const { messageId } = await killed.run.raise({ camera: 'SANDBOX Entrance 1' });
      await killed.refused(messageId);
      await killed.run.restart('SIGKILL');
      await back();
      await killed.acknowledged(messageId);
      const reported = killed.receiver.reports.map(({ data }) => data);
      assert.deepEqual(reported, ['#1234|1130 01 007']);
    });
  });

  it('says so where the table cannot be read, and the alarm stays open', async () => {
    await Dc09Run.during({ table: { codes: {} } }, async (broken) => {
      await broken.run.raise();
      await broken.run.nodeRed.message('table not read');
      assert.equal(broken.run.nodeRed.at('acknowledged').length, 0);
    });
  });
});

describe('example 05, what its table says', () => {
  const codes = {
    default: { cid: 130, alarm: 'BA', restore: 'BR' },
    Smoke: { cid: 111, alarm: 'FA', restore: 'FR' },
  };
  const SITES = { 'SANDBOX Harbour Depot': '5678', 'SANDBOX Solar Park East': '5679' };
  const table = {
    line: 'R1L0',
    accounts: { default: '1234', ...SITES },
    zones: { default: 0, ...ZONES },
    codes,
  };

  for (const [format, reports] of Object.entries({
    'ADM-CID': ['5678#5678|1111 01 001', '5679#5679|1130 01 002', '1234#1234|1130 01 003'],
    'SIA-DCS': [
      '5678#5678|Nri1/FA001^SANDBOX Gate 1^',
      '5679#5679|Nri1/BA002^SANDBOX Yard 1^',
      '1234#1234|Nri1/BA003^SANDBOX Loading Bay 1^',
    ],
  })) {
    it(`is the account by site, the zone by camera and the code by rule of ${format}, or the default`, async () => {
      await Dc09Run.during({ table: { ...table, format } }, async (dc09) => {
        await dc09.run.raise({ camera: 'SANDBOX Gate 1', eventName: 'Smoke' });
        await dc09.run.raise({ camera: 'SANDBOX Yard 1', eventName: 'Rule that nobody entered' });
        await dc09.run.raise({ camera: 'SANDBOX Loading Bay 1', eventName: 'constructor' });
        await eventually(() => dc09.receiver.reports.length === 3, 'three reports');
        const seen = dc09.receiver.reports.map(({ account, data }) => account + data);
        assert.deepEqual(new Set(seen), new Set(reports));
        for (const { kind, line } of dc09.receiver.reports) assert.deepEqual([kind, line], [format, 'R1L0']);
      });
    });
  }
});
