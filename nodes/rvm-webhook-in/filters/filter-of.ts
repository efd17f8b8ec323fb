import { type FilterIds, idsIn, type FilterName } from '../../../lib/message/event-filter';
import { textOf, type Properties } from '../../support/settings';

/** Which events a *webhook in* is to take, as its properties have it. */
export function filterOf(properties: Properties): FilterIds {
  const ids = (name: FilterName): string[] => idsIn(textOf(properties, name));
  return { classes: ids('classes'), sites: ids('sites'), cameras: ids('cameras'), rules: ids('rules') };
}
