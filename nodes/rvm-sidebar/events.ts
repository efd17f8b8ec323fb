import type { NodeAPI } from 'node-red';
import type { RtspWanted } from '../../lib/cloud/calls';
import { namesCamera } from '../../lib/cloud/cameras/camera-resolver';
import { RvmError } from '../../lib/error';
import { eventRow, type EventRow, matches } from '../../lib/inbox/store/stored-message';
import { cutText, type DeadReason, type ListedMessage, type ListQuery } from '../../lib/inbox/model';
import { searchInboxes, listAll } from '../../lib/inbox/searches';
import type { JsonRecord } from '../../lib/json/json';
import { VIEW_PRE_ROLL_S } from '../../lib/limits';
import { type SearchTerms, parseTerms } from '../../lib/text';
import type { ViewRight } from '../../lib/video/view/signed-address';
import { allStations, type Station } from '../rvm-central-station/station';
import { allInboxes } from '../rvm-inbox/inboxes';
import { rightFor } from '../rvm-view/view-source';
import { webhookAt } from '../rvm-webhook-in/webhook-node';
import { pictureKindOf } from '../support/recent-video';
import { problemKey } from '../support/status';
import {
  type DeadLetters,
  type EventHistory,
  type FoundEvents,
  MOST_SHOWN,
  type SidebarRow,
} from './overview';

/**
 * Finds events, including those that are not in the overview.
 * @throws RvmError BAD_INPUT
 */
export async function findEvents(RED: NodeAPI, searches: Searches, input: JsonRecord): Promise<FoundEvents> {
  const limit = Number(input['limit']);
  const state = input['state'];
  if (!(Number.isSafeInteger(limit) && limit > 0) || (state !== 'all' && state !== 'dead'))
    throw new RvmError('BAD_INPUT', 'Say of which list, all or dead, and how many rows.');
  const shown = Math.min(limit, MOST_SHOWN);
  const words = parseTerms(input['search']);
  if (words.length === 0) {
    const { messages } = await listAll(allInboxes(), { state, limit: shown + 1 });
    const events = messages.slice(0, shown).map((message) => sidebarRow(RED, message));
    return {
      events,
      matches: null,
      retryable: null,
      looked: messages.length,
      isCut: messages.length > shown,
    };
  }
  return searches.run(JSON.stringify([state, shown, words]), () => search(RED, state, shown, words));
}

async function search(
  RED: NodeAPI,
  state: 'all' | 'dead',
  shown: number,
  words: SearchTerms,
): Promise<FoundEvents> {
  const isWanted = matching(RED, words);
  const found = { events: new Array<SidebarRow>(), matches: 0, retryable: 0 };
  const { count, isCut } = await searchInboxes(allInboxes(), state, (message) => {
    if (!isWanted(message)) return;
    found.matches += 1;
    if (message.canRetry) found.retryable += 1;
    if (found.events.length < shown) found.events.push(sidebarRow(RED, message));
  });
  return { ...found, looked: count, isCut };
}

/** All dead letters that match the search. */
export async function deadLetters(RED: NodeAPI, searches: Searches, input: JsonRecord): Promise<DeadLetters> {
  const words = parseTerms(input['search']);
  return searches.run(JSON.stringify(['letters', words]), async () => {
    const isWanted = matching(RED, words);
    const letters: DeadLetters['letters'] = [];
    await searchInboxes(allInboxes(), 'dead', (message) => {
      const { deliveryId, canRetry } = message;
      if (isWanted(message)) letters.push({ deliveryId, canRetry });
    });
    return { letters };
  });
}

/** Filter for events that contain these words. */
export function matching(RED: NodeAPI, words: SearchTerms): (message: ListedMessage) => boolean {
  if (words.length === 0) return () => true;
  const names = new Map(allStations(RED).map(({ key, name }) => [key, name]));
  return (message) => matches(message, words, names.get(message.station));
}

/** Runs searches one after the other, because each reads much. Equal searches at the same time share one result. */
export class Searches {
  #last: Promise<unknown> = Promise.resolve();
  readonly #running = new Map<string, Promise<unknown>>();

  /** @param wanted key of the search; equal keys must have the same type of answer */
  run<Answer>(wanted: string, search: () => Promise<Answer>): Promise<Answer> {
    const running = this.#running.get(wanted);
    if (running !== undefined) return running as Promise<Answer>;
    const answer = this.#last.then(search).finally(() => this.#running.delete(wanted));
    this.#running.set(wanted, answer);
    this.#last = answer.catch(() => undefined);
    return answer;
  }
}

/** Longest text in characters. */
const MOST_OF_NAME = 200;
const MOST_OF_ID = 512;

/** Row of an event, with the actions that the sidebar offers. */
export function sidebarRow(RED: NodeAPI, message: ListedMessage): SidebarRow {
  const { proof, canRetry, reason, deliveryId, verdict } = message;
  const picture = pictureKindOf(deliveryId) ?? null;
  const why = reason && { why: whyKey(reason) };
  const row = { ...shortened(eventRow(message)), canRetry, picture, hasVideo: hasVideo(RED, message) };
  return { ...row, ...(proof && { proof }), ...(verdict && { verdict }), ...why };
}

