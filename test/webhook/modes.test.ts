import assert from 'node:assert/strict';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { authorizationFor, AGENT_USER, envelope, PHRASE, signed, station, withToken } from './sample';
import { type Post, ReceiverUnderTest } from './receiver-under-test';

const KEY = '"authenticationToken"';
const { body: TOKEN } = withToken();
const FIRST_RIGHT = TOKEN.replace('"payload"', `${KEY}:"x","payload"`);
const TWICE = TOKEN.replace(KEY, `${KEY}:"${PHRASE}","AuthenticationToken":"x","other"`);
const NO_UTF8 = Buffer.concat([Buffer.from(TOKEN.slice(0, -1)), Buffer.from([0xff]), Buffer.from('}')]);
const NESTED: unknown = JSON.parse('['.repeat(100) + ']'.repeat(100));
const FORGED = { Authorization: 'HMAC-SHA256 x' };
const WRONG = 'not the phrase at all';

const unsigned = (...changes: Parameters<typeof envelope>): Post => {
  return { body: JSON.stringify(envelope(...changes)) };
};
const signedBy = (phrase: string, { body }: { body: string } = signed()): Post => {
  return { body, headers: { Authorization: authorizationFor(body, phrase) } };
};
const tokenOf = (authenticationToken: string): Post => withToken({ authenticationToken });

type Row = [title: string, message: Post, fate: string];

const WRONG_TEXTS = ['', ` ${PHRASE}`, `${PHRASE} `, 'SEVEN CALM'];
const WRONG_TOKENS = [null, undefined, 5, [PHRASE], { a: PHRASE }, true, ...WRONG_TEXTS];
const TOO_DEEP = unsigned({ authenticationToken: PHRASE }, { nested: NESTED });
const RIGHT_SIGNATURE = signed({ authenticationToken: WRONG });
const AT_HTTPS: Row[] = [
  ['C-79 C-89 the phrase, over plain http too, for TLS may end in front', withToken(), 'north token current'],
  ...WRONG_TOKENS.map((token): Row => {
    const title = `C-80 C-81 T-26 the token ${JSON.stringify(token)}`;
    return [title, unsigned({ authenticationToken: token }), '401 bad-token'];
  }),
  ['C-81 the token in capitals', tokenOf(PHRASE.toUpperCase()), '401 bad-token'],
  ['C-82 C-25 a text with the phrase', { body: PHRASE }, '401 bad-token'],
  ['C-82 C-25 a form with the phrase', { body: `authenticationToken=${PHRASE}` }, '401 bad-token'],
  ['C-82 C-25 a truncated document', { body: TOKEN.slice(0, -1) }, '401 bad-token'],
  ['C-82 C-25 nothing', {}, '401 bad-token'],
  ['C-83 two tokens, the second right', { body: TOKEN.replace(KEY, `${KEY}:"x",${KEY}`) }, '401 bad-token'],
  ['C-83 two, the first right', { body: FIRST_RIGHT }, '401 bad-token'],
  ['C-83 two, the second with a capital letter', { body: TWICE }, '401 bad-token'],
  ['C-84 a token in the payload', unsigned({}, { authenticationToken: PHRASE }), '401 bad-token'],
  ['C-84 a capital letter', { body: TOKEN.replace(KEY, '"AuthenticationToken"') }, 'north token current'],
  ['C-115 a token beside what is no UTF-8', { body: NO_UTF8 }, '401 bad-token'],
  ['C-112 nesting too deep', TOO_DEEP, 'dead-letter too-deep'],
  ['C-86 a right signature without a token', signed(), 'north hmac current scheme'],
  ['C-87 a right signature with a wrong token', RIGHT_SIGNATURE, '401 bad-token'],
  ['C-88 a wrong signature with a right token', signedBy(WRONG, withToken()), 'north token current'],
];
const AT_HTTP: Row[] = [
  ['a message without a proof', unsigned(), '401 no-signature'],
  ['C-36 T-27 a message of another station', signedBy('another phrase'), '401 bad-signature'],
  ['C-87 a right signature with a wrong token', RIGHT_SIGNATURE, 'north hmac current scheme'],
  ['C-88 a wrong signature with a right token', signedBy(WRONG, withToken()), '401 bad-signature'],
];

const RENEWED = station({ secret: 'the new phrase', previousSecret: PHRASE });
const WITHOUT_PREVIOUS = { ...RENEWED, previousSecret: '' };
const PREVIOUS: Row = ['C-93 a message by it', signed(), '401 bad-signature'];
const OF_BOTH: Row = ['C-94 a message by it', signed(), 'cut'];
const PATH_OF_THREE = [
  station({ key: 'a', secret: 'phrase of a', previousSecret: PHRASE }),
  station({ key: 'b' }),
  station({ key: 'c', secret: 'phrase of c', previousSecret: PHRASE, scheme: 'https' }),
];
const OF_SOMEBODY = [station({ agentUserId: 'somebody-else' })];

