import { haveAll, wordsOf } from '../../../lib/text';
import type { Desk } from '../list/desk.editor';
import { RowList } from '../list/row-list.editor';
import { Section } from '../list/section.editor';
import type { Overview, StationRow } from '../overview';
import { StationView, type OpenCamera } from './station-view.editor';

/** The Central Stations, a line each, with their cameras, which are asked for when somebody wants to see them. */
export class StationList {
  readonly section = new Section('stations');
  readonly #rows: RowList<StationRow, StationView>;

  constructor(
    private readonly desk: Desk,
    open: OpenCamera,
  ) {
    this.#rows = new RowList(this.section.list, {
      keyOf: ({ id }) => id,
      make: () => new StationView(open),
    });
  }

  /**
   * @param search what is looked for in their names; '' where nothing is
   * @returns how many wait to be shown
   */
  show({ stations }: Overview, search: string): number {
    const words = wordsOf(search);
    const found = stations.filter(({ key, name }) => haveAll([name, key], words));
    this.section.count(stations.length.toLocaleString());
    this.section.toggle(search === '' || found.length > 0);
    return this.#rows.show(found, { hold: this.desk.holdOf(this.section.element) });
  }

  /** Lists of cameras that are open ask again. */
  refresh(): void {
    for (const view of this.#rows.views()) view.refresh();
  }
}
