import assert from 'node:assert/strict';
import { loadEditor, speak } from '../support/editor/browser';
import { describeInEditor, type EditorOfTests } from '../support/editor/in-editor';
import { GROUPS, IN_PALETTE } from '../support/editor/example-canvas';
import { webhookFlow } from '../support/node-red/flows';
import { flowNode } from '../support/node-red/node-red';
import { eventually } from '../support/time/patience';

const { receiving, asking, video } = GROUPS;
const OF_ALARMS = ['get-picture', 'get-clip', 'view', 'get-rtsp'];

/** What a user may call it, and the nodes that have to do with it. */
const NODES_OF = {
  alarm: [...receiving.types, ...OF_ALARMS],
  camera: [...asking.types.filter((type) => type !== 'request'), ...video.types],
  video: OF_ALARMS,
  picture: ['get-picture', 'snapshot'],
  clip: ['get-clip', 'view'],
  cctv: IN_PALETTE,
  webhook: ['webhook-in', 'verify'],
  monitoring: IN_PALETTE,
};
type Word = keyof typeof NODES_OF;

interface Language {
  category: string;
  /** Of the quality of the video in the dialog of get RTSP, of its help, and of the way to live video in the sidebar. */
  texts: { dialog: RegExp; help: RegExp; player: string };
  words: Partial<Record<Word, string[]>>;
}

/** The same words where users speak otherwise, and what the category and other things are called there. */
const LANGUAGES: Record<string, Language> = {
  'de-DE': {
    category: 'Fernüberwachung',
    texts: { dialog: /Qualität/, help: /Sekunden/, player: 'Live ansehen' },
    words: { alarm: ['Alarm'], camera: ['Kamera'], picture: ['Bild'], monitoring: ['Überwachung'] },
  },
  'fr-FR': {
    category: 'télésurveillance',
    texts: { dialog: /Qualité/, help: /secondes/, player: 'Voir en direct' },
    words: { alarm: ['alarme'], camera: ['caméra'], video: ['vidéo'], picture: ['image'] },
  },
  'es-MX': {
    category: 'monitorización remota',
    texts: { dialog: /Calidad/, help: /segundos/, player: 'Ver en directo' },
    words: {
      alarm: ['alarma'],
      camera: ['cámara', 'camara'],
      video: ['vídeo'],
      picture: ['imagen', 'foto'],
      monitoring: ['monitorización'],
    },
  },
  ja: {
    category: '遠隔監視',
    texts: { dialog: /画質|品質/, help: /カメラ/, player: 'ライブを見る' },
    words: {
      alarm: ['警報', 'アラーム'],
      camera: ['カメラ'],
      video: ['映像', '動画'],
      picture: ['画像', '写真'],
      clip: ['クリップ'],
      monitoring: ['監視'],
    },
  },
  'zh-CN': {
    category: '远程监控',
    texts: { dialog: /画质|质量|清晰度/, help: /摄像机/, player: '查看实时' },
    words: {
      alarm: ['报警', '告警'],
      camera: ['摄像机', '摄像头'],
      video: ['视频', '录像'],
      picture: ['图片', '照片'],
      clip: ['片段'],
      monitoring: ['监控'],
    },
  },
};

/** Runs in the page: the nodes of the package that the palette shows, as it orders them. */
const SHOWN = `$('.red-ui-palette-node[data-palette-type^=rvm-]').get()
  .filter((node) => $(node).css('display') !== 'none').map((node) => node.dataset.paletteType.slice(4))`;
const SHOW_LIVE = `RED._('@rvm/node-red-remote-monitoring/rvm-sidebar:view.player.showLive')`;
const CATEGORY = `$('[data-palette-type=rvm-ptz]').closest('.red-ui-palette-category')`;

/** Types a word into the filter of the palette, and waits until it shows these nodes and no others of the package. */
async function finds({ page }: EditorOfTests, word: string, types: readonly string[]): Promise<void> {
  const filter = page.locator('#red-ui-palette-search input');
  await filter.fill(word);
  // The editor heeds keys alone, and some of these letters are on none.
  await filter.press('End');
  const wanted = IN_PALETTE.filter((type) => types.includes(type));
  let shown: unknown;
  await eventually(
    async () => {
      shown = await page.evaluate(SHOWN);
      return JSON.stringify(shown) === JSON.stringify(wanted);
    },
    `"${word}" to find ${wanted.join(' ')}`,
    50,
  ).catch((error: unknown) => assert.deepEqual(shown, wanted, String(error)));
}

const rtsp = flowNode('rtsp', 'rvm-get-rtsp', [[], []], { x: 300, y: 100 });

describeInEditor('the palette', { flow: () => webhookFlow({}, rtsp) }, (editor) => {
  // First of all: the filter makes the categories slide, for a while.
  it('says what the colours mean where the pointer rests on the category', async () => {
    await editor.page.locator('.red-ui-palette-header', { hasText: 'remote monitoring' }).hover();
    await editor.page.waitForSelector('.red-ui-popover:has-text("Orange receives alarms")');
    await editor.page.mouse.move(0, 0);
  });

  for (const [word, types] of Object.entries(NODES_OF)) {
    it(`finds what has to do with "${word}"`, async () => {
      await finds(editor, word, types);
    });
  }

  it('shows what receives first, then what asks, then video, each in its colour', async () => {
    await finds(editor, '', IN_PALETTE);
    const colors = (await editor.page.evaluate(
      `$('.red-ui-palette-node[data-palette-type^=rvm-]').get().map((node) => $(node).css('background-color'))`,
    )) as string[];
    const expected = Object.values(GROUPS).flatMap(({ color, types }) => types.map(() => rgb(color)));
    assert.deepEqual(colors, expected);
  });

  for (const [language, { category, texts, words }] of Object.entries(LANGUAGES))
    describe(`in the language of the browser, ${language}`, () => {
      before(async () => {
        await speak(editor.page, language);
        await loadEditor(editor.page, editor.nodeRed);
      });

      it('finds nodes by its words as well as by those of English', async () => {
        const header = `${CATEGORY}.find('.red-ui-palette-header').text()`;
        assert.equal(await editor.page.evaluate(header), category);
        for (const [word, own] of Object.entries(words))
          for (const each of own) await finds(editor, each, NODES_OF[word as Word]);
        await finds(editor, 'camera', NODES_OF.camera);
        await finds(editor, 'cctv', NODES_OF.cctv);
      });

      it('has dialogs, help and a sidebar that speak it, too', async () => {
        const { page } = editor;
        await editor.open('rtsp');
        const dialog = await page.locator('.red-ui-tray').last().innerText();
        assert.match(dialog, texts.dialog);
        assert.doesNotMatch(dialog, /rvm-[a-z-]+\.|shared\./, 'a text is missing from the catalogue');
        assert.match(String(await page.evaluate(`RED.nodes.getNodeHelp('rvm-get-rtsp')`)), texts.help);
        assert.equal(await page.evaluate(SHOW_LIVE), texts.player);
        await page.evaluate(`RED.sidebar.show('rvm-sidebar')`);
        assert.doesNotMatch(await page.locator('.rvm-sidebar').innerText(), /Dead letters|rvm-sidebar\./);
      });
    });
});

function rgb(color: string): string {
  const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return `rgb(${parts.join(', ')})`;
}
