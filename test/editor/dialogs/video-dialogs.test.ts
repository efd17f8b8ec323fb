import assert from 'node:assert/strict';
import { Sandbox } from '../../../sandbox';
import { closeDialog, openDialog } from '../../support/editor/browser';
import { describeInEditor } from '../../support/editor/in-editor';
import { cloud, station } from '../../support/node-red/flows';
import { watched, type FlowNode } from '../../support/node-red/node-red';
import { caller } from '../../support/node-red/station-flow';

const TYPES = {
  picture: 'rvm-get-picture',
  clip: 'rvm-get-clip',
  view: 'rvm-view',
  rtsp: 'rvm-get-rtsp',
};
const CAMERA = '#node-input-camera + .red-ui-typedInput-container';
const TIME = '#node-input-time + .red-ui-typedInput-container';
const MODES = ['event', 'recorded', 'live'] as const;

/** By dialog, the fields that not every mode has a use for, and the modes that have. */
const FIELDS: Record<keyof typeof TYPES, Record<string, readonly string[]>> = {
  picture: {
    [CAMERA]: ['recorded', 'live'],
    [TIME]: ['recorded'],
    '#node-input-offsets': MODES,
    '#node-input-waitForVideo': ['event', 'recorded'],
  },
  clip: {
    [CAMERA]: ['recorded', 'live'],
    [TIME]: ['recorded'],
    '#node-input-preRoll': ['event', 'recorded'],
    '#node-input-seconds': MODES,
    '#node-input-untilEnd': ['event'],
    '#node-input-waitForVideo': ['event', 'recorded'],
  },
  view: {
    [CAMERA]: ['recorded', 'live'],
    [TIME]: ['recorded'],
    '#node-input-minutes': MODES,
    '#node-input-live': ['event', 'recorded'],
    '#node-input-waitForVideo': ['event', 'recorded'],
  },
  rtsp: {
    [CAMERA]: ['recorded', 'live'],
    [TIME]: ['recorded'],
    '#node-input-preRoll': ['event', 'recorded'],
  },
};

let sandbox: Sandbox;

async function flow(): Promise<FlowNode[]> {
  sandbox = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0 });
  const credentials = sandbox.setStation('north', { scheme: 'http' });
  return watched(
    cloud({ url: sandbox.url, credentials: { apiKey: sandbox.apiKey } }),
    station({ credentials }),
    ...Object.entries(TYPES).map(([id, type]) => caller(type, { id, wires: [[], []] })),
  );
}

