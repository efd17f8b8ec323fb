import assert from 'node:assert/strict';
import type { RvmEvent } from '../../lib/event';
import {
  eventFilter,
  judgeByFilter,
  type FilterIds,
  type FilterVerdict,
  idsIn,
  textOfIds,
} from '../../lib/message/event-filter';

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
  ] as const) {
    it(`takes an event by any of its ${name}, and no other`, () => {
      for (const id of ids) assert.equal(filteredBy({ [name]: ['other', id] }), '');
      assert.equal(filteredBy({ [name]: ['other'] }), name);
    });
  }

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
    ] as const) {
      it(lack, () => {
        for (const nothing of [undefined, null, '', '  ', {}]) {
          const event = { ...EVENT, ...Object.fromEntries(fields.map((field) => [field, nothing])) };
          assert.deepEqual(verdict({ [name]: [wanted] }, event), { filteredBy: [], isUnjudged: true });
        }
      });
    }
  });

  describe('judges an event that lacks something:', () => {
    for (const [lack, name, wanted, field] of [
      ['its remote id is wanted', 'cameras', 'remote-1', 'cameraId'],
      ['its camera id is wanted', 'cameras', 'cam-1', 'cameraRemoteId'],
      ['the id of its site is wanted', 'sites', 'site-1', 'locationName'],
      ['the name of its site is wanted', 'sites', 'Harbour Depot', 'locationId'],
      ['its name is wanted', 'rules', 'Person', 'eventRuleName'],
      ['its rule is wanted', 'rules', 'Yard at night', 'eventName'],
    ] as const) {
      it(lack, () => {
        assert.deepEqual(verdict({ [name]: [wanted] }, { ...EVENT, [field]: undefined }), {
          filteredBy: [],
          isUnjudged: false,
        });
      });
    }

    for (const [lack, name, field] of [
      ['another camera is wanted than that of its camera id', 'cameras', 'cameraRemoteId'],
      ['another rule is wanted than its name', 'rules', 'eventRuleName'],
      ['another rule is wanted than its own', 'rules', 'eventName'],
    ] as const) {
      it(lack, () => assert.equal(filteredBy({ [name]: ['other'] }, { ...EVENT, [field]: undefined }), name));
    }
  });

  it('does not take one that lacks something where another filter is against it', () => {
    assert.equal(
      filteredBy({ classes: ['security'], cameras: ['cam-1'] }, { eventClass: 'health' }),
      'classes',
    );
  });

  for (const [name, field] of [
    ['cameras', 'cameraId'],
    ['cameras', 'cameraRemoteId'],
    ['sites', 'locationId'],
  ] as const) {
    it(`knows a GUID of ${name} in ${field} in any case, with braces and dashes or without`, () => {
      const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
      const others = [`{${id.toUpperCase()}}`, id.replaceAll('-', ''), `{${id.replaceAll('-', '')}}`];
      for (const other of others) {
        assert.equal(filteredBy({ [name]: [id] }, { ...EVENT, [field]: other }), '', other);
        assert.equal(filteredBy({ [name]: [other] }, { ...EVENT, [field]: id }), '', other);
      }
    });
  }

  describe('counts an event of a class that the specification does not have as security, and', () => {
    const fire = { ...EVENT, eventClass: 'Fire' };
    it('takes it where security is chosen', () =>
      assert.equal(filteredBy({ classes: ['Security'] }, fire), ''));
    it('takes it where its class is chosen', () => assert.equal(filteredBy({ classes: ['fire'] }, fire), ''));
    it('does not take it where health alone is', () =>
      assert.equal(filteredBy({ classes: ['health'] }, fire), 'classes'));
    it('takes no event of class health where security is', () =>
      assert.equal(filteredBy({ classes: ['security'] }, { ...EVENT, eventClass: 'health' }), 'classes'));
    it('takes one of health in another case where either is, for it leaves by the output of alarms', () => {
      for (const chosen of ['security', 'health'])
        assert.equal(filteredBy({ classes: [chosen] }, { ...EVENT, eventClass: 'Health' }), '', chosen);
    });
  });

  it('knows a class in any case, with or without white space around it', () => {
    for (const eventClass of ['Security', 'SECURITY', ' security', 'security\n'])
      assert.equal(filteredBy({ classes: ['security'] }, { eventClass }), '', eventClass);
    assert.equal(filteredBy({ classes: ['Security '] }, { eventClass: 'security' }), '');
  });

  for (const [name, field, letters] of [
    ['sites', 'locationName', 'Köln'],
    ['sites', 'locationId', 'Köln-1'],
    ['rules', 'eventRuleName', 'Übertritt'],
    ['rules', 'eventName', '人が侵入した：ガレージ'],
    ['cameras', 'cameraId', 'Tür 1'],
  ] as const) {
    it(`knows ${name} by ${field} however their accents are encoded, and minds no white space around them`, () => {
      const [composed, taken] = [letters.normalize('NFC'), letters.normalize('NFD')];
      assert.notEqual(composed, taken);
      for (const [wanted, sent] of [
        [composed, taken],
        [taken, composed],
        [` ${composed}`, `${composed} `],
      ] as const)
        assert.equal(filteredBy({ [name]: [wanted] }, eventOf({ [field]: sent })), '', `${wanted} ${sent}`);
    });
  }

  for (const [name, field] of [
    ['sites', 'locationName'],
    ['sites', 'locationId'],
    ['rules', 'eventRuleName'],
    ['rules', 'eventName'],
  ] as const) {
    for (const [what, one, other] of [
      ['case', 'Straße NORD', 'STRASSE Nord'],
      ['white space within', 'Harbour Depot', 'Harbour  \t Depot'],
      ['no-break spaces', 'Harbour Depot 1', 'Harbour\u00a0Depot\u202f1'],
      ['the width of letters', '\uff37\uff25\uff33\uff34\u3000\uff11', 'West 1'],
      ['ligatures', 'O\ufb03ce', 'Office'],
    ] as const) {
      it(`knows ${name} by ${field} whatever ${what}`, () => {
        assert.equal(filteredBy({ [name]: [one] }, { ...EVENT, [field]: other }), '');
        assert.equal(filteredBy({ [name]: [other] }, { ...EVENT, [field]: one }), '');
      });
    }
  }

  for (const [what, one, other] of [
    ['case', 'Cam', 'cam'],
    ['white space within', 'c 1', 'c  1'],
    ['the width of letters', 'c\uff11', 'c1'],
  ] as const) {
    it(`tells ids of cameras apart by ${what}`, () => {
      for (const field of ['cameraId', 'cameraRemoteId'])
        assert.equal(filteredBy({ cameras: [one] }, { ...EVENT, [field]: other }), 'cameras', field);
    });
  }

  it('tells ids apart by their first 512 characters alone, for a text may grow to many times its length', () => {
    const long = 'x'.repeat(511);
    assert.equal(filteredBy({ sites: [`${long}abc`] }, { ...EVENT, locationName: `${long}axyz` }), '');
    assert.equal(filteredBy({ sites: [`${long}abc`] }, { ...EVENT, locationName: `${long}b` }), 'sites');
  });

  it('knows an id that is a number, and minds no white space around one', () => {
    assert.equal(filteredBy({ sites: ['17'] }, eventOf({ locationId: 17 })), '');
    assert.equal(filteredBy({ sites: ['Depot'] }, { locationName: ' Depot ' }), '');
  });
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
  ] as const) {
    it(`in ${text || 'an empty one'} is ${ids.join(' and ') || 'empty'}`, () => {
      assert.deepEqual(idsIn(text), ids);
    });
  }

  it('is read as it was written, whatever stands in the ids', () => {
    for (const ids of [['a', 'b'], ['a, b', 'c'], ['say "x"', '"'], ['", "'], ['港, 一']])
      assert.deepEqual(idsIn(textOfIds(ids)), ids);
  });
});
