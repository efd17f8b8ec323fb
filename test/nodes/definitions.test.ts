import assert from 'node:assert/strict';
import { DEADLINE_S, PTZ_DEADLINE_S, VIDEO_DEADLINE_S, VIDEO_SESSIONS, VIDEO_WAIT_S } from '../../lib/limits';
import { OptionError, Sandbox } from '../../sandbox';
import { definitionOf } from '../support/editor/browser';
import { typesOfPackage } from '../support/node-red/node-red';
import { CALLERS } from '../support/node-red/station-flow';

const VIDEO = ['rvm-get-picture', 'rvm-get-clip', 'rvm-view'];

function verdict(type: string, property: string, value: unknown): unknown {
  const definition = definitionOf(type);
  return definition.defaults[property]?.validate?.call(definition, value);
}

/** Which values of a property are good, and which are refused with a reason. */
function takes(type: string, property: string, good: unknown[], reason: string, wrong: unknown[]): void {
  for (const value of good)
    assert.equal(verdict(type, property, value), true, `${property} ${String(value)}`);
  for (const value of wrong)
    assert.equal(verdict(type, property, value), `text of ${reason}`, `${property} ${String(value)}`);
}

const comesWith = (type: string, property: string, value: unknown): void =>
  assert.equal(definitionOf(type).defaults[property]?.value, value);

const NUMBER = 'shared.errors.number';
const BETWEEN = 'shared.errors.numberBetween';
const WHOLE = 'shared.errors.wholeBetween';
/** Up to nine seconds between an hour before the start and an hour after. */
const OFFSETS = ['0', '-3, 0, 3', '-3600,3600', '0.5', '1,2,3,4,5,6,7,8,9', '${O}'];
const NO_OFFSETS = ['', '0,', 'now', '3601', '-3601', '1 2', 'Infinity', '1,2,3,4,5,6,7,8,9,10'];
const TIMES = ['', '2026-03-04T05:06:07Z', '2026-03-04', '1772600767000', '${T}', undefined];
const RELAYS = ['', 'video.example.com', 'a.example, 10.0.0.5', '${H}'];
const NO_RELAYS = ['https://a.example', 'a.example:554', '.example.com', 'a.example,', '*.example.com'];

/** Type, property, what it takes, and the reason, of all or of this type, with which it refuses what. */
const RULES: [string, string, unknown[], string, unknown[]][] = [
  ['rvm-get-picture', 'offsets', OFFSETS, 'errors.offsets', NO_OFFSETS],
  ['rvm-get-picture', 'width', ['', '16', 4096, '${W}'], 'errors.width', ['0', '15', '4097', '640.5', 'w']],
  ['rvm-get-clip', 'seconds', ['1', '300', 2.5], BETWEEN, ['0', '301', '']],
  ['rvm-get-clip', 'preRoll', ['0', '86400'], BETWEEN, ['-1', '86401', '']],
  ['rvm-get-clip', 'maxSeconds', ['1', '3600'], BETWEEN, ['0', '3601', '']],
  ['rvm-get-clip', 'keepDays', ['0', '0.5', '3650'], NUMBER, ['-1', '']],
  ['rvm-get-clip', 'folder', ['', '/data', 'C:\\clips', '${F}'], 'shared.errors.folder', ['~/a', '/${N}/a']],
  ['rvm-view', 'minutes', ['1', '10080'], BETWEEN, ['0', '10081', '']],
  ['rvm-view', 'viewers', ['1', '32'], WHOLE, ['0', '33', '1.5', '']],
  [
    'rvm-view',
    'publicUrl',
    ['', 'https://a.example/x', '${U}'],
    'shared.errors.publicUrl',
    ['alarms.example.com', 'ftp://x', 'https://a?b'],
  ],
  ['rvm-cloud', 'videoSessions', ['1', '100', '${N}'], WHOLE, ['0', '101', '2.5']],
  ['rvm-cloud', 'relayHosts', RELAYS, 'errors.relays', NO_RELAYS],
  ...['since', 'until'].map((name): (typeof RULES)[number] => [
    'rvm-list-events',
    name,
    TIMES,
    'shared.errors.time',
    ['yesterday', '04.03.2026', '1 hour', '1772600767'],
  ]),
  ['rvm-listener', 'port', ['1', '65535', ' 8443 ', '${P}'], 'errors.port', ['', '0', '65536', '8e3']],
  ['rvm-listener', 'proxies', ['', '10.0.0.5, 2001:db8::1', '${P}'], 'errors.proxies', ['a.b', '10.0.0.5,']],
];

