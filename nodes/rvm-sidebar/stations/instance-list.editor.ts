import type { InstanceRow } from '../../../lib/inbox/inbox';
import { TTL } from '../../../lib/inbox/postgres/instance/time-to-live';
import { statePoint } from '../../support/editor/picker';
import { arrange } from '../list/arrange.editor';
import type { SharingRow } from '../overview';
import { linesOf, own, present } from '../list/row.editor';

/** The instances of Node-RED that share the inboxes of this one, below the name of each inbox. */
export class InstanceList {
  constructor(private readonly list: JQuery) {}

  show(sharing: readonly SharingRow[]): void {
    const rows = sharing.flatMap(({ inbox, instances }) => [
      $('<div class="rvm-where">').text(inbox),
      ...instances.map(instanceRow),
    ]);
    arrange(this.list, rows);
  }
}

function instanceRow({ name, isSelf, sinceBeat, held }: InstanceRow): JQuery {
  const seconds = Math.max(0, Math.round(sinceBeat / 1000));
  const told = present([own('beat', { seconds }), own('held', { count: held })], ' · ');
  const [what = $(), ...further] = linesOf(present([name, isSelf ? own('self') : null], ' · '), '', told);
  what.prepend(statePoint(sinceBeat < TTL), ' ');
  return $('<div class="rvm-row">').append(what, ...further);
}
