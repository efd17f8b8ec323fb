import assert from 'node:assert/strict';
import { loadEditor, openDialog, speak } from '../support/editor/browser';
import { webhookFlow } from '../support/node-red/flows';
import { describeInEditor } from '../support/editor/in-editor';
import type { FlowNode } from '../support/node-red/node-red';

type Words = [language: string, inDialog: RegExp, inHelp: RegExp, ofPlayer: string];

/**
 * What the dialog of get RTSP calls the quality of the video, a word of its help, and what the player in the sidebar calls its way
 * to the live video, by the language of the browser.
 */
const WORDS: Words[] = [
  ['de-DE', /Qualität/, /Sekunden/, 'Live ansehen'],
  ['fr-FR', /Qualité/, /secondes/, 'Voir en direct'],
  ['es-MX', /Calidad/, /segundos/, 'Ver en directo'],
  ['ja', /画質|品質/, /カメラ/, 'ライブを見る'],
  ['zh-CN', /画质|质量|清晰度/, /摄像机/, '查看实时'],
];
const SHOW_LIVE = `RED._('@rvm/node-red-remote-monitoring/rvm-sidebar:view.player.showLive')`;

function flow(): FlowNode[] {
  return webhookFlow({}, { id: 'rtsp', type: 'rvm-get-rtsp', z: 'tab', x: 300, y: 100, wires: [[], []] });
}

describeInEditor('dialogs and help', { flow }, (editor) => {
  for (const [language, inDialog, inHelp, ofPlayer] of WORDS) {
    it(`speak the language of the browser, ${language}`, async () => {
      const { page } = editor;
      await speak(page, language);
      await loadEditor(page, editor.nodeRed);
      await openDialog(page, 'rtsp');
      const dialog = await page.locator('.red-ui-tray').last().innerText();
      assert.match(dialog, inDialog);
      assert.doesNotMatch(dialog, /rvm-[a-z-]+\.|shared\./, 'a text is missing from the catalogue');
      assert.match(String(await page.evaluate(`RED.nodes.getNodeHelp('rvm-get-rtsp')`)), inHelp);
      assert.equal(await page.evaluate(SHOW_LIVE), ofPlayer);
      await page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
      assert.doesNotMatch(await page.locator('.rvm-sidebar').innerText(), /Dead letters|rvm-sidebar\./);
    });
  }
});
