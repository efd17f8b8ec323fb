import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import { copyCheckout } from '../support/node-red/checkout-copy';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { NodeRed, ROOT, type NodeRedVersion } from '../support/node-red/node-red';
import { otherNode } from '../support/node-red/other-node';

interface Manifest {
  version: string;
  files: { path: string }[];
  filename: string;
}

const NAME = '@rvm/node-red-remote-monitoring';

/** The node sets and programs that package.json names, with their files. */
function programs(): { sets: Record<string, string>; bin: Record<string, string> } {
  const { 'node-red': nodeRed, bin } = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
  ) as { 'node-red': { nodes: Record<string, string> }; bin: Record<string, string> };
  return { sets: nodeRed.nodes, bin };
}

/** Each shows its help where npm has put it. */
function runPrograms(userDir: string, node: string): void {
  for (const name of Object.keys(programs().bin)) {
    const file = fs.realpathSync(path.join(userDir, 'node_modules', '.bin', name));
    const { status, stdout, stderr } = spawnSync(node, [file, '--help'], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.ok(stdout.startsWith(`${name}: `), stdout);
  }
}

describe('the package that npm pack makes', () => {
  let folder: string;
  let checkout: string;
  let manifest: Manifest;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-pack-'));
    // As somebody does who releases from a fresh checkout: without a dist/, which the real prepack has to build.
    checkout = copyCheckout('absent');
    const packed = spawnSync('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: checkout,
      encoding: 'utf8',
      shell: process.platform === 'win32',
    });
    assert.equal(packed.status, 0, packed.stderr);
    // Some versions of npm let the output of prepack go before.
    const json = packed.stdout.slice(packed.stdout.search(/^[[{]/m));
    const parsed = JSON.parse(json) as Manifest[] | Record<string, Manifest>;
    manifest = (Array.isArray(parsed) ? parsed[0] : Object.values(parsed)[0]) as Manifest;
  });

  after(() => {
    for (const each of [folder, checkout]) fs.rmSync(each, { recursive: true, force: true });
  });

  it('holds what is needed at run time, and neither sources nor tests', () => {
    const files = manifest.files.map((file) => file.path);
    for (const needed of [
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'dist/rvm-cloud.js',
      'dist/rvm-cloud.html',
    ]) {
      assert.ok(files.includes(needed), needed);
    }
    assert.ok(files.includes('dist/sandbox/fixture/gate.pack'));
    assert.ok(files.some((file) => file.startsWith('examples/')));
    const unwanted = files.filter((file) => /\.ts$|^(test|scripts|nodes|lib|sandbox)|(^|\/)\./.test(file));
    assert.deepEqual(unwanted, []);
  });

  it('holds each node and program that package.json names, with dialog, texts and icons, built by prepack', () => {
    const files = manifest.files.map((file) => file.path);
    const { bin, sets } = programs();
    for (const program of [...Object.values(sets), ...Object.values(bin)])
      assert.ok(files.includes(program), program);
    for (const type of Object.keys(sets)) {
      for (const part of [`${type}.html`, `locales/en-US/${type}.json`, `locales/en-US/${type}.html`])
        assert.ok(files.includes(`dist/${part}`), part);
    }
    assert.ok(files.some((file) => /^dist\/icons\/.+\.svg$/.test(file)));
  });

  it('holds every page that its pages link, and the pictures of the README: others are large', () => {
    const files = manifest.files.map((file) => file.path);
    const pages = files.filter((file) => file.endsWith('.md') && !file.startsWith('dist/'));
    assert.ok(pages.includes('README.md') && pages.includes('docs/architecture.md'));
    const dead = pages.flatMap((page) => {
      const text = fs.readFileSync(path.join(checkout, page), 'utf8');
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link ?? '');
      const targets = links
        .filter((link) => page === 'README.md' || !link.endsWith('.png'))
        .map((link) => path.posix.join(path.posix.dirname(page), decodeURI(link)));
      // A folder stands for all that is in it.
      const isThere = (target: string): boolean =>
        files.some((file) => file === target || file.startsWith(`${target.replace(/\/$/, '')}/`));
      return targets.filter((target) => !isThere(target)).map((target) => `${page}: ${target}`);
    });
    assert.deepEqual(dead, []);
  });

  it('has no install script, and no dependency with one', () => {
    const lock = JSON.parse(fs.readFileSync(path.join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean; optional?: boolean; hasInstallScript?: boolean }>;
    };
    const withScript = Object.entries(lock.packages).filter(
      ([, entry]) => !entry.dev && entry.hasInstallScript === true,
    );
    assert.deepEqual(withScript, []);
    const { scripts } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare'])
      assert.equal(scripts[name], undefined);
  });

  const places: [NodeRedVersion, string | undefined][] = [
    ['4.1', undefined],
    ['5', undefined],
    ['4.1', '22.19.0'],
    ['5', '22.19.0'],
  ];
  for (const [version, nodeVersion] of places) {
    it(`installs by upload in the palette manager of Node-RED ${version} on Node.js ${nodeVersion ?? process.version}, an alarm gets through, and its programs run`, async function () {
      const node = nodeVersion === undefined ? process.execPath : otherNode(this, nodeVersion);
      const nodeRed = await NodeRed.start({ version, node, withoutPackage: true });
      try {
        const form = new FormData();
        const tarball = fs.readFileSync(path.join(folder, path.basename(manifest.filename)));
        form.append('tarball', new Blob([tarball]), path.basename(manifest.filename));
        const response = await fetch(`${nodeRed.url}/nodes`, { method: 'POST', body: form });
        const text = await response.text();
        assert.equal(response.status, 200, `${text}\n${nodeRed.log.slice(-2000)}`);
        const installed = JSON.parse(text) as { name: string; nodes: { types: string[]; err?: string }[] };
        assert.equal(installed.name, NAME);
        assert.equal(installed.nodes.length, Object.keys(programs().sets).length);
        assert.deepEqual(
          installed.nodes.filter((set) => set.err !== undefined),
          [],
        );

        await nodeRed.deploy(webhookFlow());
        assert.equal((await post(nodeRed.url + PATH, alarmMessage(), PHRASE)).status, 200);
        await nodeRed.message('alarms');
        runPrograms(nodeRed.userDir, node);
      } finally {
        await nodeRed.stopAndRemove();
      }
    });
  }
});
