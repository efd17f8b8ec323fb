import assert from 'node:assert/strict';
import { describeInEditor } from '../support/editor/in-editor';
import { alarm, opened, rowOf } from '../support/editor/sidebar';
import { station, webhookFlow, webhookIn } from '../support/node-red/flows';
import { entrance, inject, type FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

/** Whose events have one attempt of a second, and whose have many and long ones. */
const HURRIED = '/remote-monitoring/hurried';
const PATIENT = '/remote-monitoring/patient';

function settledFlow(): FlowNode[] {
  // It has neither name nor key: that is made from its id.
  const other = station({ id: 'other', name: undefined, key: undefined, credentials: { secret: 'another' } });
  const settle = { id: 'settle', type: 'rvm-settle', name: 'to the PLC', z: 'tab', wires: [[], []] };
  const hurried = { id: 'hurried', path: HURRIED, handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 };
  return webhookFlow(
    { webhook: { path: PATIENT, handledWhen: 'settled', redeliverAfter: 600, maxAttempts: 7 } },
    other,
    webhookIn(hurried),
    settle,
    ...entrance('answer', 'settle'),
  );
}

describeInEditor('an event that is opened in the sidebar', { flow: settledFlow }, (editor) => {
  before(async () => {
    await editor.page.setViewportSize({ width: 1366, height: 768 });
    await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
  });
  afterEach(async () => {
    await editor.page.locator('.rvm-opener[aria-expanded=true]').press('Escape');
    await editor.page.waitForSelector('.rvm-opened', { state: 'detached' });
  });

  it('tells what became of it: received, proven by which phrase, stored, delivered, settled by whom and with what verdict, while it is open', async () => {
    await alarm(editor, PATIENT, { cameraName: 'Gate 1' });
    const { webhook } = await editor.nodeRed.message('alarms');
    const { row, all } = await opened(editor, 'Gate 1');
    const note = `A cat on the fence, seen on the recording. ${'no-space'.repeat(40)}`;
    const finding = { verdict: 'false', note, by: 'Night desk' };
    await inject(editor.nodeRed, 'answer', { ...finding, webhook });
    await all.getByText('A cat on the fence').waitFor();
    const steps = await all.getByRole('list', { name: 'History' }).getByRole('listitem').allInnerTexts();
    const [received, proven, stored, delivered, ...later] = steps;
    assert.match(received ?? '', /received\nfrom .*127\.0\.0\.1$/);
    assert.deepEqual([proven, stored], ['proven\nsigned · with the current phrase', 'stored in the inbox']);
    assert.match(delivered ?? '', /handed to the flow\nattempt 1/);
    assert.match(later.join('\n'), /settled\nby: to the PLC/);
    assert.match(later.join('\n'), /judged false alarm\nby: Night desk/);
    const state = row.locator('.rvm-quiet').first();
    await state.filter({ hasText: /delivered · signed · false alarm$/ }).waitFor();
    // However long a remark is.
    assert.equal(await editor.isCutAt(180), false);
  });

  it('says in words how it stands and what there is to do, how often it was delivered of how often it may be, and of which Central Station it is', async () => {
    await alarm(editor, PATIENT, { cameraName: 'Gate 2' });
    const { all } = await opened(editor, 'Gate 2');
    await all.getByText('The flow has it and has not settled it yet').waitFor();
    await all.getByText('Received by').waitFor();
    const facts = await all.locator('.rvm-facts').innerText();
    assert.match(facts, /Deliveries\s+1 of 7/);
    assert.match(facts, /Received by\s+.*\/remote-monitoring\/patient/);
    assert.match(facts, /Central Station\s+North \(north\)/);
  });

  it('copies each of its ids and says which', async () => {
    const camera = { cameraName: 'Gate 3', cameraId: 'camera-3', cameraRemoteId: 'remote-3' };
    const message = await alarm(editor, PATIENT, camera);
    const { all } = await opened(editor, 'Gate 3');
    await all.locator('[data-copies=remoteCamera]').waitFor();
    const deliveryId = await all.locator('[data-copies=delivery]').locator('..').locator('code').innerText();
    const ids = {
      'Alarm id': String((message.payload as { alarmId: unknown }).alarmId),
      'Message id': String(message.messageId),
      'Delivery id': deliveryId,
      'Camera id': 'camera-3',
      'Remote camera id': 'remote-3',
    };
    await editor.page.evaluate(
      `document.addEventListener('copy', () => (window.rvmCopied = getSelection().toString() || document.activeElement.value))`,
    );
    for (const [what, id] of Object.entries(ids)) {
      await all.getByRole('button', { name: `Copy: ${what}` }).click();
      await editor.page.locator('#red-ui-notifications', { hasText: `Copied: ${what} ${id}` }).waitFor();
      assert.equal(await editor.page.evaluate('window.rvmCopied'), id);
    }
  });

  it('says which as text, whatever an id from outside holds', async () => {
    const cameraRemoteId = '<img src=x onerror="window.rvmTaken = true">';
    await alarm(editor, PATIENT, { cameraName: 'Side door', cameraRemoteId });
    const { all } = await opened(editor, 'Side door');
    await all.getByRole('button', { name: 'Copy: Remote camera id' }).click();
    const told = editor.page.locator('#red-ui-notifications');
    await told.filter({ hasText: `Remote camera id ${cameraRemoteId}` }).waitFor();
    assert.equal(await told.locator('img').count(), 0);
    assert.equal(await editor.page.evaluate('window.rvmTaken'), undefined);
  });

  it('comes again when somebody wants it while the flow has it, and names who did that', async () => {
    await alarm(editor, PATIENT, { cameraName: 'Gate 4' });
    const { all } = await opened(editor, 'Gate 4');
    await all.getByRole('button', { name: /^Deliver again: .*Gate 4/ }).click();
    await all.getByText('put back, to come again').waitFor();
    await all.getByText('attempt 2').waitFor();
  });

  it('says of a settled one why it is not delivered again', async () => {
    await alarm(editor, PATIENT, { cameraName: 'Settled gate' });
    const isIt = (msg: object): boolean => JSON.stringify(msg).includes('Settled gate');
    const { webhook } = await editor.nodeRed.message('alarms', isIt);
    const { all } = await opened(editor, 'Settled gate');
    await inject(editor.nodeRed, 'answer', { webhook });
    await all.getByText('Deliver again: not for an event that is settled.').waitFor();
    assert.equal(await all.locator('[data-action=retry]').count(), 0);
  });

  it('says why it is a dead letter; what can be done stands in its row once', async () => {
    await alarm(editor, HURRIED, { cameraName: 'Gate 5' });
    const { row, all } = await opened(editor, 'Gate 5', 'dead');
    await all.getByText('delivered as often as allowed', { exact: false }).first().waitFor();
    assert.equal(await row.locator('[data-action=retry]').count(), 1);
  });

  it('opens by Enter and space, one at a time, and closes by Escape, which leaves the focus on its row', async () => {
    for (const cameraName of ['Door 1', 'Door 2']) await alarm(editor, PATIENT, { cameraName });
    const [first, second] = [rowOf(editor, 'events', 'Door 1'), rowOf(editor, 'events', 'Door 2')];
    await first.locator('.rvm-opener').press('Enter');
    await first.getByRole('region', { name: /Door 1/ }).waitFor();
    await second.locator('.rvm-opener').press('Space');
    await second.locator('.rvm-opened').waitFor();
    assert.equal(await editor.page.locator('.rvm-opened').count(), 1);
    assert.equal(await first.locator('.rvm-opener').getAttribute('aria-expanded'), 'false');
    await second.locator('[data-copies=alarm]').focus();
    await editor.page.keyboard.press('Escape');
    await editor.page.waitForSelector('.rvm-opened', { state: 'detached' });
    const text = await editor.page.evaluate<string>('document.activeElement.innerText');
    assert.match(text, /Door 2/);
    await editor.page.keyboard.press('Enter');
  });

  it('opens list events with what lists its alarm, on a tab of its own, once', async () => {
    await alarm(editor, PATIENT, { cameraName: 'Gate 7' });
    const { all } = await opened(editor, 'Gate 7');
    const button = all.locator('[data-action=list]');
    await button.click();
    await editor.page.waitForFunction(
      `RED.nodes.workspace(RED.workspaces.active()).label.startsWith('Alarm: ')`,
    );
    await button.click();
    const { tabs, nodes } = await editor.page.evaluate<{
      tabs: string[];
      nodes: { id: string; type: string; valid?: boolean }[];
    }>(`(() => {
      const tabs = [];
      RED.nodes.eachWorkspace(({ label }) => tabs.push(label));
      const nodes = RED.nodes.filterNodes({ z: RED.workspaces.active() });
      return { tabs, nodes: nodes.map(({ id, type, valid }) => ({ id, type, valid })) };
    })()`);
    assert.equal(tabs.filter((label) => label.startsWith('Alarm: ')).length, 1);
    assert.ok(nodes.every(({ valid }) => valid !== false));
    await editor.page.click('#red-ui-header-button-deploy');
    const id = nodes.find(({ type }) => type === 'inject')?.id ?? '';
    const press = async (): Promise<boolean> =>
      (await fetch(`${editor.nodeRed.url}/inject/${id}`, { method: 'POST' })).ok;
    await eventually(press, 'the deployed flow', 100);
    await editor.page.locator('.red-ui-debug-msg', { hasText: 'array[1]' }).waitFor({ state: 'attached' });
    await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
  });

  /** Of an event that has come in. @returns id of the tab that is shown then */
  async function openInListEvents(camera: string): Promise<string> {
    const { all } = await opened(editor, camera);
    // Until then its button may be put elsewhere.
    await all.getByText('The flow has it and has not settled it yet').waitFor();
    await all.locator('[data-action=list]').click();
    return editor.page.evaluate('RED.workspaces.active()');
  }

  it('says on that tab of which day its alarm is', async () => {
    await alarm(editor, PATIENT, { cameraName: 'Barrier 1' });
    const tab = await openInListEvents('Barrier 1');
    const [label, today] = await editor.page.evaluate<[string, string]>(
      `[RED.nodes.workspace(${JSON.stringify(tab)}).label, new Date().toLocaleDateString()]`,
    );
    assert.match(label, /^Alarm: .*Barrier 1/);
    assert.ok(label.endsWith(today), label);
  });

  it('finds that tab by its alarm: another may have the same label', async () => {
    await alarm(editor, PATIENT, { cameraName: 'Barrier 2' });
    const first = await openInListEvents('Barrier 2');
    await alarm(editor, PATIENT, { cameraName: 'Barrier 3' });
    const second = await openInListEvents('Barrier 3');
    assert.notEqual(first, second);
    await editor.page.evaluate(`(() => {
      const [first, second] = ${JSON.stringify([first, second])}.map((id) => RED.nodes.workspace(id));
      second.label = first.label;
    })()`);
    assert.deepEqual(
      [await openInListEvents('Barrier 2'), await openInListEvents('Barrier 3')],
      [first, second],
    );
  });
});
