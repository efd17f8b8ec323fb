import { DRAFT_CREDENTIALS, type StationDraft } from '../picker-data';

/** Failure of a request to the runtime; its message is for the user. */
export class AskError extends Error {
  /** @param code error code of the runtime, if there is one */
  constructor(
    message: string,
    readonly code?: string,
  ) {
    super(message);
  }
}

/** Returns a shared text by its key. */
type Say = (key: string) => string;

/**
 * Sends a request to the runtime. Uses jQuery, because the editor adds its root and the user's token only to jQuery requests.
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

/**
 * Sends a POST to the runtime.
 * @throws AskError
 */
export function post<Answer>(say: Say, path: string, body: object): Promise<Answer> {
  const data = JSON.stringify(body);
  return ask<Answer>(say, { url: `rvm/${path}`, method: 'POST', contentType: 'application/json', data });
}

function reasonOf(status: number): string {
  if (status === 401 || status === 403) return 'shared.ask.notAllowed';
  return status === 0 ? 'shared.ask.noRuntime' : 'shared.ask.failed';
}

/** Header with the login of the user, as the editor adds it to jQuery requests. */
export function authorization(): Record<string, string> {
  const tokens = RED.settings.get('auth-tokens');
  return tokens === undefined || tokens === null ? {} : { Authorization: `Bearer ${tokens.access_token}` };
}

/**
 * Sends a POST while the page is closed, without waiting for the answer.
 * @param path below `rvm/`
 */
export function postOnLeaving(path: string, body: object): void {
  const headers = { ...authorization(), 'Content-Type': 'application/json' };
  const address = `${RED.settings.apiRootUrl ?? ''}rvm/${path}`;
  void fetch(address, { method: 'POST', headers, body: JSON.stringify(body), keepalive: true });
}

/** Shows a notification as plain text: the editor would take a string for markup, and names come from outside. */
export function notify(
  text: string,
  options?: Parameters<typeof RED.notify>[1],
): ReturnType<typeof RED.notify> {
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  return RED.notify(paragraph, options);
}

/** Settings of a Central Station in the editor. */
interface StationLook {
  id: string;
  /** False where the runtime has the same settings. */
  isChanged: boolean;
  properties: Record<string, unknown>;
  credentials: Record<string, unknown>;
  cloud: EditorNode | undefined;
}

/** Settings as stored in the editor, deployed or not. */
export function stationAsStored(station: EditorNode): StationLook {
  return {
    id: station.id,
    isChanged: station.changed,
    properties: propertiesOf(station),
    credentials: (station.credentials ?? {}) as Record<string, unknown>,
    cloud: RED.nodes.node(String(station.cloud)) ?? undefined,
  };
}

/** Settings as typed in the open dialog. */
export function stationAsTyped(station: EditorNode): StationLook {
  const stored = stationAsStored(station);
  const properties = { ...stored.properties };
  const credentials = { ...stored.credentials };
  let isChanged = stored.isChanged;
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
    ...stored,
    isChanged,
    properties,
    credentials,
    cloud: RED.nodes.node(String(properties.cloud)) ?? undefined,
  };
}

/**
 * Requests data of a Central Station for the dialog of a node. A deployed one is named by its id. For any other the request
 * carries everything typed, because the runtime then uses nothing stored.
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

/**
 * Runs a test of a Central Station in the runtime.
 * @throws AskError
 */
export async function tryStation<Answer>(node: EditorNode, path: string, look: StationLook): Promise<Answer> {
  return post<Answer>(sayOf(node), path, isDeployed(look) ? { station: look.id } : draftOf(node, look));
}

function sayOf(node: EditorNode): Say {
  return (key) => node._(key);
}

function isDeployed({ isChanged, cloud }: StationLook): boolean {
  return !isChanged && cloud?.changed !== true;
}

/** @throws AskError where the runtime would reject the draft, of this user or at all */
function draftOf(node: EditorNode, { properties, credentials, cloud }: StationLook): StationDraft {
  if (!RED.user.hasPermission('flows.write')) throw new AskError(node._('shared.ask.draftNotAllowed'));
  if (cloud === undefined) throw new AskError(node._('shared.ask.noCloud'));
  const known = { ...credentials, ...(cloud.credentials as Record<string, unknown> | undefined) };
  return { station: properties, cloud: propertiesOf(cloud), credentials: typedCredentials(node, known) };
}

function propertiesOf(node: EditorNode): Record<string, unknown> {
  return Object.fromEntries(Object.keys(node._def.defaults).map((name) => [name, node[name]]));
}

/** @throws AskError where a credential is stored in the runtime and not typed in this dialog */
function typedCredentials(node: EditorNode, known: Record<string, unknown>): StationDraft['credentials'] {
  const typed: StationDraft['credentials'] = {};
  for (const name of DRAFT_CREDENTIALS) {
    const value = known[name];
    if (typeof value === 'string' && value !== '__PWRD__') typed[name] = value;
    else if (known[`has_${name}`] === true) throw new AskError(node._('shared.ask.deployFirst'));
  }
  return typed;
}

/**
 * The station chosen in a dialog; without a choice the only one.
 * @throws AskError where there is none or more than one
 */
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

/** One displayed step of a test. */
export interface Step {
  outcome: 'ok' | 'failed' | 'open';
  /** What was tested. */
  title: string;
  /** Result, or what to do. */
  detail: string;
}

const ICONS: Record<Step['outcome'], string> = {
  ok: 'fa-check-circle rvm-good',
  failed: 'fa-times-circle rvm-bad',
  open: 'fa-circle-o',
};

export function showSteps(list: JQuery, steps: readonly Step[]): void {
  const rows = steps.map(({ outcome, title, detail }) => {
    const row = $('<li>').attr('data-outcome', outcome);
    row.append($('<i class="fa" aria-hidden="true">').addClass(ICONS[outcome]), $('<span>').text(title));
    return detail === '' ? row : row.append($('<div class="rvm-step-detail">').text(detail));
  });
  list.empty().append(rows);
  // The list may be below the visible part: the first failed step is scrolled into view, else the last step.
  const looked = rows.find((row) => row.attr('data-outcome') === 'failed') ?? rows.at(-1);
  looked?.get(0)?.scrollIntoView({ block: 'nearest' });
}

/**
 * Makes a button run a test, and shows the steps below it.
 * @param name prefix of the ids of button and list
 * @param running text until the test has ended
 * @param test may throw an AskError
 */
export function testButton(name: string, running: string, test: () => Promise<readonly Step[]>): void {
  const [button, list] = [$(`#${name}-test`), $(`#${name}-steps`)];
  button.on('click', () => {
    button.prop('disabled', true);
    showSteps(list, [{ outcome: 'open', title: running, detail: '' }]);
    void test()
      .catch((error: unknown): Step[] => {
        if (error instanceof AskError) return [{ outcome: 'failed', title: error.message, detail: '' }];
        throw error;
      })
      .then((steps) => showSteps(list, steps))
      .finally(() => button.prop('disabled', false));
  });
}
