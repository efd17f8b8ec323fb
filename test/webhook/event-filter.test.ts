import assert from 'node:assert/strict';
import type { RvmEvent } from '../../lib/event';
import { RecordingMeter } from '../support/metrics/metrics';
import { ReceiverUnderTest } from './receiver-under-test';
import { signed } from './sample';
import { eventFilter, judgeByFilter, idsIn, textOfIds } from '../../lib/message/event-filter';
import type { FilterIds, FilterVerdict } from '../../lib/message/event-filter';

const EVENT: RvmEvent = {
  eventClass: 'security',
  locationId: 'site-1',
  locationName: 'Harbour Depot',
  cameraId: 'cam-1',
  cameraRemoteId: 'remote-1',
  eventRuleName: 'Yard at night',
  eventName: 'Person',
};

/** As it comes: nobody has checked its fields. */
const eventOf = (fields: Record<string, unknown>): RvmEvent => ({ ...fields });

const verdict = (ids: Partial<FilterIds>, event: RvmEvent = EVENT): FilterVerdict =>
  judgeByFilter(eventFilter(ids), event);
const filteredBy = (ids: Partial<FilterIds>, event?: RvmEvent): string =>
  verdict(ids, event).filteredBy.join(' ');

describe('the filter of a webhook node', () => {
  it('takes every event where it is empty', () => {
    assert.deepEqual(verdict({}, {}), { filteredBy: [], isUnjudged: false });
  });

  for (const [name, ids] of [
    ['classes', ['security']],
    ['sites', ['site-1', 'Harbour Depot']],
    ['cameras', ['cam-1', 'remote-1']],
    ['rules', ['Yard at night', 'Person']],
  ] as const)
    it(`takes an event by any of its ${name}, and no other`, () => {
      for (const id of ids) assert.equal(filteredBy({ [name]: ['other', id] }), '');
      assert.equal(filteredBy({ [name]: ['other'] }), name);
    });

  it('wants all kinds that are set to fit, and names those that do not', () => {
    const [sites, cameras] = [['Harbour Depot'], ['cam-1']];
    assert.equal(filteredBy({ sites, cameras }), '');
    assert.equal(filteredBy({ sites, cameras: ['cam-2'] }), 'cameras');
    assert.equal(filteredBy({ classes: ['health'], sites, rules: ['x'] }), 'classes rules');
  });

  describe('takes an event and says that it cannot be judged, where', () => {
    for (const [lack, name, wanted, fields] of [
      ['it has no class', 'classes', 'health', ['eventClass']],
      ['its camera has a remote id alone, and another is wanted', 'cameras', 'cam-2', ['cameraId']],
      ['it has no camera', 'cameras', 'cam-2', ['cameraId', 'cameraRemoteId']],
      ['its site has an id alone, and another is wanted', 'sites', 'Other', ['locationName']],
      ['its site has a name alone, and another is wanted', 'sites', 'Other', ['locationId']],
      ['it has no site', 'sites', 'Other', ['locationName', 'locationId']],
      ['it has neither name nor rule', 'rules', 'Other', ['eventRuleName', 'eventName']],
    ] as const)
      it(lack, () => {
        for (const nothing of [undefined, null, '', '  ', {}]) {
          const event = { ...EVENT, ...Object.fromEntries(fields.map((field) => [field, nothing])) };
          assert.deepEqual(verdict({ [name]: [wanted] }, event), { filteredBy: [], isUnjudged: true });
        }
      });
  });

  describe('judges an event that lacks something:', () => {
    for (const [lack, name, wanted, field, found] of [
      ['its remote id is wanted', 'cameras', 'remote-1', 'cameraId', 'taken'],
      ['its camera id is wanted', 'cameras', 'cam-1', 'cameraRemoteId', 'taken'],
      ['the id of its site is wanted', 'sites', 'site-1', 'locationName', 'taken'],
      ['the name of its site is wanted', 'sites', 'Harbour Depot', 'locationId', 'taken'],
      ['its name is wanted', 'rules', 'Person', 'eventRuleName', 'taken'],
      ['its rule is wanted', 'rules', 'Yard at night', 'eventName', 'taken'],
      ['another camera is wanted than its camera id', 'cameras', 'other', 'cameraRemoteId', 'filtered'],
      ['another rule is wanted than its name', 'rules', 'other', 'eventRuleName', 'filtered'],
      ['another rule is wanted than its own', 'rules', 'other', 'eventName', 'filtered'],
    ] as const)
      it(lack, () => {
        const judged = verdict({ [name]: [wanted] }, { ...EVENT, [field]: undefined });
        assert.deepEqual(judged, { filteredBy: found === 'taken' ? [] : [name], isUnjudged: false });
      });
  });

  it('does not take one that lacks something where another filter is against it', () => {
    const ids = { classes: ['security'], cameras: ['cam-1'] };
    assert.equal(filteredBy(ids, { eventClass: 'health' }), 'classes');
  });

  for (const [name, field] of [
    ['cameras', 'cameraId'],
    ['cameras', 'cameraRemoteId'],
    ['sites', 'locationId'],
  ] as const)
    it(`knows a GUID of ${name} in ${field} in any case, with braces and dashes or without`, () => {
      const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
      const others = [`{${id.toUpperCase()}}`, id.replaceAll('-', ''), `{${id.replaceAll('-', '')}}`];
      for (const other of others) {
        assert.equal(filteredBy({ [name]: [id] }, { ...EVENT, [field]: other }), '', other);
        assert.equal(filteredBy({ [name]: [other] }, { ...EVENT, [field]: id }), '', other);
      }
    });

  for (const [eventClass, chosen, found] of [
    ['Fire', 'Security', ''],
    ['Fire', 'fire', ''],
    ['Fire', 'health', 'classes'],
    ['health', 'security', 'classes'],
    // For it leaves by the output of alarms.
    ['Health', 'security', ''],
    ['Health', 'health', ''],
    ...['Security', 'SECURITY', ' security', 'security\n'].map((spelt) => [spelt, 'security', ''] as const),
    ['security', 'Security ', ''],
  ] as const)
    it(`${found === '' ? 'takes' : 'does not take'} the class ${JSON.stringify(eventClass)} where ${JSON.stringify(chosen)} is chosen`, () =>
      assert.equal(filteredBy({ classes: [chosen] }, { ...EVENT, eventClass }), found));

  for (const [name, field, letters] of [
    ['sites', 'locationName', 'Köln'],
    ['sites', 'locationId', 'Köln-1'],
    ['rules', 'eventRuleName', 'Übertritt'],
    ['rules', 'eventName', '人が侵入した：ガレージ'],
    ['cameras', 'cameraId', 'Tür 1'],
  ] as const) {
    const [composed, taken] = [letters.normalize('NFC'), letters.normalize('NFD')];
    const ofNames: [what: string, one: string, other: string][] = [
      ['case', 'Straße NORD', 'STRASSE Nord'],
      ['white space within', 'Harbour Depot', 'Harbour  \t Depot'],
      ['no-break spaces', 'Harbour Depot 1', 'Harbour\u00a0Depot\u202f1'],
      ['the width of letters', '\uff37\uff25\uff33\uff34\u3000\uff11', 'West 1'],
      ['ligatures', 'O\ufb03ce', 'Office'],
    ];
    for (const [what, one, other] of [
      ['how its accents are encoded', composed, taken],
      ['white space around it', ` ${composed}`, `${composed} `],
      ...(name === 'cameras' ? [] : ofNames),
    ] as const)
      it(`knows ${name} by ${field} whatever ${what}`, () => {
        assert.notEqual(one, other);
        assert.equal(filteredBy({ [name]: [one] }, eventOf({ ...EVENT, [field]: other })), '');
        assert.equal(filteredBy({ [name]: [other] }, eventOf({ ...EVENT, [field]: one })), '');
      });
  }

  for (const [what, one, other] of [
    ['case', 'Cam', 'cam'],
    ['white space within', 'c 1', 'c  1'],
    ['the width of letters', 'c\uff11', 'c1'],
  ] as const)
    it(`tells ids of cameras apart by ${what}`, () => {
      for (const field of ['cameraId', 'cameraRemoteId'])
        assert.equal(filteredBy({ cameras: [one] }, { ...EVENT, [field]: other }), 'cameras', field);
    });

  it('tells ids apart by their first 512 characters alone, for a text may grow to many times its length', () => {
    const long = 'x'.repeat(511);
    assert.equal(filteredBy({ sites: [`${long}abc`] }, { ...EVENT, locationName: `${long}axyz` }), '');
    assert.equal(filteredBy({ sites: [`${long}abc`] }, { ...EVENT, locationName: `${long}b` }), 'sites');
  });

  it('knows an id that is a number', () =>
    assert.equal(filteredBy({ sites: ['17'] }, eventOf({ locationId: 17 })), ''));
});

