import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { closeDialog, loadEditor, openDialog, typeInto, unfold } from '../../support/editor/browser';
import { webhookFlow } from '../../support/node-red/flows';
import { describeInEditor } from '../../support/editor/in-editor';
import { ROOT, type FlowNode } from '../../support/node-red/node-red';
import { byLane } from '../../support/suite/lanes';

const DIALOGS: Record<string, string[]> = {
  webhook: ['#node-input-path', '#node-input-listener', '#node-input-publicUrl', '#rvm-webhook-url'],
  listener: ['#node-config-input-port', '#node-config-input-host', '#node-config-input-tls'],
  inbox: ['#node-config-input-folder', '#node-config-input-spillFolder', '#node-config-input-keyDays'],
  settle: ['#node-input-name', '.red-ui-typedInput-container >> nth=0'],
  events: ['#node-input-state', '.red-ui-typedInput-container >> nth=0', '#node-input-limit'],
  proof: ['#node-input-name', '#node-input-station'],
  picture: [
    '#node-input-mode',
    '#node-input-offsets',
    '#node-input-layout',
    '#node-input-width',
    '#node-input-waitForVideo',
    '#node-input-deadline',
  ],
  clip: [
    '#node-input-mode',
    '#node-input-seconds',
    '#node-input-preRoll',
    '#node-input-untilEnd',
    '#node-input-folder',
    '#node-input-deadline',
  ],
  view: [
    '#node-input-mode',
    '#node-input-minutes',
    '#node-input-live',
    '#node-input-viewers',
    '#node-input-listener',
    '#node-input-publicUrl',
    '#node-input-deadline',
  ],
  rtsp: ['#node-input-mode', '#node-input-preRoll', '#node-input-quality', '#node-input-deadline'],
  list: [
    '#node-input-show',
    '.red-ui-typedInput-container >> nth=0',
    '#node-input-fresh',
    '#node-input-deadline',
  ],
  device: ['#node-input-what', '.red-ui-typedInput-container >> nth=0', '#node-input-deadline'],
  ptz: [
    '.red-ui-typedInput-container >> nth=1',
    '.red-ui-typedInput-container >> nth=2',
    '#node-input-deadline',
  ],
  snapshot: ['#node-input-width', '.red-ui-typedInput-container >> nth=0', '#node-input-deadline'],
  request: ['#node-input-start', '#node-input-rels', '#node-input-method', '#node-input-deadline'],
  station: ['#node-config-input-key', '#node-config-input-username', '#node-config-input-secret'],
  cloud: [
    '#node-config-input-url',
    '#node-config-input-apiKey',
    '#node-config-input-timeout',
    '#node-config-input-tls',
    '#node-config-input-proxy',
    '#node-config-input-liveStyle',
    '#node-config-input-signOfLife',
    '#node-config-input-videoSessions',
    '#node-config-input-relayHosts',
    '#node-config-input-localRelays',
    '#node-config-input-relSnapshot',
    '#node-config-input-relGotoPreset',
    '#node-config-input-relStartTour',
    '#node-config-input-relStopTour',
  ],
};

type Wrong = [id: string, field: string, value: string, reason: RegExp];

function flow(): FlowNode[] {
  return webhookFlow(
    {},
    { id: 'inbox', type: 'rvm-inbox', name: '', folder: '', spillFolder: '', keyDays: 7, bodyDays: 30 },
    { id: 'settle', type: 'rvm-settle', z: 'tab', x: 300, y: 400, wires: [[], []] },
    { id: 'events', type: 'rvm-list-events', z: 'tab', x: 300, y: 500, wires: [[], []] },
    { id: 'proof', type: 'rvm-verify', z: 'tab', station: 'station', x: 300, y: 300, wires: [[], []] },
    ...['get-picture', 'get-clip', 'view', 'get-rtsp'].map((name, index) => ({
      id: name.replace('get-', ''),
      type: `rvm-${name}`,
      z: 'tab',
      station: 'station',
      x: 700,
      y: 100 * (index + 1),
      wires: [[], []],
    })),
    { id: 'list', type: 'rvm-list-devices', z: 'tab', station: 'station', x: 300, y: 200, wires: [[], []] },
    { id: 'device', type: 'rvm-get-device', z: 'tab', station: 'station', x: 500, y: 100, wires: [[], []] },
    {
      id: 'ptz',
      type: 'rvm-ptz',
      z: 'tab',
      station: 'station',
      target: '0',
      x: 500,
      y: 200,
      wires: [[], []],
    },
    { id: 'snapshot', type: 'rvm-snapshot', z: 'tab', station: 'station', x: 500, y: 300, wires: [[], []] },
    { id: 'request', type: 'rvm-request', z: 'tab', station: 'station', x: 500, y: 400, wires: [[], []] },
    { id: 'listener', type: 'rvm-listener', name: '', port: '8443', host: '', tls: '', proxies: '' },
  );
}

