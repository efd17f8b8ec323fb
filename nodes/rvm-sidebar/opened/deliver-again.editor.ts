import { own } from '../list/row.editor';
import type { SidebarRow } from '../overview';
import { tell } from '../../support/editor/requests';

/** What an opened row needs to change something. */
export interface Hand {
  /** Whether the user may. */
  readonly mayAct: boolean;
  /** Undefined where it failed, which the user is told. */
  act(path: string, body: object): Promise<unknown>;
}

/** The way to have an event delivered again, or why there is none. */
export function deliverAgain(row: SidebarRow, name: string, hand: Hand): JQuery {
  const reason = reasonAgainst(row, hand);
  if (reason !== undefined) return $('<div class="rvm-quiet rvm-not-again">').text(reason);
  // What was filtered has never been delivered.
  const text = own(row.state === 'filtered' ? 'opened.deliver' : 'retry');
  return $('<button type="button" class="red-ui-button red-ui-button-small">')
    .text(text)
    .attr({ 'data-action': 'retry', 'aria-label': `${text}: ${name}` })
    .on('click', () => void again(row, hand));
}

async function again({ deliveryId }: SidebarRow, hand: Hand): Promise<void> {
  const answer = await hand.act('dead-letters', { deliveryId, action: 'retry' });
  if (answer !== undefined) tell(own('opened.sentAgain'), { timeout: 3000 });
}

/** What the inbox delivers again: what was given up for want of attempts or filtered, and what the flow has and has not settled. */
function reasonAgainst({ canRetry, state }: SidebarRow, { mayAct }: Hand): string | undefined {
  if (!canRetry && state !== 'leased') return own(`opened.notAgain.${state}`);
  return mayAct ? undefined : own('opened.notAgain.notAllowed');
}
