import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { closeDialog, loadEditor, typeInto, unfold } from '../../support/editor/browser';
import { webhookFlow } from '../../support/node-red/flows';
import { describeInEditor, type EditorOfTests } from '../../support/editor/in-editor';
import type { FlowNode } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';
import { byLane } from '../../support/suite/lanes';

const TYPED = '.red-ui-typedInput-container >> nth=';
const CONFIG_NODES = ['listener', 'inbox', 'station', 'cloud'];

/** Fields by dialog: their names, or how the typed inputs are counted that have none in sight. */
const DIALOGS: Record<string, string> = {
  webhook: 'path listener publicUrl #rvm-webhook-url',
  listener: 'port host tls',
  inbox: 'folder spillFolder keyDays',
  settle: 'name 0',
  events: 'state 0 1 2 3 limit',
  proof: 'name station',
  picture: 'mode offsets layout width waitForVideo deadline',
  clip: 'mode seconds preRoll untilEnd folder deadline',
  view: 'mode minutes live viewers listener publicUrl deadline',
  rtsp: 'mode preRoll quality deadline',
  list: 'show 0 fresh deadline',
  device: 'what 0 deadline',
  ptz: '1 2 deadline',
  snapshot: 'width 0 deadline',
  request: 'start rels method deadline',
  station: 'key username secret',
  cloud:
    'url apiKey timeout tls proxy liveStyle signOfLife videoSessions relayHosts localRelays relSnapshot ' +
    'relGotoPreset relStartTour relStopTour',
};

function placeOf(id: string, field: string): string {
  if (/^\d/.test(field)) return `${TYPED}${field}`;
  return field.startsWith('#') ? field : fieldOf(id, field);
}

function fieldOf(id: string, name: string): string {
  return `#node-${CONFIG_NODES.includes(id) ? 'config-' : ''}input-${name}`;
}

const URL_FIELD = fieldOf('cloud', 'url');
const API_KEY = fieldOf('cloud', 'apiKey');

function flow(): FlowNode[] {
  const node = (id: string, type: string, properties = {}): FlowNode =>
    caller(type, { id, wires: [[], []], ...properties });
  return webhookFlow(
    {},
    { id: 'inbox', type: 'rvm-inbox', name: '', folder: '', spillFolder: '', keyDays: 7, bodyDays: 30 },
    node('settle', 'rvm-settle'),
    node('events', 'rvm-list-events'),
    node('proof', 'rvm-verify'),
    ...['get-picture', 'get-clip', 'view', 'get-rtsp'].map((name) =>
      node(name.replace('get-', ''), `rvm-${name}`),
    ),
    node('list', 'rvm-list-devices'),
    node('device', 'rvm-get-device'),
    node('ptz', 'rvm-ptz', { target: '0' }),
    node('snapshot', 'rvm-snapshot'),
    node('request', 'rvm-request'),
    { id: 'listener', type: 'rvm-listener', name: '', port: '8443', host: '', tls: '', proxies: '' },
  );
}

/** Deploys by the button. @returns the nodes of the flow file, once these words are in it */
async function deployed({ nodeRed, page }: EditorOfTests, ...words: string[]): Promise<FlowNode[]> {
  await page.click('#red-ui-header-button-deploy');
  const file = path.join(nodeRed.userDir, 'flows.json');
  const saved = (): string => fs.readFileSync(file, 'utf8');
  await nodeRed.until(() => words.every((word) => saved().includes(word)), 'the deploy');
  return JSON.parse(saved()) as FlowNode[];
}

