import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { alarmOf, type Orders } from '../support/inbox/failing-store-child';
import { few } from '../support/suite/lanes';
import { PATIENCE } from '../support/time/patience';

/** For a hunt: `RVM_KILLS=20 RVM_KILL_EVENTS=100000`. */
const KILLS = Number(process.env['RVM_KILLS'] ?? few(1, 2, 10));
const EVENTS = Number(process.env['RVM_KILL_EVENTS'] ?? few(1000, 2000, 20_000));
/** For a process to come to where it is killed, in milliseconds: later it is killed all the same. */
const LIFE = 2000 + (EVENTS / KILLS) * 4;

/** After so many milliseconds, or acknowledgements; `drains`: then when a message moves from one store to another. */
type Kill = { after: number; when: 'moment' | 'acknowledged' | 'drains' };

interface Sent {
  /** In which life; Infinity until then. */
  acknowledged: number;
  readonly deliveries: { life: number; deliveryId: string; mayRepeat: boolean }[];
}

/** Processes one after the other on the same folders, and what each said until it was killed. */
class Lives {
  readonly violations: string[] = [];
  readonly figures: Record<string, number> = { events: EVENTS };
  readonly #folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-kills-'));
  readonly #sent = Array.from({ length: EVENTS }, (): Sent => ({ acknowledged: Infinity, deliveries: [] }));
  readonly #course: string[] = [];
  /** Numbers of those with the flow, by alarm. */
  readonly #atFlow = new Map<string, Set<number>>();
  #life = 0;
  #acknowledged = 0;
  #child: ChildProcess | undefined;

  constructor(private readonly handledWhen: 'sent' | 'settled') {}