/** Shortens texts, because rows are sent to the browser each second and a name or an id can be as long as a body. */
function shortened(row: EventRow): EventRow {
  const cut = (text: string | null): string | null => text && cutText(text, MOST_OF_NAME);
  return {
    ...row,
    site: cut(row.site),
    camera: cut(row.camera),
    rule: cut(row.rule),
    class: cut(row.class),
    alarmId: row.alarmId && cutText(row.alarmId, MOST_OF_ID),
  };
}

/** A body that the disk has damaged was no problem on receipt, so the text is the sidebar's own. */
function whyKey(reason: DeadReason): string {
  return reason === 'unreadable' ? 'rvm-sidebar.unreadable' : problemKey({ kind: 'dead-letter', reason });
}

/**
 * The event of a delivery, from whichever inbox has it.
 * @throws RvmError UNKNOWN_DELIVERY; STORE_FAILED where an inbox that may have it cannot be read
 */
async function keptEvent(
  deliveryId: string,
  further: Pick<ListQuery, 'history'> = {},
): Promise<ListedMessage> {
  const query = { ...further, state: 'all', deliveryId, limit: 1 } as const;
  const { messages, faults } = await listAll(allInboxes(), query);
  const [message] = messages;
  if (message !== undefined) return message;
  throw faults[0] ?? new RvmError('UNKNOWN_DELIVERY', 'No inbox knows this event any more.');
}

/**
 * History of an event, its camera, and the *webhook in* that owns it.
 * @throws RvmError BAD_INPUT, UNKNOWN_DELIVERY, STORE_FAILED
 */
export async function eventHistory(RED: NodeAPI, { deliveryId }: JsonRecord): Promise<EventHistory> {
  if (typeof deliveryId !== 'string') throw new RvmError('BAD_INPUT', 'Name an event by its delivery.');
  const { history = [], event, endpointId } = await keptEvent(deliveryId, { history: true });
  const camera = { id: textIn(event.cameraId), remoteId: textIn(event.cameraRemoteId) };
  return { history, camera, webhook: webhookOf(RED, endpointId) };
}

function webhookOf(RED: NodeAPI, endpointId: string): EventHistory['webhook'] {
  const webhook = webhookAt(RED, endpointId)?.webhook;
  if (webhook === undefined) return null;
  const { title, path = '', maxAttempts = null } = webhook;
  return { title, path, maxAttempts };
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Node id in view rights of the sidebar. */
const SIDEBAR = 'rvm-sidebar';
/** Milliseconds. Each request gets a new right, so this limits one view only. */
const LASTING = 30 * 60_000;

/** `try`: a camera that is offline may have recorded the alarm all the same; its cable may have been cut during the alarm. */
export const SIDEBAR_VIDEO = { quality: 'high', whenOffline: 'try' } as const;

/** The video that the sidebar requests, and its event, if there is one. */
export interface RequestedVideo {
  right: ViewRight;
  deliveryId?: string;
}

/**
 * The right to view an event of an inbox, or a camera live. Only ids of the request count: camera and time of an event come
 * from the inbox.
 * @throws RvmError BAD_INPUT, UNKNOWN_DELIVERY, CONFIG_MISSING, EVENT_WITHOUT_CAMERA
 */
export async function requestedVideo(RED: NodeAPI, input: JsonRecord): Promise<RequestedVideo> {
  const { delivery, station, camera } = input;
  if (typeof delivery === 'string') return ofEvent(RED, delivery);
  if (typeof station === 'string' && typeof camera === 'string' && camera !== '')
    return { right: rightTo(stationOf(RED, station), { mode: 'live', camera, ...SIDEBAR_VIDEO }) };
  throw new RvmError('BAD_INPUT', 'Name an event by its delivery, or a Central Station and a camera.');
}

/** True where the event names a camera of a deployed station. */
function hasVideo(RED: NodeAPI, { event, station }: ListedMessage): boolean {
  return namesCamera(event) && allStations(RED).some(({ key }) => key === station);
}

async function ofEvent(RED: NodeAPI, deliveryId: string): Promise<RequestedVideo> {
  const { event, station } = await keptEvent(deliveryId);
  const wanted = { mode: 'event', event, preRoll: VIEW_PRE_ROLL_S, ...SIDEBAR_VIDEO } as const;
  return { right: rightTo(stationOf(RED, station), wanted), deliveryId };
}

function rightTo(station: Station, wanted: RtspWanted): ViewRight {
  const grant = { wanted, msg: {}, station, node: SIDEBAR, live: true, lasting: LASTING };
  return rightFor(grant, Date.now());
}

function stationOf(RED: NodeAPI, key: string): Station {
  const station = allStations(RED).find((each) => each.key === key);
  if (station !== undefined) return station;
  throw new RvmError('CONFIG_MISSING', 'The Central Station of this video is not deployed any more.');
}
