import assert from 'node:assert/strict';
import { describeInEditor } from '../support/editor/in-editor';
import { alarm, opened, send, VideoService } from '../support/editor/sidebar';
import { PATH } from '../support/node-red/flows';
import type { FlowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

/** Milliseconds: all of the recording of such an event is there. */
const AN_HOUR = 3_600_000;

let service: VideoService;

async function videoFlow(): Promise<FlowNode[]> {
  service = await VideoService.start();
  return service.flow;
}

describeInEditor(
  'the picture and the clip of an event that is opened in the sidebar',
  { flow: videoFlow, programs: ['ffmpeg'], end: () => service.sandbox.close() },
  (editor) => {
    before(async () => {
      await editor.page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
      for (const { id, remoteId, name } of service.online)
        await alarm(editor, PATH, {
          cameraId: id,
          cameraRemoteId: remoteId,
          cameraName: name,
          eventStartTime: new Date(Date.now() - AN_HOUR).toISOString().slice(0, -1),
        });
      await editor.page.locator('.rvm-events .rvm-opener').nth(1).waitFor();
    });
    afterEach(async () => {
      await editor.page.locator('.rvm-opener[aria-expanded=true]').press('Escape');
      await eventually(async () => (await service.video()).sessions === 0, 'the end of the RTSP session');
    });

    const name = (index: 0 | 1): string => service.online[index].name;

    async function plays(): Promise<void> {
      const shown = `[...document.querySelectorAll('.rvm-opened video')].find((video) => !video.hidden)`;
      for (const seconds of [0.1, 0.6])
        await editor.page.waitForFunction(`${shown}?.currentTime > ${seconds} && ${shown}.videoWidth > 0`);
    }

    it('are as wide as the sidebar, and the clip plays', async () => {
      const { all } = await opened(editor, name(0));
      await plays();
      const picture = all.locator('.rvm-alarm-picture img');
      await picture.waitFor();
      const [image, place] = await Promise.all([picture.boundingBox(), all.boundingBox()]);
      assert.ok(image !== null && place !== null && image.width > place.width - 30);
      assert.match((await picture.getAttribute('alt')) ?? '', /^Picture of the alarm: /);
    });

    it('go on, with the focus where it is, while further events come', async () => {
      const { all } = await opened(editor, name(0));
      await plays();
      const { opened: sessions } = await service.video();
      await all.locator('.rvm-switch').focus();
      await send(editor, PATH, { cameraName: 'One more' });
      await editor.page.locator('.rvm-new', { hasText: '1' }).waitFor();
      assert.equal(
        await editor.page.evaluate(`document.activeElement.classList.contains('rvm-switch')`),
        true,
      );
      await plays();
      assert.equal((await service.video()).opened, sessions);
    });

    it('end when another row opens', async () => {
      await opened(editor, name(0));
      await plays();
      await opened(editor, name(1));
      await plays();
      await eventually(async () => (await service.video()).sessions === 1, 'the end of the first session');
    });

    it('fit a sidebar of 320 pixels, with all that is told of the event', async () => {
      const { all } = await opened(editor, name(0));
      await plays();
      await all.getByText('stored in the inbox').waitFor();
      const isCut = `(() => {
        const sidebar = $('.rvm-sidebar').css({ width: '320px' })[0];
        const isCut = sidebar.scrollWidth > sidebar.clientWidth;
        $(sidebar).css({ width: '' });
        return isCut;
      })()`;
      assert.equal(await editor.page.evaluate(isCut), false);
    });

    it('give way to what the camera sees now', async () => {
      const { all } = await opened(editor, name(0));
      await plays();
      await all.locator('.rvm-switch').click();
      await all.locator('.rvm-live-mark').waitFor();
    });
  },
);
