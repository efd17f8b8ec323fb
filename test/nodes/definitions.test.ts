import assert from 'node:assert/strict';
import { DEADLINE_S, PTZ_DEADLINE_S, VIDEO_DEADLINE_S, VIDEO_SESSIONS, VIDEO_WAIT_S } from '../../lib/limits';
import { OptionError, Sandbox } from '../../sandbox';
import { definitionOf } from '../support/editor/browser';
import { typesOfPackage } from '../support/node-red/node-red';

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

describe('the definitions that the editor gets', () => {
  for (const type of typesOfPackage().filter((each) => definitionOf(each).paletteLabel !== undefined)) {
    it(`${type} has its name in the palette from the texts, as its label has`, () => {
      const definition = definitionOf(type);
      assert.ok(typeof definition.paletteLabel === 'function');
      assert.equal(definition.paletteLabel.call(definition), `text of ${type}.label.node`);
      assert.equal(definition.label(), `text of ${type}.label.node`);
    });
  }

  const VIDEO = ['rvm-get-picture', 'rvm-get-clip', 'rvm-view'];
  const CALLERS = [
    ...VIDEO,
    ...['list-devices', 'get-device', 'get-rtsp', 'ptz', 'snapshot', 'request'].map((name) => `rvm-${name}`),
  ];
  const DEADLINES: Record<string, number> = {
    'rvm-ptz': PTZ_DEADLINE_S,
    ...Object.fromEntries(VIDEO.map((type) => [type, VIDEO_DEADLINE_S])),
  };
  for (const type of CALLERS) {
    it(`${type} restarts with its Central Station, and is valid as it comes, but for a preset to go to`, () => {
      const { defaults } = definitionOf(type);
      assert.equal(defaults.station?.type, 'rvm-central-station');
      const verdicts = Object.keys(defaults).map((name) => [
        name,
        verdict(type, name, defaults[name]?.value),
      ]);
      const wrong = verdicts.flatMap(([name, said]) => (said === undefined || said === true ? [] : [name]));
      assert.deepEqual(wrong, type === 'rvm-ptz' ? ['target'] : []);
    });
  }

  for (const type of CALLERS) {
    it(`${type} comes with the deadline that it has where a flow does not say, and takes no less than a second`, () => {
      const { deadline } = definitionOf(type).defaults;
      assert.equal(deadline?.value, DEADLINES[type] ?? DEADLINE_S);
      for (const value of ['1', '2.5', 600, '${DEADLINE}', undefined])
        assert.equal(verdict(type, 'deadline', value), true, String(value));
      for (const value of ['', '0', '-1', 'soon', 0.5])
        assert.equal(verdict(type, 'deadline', value), 'text of shared.errors.number', String(value));
    });
  }

  for (const type of VIDEO) {
    it(`${type} comes with the wait for video that it has where a flow does not say, and takes ten minutes at most`, () => {
      assert.equal(definitionOf(type).defaults.waitForVideo?.value, VIDEO_WAIT_S);
      takes(type, 'waitForVideo', ['0', 600, '2.5', '${WAIT}'], 'shared.errors.numberBetween', [
        '',
        '601',
        '-1',
      ]);
    });
  }

  it('rvm-get-picture takes up to nine seconds between an hour before the start and an hour after', () => {
    takes(
      'rvm-get-picture',
      'offsets',
      ['0', '-3, 0, 3', '-3600,3600', '0.5', '1,2,3,4,5,6,7,8,9', '${O}'],
      'rvm-get-picture.errors.offsets',
      ['', '0,', 'now', '3601', '-3601', '1 2', 'Infinity', '1,2,3,4,5,6,7,8,9,10'],
    );
  });

  it('rvm-get-picture takes whole pixels from 16 to 4096 for the width, or none', () => {
    const wrong = ['0', '15', '4097', '640.5', 'wide'];
    takes('rvm-get-picture', 'width', ['', '16', 4096, '${W}'], 'rvm-get-picture.errors.width', wrong);
  });

  it('rvm-get-clip takes the lengths of a clip that there can be', () => {
    const reason = 'shared.errors.numberBetween';
    takes('rvm-get-clip', 'seconds', ['1', '300', 2.5], reason, ['0', '301', '']);
    takes('rvm-get-clip', 'preRoll', ['0', '86400'], reason, ['-1', '86401', '']);
    takes('rvm-get-clip', 'maxSeconds', ['1', '3600'], reason, ['0', '3601', '']);
    takes('rvm-get-clip', 'keepDays', ['0', '0.5', '3650'], 'shared.errors.number', ['-1', '']);
  });

  it('rvm-get-clip takes a folder that means what it says, a variable for it, or none', () => {
    const wrong = ['~/clips', '/data/${NAME}/clips'];
    takes(
      'rvm-get-clip',
      'folder',
      ['', '/data/clips', 'C:\\clips', '${FOLDER}'],
      'shared.errors.folder',
      wrong,
    );
  });

  it('rvm-view takes a week for its addresses, 32 viewers, and an address that others see', () => {
    takes('rvm-view', 'minutes', ['1', '10080'], 'shared.errors.numberBetween', ['0', '10081', '']);
    takes('rvm-view', 'viewers', ['1', '32'], 'shared.errors.wholeBetween', ['0', '33', '1.5', '']);
    const wrong = ['alarms.example.com', 'ftp://x', 'https://a?b'];
    takes('rvm-view', 'publicUrl', ['', 'https://a.example/x', '${U}'], 'shared.errors.publicUrl', wrong);
  });

  it('rvm-view lets Node-RED keep track of its listener', () => {
    assert.equal(definitionOf('rvm-view').defaults.listener?.type, 'rvm-listener');
  });

  it('rvm-cloud takes as many videos at once as there may be, and hosts for their relays', () => {
    assert.equal(definitionOf('rvm-cloud').defaults.videoSessions?.value, VIDEO_SESSIONS);
    takes('rvm-cloud', 'videoSessions', ['1', '100', '${N}'], 'shared.errors.wholeBetween', [
      '0',
      '101',
      '2.5',
    ]);
    takes(
      'rvm-cloud',
      'relayHosts',
      ['', 'video.example.com', 'a.example, 10.0.0.5', '${H}'],
      'rvm-cloud.errors.relays',
      ['https://a.example', 'a.example:554', '.example.com', 'a.example,', '*.example.com'],
    );
  });

  it('rvm-cloud takes as many alarms per minute as the sandbox does, and no more', async () => {
    assert.equal(verdict('rvm-cloud', 'sandboxEvents', '600'), true);
    assert.equal(verdict('rvm-cloud', 'sandboxEvents', '601'), 'text of shared.errors.numberBetween');
    assert.equal(verdict('rvm-cloud', 'timeout', '601'), true);
    await (await Sandbox.start({ eventsPerMinute: 600, rtspPort: 0 })).close();
    await assert.rejects(Sandbox.start({ eventsPerMinute: 601, rtspPort: 0 }), OptionError);
  });

  it('rvm-cloud lets Node-RED keep track of its TLS and proxy nodes', () => {
    const { tls, proxy } = definitionOf('rvm-cloud').defaults;
    assert.equal(tls?.type, 'tls-config');
    assert.equal(proxy?.type, 'http proxy');
  });

  it('rvm-webhook-in and rvm-listener let Node-RED keep track of what they use, so that a change of it restarts them', () => {
    assert.equal(definitionOf('rvm-webhook-in').defaults.listener?.type, 'rvm-listener');
    assert.equal(definitionOf('rvm-listener').defaults.tls?.type, 'tls-config');
  });

  it('rvm-listener takes a port from 1 to 65535 and addresses of proxies, or variables for them', () => {
    const takes = (property: string, value: string): boolean =>
      verdict('rvm-listener', property, value) === true;
    const ports = {
      '1': true,
      '65535': true,
      ' 8443 ': true,
      '${P}': true,
      '': false,
      '0': false,
      '65536': false,
      '8e3': false,
    };
    for (const [port, expected] of Object.entries(ports)) assert.equal(takes('port', port), expected, port);
    const proxies = {
      '': true,
      '10.0.0.5, 2001:db8::1': true,
      '${P}': true,
      'proxy.example': false,
      '10.0.0.5,': false,
    };
    for (const [list, expected] of Object.entries(proxies))
      assert.equal(takes('proxies', list), expected, list);
  });
});
