import assert from 'node:assert/strict';
import { authorizationFor, AGENT_USER, envelope, PHRASE, signed, station, withToken } from './sample';
import { ReceiverUnderTest } from './receiver-under-test';

const WRONG = 'not the phrase at all';

describe('the configured scheme and the stations of an endpoint', () => {
  let receiver: ReceiverUnderTest;
  beforeEach(async () => {
    receiver = await ReceiverUnderTest.start();
  });
  afterEach(() => receiver.close());

  function useHttps(): void {
    receiver.stations = [station({ scheme: 'https' })];
  }

  async function refused(body: string, reason: string, headers: Record<string, string> = {}): Promise<void> {
    const answer = await receiver.post({ body, headers });
    assert.equal(answer.status, 401);
    assert.equal(answer.headers['www-authenticate'], 'HMAC-SHA256');
    await receiver.until(() => receiver.problems.length > 0, 'a problem');
    assert.deepEqual(receiver.reasons(), [reason]);
  }

  it('C-79 C-89 accepts the phrase in the body, over plain http too, for TLS may end in front', async () => {
    useHttps();
    assert.equal((await receiver.post(withToken())).status, 200);
    await receiver.delivered(1);
    const [delivery] = receiver.deliveries;
    assert.deepEqual([delivery?.message.proof, delivery?.message.warnings], ['token', []]);
  });

  for (const token of [
    null,
    undefined,
    '',
    5,
    [PHRASE],
    { a: PHRASE },
    true,
    ` ${PHRASE}`,
    `${PHRASE} `,
    PHRASE.toUpperCase(),
  ]) {
    it(`C-80 C-81 T-26 refuses the token ${JSON.stringify(token)}`, async () => {
      useHttps();
      await refused(JSON.stringify(envelope({ authenticationToken: token })), 'bad-token');
    });
  }

  for (const [title, body] of [
    ['text with the phrase', PHRASE],
    ['a form with the phrase', `authenticationToken=${PHRASE}`],
    ['a truncated document', JSON.stringify(envelope({ authenticationToken: PHRASE })).slice(0, -1)],
    ['nothing', ''],
  ] as const) {
    it(`C-82 C-25 refuses a body that is not JSON: ${title}`, async () => {
      useHttps();
      await refused(body, 'bad-token');
    });
  }

  it('C-83 refuses the token key twice, whichever is right', async () => {
    useHttps();
    const text = JSON.stringify(envelope({ authenticationToken: PHRASE }));
    for (const twice of [
      text.replace('"authenticationToken"', '"authenticationToken":"x","authenticationToken"'),
      text.replace(
        '"authenticationToken"',
        `"authenticationToken":"${PHRASE}","AuthenticationToken":"x","other"`,
      ),
      text.replace('"payload"', '"authenticationToken":"x","payload"'),
    ]) {
      assert.equal((await receiver.post({ body: twice })).status, 401);
    }
  });

  it('C-84 takes no token from the payload, but one with a capital first letter', async () => {
    useHttps();
    const inside = envelope({}, { authenticationToken: PHRASE });
    assert.equal((await receiver.post({ body: JSON.stringify(inside) })).status, 401);
    const capital = { ...envelope({ authenticationToken: undefined }), AuthenticationToken: PHRASE };
    assert.equal((await receiver.post({ body: JSON.stringify(capital) })).status, 200);
  });

  it('C-115 refuses bytes that are not UTF-8 where only a token could prove them', async () => {
    useHttps();
    const text = Buffer.from(JSON.stringify(envelope({ authenticationToken: PHRASE })));
    const body = Buffer.concat([text.subarray(0, -1), Buffer.from([0xff]), text.subarray(-1)]);
    assert.equal((await receiver.post({ body })).status, 401);
  });

  it('C-112 keeps a message with a right token that is nested too deep', async () => {
    useHttps();
    const nested: unknown = JSON.parse('['.repeat(100) + ']'.repeat(100));
    const body = JSON.stringify(envelope({ authenticationToken: PHRASE }, { nested }));
    assert.equal((await receiver.post({ body })).status, 200);
    await receiver.until(() => receiver.problems.length === 1, 'the dead letter');
    assert.deepEqual(receiver.reasons(), ['too-deep']);
  });

  it('C-85 C-90 refuses a token at an http station, whatever a header says of the scheme, and calls the phrase burnt', async () => {
    const { body } = withToken();
    const headers = { 'X-Forwarded-Proto': 'https', Forwarded: 'proto=https', 'X-Forwarded-Ssl': 'on' };
    await refused(body, 'no-signature', headers);
    assert.equal(receiver.lines.filter((line) => line.includes('change it')).length, 1);
    assert.equal(receiver.lines.join().includes(PHRASE), false);
  });

  it('C-86 accepts a right signature without a token at an https station, with a warning', async () => {
    useHttps();
    assert.equal((await receiver.post(signed())).status, 200);
    await receiver.delivered(1);
    const [delivery] = receiver.deliveries;
    assert.deepEqual([delivery?.message.proof, delivery?.message.warnings], ['hmac', ['scheme']]);
  });

  const both: ['http' | 'https', 'right' | 'wrong', 'right' | 'wrong', number][] = [
    ['http', 'right', 'wrong', 200],
    ['https', 'right', 'wrong', 401],
    ['http', 'wrong', 'right', 401],
    ['https', 'wrong', 'right', 200],
  ];
  for (const [scheme, signature, token, status] of both) {
    it(`C-87 C-88 ${scheme}: ${signature} signature with ${token} token is ${status}`, async () => {
      receiver.stations = [station({ scheme })];
      const body = JSON.stringify(envelope({ authenticationToken: token === 'right' ? PHRASE : WRONG }));
      const phrase = signature === 'right' ? PHRASE : WRONG;
      const answer = await receiver.post({
        body,
        headers: { Authorization: authorizationFor(body, phrase) },
      });
      assert.equal(answer.status, status);
    });
  }

  it('C-91 takes any X-Forwarded-For without a word', async () => {
    const { body, headers } = signed();
    const list = Array.from({ length: 50 }, (_, index) => `10.0.0.${index}`).join(', ');
    const answer = await receiver.post({ body, headers: { ...headers, 'X-Forwarded-For': list } });
    assert.equal(answer.status, 200);
  });

  it('C-36 T-27 refuses a message of another station', async () => {
    receiver.stations = [station({ key: 'b', secret: 'phrase of b' })];
    await refused(signed().body, 'no-signature');
    assert.equal((await receiver.post(signed())).status, 401);
  });

  it('C-92 says which phrase proved a message', async () => {
    receiver.stations = [station({ secret: 'the new phrase', previousSecret: PHRASE })];
    await receiver.post(signed());
    await receiver.delivered(1);
    assert.equal(receiver.deliveries[0]?.message.secret, 'previous');
  });

  it('C-94 leaves a message unanswered where two stations of the path share their phrase', async () => {
    receiver.stations = [station({ key: 'a' }), station({ key: 'b' })];
    assert.equal((await receiver.post(signed())).status, 0);
  });

  it('C-94 sets a previous phrase aside that another station of the path has too', async () => {
    receiver.stations = [
      station({ key: 'a', secret: 'phrase of a', previousSecret: PHRASE }),
      station({ key: 'b' }),
      station({ key: 'c', secret: 'phrase of c', previousSecret: PHRASE }),
    ];
    assert.equal((await receiver.post(signed())).status, 200);
    const { body } = signed();
    const headers = { Authorization: authorizationFor(body, 'phrase of a') };
    assert.equal((await receiver.post({ body, headers })).status, 200);
    await receiver.delivered(2);
    assert.deepEqual(
      receiver.deliveries.map(({ message }) => message.stationKey),
      ['b', 'a'],
    );
  });

  it('reads no JSON of a long body that nobody signed, where only a signature counts', async () => {
    const body = `{${'"\\q":'.repeat(200_000)}`;
    assert.equal((await receiver.post({ body })).status, 401);
    assert.equal((await receiver.post({ body, headers: { Authorization: 'HMAC-SHA256 x' } })).status, 401);
    assert.equal((await receiver.post(signed())).status, 200);
  });

  it('C-95 finds the station of a shared path by its phrase', async () => {
    receiver.stations = [
      station({ key: 'a', secret: 'phrase of a' }),
      station({ key: 'b', name: 'B', secret: 'phrase of b', scheme: 'https' }),
      station({ key: 'c' }),
    ];
    assert.equal((await receiver.post(withToken({ authenticationToken: 'phrase of b' }))).status, 200);
    assert.equal((await receiver.post(signed())).status, 200);
    assert.equal((await receiver.post(withToken({ authenticationToken: 'phrase of a' }))).status, 401);
    await receiver.delivered(2);
    assert.deepEqual(
      receiver.deliveries.map(({ message }) => message.stationKey),
      ['b', 'c'],
    );
  });

  it('C-96 delivers an event of an unknown Agent User with a warning', async () => {
    receiver.stations = [station({ agentUserId: 'somebody-else' })];
    await receiver.post(signed());
    await receiver.delivered(1);
    assert.deepEqual(receiver.deliveries[0]?.message.warnings, ['agent-user']);
  });

  it('C-96 keeps an event of the Agent User of another configured station as a dead letter', async () => {
    receiver.stations = [station({ agentUserId: 'somebody-else' })];
    receiver.agentUsers = { [AGENT_USER]: 'south' };
    assert.equal((await receiver.post(signed())).status, 200);
    await receiver.until(() => receiver.problems.length === 1, 'the dead letter');
    assert.deepEqual(
      [receiver.problems[0]?.kind, receiver.problems[0]?.reason],
      ['dead-letter', 'agent-user'],
    );
    assert.equal(receiver.deliveries.length, 0);
  });

  it('C-96 takes an Agent User in any case, and asks for none where none is set', async () => {
    receiver.agentUsers = { [AGENT_USER]: 'south' };
    await receiver.post(signed());
    receiver.stations = [station({ agentUserId: AGENT_USER.toUpperCase() })];
    await receiver.post(signed());
    await receiver.delivered(2);
    assert.deepEqual(
      receiver.deliveries.map(({ message }) => message.warnings),
      [[], []],
    );
  });

  it('tells output 3 of refusals at most once per reason in 10 s, and counts the rest', async () => {
    let steady = 0;
    await receiver.close();
    receiver = await ReceiverUnderTest.start({ steady: () => steady });
    for (let time = 0; time < 3; time++) await receiver.post({ body: 'x' });
    await receiver.post({ body: 'x', headers: { Authorization: 'HMAC-SHA256 x' } });
    steady = 10_001;
    await receiver.post({ body: 'x' });
    await receiver.until(() => receiver.problems.length === 3, 'three problems');
    assert.deepEqual(
      receiver.problems.map(({ reason, count }) => [reason, count]),
      [
        ['no-signature', 1],
        ['bad-signature', 1],
        ['no-signature', 3],
      ],
    );
    const [problem] = receiver.problems;
    assert.deepEqual([problem?.kind, problem?.station, problem?.bytes], ['unauthentic', 'north', 1]);
    assert.equal(problem?.event, undefined);
  });

  it('gives every refusal the same answer', async () => {
    const one = await receiver.post({ body: 'x' });
    const two = await receiver.post({ body: signed().body, headers: { Authorization: 'HMAC-SHA256 x' } });
    assert.equal(one.text, two.text);
  });
});
