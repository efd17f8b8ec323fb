import { forEachTimeSliced } from '../../concurrency/iteration';
import { withTimeout } from '../../concurrency/timers';
import type { ListQuery, MessageList } from '../model';
import { type InboxRows, listedOf, type PatientReading, rowsOf } from '../reading';
import {
  type CallName,
  endStep,
  type Known,
  type LeasedMessage,
  type LocalCall,
  type NewMessage,
  type StoreCalls,
  storeFailed,
  type StorePort,
  TOO_SLOW,
} from '../store/port';
import { isListed, isOpenState, MAX_LISTED, messageKeyOf } from '../store/stored-message';
import { readFrames, type Segment } from './spill-file';
import { leasedMessage, type SpilledMessage, type SpilledMessages } from './spill-journal';
import type { Spilling } from './spilling';

/** Time for a store that fails to say whether a message is known, in milliseconds: it may read what it cannot write. */
const LOOK_WITHIN = 250;

/**
 * What a store that fails knows of messages: asked of all at once, and told in the order in which they came, so that none
 * overtakes another. None waits longer than the store has for an answer, however many wait.
 */
export class KnownIdCheck {
  /** Settles when all that came until now had their turn. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** A question that was not answered in time: it is asked no other until it is. */
  #unanswered: Promise<unknown> | undefined;

  constructor(private readonly store: StorePort) {}

  /**
   * Its turn comes when all before it had theirs.
   * @param message undefined where the store need not be asked
   * @param act told what the store knows; undefined where it cannot read that now
   */
  async inTurn<Result>(
    message: NewMessage | undefined,
    act: (known: Known | undefined) => Promise<Result>,
  ): Promise<Result> {
    const looking = message && this.#look(message);
    this.#waiting += 1;
    // The next one comes when it has begun, not when it is done.
    const begun = this.#last.then(async () => {
      const known = await looking;
      this.#waiting -= 1;
      return { acting: act(known) };
    });
    this.#last = begun;
    return (await begun).acting;
  }

  /** True while some that came wait for their turn. */
  get areAhead(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves when all that came until now had their turn. */
  async ended(): Promise<void> {
    await this.#last;
  }

  #look(message: NewMessage): Promise<Known | undefined> {
    if (this.#unanswered !== undefined) return Promise.resolve(undefined);
    const asking = this.store.call('look', messageKeyOf(message)).then(
      (known) => ({ known }),
      () => ({ known: undefined }),
    );
    return withTimeout(asking, LOOK_WITHIN).then((answer) => {
      if (answer === undefined) this.#hangs(asking);
      return answer?.known;
    });
  }

  #hangs(asking: Promise<unknown>): void {
    this.#unanswered = asking;
    void asking.then(() => {
      if (this.#unanswered === asking) this.#unanswered = undefined;
    });
  }
}

/**
 * Rows of a list of the inbox that are messages beside it: they are just entering it, or it has taken them too late. What is
 * beside it has come further.
 */
class EnteringRows {
  readonly #shown: ReadonlyMap<string, SpilledMessage>;

  /** @param shown of the messages beside the inbox, those that the list has */
  constructor(
    private readonly messages: SpilledMessages,
    shown: readonly SpilledRow[],
    private readonly state: ListQuery['state'],
  ) {
    this.#shown = new Map(shown.map(({ spilled }) => [keyOf(spilled.columns), spilled]));
  }

  /** What is in the inbox and nowhere else. */
  async without<Row extends LeasedMessage>(rows: readonly Row[]): Promise<Row[]> {
    const left: Row[] = [];
    for (const row of rows) {
      const twin = this.#twinOf(row);
      if (twin === undefined || !(await isSame(row, twin))) left.push(row);
    }
    return left;
  }

  /** The same message beside the inbox, where that decides: the list has it already, or rightly has it not. */
  #twinOf(row: LeasedMessage): SpilledMessage | undefined {
    const shown = this.#shown.get(keyOf(row));
    if (shown !== undefined) return shown;
    const twin = this.messages.copiesOf(row).find(({ columns }) => columns.fingerprint === row.fingerprint);
    return twin && isListed(this.state, twin.progress) ? undefined : twin;
  }
}

function keyOf({
  station,
  id,
  named,
  fingerprint,
}: Pick<LeasedMessage, 'station' | 'id' | 'named' | 'fingerprint'>): string {
  return `${station}\n${Number(named)}${id}\n${fingerprint}`;
}

/** Whether a row of the main store is a spilled message; else that has come twice, and is in both. As `Messages.bring` has it. */
async function isSame(row: LeasedMessage, { deliveryId, late }: SpilledMessage): Promise<boolean> {
  if (row.deliveryId === deliveryId || row.state === 'received') return true;
  // It is known since the inbox has answered what was asked of it later.
  return late !== undefined && (await late) === row.deliveryId;
}

