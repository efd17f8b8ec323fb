import type { HistoryEntry } from '../../lib/inbox/model';
import { ask, notify } from '../support/editor/requests';
import { trimmed } from '../support/editor/validate';
import { stationKey } from '../support/rules';
import { openInListEvents } from './list-events-flow.editor';
import './opened/opened-event.css';
import './opened/timeline.css';
import type { EventHistory, SidebarRow } from './overview';
import { nothing, own, present, said, textOf } from './rows.editor';
import { EventVideo } from './video.editor';

/** Milliseconds between two requests for the history: some of its steps show nowhere else. */
const EVERY = 3000;
/** Milliseconds between two checks whether the row is still listed. */
const LOOK = 500;

interface OpenedOptions {
  hand: Hand;
  /** True where the row itself already has the actions of the event. */
  hasActions: boolean;
  /** Name of the event for users. */
  name: string;
  /** Called when the row is no longer listed. */
  lost: () => void;
}

/** Details of one event, shown below its row while that is open. */
export class EventDetails {
  readonly element = $('<div class="rvm-opened" role="region" tabindex="-1">');
  readonly #video: EventVideo | undefined;
  readonly #reason = $('<div class="rvm-reason">');
  readonly #again = $('<div>');
  readonly #history = $('<div>');
  readonly #facts = $('<div>');
  readonly #ids = $('<div>');
  readonly #timer: number;
  readonly #drawn = new Map<JQuery, string>();
  #row: SidebarRow;
  #camera: EventHistory['camera'] = { id: null, remoteId: null };
  #webhook: EventHistory['webhook'] = null;
  #askedAt = -Infinity;
  #asking = false;

