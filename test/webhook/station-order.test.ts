import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { jsonOf } from '../../lib/message/body';
import { authenticate, type ProofResult } from '../../lib/webhook/proof/authenticate';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { StationGuess } from '../../lib/webhook/prover';
import { ReadyEndpoints } from '../../lib/webhook/endpoint';
import { workOf } from './proof-thread-under-test';
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

const hmacsOf = async (work: () => unknown): Promise<number> => (await workOf(work)).hmacs;

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
    const text = JSON.stringify(envelope({ authenticationToken: phraseOf(49) }, { agentUserId: idOf(49) }));
    const message = { body: Buffer.from(text), authorization: [] };
    const one = await hmacsOf(() => authenticated(message, https.slice(49)));
    assert.equal(await hmacsOf(() => authenticated(message, https)), one);
  });

  const cases: [what: string, proved: string[], of: ReceivingStation[], first: string, named?: unknown][] = [
    ['is found by its Agent User in any case', [], configured, 'station-7', idOf(7).toUpperCase()],
    ['is unknown before it has proved anything', [], stations(), 'station-0'],
    ['is known by what it has proved before, in any case', ['station-7'], stations(), 'station-7'],
    ['is known by what it has proved last', ['station-7', 'station-8'], stations(), 'station-8'],
    ['is the configured one, whatever was proved before', ['station-8'], configured, 'station-7'],
    ['is unknown where the one that proved has gone', ['gone'], stations(), 'station-0'],
    ['is unknown where what was proved is of a number', ['station-7'], stations(), 'station-0', 7],
    ['is unknown where it is of too long a text', ['station-7'], stations(), 'station-0', 'x'.repeat(1000)],
  ];
  for (const [what, proved, all, first, named = idOf(7)] of cases)
    it(what, () => {
      const order = new StationGuess();
      for (const key of proved) order.learn(typeof named === 'string' ? named.toUpperCase() : named, key);
      const found = order.of(sentBy(7, named).body, all);
      assert.deepEqual([found[0]?.key, found.length], [first, COUNT]);
    });

  it('is remembered for the last thousand Agent Users', () => {
    const order = new StationGuess();
    for (let count = 0; count <= 1000; count++) order.learn(idOf(count), 'station-7');
    const firstFor = (id: string): string | undefined => order.of(sentBy(0, id).body, stations())[0]?.key;
    const found = [0, 1, 1000].map((place) => firstFor(idOf(place)));
    assert.deepEqual(found, ['station-0', 'station-7', 'station-7']);
  });

  for (const [title, agentUserId] of [
    ['no Agent User', undefined],
    ['null', null],
    ['an empty one', ''],
    ['one that no station has', idOf(99)],
    ['a number', 7],
    ['another station, whose phrase does not prove it', idOf(3)],
  ] as const)
    it(`is no matter: a message that names ${title} is proven all the same, by who sent it`, () => {
      const authentication = authenticated(sentBy(40, agentUserId), configured);
      assert.equal(authentication.proven && authentication.station.key, 'station-40');
    });

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
    it(`is no dearer to look for where a stranger's token is as long as the body: it is hashed once (${scheme})`, async () => {
      const all = stations(() => ({ scheme }));
      const hashedOf = async (length: number): Promise<number> => {
        const body = Buffer.from(`{"authenticationToken":"${'x'.repeat(length)}"}`);
        return (await workOf(() => authenticated({ body, authorization: [] }, all))).hashed;
      };
      assert.equal((await hashedOf(60_000)) - (await hashedOf(1)), 59_999);
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
  let receiver: ReceiverUnderTest;
  beforeEach(async () => {
    receiver = await ReceiverUnderTest.start();
    receiver.stations = stations();
  });
  afterEach(() => receiver.close());

  const statusOf = ({ body, authorization: [Authorization = ''] }: Sent): Promise<number> =>
    receiver.statusOf({ body, headers: { Authorization } });
  const costOf = (message: Sent): Promise<number> =>
    hmacsOf(async () => assert.equal(await statusOf(message), 200));

  it('learns whose messages name an Agent User, and tries that station first from then on', async () => {
    const messages = [sentBy(49, idOf(49)), sentBy(49, idOf(49)), sentBy(3, idOf(49)), sentBy(3, idOf(49))];
    const hmacs: number[] = [];
    for (const message of messages) hmacs.push(await costOf(message));
    // The third is of another station than its name was known for, and is learned anew.
    assert.deepEqual(hmacs, [OF_ALL, OF_ONE, 5 * OF_ONE, OF_ONE]);
    await receiver.delivered(4);
    const keys = receiver.deliveries.map(({ message }) => message.stationKey);
    assert.deepEqual(keys, ['station-49', 'station-49', 'station-3', 'station-3']);
  });

  it('learns nothing of what is not proven', async () => {
    assert.equal(await statusOf(sentBy(99, idOf(49))), 401);
    assert.equal(await costOf(sentBy(49, idOf(49))), OF_ALL);
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
