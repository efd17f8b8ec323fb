import { isEnd, isHealth } from '../../event';
import { isRecord } from '../../json/json';
import { jsonOf } from '../../message/body';
import { readEnvelope, type Warning } from '../../message/envelope';
import { idForm, idsOf } from '../../message/event-filter';
import { type DeadLetter, isForFlow, type ProvenMessage } from '../../message/record';
import { matchAll, type SearchTerms } from '../../text';
import type {
  DeadReason,
  Delivery,
  HistoryEntry,
  HistoryStep,
  ListedMessage,
  ListQuery,
  MessageState,
  PlaceQuery,
  QuarantinedMessage,
  QuarantineSum,
} from '../model';
import type {
  LeasedMessage,
  MessageKey,
  NewMessage,
  NotedStep,
  PageQuery,
  PlaceInTime,
  Quarantined,
  QuarantinedSum,
  StepRow,
  StoredMessage,
} from './port';

/** A time that a damaged disk has changed to none is as long ago as can be. @param ms since 1970 */
export function timeText(ms: number): string {
  const time = new Date(ms);
  return (Number.isNaN(time.getTime()) ? new Date(0) : time).toISOString();
}

/** What a message carries besides its body and its columns. The event itself is in the body. */
type Facts = RecordFacts & OwnFacts;
type RecordFacts = Pick<ProvenMessage, 'stationName' | 'sandbox' | 'remoteAddress' | 'provenTime'> & {
  /** What the event is of, for `placesAsked`. */
  places?: string[];
};
type OwnFacts =
  | Pick<ProvenMessage, 'kind' | 'proof' | 'secret' | 'warnings' | 'filteredBy'>
  | Pick<DeadLetter, 'kind' | 'reason'>;

/** A message as it goes into the store. */
export function newMessage(record: ProvenMessage | DeadLetter): NewMessage {
  return 'reason' in record ? newDeadLetter(record) : newProvenMessage(record);
}

function newProvenMessage(message: ProvenMessage): NewMessage {
  const { kind, event, envelope, proof, secret, warnings, filteredBy } = message;
  const { alarmId } = event;
  // One that no flow gets has no place in the order of its alarm.
  const hasAlarm = isForFlow(message) && typeof alarmId === 'string' && alarmId !== '';
  return {
    id: envelope.messageId,
    named: true,
    state: stateOf(message),
    rank: isHealth(event) ? 1 : 0,
    isEnd: isEnd(event),
    ...(hasAlarm && { alarm: alarmId }),
    ...columns(message, { kind, proof, secret, warnings, ...(filteredBy && { filteredBy }) }),
  };
}

function stateOf(message: ProvenMessage): NewMessage['state'] {
  if (message.kind !== 'event') return 'other';
  return isForFlow(message) ? 'received' : 'filtered';
}

function newDeadLetter(letter: DeadLetter): NewMessage {
  const { kind, reason, messageId, fingerprint } = letter;
  return {
    id: messageId ?? fingerprint,
    named: messageId !== undefined,
    state: kind === 'stale' ? 'stale' : 'dead',
    rank: 0,
    isEnd: false,
    ...columns(letter, { kind, reason }),
  };
}

function columns(
  record: ProvenMessage | DeadLetter,
  own: OwnFacts,
): Pick<NewMessage, 'station' | 'fingerprint' | 'endpoint' | 'received' | 'facts' | 'bytes'> {
  const { stationName, sandbox, remoteAddress, provenTime, event = {} } = record;
  const places = PLACES.flatMap((kind) => idsOf(kind, event).map((id) => placeText(kind, id)));
  if (typeof event.cameraName === 'string') places.push(cameraNameText(event.cameraName));
  return {
    station: record.stationKey,
    fingerprint: record.fingerprint,
    endpoint: record.endpointId,
    received: Date.parse(record.receivedTime),
    facts: JSON.stringify({
      stationName,
      sandbox,
      remoteAddress,
      provenTime,
      ...own,
      ...(places.length > 0 && { places }),
    }),
    // What a view lies in, all of it, would go to the other thread.
    bytes: isWhole(record.body) ? record.body : new Uint8Array(record.body),
  };
}

const PLACES = ['sites', 'cameras'] as const;

