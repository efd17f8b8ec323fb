import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { PATH, webhookFlow } from '../support/node-red/flows';
import { entrance, NodeRed, probe, inject, otherNode } from '../support/node-red/node-red';
import { turnMeter } from '../support/node-red/turn-meter';
import { longestTurnAllowed } from '../support/time/event-loop';
import { post } from '../support/webhook/alarm-message';

/** Texts that these releases hash to themselves: of a hash table of 64 Ki places all fall into the same. */
const APART = 65_536;
/** Of what a text may stand for to be hashed so: 32 bits. */
const MOST = 2 ** 32;
const MIB = 1024 * 1024;
const KIB = 1024;
/** Messages of 64 KiB a second, and seconds. */
const A_SECOND = 20;
const SECONDS = 3;
/** Times 20 ms, which a slow machine has more of. */
const MOST_TURN = 2.5;
const GUESS = 'somebody else has this phrase';

/** Texts that collide, none of them in two messages: those that one leaves behind make the next take longer. */
class Collisions {
  #next = APART;

  /** An unproven event of so many bytes with at most so many texts that collide. */
  event(bytes: number, most: number, fields: Record<string, unknown>): string {
    const messageId = String(this.#next);
    const head = { payloadType: 'BlueEvent', messageId, ...fields };
    const begin = `${JSON.stringify(head).slice(0, -1)},"payload":{"alarmId":"${messageId}","x":[`;
    const texts: string[] = [];
    for (let length = begin.length; texts.length < most && length < bytes - 100; length += 13)
      texts.push(`"${this.#text()}"`);
    const body = `${begin}${texts.join()}],"y":"`;
    return `${body}${'y'.repeat(bytes - body.length - 3)}"}}`;
  }

  #text(): string {
    const text = String(this.#next);
    this.#next += APART;
    if (this.#next >= MOST) this.#next = (this.#next % APART) + APART + 1;
    return text;
  }
}

const FORMS = [
  ['token', 'https', { authenticationToken: GUESS }, {}],
  ['signature', 'http', {}, { Authorization: `HMAC-SHA256 ${'A'.repeat(43)}=` }],
] as const;

for (const version of ['22.19.0', '24.0.0'])
  describe(`texts that collide, on Node.js ${version}`, () => {
    let node: string;
    let nodeRed: NodeRed;
    const collisions = new Collisions();

    before(async function () {
      node = otherNode(this, version);
      nodeRed = await NodeRed.start({ node });
    });

    after(async () => nodeRed?.stopAndRemove());

    let mark = 0;
    async function longestTurn(): Promise<number> {
      mark += 1;
      const mine = mark;
      await inject(nodeRed, 'ask', { mark: mine });
      const { payload } = await nodeRed.message('turns', (seen) => seen.mark === mine);
      return Math.max(...(payload as number[]));
    }

    // Too many large ones are cut.
    const send = (body: string, headers: Record<string, string>): Promise<number> =>
      post(nodeRed.url + PATH, body, undefined, headers).then(
        ({ status }) => status,
        () => 0,
      );

    it('hold up JSON.parse', () => {
      const script = `const text = require('fs').readFileSync(0, 'utf8'); JSON.parse(text); console.log(process.cpuUsage().user / 1000);`;
      const took = Number(
        execFileSync(node, ['-e', script], { input: collisions.event(MIB, Infinity, {}) }).toString(),
      );
      assert.ok(took > 500, `${took} ms`);
    });

    for (const [form, scheme, fields, headers] of FORMS) {
      async function holdsUpNothing(work: () => Promise<void>): Promise<void> {
        const allowed = MOST_TURN * longestTurnAllowed();
        const meter = [...entrance('ask', 'meter'), turnMeter('turns'), probe('turns')];
        await nodeRed.deploy(webhookFlow({ station: { scheme } }, ...meter));
        await longestTurn();
        await work();
        const longest = await longestTurn();
        assert.ok(longest < allowed, `${longest} ms, of ${allowed}`);
      }

      it(`hold up nothing in a body of 1 MiB that nothing proves, with a ${form} in form`, async () => {
        const bodies = [1, 2, 3].map(() => collisions.event(MIB, Infinity, fields));
        await holdsUpNothing(async () => {
          const answers = await Promise.all(bodies.map((body) => send(body, headers)));
          assert.ok(answers.includes(401), answers.join());
        });
      });

      for (const most of [900, Infinity])
        it(`hold up nothing in 20 bodies of 64 KiB a second that nothing proves, with a ${form} in form, of ${most} texts`, async () => {
          const numbers = Array.from({ length: A_SECOND * SECONDS });
          const bodies = numbers.map(() => collisions.event(64 * KIB, most, fields));
          await holdsUpNothing(async () => {
            for (const body of bodies) {
              assert.equal(await send(body, headers), 401);
              await delay(1000 / A_SECOND);
            }
          });
        });
    }
  });