describe('the list of ids in a property', () => {
  for (const [text, ids] of [
    ['', []],
    [' , ,', []],
    ['a', ['a']],
    ['a, b ,c', ['a', 'b', 'c']],
    ['a,a', ['a']],
    ['"Depot, Gate 2", b', ['Depot, Gate 2', 'b']],
    ['"the ""old"" gate"', ['the "old" gate']],
    ['"a" ,"b"', ['a', 'b']],
    ['19" rack, b', ['19" rack', 'b']],
    ['"open, b', ['"open', 'b']],
    ['${NAME}', ['${NAME}']],
  ] as const)
    it(`in ${text || 'an empty one'} is ${ids.join(' and ') || 'empty'}`, () =>
      assert.deepEqual(idsIn(text), ids));

  it('is read as it was written, whatever stands in the ids', () => {
    for (const ids of [['a', 'b'], ['a, b', 'c'], ['say "x"', '"'], ['", "'], ['港, 一']])
      assert.deepEqual(idsIn(textOfIds(ids)), ids);
  });
});

describe('a webhook that takes some events only', () => {
  let receiver: ReceiverUnderTest;
  let meter: RecordingMeter;
  beforeEach(async () => {
    meter = new RecordingMeter();
    const filter = eventFilter({ cameras: ['cam-1'] });
    receiver = await ReceiverUnderTest.start({ endpoint: { filter } });
  });
  afterEach(async () => {
    meter.end();
    await receiver.close();
  });

  const elsewhere = { alarmId: 'one', cameraId: 'cam-2', cameraRemoteId: 'r-2' };
  const filteredIds = async (): Promise<(string | null)[]> => {
    const { messages } = await receiver.endpoint.inbox.list({ state: 'filtered', limit: 9 });
    return messages.map(({ messageId }) => messageId);
  };

  it('answers 200 to another, keeps it once however often it comes, and tells no output of it', async () => {
    const other = signed({ messageId: 'other' }, elsewhere);
    await receiver.takes(other, other, signed({ messageId: 'mine' }, { cameraId: 'cam-1' }));
    await receiver.delivered(1);
    const delivered = receiver.deliveries.map(({ message }) => message.envelope.messageId);
    assert.deepEqual([delivered, await filteredIds(), receiver.problems], [['mine'], ['other'], []]);
    const answers = meter.told('answered').map(([answer]) => answer);
    assert.deepEqual(answers, ['filtered', 'repeat', 'accepted']);
  });

  it('filters the end of an alarm as its begin', async () => {
    await receiver.takes(signed({ messageId: 'begin' }, elsewhere));
    const ended = { ...elsewhere, eventEndTime: '2026-03-04T05:06:07' };
    await receiver.takes(signed({ messageId: 'end' }, ended));
    assert.deepEqual(await filteredIds(), ['end', 'begin']);
  });

  it('takes what lacks the field that is asked for, with a warning', async () => {
    await receiver.takes(signed({}, { cameraId: null, cameraRemoteId: null }));
    await receiver.delivered(1);
    assert.deepEqual(receiver.deliveries[0]?.message.warnings, ['not-filtered']);
  });

  it('filters no message of an unknown type, for that is no event', async () => {
    await receiver.takes(signed({ payloadType: 'Unknown' }, elsewhere));
    assert.deepEqual([receiver.problems.map(({ kind }) => kind), await filteredIds()], [['other'], []]);
  });
});
