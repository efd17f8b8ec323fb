/** One step of a test, as it is shown. */
export interface Step {
  outcome: 'ok' | 'failed' | 'open';
  /** What was looked at. */
  title: string;
  /** What was found, or what to do. */
  detail: string;
}

const ICONS: Record<Step['outcome'], string> = {
  ok: 'fa-check-circle rvm-good',
  failed: 'fa-times-circle rvm-bad',
  open: 'fa-circle-o',
};

/** Shows the steps of a test in a list. */
export function showSteps(list: JQuery, steps: readonly Step[]): void {
  const rows = steps.map(({ outcome, title, detail }) => {
    const row = $('<li>').attr('data-outcome', outcome);
    row.append($('<i class="fa" aria-hidden="true">').addClass(ICONS[outcome]), $('<span>').text(title));
    return detail === '' ? row : row.append($('<div class="rvm-step-detail">').text(detail));
  });
  list.empty().append(rows);
  // Below the button that was clicked there may be no room: first of all what has failed is to be seen, else the end.
  const looked = rows.find((row) => row.attr('data-outcome') === 'failed') ?? rows.at(-1);
  looked?.get(0)?.scrollIntoView({ block: 'nearest' });
}
