import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { copyCheckout } from '../support/checkout-copy';
import { freePort } from '../support/node-red';

const LINK = path.join('.start', 'node_modules', '@rvm', 'node-red-remote-monitoring');

/** Every Node process that a command starts writes down its id, so that none is forgotten. */
const NOTE_PID = `require('fs').appendFileSync(process.env.PIDS_FILE, process.pid + '\\n');\n`;

/** A command of a checkout, running, with all processes below it. */
class Running {
  output = '';

  private constructor(
    readonly child: ChildProcess,
    readonly port: number,
    private readonly pidsFile: string,
  ) {
    child.stdout?.on('data', (piece: Buffer) => (this.output += piece.toString()));
    child.stderr?.on('data', (piece: Buffer) => (this.output += piece.toString()));
  }

  /** Runs a command line until Node-RED serves its flows. */
  static async start(checkout: string, command: string, args: string[]): Promise<Running> {
    const port = await freePort();
    const note = path.join(checkout, 'note-pid.js');
    const pidsFile = path.join(checkout, `pids-${port}`);
    fs.writeFileSync(note, NOTE_PID);
    fs.writeFileSync(pidsFile, '');
    const env = {
      ...process.env,
      PORT: `${port}`,
      PIDS_FILE: pidsFile,
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --require "${note}"`,
    };
    const running = new Running(spawn(command, args, { cwd: checkout, env }), port, pidsFile);
    try {
      await running.until(() => /Stop with Ctrl-C/.test(running.output), 'the introduction');
    } catch (error) {
      running.killAll();
      throw error;
    }
    return running;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pids(): number[] {
    const lines = fs.readFileSync(this.pidsFile, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map(Number);
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + 15_000;
    while (!condition()) {
      assert.ok(performance.now() < deadline, `waited in vain for ${what}:\n${this.output}`);
      await delay(20);
    }
  }

  /** Sends a signal to the command alone; passes once no process that it has started is left. */
  async endsWith(signal: NodeJS.Signals): Promise<void> {
    const { pids } = this;
    assert.ok(pids.some(isAlive), 'nothing runs');
    const exit = once(this.child, 'exit');
    this.child.kill(signal);
    await exit;
    await this.until(() => !pids.some(isAlive), 'the end of all processes');
    await assert.rejects(fetch(this.url));
  }

  /** What a test that failed has left. */
  killAll(): void {
    for (const pid of this.pids.filter(isAlive)) process.kill(pid, 'SIGKILL');
    this.child.kill('SIGKILL');
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // One that has ended, and whose end nobody has asked about yet.
  const state = path.join('/proc', `${pid}`, 'stat');
  return !fs.existsSync(state) || !/\) Z /.test(fs.readFileSync(state, 'utf8'));
}

describe('npm start', function () {
  this.timeout(30_000);
  let checkout: string;
  let running: Running | undefined;

  before(() => {
    checkout = copyCheckout('built');
  });

  afterEach(() => running?.killAll());

  after(() => fs.rmSync(checkout, { recursive: true, force: true }));

  const startTask = (): Promise<Running> =>
    Running.start(checkout, process.execPath, ['--import=tsx', path.join('scripts', 'start.ts')]);

  const linked = (): string => fs.realpathSync(path.join(checkout, LINK));

  function relink(target: string): void {
    const link = path.join(checkout, LINK);
    fs.mkdirSync(path.dirname(link), { recursive: true });
    fs.rmSync(link, { force: true });
    fs.symlinkSync(target, link, 'junction');
  }

  it('runs the first example at the port of PORT and on loopback only, introduces itself once, and ends with SIGTERM', async () => {
    running = await startTask();
    const { url, output } = running;
    assert.ok(output.includes(`Open  ${url}/`), output);
    assert.match(output, /Server now running at http:\/\/127\.0\.0\.1:/);
    assert.equal((await fetch(url)).status, 200);
    const unproven = { method: 'POST', body: '{}' };
    assert.equal((await fetch(`${url}/remote-monitoring/example-01`, unproven)).status, 401);

    const deployed = await fetch(`${url}/flows`);
    const again = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: await deployed.text(),
    };
    assert.ok((await fetch(`${url}/flows`, again)).ok);
    const { length } = output;
    await running.until(() => /Started flows/.test(running?.output.slice(length) ?? ''), 'the deploy');
    assert.equal(running.output.match(/Stop with Ctrl-C/g)?.length, 1);
    await running.endsWith('SIGTERM');
  });

  it('keeps what was changed in its user directory, links the package again that led elsewhere, and ends with SIGHUP', async () => {
    const elsewhere = path.join(checkout, 'elsewhere');
    fs.mkdirSync(elsewhere);
    relink(elsewhere);
    const flows = path.join(checkout, '.start', 'flows.json');
    fs.writeFileSync(flows, '[{"id":"mine","type":"tab","label":"mine"}]');
    running = await startTask();
    assert.equal(linked(), checkout);
    assert.match(fs.readFileSync(flows, 'utf8'), /"mine"/);
    await running.endsWith('SIGHUP');
  });

  it('links the package again that led nowhere, and ends with the command that npm starts', async () => {
    relink(path.join(checkout, 'gone'));
    running = await Running.start(checkout, process.execPath, [
      path.join('scripts', 'bootstrap.js'),
      'start',
    ]);
    assert.equal(linked(), checkout);
    await running.endsWith('SIGTERM');
  });

  it('ends when npm ends the shell in between and nothing else', async function () {
    if (process.platform === 'win32') this.skip();
    const line = `"${process.execPath}" scripts/bootstrap.js start; true`;
    running = await Running.start(checkout, 'sh', ['-c', line]);
    await running.endsWith('SIGKILL');
  });
});

describe('the first script of every command', () => {
  it('names its tasks and fails where it is given none of them', async () => {
    const child = spawn(process.execPath, [path.join(__dirname, '../../scripts/bootstrap.js'), 'toString']);
    let errors = '';
    child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()));
    const [status]: unknown[] = await once(child, 'close');
    assert.equal(status, 1);
    assert.match(errors, /usage: node scripts\/bootstrap\.js start\|test\|build/);
  });
});