/** What Node-RED keeps track of for a property, so that a change of it restarts the node. */
const REFERENCES: [string, string, string][] = [
  ...CALLERS.map((type): [string, string, string] => [type, 'station', 'rvm-central-station']),
  ['rvm-view', 'listener', 'rvm-listener'],
  ['rvm-cloud', 'tls', 'tls-config'],
  ['rvm-cloud', 'proxy', 'http proxy'],
  ['rvm-webhook-in', 'listener', 'rvm-listener'],
  ['rvm-listener', 'tls', 'tls-config'],
];

describe('the definitions that the editor gets', () => {
  for (const type of typesOfPackage().filter((each) => definitionOf(each).paletteLabel !== undefined))
    it(`${type} has its name in the palette from the texts, as its label has`, () => {
      const definition = definitionOf(type);
      assert.ok(typeof definition.paletteLabel === 'function');
      assert.equal(definition.paletteLabel.call(definition), `text of ${type}.label.node`);
      assert.equal(definition.label(), `text of ${type}.label.node`);
    });

  for (const [type, property, referred] of REFERENCES)
    it(`${type} restarts with its ${property}`, () =>
      assert.equal(definitionOf(type).defaults[property]?.type, referred));

  for (const type of CALLERS) {
    it(`${type} is valid as it comes, but for a preset to go to`, () => {
      const { defaults } = definitionOf(type);
      const verdicts = Object.entries(defaults).map(([name, of]) => [name, verdict(type, name, of.value)]);
      const wrong = verdicts.flatMap(([name, said]) => (said === undefined || said === true ? [] : [name]));
      assert.deepEqual(wrong, type === 'rvm-ptz' ? ['target'] : []);
    });

    it(`${type} comes with the deadline that it has where a flow does not say, and takes no less than a second`, () => {
      const ofOthers = VIDEO.includes(type) ? VIDEO_DEADLINE_S : DEADLINE_S;
      comesWith(type, 'deadline', type === 'rvm-ptz' ? PTZ_DEADLINE_S : ofOthers);
      const good = ['1', '2.5', 600, '${DEADLINE}', undefined];
      takes(type, 'deadline', good, NUMBER, ['', '0', '-1', 'soon', 0.5]);
    });
  }

  for (const type of VIDEO)
    it(`${type} comes with the wait for video that it has where a flow does not say, and takes ten minutes at most`, () => {
      comesWith(type, 'waitForVideo', VIDEO_WAIT_S);
      takes(type, 'waitForVideo', ['0', 600, '2.5', '${WAIT}'], BETWEEN, ['', '601', '-1']);
    });

  for (const [type, property, good, reason, wrong] of RULES)
    it(`${type} takes what ${property} can be, and refuses the rest with a reason`, () =>
      takes(type, property, good, reason.startsWith('shared') ? reason : `${type}.${reason}`, wrong));

  it('rvm-cloud comes with as many videos at once as where a flow does not say', () =>
    comesWith('rvm-cloud', 'videoSessions', VIDEO_SESSIONS));

  it('rvm-cloud takes as many alarms per minute as the sandbox does, and no more', async () => {
    takes('rvm-cloud', 'timeout', ['601'], NUMBER, []);
    takes('rvm-cloud', 'sandboxEvents', ['600'], BETWEEN, ['601']);
    await (await Sandbox.start({ eventsPerMinute: 600, rtspPort: 0 })).close();
    await assert.rejects(Sandbox.start({ eventsPerMinute: 601, rtspPort: 0 }), OptionError);
  });
});
