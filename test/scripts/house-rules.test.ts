import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../support/node-red/node-red';

/** Lines that a file of one subject has at most, and below which it has to be a boundary. */
const MOST = 600;
const LEAST = 40;
const BOUNDARIES: Readonly<Record<string, string>> = {
  'lib/device.ts': 'a type used everywhere',
  'lib/webhook/proof/proof-worker.ts': 'entry of a worker thread',
  'lib/webhook/self-test-steps.ts': 'what server and browser agree on',
  'lib/video/view/player/settings.ts': 'what server and browser agree on',
  'lib/video/view/player/page.browser.ts': 'entry of a script of the browser',
  'nodes/rvm-listener/listener-node.ts': 'a node as others see it',
  'nodes/support/editor/css.d.ts': 'types of files that are no code',
  'nodes/support/editor/palette.ts': 'what all definitions have in common',
  'nodes/support/picker-data.ts': 'what server and browser agree on',
  'sandbox/refusal.ts': 'a type used everywhere',
};

/** The entries of a node type: of the runtime, and of its dialog. */
const ENTRY = /^nodes\/(rvm-[a-z-]+)\/\1(?:\.editor)?\.ts$/;

interface Source {
  file: string;
  text: string;
}

function sourcesIn(...folders: string[]): Source[] {
  return folders.flatMap((folder) =>
    fs
      .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((entry) => entry.endsWith('.ts'))
      .map((entry) => path.join(folder, entry))
      .map((file) => ({ file, text: fs.readFileSync(path.join(ROOT, file), 'utf8') })),
  );
}

const linesOf = ({ text }: Source): number => text.split('\n').length - 1;

function tooLong(sources: readonly Source[]): string[] {
  return sources.filter((source) => linesOf(source) > MOST).map(({ file }) => file);
}

function shortOnes(sources: readonly Source[]): string[] {
  return sources.filter((source) => linesOf(source) < LEAST).map(({ file }) => file);
}

function tooShort(sources: readonly Source[]): string[] {
  return shortOnes(sources).filter((file) => BOUNDARIES[file] === undefined && !ENTRY.test(file));
}

function namedTwice(sources: readonly Source[]): string[] {
  const seen = new Set<string>();
  const names = sources.flatMap(({ text }) =>
    [...text.matchAll(/^(?:export )?(?:default )?(?:abstract )?class (\w+)/gm)].map(([, name = '']) => name),
  );
  return names.filter((name) => seen.size === seen.add(name).size);
}

const made = (file: string, lines: number): Source => ({ file, text: '// line\n'.repeat(lines) });

describe('the rules of the house', () => {
  const sources = sourcesIn('lib', 'nodes', 'sandbox');

  it(`let no file have more than ${MOST} lines`, () => {
    assert.deepEqual(tooLong([made('lib/a.ts', MOST), made('lib/b.ts', MOST + 1)]), ['lib/b.ts']);
    assert.deepEqual(tooLong(sources), []);
  });

  it(`let a file of less than ${LEAST} lines be a boundary alone, said in a word`, () => {
    assert.deepEqual(tooShort([made('lib/device.ts', 1), made('lib/a.ts', LEAST - 1)]), ['lib/a.ts']);
    assert.deepEqual(tooShort(sources), []);
    const short = shortOnes(sources);
    const former = Object.keys(BOUNDARIES).filter((file) => !short.includes(file));
    assert.deepEqual(former, [], 'boundaries that are none any more');
  });

  it('let no two classes have one name', () => {
    const texts = ['export class Twice {}\nclass Once {}\n', 'class Twice {}'];
    assert.deepEqual(namedTwice(texts.map((text) => ({ file: 'lib/a.ts', text }))), ['Twice']);
    assert.deepEqual(namedTwice(sourcesIn('lib', 'nodes', 'sandbox', 'scripts', 'test/support')), []);
  });

  it('let no node type load a heavy library before it is used, nor one that a Node.js too old for the package cannot load', () => {
    const report = `
      const { _load: load } = require('node:module');
      require('node:module')._load = function (name, parent, ...others) {
        if (parent?.filename?.includes('/dist/') && !/^([.]|[/]|node:)/.test(name)) console.log(name);
        return load.call(this, name, parent, ...others);
      };
      for (const type of fs.readdirSync('dist').filter((file) => /^rvm-.*[.]js$/.test(file))) require(path.resolve('dist', type));
      process.exit();`;
    const printed = execFileSync(process.execPath, ['-e', report], { cwd: ROOT, encoding: 'utf8' });
    assert.deepEqual([...new Set(printed.split('\n').filter(Boolean))], ['secure-json-parse']);
  });
});
