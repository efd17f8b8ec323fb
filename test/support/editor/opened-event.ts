import assert from 'node:assert/strict';
import type { Locator } from 'playwright-core';
import { PHRASE } from '../node-red/flows';
import { alarmMessage, post } from '../webhook/alarm-message';
import type { EditorOfTests } from './in-editor';
import { leaveRows } from './sidebar';

/** An event that comes in; unless it is said, of no camera: then there is no video to ask for. */
export async function send({ nodeRed }: EditorOfTests, path: string, facts: Record<string, unknown>) {
  const message = alarmMessage({ cameraId: undefined, cameraRemoteId: undefined, ...facts });
  assert.equal((await post(`${nodeRed.url}${path}`, message, PHRASE)).status, 200);
  return message;
}

/** One that shows at once, for nobody is at the rows. */
export async function alarm(editor: EditorOfTests, path: string, facts: Record<string, unknown>) {
  await leaveRows(editor.page);
  return send(editor, path, facts);
}

export function rowOf({ page }: EditorOfTests, list: 'events' | 'dead', camera: string): Locator {
  return page.locator(`.rvm-${list} .rvm-row`, { hasText: camera });
}

/** A row of its event, opened. */
export async function opened(editor: EditorOfTests, camera: string, list: 'events' | 'dead' = 'events') {
  const row = rowOf(editor, list, camera);
  const opener = row.locator('.rvm-opener').first();
  await opener.waitFor();
  if ((await opener.getAttribute('aria-expanded')) === 'false') await opener.click();
  return { row, opener, all: row.locator('.rvm-opened') };
}
