import type { RvmEvent } from '../event';
import { idForm, idsOf, type FilterIds } from './event-filter';
import { JUDGED, type JudgedFilter, type JudgedIds } from './known-ids';

/** Which of the ids that are wanted some event has named, ever since it was made. */
export class NamedIds {
  readonly #named: Readonly<Record<JudgedFilter, Set<string>>> = {
    classes: new Set(),
    sites: new Set(),
    cameras: new Set(),
  };

  constructor(private readonly wanted: FilterIds) {}

  /** As they are wanted. */
  get ids(): JudgedIds {
    const { classes, sites, cameras } = this.#named;
    return { classes: [...classes], sites: [...sites], cameras: [...cameras] };
  }

  /** Events have named these. */
  add(ids: JudgedIds): void {
    for (const name of JUDGED) this.#addOf(name, ids[name]);
  }

  /** @returns whether it names what no event has named before */
  addOf(event: RvmEvent): boolean {
    return JUDGED.map((name) => this.#addOf(name, idsOf(name, event))).includes(true);
  }

  #addOf(name: JudgedFilter, ids: readonly string[]): boolean {
    const named = this.#named[name];
    const missing = this.wanted[name].filter((id) => !named.has(id));
    if (missing.length === 0) return false;
    const forms = new Set(ids.map((id) => idForm(name, id)));
    const found = missing.filter((id) => forms.has(idForm(name, id)));
    for (const id of found) named.add(id);
    return found.length > 0;
  }
}
