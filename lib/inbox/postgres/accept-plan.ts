import type { Accepted } from '../store/port';
import type { Row } from '../store/stored-row';
import { type CallPlans, type Request, type Step, turnsOf } from './call-plans';
import {
  alarmKey,
  booleans,
  byteStrings,
  type InboxClock,
  integers,
  makeDeliveryId,
  messageKey,
  type Tables,
  texts,
  uuids,
} from './tables';

type Acceptance = Request<'accept'>;

/** Acceptances without an answer that are remembered: of more the oldest count as answered. */
const MOST_UNANSWERED = 10_000;

/** An acceptance with the keys of its message. */
interface Keyed {
  readonly request: Acceptance;
  /** One that is sent again knows by it what its first try has done. */
  readonly deliveryId: string;
  readonly key: string;
  /** Of an event that has an alarm. */
  readonly alarm: string | null;
}

/** Takes messages in, all of a batch at once. */
export class Acceptances {
  readonly #accept: string;
  /** Where an alarm is there twice. */
  readonly #acceptChained: string;
  readonly #keyed = new WeakMap<Acceptance, Keyed>();
  /** By id of events that were to be leased, and of which no answer has told: the epoch for which they may be. */
  readonly #unanswered = new Map<string, string>();

  constructor(
    tables: Tables,
    private readonly clock: InboxClock,
  ) {
    this.#accept = acceptSql(tables, ALONE);
    this.#acceptChained = acceptSql(tables, BEHIND_OTHERS);
  }