  async killAll(): Promise<void> {
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const share = this.#open(Math.ceil((EVENTS * kill) / KILLS));
      const isEarly = Math.random() < 0.15;
      const when = isEarly ? 'moment' : Math.random() < 0.5 ? 'drains' : 'acknowledged';
      await this.#live(share, { after: Math.random() * (isEarly ? 500 : share.length), when });
    }
  }

  async finish(): Promise<void> {
    await this.#live(this.#open(EVENTS));
    const database = new DatabaseSync(path.join(this.#folder, 'inbox.sqlite'), { readOnly: true });
    const rows = database.prepare('SELECT id, delivery_id AS deliveryId, state FROM message').all();
    database.close();
    const inside = Map.groupBy(rows, ({ id }) => Number(id));
    for (const [number, { acknowledged, deliveries }] of this.#sent.entries()) {
      const own = inside.get(number) ?? [];
      if (acknowledged === Infinity || deliveries.length === 0 || own.length === 0)
        this.#violated('lost', number);
      // What has come to the flow under two ids has a row of each, which says what became of it.
      const came = new Set(deliveries.map(({ deliveryId }) => deliveryId));
      const isEach = own.every(({ deliveryId }) => came.delete(String(deliveryId)));
      if ((own.length > 1 && !isEach) || own.some(({ state }) => state !== 'delivered'))
        this.#violated(`rows: ${JSON.stringify(own)}`, number);
      if (own.length > 1) this.#count('two rows');
    }
    assert.deepEqual(fs.readdirSync(path.join(this.#folder, 'spill')), [], 'left in the spill folder');
  }

  end(): void {
    this.#child?.kill('SIGKILL');
    fs.rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Of the first so many, those that are not acknowledged. */
  #open(count: number): number[] {
    return [...this.#sent.keys()]
      .slice(0, count)
      .filter((number) => this.#sent[number]?.acknowledged === Infinity);
  }

  async #live(numbers: number[], kill?: Kill): Promise<void> {
    this.#life += 1;
    this.#atFlow.clear();
    const child = fork(path.join(__dirname, '../support/inbox/failing-store-child.ts'), {
      execArgv: ['--import=tsx'],
      stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'ipc'],
    });
    this.#child = child;
    const [, , , said] = child.stdio;
    assert.ok(said instanceof Readable);
    const lines = createInterface({ input: said });
    const end = (how = 'late'): void => {
      if (!child.killed) this.#count(`killed: ${how}`);
      child.kill('SIGKILL');
    };
    const enough = this.#acknowledged + (kill?.after ?? Infinity);
    lines.on('line', (line) => {
      const [word = '', ...rest] = line.split(' ');
      this.#hear(word, rest);
      if (kill?.when === 'moment') {
        if (word === 'U') setTimeout(end, kill.after, kill.when);
      } else if (this.#acknowledged >= enough && (kill?.when !== 'drains' || word === 'B')) end(kill?.when);
    });
    const isBroken = kill !== undefined;
    const orders: Orders = { folder: this.#folder, handledWhen: this.handledWhen, isBroken, numbers };
    child.send(orders);
    const timer = setTimeout(end, isBroken ? LIFE : PATIENCE + EVENTS * 5);
    await Promise.all([once(child, 'close'), once(lines, 'close')]);
    clearTimeout(timer);
    if (!isBroken) assert.equal(child.exitCode, 0, 'it did not come to its end');
  }

  #hear(word: string, rest: string[]): void {
    if (word === 'B') this.#count('brought');
    if (word === 'R') this.#count('refused');
    if (word === 'G') this.#count('spare given up');
    const number = Number(rest[0]);
    const sent = this.#sent[number];
    if (sent === undefined) return;
    this.#course.push([number, this.#life, word, ...rest.slice(1)].join(' '));
    if (word === 'A') {
      this.#acknowledged += 1;
      sent.acknowledged = Math.min(sent.acknowledged, this.#life);
    } else if (word === 'S') this.#atFlow.get(alarmOf(number))?.delete(number);
    else if (word === 'X') this.#violated('settled, and not known', number);
    else if (word === 'D') this.#delivered(sent, number, rest);
  }

  #delivered(sent: Sent, number: number, [, deliveryId = '', attempt, again, warnings]: string[]): void {
    const mayRepeat = warnings?.includes('may-repeat') === true;
    const former = sent.deliveries.at(-1);
    sent.deliveries.push({ life: this.#life, deliveryId, mayRepeat });
    if (former !== undefined) {
      this.#count('again');
      // One that was in memory alone when the process was killed comes once more, and cannot say so; it has said so before.
      const hasSaidSo = former.mayRepeat && former.life < Math.min(this.#life, sent.acknowledged);
      if (again === '-' && attempt === '1' && !mayRepeat)
        if (hasSaidSo) this.#count('said before');
        else this.#violated('twice, unmarked', number);
    }
    if (this.handledWhen !== 'settled') return;
    const those = (this.#atFlow.get(alarmOf(number)) ?? new Set()).add(number);
    this.#atFlow.set(alarmOf(number), those);
    if (those.size > 1) this.#violated('two of one alarm at the flow', ...those);
  }

  #count(what: string): void {
    this.figures[what] = (this.figures[what] ?? 0) + 1;
  }

  /** With the course of each of them. */
  #violated(what: string, ...numbers: number[]): void {
    const course = this.#course.filter((line) => numbers.includes(Number.parseInt(line, 10)));
    this.violations.push([`${numbers.join(' ')}: ${what}`, ...course].join('\n  '));
  }
}

describe('an inbox whose store fails, hangs and mends, in processes that are killed', () => {
  for (const handledWhen of ['sent', 'settled'] as const)
    it(`loses nothing, doubles nothing unmarked, and has one of each alarm at the flow, with events that are ${handledWhen}`, async function () {
      this.timeout(2 * PATIENCE + KILLS * LIFE + EVENTS * 5);
      const lives = new Lives(handledWhen);
      try {
        await lives.killAll();
        await lives.finish();
        assert.deepEqual(lives.violations, []);
      } finally {
        lives.end();
        process.stdout.write(`      ${JSON.stringify(lives.figures)}\n`);
      }
    });
});
