import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { MOST_ON_DISK, sizeOf } from '../../bench/installed-size';
import { copyCheckout } from '../support/node-red/running-command';
import { webhookFlow } from '../support/node-red/flows';
import { endProcess } from '../support/network/servers';
import { freePort, NodeRed, ROOT, type NodeRedVersion, otherNode } from '../support/node-red/node-red';
import {
  dockerInstructions,
  environmentFile,
  nodeArguments,
  PRODUCTION,
  settingOf,
} from '../support/production/production-files';
import { nightlyDescribe, nightlyIt } from '../support/suite/lanes';
import { temporaryFolder } from '../support/suite/temporary-folder';
import { answered } from '../support/node-red/alarms-through';
import { eventually } from '../support/time/patience';

/** Of the test alone; made with the fewest rounds. */
const PASSWORD = 'a word for the test';
const HASH = '$2b$04$rV8K0593L0hx0E6/lWNk6eX0pF54x99X0UtPdY8A0aGPN9z2ZqqgO';
/** Where root runs the tests, Node-RED runs as nobody: as another user than the one to whom its programs belong. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

interface Run {
  /** Program and arguments, as the file has them, with places of this test. */
  command: string[];
  cwd: string;
  env: Record<string, string>;
}

/** A Node-RED as it runs in production, with nothing in its environment but what the files have. */
class Installed {
  log = '';
  private constructor(
    readonly child: ChildProcess,
    readonly port: number,
    readonly metricsPort: number,
  ) {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (piece: Buffer) => (this.log += piece.toString()));
  }

  static async start({ command, cwd, env }: Run): Promise<Installed> {
    const [port, metricsPort] = [await freePort(), await freePort()];
    // The rights of files as the unit has them.
    const child = spawn('/bin/sh', ['-c', 'umask 0077; exec "$0" "$@"', ...command], {
      cwd,
      env: { PATH: '/usr/bin:/bin', ...env, PORT: `${port}`, METRICS_PORT: `${metricsPort}` },
      ...NOBODY,
    });
    const installed = new Installed(child, port, metricsPort);
    const lines = ['Started flows', 'Server now running'];
    const runs = (): boolean => lines.every((line) => installed.log.includes(line));
    await eventually(() => runs() || child.exitCode !== null, 'the start of Node-RED');
    return installed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async statusOf(url: string, token?: string): Promise<number> {
    const headers = new Headers(token === undefined ? {} : { Authorization: `Bearer ${token}` });
    const response = await fetch(new URL(url, this.url), { headers });
    await response.arrayBuffer();
    return response.status;
  }

  async token(): Promise<string> {
    const user = { username: 'admin', password: PASSWORD };
    const grant = { client_id: 'node-red-admin', grant_type: 'password', scope: '*' };
    const body = new URLSearchParams({ ...grant, ...user });
    const response = await fetch(`${this.url}/auth/token`, { method: 'POST', body });
    return /"access_token":"([^"]+)"/.exec(await response.text())?.[1] ?? assert.fail('no login');
  }

  /** Ends it as a service manager does. @returns its exit code */
  async stop(): Promise<number | null> {
    await endProcess(this.child);
    return this.child.exitCode;
  }
}

function folderOfNobody(name: string): string {
  const folder = temporaryFolder(name);
  if (NOBODY.uid !== undefined) fs.chownSync(folder, NOBODY.uid, NOBODY.gid);
  return folder;
}

interface Manifest {
  version: string;
  files: { path: string }[];
  filename: string;
}

const PACKAGE = '@rvm/node-red-remote-monitoring';

const EXAMPLES = environmentFile();
const VARIABLES = {
  ...EXAMPLES,
  NODE_RED_ADMIN_HASH: HASH,
  NODE_RED_CREDENTIAL_SECRET: 'a secret of the test',
};

function programs(): { sets: Record<string, string>; bin: Record<string, string> } {
  const { 'node-red': nodeRed, bin } = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
  ) as { 'node-red': { nodes: Record<string, string> }; bin: Record<string, string> };
  return { sets: nodeRed.nodes, bin };
}