  constructor(
    row: SidebarRow,
    private readonly options: OpenedOptions,
  ) {
    const { name } = options;
    this.#row = row;
    this.element.attr('aria-label', name);
    if (row.hasVideo) this.#video = new EventVideo(row.deliveryId, name);
    const video = this.#video?.element ?? $('<div class="rvm-quiet">').text(own('opened.noVideo'));
    const actions = $('<div class="rvm-opened-actions">').append(this.#again, this.#listButton(name));
    this.element.append(video, this.#reason, actions, heading('history'), this.#history);
    this.element.append(heading('opened.about'), this.#facts, this.#ids);
    this.#timer = window.setInterval(() => this.#look(), LOOK);
    this.show(row);
    void this.#ask();
  }

  /** Updates the details from the row. */
  show(row: SidebarRow): void {
    this.#row = row;
    const { hand, hasActions, name } = this.options;
    const reason = reasonOf(row);
    this.#draw(this.#reason, reason, () => $('<span>').text(reason));
    this.#showFacts();
    if (!hasActions) this.#draw(this.#again, [row.state, row.canRetry], () => deliverAgain(row, name, hand));
    // The change may be a new step of the history, so load that at once.
    this.#askedAt = -Infinity;
  }

  close(): void {
    window.clearInterval(this.#timer);
    this.#video?.close();
    this.element.remove();
  }

  #listButton(name: string): JQuery {
    if (!RED.user.hasPermission('flows.write')) return $();
    return $('<button type="button" class="red-ui-button red-ui-button-small" data-action="list">')
      .text(own('opened.list.open'))
      .attr('aria-label', `${own('opened.list.open')}: ${name}`)
      .on('click', () => openInListEvents(this.#row, name));
  }

  #showFacts(): void {
    const [row, webhook] = [this.#row, this.#webhook];
    this.#draw(this.#facts, [row, webhook], () => factsOf(row, webhook));
    const { alarmId, messageId, deliveryId } = row;
    const ids = [
      ['alarm', alarmId],
      ['message', messageId],
      ['delivery', deliveryId],
      ['camera', this.#camera.id],
      ['remoteCamera', this.#camera.remoteId],
    ] as const;
    this.#draw(this.#ids, ids, () => copyableIds(ids));
  }

  #look(): void {
    if (!this.element[0]?.isConnected) return this.options.lost();
    const isDue = performance.now() - this.#askedAt >= EVERY;
    if (isDue && !this.#asking && !document.hidden && this.element.is(':visible')) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    try {
      const data = { deliveryId: this.#row.deliveryId };
      const { history, camera, webhook } = await ask<EventHistory>(said, { url: 'rvm/history', data });
      [this.#camera, this.#webhook] = [camera, webhook];
      this.#showFacts();
      this.#draw(this.#history, history, () => (history.length > 0 ? timeline(history) : nothing()));
    } catch (failure) {
      const reason = textOf(failure);
      this.#draw(this.#history, reason, () => $('<div class="rvm-quiet" role="status">').text(reason));
    } finally {
      this.#asking = false;
      this.#askedAt = performance.now();
    }
  }

  /** Redraws only what has changed, so that nothing moves under the pointer. */
  #draw(container: JQuery, of: unknown, draw: () => JQuery): void {
    const shown = JSON.stringify(of);
    if (this.#drawn.get(container) === shown) return;
    this.#drawn.set(container, shown);
    const hadFocus = container.is(':focus-within');
    container.empty().append(draw());
    if (hadFocus) (container.find('button').get(0) ?? this.element.get(0))?.focus({ preventScroll: true });
  }
}

function heading(key: string): JQuery {
  return $('<h4>').text(own(key));
}

/** Ids of an event by the name of their text; null where the event has none. */
type Ids = readonly (readonly [name: string, id: string | null])[];

/** Ids of an event, each with a button that copies it and confirms. */
function copyableIds(ids: Ids): JQuery {
  const rows = ids.flatMap(([name, id]) => (id === null || id === '' ? [] : [rowOf(name, id)]));
  return $('<dl class="rvm-ids">').append(rows.flat());
}

function rowOf(name: string, id: string): JQuery[] {
  const what = own(`opened.id.${name}`);
  const copy = own('opened.copy', { what });
  const button = $('<button type="button" class="red-ui-button red-ui-button-small">')
    .append('<i class="fa fa-clipboard" aria-hidden="true">')
    .attr({ 'data-copies': name, 'aria-label': copy, title: copy })
    .on('click', () => {
      const isCopied = RED.clipboard.copyText(id);
      const text = own(isCopied ? 'opened.copied' : 'opened.notCopied', { what, id });
      notify(text, { timeout: 3000, ...(!isCopied && { type: 'warning' }) });
    });
  return [$('<dt>').text(what), $('<dd>').append($('<code>').text(id), button)];
}

/** Lets an open row change something. */
export interface Hand {
  /** True where the user has the permission. */
  readonly mayAct: boolean;
  /** Resolves with undefined after a failure, which is reported to the user. */
  act(path: string, body: object): Promise<unknown>;
}

/** Button that delivers an event again, or the reason why that is impossible. */
function deliverAgain(row: SidebarRow, name: string, hand: Hand): JQuery {
  const reason = reasonAgainst(row, hand);
  if (reason !== undefined) return $('<div class="rvm-quiet rvm-not-again">').text(reason);
  // A filtered event has never been delivered.
  const text = own(row.state === 'filtered' ? 'opened.deliver' : 'retry');
  return $('<button type="button" class="red-ui-button red-ui-button-small">')
    .text(text)
    .attr({ 'data-action': 'retry', 'aria-label': `${text}: ${name}` })
    .on('click', () => void again(row, hand));
}

async function again({ deliveryId }: SidebarRow, hand: Hand): Promise<void> {
  const answer = await hand.act('dead-letters', { deliveryId, action: 'retry' });
  if (answer !== undefined) notify(own('opened.sentAgain'), { timeout: 3000 });
}

/**
 * Why the event cannot be delivered again. Possible for dead letters that ran out of attempts, filtered events, and events the
 * flow has not settled.
 */
function reasonAgainst({ canRetry, state }: SidebarRow, { mayAct }: Hand): string | undefined {
  if (!canRetry && state !== 'leased') return own(`opened.notAgain.${state}`);
  return mayAct ? undefined : own('opened.notAgain.notAllowed');
}

/** States that are reported as a problem, with the text of that problem. */
const PROBLEMS: Partial<Record<string, string>> = {
  conflict: 'shared.problem.conflict',
  stale: 'shared.problem.too-old',
  other: 'shared.problem.other',
};

/** Explains the state of an event and what to do. */
function reasonOf({ why, state }: SidebarRow): string {
  return said(why ?? PROBLEMS[state] ?? `rvm-sidebar.opened.state.${state}`);
}

/**
 * Further facts of an event.
 * @param webhook the node that owns it, once known
 */
function factsOf(row: SidebarRow, webhook: EventHistory['webhook']): JQuery {
  const { time, attempts, station, rule, site, camera } = row;
  const most = webhook?.maxAttempts ?? undefined;
  const facts: [name: string, value: string][] = [
    ['received', new Date(time).toLocaleString()],
    ['webhook', webhook === null ? '' : present([webhook.title, webhook.path], ' · ')],
    ['attempts', most === undefined ? String(attempts) : own('opened.attemptsOf', { count: attempts, most })],
    ['station', stationOf(station)],
    ['place', present([site, camera], ' · ')],
    ['rule', present([rule, row.class], ' · ')],
  ];
  const shown = facts.filter(([, value]) => value !== '');
  return $('<dl class="rvm-facts">').append(
    shown.flatMap(([name, value]) => [$('<dt>').text(own(`opened.fact.${name}`)), $('<dd>').text(value)]),
  );
}

/** Name of the station, with the key that messages contain. */
function stationOf(key: string): string {
  const name = stationName(key);
  return name === '' || name === key ? key : `${name} (${key})`;
}

function stationName(key: string): string {
  let found = '';
  RED.nodes.eachConfig((node) => {
    if (node.type === 'rvm-central-station' && stationKey(node) === key) found = trimmed(node.name);
  });
  return found;
}

/** At most one row is open at a time: each may use an RTSP session. */
export class SingleOpen {
  #close: (() => void) | undefined;

  /** @param close called when another row opens */
  opens(close: () => void): void {
    if (this.#close !== close) this.#close?.();
    this.#close = close;
  }

  close(): void {
    this.#close?.();
    this.#close = undefined;
  }
}

/** Tone of a step, for colour and shape of its point. */
const TONES: Partial<Record<HistoryEntry['step'], 'good' | 'bad'>> = {
  settled: 'good',
  rejected: 'bad',
  lapsed: 'bad',
  'cut-off': 'bad',
  dead: 'bad',
};

/** Reasons with a text of their own; others are codes, explained in the documentation. */
const REASONS: ReadonlySet<string> = new Set(['attempts', 'rejected', 'unreadable']);

/** History of an event as a list, also for screen readers. */
function timeline(history: readonly HistoryEntry[]): JQuery {
  const days = history.map(({ time }) => new Date(time).toDateString());
  const today = new Date().toDateString();
  const steps = history.flatMap((entry, index) => {
    const step = stepOf(entry, days[index] !== (days[index - 1] ?? today));
    return entry.step === 'received' ? [step, ...proofOf(entry), stepNamed('stored')] : [step];
  });
  return $('<ol class="rvm-timeline">').attr('aria-label', own('history')).append(steps);
}

function stepOf(entry: HistoryEntry, isOtherDay: boolean): JQuery {
  const { step, verdict, note = '' } = entry;
  const head = $('<div>').append(timeOf(entry, isOtherDay), ' ', $('<b>').text(own(`step.${nameOf(entry)}`)));
  if (verdict !== undefined) {
    const badge = $('<span class="rvm-verdict">').attr('data-verdict', verdict);
    head.append(' ', badge.text(own(`verdict.${verdict}`)));
  }
  const item = $('<li>')
    .attr({ 'data-step': step, 'data-tone': TONES[step] ?? 'plain' })
    .append(head);
  const facts = entryFacts(entry);
  if (facts !== '') item.append($('<div class="rvm-quiet">').text(facts));
  if (note !== '') item.append($('<q class="rvm-remark">').text(note));
  return item;
}

/** Steps that are part of the receipt: no message is answered before it is proven and stored. */
function stepNamed(name: string, facts = ''): JQuery {
  const item = $('<li data-tone="good">').attr('data-step', name);
  item.append($('<div>').append($('<b>').text(own(`step.${name}`))));
  return facts === '' ? item : item.append($('<div class="rvm-quiet">').text(facts));
}

function proofOf({ proof, secret }: HistoryEntry): JQuery[] {
  if (proof === undefined) return [];
  const phrase = secret === undefined ? null : own(`fact.${secret}`);
  return [stepNamed('proven', present([own(`proof.${proof}`), phrase], ' · '))];
}

/** A user may add a note without a verdict. */
function nameOf({ step, verdict }: HistoryEntry): string {
  return step === 'verdict' && verdict === undefined ? 'note' : step;
}

/** With the day where it differs from that of the step before. */
function timeOf({ time }: HistoryEntry, isOtherDay: boolean): JQuery {
  const at = new Date(time);
  const shown = isOtherDay ? at.toLocaleString() : at.toLocaleTimeString();
  return $('<time>').attr({ datetime: time, title: at.toLocaleString() }).text(shown);
}

function entryFacts(entry: HistoryEntry): string {
  const { from, attempt, by, instance, omitted } = entry;
  return present(
    [
      fact('from', from),
      fact('attempt', attempt),
      fact('by', by),
      fact('instance', instance),
      entryReason(entry),
      fact('omitted', omitted),
    ],
    ' · ',
  );
}

function entryReason({ step, reason }: HistoryEntry): string | null {
  if (step === 'assigned') return fact('to', reason);
  return reason !== undefined && REASONS.has(reason) ? own(`reason.${reason}`) : fact('reason', reason);
}

function fact(name: string, value: string | number | undefined): string | null {
  return value === undefined || value === '' ? null : own(`fact.${name}`, { value });
}