describeInEditor(
  'the dialogs of nodes that ask for video',
  { flow, end: () => sandbox.close() },
  (editor) => {
    const visible = (selector: string): Promise<boolean> => editor.page.locator(selector).isVisible();

    for (const [id, fields] of Object.entries(FIELDS)) {
      it(`of ${id} show each field in the modes that have a use for it, and in no other`, async () => {
        await openDialog(editor.page, id);
        for (const mode of MODES) {
          await editor.page.selectOption('#node-input-mode', mode);
          for (const [field, modes] of Object.entries(fields))
            assert.equal(await visible(field), modes.includes(mode), `${field} in ${mode}`);
        }
      });

      it(`of ${id} mark a time that is missing or cannot be read, in the mode that needs one`, async () => {
        await openDialog(editor.page, id);
        assert.equal(await editor.page.locator(`${TIME}.input-error`).count(), 0);
        await editor.page.selectOption('#node-input-mode', 'recorded');
        await editor.page.waitForSelector(`${TIME}.input-error`);
        for (const time of ['2026-03-04T05:06:07Z', '1772600767000', '${TIME}']) {
          await editor.page.evaluate(`$('#node-input-time').typedInput('value', ${JSON.stringify(time)})`);
          await editor.page.waitForSelector(`${TIME}:not(.input-error)`);
          await editor.page.evaluate(`$('#node-input-time').typedInput('value', 'yesterday')`);
          await editor.page.waitForSelector(`${TIME}.input-error`);
        }
        await editor.page.evaluate(`$('#node-input-time').typedInput('type', 'msg')`);
        await editor.page.waitForSelector(`${TIME}:not(.input-error)`);
      });

      it(`of ${id} offer the cameras of the station, keep the chosen one, and put the list away with the mode`, async () => {
        const items = '.rvm-picker:not([hidden]) .rvm-picker-item';
        await openDialog(editor.page, id);
        await editor.page.selectOption('#node-input-mode', 'live');
        await editor.page.click('.rvm-pick');
        const camera = await editor.page.locator(`${items} code`).first().innerText();
        await editor.page.selectOption('#node-input-mode', 'event');
        await editor.page.waitForSelector('.rvm-picker', { state: 'hidden' });
        await editor.page.selectOption('#node-input-mode', 'live');
        assert.equal(await visible('.rvm-picker'), false);
        await editor.page.click('.rvm-pick');
        await editor.page.locator(items).first().click();
        await closeDialog(editor.page, 'ok');
        assert.deepEqual(
          await editor.page.evaluate(
            `(({ mode, camera, cameraType }) => [mode, camera, cameraType])(RED.nodes.node(${JSON.stringify(id)}))`,
          ),
          ['live', camera, 'str'],
        );
        const asItCame = { mode: 'event', camera: 'event.cameraId', cameraType: 'msg' };
        await editor.page.evaluate(
          `Object.assign(RED.nodes.node(${JSON.stringify(id)}), ${JSON.stringify(asItCame)})`,
        );
      });
    }

    it('of get picture mark a picture before now where the video is live, and take it where it is recorded', async () => {
      const offsets = '#node-input-offsets';
      await openDialog(editor.page, 'picture');
      await editor.page.fill(offsets, '-3, 0, 3');
      for (const [mode, mark] of [
        ['live', '.input-error'],
        ['event', ':not(.input-error)'],
        ['recorded', ':not(.input-error)'],
      ] as const) {
        await editor.page.selectOption('#node-input-mode', mode);
        await editor.page.waitForSelector(`${offsets}${mark}`);
      }
    });

    it('of get clip ask for the longest clip only where it goes on to the end of an alarm', async () => {
      await openDialog(editor.page, 'clip');
      assert.equal(await visible('#node-input-maxSeconds'), false);
      await editor.page.check('#node-input-untilEnd');
      assert.equal(await visible('#node-input-maxSeconds'), true);
      await editor.page.selectOption('#node-input-mode', 'live');
      assert.equal(await visible('#node-input-maxSeconds'), false);
    });

    it('of get clip ask how long files are kept only where there is a folder for them', async () => {
      await openDialog(editor.page, 'clip');
      assert.equal(await visible('#node-input-keepDays'), false);
      await editor.page.fill('#node-input-folder', '/data/clips');
      assert.equal(await visible('#node-input-keepDays'), true);
      await editor.page.fill('#node-input-folder', '');
      assert.equal(await visible('#node-input-keepDays'), false);
    });

    it('are whole on a small screen, in each mode and with all that may be asked for', async () => {
      const size = editor.page.viewportSize();
      await editor.page.setViewportSize({ width: 1366, height: 768 });
      for (const id of Object.keys(TYPES)) {
        await openDialog(editor.page, id);
        if (id === 'clip') {
          await editor.page.check('#node-input-untilEnd');
          await editor.page.fill('#node-input-folder', '/data/clips');
        }
        for (const mode of MODES) {
          await editor.page.selectOption('#node-input-mode', mode);
          assert.equal(await editor.page.evaluate(ROOM_BELOW), true, `${id} in ${mode}`);
        }
        await closeDialog(editor.page, 'cancel');
      }
      if (size !== null) await editor.page.setViewportSize(size);
    });
  },
);

/** Runs in the page: whether all fields of the dialog are in sight without scrolling. */
const ROOM_BELOW = `(() => {
  const body = document.querySelector('.red-ui-tray:last-child .red-ui-tray-body');
  const rows = [...body.querySelectorAll('.rvm-form > *')].filter((row) => row.offsetHeight > 0);
  return rows.at(-1).getBoundingClientRect().bottom <= body.getBoundingClientRect().bottom;
})()`;
