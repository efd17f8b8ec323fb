import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { loadEditor, speak } from '../support/editor/browser';
import { describeInEditor } from '../support/editor/in-editor';
import { alarm, opened, rowOf, showSidebar } from '../support/editor/sidebar';
import { PATH, PHRASE, webhookFlow, webhookIn } from '../support/node-red/flows';
import { entrance, inject, type FlowNode } from '../support/node-red/node-red';

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
  it('comes from the message, unless settle event says otherwise', async () => {
    await editor.open('settle');
    const usual = { verdict: 'verdict', verdictType: 'msg', note: 'note', noteType: 'msg' };
    const by = { by: 'by', byType: 'msg' };
    await editor.saves('settle', { ...usual, ...by });
    await editor.open('settle');
    await editor.type('#node-input-verdict', { type: 'str', value: 'false' });
    await editor.type('#node-input-note', { type: 'str', value: 'A cat' });
    const tray = editor.page.locator('.red-ui-tray').last();
    assert.match(await tray.innerText(), /What a person found[^]*false: a false alarm/);
    const own = { verdict: 'false', verdictType: 'str', note: 'A cat', noteType: 'str' };
    await editor.saves('settle', { ...own, ...by });
    await editor.open('settle');
    assert.equal(await editor.page.evaluate(`$('#node-input-verdict').typedInput('value')`), 'false');
  });

  it('is listed with the history of events or counted, not both, and counted best of all events', async () => {
    await editor.open('events');
    const history = editor.page.locator('#node-input-history');
    const tip = editor.page.getByText('Only the events chosen above are counted');
    assert.deepEqual([await history.isChecked(), await tip.isVisible()], [false, false]);
    await history.check();
    await editor.saves('events', { history: true, groupBy: '' });
    await editor.open('events');
    await editor.page.selectOption('#node-input-groupBy', 'site');
    assert.deepEqual([await history.isVisible(), await tip.isVisible()], [false, true]);
    await editor.page.selectOption('#node-input-state', 'all');
    assert.equal(await tip.isVisible(), false);
    await editor.saves('events', { history: true, groupBy: 'site' });
  });
});

describeInEditor('the history of an event in the sidebar, with users', { flow, secured: true }, (editor) => {
  before(async () => {
    await editor.page.setViewportSize({ width: 1366, height: 768 });
    await showSidebar(editor.page);
  });

  /** A step of an opened event. */
  const step = (all: Locator, hasText: RegExp): Locator =>
    all.getByRole('list', { name: 'History' }).getByRole('listitem').filter({ hasText });

  it('names the user who delivered a dead letter again', async () => {
    await alarm(editor, HURRIED, { cameraName: 'Gate 2' });
    const { webhook } = await editor.nodeRed.message('alarms');
    const { row, all } = await opened(editor, 'Gate 2', 'dead');
    await step(all, /dead letter[^]*delivered as often as allowed/).waitFor();
    await row.locator('[data-action="retry"]').click();
    const again = await opened(editor, 'Gate 2');
    await step(again.all, /sent out again\s*by: admin/).waitFor();
    await inject(editor.nodeRed, 'answer', { payload: {}, webhook });
    await step(again.all, /settled\s*by: to the PLC/).waitFor();
  });

  it('names the user who discarded it', async () => {
    await alarm(editor, HURRIED, { cameraName: 'Gate 3' });
    await rowOf(editor, 'dead', 'Gate 3').locator('[data-action="discard"]').click();
    const { all } = await opened(editor, 'Gate 3');
    await step(all, /discarded\s*by: admin/).waitFor();
  });

  it('speaks the language of the browser', async () => {
    await alarm(editor, PATH, { cameraName: 'Gate 1' });
    const { webhook } = await editor.nodeRed.message('alarms', (msg) =>
      JSON.stringify(msg).includes('Gate 1'),
    );
    await inject(editor.nodeRed, 'answer', { verdict: 'false', by: 'Night desk', webhook });
    await speak(editor.page, 'de-DE');
    await loadEditor(editor.page, editor.nodeRed, '/admin');
    await showSidebar(editor.page);
    const { all } = await opened(editor, 'Gate 1');
    const german = all.getByRole('list', { name: 'Verlauf' });
    await german.getByText('bewertet Fehlalarm').waitFor();
    const text = await german.innerText();
    assert.match(
      text,
      /empfangen\nvon .*127\.0\.0\.1\nauthentisch\nsigniert[^]*abgeschlossen[^]*bewertet Fehlalarm\ndurch: Night desk/,
    );
    assert.doesNotMatch(text, /rvm-sidebar|fact\.|step\./, 'a text is missing from the catalogue');
  });
});
