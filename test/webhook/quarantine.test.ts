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
const ORIGIN = { received: new Date(), remoteAddress: undefined };

function quarantineOf(steady: () => number): Quarantine {
  const reporter = new Reporter(steady, () => undefined);
  return new Quarantine({ steady, clockGuard: new ClockGuard(Date.now, steady), reporter });
}

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

  const kept = () => inbox.quarantined(receiver.endpoint.id);

  async function refused(post: Post): Promise<void> {
    assert.equal((await receiver.post(post)).status, 401);
  }

  function tokenMessage(token: string): Post {
    const { body } = signed();
    const text = body.replace('"authenticationToken":null', `"authenticationToken":${JSON.stringify(token)}`);
    assert.notEqual(text, body);
    return { body: text };
  }

  it('are accepted by themselves when the phrase is corrected (signature)', async () => {
    receiver.stations = [station({ secret: WRONG })];
    const message = signed();
    await refused(message);
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length === 1, 'the copy');
    assert.equal(await receiver.dispatcher.judgeAgain(receiver.endpoint), 0);
    assert.equal(receiver.deliveries.length, 0);

    receiver.stations = [station()];
    assert.equal(await receiver.dispatcher.judgeAgain(receiver.endpoint), 1);
    await receiver.delivered(1);
    assert.equal(receiver.deliveries[0]?.message.proof, 'hmac');
    assert.deepEqual(await kept(), []);
    assert.match(receiver.lines.join('\n'), /has proved 1 webhook message that nothing had proved before/);
    assert.equal((await receiver.post(message)).status, 200);
    assert.equal(receiver.deliveries.length, 1);
  });

  it('are accepted by themselves when the phrase is corrected (token), which is kept nowhere', async () => {
    receiver.stations = [station({ scheme: 'https', secret: WRONG })];
    await refused(tokenMessage(PHRASE));
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length === 1, 'the copy');
    assert.doesNotMatch(
      JSON.stringify(inbox.store.work.quarantined(receiver.endpoint.id)),
      new RegExp(PHRASE),
    );
    const [copy] = await kept();
    assert.doesNotMatch(Buffer.from(copy?.body ?? []).toString(), new RegExp(PHRASE));

    receiver.stations = [station({ scheme: 'https', secret: 'a third phrase', previousSecret: PHRASE })];
    await receiver.dispatcher.judgeAgain(receiver.endpoint);
    await receiver.delivered(1);
    const { proof, secret } = receiver.deliveries[0]?.message ?? assert.fail();
    assert.deepEqual([proof, secret], ['token', 'previous']);
  });

  it('are not proved by what stands in place of their token', async () => {
    receiver.stations = [station({ scheme: 'https', secret: WRONG })];
    await refused(tokenMessage('something'));
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length === 1, 'the copy');
    receiver.stations = [station({ scheme: 'https', secret: '***' })];
    await receiver.dispatcher.judgeAgain(receiver.endpoint);
    assert.equal((await kept()).length, 1);
    assert.equal(receiver.deliveries.length, 0);
  });

  it('are kept only where they carry a proof that another phrase could confirm', async () => {
    const { body, headers } = signed();
    const inForm = { Authorization: `HMAC-SHA256 ${'A'.repeat(43)}=` };
    await refused({ headers: inForm });
    await refused({ body: '{"a":1}', headers: { Authorization: 'HMAC-SHA256 abc' } });
    await refused({ body });
    await refused({ body: `${body.slice(0, -1)},"x":"${'y'.repeat(70_000)}"}`, headers });
    for (const header of ['Bearer secret-of-somebody', `HMAC-SHA256 ${PHRASE}`])
      await refused({ body, headers: { Authorization: header } });
    await refused({ body, headers: inForm });
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length > 0, 'the copy');
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
      const inForm = { Authorization: `HMAC-SHA256 ${'A'.repeat(43)}=` };
      await refused({ body, headers: inForm });
      await refused(signed());
      await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length > 0, 'the copy');
      assert.equal((await kept()).length, 1);
    });

  it('are kept without their token, however its name is written', async () => {
    receiver.stations = [station({ scheme: 'https', secret: WRONG })];
    const names = ['authenticationToken', 'AuthenticationToken', '\\u0061uthentication\\u0054oken'];
    const tokens = [
      JSON.stringify(PHRASE),
      `"\\u${PHRASE.charCodeAt(0).toString(16).padStart(4, '0')}${PHRASE.slice(1)}"`,
    ];
    for (const name of names)
      for (const token of tokens)
        await refused({
          body: signed().body.replace('"authenticationToken":null', ` "${name}" :\n${token} `),
        });
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length === 6, 'the copies');
    for (const copy of await kept()) assert.doesNotMatch(Buffer.from(copy.body).toString(), /otters/);
    receiver.stations = [station({ scheme: 'https' })];
    assert.equal(await receiver.dispatcher.judgeAgain(receiver.endpoint), 6);
  });

  it('are dead letters where a corrected phrase proves what is no envelope', async () => {
    receiver.stations = [station({ secret: WRONG })];
    const body = '{"payloadType":"BlueEvent"}';
    await refused({ body, headers: { Authorization: authorizationFor(body) } });
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length === 1, 'the copy');
    receiver.stations = [station()];
    await receiver.dispatcher.judgeAgain(receiver.endpoint);
    assert.deepEqual(await kept(), []);
    assert.deepEqual(receiver.deliveries, []);
    assert.equal(receiver.reasons().at(-1), 'not-json');
  });

  it('are kept at most 20 of a second, 200 of an address and 16 MiB in all, the newest', async () => {
    await receiver.close();
    inbox = new InlineInbox();
    receiver = await ReceiverUnderTest.start({ inbox, steady: () => steady });
    receiver.stations = [station({ secret: WRONG })];
    for (let i = 0; i < 30; i += 1) await refused(signed());
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length === 20, '20 copies');
    for (let i = 0; i < 190; i += 1) {
      steady += 1000;
      await refused(signed());
    }
    await receiver.until(
      () => inbox.store.work.quarantined(receiver.endpoint.id).length === 200,
      '200 copies',
    );
    const bytes = new Uint8Array(60 * 1024);
    const big = { endpoint: receiver.endpoint.id, facts: '{}', bytes };
    for (let i = 0; i < 400; i += 1) inbox.store.work.quarantine({ ...big, address: `10.0.0.${i}` });
    const held = inbox.store.work.quarantined(receiver.endpoint.id);
    assert.ok(held.reduce((sum, row) => sum + row.bytes.length, 0) <= 16 * 1024 * 1024);
    assert.equal(held.at(-1)?.address, '10.0.0.399');
  });

  it('are held 50 at a time while the store does not answer, and no more', async () => {
    const quarantine = quarantineOf(() => steady);
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
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length >= 50, '50 copies');
    keep();
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length > 50, 'the copy');
    assert.equal((await kept()).length, 51);
  });

  it('belong to their endpoint', async () => {
    receiver.stations = [station({ secret: WRONG })];
    await refused(signed());
    await receiver.until(() => inbox.store.work.quarantined(receiver.endpoint.id).length === 1, 'the copy');
    const other = { ...receiver.endpoint, id: 'another', path: `${PATH}-2`, stations: () => [station()] };
    await receiver.dispatcher.judgeAgain(other);
    assert.equal((await kept()).length, 1);
  });
});