function placeText(kind: (typeof PLACES)[number], id: string): string {
  return `${kind}: ${idForm(kind, id)}`;
}

/** People know a camera by its name, which is spelled as freely as that of a site. */
function cameraNameText(name: string): string {
  return `camera names: ${idForm('sites', name)}`;
}

/**
 * What a store looks for in the text of the facts, of each kind that is asked for any: as it stands there, for a store that read
 * them as JSON would fail at what a damaged disk has made of one. A list of lists as JSON.
 */
export function placesAsked(query: PlaceQuery): string {
  const asked = PLACES.flatMap((kind) => {
    const ids = query[kind];
    if (ids === undefined) return [];
    const texts = ids.map((id) => placeText(kind, id));
    if (kind === 'cameras') texts.push(...ids.map(cameraNameText));
    return [texts.map((text) => JSON.stringify(text))];
  });
  return JSON.stringify(asked);
}

function isWhole({ byteLength, buffer }: Uint8Array): boolean {
  return byteLength === buffer.byteLength;
}

/** What is asked of a store of which nothing else is wanted: not all of a message goes to the other thread. */
export function messageKeyOf({ station, id, named, fingerprint, alarm }: MessageKey): MessageKey {
  return { station, id, named, fingerprint, ...(alarm !== undefined && { alarm }) };
}

type Kept = Pick<
  LeasedMessage,
  'endpoint' | 'station' | 'received' | 'fingerprint' | 'id' | 'named' | 'facts' | 'bytes'
>;

/** A stored message as it was accepted; undefined where its body cannot be read any more. */
export function acceptedMessage(stored: Kept): ProvenMessage | DeadLetter | undefined {
  const { facts: text, bytes: body } = stored;
  if (text === undefined || body === undefined) return undefined;
  const facts = factsIn(text);
  if (facts === undefined) return undefined;
  const record = {
    endpointId: stored.endpoint,
    stationKey: stored.station,
    stationName: facts.stationName,
    sandbox: facts.sandbox,
    receivedTime: timeText(stored.received),
    fingerprint: stored.fingerprint,
    body,
    ...(facts.remoteAddress !== undefined && { remoteAddress: facts.remoteAddress }),
    ...(facts.provenTime !== undefined && { provenTime: facts.provenTime }),
  };
  const reading = readEnvelope(jsonOf(body)());
  if ('reason' in facts) {
    const { kind, reason } = facts;
    const messageId = stored.named ? { messageId: stored.id } : {};
    return { kind, reason, ...messageId, ...(reading.event && { event: reading.event }), ...record };
  }
  if (!reading.usable) return undefined;
  const { kind, proof, secret, filteredBy } = facts;
  const { envelope, event } = reading;
  const warnings: Warning[] = Array.isArray(facts.warnings) ? facts.warnings : [];
  const filter = Array.isArray(filteredBy) ? { filteredBy } : {};
  return { kind, proof, secret, warnings, ...filter, envelope, event, ...record };
}

/** Undefined where a damaged disk has changed them so far that they cannot be read. */
function factsIn(text: string): Facts | undefined {
  try {
    const facts = JSON.parse(text) as Facts | undefined;
    return isRecord(facts) ? facts : undefined;
  } catch {
    return undefined;
  }
}

/**
 * An event as it is delivered; undefined where its body cannot be read.
 * @param accepted where it is known: reading it out of the body takes a multiple of all else that a delivery costs
 */
export function deliveryOf(stored: LeasedMessage, accepted = acceptedMessage(stored)): Delivery | undefined {
  if (accepted === undefined || !('envelope' in accepted)) return undefined;
  const { deliveryId, sequence, attempt, first, ended, warnings = [] } = stored;
  const message = withWarnings(accepted, warnings);
  return { deliveryId, sequence, attempt, ...againOf(stored), first, ended, message };
}

/** The message with more that is odd about it. */
export function withWarnings<Marked extends { warnings: readonly Warning[] }>(
  message: Marked,
  warnings: readonly Warning[],
): Marked {
  const more = warnings.filter((warning) => !message.warnings.includes(warning));
  return more.length === 0 ? message : { ...message, warnings: [...message.warnings, ...more] };
}

