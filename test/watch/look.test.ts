import assert from 'node:assert/strict';
import { evaluate, FAULTS, WARNINGS, type FindingKind, type Observation } from '../../lib/watch/findings';
import type { Facts, InboxFacts, StationFacts, WebhookFacts } from '../../lib/watch/findings';

const STATION: StationFacts = { key: 'north', name: 'North', service: 'well', samePhrase: '', clockAhead: 0 };
const WEBHOOK: WebhookFacts = {
  id: 'webhook',
  title: 'Yard',
  station: 'north',
  down: undefined,
  isUnproven: false,
  isClockBehind: false,
  silent: undefined,
  selfTest: 'well',
};
const INBOX: InboxFacts = {
  id: '/inbox',
  title: 'inbox',
  durable: true,
  fault: '',
  incident: undefined,
  spilled: 0,
  lacksStandby: false,
  figures: { dead: {}, ownerless: [] },
};

interface Changes {
  station?: Partial<StationFacts>;
  webhook?: Partial<WebhookFacts>;
  inbox?: Partial<InboxFacts>;
  videos?: Facts['videos'];
  hasDecoder?: boolean | undefined;
}

function facts({ station, webhook, inbox, ...rest }: Changes = {}): Facts {
  return {
    stations: [{ ...STATION, ...station }],
    webhooks: [{ ...WEBHOOK, ...webhook }],
    inboxes: [{ ...INBOX, ...inbox }],
    videos: [],
    hasDecoder: true,
    ...rest,
  };
}

const figures = (some: Partial<InboxFacts['figures']>): Changes => ({
  inbox: { figures: { dead: {}, ownerless: [], ...some } },
});
const trouble = (kind: 'unreachable' | 'login' | 'key' | 'unusable'): Changes => ({
  station: { service: { kind, since: new Date(0), reason: 'No answer.' } },
});

/** What each kind of finding is found by, and of which station it is. */
const CAUSES: Record<FindingKind, [Changes, string | null]> = {
  'service-unreachable': [trouble('unreachable'), 'north'],
  'login-refused': [trouble('login'), 'north'],
  'key-rejected': [trouble('key'), 'north'],
  'store-failing': [{ inbox: { durable: false, fault: 'the disk is full' } }, null],
  'spill-in-use': [{ inbox: { spilled: 1 } }, null],
  'no-standby': [{ inbox: { lacksStandby: true } }, null],
  'listener-down': [{ webhook: { down: { reason: 'The port is taken.' } } }, 'north'],
  'self-test-failed': [{ webhook: { selfTest: { reason: 'No connection.' } } }, 'north'],
  silent: [{ webhook: { silent: { hours: 4, since: '2026-01-02T03:04:05.000Z' } } }, 'north'],
  'not-proven': [{ webhook: { isUnproven: true } }, 'north'],
  backlog: [figures({ oldestWaiting: 61_000 }), null],
  'dead-letters': [figures({ dead: { south: 2 } }), 'south'],
  'no-recording': [
    { videos: [{ id: 'north/7', station: 'north', camera: 'Gate', since: '2026-01-02T03:04:05.000Z' }] },
    'north',
  ],
  clock: [{ station: { clockAhead: -31_000 } }, 'north'],
  'same-phrase': [{ station: { samePhrase: 'North, South' } }, 'north'],
  'no-owner': [figures({ ownerless: [{ path: '/gone', count: 3 }] }), null],
  'no-decoder': [{ hasDecoder: false }, null],
};

const found = (changes: Changes): Observation[] => [...evaluate(facts(changes)).seen];
const sentences = (changes: Changes): string[] => found(changes).map(({ sentence }) => sentence);

describe('a look at all that is known', () => {
  it('finds nothing where all is well, and is sure of it', () => {
    assert.deepEqual([found({}), evaluate(facts()).unsure], [[], []]);
  });

  for (const what of [...FAULTS, ...WARNINGS])
    it(`finds ${what} where that is so, and nothing else`, () => {
      const [changes, station] = CAUSES[what];
      const kinds = found(changes).map((each) => [each.what, each.station]);
      assert.deepEqual(kinds, [[what, station]]);
    });

  it('is unsure of what nobody knows yet, and finds nothing of it', () => {
    const look = evaluate(
      facts({
        station: { service: 'unknown', samePhrase: undefined, clockAhead: undefined },
        webhook: { down: 'unknown', isClockBehind: undefined, silent: 'unknown', selfTest: 'unknown' },
        inbox: { durable: undefined, lacksStandby: undefined, figures: undefined },
        hasDecoder: undefined,
      }),
    );
    assert.deepEqual(look.seen, []);
    const kinds = new Set(look.unsure.map((id) => id.split(' ')[0] ?? ''));
    // Messages that were refused are known from the start, and cameras without a recording only from asking for one.
    const known = new Set<FindingKind>(['not-proven', 'no-recording']);
    assert.deepEqual([...kinds].sort(), [...FAULTS, ...WARNINGS].filter((what) => !known.has(what)).sort());
  });

  it('is unsure under the very id under which it finds', () => {
    const [{ id } = { id: '' }] = found(figures({ dead: { north: 1 } }));
    assert.ok(evaluate(facts({ inbox: { figures: undefined } })).unsure.includes(id));
  });

  for (const [what, changes, ...found] of [
    ['a service that answers, and cannot be used', trouble('unusable'), 'service-unusable'],
    ['a service that is out of reach', trouble('unreachable'), 'service-unreachable'],
    ['a clock that is behind', { station: { clockAhead: 31_000 } }, 'clock-behind'],
    ['a clock that is ahead', { station: { clockAhead: -31_000 } }, 'clock-ahead'],
    ['no clock that is wrong by half a minute', { station: { clockAhead: 29_000 } }],
    ['a clock that a message shows to be behind', { webhook: { isClockBehind: true } }, 'clock-of-message'],
    ['the reason of a listener', { webhook: { down: { reason: 'taken' } } }, 'listener-down'],
    ['what a node shows without a listener', { webhook: { down: { status: 'no' } } }, 'endpoint-down'],
    ['no event that has waited for less than a minute', figures({ oldestWaiting: 59_000 })],
  ] as [string, Changes, ...string[]][])
    it(`tells of ${what}`, () => assert.deepEqual(sentences(changes), found));

  it('tells for ten minutes what befell the file of an inbox that can store again, and of one that cannot why not', () => {
    const text = 'It was removed.';
    const incident = { text, ago: 599_999 };
    const [finding] = found({ inbox: { incident } });
    assert.deepEqual([finding?.what, finding?.values['text']], ['store-failing', text]);
    assert.deepEqual(sentences({ inbox: { incident: { text, ago: 600_000 } } }), []);
    assert.deepEqual(sentences({ inbox: { incident } }), ['inbox-incident']);
    assert.deepEqual(sentences({ inbox: { incident, durable: false } }), ['store-failing']);
  });

  it('names no station for the dead letters of several', () => {
    const [finding] = found(figures({ dead: { north: 1, south: 2 } }));
    assert.deepEqual([finding?.station, finding?.values['count']], [null, 3]);
  });
});