const AT_RENEWED: Row[] = [
  ['C-92 the previous one', signed(), 'north hmac previous'],
  ['C-92 the new one', signedBy('the new phrase'), 'north hmac current'],
];
const AT_THREE: Row[] = [
  ['C-94 C-95 a message of the third', signed(), 'b hmac current'],
  ['C-94 C-95 a message of one of them', signedBy('phrase of a'), 'a hmac current'],
  ['C-95 a token of the one with https', tokenOf('phrase of c'), 'c token current'],
  ['C-95 a token of one with http', tokenOf('phrase of a'), '401 bad-token'],
];
const OTHER_AGENT_USER: Row = ['C-96 an event', signed(), 'north hmac current agent-user'];
const OF_SOUTH: Row = ['C-96 an event of that of south', signed(), 'dead-letter agent-user'];
const OF_NORTH: Row = ['C-96 an event of that of south', signed(), 'north hmac current'];
const IN_CAPITALS = [station({ agentUserId: AGENT_USER.toUpperCase() })];
const SOUTH = { [AGENT_USER]: 'south' };

/** What becomes of messages at such stations. */
const CASES: [where: string, ReceivingStation[], rows: Row[], agentUsers?: Record<string, string>][] = [
  ['with https', [station({ scheme: 'https' })], AT_HTTPS],
  ['with http', [station()], AT_HTTP],
  ['with a new phrase', [RENEWED], AT_RENEWED],
  ['without the previous one', [WITHOUT_PREVIOUS], [PREVIOUS]],
  ['with one phrase for two', [station(), station({ key: 'b' })], [OF_BOTH]],
  ['of which two have the phrase of the third as previous one', PATH_OF_THREE, AT_THREE],
  ['of another Agent User', OF_SOMEBODY, [OTHER_AGENT_USER]],
  ['of another Agent User than south', OF_SOMEBODY, [OF_SOUTH], SOUTH],
  ['of that Agent User, in capitals', IN_CAPITALS, [OF_NORTH], SOUTH],
  ['without an Agent User', [station()], [OF_NORTH], SOUTH],
];

describe('the configured scheme and the stations of an endpoint', () => {
  let receiver: ReceiverUnderTest;
  beforeEach(async () => {
    receiver = await ReceiverUnderTest.start();
  });
  afterEach(() => receiver.close());

  /** Who sent it, by which proof and phrase, with its warnings; or the problem that it is, or the status of a refusal. */
  async function fateOf(post: Post): Promise<string> {
    const { status, headers } = await receiver.post(post);
    if (status === 0) return 'cut';
    await receiver.until(() => receiver.deliveries.length + receiver.problems.length > 0, 'its fate');
    const [{ message } = {}] = receiver.deliveries;
    const [problem] = receiver.problems;
    if (status === 401) {
      assert.deepEqual([headers['www-authenticate'], message], ['HMAC-SHA256', undefined]);
      return `401 ${problem?.reason}`;
    }
    assert.equal(status, 200);
    if (message === undefined) return `${problem?.kind} ${problem?.reason}`;
    return [message.stationKey, message.proof, message.secret, ...message.warnings].join(' ');
  }

  for (const [where, stations, rows, agentUsers = {}] of CASES)
    for (const [title, message, fate] of rows)
      it(`${title}, at stations ${where}: ${fate}`, async () => {
        Object.assign(receiver, { stations, agentUsers });
        assert.equal(await fateOf(message), fate);
      });

  it('C-85 C-90 refuses a token at an http station, whatever a header says of the scheme, and calls the phrase burnt', async () => {
    const headers = { 'X-Forwarded-Proto': 'https', Forwarded: 'proto=https', 'X-Forwarded-Ssl': 'on' };
    assert.equal(await fateOf({ ...withToken(), headers }), '401 no-signature');
    assert.equal(receiver.lines.filter((line) => line.includes('change it')).length, 1);
    assert.equal(receiver.lines.join().includes(PHRASE), false);
  });

  it('C-91 takes any X-Forwarded-For without a word', async () => {
    const { body, headers } = signed();
    const list = Array.from({ length: 50 }, (_, index) => `10.0.0.${index}`).join(', ');
    await receiver.takes({ body, headers: { ...headers, 'X-Forwarded-For': list } });
  });

  it('reads no JSON of a long body that nobody signed, where only a signature counts', async () => {
    const body = `{${'"\\q":'.repeat(200_000)}`;
    assert.equal(await receiver.statusOf({ body }), 401);
    assert.equal(await receiver.statusOf({ body, headers: FORGED }), 401);
    await receiver.takes(signed());
  });

  it('tells output 3 of refusals at most once per reason in 10 s, and counts the rest', async () => {
    let steady = 0;
    await receiver.close();
    receiver = await ReceiverUnderTest.start({ monotonic: () => steady });
    for (let time = 0; time < 3; time++) await receiver.post({ body: 'x' });
    await receiver.post({ body: 'x', headers: FORGED });
    steady = 10_001;
    await receiver.post({ body: 'x' });
    await receiver.until(() => receiver.problems.length === 3, 'three problems');
    const told = receiver.problems.map(({ reason, count }) => `${reason} ${count}`);
    assert.deepEqual(told, ['no-signature 1', 'bad-signature 1', 'no-signature 3']);
    const [{ kind, station: key, bytes, event } = assert.fail()] = receiver.problems;
    assert.deepEqual([kind, key, bytes, event], ['unauthentic', 'north', 1, undefined]);
  });

  it('gives every refusal the same answer', async () => {
    const posts = [{ body: 'x' }, { body: signed().body, headers: FORGED }];
    const [one, two] = await Promise.all(posts.map((post) => receiver.post(post)));
    assert.equal(one?.text, two?.text);
  });
});
