import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { freePort, ROOT } from '../support/node-red/node-red';
import {
  dockerInstructions,
  environmentFile,
  nodeArguments,
  PRODUCTION,
  settingOf,
} from '../support/production/production-files';
import { eventually } from '../support/time/patience';

const PACKAGE = '@rvm/node-red-remote-monitoring';
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
    await eventually(
      () =>
        (/Started flows/.test(installed.log) && /Server now running/.test(installed.log)) ||
        child.exitCode !== null,
      'the start of Node-RED',
    );
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
    const body = new URLSearchParams({
      client_id: 'node-red-admin',
      grant_type: 'password',
      scope: '*',
      username: 'admin',
      password: PASSWORD,
    });
    const response = await fetch(`${this.url}/auth/token`, { method: 'POST', body });
    return /"access_token":"([^"]+)"/.exec(await response.text())?.[1] ?? assert.fail('no login');
  }

  /** Ends it as a service manager does. @returns its exit code */
  async stop(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.child.kill('SIGTERM');
      await once(this.child, 'exit');
    }
    return this.child.exitCode;
  }
}

function folderOfNobody(name: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), name));
  if (NOBODY.uid !== undefined) fs.chownSync(folder, NOBODY.uid, NOBODY.gid);
  return folder;
}

/** The examples of the file, and what somebody enters in their place. */
const EXAMPLES = environmentFile();
const VARIABLES = {
  ...EXAMPLES,
  NODE_RED_ADMIN_HASH: HASH,
  NODE_RED_CREDENTIAL_SECRET: 'a secret of the test',
};

describe('what docs/production.md installs', () => {
  let opt: string;
  let state: string;
  const instructions = dockerInstructions();
  const textsOf = (name: string): string[] =>
    instructions.filter((each) => each.name === name).map(({ text }) => text);

  before(() => {
    opt = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-opt-'));
    fs.chmodSync(opt, 0o755);
    state = folderOfNobody('rvm-state-');
    const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', opt], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    const [tarball = ''] = fs.readdirSync(opt).filter((name) => name.endsWith('.tgz'));
    assert.ok(packed.includes(tarball));
    const [install = ''] = textsOf('RUN').filter((text) => text.startsWith('npm '));
    execFileSync('/bin/sh', ['-c', install.replace(PACKAGE, `./${tarball}`)], { cwd: opt, stdio: 'pipe' });
  });
  after(() => {
    for (const folder of [opt, state]) fs.rmSync(folder, { recursive: true, force: true });
  });

  /** As the container runs it. */
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

  /** As the unit runs it. */
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
    const data = folderOfNobody('rvm-data-');
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
      fs.rmSync(data, { recursive: true, force: true });
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
