import { setTimeout as sleep } from 'node:timers/promises';
import type { Row, Scale } from '../measurement';
import { percentile, sideBySide, spreadOf } from '../side-by-side';
import { NoticeRoundTrip } from './notice-round-trip';
import { sampleEvents } from './sample-events';
import { benchServer } from './shared-inboxes';
import { TwoInstances, type Elsewhere } from './two-instances';

interface Size {
  /** Events of a round, one after the other, and as many notices. */
  events: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { events: 200, rounds: 7 },
  quick: { events: 50, rounds: 1 },
};

/**
 * Milliseconds before each event and each notice. Notices one upon the other find all processes awake, and take a quarter of the time;
 * an event comes when it comes.
 */
const PAUSE = 20;

/** P4: an event is accepted at an instance that has no consumer for it; the time until the flow of another one has it. */
export async function deliveryElsewhere(scale: Scale): Promise<Row[]> {
  const { events, rounds } = SIZES[scale];
  const server = await benchServer();
  const instances = await TwoInstances.open(server);
  const notices = await NoticeRoundTrip.open(server.url());
  const sinceHandedOver: number[] = [];
  const withoutPause: number[] = [];
  try {
    const { ratio, ours, other } = await sideBySide(rounds, {
      ours: async () => {
        const round = await deliveries(instances, events);
        sinceHandedOver.push(median(round.map((each) => each.sinceHandedOver)));
        return median(round.map((each) => each.sinceAccepted));
      },
      other: async () => {
        withoutPause.push(median(await roundTrips(notices, events, 0)));
        return median(await roundTrips(notices, events, PAUSE));
      },
    });
    return [
      {
        id: 'P4',
        measured: 'an event accepted at one instance: median time until the flow of another one has it',
        against: 'a NOTIFY over pg, from sending it until it is heard on another connection',
        figure: ratio,
        unit: 'x',
        target: { atMost: 3 },
        seen: {
          oursMs: ours.median,
          otherMs: other.median,
          // Those of the round that counts for nothing are the first.
          oursWithAcceptanceMs: spreadOf(sinceHandedOver.slice(1)).median,
          otherWithoutPauseMs: spreadOf(withoutPause.slice(1)).median,
        },
      },
    ];
  } finally {
    await notices.close();
    await instances.close();
    await server.remove();
  }
}

async function deliveries(instances: TwoInstances, count: number): Promise<Elsewhere[]> {
  const all: Elsewhere[] = [];
  for (const event of sampleEvents(count)) {
    await sleep(PAUSE);
    all.push(await instances.deliver(event));
  }
  return all;
}

async function roundTrips(notices: NoticeRoundTrip, count: number, pause: number): Promise<number[]> {
  const all: number[] = [];
  for (let left = count; left > 0; left -= 1) {
    if (pause > 0) await sleep(pause);
    all.push(await notices.milliseconds());
  }
  return all;
}

function median(times: readonly number[]): number {
  return percentile(times, 0.5);
}
