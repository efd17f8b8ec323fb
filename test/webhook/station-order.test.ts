import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { mock } from 'node:test';
import * as fc from 'fast-check';
import { jsonOf } from '../../lib/message/body';
import { authenticate, type ProofResult } from '../../lib/webhook/proof/authenticate';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { StationGuess } from '../../lib/webhook/prover';
import { ReadyEndpoints } from '../../lib/webhook/endpoint';
import { ReceiverUnderTest } from './receiver-under-test';
import { authorizationFor, envelope, station } from './sample';
import { runsOf } from '../support/suite/lanes';

const COUNT = 50;
const phraseOf = (place: number): string => `phrase of station ${place}`;
const idOf = (place: number): string => `0b9f1c52-6a53-4e0f-9b0a-${String(place).padStart(12, '0')}`;

/** Stations with a phrase each; with their Agent Users where these are configured. */
function stations(changes: (place: number) => Partial<ReceivingStation> = () => ({})): ReceivingStation[] {
  return Array.from({ length: COUNT }, (_, place) =>
    station({ key: `station-${place}`, secret: phraseOf(place), ...changes(place) }),
  );
}
const withIds = (place: number): Partial<ReceivingStation> => ({ agentUserId: idOf(place) });
const configured = stations(withIds);

interface Sent {
  body: Buffer;
  authorization: string[];
}

/** A message of the station at a place, which names an Agent User. */
function sentBy(place: number, agentUserId: unknown): Sent {
  const body = Buffer.from(JSON.stringify(envelope({}, { agentUserId })));
  return { body, authorization: [authorizationFor(body, phraseOf(place))] };
}

function authenticated(
  { body, authorization }: Sent,
  all: readonly ReceivingStation[],
  order = new StationGuess(),
): ProofResult {
  return authenticate({ body, authorization, json: jsonOf(body) }, order.of(body, all));
}

/** What something asks of node:crypto. */
async function hmacsOf(work: () => unknown): Promise<number> {
  const hmac = mock.method(crypto, 'createHmac');
  try {
    await work();
    return hmac.mock.callCount();
  } finally {
    mock.restoreAll();
  }
}

/** Bytes that something gives node:crypto to hash. */
function hashedBy(work: () => unknown): number {
  const update = mock.method(crypto.Hmac.prototype, 'update');
  try {
    work();
    return update.mock.calls.reduce((sum, { arguments: [data] }) => sum + Buffer.from(data).length, 0);
  } finally {
    mock.restoreAll();
  }
}

/** For both phrases of one station. */
const OF_ONE = 2;
const OF_ALL = OF_ONE * COUNT;

