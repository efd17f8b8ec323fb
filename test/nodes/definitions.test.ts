import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import { OptionError, Sandbox } from '../../sandbox';
import { ROOT } from '../support/node-red';

interface Definition {
  defaults: Record<string, { value: unknown; type?: string; validate?(value: unknown): unknown }>;
  paletteLabel?: unknown;
  label(): string;
}

/** The definition that the built dialog of a type gives the editor. */
function definitionOf(type: string): Definition {
  const html = fs.readFileSync(path.join(ROOT, 'dist', `${type}.html`), 'utf8');
  const script = /<script type="text\/javascript">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? '';
  const registered = new Map<string, Definition>();
  const registerType = (name: string, definition: Definition) => registered.set(name, definition);
  vm.runInNewContext(script, { RED: { nodes: { registerType } } });
  const definition = registered.get(type);
  assert.ok(definition !== undefined);
  return Object.assign(definition, { _: (key: string) => `text of ${key}` });
}

function verdict(type: string, property: string, value: unknown): unknown {
  const definition = definitionOf(type);
  return definition.defaults[property]?.validate?.call(definition, value);
}

describe('the definitions that the editor gets', () => {
  for (const type of ['rvm-webhook-in', 'rvm-verify', 'rvm-get-rtsp', 'rvm-list-devices']) {
    it(`${type} has its name in the palette from the texts, as its label has`, () => {
      const definition = definitionOf(type);
      assert.ok(typeof definition.paletteLabel === 'function');
      assert.equal(definition.paletteLabel.call(definition), `text of ${type}.label.node`);
      assert.equal(definition.label(), `text of ${type}.label.node`);
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
});
