import { randomUUID } from 'node:crypto';
import { withTimeout } from '../../concurrency/timers';
import type { Consumer } from '../model';
import {
  type AcceptedAnywhere,
  type ActOn,
  endStep,
  type Known,
  type LeasedMessage,
  type MessageKey,
  type NewMessage,
  type Progress,
  reasonOf,
  type ReturnedLeases,
  type StoreCalls,
  storeFailed,
} from '../store/port';
import { messageKeyOf } from '../store/stored-message';
import type { Frame, MessageFrame, Segment, Written } from './spill-file';
import {
  AlarmOrder,
  cutOff,
  delivered,
  dismissed,
  finished,
  freeBytes,
  handedOver,
  isOpen,
  lapsed,
  leasedMessage,
  mayGo,
  messageFrame,
  noted,
  notSent,
  revived,
  type SpilledMessage,
  spilledMessage,
  SpilledMessages,
} from './spill-journal';
import { alarmOf } from '../store/port';

/** What a spill store is given to work with. */
export interface SpillStoreWork {
  /** Resolves when the frame is on the disk. @throws Error where it cannot be written */
  append(frame: Frame): Promise<Written>;
  /** False while it is not known what former processes have spilled. */
  isLoaded(): boolean;
  /** Of the alarms, as `alarmOf` names them, those of which the flow of an endpoint has an event at work. */
  atWork(endpoint: string): ReadonlySet<string>;
  /** More of an endpoint wait, or may go now. */
  waits(endpoint: string): void;
  /** One of a node is known that a former process had spilled. */
  restored(node: string): void;
  /** The node that an endpoint has, or had last. */
  nodeOf(endpoint: string): string | undefined;
  /** The endpoint that a node has, or had last. */
  endpointOf(node: string): string | undefined;
}

/** How a message is spilled. */
interface Spill {
  message: NewMessage;
  lease: StoreCalls['accept']['take']['lease'];
  /** What the inbox knows of it; undefined where that cannot be read. */
  known: Known | undefined;
  /** The delivery id of its row, once it is known that the store took it after all. */
  late?: Promise<string | undefined>;
}

/** What `SpillStore.accept` gives. */
export type AcceptedBeside = AcceptedAnywhere & { spilled: SpilledMessage | undefined };

/** From the first message of a webhook node that was spilled until all are in the inbox. */
interface Outage {
  /** Messages that were spilled. */
  spilled: number;
  /** Of those, how many are in the inbox by now. */
  entered: number;
  /** `none`: all of them were spilled by a former process, which told of it. */
  begin: 'none' | 'owed' | 'told';
  isOver: boolean;
}

/**
 * Of each webhook node, whose endpoint may change, how many messages were spilled since its inbox failed, and how many have
 * entered it since; its consumer is told of the begin and of the end, as soon as there is one.
 */
export class OutageLog {
  readonly #outages = new Map<string, Outage>();
  /** Messages of all nodes, since it was last asked for. */
  #entered = 0;

  /** @param consumerOf undefined where nothing reaches a flow now */
  constructor(private readonly consumerOf: (nodeId: string) => Consumer | undefined) {}

  spilled(nodeId: string): void {
    const outage = this.#count(nodeId);
    if (outage.begin === 'none') outage.begin = 'owed';
    this.tellOwed(nodeId);
  }