/** The same, of the facts of a message as it is stored. Those of one that no flow gets have no warnings, and stay as they are. */
export function factsWithWarnings(text: string, warnings: readonly Warning[]): string {
  const facts = factsIn(text);
  if (facts === undefined || 'reason' in facts || !Array.isArray(facts.warnings)) return text;
  return JSON.stringify(withWarnings(facts, warnings));
}

function againOf({ again }: LeasedMessage): Pick<Delivery, 'again'> {
  return again === undefined || again === 'attempts' || again === 'dismissed' ? {} : { again };
}

/** Bodies that a list reads of one place, in bytes: beyond it, it has rows without them. */
export const MAX_LISTED = 32 * 1024 * 1024;

/** A stored message as a list shows it. */
export function listed(stored: LeasedMessage, withHistory = false): ListedMessage {
  const message = acceptedMessage(stored);
  const reason = deadReason(stored, message);
  return {
    receivedTime: timeText(stored.received),
    station: stored.station,
    state: stored.state,
    attempts: stored.attempt,
    messageId: stored.named ? stored.id : null,
    deliveryId: stored.deliveryId,
    endpointId: stored.endpoint,
    event: message?.event ?? {},
    // What is filtered enters the inbox first.
    canRetry: reason === 'attempts' || (stored.state === 'filtered' && stored.sequence !== null),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && 'proof' in message && { proof: message.proof }),
    ...(stored.verdict && { verdict: stored.verdict.verdict }),
    ...(withHistory && { history: historyOf(stored, message) }),
  };
}

/** What was given up says so itself; a rejected one says no more than that it is dead. */
function deadReason(
  { state, again, isIncomplete, bytes }: LeasedMessage,
  message: ProvenMessage | DeadLetter | undefined,
): DeadReason | undefined {
  if (state !== 'dead') return undefined;
  if (again === 'attempts') return again;
  if (message === undefined) return isIncomplete === true || bytes !== undefined ? 'unreadable' : undefined;
  return 'reason' in message ? message.reason : 'rejected';
}

/** What is shown of an inbox. */
export type Shown = { name: 'list'; take: ListQuery } | { name: 'page'; take: PageQuery };

/** A list has the newest first, a page the oldest; either goes on behind a message, as far as a time. */
export const ORDERS = {
  list: { order: 'DESC', behind: '<', until: '>=' },
  page: { order: 'ASC', behind: '>', until: '<' },
} as const;

/** Before the first message that was received at a time. */
const FIRST = -1;

/** @param after where it goes on, if not at its beginning */
export function periodOf(
  { name, take }: { name: Shown['name']; take: Partial<PageQuery> },
  after = take.after,
): [behind: number, sequence: number, until: number] {
  const { since = 0, until = Number.MAX_SAFE_INTEGER } = take;
  const [begin, end] = name === 'list' ? [until, since] : [since, until];
  const { received, sequence } = after ?? { received: begin, sequence: FIRST };
  return [received, sequence, end];
}

/** What is of one alarm, or is one message, is wherever it is. */
export function isOfPlaces({ take }: Shown): boolean {
  const { sites, cameras, alarm, deliveryId } = take as ListQuery;
  return (sites ?? cameras) !== undefined && alarm === undefined && deliveryId === undefined;
}

/** Rows of a page: with bodies few enough for a moment of the store. */
const ROWS = 200;
const ROWS_WITHOUT_BODIES = 2000;

/**
 * All messages of a period, a page at a time; what comes in or goes meanwhile may be among them or not.
 * @param read asks the store
 */
export async function* pagesOf(
  read: (query: PageQuery) => Promise<StoredMessage[]>,
  query: Omit<PageQuery, 'after' | 'limit'>,
): AsyncGenerator<StoredMessage[]> {
  const limit = query.bodies ? ROWS : ROWS_WITHOUT_BODIES;
  let after: PlaceInTime | undefined;
  for (;;) {
    const page = await read({ ...query, limit, ...(after && { after }) });
    const whole = query.bodies ? untilNoRoom(page) : page;
    const last = whole.at(-1);
    if (last === undefined) return;
    yield whole;
    after = { received: last.received, sequence: last.sequence };
    if (page.length < limit && whole.length === page.length) return;
  }
}