  /** Messages of one id go one after the other: none but the first of them is new. */
  readonly plan: CallPlans['accept'] = {
    phase: 'accept',
    isRepeatable: true,
    bytes: ({ message }) => message.bytes.byteLength,
    keys: (request) => {
      const { key, alarm } = this.#keyedOf(request);
      return alarm === null ? [key] : [key, alarm];
    },
    withoutLease: (give) => ({ ...give, leased: false }),
    steps: (requests, epoch) => {
      const keyed = requests.map((request) => this.#keyedOf(request));
      return turnsOf(keyed, ({ key }) => [key]).map((turn) => this.#acceptStep(turn, epoch));
    },
  };

  /**
   * Of events that are given back, those that no flow can have had: this epoch leased them with an acceptance whose answer was
   * lost. Told once, for from then on others may have them.
   */
  neverTold(deliveryIds: readonly string[], epoch: string): Set<string> {
    const never = deliveryIds.filter((id) => this.#unanswered.get(id) === epoch);
    for (const id of never) this.#unanswered.delete(id);
    return new Set(never);
  }

  #keyedOf(request: Acceptance): Keyed {
    const { station, named, id, state, alarm } = request.take.message;
    const isOfAlarm = state === 'received' && alarm !== undefined;
    const keyed = this.#keyed.get(request) ?? {
      request,
      deliveryId: makeDeliveryId(Date.now()),
      key: messageKey(station, named, id),
      alarm: isOfAlarm ? alarmKey(station, alarm) : null,
    };
    this.#keyed.set(request, keyed);
    return keyed;
  }

  #acceptStep(turn: readonly Keyed[], epoch: string): Step {
    const messages = turn.map(({ request }) => request.take.message);
    for (const { request, deliveryId } of turn)
      if (request.take.lease !== 'no') this.#unanswered.set(deliveryId, epoch);
    for (const oldest of this.#unanswered.keys()) {
      if (this.#unanswered.size <= MOST_UNANSWERED) break;
      this.#unanswered.delete(oldest);
    }
    const values = [
      uuids(turn.map(({ deliveryId }) => deliveryId)),
      uuids(turn.map(({ key }) => key)),
      texts(messages.map(({ station }) => station)),
      texts(messages.map(({ id }) => id)),
      booleans(messages.map(({ named }) => named)),
      texts(messages.map(({ fingerprint }) => fingerprint)),
      texts(messages.map(({ endpoint }) => endpoint)),
      texts(messages.map(({ state }) => state)),
      texts(messages.map(({ alarm }) => alarm)),
      uuids(turn.map(({ alarm }) => alarm)),
      booleans(messages.map(({ isEnd }) => isEnd)),
      integers(messages.map(({ rank }) => rank)),
      integers(messages.map(({ received }) => received)),
      texts(messages.map(({ facts }) => facts)),
      byteStrings(messages.map(({ bytes }) => bytes)),
      texts(turn.map(({ request }) => request.take.lease)),
      epoch,
      this.clock.now(),
    ];
    return {
      statements: [[hasAlarmTwice(turn) ? this.#acceptChained : this.#accept, values]],
      read: ([rows]) => {
        this.clock.heard(Number(rows[0]?.['clock'] ?? 0));
        for (const { deliveryId } of turn) this.#unanswered.delete(deliveryId);
        return rows.flatMap((row) => {
          const { request, deliveryId } = turn[Number(row['n']) - 1] ?? {};
          return request === undefined ? [] : [{ id: request.id, give: acceptedOf(row, deliveryId ?? '') }];
        });
      },
    };
  }
}

function hasAlarmTwice(turn: readonly Keyed[]): boolean {
  const alarms = turn.flatMap(({ alarm }) => alarm ?? []);
  return new Set(alarms).size < alarms.length;
}

function acceptedOf(row: Row, deliveryId: string): Accepted {
  return {
    outcome: row['outcome'] as Accepted['outcome'],
    deliveryId: typeof row['former_id'] === 'string' ? row['former_id'] : deliveryId,
    sequence: Number(row['sequence']),
    first: row['first'] === true,
    ended: row['ended'] === true,
    leased: row['leased'] === true,
  };
}

/** What of its own alarm stands before a message in the batch: nothing where no alarm is there twice. */
const ALONE = `1 AS of_alarm, 1 AS of_alarm_here, NULL::boolean AS ends_before`;
const BEHIND_OTHERS = `
    row_number() OVER (PARTITION BY is_event, alarm_key ORDER BY n) AS of_alarm,
    row_number() OVER (PARTITION BY is_event, alarm_key, endpoint ORDER BY n) AS of_alarm_here,
    bool_or(is_end) OVER (PARTITION BY is_event, alarm_key ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS ends_before`;

/**
 * A batch is taken as if its messages came one after the other: what stands before a message in it counts as what is in the
 * tables. An acceptance that writes nothing is a repeat of what another connection has written, which may be on one disk only
 * yet: a record of its own in the log makes the commit wait until everything before is as durable as the database is set up to
 * be. What an earlier try of the same acceptance has written is no repeat: its answer was lost, and is given once more.
 * @param behind of each message, what of its alarm stands before it
 */
function acceptSql(tables: Tables, behind: string): string {
  const { message, body, work, instance, meta, sequence, stir } = tables;
  return `
WITH item AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::boolean[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::uuid[], $11::boolean[], $12::bigint[], $13::bigint[], $16::text[]) WITH ORDINALITY
    AS item (delivery_id, key, station, id, named, fingerprint, endpoint, state, alarm, alarm_key, is_end, rank, received, lease, n)
), place AS (
  SELECT endpoint, (SELECT true FROM ${work} AS waiting
    WHERE waiting.endpoint = asked.endpoint AND waiting.state = 'received' LIMIT 1) IS NOT NULL AS is_busy
  FROM (SELECT DISTINCT endpoint FROM item) AS asked
), compared AS (
  SELECT item.*, place.is_busy, copy.top, copy.same, last.was_end, open.sequence IS NULL AS is_free,
    copy.same IS NULL AND copy.top IS NULL AND item.state = 'received' AS is_event
  FROM item JOIN place USING (endpoint)
  LEFT JOIN LATERAL (
    SELECT max(known.copy) AS top, max(known.sequence) FILTER (WHERE known.fingerprint = item.fingerprint) AS same
    FROM ${message} AS known WHERE known.key = item.key) AS copy ON true
  LEFT JOIN LATERAL (
    SELECT former.is_end OR former.ended AS was_end FROM ${message} AS former
    WHERE former.alarm_key = item.alarm_key ORDER BY former.sequence DESC LIMIT 1) AS last ON true
  LEFT JOIN LATERAL (
    SELECT former.sequence FROM ${work} AS former
    WHERE item.lease = 'ordered' AND former.endpoint = item.endpoint AND former.alarm_key = item.alarm_key
      AND former.state IN ('received', 'leased') LIMIT 1) AS open ON true
), numbered AS (
  SELECT compared.*, ${behind} FROM compared
), judged AS (
  SELECT numbered.*,
    (state = 'filtered' AND top IS NULL) OR (is_event AND (alarm_key IS NULL OR (was_end IS NULL AND of_alarm = 1))) AS first,
    is_event AND alarm_key IS NOT NULL AND (coalesce(was_end, false) OR coalesce(ends_before, false)) AS ended,
    is_event AND bool_and(lease <> 'no' AND NOT is_busy AND is_free AND (lease = 'any' OR alarm_key IS NULL OR of_alarm_here = 1))
      OVER (PARTITION BY is_event, endpoint ORDER BY n) AS may_lease
  FROM numbered
), fate AS MATERIALIZED (
  SELECT CASE WHEN same IS NULL THEN nextval(${sequence}) ELSE same END AS sequence, ordered.* FROM (
    SELECT judged.*, may_lease AND EXISTS (SELECT FROM ${instance} WHERE epoch = $17::uuid) AS leased,
      (SELECT greatest(value::bigint, $18::bigint) FROM ${meta} WHERE name = 'clock') AS clock
    FROM judged ORDER BY n) AS ordered
), stored AS (
  INSERT INTO ${message} (sequence, delivery_id, station, id, named, copy, fingerprint, endpoint, state, attempt, first, ended, alarm,
    is_end, rank, received, stored, key, alarm_key)
  SELECT sequence, delivery_id, station, id, named, coalesce(top + 1, 0), fingerprint, endpoint,
    CASE WHEN top IS NOT NULL THEN 'conflict' WHEN is_event THEN 'delivered' ELSE state END, is_event::integer, first, ended,
    CASE WHEN is_event THEN alarm END, is_end, rank, received, clock, key, CASE WHEN is_event THEN alarm_key END
  FROM fate WHERE same IS NULL
), kept AS (
  INSERT INTO ${body} (sequence, facts, bytes)
  SELECT sequence, ($14::text[])[n], ($15::bytea[])[n] FROM fate WHERE same IS NULL
), opened AS (
  INSERT INTO ${work} (sequence, endpoint, alarm_key, rank, state, attempt, at_flow, holder, delivered)
  SELECT sequence, endpoint, alarm_key, rank, CASE WHEN leased THEN 'leased' ELSE 'received' END, leased::integer, leased,
    CASE WHEN leased THEN $17::uuid END, CASE WHEN leased THEN received END
  FROM fate WHERE is_event
)
SELECT n, fate.sequence, clock,
  CASE WHEN is_own THEN former.first ELSE fate.first END AS first,
  CASE WHEN is_own THEN former.ended ELSE fate.ended END AS ended,
  CASE WHEN is_own THEN lease <> 'no' AND former.is_leased ELSE leased END AS leased,
  CASE WHEN same IS NOT NULL AND is_own IS NOT TRUE THEN 'repeat'
    WHEN former.state = 'conflict' OR (same IS NULL AND top IS NOT NULL) THEN 'conflict' ELSE 'new' END AS outcome,
  former.delivery_id AS former_id,
  (SELECT count(${stir('endpoint')})
    FROM (SELECT DISTINCT endpoint FROM fate WHERE is_event AND NOT leased) AS stirred) AS noted,
  (SELECT count(pg_logical_emit_message(true, 'rvm', '')) WHERE NOT EXISTS (SELECT FROM fate WHERE same IS NULL)) AS repeated
FROM fate LEFT JOIN LATERAL (
  SELECT known.delivery_id, known.state, known.first, known.ended, known.delivery_id = fate.delivery_id AS is_own, EXISTS (
    SELECT FROM ${work} AS own
    WHERE own.sequence = known.sequence AND own.state = 'leased' AND own.holder = $17::uuid AND own.attempt = 1) AS is_leased
  FROM ${message} AS known WHERE known.sequence = fate.same LIMIT 1) AS former ON true`;
}
