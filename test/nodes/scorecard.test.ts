import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT, typesOfPackage } from '../support/node-red/node-red';

interface Package {
  name: string;
  license: string;
  keywords: string[];
  engines: { node: string };
  type?: string;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  'node-red': { version: string; nodes: Record<string, string>; plugins: Record<string, string> };
}

/** The rules of the Node-RED scorecard that need no network. Known exception: P07, for undici 8 asks for Node.js 22.19. */
describe('the Node-RED scorecard', () => {
  const own = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as Package;

  it('P01 names a licence and brings its text', () => {
    assert.match(own.license, /^[A-Za-z0-9.-]+$/);
    assert.ok(fs.existsSync(path.join(ROOT, 'LICENSE')));
  });

  it('P04 has a name within a scope, with node-red in it', () =>
    assert.match(own.name, /^@[a-z0-9-]{2,}\/node-red-[a-z0-9-]+$/));

  it('P05 has the keyword node-red', () => assert.ok(own.keywords.includes('node-red')));

  it('P06 names the versions of Node-RED it works with, and those of Node.js', () => {
    assert.deepEqual([own['node-red'].version, own.engines.node], ['>=4.1.0', '>=22.19']);
  });

  it('D01 has at most six runtime dependencies', () => assert.ok(Object.keys(own.dependencies).length <= 6));

  it('runs no script when it is installed, nor does anything that it depends on', () => {
    const file = path.join(ROOT, 'package-lock.json');
    const { packages } = JSON.parse(fs.readFileSync(file, 'utf8')) as {
      packages: Record<string, { dev?: boolean; hasInstallScript?: boolean }>;
    };
    const withScript = Object.entries(packages).filter(([, each]) => !each.dev && each.hasInstallScript);
    assert.deepEqual(withScript, []);
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
      assert.equal(own.scripts[name], undefined);
  });

  it('is CommonJS, with a file that ends in .js for each set, named like its one type', () => {
    assert.equal(own.type, undefined);
    const sets = { ...own['node-red'].nodes, ...own['node-red'].plugins };
    for (const [name, file] of Object.entries(sets)) assert.equal(file, `dist/${name}.js`);
  });

  for (const type of typesOfPackage()) {
    it(`N01 ${type} is registered by an inline script with a literal name and an object literal`, () => {
      const html = fs.readFileSync(path.join(ROOT, 'dist', `${type}.html`), 'utf8');
      assert.match(type, /^rvm-/);
      const registers = `<script type="text/javascript">[^]*RED\\.nodes\\.registerType\\("${type}", \\{`;
      assert.match(html, new RegExp(registers));
      assert.doesNotMatch(html, /<script[^>]* src=/);
      assert.ok(html.includes(`data-template-name="${type}"`));
    });

    it(`${type} has help in every language that it has texts in`, () => {
      const languages = fs.readdirSync(path.join(ROOT, 'dist', 'locales'));
      for (const language of languages) {
        const help = path.join(ROOT, 'dist', 'locales', language, `${type}.html`);
        assert.ok(fs.existsSync(help), language);
        assert.ok(fs.readFileSync(help, 'utf8').includes(`data-help-name="${type}"`));
      }
    });
  }
});