/** The first is always given as far as it can be. */
function untilNoRoom(page: StoredMessage[]): StoredMessage[] {
  const without = page.findIndex(
    ({ bytes, isIncomplete, isUnread }, index) =>
      index > 0 && bytes === undefined && isIncomplete === undefined && isUnread === undefined,
  );
  return without < 0 ? page : page.slice(0, without);
}

/** True while it waits, or is leased. */
export function isOpenState(state: MessageState): boolean {
  return state === 'received' || state === 'leased';
}

/** True of what no flow gets any more, and somebody may want to see. */
export function isDeadState(state: MessageState): boolean {
  return state === 'dead' || state === 'conflict' || state === 'stale';
}

/** Whether a list of some state has a message: what `sqlite/statements` says of what is in the inbox. */
export function isListed(
  wanted: ListQuery['state'],
  { state, again }: Pick<LeasedMessage, 'state' | 'again'>,
): boolean {
  if (wanted === 'all') return true;
  if (wanted === 'open') return isOpenState(state);
  if (wanted === 'settled') return state === 'delivered';
  if (wanted === 'filtered') return state === 'filtered';
  return isDeadState(state) && again !== 'dismissed';
}

/** Of one message, of which two places know something: whether the one has come further than the other. */
export function isFurther(one: Pick<LeasedMessage, 'state' | 'attempt'>, other: typeof one): boolean {
  if (!isOpenState(other.state)) return false;
  return one.attempt > other.attempt || (one.attempt === other.attempt && !isOpenState(one.state));
}

/** What may become of an event that no flow has had. */
const UNDELIVERED: ReadonlySet<HistoryStep> = new Set(['assigned', 'delivered-again']);

/**
 * What has become of a message, oldest first, as far as it is kept: of one whose body is kept no more, its usual course.
 * @param message undefined where its body cannot be read any more
 */
function historyOf(stored: LeasedMessage, message: ProvenMessage | DeadLetter | undefined): HistoryEntry[] {
  const entries = (stored.steps ?? []).map((step, index) =>
    entryOf(step, index === 0 ? omittedBefore(step) : 0),
  );
  // Of one millisecond, in the order of their places.
  entries.sort((one, other) => one.time.localeCompare(other.time));
  for (const entry of courseOf(stored)) entries.splice(placeOf(entry, entries), 0, entry);
  return [...arrivalOf(stored, message), ...entries];
}

/**
 * Where the first delivery, or the settlement, stands among the noted steps: they have no place there. Of those of its
 * millisecond, none but what a person found can come after a settlement.
 */
function placeOf({ time, step }: HistoryEntry, entries: readonly HistoryEntry[]): number {
  const isSettled = step === 'settled';
  const areBefore = entries.map(
    (other) =>
      other.time < time ||
      (other.time === time && (isSettled ? other.step !== 'verdict' : UNDELIVERED.has(other.step))),
  );
  return isSettled ? areBefore.lastIndexOf(true) + 1 : [...areBefore, false].indexOf(false);
}

/** The receipt comes first, whatever the clocks of several instances say. */
function arrivalOf(stored: LeasedMessage, message: ProvenMessage | DeadLetter | undefined): HistoryEntry[] {
  const time = timeText(stored.received);
  const { remoteAddress: from, provenTime } = message ?? {};
  const received: HistoryEntry = {
    time,
    step: 'received',
    ...(from !== undefined && { from }),
    ...(message !== undefined && 'proof' in message && { proof: message.proof, secret: message.secret }),
  };
  const reason = message !== undefined && 'reason' in message ? message.reason : conflictOf(stored);
  const filteredBy = message !== undefined && 'filteredBy' in message ? message.filteredBy : undefined;
  return [
    received,
    ...(provenTime === undefined ? [] : [{ time: provenTime, step: 'phrase' } as const]),
    ...(reason === undefined ? [] : [{ time: provenTime ?? time, step: 'dead', reason } as const]),
    ...(filteredBy === undefined || reason !== undefined
      ? []
      : [{ time: provenTime ?? time, step: 'filtered', reason: filteredBy.join(', ') } as const]),
  ];
}

function conflictOf({ state }: LeasedMessage): 'conflict' | undefined {
  return state === 'conflict' ? state : undefined;
}

