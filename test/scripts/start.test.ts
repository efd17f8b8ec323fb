import assert from 'node:assert/strict';
import { spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { copyCheckout, INTRODUCTION, RunningCommand } from '../support/node-red/running-command';
import { nightlyIt } from '../support/suite/lanes';
import { cannotRun } from '../support/suite/programs';

const LINK = path.join('.start', 'node_modules', '@rvm', 'node-red-remote-monitoring');

/** Runs a script to its end. */
async function endOf(
  args: string[],
  options: SpawnOptions = {},
): Promise<{ status: unknown; errors: string }> {
  const child = spawn(process.execPath, args, { ...options, timeout: 30_000 });
  let errors = '';
  child.stderr?.on('data', (piece: Buffer) => (errors += piece.toString()));
  const [status]: unknown[] = await once(child, 'close');
  return { status, errors };
}

const START = ['--import=tsx', path.join('scripts', 'start.ts')];

describe('npm start', () => {
  let checkout: string;
  let running: RunningCommand | undefined;

  before(() => {
    checkout = copyCheckout('built');
  });

  beforeEach(() => fs.rmSync(path.join(checkout, '.start'), { recursive: true, force: true }));

  afterEach(() => running?.killAll());

  after(() => fs.rmSync(checkout, { recursive: true, force: true }));

  const startTask = (env: Record<string, string> = {}): Promise<RunningCommand> =>
    RunningCommand.start(checkout, process.execPath, START, env);

  const linked = (): string => fs.realpathSync(path.join(checkout, LINK));

  function relink(target: string): void {
    const link = path.join(checkout, LINK);
    fs.mkdirSync(path.dirname(link), { recursive: true });
    fs.rmSync(link, { force: true });
    fs.symlinkSync(target, link, 'junction');
  }

  it('starts nothing where its texts are imported', async () => {
    const importing = ['--import=tsx', '-e', `require('./${START.at(-1)}')`];
    assert.deepEqual(await endOf(importing, { cwd: checkout }), { status: 0, errors: '' });
    assert.equal(fs.existsSync(path.join(checkout, '.start')), false);
  });

  it('runs the first example at the port of PORT and on loopback only, introduces itself once, and ends with SIGTERM', async () => {
    running = await startTask();
    const { url } = running;
    assert.ok(running.output.includes(`Open  ${url}/`), running.output);
    await running.says(/Server now running at http:\/\/127\.0\.0\.1:/);
    assert.equal((await fetch(url)).status, 200);
    const unproven = { method: 'POST', body: '{}' };
    assert.equal((await fetch(`${url}/remote-monitoring/example-01`, unproven)).status, 401);

    const { length } = running.output;
    await deploy(url, await (await fetch(`${url}/flows`)).json());
    await running.says(/Started flows/, length);
    await running.endsWith('SIGTERM');
    assert.equal(running.output.match(INTRODUCTION)?.length, 1);
  });

  nightlyIt('introduces itself where Node-RED logs in another language', async () => {
    running = await startTask({ LC_ALL: 'de_DE.UTF-8' });
    assert.match(running.output, /Flows sind gestartet/);
    await running.endsWith('SIGTERM');
  });

  nightlyIt('lets Node-RED work in its user directory, where files with relative paths belong', async () => {
    running = await startTask();
    const inject = { once: true, onceDelay: 0, payload: 'text', props: [{ p: 'payload' }] };
    const file = { filename: 'saved', filenameType: 'str', overwriteFile: 'true' };
    await deploy(running.url, [
      { id: 'tab', type: 'tab' },
      { id: 'inject', type: 'inject', z: 'tab', x: 0, y: 0, wires: [['file']], ...inject },
      { id: 'file', type: 'file', z: 'tab', x: 0, y: 0, wires: [[]], ...file },
    ]);
    const saved = path.join(checkout, '.start', 'saved');
    await running.until(() => fs.existsSync(saved), 'the file');
    await running.endsWith('SIGTERM');
  });

  nightlyIt(
    'keeps what was changed in its user directory, links the package again that led elsewhere, and ends with SIGHUP',
    async () => {
      const elsewhere = path.join(checkout, 'elsewhere');
      fs.mkdirSync(elsewhere);
      relink(elsewhere);
      const flows = path.join(checkout, '.start', 'flows.json');
      fs.writeFileSync(flows, '[{"id":"mine","type":"tab","label":"mine"}]');
      running = await startTask();
      assert.equal(linked(), checkout);
      assert.match(fs.readFileSync(flows, 'utf8'), /"mine"/);
      await running.endsWith('SIGHUP');
    },
  );

  nightlyIt(
    'links the package again that led nowhere, and ends with the command that npm starts',
    async () => {
      relink(path.join(checkout, 'gone'));
      const args = [path.join('scripts', 'bootstrap.js'), 'start'];
      running = await RunningCommand.start(checkout, process.execPath, args);
      assert.equal(linked(), checkout);
      await running.endsWith('SIGTERM');
    },
  );

  nightlyIt('says where another one runs in the same checkout already, and leaves that alone', async () => {
    running = await startTask();
    const env = { ...process.env, PORT: `${running.port + 1}` };
    const second = await endOf(START, { cwd: checkout, env });
    assert.equal(second.status, 1);
    assert.match(second.errors, /Another "npm start" runs in this checkout already/);
    assert.match(second.errors, /Another PORT alone does not help/);
    assert.equal((await fetch(running.url)).status, 200);
    await running.endsWith('SIGTERM');
  });

  nightlyIt('starts in the user directory of one that has ended', async () => {
    running = await startTask();
    await running.endsWith('SIGTERM');
    running = await startTask();
    await running.endsWith('SIGTERM');
  });

  nightlyIt('ends when npm ends the shell in between and nothing else', async function () {
    if (process.platform === 'win32') cannotRun(this, 'there is no sh');
    const line = `"${process.execPath}" scripts/bootstrap.js start; true`;
    running = await RunningCommand.start(checkout, 'sh', ['-c', line]);
    await running.endsWith('SIGKILL');
  });
});

async function deploy(url: string, flows: unknown): Promise<void> {
  const headers = { 'Content-Type': 'application/json' };
  const response = await fetch(`${url}/flows`, { method: 'POST', headers, body: JSON.stringify(flows) });
  assert.ok(response.ok, `deploy answered ${response.status}`);
}

describe('the first script of every command', () => {
  it('names its tasks and fails where it is given none of them', async () => {
    const bootstrap = path.join(__dirname, '../../scripts/bootstrap.js');
    const { status, errors } = await endOf([bootstrap, 'toString']);
    assert.equal(status, 1);
    assert.match(errors, /usage: node scripts\/bootstrap\.js start\|test\|build/);
  });
});
