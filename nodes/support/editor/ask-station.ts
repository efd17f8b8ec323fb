import { DRAFT_CREDENTIALS, type StationDraft } from '../picker-data';
import { ask, AskError, post, type Say } from './ask';

/** A Central Station as the editor has it. */
export interface StationLook {
  id: string;
  /** False where the runtime has it just so. */
  isChanged: boolean;
  properties: Record<string, unknown>;
  credentials: Record<string, unknown>;
  cloud: EditorNode | undefined;
}

/** As it is kept in the editor, deployed or not. */
export function stationAsKept(station: EditorNode): StationLook {
  return {
    id: station.id,
    isChanged: station.changed,
    properties: propertiesOf(station),
    credentials: (station.credentials ?? {}) as Record<string, unknown>,
    cloud: RED.nodes.node(String(station.cloud)) ?? undefined,
  };
}

/** As its open dialog has it. */
export function stationAsTyped(station: EditorNode): StationLook {
  const kept = stationAsKept(station);
  const properties = { ...kept.properties };
  const credentials = { ...kept.credentials };
  let isChanged = kept.isChanged;
  const read = (values: Record<string, unknown>, name: string): void => {
    const field = $(`#node-config-input-${name}`);
    if (field.length === 0) return;
    const typed = field.is(':checkbox') ? field.prop('checked') === true : field.val();
    const before = values[name] ?? station._def.defaults[name]?.value ?? '';
    if (typed === '__PWRD__' || typed === before) return;
    values[name] = typed;
    isChanged = true;
  };
  for (const name of Object.keys(properties)) read(properties, name);
  for (const name of Object.keys(station._def.credentials ?? {})) read(credentials, name);
  return {
    ...kept,
    isChanged,
    properties,
    credentials,
    cloud: RED.nodes.node(String(properties.cloud)) ?? undefined,
  };
}

/**
 * Asks the runtime, for the dialog of a node, something about a Central Station: about one that is deployed by its id; about
 * any other with all that was typed, for the runtime uses nothing then that it has stored.
 * @throws AskError
 */
export async function askStation<Answer>(
  node: EditorNode,
  path: string,
  look: StationLook,
  values: Record<string, string>,
): Promise<Answer> {
  if (isDeployed(look))
    return ask<Answer>(sayOf(node), { url: `rvm/${path}`, data: { ...values, station: look.id } });
  return post<Answer>(sayOf(node), path, { ...values, ...draftOf(node, look) });
}

/** Has the runtime do something with a Central Station. @throws AskError */
export async function tryStation<Answer>(node: EditorNode, path: string, look: StationLook): Promise<Answer> {
  return post<Answer>(sayOf(node), path, isDeployed(look) ? { station: look.id } : draftOf(node, look));
}

function sayOf(node: EditorNode): Say {
  return (key) => node._(key);
}

function isDeployed({ isChanged, cloud }: StationLook): boolean {
  return !isChanged && cloud?.changed !== true;
}

/** @throws AskError where the runtime would not take it, of this user or at all */
function draftOf(node: EditorNode, { properties, credentials, cloud }: StationLook): StationDraft {
  if (!RED.user.hasPermission('flows.write')) throw new AskError(node._('shared.ask.draftNotAllowed'));
  if (cloud === undefined) throw new AskError(node._('shared.ask.noCloud'));
  const known = { ...credentials, ...(cloud.credentials as Record<string, unknown> | undefined) };
  return { station: properties, cloud: propertiesOf(cloud), credentials: typedCredentials(node, known) };
}

function propertiesOf(node: EditorNode): Record<string, unknown> {
  return Object.fromEntries(Object.keys(node._def.defaults).map((name) => [name, node[name]]));
}

/** @throws AskError where a credential is stored in the runtime and was not typed now */
function typedCredentials(node: EditorNode, known: Record<string, unknown>): StationDraft['credentials'] {
  const typed: StationDraft['credentials'] = {};
  for (const name of DRAFT_CREDENTIALS) {
    const value = known[name];
    if (typeof value === 'string' && value !== '__PWRD__') typed[name] = value;
    else if (known[`has_${name}`] === true) throw new AskError(node._('shared.ask.deployFirst'));
  }
  return typed;
}

/** The station that a dialog has chosen; without a choice the only one there is. @throws AskError where that is not clear */
export function chosenStation(node: EditorNode): EditorNode {
  const chosen = RED.nodes.node(String($('#node-input-station').val()));
  if (chosen) return chosen;
  const all: EditorNode[] = [];
  RED.nodes.eachConfig((config) => {
    if (config.type === 'rvm-central-station') all.push(config);
  });
  const [only, ...others] = all;
  if (only !== undefined && others.length === 0) return only;
  throw new AskError(node._(`shared.ask.${only === undefined ? 'noStation' : 'manyStations'}`));
}
