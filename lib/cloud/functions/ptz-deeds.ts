import { DIALECT } from '../dialect';
import { isSameRelation } from '../http/links';

/** The relations that the user names for what is done with a preset or tour; empty for none. */
export interface DeedNames {
  gotoPreset: string;
  startTour: string;
  stopTour: string;
}

/** Where one thing that is done with a preset or tour may hang: relations, in the order in which they are looked for. */
export interface Deed {
  /** What it is done with. */
  readonly to: 'preset' | 'tour';
  /** On the target itself. */
  readonly onTarget: readonly string[];
  /** On the list, for all its targets: the body names the one that is meant. */
  readonly onList: readonly string[];
  /** The same wherever the link to the list may stand. */
  readonly onCamera: readonly string[];
  /** Names the target in such a body. */
  readonly field: string;
}

export type Deeds = Readonly<Record<'goto' | 'start' | 'stop', Deed>>;

const { relations, ptz: FACTS } = DIALECT;

/** What the user names is looked for first, then what is likely. */
export function deedsBy({ gotoPreset, startTour, stopTour }: DeedNames): Deeds {
  return {
    goto: deed('preset', gotoPreset, relations.gotoPreset, relations.gotoAnyPreset),
    start: deed('tour', startTour, relations.startTour, relations.startAnyTour),
    stop: deed('tour', stopTour, relations.stopTour, relations.stopAnyTour),
  };
}

function deed(to: Deed['to'], named: string, own: readonly string[], forAll: readonly string[]): Deed {
  const relation = named.trim();
  const first = relation === '' ? [] : [relation];
  // The list and the camera have it too, and what a call of that does is something else.
  const onCamera = isSameRelation(relation, relations.itself) ? forAll : [...first, ...forAll];
  const field = to === 'preset' ? FACTS.presetId : FACTS.tourId;
  return { to, onTarget: [...first, ...own], onList: [...onCamera, ...own], onCamera, field };
}
