import { samePhraseProblem, type Problem } from '../../../lib/webhook/problem';
import { loneStation } from '../../../lib/webhook/proof/receiving-station';
import type { UnseenProblems } from '../../../lib/webhook/endpoint-health';
import { sortedNames, type Station } from '../../rvm-central-station/station';
import type { ServedStations } from './served-stations';

/** Which stations of a *webhook in* have one phrase with another station. */
export class SamePhrase {
  constructor(
    private readonly stations: ServedStations,
    private readonly problems: UnseenProblems,
  ) {}

  /** Of those stations and the others; '' where there are none. */
  get names(): string {
    return sortedNames(this.#sharing().flatMap((station) => [station, ...station.samePhrase.as]));
  }

  /** What tells of it, once each time it begins; a deploy is no such time. */
  begun(): Problem | undefined {
    const isCertain = this.stations.all.every(({ samePhrase }) => samePhrase.isCertain);
    if (!this.problems.sharePhrase(this.names, isCertain)) return undefined;
    return samePhraseProblem(loneStation(this.#sharing()), new Date());
  }

  /** They are told one after the other, and the first of two tells of both. */
  #sharing(): Station[] {
    const { all } = this.stations;
    const named = new Set(all.flatMap(({ samePhrase }) => samePhrase.as));
    return all.filter((station) => station.samePhrase.as.length > 0 || named.has(station));
  }
}
