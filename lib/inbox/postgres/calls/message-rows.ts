import type { MessageState } from '../../inbox';
import { stepRow, type Course, type StepRow } from '../../store/step';
import type { StoredMessage } from '../../store/protocol';
import type { Row } from './statement';
import { storedText } from './stored-text';
import { MOVING } from './tables';

/** What of a message is given, of `message` and its row of `work`, where it has one. */
export const STORED_COLUMNS = `message.sequence, message.delivery_id, message.station, message.id, message.named, message.fingerprint,
  message.endpoint, message.rank, message.first, message.ended, message.received, coalesce(work.state, message.state) AS state,
  coalesce(work.attempt, message.attempt) AS attempt, CASE WHEN work.sequence IS NULL THEN message.again ELSE work.again END AS again`;

/** The same, with what is in `body`. */
export const MESSAGE_WITH_BODY = `${STORED_COLUMNS}, body.facts, body.bytes`;

/** A message as `STORED_COLUMNS` give it. */
export function storedMessage(row: Row): StoredMessage {
  return {
    sequence: Number(row['sequence']),
    deliveryId: String(row['delivery_id']),
    station: storedText(row['station']),
    id: storedText(row['id']),
    named: row['named'] === true,
    fingerprint: storedText(row['fingerprint']),
    endpoint: storedText(row['endpoint']),
    // It will wait here once all of its inbox has come.
    state: row['state'] === MOVING ? 'received' : (row['state'] as MessageState),
    rank: row['rank'] === 1 ? 1 : 0,
    attempt: Number(row['attempt']),
    again: (row['again'] ?? undefined) as StoredMessage['again'],
    first: row['first'] === true,
    ended: row['ended'] === true,
    received: Number(row['received']),
  };
}

/** And as a list gives it: with `courseColumns`, and with its body where there was room. */
export function listedMessage(row: Row): StoredMessage {
  const message = row['has_room'] === true ? messageWithBody(row) : storedMessage(row);
  return { ...message, ...listedCourse(row) };
}

/** What has become of it alone, as `courseColumns` give it. */
export function listedCourse(row: Row): Pick<StoredMessage, 'course' | 'verdict'> & { steps?: StepRow[] } {
  const { verdict = null, judged = null, steps = null } = row;
  return {
    course: courseIn(row),
    ...(verdict !== null && {
      verdict: { verdict: verdict === 'real' ? 'real' : 'false', time: Number(judged) },
    }),
    ...(typeof steps === 'string' && { steps: stepsIn(steps) }),
  };
}

function courseIn({ delivered = null, instance = null, settled = null, settled_by: by = null }: Row): Course {
  return {
    ...(delivered !== null && { delivered: Number(delivered) }),
    ...(instance !== null && { instance: storedText(instance) }),
    ...(settled !== null && { settled: Number(settled) }),
    ...(by !== null && { settledBy: storedText(by) }),
  };
}

function stepsIn(text: string): StepRow[] {
  const rows = JSON.parse(text) as unknown[][];
  return rows.map(([place, time, step, attempt, actor, facts]) =>
    stepRow({
      place,
      time,
      step,
      attempt,
      actor: typeof actor === 'string' ? storedText(actor) : actor,
      facts,
    }),
  );
}

/** And as `MESSAGE_WITH_BODY` give it. */
export function messageWithBody(row: Row): StoredMessage {
  const message = storedMessage(row);
  const { facts, bytes } = row;
  if (typeof facts !== 'string' || !(bytes instanceof Uint8Array)) return { ...message, isIncomplete: true };
  message.facts = storedText(facts);
  message.bytes = bytes;
  return message;
}
