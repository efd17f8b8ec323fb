import type { HistoryEntry } from '../../lib/inbox/history';
import { own, present } from './row.editor';
import './timeline.css';

/** How a step is to be taken, for the colour and the form of its point. */
const TONES: Partial<Record<HistoryEntry['step'], 'good' | 'bad'>> = {
  settled: 'good',
  rejected: 'bad',
  lapsed: 'bad',
  'cut-off': 'bad',
  dead: 'bad',
};

/** Reasons that have words of their own; any other is a code, which the documentation explains. */
const REASONS: ReadonlySet<string> = new Set(['attempts', 'rejected', 'unreadable']);

/** What became of an event, step by step, as a list for eyes and for screen readers. */
export function timeline(history: readonly HistoryEntry[]): JQuery {
  const days = history.map(({ time }) => new Date(time).toDateString());
  const today = new Date().toDateString();
  const steps = history.map((entry, index) => stepOf(entry, days[index] !== (days[index - 1] ?? today)));
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
  const facts = factsOf(entry);
  if (facts !== '') item.append($('<div class="rvm-quiet">').text(facts));
  if (note !== '') item.append($('<q class="rvm-remark">').text(note));
  return item;
}

/** Somebody may have remarked something without a verdict. */
function nameOf({ step, verdict }: HistoryEntry): string {
  return step === 'verdict' && verdict === undefined ? 'note' : step;
}

/** The day only where it is another than that of the step before. */
function timeOf({ time }: HistoryEntry, isOtherDay: boolean): JQuery {
  const at = new Date(time);
  const shown = isOtherDay ? at.toLocaleString() : at.toLocaleTimeString();
  return $('<time>').attr({ datetime: time, title: at.toLocaleString() }).text(shown);
}

function factsOf(entry: HistoryEntry): string {
  const { from, proof, secret, attempt, by, instance, omitted } = entry;
  return present(
    [
      fact('from', from),
      proof === undefined ? null : own(`proof.${proof}`),
      secret === 'previous' ? own('fact.previous') : null,
      fact('attempt', attempt),
      fact('by', by),
      fact('instance', instance),
      reasonOf(entry),
      fact('omitted', omitted),
    ],
    ' · ',
  );
}

function reasonOf({ step, reason }: HistoryEntry): string | null {
  if (step === 'assigned') return fact('to', reason);
  return reason !== undefined && REASONS.has(reason) ? own(`reason.${reason}`) : fact('reason', reason);
}

function fact(name: string, value: string | number | undefined): string | null {
  return value === undefined || value === '' ? null : own(`fact.${name}`, { value });
}
