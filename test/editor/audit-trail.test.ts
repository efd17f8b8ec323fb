import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { closeDialog, loadEditor, openDialog, speak } from '../support/editor/browser';
import { describeInEditor, type EditorOfTests } from '../support/editor/in-editor';
import { leaveRows, showSidebar } from '../support/editor/sidebar';
import { PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { entrance, inject, type FlowNode } from '../support/node-red/node-red';
import { alarmMessage, post } from '../support/webhook/alarm-message';

const ROOT = '/admin';
const REMARK = `A cat on the fence, seen on the recording. ${'no-space'.repeat(40)}`;

/** Whose events have one attempt of a second. */
const HURRIED = '/remote-monitoring/hurried';

function flow(): FlowNode[] {
  const settle = { id: 'settle', type: 'rvm-settle', name: 'to the PLC', z: 'tab', x: 300, y: 400 };
  const list = { id: 'events', type: 'rvm-list-events', z: 'tab', x: 300, y: 500 };
  const others = [settle, list].map((node) => ({ ...node, wires: [[], []] }));
  const patient = { handledWhen: 'settled', redeliverAfter: 600 };
  const hurried = { id: 'hurried', path: HURRIED, handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 };
  const changes = { webhook: patient, station: { credentials: { secret: PHRASE } } };
  return webhookFlow(changes, webhookIn(hurried), ...others, ...entrance('answer', 'settle'));
}

describeInEditor('what a person finds, in the dialogs', { flow }, (editor) => {
  const valuesOf = (id: string, names: readonly string[]): Promise<unknown> =>
    editor.page.evaluate(`(() => {
      const node = RED.nodes.node('${id}');
      return ${JSON.stringify(names)}.map((name) => node[name]);
    })()`);

  it('comes from the message, unless settle event says otherwise', async () => {
    const names = ['verdict', 'verdictType', 'note', 'noteType', 'by', 'byType'];
    await openDialog(editor.page, 'settle');
    await closeDialog(editor.page, 'ok');
    assert.deepEqual(await valuesOf('settle', names), ['verdict', 'msg', 'note', 'msg', 'by', 'msg']);
    await openDialog(editor.page, 'settle');
    await editor.page.evaluate(
      `$('#node-input-verdict').typedInput('type', 'str').typedInput('value', 'false')`,
    );
    await editor.page.evaluate(
      `$('#node-input-note').typedInput('type', 'str').typedInput('value', 'A cat')`,
    );
    const tray = editor.page.locator('.red-ui-tray').last();
    assert.match(await tray.innerText(), /What a person found[^]*false: a false alarm/);
    await closeDialog(editor.page, 'ok');
    assert.deepEqual(await valuesOf('settle', names), ['false', 'str', 'A cat', 'str', 'by', 'msg']);
    await openDialog(editor.page, 'settle');
    assert.equal(await editor.page.evaluate(`$('#node-input-verdict').typedInput('value')`), 'false');
  });

  it('is listed with the history of events or counted, not both, and counted best of all events', async () => {
    await openDialog(editor.page, 'events');
    const history = editor.page.locator('#node-input-history');
    const tip = editor.page.getByText('Only the events chosen above are counted');
    assert.deepEqual([await history.isChecked(), await tip.isVisible()], [false, false]);
    await history.check();
    await closeDialog(editor.page, 'ok');
    assert.deepEqual(await valuesOf('events', ['history', 'groupBy']), [true, '']);
    await openDialog(editor.page, 'events');
    await editor.page.selectOption('#node-input-groupBy', 'site');
    assert.deepEqual([await history.isVisible(), await tip.isVisible()], [false, true]);
    await editor.page.selectOption('#node-input-state', 'all');
    assert.equal(await tip.isVisible(), false);
    await closeDialog(editor.page, 'ok');
    assert.deepEqual(await valuesOf('events', ['history', 'groupBy']), [true, 'site']);
  });
});

describeInEditor('the history of an event in the sidebar', { flow, secured: true }, (editor) => {
  const rowOf = (list: string, camera: string): Locator =>
    editor.page.locator(`.rvm-${list} .rvm-row`, { hasText: camera });

  const steps = (row: Locator): Locator => row.getByRole('list', { name: 'History' }).getByRole('listitem');

  before(async () => {
    await editor.page.setViewportSize({ width: 1366, height: 768 });
    await showSidebar(editor.page);
  });

  it('opens with the keyboard, and tells from where it came and which node settled it', async () => {
    const deliveryId = await alarm(editor, 'Gate 1', PATH);
    await inject(editor.nodeRed, 'answer', { payload: {}, webhook: { deliveryId } });
    const row = rowOf('events', 'Gate 1');
    await row.filter({ hasText: 'delivered' }).locator('.rvm-opener').focus();
    await editor.page.keyboard.press('Enter');
    await steps(row).filter({ hasText: 'settled' }).waitFor();
    const [received, proven, stored, delivered, settled] = await steps(row).allInnerTexts();
    assert.match(received ?? '', /received\n.*127\.0\.0\.1$/);
    assert.deepEqual([proven, stored], ['proven\nsigned · with the current phrase', 'stored in the inbox']);
    assert.match(delivered ?? '', /handed to the flow/);
    assert.match(settled ?? '', /settled\nby: to the PLC$/);
  });

  it('grows while it is open, by what a person finds, whose long remark is wrapped in a narrow sidebar', async () => {
    const row = rowOf('events', 'Gate 1');
    const [{ deliveryId } = { deliveryId: '' }] = deliveries(editor);
    const finding = { verdict: 'false', note: REMARK, by: 'Night desk' };
    await inject(editor.nodeRed, 'answer', { ...finding, webhook: { deliveryId } });
    await steps(row).filter({ hasText: 'false alarm' }).waitFor();
    const text = await steps(row).last().innerText();
    assert.match(text, /judged false alarm\nby: Night desk\n/);
    assert.ok(text.includes('A cat on the fence'));
    const state = row.locator('.rvm-quiet').first();
    await state.filter({ hasText: /delivered · signed · false alarm$/ }).waitFor();
    const isCut = `(() => {
      const sidebar = $('.rvm-sidebar').css({ width: '180px' })[0];
      const isCut = sidebar.scrollWidth > sidebar.clientWidth;
      $(sidebar).css({ width: '' });
      return isCut;
    })()`;
    assert.equal(await editor.page.evaluate(isCut), false);
  });

  it('of a dead letter that is delivered again names the user who did that', async () => {
    const deliveryId = await alarm(editor, 'Gate 2', HURRIED);
    await rowOf('dead', 'Gate 2').locator('.rvm-opener').click();
    await steps(rowOf('dead', 'Gate 2')).filter({ hasText: 'dead letter' }).waitFor();
    assert.match(
      await steps(rowOf('dead', 'Gate 2')).last().innerText(),
      /dead letter\n.*delivered as often as allowed/,
    );
    await rowOf('dead', 'Gate 2').locator('[data-action="retry"]').click();
    await rowOf('events', 'Gate 2').locator('.rvm-opener').click();
    const events = steps(rowOf('events', 'Gate 2'));
    await events.filter({ hasText: /sent out again\s*by: admin/ }).waitFor();
    await inject(editor.nodeRed, 'answer', { payload: {}, webhook: { deliveryId } });
    await events.filter({ hasText: /settled\s*by: to the PLC/ }).waitFor();
  });

  it('names the user who discarded it', async () => {
    await alarm(editor, 'Gate 3', HURRIED);
    await rowOf('dead', 'Gate 3').locator('[data-action="discard"]').click();
    await rowOf('events', 'Gate 3').locator('.rvm-opener').click();
    await steps(rowOf('events', 'Gate 3'))
      .filter({ hasText: /discarded\s*by: admin/ })
      .waitFor();
  });

  it('speaks the language of the browser', async () => {
    await speak(editor.page, 'de-DE');
    await loadEditor(editor.page, editor.nodeRed, ROOT);
    await showSidebar(editor.page);
    const row = rowOf('events', 'Gate 1');
    await row.locator('.rvm-opener').click();
    const german = row.getByRole('list', { name: 'Verlauf' });
    await german.getByText('abgeschlossen').waitFor();
    const text = await german.innerText();
    assert.match(
      text,
      /empfangen\nvon .*127\.0\.0\.1\nauthentisch\nsigniert[^]*bewertet Fehlalarm\ndurch: Night desk/,
    );
    assert.doesNotMatch(text, /rvm-sidebar|fact\.|step\./, 'a text is missing from the catalogue');
  });
});

function deliveries({ nodeRed }: EditorOfTests): { deliveryId: string }[] {
  return nodeRed.at('alarms').map(({ webhook }) => webhook as { deliveryId: string });
}

/** @returns its delivery id, once the flow has it */
async function alarm(editor: EditorOfTests, cameraName: string, path: string): Promise<string> {
  const { nodeRed, page } = editor;
  await leaveRows(page);
  const known = deliveries(editor).length;
  assert.equal(
    (
      await post(
        `${nodeRed.url}${path}`,
        alarmMessage({ cameraName, cameraId: undefined, cameraRemoteId: undefined }),
        PHRASE,
      )
    ).status,
    200,
  );
  await nodeRed.until(() => deliveries(editor).length > known, 'the event');
  return deliveries(editor)[known]?.deliveryId ?? '';
}