function courseOf({ course = {} }: LeasedMessage): HistoryEntry[] {
  const { delivered, instance, settled, settledBy } = course;
  const first: HistoryEntry[] =
    delivered === undefined
      ? []
      : [
          {
            time: timeText(delivered),
            step: 'delivered',
            attempt: 1,
            ...(instance !== undefined && { instance }),
          },
        ];
  if (settled === undefined) return first;
  const last: HistoryEntry = {
    time: timeText(settled),
    step: 'settled',
    ...(settledBy !== undefined && { by: settledBy }),
  };
  return [...first, last];
}

function entryOf({ time, ...step }: NotedStep & Partial<StepRow>, omitted: number): HistoryEntry {
  const { place: _place, ...entry } = step;
  return { time: timeText(time), ...entry, ...(omitted > 0 && { omitted }) };
}

function omittedBefore({ place = 1 }: NotedStep & Partial<StepRow>): number {
  return place - 1;
}

/** What a quarantined message carries besides its columns. */
type QuarantinedFacts = Pick<
  QuarantinedMessage,
  'receivedTime' | 'remoteAddress' | 'authorization' | 'tokenDigest' | 'reason'
>;

export function quarantinedRow({ endpointId, body, ...facts }: QuarantinedMessage): Quarantined {
  return {
    endpoint: endpointId,
    address: facts.remoteAddress ?? '',
    facts: JSON.stringify(facts satisfies QuarantinedFacts),
    bytes: new Uint8Array(body),
  };
}

export function messageOfRow({
  id,
  endpoint,
  facts,
  bytes,
}: Quarantined & { id: number }): QuarantinedMessage & { id: number } {
  return { ...(JSON.parse(facts) as QuarantinedFacts), id, endpointId: endpoint, body: bytes };
}

export function quarantineSum({ endpoint, count, id, facts }: QuarantinedSum): QuarantineSum {
  const { receivedTime, remoteAddress, reason } = JSON.parse(facts) as QuarantinedFacts;
  return {
    endpointId: endpoint,
    count,
    lastId: id,
    lastTime: receivedTime,
    ...(remoteAddress !== undefined && { lastAddress: remoteAddress }),
    ...(reason !== undefined && { lastReason: reason }),
  };
}

/** A message of the inbox as a flat row, ready for a table. What the event does not say is null. */
export interface EventRow {
  /** Receipt: ISO 8601, UTC, with `Z`. */
  time: string;
  site: string | null;
  camera: string | null;
  rule: string | null;
  class: string | null;
  phase: 'start' | 'end';
  state: MessageState;
  attempts: number;
  alarmId: string | null;
  messageId: string | null;
  deliveryId: string;
  /** Key of the Central Station. */
  station: string;
}

export function eventRow({ event, ...message }: ListedMessage): EventRow {
  return {
    time: message.receivedTime,
    site: textOf(event.locationName),
    camera: textOf(event.cameraName),
    rule: textOf(event.eventRuleName) ?? textOf(event.eventName),
    class: textOf(event.eventClass),
    phase: isEnd(event) ? 'end' : 'start',
    state: message.state,
    attempts: message.attempts,
    alarmId: textOf(event.alarmId),
    messageId: message.messageId,
    deliveryId: message.deliveryId,
    station: message.station,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Shorter words are looked for in names alone: the number of a camera stands in nearly every id. */
const LONG_ENOUGH_FOR_IDS = 4;

/** Whether site, camera, rule, class, Central Station or an id of a message has all words. */
export function matches(message: ListedMessage, words: SearchTerms, stationName = ''): boolean {
  if (words.length === 0) return true;
  const { site, camera, rule, class: ofClass, alarmId, messageId, deliveryId, station } = eventRow(message);
  const { cameraId, cameraRemoteId, locationId } = message.event;
  const names = [site, camera, rule, ofClass, station, stationName];
  const ids = [alarmId, messageId, deliveryId, cameraId, cameraRemoteId, locationId];
  const [short, long] = [words.filter(isShort), words.filter((word) => !isShort(word))];
  return matchAll(names, short) && matchAll([...names, ...ids], long);
}

function isShort(word: string): boolean {
  return word.length < LONG_ENOUGH_FOR_IDS;
}
