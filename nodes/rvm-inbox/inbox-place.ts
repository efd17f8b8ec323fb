import type { NodeAPI } from 'node-red';
import type { InboxPlace } from '../../lib/inbox/inboxes';
import { RvmError } from '../../lib/error';
import { isUsableFolder, ENGINES, type Engine } from '../support/rules';
import {
  textOf,
  unsetVariableError,
  unsetVariables,
  type Properties,
  type UnsetVariables,
} from '../support/settings';
import { folderPlace } from './folder-place';
import { refusedPlace, sharedPlace } from './shared-place';
import { connectionOf, sharedSettingsOf } from './shared-settings';

/** What a node has, of what has been entered in its dialog. */
export interface Entered {
  id: string;
  name: string;
  properties: Properties;
  credentials: Properties;
}

/** What the settings of a node make of its inbox. */
export interface PlaceReading {
  /** Undefined where the default one takes its place. */
  place: InboxPlace | undefined;
  unset: UnsetVariables | undefined;
  /** Why they cannot be used, and what to do; undefined where they can, or variables are not set. */
  fault?: string;
}

/** What only the other engine has a use for. */
const UNUSED: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: ['schema', 'tls', 'instanceName'],
  postgres: ['folder', 'spillFolder'],
};

/** Undefined where none of this name is known. */
export function engineOf(properties: Properties): Engine | undefined {
  const wanted = textOf(properties, 'engine').trim() || 'sqlite';
  return ENGINES.find((engine) => engine === wanted);
}

export function readPlace(RED: NodeAPI, entered: Entered): PlaceReading {
  const engine = engineOf(entered.properties);
  return engine === 'sqlite' ? readFolder(RED, entered) : readShared(RED, entered, engine);
}

/** The default folder takes the place of one that cannot be used: better there than nowhere. */
function readFolder(RED: NodeAPI, { properties }: Entered): PlaceReading {
  const unset = unsetVariables(usedBy('sqlite', properties));
  if (unset !== undefined) return { place: undefined, unset };
  const folder = textOf(properties, 'folder').trim();
  const folders = [folder, textOf(properties, 'spillFolder').trim()];
  const wrong = folders.find((each) => !isUsableFolder(each));
  if (wrong === undefined) return { place: folderPlace(RED, folder), unset };
  return { place: undefined, unset, fault: RED._('rvm-inbox.errors.noFolder', { folder: wrong }) };
}

/** Nothing takes the place of one that is meant to be shared. */
function readShared(RED: NodeAPI, entered: Entered, engine: Engine | undefined): PlaceReading {
  const { properties, credentials } = entered;
  const unset = unsetVariables(usedBy('postgres', properties), credentials);
  const refused = (reason: string): InboxPlace => refusedPlace(entered, reason);
  if (unset !== undefined) return { place: refused(unsetVariableError(unset).message), unset };
  if (engine === undefined) {
    const fault = RED._('rvm-inbox.errors.engine');
    return { place: refused(fault), unset, fault };
  }
  try {
    return { place: sharedPlace(RED, connectionOf(RED, sharedSettingsOf(properties, credentials))), unset };
  } catch (error) {
    if (!(error instanceof RvmError)) throw error;
    const fault = RED._('rvm-inbox.errors.unusable', { reason: error.message });
    return { place: refused(error.message), unset, fault };
  }
}

function usedBy(engine: Engine, properties: Properties): Properties {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !UNUSED[engine].includes(name)));
}
