import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FlowNode } from '../node-red/node-red';
import { steadyNow } from '../time/steady';

/** It confirms after so many milliseconds, and up to so many more. */
const LEAST = 5;
const MORE = 25;

const TELL_SETTLED = `global.get('probe')('settled', { messageId: msg.webhook.messageId });`;

/** An event that the sink has taken for good. */
export interface Confirmation {
  /** Name of the instance that brought it. */
  instance: string;
  messageId: string;
  /** Milliseconds of `steadyNow`. */
  at: number;
}

/** What the flows of all instances bring their events to, as to a monitoring station: once it has answered, the flow settles. */
export class ConfirmingSink {
  readonly confirmations: Confirmation[] = [];
  readonly #confirmed = new Set<string>();
  /** By instance, how many of its processes have gone. */
  readonly #lives = new Map<string, number>();
  /** Instances whose events it does not confirm. */
  readonly #held = new Set<string>();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  readonly #server = http.createServer((req, res) => {
    // Whoever is killed in the midst of it brings it again.
    this.#take(req, res).catch(() => undefined);
  });

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  has(messageId: string): boolean {
    return this.#confirmed.has(messageId);
  }

  /** Events of this instance are not confirmed from now on: they stay with its flow. */
  hold(instance: string): void {
    this.#held.add(instance);
  }

  letGo(instance: string): void {
    this.#held.delete(instance);
    this.#changes.emit('change');
  }

  /** The process of an instance has ended: what it has brought and is not confirmed yet never is. */
  gone(instance: string): void {
    this.#lives.set(instance, this.#lifeOf(instance) + 1);
    this.letGo(instance);
  }

  /** Brings events here, and settles each once that is confirmed; where the store fails to, again after a moment. */
  nodes(instance: string): FlowNode[] {
    const { port } = this.#server.address() as AddressInfo;
    const place = { z: 'tab', name: '', x: 0, y: 0 };
    const step = { ...place, type: 'function', outputs: 1, libs: [] };
    const url = `http://127.0.0.1:${port}/${instance}`;
    return [
      { ...step, id: 'sink', func: 'msg.payload = msg.webhook; return msg;', wires: [['post']] },
      { ...place, id: 'post', type: 'http request', method: 'POST', url, wires: [['confirmed']] },
      { ...step, id: 'confirmed', func: 'return msg.statusCode === 200 ? msg : null;', wires: [['settle']] },
      { ...place, id: 'settle', type: 'rvm-settle', wires: [['settled'], ['again']] },
      { ...step, id: 'settled', func: TELL_SETTLED, wires: [[]] },
      {
        ...place,
        id: 'again',
        type: 'delay',
        pauseType: 'delay',
        timeout: '250',
        timeoutUnits: 'milliseconds',
        wires: [['settle']],
      },
    ];
  }

  async stop(): Promise<void> {
    for (const instance of this.#held) this.letGo(instance);
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #lifeOf(instance: string): number {
    return this.#lives.get(instance) ?? 0;
  }

  async #take(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    const instance = (req.url ?? '').slice(1);
    const life = this.#lifeOf(instance);
    const pieces: Buffer[] = [];
    for await (const piece of req) pieces.push(piece as Buffer);
    await delay(LEAST + Math.random() * MORE);
    while (this.#held.has(instance)) await once(this.#changes, 'change');
    if (life !== this.#lifeOf(instance)) return;
    const { messageId } = JSON.parse(Buffer.concat(pieces).toString()) as { messageId: string };
    this.#confirmed.add(messageId);
    this.confirmations.push({ instance, messageId, at: steadyNow() });
    res.end('taken');
  }
}
