import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';

/** Folders of Node-RED's locales; one without a region serves all regions. */
const LANGUAGES = ['de', 'es', 'fr', 'ja', 'zh-CN'];
const OTHER_LETTERS: Record<string, RegExp> = {
  ja: /[\u3040-\u30ff\u4e00-\u9fff]/,
  'zh-CN': /[\u4e00-\u9fff]/,
};

const FOLDERS = fs.globSync('nodes/*/locales', { cwd: ROOT });
const WITH_HELP = FOLDERS.filter((folder) => fs.existsSync(path.join(ROOT, folder, 'en-US.md')));

const read = (folder: string, file: string): string => fs.readFileSync(path.join(ROOT, folder, file), 'utf8');

function textsOf(folder: string, language: string): Map<string, string> {
  const below = (value: unknown, at: string): [string, string][] =>
    typeof value === 'string'
      ? [[at, value]]
      : Object.entries(value as object).flatMap(([key, inner]) => below(inner, `${at}.${key}`));
  return new Map(below(JSON.parse(read(folder, `${language}.json`)), ''));
}

/** Singular of a text with a count, as the texts of Node-RED have it: some languages have none. */
const SINGULAR = '_one';

function keysIn(language: string, english: Map<string, string>): string[] {
  const hasSingular = new Intl.PluralRules(language).resolvedOptions().pluralCategories.includes('one');
  return [...english.keys()].filter((key) => hasSingular || !key.endsWith(SINGULAR));
}

const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? match[0]);

/** What of a text stands in each language as it is: places for values, code, addresses. */
const fixedParts = (text: string): string[] =>
  [...all(text, /__\w+__/g), ...all(text, /<\/?\w+[^>]*>/g), ...all(text, /\$\{\w+\}/g)].sort();

/** What help says in each language alike: its sections, the properties with their types, code, numbered outputs. */
function skeleton(help: string): unknown {
  return {
    headings: all(help, /^(#+) /gm),
    properties: all(help, /^\s*: (\S+(?: \S+)*? \([^)]*\)) : /gm),
    outputs: all(help, /^(\d+)\. /gm),
    items: all(help, /^ *- /gm).length,
    code: all(help, /`([^`]+)`/g).sort(),
  };
}

describe('the languages', () => {
  for (const language of LANGUAGES) {
    for (const folder of FOLDERS)
      it(`${language} has all texts of ${folder}, with the same places for values`, () => {
        const english = textsOf(folder, 'en-US');
        const texts = textsOf(folder, language);
        assert.deepEqual([...texts.keys()].sort(), keysIn(language, english).sort());
        for (const [key, text] of texts) {
          assert.notEqual(text.trim(), '', key);
          assert.deepEqual(fixedParts(text), fixedParts(english.get(key) ?? ''), key);
        }
      });

    for (const folder of WITH_HELP)
      it(`${language} has the help of ${folder}, with all sections, properties and code`, () =>
        assert.deepEqual(skeleton(read(folder, `${language}.md`)), skeleton(read(folder, 'en-US.md'))));
  }

  for (const language of ['en-US', ...LANGUAGES])
    it(`${language} has no second colon in the line of a property: the editor would drop the words before it`, () => {
      for (const folder of WITH_HELP)
        assert.deepEqual(all(read(folder, `${language}.md`), /^\s*:.*:.*:.*$/gm), [], folder);
    });

  for (const language of LANGUAGES)
    it(`${language} is no copy of English`, () => {
      for (const folder of FOLDERS) {
        const english = textsOf(folder, 'en-US');
        for (const [key, text] of textsOf(folder, language)) {
          const original = english.get(key) ?? '';
          if (!/ \S+ \S+ /.test(original)) continue;
          assert.notEqual(text, original, `${folder} ${key}`);
          assert.match(text, OTHER_LETTERS[language] ?? /./, `${folder} ${key}`);
        }
      }
    });

  it('have a singular wherever English has a plural behind a count', () => {
    for (const folder of FOLDERS) {
      const english = textsOf(folder, 'en-US');
      for (const [key, text] of english) {
        if (!/__count__ (?:\w+ ){0,2}?\w{2,}s\b/.test(text) || key.endsWith(SINGULAR)) continue;
        assert.ok(english.has(key + SINGULAR), `${folder} ${key}`);
      }
    }
  });

  it('are all there are', () => {
    for (const folder of FOLDERS) {
      const files = fs.readdirSync(path.join(ROOT, folder)).filter((file) => file.endsWith('.json'));
      assert.deepEqual(files.sort(), ['en-US', ...LANGUAGES].map((language) => `${language}.json`).sort());
    }
  });
});