describeInEditor('the dialogs', { flow }, (editor) => {
  const { assign, enter, marked, reason, type, valuesOf, visible } = editor;

  for (const [id, fields] of Object.entries(DIALOGS))
    it(`of ${id} opens, shows its fields with labels, and closes without an error on the console`, async () => {
      await editor.open(id);
      await unfold(editor.page);
      for (const field of fields.split(' '))
        assert.deepEqual(await visible(placeOf(id, field)), [true], field);
      const text = await editor.page.locator('.red-ui-tray').last().innerText();
      assert.doesNotMatch(text, /rvm-[a-z-]+\.|shared\.|undefined/, 'a text is missing from the catalogue');
      await closeDialog(editor.page, 'ok');
    });

  const address = (): Promise<string> => editor.page.inputValue('#rvm-webhook-url');

  it('of webhook in shows the whole address to register, and a new path is random', async () => {
    const newPath = async (): Promise<string> => {
      await editor.page.click('#rvm-webhook-new-path');
      return editor.page.inputValue('#node-input-path');
    };
    await editor.open('webhook');
    assert.equal(await address(), `${editor.nodeRed.url}/remote-monitoring/test`);
    await enter('#node-input-publicUrl', 'https://alarms.example.com/');
    assert.equal(await address(), 'https://alarms.example.com/remote-monitoring/test');
    const first = await newPath();
    assert.match(first, /^\/remote-monitoring\/[0-9a-f]{32}$/);
    assert.notEqual(await newPath(), first);
  });

  it('of webhook in shows the address of the listener that is chosen, unless a public one is set', async () => {
    await editor.open('webhook');
    await unfold(editor.page);
    await editor.page.selectOption('#node-input-listener', 'listener');
    assert.equal(await address(), 'http://127.0.0.1:8443/remote-monitoring/test');
    await assign('listener', { tls: 'some', host: 'alarms.local' });
    await editor.page.locator('#node-input-listener').dispatchEvent('change');
    assert.equal(await address(), 'https://alarms.local:8443/remote-monitoring/test');
    await assign('listener', { tls: '', host: '' });
    await editor.page.fill('#node-input-publicUrl', 'https://alarms.example.com');
    assert.equal(await address(), 'https://alarms.example.com/remote-monitoring/test');
  });

  it('of webhook in shows the terms of settlement only where events have to be settled', async () => {
    await editor.open('webhook');
    const terms = '#node-input-maxInFlight';
    assert.deepEqual(await visible(terms), [false]);
    await editor.page.selectOption('#node-input-handledWhen', 'settled');
    assert.deepEqual([await visible(terms), await editor.page.inputValue(terms)], [[true], '100']);
  });

  it('of settle event asks for a reason only where the event may be rejected', async () => {
    await editor.open('settle');
    assert.deepEqual(await visible('#node-input-reason'), [false]);
    for (const action of [{ value: 'reject' }, { type: 'msg' }]) {
      await type('#node-input-action', action);
      assert.deepEqual(await visible('#node-input-reason'), [true]);
    }
  });

  it('of the cloud shows TLS and proxy for a real service, and the alarms per minute for the sandbox', async () => {
    await editor.open('cloud');
    const rows = ['tls', 'proxy', 'sandboxEvents'].map((name) => fieldOf('cloud', name));
    assert.deepEqual(await visible(...rows), [true, true, false]);
    await editor.page.click('#rvm-cloud-use-sandbox');
    assert.equal(await editor.page.inputValue(URL_FIELD), 'sandbox');
    assert.deepEqual(await visible(...rows), [false, false, true]);
  });

  it('of the cloud keeps the API key in sight with the sandbox, locked and with the reason, and what was entered there', async () => {
    await editor.open('cloud');
    const before = await editor.page.inputValue(API_KEY);
    const look = async (): Promise<boolean[]> => [
      ...(await visible(API_KEY, '.rvm-cloud-no-key')),
      await editor.page.isEnabled(API_KEY),
    ];
    assert.deepEqual(await look(), [true, false, true]);
    await editor.page.click('#rvm-cloud-use-sandbox');
    assert.deepEqual(await look(), [true, true, false]);
    assert.match(await editor.page.locator('.rvm-cloud-no-key').innerText(), /needs no API key/);
    await editor.page.fill(URL_FIELD, '${RVM_URL}');
    assert.deepEqual(await look(), [true, false, true]);
    assert.equal(await editor.page.inputValue(API_KEY), before);
  });

  it('of the cloud marks an empty API key of a real service, and says that it is wanted; none of the sandbox or of a variable', async () => {
    await editor.open('cloud');
    await marked(API_KEY, false);
    await reason(API_KEY).waitFor({ state: 'hidden' });
    await typeInto(editor.page, API_KEY, '');
    await marked(API_KEY);
    await reason(API_KEY)
      .filter({ hasText: /without it the service refuses everything/ })
      .waitFor();
    for (const url of ['sandbox', '${RVM_URL}']) {
      await enter(URL_FIELD, url);
      await marked(API_KEY, false);
      await reason(API_KEY).waitFor({ state: 'hidden' });
      await enter(URL_FIELD, 'https://api.example.com');
      await marked(API_KEY);
    }
    await enter(API_KEY, '${RVM_API_KEY}');
    await marked(API_KEY, false);
  });

  it('of the station marks an empty Agent User and phrase, and says what does not work without', async () => {
    await editor.open('station');
    for (const [name, why] of [
      ['username', /can only receive/],
      ['password', /can only receive/],
      ['secret', /no alarm can be proven/],
    ] as const) {
      const field = fieldOf('station', name);
      await marked(field, false);
      await reason(field).waitFor({ state: 'hidden' });
      const before = await editor.page.inputValue(field);
      await enter(field, '');
      await marked(field);
      await reason(field).filter({ hasText: why }).waitFor();
      await typeInto(editor.page, field, before);
    }
    await marked(fieldOf('station', 'previousSecret'), false);
  });

  it('of a station of the sandbox marks no empty credential, for the sandbox has its own', async () => {
    const fields = ['username', 'password', 'secret'].map((name) => fieldOf('station', name));
    await assign('cloud', { url: 'sandbox' });
    await editor.open('station');
    for (const field of fields) {
      await editor.page.fill(field, '');
      await marked(field, false);
    }
    await assign('cloud', { url: 'http://127.0.0.1:9' });
    await editor.page.evaluate(`$('#node-config-input-cloud').trigger('change')`);
    for (const field of fields) await marked(field);
  });

  it('of the station asks for a short name, with a proposal and a hint', async () => {
    await editor.open('station');
    const row = editor.page.locator('.form-row:has(#node-config-input-key)');
    assert.match(await row.innerText(), /Short name/);
    for (const [name, proposal] of [
      ['Harbour North', /^harbour-north$/],
      ['', /from the name/],
    ] as const) {
      await editor.page.fill(fieldOf('station', 'name'), name);
      const placeholder = await editor.page.getAttribute(fieldOf('station', 'key'), 'placeholder');
      assert.match(placeholder ?? '', proposal);
    }
    await row.locator('.rvm-help').click();
    assert.match(await editor.page.locator('.red-ui-tray').last().innerText(), /not the API key/);
  });

  const WRONG: [id: string, name: string, value: string, reason: RegExp][] = [
    ['webhook', 'path', '/with space', /letters from a to z/],
    ['inbox', 'keyDays', '1', /at least 2/],
    ['picture', 'offsets', '-3, soon', /such as -3, 0, 3/],
    ['webhook', 'path', '/remote-monitoring/view/a', /no webhook paths/],
    ['events', 'limit', '0', /from 1 to 10000/],
    ['picture', 'width', '0', /from 16 to 4096/],
    ['picture', 'waitForVideo', '601', /from 0 to 600/],
    ['clip', 'seconds', '301', /from 1 to 300/],
    ['clip', 'folder', '~/clips', /whole path/],
    ['view', 'minutes', '10081', /from 1 to 10080/],
    ['view', 'viewers', '1.5', /whole number from 1 to 32/],
    ['view', 'publicUrl', 'alarms.example.com', /begins with https/],
    ['rtsp', 'preRoll', '-1', /from 0 to 86400/],
    ['rtsp', 'deadline', 'soon', /at least 1/],
    ['ptz', 'deadline', '0', /at least 1/],
    ['snapshot', 'width', '1.5', /whole number/],
    ['webhook', 'publicUrl', 'alarms.example.com', /begins with https/],
    ['cloud', 'url', 'ftp://x', /sandbox/],
    ['cloud', 'timeout', 'soon', /number/],
    ['cloud', 'versionLow', 'x', /version/i],
    ['cloud', 'trustedOrigins', 'foo bar', /https/],
    ['cloud', 'videoSessions', '0', /whole number from 1 to 100/],
    ['cloud', 'relayHosts', 'https://video.example.com', /names of hosts/],
    ['cloud', 'relSnapshot', 'rel/a, rel/b', /one relation/],
    ['cloud', 'relGotoPreset', 'rel/a, rel/b', /one relation/],
    ['station', 'key', 'Not Good!', /small letters, digits and hyphens/],
    ['station', 'key', '3f2504e0-4f89-41d3-9a0c-0305e82c3301', /looks like an API key/],
    ['station', 'key', '9e107d9d372bb6826bd81d3542a419d6', /looks like an API key/],
    ['listener', 'port', '70000', /from 1 to 65535/],
    ['listener', 'proxies', 'proxy.example', /IP addresses/],
  ];
  for (const [id, name, value, why] of byLane([], WRONG.slice(0, 3), WRONG.slice(3)))
    it(`marks ${JSON.stringify(value)} as ${name} of ${id} while it is typed, says why, and counts the node as invalid`, async () => {
      const field = fieldOf(id, name);
      await editor.open(id);
      const before = await editor.page.inputValue(field);
      for (const typed of [value, before, value]) {
        const change = `.val(${JSON.stringify(typed)}).trigger('input').trigger('change')`;
        await editor.page.evaluate(`void $(${JSON.stringify(field)})${change}`);
        await marked(field, typed === value);
      }
      assert.match(await reason(field).innerText(), why);
      assert.ok(await reason(field).isVisible());
      await closeDialog(editor.page, 'ok');
      assert.match(await problemsOf(id), why);
      assert.equal(await problemsWith(id, { [name]: before }), '');
    });

  it('takes the name of a variable for any field', async () => {
    await editor.open('cloud');
    await editor.page.fill(URL_FIELD, '${RVM_URL}');
    await closeDialog(editor.page, 'ok');
    assert.equal(await problemsOf('cloud'), '');
    await assign('cloud', { url: 'http://127.0.0.1:9' });
  });

  for (const [title, changes, problem] of [
    ['invalid without a Central Station and a cloud', { station: '', cloud: '' }, /Choose a Central Station/],
    ['invalid with a Central Station that is deleted', { station: 'gone' }, /deleted or disabled/],
    ['valid with a cloud', { station: '', cloud: 'cloud' }, /^$/],
    ['valid with a Central Station', { station: 'station', cloud: '' }, /^$/],
  ] as const)
    it(`counts webhook in as ${title}`, async () => {
      assert.match(await problemsWith('webhook', changes), problem);
      await assign('webhook', { station: 'station', cloud: '' });
    });

  it('counts a copy of webhook in as invalid, for it has the same path', async () => {
    const options = { generateIds: false, addFlow: false, touchImport: true };
    await editor.page.evaluate(`(() => {
      const copy = { ...RED.nodes.convertNode(RED.nodes.node('webhook')), id: 'copy', path: 'remote-monitoring/test/' };
      RED.view.importNodes([copy], ${JSON.stringify(options)});
    })()`);
    assert.match(await problemsOf('copy'), /Another webhook in/);
  });

  it('of the cloud keeps its TLS and proxy nodes, and how live video is asked for', async () => {
    const proxy = {
      id: 'proxy',
      type: 'http proxy',
      name: 'out',
      url: 'http://proxy.example:3128',
      noproxy: [],
    };
    await editor.nodeRed.deploy([...flow(), { id: 'tls', type: 'tls-config', name: 'own authority' }, proxy]);
    await loadEditor(editor.page, editor.nodeRed);
    await editor.open('cloud');
    await unfold(editor.page);
    const chosen = { tls: 'tls', proxy: 'proxy', liveStyle: 'live' };
    for (const [name, value] of Object.entries(chosen))
      await editor.page.selectOption(fieldOf('cloud', name), value);
    await editor.page.fill(fieldOf('cloud', 'relHome'), 'rel/go_home');
    await editor.saves('cloud', { ...chosen, relHome: 'rel/go_home' });
  });

  it('keeps what stands in other fields, variables included, when a node is edited and deployed', async () => {
    const others = { preRoll: 7, whenOffline: 'try', deadline: '${D}' };
    await editor.nodeRed.deploy(flow().map((node) => (node.id === 'rtsp' ? { ...node, ...others } : node)));
    await loadEditor(editor.page, editor.nodeRed);
    await editor.open('rtsp');
    await editor.page.fill('#node-input-name', 'renamed');
    await closeDialog(editor.page, 'ok');
    const saved = (await deployed(editor, 'renamed')).find(({ id }) => id === 'rtsp');
    assert.partialDeepStrictEqual(saved, others);
  });

  async function problemsOf(id: string): Promise<string> {
    const [valid, problems] = await valuesOf(id, 'valid', 'validationErrors');
    return valid === false ? ((problems as string[] | undefined) ?? ['invalid']).join(' ') : '';
  }

  async function problemsWith(id: string, changes: object): Promise<string> {
    await assign(id, changes);
    await editor.page.evaluate(`void RED.editor.validateNode(RED.nodes.node(${JSON.stringify(id)}))`);
    return problemsOf(id);
  }
});

describeInEditor('the dialogs, with users and another root', { flow, secured: true }, (editor) => {
  it('open, take another name and are deployed', async () => {
    const ids = byLane([], ['webhook', 'cloud', 'station', 'rtsp'], Object.keys(DIALOGS));
    for (const id of ids) {
      await editor.open(id);
      const dialog = editor.page.locator('.red-ui-tray').last();
      await dialog.locator('input[id$="-input-name"]').fill(`renamed ${id}`);
      await closeDialog(editor.page, 'ok');
    }
    await deployed(editor, ...ids.map((id) => `renamed ${id}`));
  });
});