describeInEditor('the dialogs', { flow }, (editor) => {
  for (const [id, fields] of Object.entries(DIALOGS)) {
    it(`of ${id} opens, shows its fields with labels, and closes without an error on the console`, async () => {
      await openDialog(editor.page, id);
      await unfold(editor.page);
      for (const field of fields) assert.ok(await editor.page.locator(field).isVisible(), field);
      const text = await editor.page.locator('.red-ui-tray').last().innerText();
      assert.doesNotMatch(text, /rvm-[a-z-]+\.|shared\.|undefined/, 'a text is missing from the catalogue');
      await closeDialog(editor.page, 'ok');
    });
  }

  it('of webhook in shows the whole address to register, and a new path is random', async () => {
    await openDialog(editor.page, 'webhook');
    assert.equal(
      await editor.page.inputValue('#rvm-webhook-url'),
      `${editor.nodeRed.url}/remote-monitoring/test`,
    );
    await editor.page.fill('#node-input-publicUrl', 'https://alarms.example.com/');
    await editor.page.locator('#node-input-publicUrl').blur();
    assert.equal(
      await editor.page.inputValue('#rvm-webhook-url'),
      'https://alarms.example.com/remote-monitoring/test',
    );
    await editor.page.click('#rvm-webhook-new-path');
    const first = await editor.page.inputValue('#node-input-path');
    await editor.page.click('#rvm-webhook-new-path');
    assert.match(first, /^\/remote-monitoring\/[0-9a-f]{32}$/);
    assert.notEqual(await editor.page.inputValue('#node-input-path'), first);
  });

  it('of webhook in shows the address of the listener that is chosen, unless a public one is set', async () => {
    await openDialog(editor.page, 'webhook');
    await unfold(editor.page);
    await editor.page.selectOption('#node-input-listener', 'listener');
    assert.equal(
      await editor.page.inputValue('#rvm-webhook-url'),
      'http://127.0.0.1:8443/remote-monitoring/test',
    );
    await editor.page.evaluate(
      `Object.assign(RED.nodes.node('listener'), { tls: 'some', host: 'alarms.local' })`,
    );
    await editor.page.locator('#node-input-listener').dispatchEvent('change');
    assert.equal(
      await editor.page.inputValue('#rvm-webhook-url'),
      'https://alarms.local:8443/remote-monitoring/test',
    );
    await editor.page.evaluate(`Object.assign(RED.nodes.node('listener'), { tls: '', host: '' })`);
    await editor.page.fill('#node-input-publicUrl', 'https://alarms.example.com');
    assert.equal(
      await editor.page.inputValue('#rvm-webhook-url'),
      'https://alarms.example.com/remote-monitoring/test',
    );
  });

  it('of webhook in shows the terms of settlement only where events have to be settled', async () => {
    await openDialog(editor.page, 'webhook');
    const terms = editor.page.locator('#node-input-maxInFlight');
    assert.equal(await terms.isVisible(), false);
    await editor.page.selectOption('#node-input-handledWhen', 'settled');
    assert.ok(await terms.isVisible());
    assert.equal(await terms.inputValue(), '100');
  });

  it('of settle event asks for a reason only where the event may be rejected', async () => {
    await openDialog(editor.page, 'settle');
    const reason = editor.page.locator('#node-input-reason');
    assert.equal(await reason.isVisible(), false);
    await editor.page.evaluate(`$('#node-input-action').typedInput('value', 'reject')`);
    assert.ok(await reason.isVisible());
    await editor.page.evaluate(`$('#node-input-action').typedInput('type', 'msg')`);
    assert.ok(await reason.isVisible());
  });

  it('of the cloud shows TLS and proxy for a real service, and the alarms per minute for the sandbox', async () => {
    await openDialog(editor.page, 'cloud');
    const forService = ['#node-config-input-tls', '#node-config-input-proxy'];
    for (const field of forService) assert.ok(await editor.page.locator(field).isVisible(), field);
    assert.equal(await editor.page.locator('#node-config-input-sandboxEvents').isVisible(), false);
    await editor.page.click('#rvm-cloud-use-sandbox');
    assert.equal(await editor.page.inputValue('#node-config-input-url'), 'sandbox');
    for (const field of forService) assert.equal(await editor.page.locator(field).isVisible(), false, field);
    assert.ok(await editor.page.locator('#node-config-input-sandboxEvents').isVisible());
  });

  it('of the cloud keeps the API key in sight with the sandbox, locked and with the reason, and what was entered there', async () => {
    await openDialog(editor.page, 'cloud');
    const key = editor.page.locator('#node-config-input-apiKey');
    const reason = editor.page.locator('.rvm-cloud-no-key');
    assert.deepEqual([await key.isEnabled(), await reason.isVisible()], [true, false]);
    const before = await key.inputValue();
    await editor.page.click('#rvm-cloud-use-sandbox');
    assert.deepEqual([await key.isVisible(), await key.isEnabled()], [true, false]);
    assert.match(await reason.innerText(), /needs no API key/);
    await editor.page.fill('#node-config-input-url', '${RVM_URL}');
    assert.deepEqual([await key.isEnabled(), await reason.isVisible()], [true, false]);
    assert.equal(await key.inputValue(), before);
  });

  it('of the cloud marks an empty API key of a real service, and none of the sandbox or of a variable', async () => {
    await openDialog(editor.page, 'cloud');
    const key = '#node-config-input-apiKey';
    await editor.page.waitForSelector(`${key}:not(.input-error)`);
    await editor.page.fill(key, '');
    await editor.page.waitForSelector(`${key}.input-error`);
    for (const url of ['sandbox', '${RVM_URL}']) {
      await editor.page.fill('#node-config-input-url', url);
      await editor.page.locator('#node-config-input-url').blur();
      await editor.page.waitForSelector(`${key}:not(.input-error)`);
      await editor.page.fill('#node-config-input-url', 'https://api.example.com');
      await editor.page.locator('#node-config-input-url').blur();
      await editor.page.waitForSelector(`${key}.input-error`);
    }
    await editor.page.fill(key, '${RVM_API_KEY}');
    await editor.page.locator(key).blur();
    await editor.page.waitForSelector(`${key}:not(.input-error)`);
  });

  it('of the cloud says below an empty API key of a real service that it is wanted, and below no other', async () => {
    await openDialog(editor.page, 'cloud');
    const key = '#node-config-input-apiKey';
    const tip = editor.page.locator('.form-row:has(#node-config-input-apiKey) .rvm-reason');
    await tip.waitFor({ state: 'hidden' });
    await typeInto(editor.page, key, '');
    await tip.filter({ hasText: /without it the service refuses everything/ }).waitFor();
    await editor.page.click('#rvm-cloud-use-sandbox');
    await tip.waitFor({ state: 'hidden' });
  });

  it('of the station says below a short name why it is refused, and below one that is not, nothing', async () => {
    await openDialog(editor.page, 'station');
    const key = '#node-config-input-key';
    const tip = editor.page.locator('.form-row:has(#node-config-input-key) .rvm-reason');
    await tip.waitFor({ state: 'hidden' });
    for (const [typed, reason] of [
      ['9e107d9d372bb6826bd81d3542a419d6', /looks like an API key/],
      ['Not Good!', /small letters, digits and hyphens/],
    ] as const) {
      await typeInto(editor.page, key, typed);
      await tip.filter({ hasText: reason }).waitFor();
    }
    await typeInto(editor.page, key, 'harbour-north');
    await tip.waitFor({ state: 'hidden' });
  });

  it('of the station marks an empty Agent User and phrase, and says what does not work without', async () => {
    await openDialog(editor.page, 'station');
    for (const [name, reason] of [
      ['username', /can only receive/],
      ['password', /can only receive/],
      ['secret', /no alarm can be proven/],
    ] as const) {
      const field = `#node-config-input-${name}`;
      const tip = `.form-row:has(${field}) .rvm-reason`;
      await editor.page.waitForSelector(`${field}:not(.input-error)`);
      await editor.page.locator(tip).waitFor({ state: 'hidden' });
      const before = await editor.page.inputValue(field);
      await editor.page.fill(field, '');
      await editor.page.locator(field).blur();
      await editor.page.waitForSelector(`${field}.input-error`);
      await editor.page.locator(tip, { hasText: reason }).waitFor();
      await typeInto(editor.page, field, before);
    }
    assert.equal(await editor.page.locator('#node-config-input-previousSecret.input-error').count(), 0);
  });

  it('of a station of the sandbox marks no empty credential, for the sandbox has its own', async () => {
    await editor.page.evaluate(`RED.nodes.node('cloud').url = 'sandbox'`);
    await openDialog(editor.page, 'station');
    for (const name of ['username', 'password', 'secret']) {
      await editor.page.fill(`#node-config-input-${name}`, '');
      await editor.page.waitForSelector(`#node-config-input-${name}:not(.input-error)`);
    }
    await editor.page.evaluate(`RED.nodes.node('cloud').url = 'http://127.0.0.1:9'`);
    await editor.page.evaluate(`$('#node-config-input-cloud').trigger('change')`);
    for (const name of ['username', 'password', 'secret'])
      await editor.page.waitForSelector(`#node-config-input-${name}.input-error`);
  });

  it('of the station asks for a short name, with a proposal and a hint', async () => {
    await openDialog(editor.page, 'station');
    const row = editor.page.locator('.form-row', { has: editor.page.locator('#node-config-input-key') });
    assert.match(await row.innerText(), /Short name/);
    const placeholder = (): Promise<string | null> =>
      editor.page.locator('#node-config-input-key').getAttribute('placeholder');
    await editor.page.fill('#node-config-input-name', 'Harbour North');
    assert.equal(await placeholder(), 'harbour-north');
    await editor.page.fill('#node-config-input-name', '');
    assert.match((await placeholder()) ?? '', /from the name/);
    await editor.page.locator('.form-row:has(#node-config-input-key) .rvm-help').click();
    assert.match(await editor.page.locator('.red-ui-tray').last().innerText(), /not the API key/);
  });

  const WRONG: Wrong[] = [
    ['webhook', '#node-input-path', '/with space', /letters from a to z/],
    ['inbox', '#node-config-input-keyDays', '1', /at least 2/],
    ['picture', '#node-input-offsets', '-3, soon', /such as -3, 0, 3/],
    ['webhook', '#node-input-path', '/remote-monitoring/view/a', /no webhook paths/],
    ['events', '#node-input-limit', '0', /from 1 to 10000/],
    ['picture', '#node-input-width', '0', /from 16 to 4096/],
    ['picture', '#node-input-waitForVideo', '601', /from 0 to 600/],
    ['clip', '#node-input-seconds', '301', /from 1 to 300/],
    ['clip', '#node-input-folder', '~/clips', /whole path/],
    ['view', '#node-input-minutes', '10081', /from 1 to 10080/],
    ['view', '#node-input-viewers', '1.5', /whole number from 1 to 32/],
    ['view', '#node-input-publicUrl', 'alarms.example.com', /begins with https/],
    ['rtsp', '#node-input-preRoll', '-1', /from 0 to 86400/],
    ['rtsp', '#node-input-deadline', 'soon', /at least 1/],
    ['ptz', '#node-input-deadline', '0', /at least 1/],
    ['snapshot', '#node-input-width', '1.5', /whole number/],
    ['webhook', '#node-input-publicUrl', 'alarms.example.com', /begins with https/],
    ['cloud', '#node-config-input-url', 'ftp://x', /sandbox/],
    ['cloud', '#node-config-input-timeout', 'soon', /number/],
    ['cloud', '#node-config-input-versionLow', 'x', /version/i],
    ['cloud', '#node-config-input-trustedOrigins', 'foo bar', /https/],
    ['cloud', '#node-config-input-videoSessions', '0', /whole number from 1 to 100/],
    ['cloud', '#node-config-input-relayHosts', 'https://video.example.com', /names of hosts/],
    ['cloud', '#node-config-input-relSnapshot', 'rel/a, rel/b', /one relation/],
    ['cloud', '#node-config-input-relGotoPreset', 'rel/a, rel/b', /one relation/],
    ['station', '#node-config-input-key', 'Not Good!', /small letters/],
    ['station', '#node-config-input-key', '3f2504e0-4f89-41d3-9a0c-0305e82c3301', /looks like an API key/],
    ['station', '#node-config-input-key', '9e107d9d372bb6826bd81d3542a419d6', /looks like an API key/],
    ['listener', '#node-config-input-port', '70000', /from 1 to 65535/],
    ['listener', '#node-config-input-proxies', 'proxy.example', /IP addresses/],
  ];
  for (const [id, field, value, reason] of byLane([], WRONG.slice(0, 3), WRONG.slice(3))) {
    it(`marks ${JSON.stringify(value)} in ${field} while it is typed, says why, and counts the node as invalid`, async () => {
      await openDialog(editor.page, id);
      const before = await editor.page.inputValue(field);
      for (const [typed, mark] of [
        [value, '.input-error'],
        [before, ':not(.input-error)'],
        [value, '.input-error'],
      ]) {
        await editor.page.evaluate(
          `$(${JSON.stringify(field)}).val(${JSON.stringify(typed)}).trigger('input').trigger('change')`,
        );
        await editor.page.waitForSelector(`${field}${mark}`, { state: 'attached' });
      }
      const told = editor.page.locator(`.form-row:has(${field}) .rvm-reason`);
      assert.match(await told.innerText(), reason);
      assert.ok(await told.isVisible());
      await closeDialog(editor.page, 'ok');
      assert.match(await problemsOf(id), reason);
      const property = field.slice(field.lastIndexOf('-') + 1);
      await editor.page.evaluate(`(() => {
        const node = RED.nodes.node(${JSON.stringify(id)});
        node[${JSON.stringify(property)}] = ${JSON.stringify(before)};
        RED.editor.validateNode(node);
      })()`);
      assert.equal(await problemsOf(id), '');
    });
  }

  it('takes the name of a variable for any field', async () => {
    await openDialog(editor.page, 'cloud');
    await editor.page.fill('#node-config-input-url', '${RVM_URL}');
    await closeDialog(editor.page, 'ok');
    assert.equal(await problemsOf('cloud'), '');
    await editor.page.evaluate(`RED.nodes.node('cloud').url = 'http://127.0.0.1:9'`);
  });

  it('counts webhook in as invalid without a Central Station and a cloud, and with one that is deleted', async () => {
    const problems = async (changes: object): Promise<string> => {
      await editor.page.evaluate(
        `Object.assign(RED.nodes.node('webhook'), ${JSON.stringify(changes)}); RED.editor.validateNode(RED.nodes.node('webhook'))`,
      );
      return problemsOf('webhook');
    };
    assert.match(await problems({ station: '', cloud: '' }), /Choose a Central Station/);
    assert.match(await problems({ station: 'gone' }), /deleted or disabled/);
    assert.equal(await problems({ station: '', cloud: 'cloud' }), '');
    assert.equal(await problems({ station: 'station', cloud: '' }), '');
  });

  it('counts a copy of webhook in as invalid, for it has the same path', async () => {
    await editor.page.evaluate(
      `RED.view.importNodes([{ ...RED.nodes.convertNode(RED.nodes.node('webhook')), id: 'copy', path: 'remote-monitoring/test/' }], { generateIds: false, addFlow: false, touchImport: true })`,
    );
    assert.match(await problemsOf('copy'), /Another webhook in/);
  });

  it('of the cloud keeps its TLS and proxy nodes, and how live video is asked for', async () => {
    const core = [
      { id: 'tls', type: 'tls-config', name: 'own authority' },
      { id: 'proxy', type: 'http proxy', name: 'out', url: 'http://proxy.example:3128', noproxy: [] },
    ];
    await editor.nodeRed.deploy([...flow(), ...core]);
    await loadEditor(editor.page, editor.nodeRed);
    await openDialog(editor.page, 'cloud');
    await unfold(editor.page);
    await editor.page.selectOption('#node-config-input-tls', 'tls');
    await editor.page.selectOption('#node-config-input-proxy', 'proxy');
    await editor.page.selectOption('#node-config-input-liveStyle', 'live');
    await editor.page.fill('#node-config-input-relHome', 'rel/go_home');
    await closeDialog(editor.page, 'ok');
    const { tls, proxy, liveStyle, relHome } = (await editor.page.evaluate(
      `(({ tls, proxy, liveStyle, relHome }) => ({ tls, proxy, liveStyle, relHome }))(RED.nodes.node('cloud'))`,
    )) as Record<string, unknown>;
    assert.deepEqual([tls, proxy, liveStyle, relHome], ['tls', 'proxy', 'live', 'rel/go_home']);
  });

  it('keeps what stands in other fields, variables included, when a node is edited and deployed', async () => {
    await editor.nodeRed.deploy(
      flow().map((node) =>
        node.id === 'rtsp' ? { ...node, preRoll: 7, whenOffline: 'try', deadline: '${D}' } : node,
      ),
    );
    await loadEditor(editor.page, editor.nodeRed);
    await openDialog(editor.page, 'rtsp');
    await editor.page.fill('#node-input-name', 'renamed');
    await closeDialog(editor.page, 'ok');
    await editor.page.click('#red-ui-header-button-deploy');
    const file = path.join(editor.nodeRed.userDir, 'flows.json');
    await editor.nodeRed.until(() => fs.readFileSync(file, 'utf8').includes('renamed'), 'the deploy');
    const saved = (JSON.parse(fs.readFileSync(file, 'utf8')) as FlowNode[]).find(
      (node) => node.id === 'rtsp',
    );
    assert.equal(saved?.preRoll, 7);
    assert.equal(saved?.whenOffline, 'try');
    assert.equal(saved?.deadline, '${D}');
  });

  async function problemsOf(id: string): Promise<string> {
    const problems = await editor.page.evaluate(
      `(() => { const node = RED.nodes.node(${JSON.stringify(id)}); return node.valid === false ? (node.validationErrors ?? ['invalid']).join(' ') : ''; })()`,
    );
    return String(problems);
  }
});