function runPrograms(userDir: string, node: string): void {
  for (const name of Object.keys(programs().bin)) {
    const file = fs.realpathSync(path.join(userDir, 'node_modules', '.bin', name));
    const { status, stdout, stderr } = spawnSync(node, [file, '--help'], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.ok(stdout.startsWith(`${name}: `), stdout);
  }
}

describe('the package that npm pack makes', () => {
  let checkout: string;
  let manifest: Manifest;
  let tarball: string;
  before(() => {
    const folder = temporaryFolder('pack');
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
    tarball = path.join(folder, path.basename(manifest.filename));
  });
  after(() => fs.rmSync(checkout, { recursive: true, force: true }));

  it('holds what is needed at run time, and neither sources, nor their maps, nor tests', () => {
    const files = manifest.files.map((file) => file.path);
    for (const needed of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'])
      assert.ok(files.includes(needed), needed);
    assert.ok(files.includes('dist/sandbox/fixture/gate.pack'));
    assert.ok(files.some((file) => file.startsWith('examples/')));
    const unwanted = /\.(ts|map)$|^(test|scripts|nodes|lib|sandbox)|(^|\/)\./;
    assert.deepEqual(
      files.filter((file) => unwanted.test(file)),
      [],
    );
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
      const isThere = (target: string): boolean =>
        files.some((file) => file === target || file.startsWith(`${target.replace(/\/$/, '')}/`));
      return targets.filter((target) => !isThere(target)).map((target) => `${page}: ${target}`);
    });
    assert.deepEqual(dead, []);
  });

  describe('in the palette manager, which runs npm itself,', () => {
    /** Of Node-RED, and of Node.js: the oldest and newest releases of each line that are supported, and the newest of all. */
    const places: [NodeRedVersion, string][] = [
      ...['22.19.0', '22', '24.0.0', '24', 'latest'].map((release): [NodeRedVersion, string] => [
        '5',
        release,
      ]),
      ['4.1', '22.19.0'],
      ['4.1', 'latest'],
    ];
    for (const [index, [version, release]] of places.entries())
      (index === 0 ? it : nightlyIt)(
        `installs by upload in Node-RED ${version} on Node.js ${release}, in less than ${MOST_ON_DISK} MiB, an alarm gets through, and its programs run`,
        async function () {
          const node = otherNode(this, release);
          await NodeRed.with({ version, node, withoutPackage: true }, async (nodeRed) => {
            // A registry may stumble.
            const first = await upload(nodeRed);
            const { status, text } = first.status === 200 ? first : await upload(nodeRed);
            assert.equal(status, 200, `${text}\n${nodeRed.log.slice(-2000)}`);
            const installed = JSON.parse(text) as {
              name: string;
              nodes: { types: string[]; err?: string }[];
            };
            assert.equal(installed.name, PACKAGE);
            assert.equal(installed.nodes.length, Object.keys(programs().sets).length);
            assert.deepEqual(
              installed.nodes.filter((set) => set.err !== undefined),
              [],
            );
            await nodeRed.deploy(webhookFlow());
            assert.equal(await answered(nodeRed), 200);
            await nodeRed.message('alarms');
            runPrograms(nodeRed.userDir, node);
            const { onDisk } = sizeOf(path.join(nodeRed.userDir, 'node_modules'));
            assert.ok(onDisk < MOST_ON_DISK, `${onDisk} MiB`);
          });
        },
      );

    nightlyIt('is refused on Node.js 22.18.0: npm goes by the engines of each package', async function () {
      await NodeRed.with({ node: otherNode(this, '22.18.0'), withoutPackage: true }, async (nodeRed) => {
        assert.equal((await upload(nodeRed)).status, 400);
        await nodeRed.logged(/EBADENGINE/);
      });
    });

    async function upload({ url }: NodeRed): Promise<{ status: number; text: string }> {
      const form = new FormData();
      form.append('tarball', new Blob([fs.readFileSync(tarball)]), path.basename(tarball));
      const response = await fetch(`${url}/nodes`, { method: 'POST', body: form });
      return { status: response.status, text: await response.text() };
    }
  });

  nightlyDescribe('what docs/production.md installs', () => {
    let opt: string;
    let state: string;
    const instructions = dockerInstructions();
    const textsOf = (name: string): string[] =>
      instructions.filter((each) => each.name === name).map(({ text }) => text);

    before(() => {
      opt = temporaryFolder('opt');
      fs.chmodSync(opt, 0o755);
      state = folderOfNobody('state');
      const [install = ''] = textsOf('RUN').filter((text) => text.startsWith('npm '));
      execFileSync('/bin/sh', ['-c', install.replace(PACKAGE, tarball)], { cwd: opt, stdio: 'pipe' });
    });
    function container(data: string): Run {
      for (const text of textsOf('COPY')) {
        const [from = '', to = ''] = text.split(' ');
        fs.copyFileSync(path.join(PRODUCTION, from), path.join(opt, to, from));
      }
      const [command = '[]'] = textsOf('CMD');
      const args = nodeArguments(command).map((word) => (word === '/data' ? data : word));
      const pairs = textsOf('ENV').flatMap((text) => [...text.matchAll(/(\S+)=(\S+)/g)]);
      const env = Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, value]));
      return { command: [process.execPath, ...args], cwd: opt, env: { ...VARIABLES, ...env } };
    }

    function unit(): Run {
      const command = settingOf('node-red.service', 'ExecStart')
        .replace('/usr/bin/node ', `${process.execPath} `)
        .replace('/opt/node-red', opt)
        .replace('/var/lib/node-red', state)
        .replace('/etc/node-red', PRODUCTION)
        .split(' ');
      return { command, cwd: state, env: VARIABLES };
    }

    async function isWell(installed: Installed): Promise<void> {
      assert.equal(await installed.statusOf('/remote-monitoring/live'), 200, installed.log);
      assert.equal(await installed.statusOf('/flows'), 401, 'nobody reads the flow without a login');
      const token = await installed.token();
      assert.equal(await installed.statusOf('/flows', token), 200);
      assert.equal(await installed.statusOf(`/nodes/${PACKAGE}/rvm-webhook-in`, token), 200, installed.log);
      assert.equal(await installed.statusOf(`http://127.0.0.1:${installed.metricsPort}/metrics`), 200);
    }

    it('runs as the unit of systemd starts it, ends when told to, and lets no other user read its files', async () => {
      const installed = await Installed.start(unit());
      try {
        await isWell(installed);
      } finally {
        assert.equal(await installed.stop(), 0, installed.log);
      }
      const open = fs
        .readdirSync(state, { recursive: true })
        .filter((name) => fs.statSync(path.join(state, String(name))).mode & 0o077);
      assert.deepEqual(open, []);
    });

    it('runs as the container starts it, keeps all that it writes in /data, and its health check is content', async () => {
      const data = folderOfNobody('data');
      const before = fs.readdirSync(opt);
      const installed = await Installed.start(container(data));
      try {
        await isWell(installed);
        const [, check = ''] = /CMD (\[.*\])$/.exec(textsOf('HEALTHCHECK')[0] ?? '') ?? [];
        execFileSync(process.execPath, nodeArguments(check.replace(':1880', `:${installed.port}`)));
        assert.ok(fs.existsSync(path.join(data, 'remote-monitoring')) || fs.readdirSync(data).length > 0);
        assert.deepEqual(fs.readdirSync(opt), [...new Set([...before, 'settings.js'])].sort());
      } finally {
        assert.equal(await installed.stop(), 0, installed.log);
      }
    });

    for (const name of ['NODE_RED_ADMIN_HASH', 'NODE_RED_CREDENTIAL_SECRET'])
      for (const [what, value] of [
        ['none', ''],
        ['the example of the file', EXAMPLES[name]],
      ] as const)
        it(`does not start where ${name} is ${what}, rather than run unguarded`, async () => {
          assert.ok(value !== undefined);
          const run = unit();
          const installed = await Installed.start({ ...run, env: { ...run.env, [name]: value } });
          assert.notEqual(await installed.stop(), 0);
          assert.match(installed.log, new RegExp(`${name} is not set`));
        });
  });
});
