import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { languageFor } from '../../../lib/video/view/page';
import { ROOT } from '../../support/node-red/node-red';

const FOLDER = path.join(ROOT, 'lib', 'video', 'view', 'locales');
const OTHER_LETTERS: Readonly<Record<string, RegExp>> = {
  ja: /[\u3040-\u30ff\u4e00-\u9fff]/,
  'zh-CN': /[\u4e00-\u9fff]/,
};

describe('the language of a view', () => {
  const cases: [accepted: string | undefined, named: string | undefined, tag: string][] = [
    ['de', undefined, 'de'],
    ['de-AT,en;q=0.8', undefined, 'de'],
    ['pt-BR,pt;q=0.9,es;q=0.5,en;q=0.3', undefined, 'es'],
    ['en;q=0.2, fr-CA;q=0.7', undefined, 'fr'],
    ['ja-JP', undefined, 'ja'],
    ['zh-TW', undefined, 'zh-CN'],
    ['en-GB', undefined, 'en-US'],
    ['fr;q=0, nl', undefined, 'en-US'],
    ['*', undefined, 'en-US'],
    ['', undefined, 'en-US'],
    [undefined, undefined, 'en-US'],
    [';;;q=,,=', undefined, 'en-US'],
    ['de', 'ja', 'ja'],
    ['de', 'xx', 'de'],
  ];
  for (const [accepted, named, tag] of cases) {
    it(`is ${tag} for ${JSON.stringify(accepted)}${named === undefined ? '' : ` and an address with ${named}`}`, () => {
      assert.equal(languageFor(accepted, named).tag, tag);
    });
  }

  it('takes no time for a header of a million characters', () => {
    assert.equal(languageFor(`${'x,'.repeat(500_000)}de`).tag, 'en-US');
  });
});

describe('the texts of views', () => {
  const english = languageFor('en').texts;
  /** By the way to each. */
  const all = (texts: typeof english): Map<string, string> =>
    new Map(
      Object.entries(texts).flatMap(([group, inner]) =>
        Object.entries(inner).map(([key, text]): [string, string] => [`${group}.${key}`, text]),
      ),
    );

  for (const tag of ['de', 'es', 'fr', 'ja', 'zh-CN']) {
    it(`are all there in ${tag}, with the same places for values, and are no copies of English`, () => {
      const texts = all(languageFor(tag).texts);
      assert.deepEqual([...texts.keys()], [...all(english).keys()]);
      for (const [key, text] of all(english)) {
        const other = texts.get(key) ?? '';
        assert.notEqual(other.trim(), '', key);
        assert.deepEqual(other.match(/__\w+?__/g), text.match(/__\w+?__/g), key);
        if (!/ \S+ \S+ /.test(text)) continue;
        assert.notEqual(other, text, key);
        assert.match(other, OTHER_LETTERS[tag] ?? /./, key);
      }
    });
  }

  it('are those of the languages of the nodes', () => {
    const nodes = path.join(ROOT, 'nodes', 'support', 'locales');
    assert.deepEqual(fs.readdirSync(FOLDER).sort(), fs.readdirSync(nodes).sort());
  });
});