describeInEditor('the dialogs, with users and another root', { flow, secured: true }, (editor) => {
  it('open, take another name and are deployed', async () => {
    const ids = byLane([], ['webhook', 'cloud', 'station', 'rtsp'], Object.keys(DIALOGS));
    for (const id of ids) {
      await openDialog(editor.page, id);
      await editor.page
        .locator('.red-ui-tray')
        .last()
        .locator('input[id$="-input-name"]')
        .fill(`renamed ${id}`);
      await closeDialog(editor.page, 'ok');
    }
    await editor.page.click('#red-ui-header-button-deploy');
    const file = path.join(editor.nodeRed.userDir, 'flows.json');
    const saved = (): string => fs.readFileSync(file, 'utf8');
    await editor.nodeRed.until(() => ids.every((id) => saved().includes(`renamed ${id}`)), 'the deploy');
  });
});

it('every type has its dialog, texts and help where Node-RED looks for them', () => {
  const types = Object.keys(
    (
      JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
        'node-red': { nodes: object };
      }
    )['node-red'].nodes,
  );
  for (const type of types) {
    for (const file of [
      `${type}.js`,
      `${type}.html`,
      `locales/en-US/${type}.json`,
      `locales/en-US/${type}.html`,
    ]) {
      assert.ok(fs.existsSync(path.join(ROOT, 'dist', file)), file);
    }
  }
});
