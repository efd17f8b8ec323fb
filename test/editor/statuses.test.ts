import assert from 'node:assert/strict';
import { loadEditor, speak } from '../support/editor/browser';
import { describeInEditor } from '../support/editor/in-editor';
import { showSidebar } from '../support/editor/sidebar';
import { PATH, PHRASE, station, webhookFlow } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import { caller } from '../support/node-red/station-flow';
import { alarmMessage, post } from '../support/webhook/alarm-message';

function flow(): FlowNode[] {
  const node = (type: string, id: string, y: number, properties: object): FlowNode =>
    caller(type, { id, x: 300, y, wires: [[], [], []], ...properties });
  const unset = { username: '${RVM_NOT_SET}', secret: 'another' };
  return webhookFlow(
    { webhook: { x: 300, y: 100 } },
    station({ id: 'branch-node', key: 'branch', name: 'Branch', credentials: unset }),
    node('rvm-alarm-state', 'first', 200, { key: 'shared' }),
    node('rvm-alarm-state', 'second', 300, { key: 'shared' }),
    node('rvm-verify', 'proof', 400, { wires: [[], []] }),
    node('rvm-webhook-in', 'unset', 500, { path: '${RVM_NOT_SET}' }),
  );
}

describeInEditor('a status with values', { flow }, (editor) => {
  async function shows(id: string, text: RegExp): Promise<string> {
    const shown = `(document.getElementById(${JSON.stringify(id)})?.__statusLabel__?.textContent ?? '')`;
    await editor.page.waitForFunction(`${String(text)}.test${shown}`);
    return editor.page.evaluate(shown);
  }

  async function alarm(): Promise<void> {
    const response = await post(`${editor.nodeRed.url}${PATH}`, alarmMessage(), PHRASE);
    assert.equal(response.status, 200);
  }

  before(async function () {
    if (editor.page === undefined) return;
    const session = await editor.page.context().newCDPSession(editor.page);
    // Fourteen hours ahead of UTC: nobody who runs this test is there.
    await session.send('Emulation.setTimezoneOverride', { timezoneId: 'Pacific/Kiritimati' });
    await speak(editor.page, 'de-DE');
    await loadEditor(editor.page, editor.nodeRed);
  });

  it('that was there before the editor is in the language of the person', async () => {
    await shows('unset', /^RVM_NOT_SET nicht gesetzt$/);
  });

  it('that is made of several texts is so in each of them', async () => {
    await shows('first', /^scharf, von 2 Nodes geteilt$/);
  });

  it('that is of a Central Station is so in the sidebar, too', async () => {
    await showSidebar(editor.page);
    const states = editor.page.locator('.rvm-stations .rvm-state');
    await states.getByText('RVM_NOT_SET nicht gesetzt', { exact: true }).waitFor();
  });

  it('that comes while the editor is open is so as well, with the clock of the person', async () => {
    await alarm();
    const text = await shows('webhook', /^zuletzt \d\d:\d\d:\d\d$/);
    const hour = Number(/\d\d/.exec(text)?.[0]);
    const there = new Date().toLocaleTimeString('en-GB', { timeZone: 'Pacific/Kiritimati', hour: '2-digit' });
    assert.ok([Number(there), (Number(there) + 23) % 24].includes(hour), `${text}, and it is ${there} there`);
  });

  it('is so after the editor was loaded once more', async () => {
    await loadEditor(editor.page, editor.nodeRed);
    await shows('webhook', /^zuletzt \d\d:\d\d:\d\d$/);
  });

  it('gives way to one without', async () => {
    await shows('unset', /nicht gesetzt$/);
    const flows = flow().map((node) => (node.id === 'unset' ? { ...node, path: PATH } : node));
    await editor.nodeRed.deploy(flows, 'nodes');
    await shows('unset', /^Pfad belegt$/);
  });

  it('is a plain text in the language of Node-RED to a flow, and nothing else', async () => {
    const from = editor.nodeRed.seen.length;
    await alarm();
    const last = (): string | undefined =>
      editor.nodeRed.statuses('webhook', from).find((text) => /^last \d\d:\d\d:\d\d$/.test(text));
    await editor.nodeRed.until(() => last() !== undefined, 'the status');
    const told = editor.nodeRed.at('status', from).map(({ status }) => Object.keys(status as object).sort());
    assert.deepEqual(told[0], ['fill', 'shape', 'source', 'text']);
  });
});
