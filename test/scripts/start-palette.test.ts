import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { copyCheckout, RunningCommand } from '../support/node-red/running-command';
import { ROOT, typesOfPackage } from '../support/node-red/node-red';

const PACKAGE = '@rvm/node-red-remote-monitoring';
const OTHER = 'node-red-contrib-of-somebody-else';

const OTHER_FILES = {
  'package.json': JSON.stringify({
    name: OTHER,
    version: '1.0.0',
    'node-red': { nodes: { other: 'other.js' } },
  }),
  'other.js': `module.exports = (RED) => RED.nodes.registerType('other', function () {});`,
  'other.html': `<script type="text/javascript">RED.nodes.registerType('other', { category: 'function', defaults: {} });</script>`,
};

describe('the palette manager in the Node-RED of npm start', () => {
  let checkout: string;
  let userDir: string;
  let other: string;
  let running: RunningCommand | undefined;

  before(() => {
    checkout = copyCheckout('built');
    userDir = path.join(checkout, '.start');
    other = path.join(checkout, OTHER);
    fs.mkdirSync(other);
    for (const [name, text] of Object.entries(OTHER_FILES)) fs.writeFileSync(path.join(other, name), text);
  });

  beforeEach(() => fs.rmSync(userDir, { recursive: true, force: true }));

  afterEach(() => running?.killAll());

  after(() => fs.rmSync(checkout, { recursive: true, force: true }));

  async function start(): Promise<RunningCommand> {
    const args = ['--import=tsx', path.join('scripts', 'start.ts')];
    // What npm keeps for itself goes with the copy, and nothing here needs a registry.
    const npm = {
      npm_config_cache: path.join(checkout, 'npm-cache'),
      npm_config_registry: 'http://127.0.0.1:9/',
    };
    running = await RunningCommand.start(checkout, process.execPath, args, npm);
    return running;
  }

  async function install({ url }: RunningCommand): Promise<void> {
    const response = await fetch(`${url}/nodes`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ module: other }),
    });
    assert.equal(response.status, 200, await response.text());
  }

  async function uninstall({ url }: RunningCommand): Promise<void> {
    const response = await fetch(`${url}/nodes/${OTHER}`, { method: 'DELETE' });
    assert.equal(response.status, 204, await response.text());
  }

  /** As `package.json` of the user directory says. */
  function dependOn(name: string, version: string): void {
    const manifest = { name: 'start', private: true, dependencies: { [name]: version } };
    fs.writeFileSync(path.join(userDir, 'package.json'), JSON.stringify(manifest));
  }

  /** The types of a package that are there to be used. */
  async function typesOf({ url }: RunningCommand, name: string): Promise<string[]> {
    const response = await fetch(`${url}/nodes`, { headers: { Accept: 'application/json' } });
    const sets: { module: string; types: string[]; err?: string }[] = await response.json();
    return sets
      .filter(({ module, err }) => module === name && err === undefined)
      .flatMap(({ types }) => types);
  }

  /** All types, their icons and their German texts, which the editor gets from the files of the package. */
  async function offersPackage(node: RunningCommand): Promise<void> {
    assert.deepEqual((await typesOf(node, PACKAGE)).sort(), typesOfPackage().sort());
    for (const icon of fs.readdirSync(path.join(ROOT, 'dist', 'icons')))
      assert.equal((await fetch(`${node.url}/icons/${PACKAGE}/${icon}`)).status, 200, icon);
    for (const type of typesOfPackage()) {
      const texts = await fetch(`${node.url}/nodes/${PACKAGE}/${type}/messages?lng=de`);
      const file = path.join(ROOT, 'dist', 'locales', 'de', `${type}.json`);
      assert.deepEqual(await texts.json(), JSON.parse(fs.readFileSync(file, 'utf8')));
    }
  }

  it('leaves the package in place when it installs another, also after a restart', async () => {
    const first = await start();
    await install(first);
    await offersPackage(first);
    await first.endsWith('SIGTERM');

    const second = await start();
    await offersPackage(second);
    assert.deepEqual(await typesOf(second, OTHER), ['other']);
  });

  it('leaves the package in place when it removes another', async () => {
    const node = await start();
    await install(node);
    await uninstall(node);
    await offersPackage(node);
  });

  it('leaves the packages of the checkout as they are', async () => {
    const packages = path.join(checkout, 'node_modules');
    const list = (): string[] => fs.readdirSync(packages).sort();
    const lock = (): string => fs.readFileSync(path.join(checkout, 'package-lock.json'), 'utf8');
    const before = [list(), lock()];
    await install(await start());
    assert.deepEqual([list(), lock()], before);
  });

  it('leaves the package in place in a user directory that does not name it, and what was installed there', async () => {
    const modules = path.join(userDir, 'node_modules');
    fs.mkdirSync(modules, { recursive: true });
    fs.symlinkSync(other, path.join(modules, OTHER), 'junction');
    dependOn(OTHER, `file:../${OTHER}`);
    const node = await start();
    assert.deepEqual(await typesOf(node, OTHER), ['other']);
    await uninstall(node);
    await offersPackage(node);
  });

  it('gives way to the checkout where it had installed the published package', async () => {
    const published = path.join(userDir, 'node_modules', PACKAGE);
    fs.mkdirSync(published, { recursive: true });
    const manifest = JSON.stringify({ name: PACKAGE, version: '0.0.1' });
    fs.writeFileSync(path.join(published, 'package.json'), manifest);
    dependOn(PACKAGE, '~0.0.1');
    await offersPackage(await start());
    assert.equal(fs.realpathSync(published), fs.realpathSync(checkout));
  });
});
