import assert from 'node:assert/strict';
import { DEADLINE_S, PTZ_DEADLINE_S } from '../../lib/cloud/choices';
import { OptionError, Sandbox } from '../../sandbox';
import { definitionOf } from '../support/editor/definitions';
import { typesOfPackage } from '../support/node-red/node-red';

function verdict(type: string, property: string, value: unknown): unknown {
  const definition = definitionOf(type);
  return definition.defaults[property]?.validate?.call(definition, value);
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

  const CALLERS = ['list-devices', 'get-device', 'get-rtsp', 'ptz', 'snapshot', 'request'];
  for (const type of CALLERS.map((name) => `rvm-${name}`)) {
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

  for (const type of CALLERS.map((name) => `rvm-${name}`)) {
    it(`${type} comes with the deadline that it has where a flow does not say, and takes no less than a second`, () => {
      const { deadline } = definitionOf(type).defaults;
      assert.equal(deadline?.value, type === 'rvm-ptz' ? PTZ_DEADLINE_S : DEADLINE_S);
      for (const value of ['1', '2.5', 600, '${DEADLINE}', undefined])
        assert.equal(verdict(type, 'deadline', value), true, String(value));
      for (const value of ['', '0', '-1', 'soon', 0.5])
        assert.equal(verdict(type, 'deadline', value), 'text of shared.errors.number', String(value));
    });
  }

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