  /** What was spilled when its endpoint had no node is of this one. */
  adopt(endpoint: string, nodeId: string): void {
    const outage = this.#outages.get(endpoint);
    if (outage === undefined || this.#outages.has(nodeId)) return;
    this.#outages.delete(endpoint);
    this.#outages.set(nodeId, outage);
  }

  /** A former process had spilled it. */
  restored(nodeId: string): void {
    this.#count(nodeId);
  }

  /** One of those that were spilled is in the inbox. */
  entered(nodeId: string): void {
    this.#entered += 1;
    const outage = this.#outages.get(nodeId);
    if (outage !== undefined) outage.entered += 1;
  }

  /**
   * All that the inbox would have are in it.
   * @returns how many have entered since the last time, those of all nodes
   */
  over(): number {
    for (const [nodeId, outage] of this.#outages) {
      outage.isOver = true;
      this.tellOwed(nodeId);
    }
    const entered = this.#entered;
    this.#entered = 0;
    return entered;
  }

  /** Something reaches the flow again. */
  tellOwed(nodeId: string): void {
    const outage = this.#outages.get(nodeId);
    if (outage === undefined || (outage.begin !== 'owed' && !outage.isOver)) return;
    const consumer = this.consumerOf(nodeId);
    if (consumer === undefined) return;
    const { spilled, entered, isOver } = outage;
    outage.begin = 'told';
    if (isOver) this.#outages.delete(nodeId);
    consumer.onSpilled({ count: isOver ? entered : spilled, isOver });
  }

  /** One more, of a spell whose end nobody heard of perhaps: then it goes on. */
  #count(nodeId: string): Outage {
    const outage = this.#outages.get(nodeId) ?? { spilled: 0, entered: 0, begin: 'none', isOver: false };
    this.#outages.set(nodeId, outage);
    outage.spilled += 1;
    outage.isOver = false;
    return outage;
  }
}

/** Messages of which is asked together. */
const BATCH = 100;

/** What the inbox knows of each message; undefined of one where it cannot tell. */
type Answers = (Known | undefined)[];

export interface DoubtfulWork {
  /** What the inbox knows of a message. @throws RvmError STORE_FAILED */
  look(likeness: MessageKey): Promise<Known>;
  /** Time for it to tell of a batch, in milliseconds; at a start it is to be opened first. */
  timeoutMs: number;
  /** These are in the inbox. */
  inside(messages: readonly SpilledMessage[]): Promise<void>;
  /** These are not, or may be and say so: they may go. */
  release(messages: readonly SpilledMessage[]): void;
}

/**
 * What a former process has left may have entered the inbox, and been settled there, where it could neither remove the file nor
 * note that: so the inbox is asked before it goes to the flow. Where that does not tell, the event says that it may come twice.
 */
export async function resolveUncertain(
  messages: readonly SpilledMessage[],
  work: DoubtfulWork,
): Promise<void> {
  let isAnswered = true;
  for (let at = 0; at < messages.length; at += BATCH) {
    const batch = messages.slice(at, at + BATCH);
    const known: Answers | undefined = isAnswered ? await lookAll(batch, work) : undefined;
    isAnswered = known !== undefined;
    for (const [index, spilled] of batch.entries()) spilled.mayRepeat ||= known?.[index] === undefined;
    // Not one of which somebody has said meanwhile that it is settled.
    await work.inside(
      batch.filter(
        ({ progress }, index) => progress.state === 'received' && known?.[index]?.outcome === 'repeat',
      ),
    );
    for (const spilled of batch) spilled.isDoubtful = false;
    work.release(batch);
  }
}

/** Undefined where it does not answer in time. */
function lookAll(batch: readonly SpilledMessage[], work: DoubtfulWork): Promise<Answers | undefined> {
  const asking = batch.map(({ columns }) => work.look(messageKeyOf(columns)).catch(() => undefined));
  return withTimeout(Promise.all(asking), work.timeoutMs);
}

/**
 * What is spilled goes to the flow as what is in the inbox does: the same questions (`sqlite/messages`), the same rules
 * (`AlarmOrder`), but in memory. What must be known after a crash is a frame on the disk before it is answered; a
 * frame that cannot be written keeps no event from the flow.
 */
export class SpillStore {
  readonly messages = new SpilledMessages();
  readonly #alarmOrder = new AlarmOrder(this.messages);
  #lastOrder = 0;

  constructor(private readonly work: SpillStoreWork) {}