/** Reads the bodies that a list shows of messages which need not be in memory any more. */
class SpilledBodies {
  /** Reads of a disk that has not answered: nothing else is read from it until it does. */
  #hanging = 0;

  /** @param timeoutMs time for the disk to give one, in milliseconds */
  constructor(private readonly timeoutMs: number) {}

  /** Adds them, as far as there is room, and as they can be read. Fails never. */
  async addTo(rows: readonly SpilledRow[]): Promise<void> {
    if (this.#hanging > 0) return;
    // All files at once: what enters the inbox meanwhile leaves none behind, but one that is open can be read.
    await Promise.all([...bySegment(rows)].map(([segment, inSegment]) => this.#read(segment, inSegment)));
  }

  async #read(segment: Segment, rows: readonly SpilledRow[]): Promise<void> {
    const places = rows.map(({ spilled }) => spilled.place).filter((place) => place !== undefined);
    const frames = readFrames(segment, places);
    for (const { spilled, row } of rows) {
      const reading = frames.next();
      const next = await withTimeout(reading, this.timeoutMs);
      if (next === undefined) return this.#hangs(reading, frames);
      const frame = next.done === true ? undefined : next.value;
      if (frame?.kind === 'message' && frame.deliveryId === spilled.deliveryId)
        row.bytes = frame.message.bytes;
    }
    await frames.return(undefined);
  }

  /** The file is closed when the disk has answered. */
  #hangs(reading: Promise<unknown>, frames: AsyncGenerator): void {
    this.#hanging += 1;
    void frames.return(undefined);
    void reading.then(() => (this.#hanging -= 1));
  }
}

/** Those that are not in memory, by the file that has them. */
function bySegment(rows: readonly SpilledRow[]): Map<Segment, SpilledRow[]> {
  const found = new Map<Segment, SpilledRow[]>();
  let bytes = 0;
  for (const each of rows) {
    const { place } = each.spilled;
    if (each.row.bytes !== undefined || place === undefined) continue;
    if (bytes > MAX_LISTED) break;
    bytes += place.length;
    const inSegment = found.get(place.segment) ?? [];
    found.set(place.segment, inSegment);
    inSegment.push(each);
  }
  return found;
}

/** A spilled message as it is at the moment of a list. */
interface SpilledRow {
  spilled: SpilledMessage;
  row: LeasedMessage;
}

/** What is spilled of a list, newest first, at one moment: that in which it resolves. */
async function listSpilled(messages: SpilledMessages, query: ListQuery): Promise<SpilledRow[]> {
  const { state, since = 0, until = Infinity, limit } = query;
  if (messages.size === 0) return [];
  const newest = new Newest(limit);
  // The newest first: then most of the others are seen to be older than the last that there is room for.
  // One that is not on the disk was not accepted yet.
  const isWanted = ({ place, progress }: SpilledMessage): boolean =>
    place !== undefined && isListed(state, progress);
  await forEachTimeSliced(messages.all().reverse(), (spilled) => {
    const { received } = spilled.columns;
    if (received >= since && received < until && isWanted(spilled) && isMeant(spilled, query))
      newest.offer(spilled);
  });
  return newest
    .all()
    .filter((spilled) => isWanted(spilled) && messages.find(spilled.deliveryId) === spilled)
    .map((spilled) => ({ spilled, row: leasedMessage(spilled) }));
}

/** Where one message, or one alarm, is asked for. */
function isMeant({ deliveryId, columns }: SpilledMessage, { deliveryId: one, alarm }: ListQuery): boolean {
  if (one !== undefined) return deliveryId === one;
  return alarm === undefined || (columns.station === alarm.station && columns.alarm === alarm.alarmId);
}

/** The newest of many, so many at most. */
class Newest {
  readonly #kept: SpilledMessage[] = [];
  /** The last that there is room for; undefined while there is room for more. */
  #last: SpilledMessage | undefined;

  constructor(private readonly limit: number) {}

  offer(spilled: SpilledMessage): void {
    if (this.#last !== undefined && newestFirst(spilled, this.#last) > 0) return;
    this.#kept.push(spilled);
    if (this.#kept.length >= 2 * this.limit) this.#cut();
  }

  all(): SpilledMessage[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    this.#kept.sort(newestFirst).splice(this.limit);
    if (this.#kept.length === this.limit) this.#last = this.#kept.at(-1);
  }
}

/** In the order of the inbox: what is spilled has no sequence, but an order of its own. */
function newestFirst(one: SpilledMessage, other: SpilledMessage): number {
  return other.columns.received - one.columns.received || other.order - one.order;
}

/** What is in the inbox, and what is kept beside it, as one list, in which each message is once. */
export class Listing {
  readonly #bodies: SpilledBodies;

  /** @param timeoutMs time for a disk that fails to give what is on it, in milliseconds */
  constructor(
    private readonly inbox: PatientReading,
    private readonly spilling: Spilling,
    private readonly timeoutMs: number,
  ) {
    this.#bodies = new SpilledBodies(timeoutMs);
  }

  async list(query: ListQuery): Promise<MessageList> {
    const isLoaded = await withTimeout(
      this.spilling.loaded().then(() => true),
      this.timeoutMs,
    );
    const beside = await listSpilled(this.spilling.store.messages, query);
    // The inbox is asked in the step that has seen what is beside it: what enters it later is not in its answer. In the same step
    // the files are opened that are needed until then.
    const [inside] = await Promise.all([this.#inside(query, beside), this.#bodies.addTo(beside)]);
    // Of one moment, those beside the inbox came later.
    const messages = await listedOf([...beside.map(({ row }) => row), ...inside.rows], query);
    const fault =
      inside.fault ?? (isLoaded ? undefined : storeFailed('its spill folder is still being read'));
    return { messages, ...(fault && { fault }) };
  }

  async #inside(query: ListQuery, beside: readonly SpilledRow[]): Promise<InboxRows> {
    // Nothing is needed that is older than what fills the list already.
    const since = beside.length < query.limit ? query.since : beside.at(-1)?.row.received;
    const entering = new EnteringRows(this.spilling.store.messages, beside, query.state);
    const ends = this.spilling.ends();
    const asked = { ...query, ...(since !== undefined && { since }) };
    const inside = await rowsOf(this.inbox, asked);
    const found = await entering.without(inside.rows);
    const rows = found.map((row) => (isOpenState(row.state) ? withEnd(row, ends.get(row.deliveryId)) : row));
    return { ...inside, rows: rows.filter((row) => isListed(query.state, row)) };
  }
}

/** It has come to an end that the inbox could not be told yet. */
function withEnd(row: LeasedMessage, state: 'delivered' | 'dead' | undefined): LeasedMessage {
  return state === undefined ? row : { ...row, state, again: undefined };
}

type Take<Name extends CallName> = StoreCalls[Name]['take'];
type Give<Name extends CallName> = Promise<StoreCalls[Name]['give']>;
type Routes = { [Name in CallName]?: (take: Take<Name>, hurry?: boolean) => Give<Name> };

interface BothStoresOptions {
  spilling: Spilling;
  /** The endpoint whose flow has an event of the inbox at work. */
  endpointOf: (deliveryId: string) => string | undefined;
  /** Told that one waits for the inbox to work. */
  onKept: () => void;
  /** Time for the inbox to take a settlement before that is spilled, in milliseconds. */
  timeoutMs: number;
}

/**
 * The inbox and what is spilled beside it, as one: each event is asked of where it is, under the same delivery id throughout.
 * What comes in, and what waits, is asked of the one or the other by those who know which.
 */
export class BothStores implements StorePort {
  readonly #routes: Routes;

  constructor(
    private readonly main: StorePort,
    private readonly options: BothStoresOptions,
  ) {
    const { store } = options.spilling;
    this.#routes = {
      // What the inbox would not have has the turn of its alarm all the same.
      lease: (take) => main.call('lease', { ...take, except: store.openAlarms(take.endpoint) }),
      lapse: (take) =>
        this.#at(
          take.deliveryId,
          () => store.lapse(take),
          () => main.call('lapse', take),
        ),
      again: (id) =>
        this.#at(
          id,
          () => store.again(id),
          () => main.call('again', id),
        ),
      finish: (take) =>
        this.#at(
          take.deliveryId,
          () => store.finish(take),
          () => this.#finish(take),
        ),
      // It waits beside the inbox, where it looks for itself.
      revive: (act) =>
        this.#at(
          act.deliveryId,
          () => store.revive(act).then(() => undefined),
          () => main.call('revive', act),
        ),
      dismiss: (act) =>
        this.#at(
          act.deliveryId,
          () => store.dismiss(act),
          () => main.call('dismiss', act),
        ),
      note: (take) =>
        this.#at(
          take.deliveryId,
          () => store.note(take),
          () => this.#note(take),
        ),
      stateOf: (id) =>
        this.#at(
          id,
          async () => store.messages.find(id)?.progress.state,
          () => main.call('stateOf', id),
        ),
      giveBack: (take) => this.#giveBack(take),
      markDelivered: (ids, hurry) => this.#markDelivered(ids, hurry),
    };
  }

  call<Name extends LocalCall>(name: Name, take: Take<Name>, hurry?: boolean): Give<Name> {
    const route: Routes[Name] = this.#routes[name];
    return route === undefined ? this.main.call(name, take, hurry) : route(take, hurry);
  }

  close(): Promise<void> {
    return this.main.close();
  }

  /** One that is just entering the inbox is asked of where it is then. */
  #at<Result>(
    deliveryId: string,
    beside: () => Promise<Result>,
    inside: () => Promise<Result>,
  ): Promise<Result> {
    const spilled = this.options.spilling.store.messages.find(deliveryId);
    if (spilled === undefined) return inside();
    if (spilled.moving === undefined) return beside();
    return spilled.moving.then(() => this.#at(deliveryId, beside, inside));
  }

  async #moved(deliveryIds: readonly string[]): Promise<void> {
    const { messages } = this.options.spilling.store;
    await Promise.all(deliveryIds.map((id) => messages.find(id)?.moving ?? Promise.resolve()));
  }

  #split(deliveryIds: readonly string[]): { beside: string[]; inside: string[] } {
    const { store } = this.options.spilling;
    return {
      beside: deliveryIds.filter((id) => store.has(id)),
      inside: deliveryIds.filter((id) => !store.has(id)),
    };
  }

  /** How many wait again in the inbox. */
  #giveBack(take: Take<'giveBack'>): Give<'giveBack'> {
    const ids = [...take.unsent, ...take.cutOff];
    // In one step with the answers before and after it: those who count what waits rely on their order.
    return this.#split(ids).beside.length === 0 ? this.main.call('giveBack', take) : this.#giveEachBack(take);
  }

  async #giveEachBack(take: Take<'giveBack'>): Give<'giveBack'> {
    await this.#moved([...take.unsent, ...take.cutOff]);
    const [unsent, cutOff] = [this.#split(take.unsent), this.#split(take.cutOff)];
    await this.options.spilling.store.giveBack({ unsent: unsent.beside, cutOff: cutOff.beside });
    if (unsent.inside.length + cutOff.inside.length === 0) return 0;
    return this.main.call('giveBack', { unsent: unsent.inside, cutOff: cutOff.inside });
  }

  async #markDelivered(ids: readonly string[], hurry?: boolean): Give<'markDelivered'> {
    if (this.#split(ids).beside.length > 0) await this.#moved(ids);
    const { beside, inside } = this.#split(ids);
    const marking = [
      ...(beside.length > 0 ? [this.options.spilling.store.markDelivered(beside)] : []),
      ...(inside.length > 0 ? [this.#markInside(inside, hurry)] : []),
    ];
    await Promise.all(marking);
  }

  async #markInside(ids: string[], hurry?: boolean): Promise<void> {
    const step = endStep('delivered');
    const marking = this.main.call('markDelivered', ids, hurry).then(() => true);
    try {
      if ((await withTimeout(marking, this.options.timeoutMs)) === true) return;
    } catch (error) {
      return this.#keepEnds(ids, { state: 'delivered', step }, () => Promise.reject(error));
    }
    await this.#keepEnds(ids, { state: 'delivered', step }, async () => void (await marking));
  }

  /** What becomes of an event does not wait for what is said of it. @throws RvmError STORE_FAILED */
  async #note(take: Take<'note'>): Give<'note'> {
    const noting = this.main.call('note', take).then((give) => ({ give }));
    const noted = await withTimeout(noting, this.options.timeoutMs);
    if (noted === undefined) throw storeFailed(TOO_SLOW);
    return noted.give;
  }

  /** An inbox that fails cannot be told that an event is settled; so that is spilled, and told later. */
  #finish(take: Take<'finish'>): Give<'finish'> {
    const finishing = this.main.call('finish', take);
    const endpoint = this.options.endpointOf(take.deliveryId);
    return endpoint === undefined ? finishing : this.#finishOrKeep(take, finishing, endpoint);
  }

  async #finishOrKeep(take: Take<'finish'>, finishing: Give<'finish'>, endpoint: string): Give<'finish'> {
    const told = finishing.then((give) => ({ give }));
    let otherwise: () => Promise<void> = async () => void (await told);
    try {
      const finished = await withTimeout(told, this.options.timeoutMs);
      if (finished !== undefined) return finished.give;
    } catch (error) {
      otherwise = () => Promise.reject(error);
    }
    await this.#keepEnds([take.deliveryId], take, otherwise);
    return { was: 'leased', endpoint };
  }

  /** @param otherwise where that cannot be written either */
  async #keepEnds(
    ids: readonly string[],
    end: Pick<Take<'finish'>, 'state' | 'step'>,
    otherwise: () => Promise<void>,
  ): Promise<void> {
    try {
      await Promise.all(ids.map((id) => this.options.spilling.settle(id, end)));
      this.options.onKept();
    } catch {
      await otherwise();
    }
  }
}
