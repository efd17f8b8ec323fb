import { DRAFT_CREDENTIALS, type StationDraft } from '../picker-data';

/** Why the runtime could not answer: a text for the user. */
export class AskError extends Error {
  /** @param code of the error of the runtime, where it had one */
  constructor(
    message: string,
    readonly code?: string,
  ) {
    super(message);
  }
}

/** A text by its key among those that all types share. */
type Say = (key: string) => string;

/**
 * Asks the runtime. By jQuery, for the editor adds its root and the token of the user to what goes that way alone.
 * @throws AskError
 */
export async function ask<Answer>(say: Say, request: JQueryAjaxSettings): Promise<Answer> {
  try {
    return (await $.ajax(request)) as Answer;
  } catch (failure) {
    const { status, responseJSON } = failure as JQuery.jqXHR<unknown>;
    const { message, code } = (responseJSON ?? {}) as { message?: unknown; code?: string };
    if (typeof message === 'string') throw new AskError(message, code);
    throw new AskError(say(reasonOf(status)));
  }
}

/** Has the runtime do something. @throws AskError */
export function post<Answer>(say: Say, path: string, body: object): Promise<Answer> {
  const data = JSON.stringify(body);
  return ask<Answer>(say, { url: `rvm/${path}`, method: 'POST', contentType: 'application/json', data });
}

function reasonOf(status: number): string {
  if (status === 401 || status === 403) return 'shared.ask.notAllowed';
  return status === 0 ? 'shared.ask.noRuntime' : 'shared.ask.failed';
}

/** The login of the user, as the editor sends it with what goes by jQuery. */
export function authorization(): Record<string, string> {
  const tokens = RED.settings.get('auth-tokens');
  return tokens === undefined || tokens === null ? {} : { Authorization: `Bearer ${tokens.access_token}` };
}

/** Has the runtime do something while the page goes: nobody waits for the answer. @param path below `rvm/` */
export function postOnLeaving(path: string, body: object): void {
  const headers = { ...authorization(), 'Content-Type': 'application/json' };
  const address = `${RED.settings.apiRootUrl ?? ''}rvm/${path}`;
  void fetch(address, { method: 'POST', headers, body: JSON.stringify(body), keepalive: true });
}

/** Tells a person something, as text: what the editor is given as a string it takes for markup, and names come from outside. */
export function tell(
  text: string,
  options?: Parameters<typeof RED.notify>[1],
): ReturnType<typeof RED.notify> {
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  return RED.notify(paragraph, options);
}

/** A Central Station as the editor has it. */
interface StationLook {
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

/** One step of a test, as it is shown. */
export interface Step {
  outcome: 'ok' | 'failed' | 'open';
  /** What was looked at. */
  title: string;
  /** What was found, or what to do. */
  detail: string;
}

const ICONS: Record<Step['outcome'], string> = {
  ok: 'fa-check-circle rvm-good',
  failed: 'fa-times-circle rvm-bad',
  open: 'fa-circle-o',
};

/** Shows the steps of a test in a list. */
export function showSteps(list: JQuery, steps: readonly Step[]): void {
  const rows = steps.map(({ outcome, title, detail }) => {
    const row = $('<li>').attr('data-outcome', outcome);
    row.append($('<i class="fa" aria-hidden="true">').addClass(ICONS[outcome]), $('<span>').text(title));
    return detail === '' ? row : row.append($('<div class="rvm-step-detail">').text(detail));
  });
  list.empty().append(rows);
  // Below the button that was clicked there may be no room: first of all what has failed is to be seen, else the end.
  const looked = rows.find((row) => row.attr('data-outcome') === 'failed') ?? rows.at(-1);
  looked?.get(0)?.scrollIntoView({ block: 'nearest' });
}
