import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import readline from 'node:readline';
import { ROOT } from '../node-red/node-red';
import { eventually } from '../time/patience';

interface DeliveryReport {
  messageId: string;
  state: string;
  attempts: { status?: number; error?: string }[];
}

/** The sandbox as a program of its own: the sender, which knows only what the service knows and resends as it does. */
export class SandboxProcess {
  /** Ids of all messages that were raised. */
  readonly raised: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
  ) {}

  static async start(webhook: string, phrase: string): Promise<SandboxProcess> {
    const cli = path.join(ROOT, 'dist', 'sandbox', 'cli.js');
    const ports = ['--port', '0', '--rtsp-port', '0'];
    const sender = ['--webhook', webhook, '--secret', phrase, '--events-per-minute', '0', '--sites', '1'];
    const child = spawn(process.execPath, [cli, ...ports, ...sender], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(readline.createInterface(child.stdout), 'line')) as [string];
    return new SandboxProcess(child, (JSON.parse(line) as { url: string }).url);
  }

  /** Raises an alarm that does not end while a test lasts. */
  async raise(): Promise<void> {
    const { messageId } = (await this.#ask('POST', 'alarms', { seconds: 86_400 })) as { messageId: string };
    this.raised.push(messageId);
  }

  /** The newest 2,000 messages. */
  async deliveries(): Promise<DeliveryReport[]> {
    return (await this.#ask('GET', 'deliveries')) as DeliveryReport[];
  }

  /** Lets the time of the resends come, until every message is acknowledged. */
  async resendAll(): Promise<void> {
    let states = new Set<string>();
    const isOver = async (): Promise<boolean> => {
      states = new Set((await this.deliveries()).map(({ state }) => state));
      if (states.has('pending')) await this.#ask('POST', 'clock', { advance: 10 });
      return !states.has('pending');
    };
    await eventually(isOver, 'the end of all resends');
    assert.deepEqual([...states], ['delivered']);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null) return;
    this.child.kill();
    await once(this.child, 'exit');
  }

  async #ask(method: string, call: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.url}/sandbox/${call}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
    });
    assert.ok(response.ok, `${call} answered ${response.status}`);
    return response.json();
  }
}
