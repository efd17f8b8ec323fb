import assert from 'node:assert/strict';
import { describeInEditor, withSandbox } from '../../support/editor/in-editor';
import { caller } from '../../support/node-red/station-flow';

const TYPES = { picture: 'rvm-get-picture', clip: 'rvm-get-clip', view: 'rvm-view', rtsp: 'rvm-get-rtsp' };
const CAMERA = '#node-input-camera + .red-ui-typedInput-container';
const TIME = '#node-input-time + .red-ui-typedInput-container';
const MODES = ['event', 'recorded', 'live'];
const OF_RECORDING = ['event', 'recorded'];
const AT_A_CAMERA = { [CAMERA]: ['recorded', 'live'], [TIME]: ['recorded'] };
const WAITS = { '#node-input-waitForVideo': OF_RECORDING };

/** By dialog, the fields that not every mode has a use for, and the modes that have. */
const FIELDS: Record<keyof typeof TYPES, Record<string, readonly string[]>> = {
  picture: { ...AT_A_CAMERA, ...WAITS, '#node-input-offsets': MODES },
  clip: {
    ...AT_A_CAMERA,
    ...WAITS,
    '#node-input-preRoll': OF_RECORDING,
    '#node-input-seconds': MODES,
    '#node-input-untilEnd': ['event'],
  },
  view: { ...AT_A_CAMERA, ...WAITS, '#node-input-minutes': MODES, '#node-input-live': OF_RECORDING },
  rtsp: { ...AT_A_CAMERA, '#node-input-preRoll': OF_RECORDING },
};

const nodes = Object.entries(TYPES).map(([id, type]) => caller(type, { id, wires: [[], []] }));

describeInEditor('the dialogs of nodes that ask for video', withSandbox({}, ...nodes), (editor) => {
  const { assign, marked, type, visible } = editor;
  const choose = (mode: string) => editor.page.selectOption('#node-input-mode', mode);

  for (const [id, fields] of Object.entries(FIELDS)) {
    it(`of ${id} show each field in the modes that have a use for it, and in no other`, async () => {
      await editor.open(id);
      for (const mode of MODES) {
        await choose(mode);
        const expected = Object.values(fields).map((modes) => modes.includes(mode));
        assert.deepEqual(await visible(...Object.keys(fields)), expected, mode);
      }
    });

    it(`of ${id} mark a time that is missing or cannot be read, in the mode that needs one`, async () => {
      await editor.open(id);
      assert.equal(await editor.page.locator(`${TIME}.input-error`).count(), 0);
      await choose('recorded');
      await marked(TIME);
      for (const time of ['2026-03-04T05:06:07Z', '1772600767000', '${TIME}']) {
        await type('#node-input-time', { value: time });
        await marked(TIME, false);
        await type('#node-input-time', { value: 'yesterday' });
        await marked(TIME);
      }
      await type('#node-input-time', { type: 'msg' });
      await marked(TIME, false);
    });

    it(`of ${id} offer the cameras of the station, keep the chosen one, and put the list away with the mode`, async () => {
      const items = editor.page.locator('.rvm-picker:not([hidden]) .rvm-picker-item');
      await editor.open(id);
      await choose('live');
      await editor.page.click('.rvm-pick');
      const camera = await items.locator('code').first().innerText();
      await choose('event');
      await editor.page.waitForSelector('.rvm-picker', { state: 'hidden' });
      await choose('live');
      assert.deepEqual(await visible('.rvm-picker'), [false]);
      await editor.page.click('.rvm-pick');
      await items.first().click();
      await editor.saves(id, { mode: 'live', camera, cameraType: 'str' });
      await assign(id, { mode: 'event', camera: 'event.cameraId', cameraType: 'msg' });
    });
  }

  it('of get picture mark a picture before now where the video is live, and take it where it is recorded', async () => {
    await editor.open('picture');
    await editor.page.fill('#node-input-offsets', '-3, 0, 3');
    for (const mode of ['live', 'event', 'recorded']) {
      await choose(mode);
      await marked('#node-input-offsets', mode === 'live');
    }
  });

  it('of get clip ask for the longest clip only where it goes on to the end of an alarm', async () => {
    await editor.open('clip');
    assert.deepEqual(await visible('#node-input-maxSeconds'), [false]);
    await editor.page.check('#node-input-untilEnd');
    assert.deepEqual(await visible('#node-input-maxSeconds'), [true]);
    await choose('live');
    assert.deepEqual(await visible('#node-input-maxSeconds'), [false]);
  });

  it('of get clip ask how long files are kept only where there is a folder for them', async () => {
    await editor.open('clip');
    for (const folder of ['', '/data/clips', '']) {
      await editor.page.fill('#node-input-folder', folder);
      assert.deepEqual(await visible('#node-input-keepDays'), [folder !== '']);
    }
  });

  for (const id of Object.keys(TYPES))
    it(`of ${id} are whole on a small screen, in each mode and with all that may be asked for`, async () => {
      await editor.page.setViewportSize({ width: 1366, height: 768 });
      await editor.open(id);
      if (id === 'clip') {
        await editor.page.check('#node-input-untilEnd');
        await editor.page.fill('#node-input-folder', '/data/clips');
      }
      for (const mode of MODES) {
        await choose(mode);
        assert.equal(await editor.page.evaluate(ROOM_BELOW), true, mode);
      }
      await editor.page.setViewportSize({ width: 1400, height: 900 });
    });
});

/** Runs in the page: whether all fields of the dialog are in sight without scrolling. */
const ROOM_BELOW = `(() => {
  const body = document.querySelector('.red-ui-tray:last-child .red-ui-tray-body');
  const rows = [...body.querySelectorAll('.rvm-form > *')].filter((row) => row.offsetHeight > 0);
  return rows.at(-1).getBoundingClientRect().bottom <= body.getBoundingClientRect().bottom;
})()`;