  /** @throws Error where it cannot be written */
  async accept({ message, lease, known, late }: Spill): Promise<AcceptedBeside> {
    const copies = this.messages.copiesOf(message);
    const [same] = this.#sameAs(message);
    if (same !== undefined) {
      await same.kept;
      return { ...answer(same, 'repeat'), spilled: undefined };
    }
    const isConflict = copies.length > 0 || known?.outcome === 'conflict';
    const spilled = this.#new(message, known, isConflict);
    spilled.late = late;
    const leased = this.#mayLease(spilled, lease);
    if (leased) spilled.progress = handedOver(spilled.progress);
    this.messages.add(spilled);
    await this.#keep(spilled, message.bytes);
    return { ...answer(spilled, isConflict ? 'conflict' : 'new'), leased, spilled };
  }

  /** One that was spilled before this process, or by another. What that had handed over comes again, and says so. */
  restore(
    frame: MessageFrame,
    place: SpilledMessage['place'],
    { change, segment: progressIn }: { change: number; segment?: Segment },
  ): void {
    if (this.messages.find(frame.deliveryId) !== undefined) return;
    const { message, deliveryId, first, ended, mayRepeat, node } = frame;
    const { bytes, ...sent } = message;
    const columns = { ...sent, endpoint: this.work.endpointOf(node) ?? sent.endpoint };
    const progress = cutOff(frame.progress);
    const order = this.#nextOrder();
    const facts = { first, ended, mayRepeat, node };
    const spilled = spilledMessage({ deliveryId, order, columns, bytes, progress, ...facts });
    // One that the flow has had says so when it comes again.
    const isDoubtful = progress.state === 'received' && progress.attempt === 0;
    Object.assign(spilled, { place, change, keptChange: change, progressIn, isDoubtful });
    // It came once more while this was being read.
    for (const same of this.#sameAs(columns)) same.mayRepeat = spilled.mayRepeat = true;
    freeBytes(spilled);
    this.messages.add(spilled);
    this.work.restored(node);
  }

  has(deliveryId: string): boolean {
    return this.messages.find(deliveryId) !== undefined;
  }

  /** Whether one that arrives is known here, or has its turn behind one that is open here. */
  concerns(message: NewMessage): boolean {
    if (this.messages.size === 0) return false;
    return this.messages.copiesOf(message).length > 0 || this.#alarmOrder.hasOpen(message);
  }

  /** Of an endpoint, as `alarmOf` names them: alarms of which one is open here, or at work until its end is on the disk. */
  openAlarms(endpoint: string): string[] {
    if (this.messages.size === 0) return [];
    const alarms = new Set(this.work.atWork(endpoint));
    for (const { columns } of this.messages.all().filter(isOpen))
      if (columns.endpoint === endpoint && columns.alarm !== undefined)
        alarms.add(alarmOf(columns.station, columns.alarm));
    return [...alarms];
  }

  /** How many of an endpoint wait. */
  waiting(endpoint: string): number {
    return this.messages.waiting(endpoint).length;
  }

  /** It keeps no event from the flow that this cannot be written. */
  async lease({ endpoint, limit, health, ordered }: StoreCalls['lease']['take']): Promise<LeasedMessage[]> {
    const atWork: ReadonlySet<string> = ordered ? this.work.atWork(endpoint) : new Set();
    let left = health;
    const next: SpilledMessage[] = [];
    for (const spilled of this.messages.waiting(endpoint)) {
      if (next.length === limit) break;
      if (!mayGo(spilled)) continue;
      if (ordered && this.#alarmOrder.mustWait(spilled, atWork)) continue;
      if (spilled.columns.rank === 0 || left-- > 0) next.push(spilled);
    }
    for (const spilled of next) this.#change(spilled, handedOver(spilled.progress));
    const leasing = this.#keepProgress(next).catch(() => undefined);
    for (const spilled of next) spilled.leasing = leasing;
    await leasing;
    for (const spilled of next) spilled.leasing = undefined;
    return next.map(leasedMessage);
  }

  async giveBack(ids: ReturnedLeases): Promise<void> {
    const unsent = this.#leased(ids.unsent);
    const mayBeSent = this.#leased(ids.cutOff);
    for (const spilled of unsent) this.#change(spilled, notSent(spilled.progress));
    for (const spilled of mayBeSent) this.#change(spilled, cutOff(spilled.progress));
    const given = [...unsent, ...mayBeSent];
    await this.#keepProgress(given).catch(() => undefined);
    for (const endpoint of new Set(given.map(({ columns }) => columns.endpoint))) this.work.waits(endpoint);
  }

  async lapse({ deliveryId, ...lease }: StoreCalls['lapse']['take']): Promise<StoreCalls['lapse']['give']> {
    const [spilled] = this.#leased([deliveryId]);
    if (spilled === undefined) return undefined;
    const { progress, dead, counted } = lapsed(spilled.progress, lease);
    this.#change(spilled, progress);
    await this.#keepProgress([spilled]).catch(() => undefined);
    return { dead, counted };
  }

  async again(deliveryId: string): Promise<number | undefined> {
    const [spilled] = this.#leased([deliveryId]);
    if (spilled === undefined) return undefined;
    const progress = handedOver(spilled.progress);
    this.#change(spilled, progress);
    await this.#keepProgress([spilled]).catch(() => undefined);
    return progress.attempt;
  }

  /** @throws RvmError STORE_FAILED where that cannot be written */
  async markDelivered(deliveryIds: readonly string[]): Promise<void> {
    const spilled = this.#find(deliveryIds);
    for (const each of spilled) this.#change(each, delivered(each.progress));
    await this.#keepProgress(spilled);
  }

  /** @throws RvmError STORE_FAILED where that cannot be written */
  async finish({
    deliveryId,
    state,
    give,
    step = endStep(state),
  }: StoreCalls['finish']['take']): Promise<StoreCalls['finish']['give']> {
    const [spilled] = this.#find([deliveryId]);
    if (spilled === undefined) return undefined;
    const message = leasedMessage(spilled);
    const { endpoint } = spilled.columns;
    const progress = finished(spilled.progress, state, step);
    if (progress === undefined) await this.#keepProgress([spilled]);
    else await this.#changeDurably(spilled, progress);
    this.work.waits(endpoint);
    // One that waits here is not counted among those that wait in the inbox.
    const was = message.state === 'received' ? 'leased' : message.state;
    return { was, endpoint, ...(give && { message }) };
  }

  /** @throws RvmError STORE_FAILED where that cannot be written */
  async revive({ deliveryId, ...by }: ActOn): Promise<void> {
    const [spilled] = this.#find([deliveryId]);
    if (spilled === undefined) return;
    const progress = revived(spilled.progress, by);
    if (progress === undefined) return;
    await this.#changeDurably(spilled, progress);
    this.work.waits(spilled.columns.endpoint);
  }

  /** @throws RvmError STORE_FAILED where that cannot be written */
  async dismiss({ deliveryId, ...by }: ActOn): Promise<boolean> {
    const [spilled] = this.#find([deliveryId]);
    if (spilled === undefined) return false;
    const progress = dismissed(spilled.progress, by);
    if (progress === undefined) return false;
    await this.#changeDurably(spilled, progress);
    return true;
  }

  /** @throws RvmError STORE_FAILED where that cannot be written */
  async note({ deliveryId, step, ifOpen }: StoreCalls['note']['take']): Promise<StoreCalls['note']['give']> {
    const [spilled] = this.#find([deliveryId]);
    if (spilled === undefined) return undefined;
    if (ifOpen !== true || isOpen(spilled)) await this.#changeDurably(spilled, noted(spilled.progress, step));
    return spilled.progress.state;
  }

  #new(message: NewMessage, known: Known | undefined, isConflict: boolean): SpilledMessage {
    const { bytes, ...columns } = message;
    const state = isConflict ? 'conflict' : message.state;
    // The same message may be among what is read just now.
    const isAllKnown = known !== undefined && this.work.isLoaded();
    return spilledMessage({
      deliveryId: randomUUID(),
      order: this.#nextOrder(),
      columns,
      bytes,
      progress: { state, attempt: 0, cutOff: 0, atFlow: false },
      ...this.#alarmOrder.phaseOf(message, isAllKnown ? known : undefined),
      mayRepeat: !isAllKnown,
      node: this.work.nodeOf(message.endpoint) ?? message.endpoint,
    });
  }

  #sameAs(likeness: MessageKey): SpilledMessage[] {
    const copies = this.messages.copiesOf(likeness);
    return copies.filter(({ columns }) => columns.fingerprint === likeness.fingerprint);
  }

