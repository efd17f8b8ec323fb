import type { HistoryEntry } from '../../../lib/inbox/history';
import { own, present } from '../list/row.editor';
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
  const facts = factsOf(entry);
  if (facts !== '') item.append($('<div class="rvm-quiet">').text(facts));
  if (note !== '') item.append($('<q class="rvm-remark">').text(note));
  return item;
}

/** What is one with the receipt: nothing is answered before it is proven and stored. */
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
  const { from, attempt, by, instance, omitted } = entry;
  return present(
    [
      fact('from', from),
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
