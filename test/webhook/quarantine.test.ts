import assert from 'node:assert/strict';
import { jsonOf } from '../../lib/message/body';
import { ClockGuard } from '../../lib/webhook/judge';
import { Quarantine } from '../../lib/webhook/quarantine';
import { Reporter } from '../../lib/webhook/reporter';
import { InlineInbox } from '../support/inbox/each-store';
import { PATIENCE } from '../support/time/patience';
import { PATH, ReceiverUnderTest, type Post } from './receiver-under-test';
import { authorizationFor, PHRASE, signed, station } from './sample';

const WRONG = 'another phrase';
const inForm = { Authorization: `HMAC-SHA256 ${'A'.repeat(43)}=` };
const ORIGIN = { received: new Date(), remoteAddress: undefined };

describe('messages that nothing proves', () => {
  let inbox: InlineInbox;
  let receiver: ReceiverUnderTest;
  let steady: number;
  beforeEach(async () => {
    steady = performance.now();
    inbox = new InlineInbox();
    receiver = await ReceiverUnderTest.start({ inbox, holdMs: PATIENCE });
  });
  afterEach(() => receiver.close());

  /** What the store has, at once. */
  const rows = () => inbox.store.work.quarantined(receiver.endpoint.id);
  const copies = (count: number): Promise<void> =>
    receiver.until(() => rows().length >= count, `${count} copies`);
  const kept = () => inbox.quarantined(receiver.endpoint.id);

  async function refused(...posts: Post[]): Promise<void> {
    for (const post of posts) assert.equal(await receiver.statusOf(post), 401);
  }
  const judgeAgain = (): Promise<number> => receiver.dispatcher.judgeAgain(receiver.endpoint);

  /** A message with this in place of its empty token. */
  function withField(field: string): Post {
    const { body } = signed();
    const text = body.replace('"authenticationToken":null', field);
    assert.notEqual(text, body);
    return { body: text };
  }

  const tokenMessage = (token: string): Post => withField(`"authenticationToken":${JSON.stringify(token)}`);

  it('are accepted by themselves when the phrase is corrected (signature)', async () => {
    receiver.stations = [station({ secret: WRONG })];
    const message = signed();
    await refused(message);
    await copies(1);
    assert.deepEqual([await judgeAgain(), receiver.deliveries.length], [0, 0]);
    receiver.stations = [station()];
    assert.equal(await judgeAgain(), 1);
    await receiver.delivered(1);
    assert.equal(receiver.deliveries[0]?.message.proof, 'hmac');
    assert.deepEqual(await kept(), []);
    assert.match(receiver.lines.join('\n'), /has proved 1 webhook message that nothing had proved before/);
    await receiver.takes(message);
    assert.equal(receiver.deliveries.length, 1);
  });

  it('are accepted by themselves when the phrase is corrected (token), which is kept nowhere', async () => {
    receiver.stations = [station({ scheme: 'https', secret: WRONG })];
    await refused(tokenMessage(PHRASE));
    await copies(1);
    assert.doesNotMatch(JSON.stringify(rows()), new RegExp(PHRASE));
    const [copy] = await kept();
    assert.doesNotMatch(Buffer.from(copy?.body ?? []).toString(), new RegExp(PHRASE));

    receiver.stations = [station({ scheme: 'https', secret: 'a third phrase', previousSecret: PHRASE })];
    await judgeAgain();
    await receiver.delivered(1);
    const { proof, secret } = receiver.deliveries[0]?.message ?? assert.fail();
    assert.deepEqual([proof, secret], ['token', 'previous']);
  });

  it('are not proved by what stands in place of their token', async () => {
    receiver.stations = [station({ scheme: 'https', secret: WRONG })];
    await refused(tokenMessage('something'));
    await copies(1);
    receiver.stations = [station({ scheme: 'https', secret: '***' })];
    await judgeAgain();
    assert.deepEqual([(await kept()).length, receiver.deliveries.length], [1, 0]);
  });

  it('are kept only where they carry a proof that another phrase could confirm', async () => {
    const { body, headers } = signed();
    await refused({ headers: inForm }, { body });
    await refused({ body: `${body.slice(0, -1)},"x":"${'y'.repeat(70_000)}"}`, headers });
    for (const Authorization of ['HMAC-SHA256 abc', 'Bearer secret-of-somebody', `HMAC-SHA256 ${PHRASE}`])
      await refused({ body, headers: { Authorization } });
    await refused({ body, headers: inForm });
    await copies(1);
    assert.equal((await kept()).length, 1);
  });

  // The token of a text that is no JSON may stand where nobody looks for it.
  for (const body of [
    '{"payloadType":',
    '{"a":1}{"b":2}',
    '[{"a":1}]',
    '{"payloadType":BlueEvent}',
    `{"authenticationToken":"my "${PHRASE}" x"}`,
    `{"authenticationToken" "${PHRASE}"}`,
    `{"authenticationToken":null "${PHRASE}"}`,
    `{authenticationToken:"${PHRASE}"}`,
    `{"payload":[,"authenticationToken":"${PHRASE}"}]`,
  ])
    it(`are not kept where they are no well-formed object: ${body}`, async () => {
      receiver.stations = [station({ secret: WRONG })];
      await refused({ body, headers: inForm }, signed());
      await copies(1);
      assert.equal((await kept()).length, 1);
    });

  it('are kept without their token, however its name is written', async () => {
    receiver.stations = [station({ scheme: 'https', secret: WRONG })];
    const names = ['authenticationToken', 'AuthenticationToken', '\\u0061uthentication\\u0054oken'];
    const escaped = `\\u${PHRASE.charCodeAt(0).toString(16).padStart(4, '0')}${PHRASE.slice(1)}`;
    for (const name of names)
      for (const token of [PHRASE, escaped]) await refused(withField(` "${name}" :\n"${token}" `));
    await copies(6);
    for (const copy of await kept()) assert.doesNotMatch(Buffer.from(copy.body).toString(), /otters/);
    receiver.stations = [station({ scheme: 'https' })];
    assert.equal(await judgeAgain(), 6);
  });

  it('are dead letters where a corrected phrase proves what is no envelope', async () => {
    receiver.stations = [station({ secret: WRONG })];
    const body = '{"payloadType":"BlueEvent"}';
    await refused({ body, headers: { Authorization: authorizationFor(body) } });
    await copies(1);
    receiver.stations = [station()];
    await judgeAgain();
    assert.deepEqual([await kept(), receiver.deliveries, receiver.reasons().at(-1)], [[], [], 'not-json']);
  });

  it('are kept at most 20 of a second, 200 of an address and 16 MiB in all, the newest', async () => {
    await receiver.close();
    inbox = new InlineInbox();
    receiver = await ReceiverUnderTest.start({ inbox, monotonic: () => steady });
    receiver.stations = [station({ secret: WRONG })];
    for (let i = 0; i < 30; i += 1) await refused(signed());
    await copies(20);
    for (let i = 0; i < 190; i += 1) {
      steady += 1000;
      await refused(signed());
    }
    await copies(200);
    const bytes = new Uint8Array(60 * 1024);
    const big = { endpoint: receiver.endpoint.id, facts: '{}', bytes };
    for (let i = 0; i < 400; i += 1) inbox.store.work.quarantine({ ...big, address: `10.0.0.${i}` });
    const held = rows();
    assert.ok(held.reduce((sum, row) => sum + row.bytes.length, 0) <= 16 * 1024 * 1024);
    assert.equal(held.at(-1)?.address, '10.0.0.399');
  });

  it('are held 50 at a time while the store does not answer, and no more', async () => {
    const clock = (): number => steady;
    const [clockGuard, reporter] = [new ClockGuard(Date.now, clock), new Reporter(clock, () => undefined)];
    const quarantine = new Quarantine({ monotonic: clock, clockGuard, reporter });
    const keep = (): void => {
      steady += 1000;
      const { body: text, headers } = signed();
      const body = Buffer.from(text);
      const raw = { body, authorization: [headers['Authorization'] ?? ''], json: jsonOf(body) };
      quarantine.keep(receiver.endpoint, raw, ORIGIN, 'bad-signature');
    };
    const store = inbox.answersLate();
    for (let i = 0; i < 80; i += 1) keep();
    store.answer();
    await copies(50);
    keep();
    await copies(51);
    assert.equal((await kept()).length, 51);
  });

  it('belong to their endpoint', async () => {
    receiver.stations = [station({ secret: WRONG })];
    await refused(signed());
    await copies(1);
    const other = { ...receiver.endpoint, id: 'another', path: `${PATH}-2`, stations: () => [station()] };
    await receiver.dispatcher.judgeAgain(other);
    assert.equal((await kept()).length, 1);
  });
});