describe('the station that a message names', () => {
  it('is tried first, so that with 50 stations it costs what it costs with one', async () => {
    const last = COUNT - 1;
    const message = sentBy(last, idOf(last));
    assert.equal(await hmacsOf(() => authenticated(message, configured.slice(last))), OF_ONE);
    assert.equal(await hmacsOf(() => authenticated(message, configured)), OF_ONE);
  });

  it('is tried first where a token is the proof', async () => {
    const https = stations((place) => ({ scheme: 'https', ...withIds(place) }));
    const body = Buffer.from(
      JSON.stringify(envelope({ authenticationToken: phraseOf(49) }, { agentUserId: idOf(49) })),
    );
    const message = { body, authorization: [] };
    const one = await hmacsOf(() => authenticated(message, https.slice(49)));
    assert.equal(await hmacsOf(() => authenticated(message, https)), one);
  });

  it('is found by its Agent User in any case', () => {
    const [first] = new StationGuess().of(sentBy(7, idOf(7).toUpperCase()).body, configured);
    assert.equal(first?.key, 'station-7');
  });

  it('is known by what it has proved before, where no Agent User is configured', () => {
    const order = new StationGuess();
    const all = stations();
    assert.equal(order.of(sentBy(7, idOf(7)).body, all)[0]?.key, 'station-0');
    order.learn(idOf(7).toUpperCase(), 'station-7');
    assert.equal(order.of(sentBy(7, idOf(7)).body, all)[0]?.key, 'station-7');
    order.learn(idOf(7), 'station-8');
    assert.equal(order.of(sentBy(7, idOf(7)).body, all)[0]?.key, 'station-8');
  });

  it('is the configured one, whatever was proved before', () => {
    const order = new StationGuess();
    order.learn(idOf(7), 'station-8');
    assert.equal(order.of(sentBy(7, idOf(7)).body, configured)[0]?.key, 'station-7');
  });

  it('is none where what was proved is of a station that has gone, or is no id', () => {
    const order = new StationGuess();
    order.learn(idOf(7), 'gone');
    order.learn(7, 'station-7');
    order.learn('x'.repeat(1000), 'station-7');
    const all = stations();
    for (const id of [idOf(7), 7, 'x'.repeat(1000)]) assert.deepEqual(order.of(sentBy(7, id).body, all), all);
  });

  it('is remembered for the last thousand Agent Users', () => {
    const order = new StationGuess();
    for (let count = 0; count <= 1000; count++) order.learn(idOf(count), 'station-7');
    const firstFor = (id: string): string | undefined => order.of(sentBy(0, id).body, stations())[0]?.key;
    assert.deepEqual(
      [firstFor(idOf(0)), firstFor(idOf(1)), firstFor(idOf(1000))],
      ['station-0', 'station-7', 'station-7'],
    );
  });

  const unhelpful: [string, unknown][] = [
    ['no Agent User', undefined],
    ['null', null],
    ['an empty one', ''],
    ['one that no station has', idOf(99)],
    ['a number', 7],
    ['another station, whose phrase does not prove it', idOf(3)],
  ];
  for (const [title, agentUserId] of unhelpful) {
    it(`is no matter: a message that names ${title} is proven all the same, by who sent it`, () => {
      const authentication = authenticated(sentBy(40, agentUserId), configured);
      assert.ok(authentication.proven);
      assert.equal(authentication.station.key, 'station-40');
    });
  }

  it('is no matter where the name comes twice', () => {
    const { body, authorization } = sentBy(40, idOf(40));
    const twice = Buffer.from(`{"agentUserId":"${idOf(3)}",${body.toString().slice(1)}`);
    assert.equal(authenticated({ body: twice, authorization }, configured).proven, false);
    const right = [authorizationFor(twice, phraseOf(40))];
    assert.equal(authenticated({ body: twice, authorization: right }, configured).proven, true);
  });

  it('proves nothing by its name', () => {
    assert.equal(authenticated(sentBy(99, idOf(7)), configured).proven, false);
  });

  it('C-34 cannot be told from any other by what a refusal costs: all are tried', async () => {
    const forged = [idOf(0), idOf(49), idOf(99), undefined].map((id) => sentBy(99, id));
    for (const message of forged)
      assert.equal(await hmacsOf(() => authenticated(message, configured)), OF_ALL);
  });

  for (const scheme of ['http', 'https'] as const)
    it(`is no dearer to look for where a stranger's token is as long as the body: it is hashed once (${scheme})`, () => {
      const all = stations(() => ({ scheme }));
      const tokenOf = (length: number): Sent => ({
        body: Buffer.from(`{"authenticationToken":"${'x'.repeat(length)}"}`),
        authorization: [],
      });
      const [short, long] = [1, 60_000].map((length) => hashedBy(() => authenticated(tokenOf(length), all)));
      assert.equal((long ?? 0) - (short ?? 0), 59_999);
    });

  it('never changes what is genuine, nor whose it is', () => {
    const place = fc.nat(COUNT + 10);
    const known = fc.array(fc.tuple(place, fc.nat(COUNT - 1)));
    fc.assert(
      fc.property(place, place, known, fc.boolean(), (sender, named, learned, isConfigured) => {
        const all = isConfigured ? configured : stations();
        const order = new StationGuess();
        for (const [id, key] of learned) order.learn(idOf(id), `station-${key}`);
        const message = sentBy(sender, idOf(named));
        const plain = authenticate({ ...message, json: jsonOf(message.body) }, all);
        assert.deepEqual(authenticated(message, all, order), plain);
      }),
      { numRuns: runsOf(50) },
    );
  });
});

describe('a path of many stations', () => {
  it('learns whose messages name an Agent User, and tries that station first from then on', async () => {
    const receiver = await ReceiverUnderTest.start();
    try {
      receiver.stations = stations();
      const post = async ({ body, authorization: [Authorization = ''] }: Sent): Promise<number> => {
        const hmacs = await hmacsOf(async () => {
          assert.equal((await receiver.post({ body, headers: { Authorization } })).status, 200);
        });
        return hmacs;
      };
      const messages = [sentBy(49, idOf(49)), sentBy(49, idOf(49)), sentBy(3, idOf(49)), sentBy(3, idOf(49))];
      const hmacs: number[] = [];
      for (const message of messages) hmacs.push(await post(message));
      // The third is of another station than its name was known for, and is learned anew.
      assert.deepEqual(hmacs, [OF_ALL, OF_ONE, 5 * OF_ONE, OF_ONE]);
      await receiver.delivered(4);
      assert.deepEqual(
        receiver.deliveries.map(({ message }) => message.stationKey),
        ['station-49', 'station-49', 'station-3', 'station-3'],
      );
    } finally {
      await receiver.close();
    }
  });

  it('learns nothing of what is not proven', async () => {
    const receiver = await ReceiverUnderTest.start();
    try {
      receiver.stations = stations();
      const forged = sentBy(99, idOf(49));
      const headers = { Authorization: forged.authorization[0] ?? '' };
      assert.equal((await receiver.post({ body: forged.body, headers })).status, 401);
      const genuine = sentBy(49, idOf(49));
      const hmacs = await hmacsOf(() =>
        receiver.post({ body: genuine.body, headers: { Authorization: genuine.authorization[0] ?? '' } }),
      );
      assert.equal(hmacs, OF_ALL);
    } finally {
      await receiver.close();
    }
  });
});

describe('which stations can judge', () => {
  it('is found out anew where one differs in anything, and only then', async () => {
    const one = station();
    const others = Object.keys(one).map((name) => [{ ...one, [name]: 'another' }]);
    const lists: ReceivingStation[][] = [[one], [{ ...one }], ...others];
    const receiver = await ReceiverUnderTest.start();
    const { endpoint } = receiver;
    const ready = new ReadyEndpoints();
    const [first, same, ...found] = lists.map((stations) => {
      receiver.stations = stations;
      return ready.of(endpoint)?.stations;
    });
    await receiver.close();
    assert.equal(first, same);
    assert.equal(new Set([first, ...found]).size, 1 + others.length);
  });
});
