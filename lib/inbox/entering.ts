import { isForFlow, type DeadLetter, type ProvenMessage } from '../message/record';
import type { Entrance } from './queue/entrance';
import type { EventQueues } from './queue/event-queues';
import type { AnyStore } from './store/port';
import type { Accepted, NewMessage } from './store/protocol';

export interface Entering {
  storing: Promise<Accepted>;
  /** It takes too long: the queue does not wait for it any more. */
  giveUp: () => void;
}

/** Gives a message to the store; the queue of an event is told what became of it. */
export function enter(
  { store, queues }: { store: AnyStore; queues: EventQueues },
  record: ProvenMessage | DeadLetter,
  message: NewMessage,
): Entering {
  if (!isForFlow(record))
    return { storing: store.call('accept', { message, lease: 'no' }), giveUp: () => undefined };
  return enterEvent(store, queues.of(record.endpointId).entrance, record, message);
}

function enterEvent(
  store: AnyStore,
  entrance: Entrance,
  event: ProvenMessage,
  message: NewMessage,
): Entering {
  const lease = entrance.lease(event);
  let isAwaited = true;
  const storing = store.call('accept', { message, lease });
  storing.then(
    (accepted) => (isAwaited ? entrance.stored(event, lease, accepted) : entrance.storedLate(accepted)),
    () => isAwaited && entrance.stored(event, lease, undefined),
  );
  const giveUp = (): void => {
    isAwaited = false;
    entrance.stored(event, lease, undefined);
  };
  return { storing, giveUp };
}
