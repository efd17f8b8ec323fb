import { own } from '../list/row.editor';
import { tell } from '../../support/editor/requests';

/** An id by the name of its text; null where the event has none. */
export type Ids = readonly (readonly [name: string, id: string | null])[];

/** The ids of an event, each with a button that copies it and says so. */
export function copyableIds(ids: Ids): JQuery {
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
      tell(text, { timeout: 3000, ...(!isCopied && { type: 'warning' }) });
    });
  return [$('<dt>').text(what), $('<dd>').append($('<code>').text(id), button)];
}
