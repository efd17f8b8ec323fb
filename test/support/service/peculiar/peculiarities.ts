import type { ScriptedService } from '../scripted-service';
import {
  bombing,
  brokenlyCoded,
  compressing,
  muchJson,
  oddlyCoded,
  oddlyCodedCommands,
} from './coded-answers';
import {
  keyRefusedWith400,
  keyTakenBackWith400,
  loginRefusedWith,
  ofVersions,
  ownLinkOfTheList,
  ownPtzLinks,
  picturesByNoMethod,
  picturesByOtherMethod,
} from './ways-of-its-own';

/** Makes a service differ from the usual in one thing, in the way that is given. */
type Peculiarity = (service: ScriptedService, how: string) => void | Promise<void>;

/** What a service may have of its own, each in a small program. */
export const PECULIARITIES = {
  plain: () => undefined,
  compressing,
  oddlyCoded,
  oddlyCodedCommands,
  brokenlyCoded,
  bombing,
  muchJson,
  ownPtzLinks,
  ownLinkOfTheList,
  picturesByOtherMethod,
  picturesByNoMethod,
  keyRefusedWith400,
  keyTakenBackWith400,
  loginRefusedWith,
  ofVersions,
} as const satisfies Record<string, Peculiarity>;

export type PeculiarityName = keyof typeof PECULIARITIES;
