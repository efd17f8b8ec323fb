import * as fc from 'fast-check';
import type { StoreCalls } from '../../../../lib/inbox/store/protocol';

export const ENDPOINTS = [':/north', ':/south', 'node-1', '8443:/a\u0000b'] as const;
const NODES = ['node-1', 'node-2'] as const;
const STATIONS = ['north', 'a\u0000b'] as const;
const IDS = [
  'one',
  'One',
  'two',
  '\u0001',
  '\u00010',
  '\u0000',
  "'; drop",
  '\ud800',
  '\\u0000',
  '港',
] as const;
const ALARMS = ['alarm', 'a\u0000', '\u0000a', '\\'] as const;

const LISTED = ['open', 'settled', 'dead', 'filtered', 'all'] as const;

const endpoint = fc.constantFrom(...ENDPOINTS);
const station = fc.constantFrom(...STATIONS);
/** Of the events that are known; of none where none is. Much happens to a few, or nothing would happen to one after the other. */
const which = fc.oneof(fc.nat(3), fc.nat(3), fc.nat(999));
/** Of the instances. */
const by = fc.nat(1);
const state = fc.constantFrom(
  'received' as const,
  'received' as const,
  'received' as const,
  'filtered' as const,
  'other' as const,
  'dead' as const,
  'stale' as const,
);
const lease = fc.constantFrom('no' as const, 'any' as const, 'ordered' as const);

const acceptance = fc.record({
  station,
  id: fc.oneof(fc.constantFrom(...IDS), fc.uuid(), fc.uuid()),
  named: fc.boolean(),
  fingerprint: fc.constantFrom('f1', 'f1', 'f2'),
  endpoint,
  state,
  rank: fc.constantFrom(0 as const, 1 as const),
  alarm: fc.option(fc.constantFrom(...ALARMS), { nil: undefined }),
  isEnd: fc.boolean(),
  received: fc.nat(4).map((hour) => Date.UTC(2026, 0, 1, hour)),
  facts: fc.constantFrom('{}', '{"text":"\u0000 \\u0000"}', '{"kind":"event"}'),
  bytes: fc.uint8Array({ maxLength: 8 }),
  lease,
});
export type NewAcceptance = typeof acceptance extends fc.Arbitrary<infer Value> ? Value : never;

const list = fc.record({
  state: fc.constantFrom(...LISTED),
  since: fc.option(
    fc.nat(4).map((hour) => Date.UTC(2026, 0, 1, hour)),
    { nil: undefined },
  ),
  alarm: fc.option(fc.record({ station, alarmId: fc.constantFrom(...ALARMS) }), { nil: undefined }),
  limit: fc.constantFrom(1, 3, 100),
});

/** What may happen to an inbox. */
export const deed = fc.oneof(
  { weight: 30, arbitrary: fc.record({ do: fc.constant('accept' as const), message: acceptance, by }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      messages: fc.array(acceptance, { minLength: 2, maxLength: 8 }),
      by,
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constant('lease' as const),
      endpoint,
      limit: fc.constantFrom(1, 2, 10, 37, 100),
      health: fc.nat(3),
      ordered: fc.boolean(),
      by,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('giveBack' as const),
      unsent: fc.array(which, { maxLength: 3 }),
      cutOff: fc.array(which, { maxLength: 3 }),
      by,
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('lapse' as const),
      which,
      again: fc.constantFrom('lease' as const, 'retry' as const),
      maxAttempts: fc.integer({ min: 1, max: 3 }),
      isStranger: fc.boolean(),
    }),
  },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('again' as const), which, isStranger: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('markDelivered' as const),
      which: fc.array(which, { maxLength: 3 }),
      by,
    }),
  },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      which,
      state: fc.constantFrom('delivered' as const, 'dead' as const),
      give: fc.boolean(),
      by,
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constantFrom('revive' as const, 'dismiss' as const, 'stateOf' as const),
      which,
      by,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('note' as const),
      which,
      step: fc.record(
        {
          time: fc.nat(1),
          step: fc.constantFrom('verdict' as const, 'extended' as const),
          by: fc.constantFrom('Anna', 'a\u0000', '港'),
          note: fc.constantFrom('\u0000', '\ud800', 'a "cat"'),
          verdict: fc.constantFrom('real' as const, 'false' as const),
        },
        { requiredKeys: ['time', 'step'] },
      ),
      ifOpen: fc.boolean(),
      by,
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('revived' as const), which, by }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('list' as const), query: list, by }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('listOne' as const), which, by }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('quarantine' as const),
      endpoint,
      address: fc.constantFrom('192.0.2.1', '192.0.2.2'),
      facts: fc.constantFrom('{}', '{"reason":"\u0000"}'),
      bytes: fc.uint8Array({ maxLength: 4 }),
      by,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('release' as const, 'releaseUpTo' as const),
      which,
      endpoint,
      by,
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('claim' as const, 'claim' as const, 'leave' as const),
      endpoint,
      node: fc.constantFrom(...NODES),
      by,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('leave' as const), node: fc.constantFrom(...NODES), by }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('assign' as const), from: endpoint, to: endpoint, by }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('isKnown' as const), station, id: fc.constantFrom(...IDS), by }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('tidy' as const), // Not less: a pass begins from the start again once a day, each instance's own.
      days: fc.integer({ min: 2, max: 5 }),
      by,
    }),
  },
);
export type Deed = typeof deed extends fc.Arbitrary<infer Value> ? Value : never;

/** As a message can come: what is no event has no alarm. */
export function accepted({ lease: wished, ...message }: NewAcceptance): StoreCalls['accept']['take'] {
  const { alarm, ...rest } = message;
  const hasAlarm = alarm !== undefined && message.state === 'received';
  return {
    message: { ...rest, ...(hasAlarm && { alarm }), isEnd: message.isEnd && message.state === 'received' },
    lease: message.state === 'received' ? wished : 'no',
  };
}
