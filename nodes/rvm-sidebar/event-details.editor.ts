import { html, nothing, type TemplateResult } from 'lit/html.js';
import type { HistoryEntry } from '../../lib/inbox/model';
import { ask, notify } from '../support/editor/requests';
import { trimmed } from '../support/editor/validate';
import { stationKey } from '../support/rules';
import './event-details.css';
import { openInListEvents } from './list-events-flow.editor';
import type { EventHistory, SidebarRow } from './overview';
import { button, type ListContext, noneYet, own, present, said, textOf } from './rows.editor';
import { EventVideo } from './video.editor';

/** Milliseconds between two requests for the history: some of its steps show nowhere else. */
const EVERY = 3000;
/** Milliseconds between two checks whether that is due. */
const LOOK = 500;

/** The one event of all lists that is open: each may use an RTSP session. */
export class OpenEvent {
  #key = '';
  #details: EventDetails | undefined;

  constructor(private readonly desk: Pick<ListContext, 'act' | 'draw' | 'mayAct'>) {}

  /**
   * @param key unique among the rows of all lists
   * @param name of the event for users
   */
  toggle(key: string, row: SidebarRow, name: string): void {
    const isOpen = this.has(key);
    this.close();
    if (isOpen) return;
    this.#key = key;
    this.#details = new EventDetails(row, name, this.desk);
    this.desk.draw();
  }

  has(key: string): boolean {
    return this.#details !== undefined && this.#key === key;
  }

  /** @param hasActions true where the row itself already has the actions of the event */
  draw(key: string, row: SidebarRow, hasActions: boolean): unknown {
    return this.has(key) ? this.#details?.draw(row, hasActions) : nothing;
  }

