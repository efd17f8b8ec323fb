import { RvmError } from '../../error';
import type { JsonRecord } from '../../json/json';
import type { Answer } from '../http/answer';
import type { PtzTarget } from '../calls';
import { wrappedLinks } from '../http/collection';
import { DIALECT } from '../dialect';
import { firstField, firstText } from '../http/json-field';
import type { FetchedPage } from '../http/pages';
import { notOfferedError } from '../session/system-resource';
import { shown, shownBare } from '../shown';

/** A preset or tour of a list, with the record that may hold its own links. */
export interface ListedTarget {
  readonly target: PtzTarget;
  readonly record: JsonRecord;
  /** What these links are relative to. */
  readonly url: URL;
}

/** The presets or tours of a camera, as served. */
export interface TargetList {
  readonly targets: readonly ListedTarget[];
  /** The links of the list itself, which may be for all of them. */
  readonly record: JsonRecord;
  readonly url: URL;
}

const { ptz: FACTS } = DIALECT;

/** @param answer the first page, whose own links are those of the list */
export async function readTargets(answer: Answer, pages: AsyncIterable<FetchedPage>): Promise<TargetList> {
  const targets: ListedTarget[] = [];
  for await (const { records, url } of pages) {
    for (const record of records) {
      const target = targetOf(record);
      if (target !== undefined) targets.push({ target, record, url });
    }
  }
  const record = wrappedLinks(answer.empty ? {} : answer.json());
  return { targets, record, url: answer.url };
}

/**
 * The target that a user names: by its id, compared as text, else by its exact name.
 * @param camera whose it is, for the error
 * @throws RvmError TARGET_NOT_FOUND, BAD_INPUT where several have that name
 */
export function findTarget({ targets }: TargetList, wanted: string, camera: { name: string }): ListedTarget {
  const byId = targets.find(({ target }) => String(target.id) === wanted);
  if (byId !== undefined) return byId;
  const [only, ...others] = targets.filter(({ target }) => target.name === wanted);
  if (others.length > 0) {
    throw new RvmError(
      'BAD_INPUT',
      `${others.length + 1} targets have the name ${shown(wanted)}: name one by its id.`,
    );
  }
  if (only !== undefined) return only;
  throw new RvmError(
    'TARGET_NOT_FOUND',
    `The camera ${shown(camera.name)} has no ${shown(wanted)}, letter by letter; it has ${listed(targets)}.`,
  );
}

/** The preset that is marked as the home position. */
export function homePreset({ targets }: TargetList): ListedTarget | undefined {
  return targets.find(({ record }) => FACTS.home.some((name) => firstField(record, [name]) === true));
}

/**
 * The error of a target that nothing can be done with: what it does offer is named, for the cloud takes the name of a relation
 * that is looked for; where it has no links at all, what its list offers.
 * @param wanted what was looked for, first the likeliest
 */
export function notOfferedBy(
  what: 'preset' | 'tour',
  { target: { id, name }, record }: ListedTarget,
  list: TargetList,
  [relation = '']: readonly string[],
): RvmError {
  const hasLinks = Object.keys(wrappedLinks(record)._links).length > 0;
  return notOfferedError(
    relation,
    `The ${what} ${shown(name === '' ? `${id}` : name)}`,
    hasLinks ? record : list.record,
  );
}

function targetOf(record: JsonRecord): PtzTarget | undefined {
  const name = firstText(record, FACTS.name) ?? '';
  for (const field of FACTS.id) {
    const id = firstField(record, [field]);
    if (typeof id === 'number' || (typeof id === 'string' && id !== '')) return { id, name };
  }
  // What has a name alone is known by that.
  return name === '' ? undefined : { id: name, name };
}

/** The first few, so that a typing error shows. */
function listed(targets: readonly ListedTarget[]): string {
  if (targets.length === 0) return 'none';
  const named = targets
    .slice(0, 5)
    .map(({ target: { id, name } }) => (name === '' || name === id ? `${id}` : `${id} (${name})`));
  const more = targets.length > named.length ? ', …' : '';
  return shownBare(named.join(', ') + more, 200);
}
