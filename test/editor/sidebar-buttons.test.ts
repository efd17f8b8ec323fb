import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { introduction, sidebarPlaces } from '../../scripts/start';
import { describeInEditor } from '../support/editor/in-editor';
import { webhookFlow } from '../support/node-red/flows';
import { ROOT, VERSIONS } from '../support/node-red/node-red';

type Place = 'top' | 'bottom' | 'menu';

/** Where things are that have this icon and are to be seen in the right half of the page. */
const placesOf = (icon: string): string => `[...document.querySelectorAll('a i.${icon}, button i.${icon}')]
  .map((element) => element.getBoundingClientRect())
  .filter(({ width, left }) => width > 0 && left > innerWidth / 2)
  .map(({ top }) => (top < innerHeight * 0.3 ? 'top' : top > innerHeight * 0.7 ? 'bottom' : 'between'))`;

describeInEditor(
  'the text of npm start says where the editor has',
  { flow: () => webhookFlow() },
  (editor) => {
    const version = (): string => {
      const file = path.join(ROOT, 'node_modules', VERSIONS[editor.version], 'package.json');
      return (JSON.parse(fs.readFileSync(file, 'utf8')) as { version: string }).version;
    };

    /** As the text has it. */
    function told(words: string): Place {
      assert.ok(introduction('1880', version()).includes(words), words);
      if (words.includes('menu')) return 'menu';
      return words.includes('top') ? 'top' : 'bottom';
    }

    async function placeOf(icon: string): Promise<Place> {
      const [place, ...others] = (await editor.page.evaluate(placesOf(icon))) as Place[];
      assert.deepEqual(
        others.filter((other) => other !== place),
        [],
      );
      return place ?? 'menu';
    }

    it('the debug sidebar', async () => {
      assert.equal(await placeOf('fa-bug'), told(sidebarPlaces(version()).beetle));
    });

    it('the sidebar of Remote monitoring', async () => {
      assert.equal(await placeOf('fa-bell'), told(sidebarPlaces(version()).bell));
    });
  },
);