  close(): void {
    if (this.#details === undefined) return;
    this.#details.close();
    this.#details = undefined;
    this.desk.draw();
  }

  /** Closes it where its row is not listed any more. */
  closeUnless(isListed: (key: string) => boolean): void {
    if (!isListed(this.#key)) this.close();
  }
}

/** Details of one event, shown below its row while that is open. */
class EventDetails {
  readonly #video: EventVideo | undefined;
  readonly #timer: number;
  #row: SidebarRow;
  #shown = '';
  #known: EventHistory | undefined;
  #fault = '';
  #askedAt = -Infinity;
  #asking = false;

  constructor(
    row: SidebarRow,
    private readonly name: string,
    private readonly desk: Pick<ListContext, 'act' | 'draw' | 'mayAct'>,
  ) {
    this.#row = row;
    if (row.hasVideo) this.#video = new EventVideo(row.deliveryId, name);
    this.#timer = window.setInterval(() => this.#look(), LOOK);
    void this.#ask();
  }

  draw(row: SidebarRow, hasActions: boolean): TemplateResult {
    const shown = JSON.stringify(row);
    // The change may be a new step of the history, so load that at once.
    if (shown !== this.#shown) this.#askedAt = -Infinity;
    [this.#row, this.#shown] = [row, shown];
    const { camera, webhook = null } = this.#known ?? {};
    const ids = [
      ['alarm', row.alarmId],
      ['message', row.messageId],
      ['delivery', row.deliveryId],
      ['camera', camera?.id],
      ['remoteCamera', camera?.remoteId],
    ] as const;
    const video = this.#video?.element ?? html`<div class="rvm-quiet">${own('opened.noVideo')}</div>`;
    return html`<div class="rvm-opened" role="region" tabindex="-1" aria-label=${this.name}>
      ${video}
      <div class="rvm-reason"><span>${reasonOf(row)}</span></div>
      <div class="rvm-opened-actions">
        <div>${hasActions ? nothing : this.#deliverAgain(row)}</div>
        ${this.#listButton()}
      </div>
      <h4>${own('history')}</h4>
      <div>${this.#history()}</div>
      <h4>${own('opened.about')}</h4>
      <div>
        <dl class="rvm-facts">${factsOf(row, webhook)}</dl>
      </div>
      <div>
        <dl class="rvm-ids">${ids.map(([name, id]) => copyableId(name, id ?? ''))}</dl>
      </div>
    </div>`;
  }

  close(): void {
    window.clearInterval(this.#timer);
    this.#video?.close();
  }

  #listButton(): unknown {
    if (!RED.user.hasPermission('flows.write')) return nothing;
    const text = own('opened.list.open');
    const open = (): void => openInListEvents(this.#row, this.name);
    return button(text, open, { action: 'list', label: `${text}: ${this.name}` });
  }

  /** Button that delivers an event again, or the reason why that is impossible. */
  #deliverAgain(row: SidebarRow): TemplateResult {
    const reason = reasonAgainst(row, this.desk.mayAct);
    if (reason !== undefined) return html`<div class="rvm-quiet rvm-not-again">${reason}</div>`;
    // A filtered event has never been delivered.
    const text = own(row.state === 'filtered' ? 'opened.deliver' : 'retry');
    const again = async (): Promise<void> => {
      const body = { deliveryId: row.deliveryId, action: 'retry' };
      const answer = await this.desk.act('dead-letters', body);
      if (answer !== undefined) notify(own('opened.sentAgain'), { timeout: 3000 });
    };
    return button(text, () => void again(), { action: 'retry', label: `${text}: ${this.name}` });
  }

  #history(): unknown {
    if (this.#fault !== '') return html`<div class="rvm-quiet" role="status">${this.#fault}</div>`;
    if (this.#known === undefined) return nothing;
    const { history } = this.#known;
    return history.length > 0 ? timeline(history) : noneYet();
  }

  #look(): void {
    const isDue = performance.now() - this.#askedAt >= EVERY;
    if (isDue && !this.#asking && !document.hidden && $('.rvm-opened').is(':visible')) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#asking = true;
    try {
      const data = { deliveryId: this.#row.deliveryId };
      this.#known = await ask<EventHistory>(said, { url: 'rvm/history', data });
      this.#fault = '';
    } catch (failure) {
      this.#fault = textOf(failure);
    } finally {
      this.#asking = false;
      this.#askedAt = performance.now();
    }
    this.desk.draw();
  }
}

/** An id of an event, with a button that copies it and confirms; nothing where the event has none. */
function copyableId(name: string, id: string): unknown {
  if (id === '') return nothing;
  const what = own(`opened.id.${name}`);
  const label = own('opened.copy', { what });
  const copy = (): void => {
    const isCopied = RED.clipboard.copyText(id);
    const text = own(isCopied ? 'opened.copied' : 'opened.notCopied', { what, id });
    notify(text, { timeout: 3000, ...(!isCopied && { type: 'warning' }) });
  };
  const icon = html`<i class="fa fa-clipboard" aria-hidden="true"></i>`;
  const copier = button(icon, copy, { copies: name, label, title: label });
  return html`<dt>${what}</dt>
    <dd><code>${id}</code>${copier}</dd>`;
}

/**
 * Why the event cannot be delivered again. Possible for dead letters that ran out of attempts, filtered events, and events the
 * flow has not settled.
 */
function reasonAgainst({ canRetry, state }: SidebarRow, mayAct: boolean): string | undefined {
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
function factsOf(row: SidebarRow, webhook: EventHistory['webhook']): unknown {
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
  return shown.map(
    ([name, value]) =>
      html`<dt>${own(`opened.fact.${name}`)}</dt>
        <dd>${value}</dd>`,
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
function timeline(history: readonly HistoryEntry[]): TemplateResult {
  const days = history.map(({ time }) => new Date(time).toDateString());
  const today = new Date().toDateString();
  const steps = history.flatMap((entry, index) => {
    const step = stepOf(entry, days[index] !== (days[index - 1] ?? today));
    // Steps that are part of the receipt: no message is answered before it is proven and stored.
    return entry.step === 'received' ? [step, proofOf(entry), stepNamed('stored')] : step;
  });
  return html`<ol class="rvm-timeline" aria-label=${own('history')}>
    ${steps}
  </ol>`;
}

function stepOf(entry: HistoryEntry, isOtherDay: boolean): TemplateResult {
  const { step, verdict, note = '' } = entry;
  const badge =
    verdict && html` <span class="rvm-verdict" data-verdict=${verdict}>${own(`verdict.${verdict}`)}</span>`;
  const remark = note && html`<q class="rvm-remark">${note}</q>`;
  const head = html`${timeOf(entry, isOtherDay)} <b>${own(`step.${nameOf(entry)}`)}</b>${badge}`;
  return stepAround(step, TONES[step] ?? 'plain', head, entryFacts(entry), remark);
}

function stepNamed(name: string, facts = ''): TemplateResult {
  return stepAround(name, 'good', html`<b>${own(`step.${name}`)}</b>`, facts);
}

function stepAround(
  step: string,
  tone: string,
  head: TemplateResult,
  facts: string,
  remark: unknown = '',
): TemplateResult {
  const quiet = facts && html`<div class="rvm-quiet">${facts}</div>`;
  return html`<li data-step=${step} data-tone=${tone}>
    <div>${head}</div>
    ${quiet}${remark}
  </li>`;
}

function proofOf({ proof, secret }: HistoryEntry): unknown {
  if (proof === undefined) return nothing;
  const phrase = secret === undefined ? null : own(`fact.${secret}`);
  return stepNamed('proven', present([own(`proof.${proof}`), phrase], ' · '));
}

/** A user may add a note without a verdict. */
function nameOf({ step, verdict }: HistoryEntry): string {
  return step === 'verdict' && verdict === undefined ? 'note' : step;
}

/** With the day where it differs from that of the step before. */
function timeOf({ time }: HistoryEntry, isOtherDay: boolean): TemplateResult {
  const at = new Date(time);
  const shown = isOtherDay ? at.toLocaleString() : at.toLocaleTimeString();
  return html`<time datetime=${time} title=${at.toLocaleString()}>${shown}</time>`;
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