  #nextOrder(): number {
    this.#lastOrder += 1;
    return this.#lastOrder;
  }

  #mayLease(spilled: SpilledMessage, lease: Spill['lease']): boolean {
    const { endpoint } = spilled.columns;
    if (lease === 'no' || spilled.progress.state !== 'received' || this.waiting(endpoint) > 0) return false;
    return lease === 'any' || !this.#alarmOrder.mustWait(spilled, this.work.atWork(endpoint));
  }

  #find(deliveryIds: readonly string[]): SpilledMessage[] {
    return deliveryIds.map((id) => this.messages.find(id)).filter((spilled) => spilled !== undefined);
  }

  #leased(deliveryIds: readonly string[]): SpilledMessage[] {
    return this.#find(deliveryIds).filter(({ progress }) => progress.state === 'leased');
  }

  /** Undefined leaves it as it is. */
  #change(spilled: SpilledMessage, progress: Progress | undefined): void {
    if (progress !== undefined) this.messages.change(spilled, progress);
  }

  async #keep(spilled: SpilledMessage, bytes: Uint8Array): Promise<void> {
    const { change } = spilled;
    const writing = this.work.append(messageFrame(spilled, bytes)).then((place) => {
      Object.assign(spilled, { place, keptChange: Math.max(change, spilled.keptChange) });
      freeBytes(spilled);
    });
    spilled.kept = writing;
    try {
      await writing;
    } catch (error) {
      this.messages.remove(spilled);
      throw error;
    }
  }

  /** As it was where that cannot be written: who is told so may say it again. @throws RvmError STORE_FAILED */
  async #changeDurably(spilled: SpilledMessage, progress: Progress): Promise<void> {
    const { progress: was, bytes } = spilled;
    this.messages.change(spilled, progress);
    const { change } = spilled;
    try {
      await this.#keepProgress([spilled]);
    } catch (error) {
      // It may enter the inbox as it is now, or another may have written it.
      await spilled.moving;
      if (!this.has(spilled.deliveryId) || spilled.keptChange >= change) return;
      spilled.bytes = bytes;
      this.messages.change(spilled, was);
      if (was.state === 'received') this.work.waits(spilled.columns.endpoint);
      throw error;
    }
  }

  /** Also what could not be written the last time. @throws RvmError STORE_FAILED */
  async #keepProgress(some: readonly SpilledMessage[]): Promise<void> {
    const unkept = some.filter(({ change, keptChange }) => change > keptChange);
    await Promise.all(unkept.map((spilled) => this.#keepOne(spilled)));
  }

  async #keepOne(spilled: SpilledMessage): Promise<void> {
    const { deliveryId, change, progress } = spilled;
    try {
      const { segment } = await this.work.append({ kind: 'progress', deliveryId, change, progress });
      if (change > spilled.keptChange) spilled.progressIn = segment;
    } catch (error) {
      throw storeFailed(`the spill folder cannot be written: ${reasonOf(error)}`);
    }
    spilled.keptChange = Math.max(change, spilled.keptChange);
  }
}

function answer(
  { deliveryId, first, ended }: SpilledMessage,
  outcome: AcceptedAnywhere['outcome'],
): AcceptedAnywhere {
  return { outcome, deliveryId, sequence: null, first, ended, leased: false };
}
