import { LEAST_KEY_DAYS, isSchemaName } from '../../lib/inbox/model';
import type { ConnectionReport, ConnectionWarning } from '../../lib/inbox/postgres/connection-settings';
import { prepareForm } from '../support/editor/form';
import { AskError, post, type Step, testButton } from '../support/editor/requests';
import { folderOrReason, inRange, isVariable, passing, reasoned, trimmed } from '../support/editor/validate';
import { ENGINES, looksLikeConnection, TLS } from '../support/rules';

type Said = (key: string, values?: Record<string, unknown>) => string;

/** Results of a connection test, as far as it got. */
function connectionSteps(node: EditorNode, report: ConnectionReport): Step[] {
  const said: Said = (key, values) => node._(`rvm-inbox.test.${key}`, values);
  const { isWritable, hasRights, roundTrip, listens, warnings, fault } = report;
  const steps = [
    ...hostSteps(report, said),
    isWritable === true && good(said('writable')),
    hasRights === true && good(said('rights')),
    schemaStep(report, said),
    roundTrip !== undefined && good(said('roundTrip', { ms: roundTrip.toFixed(1) })),
    durabilityStep(report, said),
    listens === true && good(said('listens')),
    ...warnings.map((warning) => warningStep(node, warning, said)),
    fault !== undefined && { outcome: 'failed' as const, title: said('failed'), detail: fault },
  ];
  return steps.filter((step) => step !== false);
}

function hostSteps({ host, version = '', tls }: ConnectionReport, said: Said): Step[] {
  if (host === undefined) return [];
  const reached = good(said('reached', { host, version }));
  return [reached, tls === undefined ? open(said('notEncrypted')) : good(said('encrypted', { tls }))];
}

function schemaStep({ schemaVersion }: ConnectionReport, said: Said): Step | false {
  if (schemaVersion === undefined) return false;
  return good(schemaVersion === 'absent' ? said('noSchema') : said('schema', { version: schemaVersion }));
}

/** That only one machine stores an alarm is no fault, but must be visible. */
function durabilityStep({ standbys, warnings }: ConnectionReport, said: Said): Step | false {
  if (standbys === undefined || warnings.includes('standby-away')) return false;
  if (standbys.length > 0) return good(said('standbys', { standbys: standbys.join(', ') }));
  return open(said('alone'), said('aloneHint'));
}

function warningStep(node: EditorNode, warning: ConnectionWarning, said: Said): Step {
  const detail = node._(`rvm-inbox.warning.${warning}`);
  if (warning === 'standby-away') return { outcome: 'failed', title: said('failed'), detail };
  return open(said(warning === 'no-listen' ? 'slowNews' : 'remark'), detail);
}

function good(title: string): Step {
  return { outcome: 'ok', title, detail: '' };
}

/** A result that the user should know and may have intended. */
function open(title: string, detail = ''): Step {
  return { outcome: 'open', title, detail };
}

/** Value of a field whose credential is stored. */
const STORED = '__PWRD__';

const FIELD = '#node-config-input-tls';
const CHOICE = '#rvm-inbox-tls';
/** The choice "TLS node"; the node is selected in the field below it. */
const OWN = '';

/**
 * Prepares the choice of encryption: the property contains a TLS node or one of a few words, which the editor's own choice of
 * config nodes does not offer.
 */
function prepareTls(node: EditorNode, changed: () => void): void {
  const stored = trimmed(node.tls) || 'verify';
  $(CHOICE)
    .val(isWord(stored) ? stored : OWN)
    .on('change', changed);
}

/** Choice in the open dialog: one of the words, or the id of a TLS node; empty where none is chosen. */
function chosenTls(): string {
  const choice = String($(CHOICE).val());
  if (choice !== OWN) return choice;
  const id = trimmed($(FIELD).val());
  return id === '_ADD_' ? '' : id;
}

/** Makes the editor save the chosen word in a field that it takes for a config node. */
function keepTls(): void {
  const choice = chosenTls();
  if (isWord(choice)) $(FIELD).append($('<option>').val(choice)).val(choice);
}

function isOwnTls(): boolean {
  return $(CHOICE).val() === OWN;
}

function isWord(choice: string): boolean {
  return TLS.some((word) => word === choice);
}

/** Settings that decide how the database is reached. The instance name does not, so it may be a variable. */
const WAY = ['schema', 'tls'] as const;

/** Tries the connection with the values in the dialog. */
async function test(node: EditorNode): Promise<Step[]> {
  const report = await post<ConnectionReport>((key) => node._(key), 'inbox-test', askedOf(node));
  return connectionSteps(node, report);
}

/**
 * A typed connection is part of the request; a stored one is tried by its node, as deployed.
 * @throws AskError where neither is possible
 */
function askedOf(node: EditorNode): object {
  const draft = typed(node);
  if (draft.connection !== STORED) {
    if (RED.user.hasPermission('flows.write')) return { draft };
    throw new AskError(node._('shared.ask.draftNotAllowed'));
  }
  const isAsKept = WAY.every((name) => draft[name] === stored(node, name));
  if (isAsKept && !node.changed) return { inbox: node.id };
  throw new AskError(node._('shared.ask.deployFirst'));
}

function typed(node: EditorNode): Record<(typeof WAY)[number] | 'connection', string> {
  const field = (name: string): string => trimmed($(`#node-config-input-${name}`).val());
  const connection = field('connection');
  const hasStored = (node.credentials as { has_connection?: boolean } | undefined)?.has_connection === true;
  return {
    // An untouched field may be empty, too.
    connection: connection === '' && hasStored ? STORED : connection,
    schema: field('schema'),
    tls: chosenTls(),
  };
}

function stored(node: EditorNode, name: (typeof WAY)[number]): string {
  return trimmed(node[name] ?? node._def.defaults[name]?.value);
}

function isPostgres(): boolean {
  return trimmed($('#node-config-input-engine').val()) === 'postgres';
}

function connectionOrReason(node: EditorNode, value: unknown): boolean | string {
  const text = trimmed(value);
  const isUsable = text === STORED || isVariable(text) || looksLikeConnection(text);
  return isUsable || !isPostgres() || node._('rvm-inbox.errors.connection');
}

function isTls(text: string): boolean {
  return isWord(text) || Boolean(RED.nodes.node(text));
}

function isEngine(text: string): boolean {
  return ENGINES.some((engine) => engine === text);
}

/** Shows the rows of the chosen engine; all of them where a variable stands for the engine. */
function showRows(): void {
  const engine = trimmed($('#node-config-input-engine').val());
  $('.rvm-inbox-sqlite').toggle(engine !== 'postgres');
  $('.rvm-inbox-postgres').toggle(engine !== 'sqlite');
  $('.rvm-inbox-own-tls').toggle(engine !== 'sqlite' && isOwnTls());
  $('.rvm-inbox-no-tls').toggle(engine !== 'sqlite' && chosenTls() === 'off');
}

function prepareEngine(): void {
  const field = $('#node-config-input-engine');
  const choices = $('input[name="rvm-inbox-engine"]');
  choices.filter(`[value="${CSS.escape(trimmed(field.val()))}"]`).prop('checked', true);
  choices.on('change', (event) => {
    field.val(String($(event.target).val())).trigger('change');
    // Whether the connection may be empty depends on the engine.
    $('#node-config-input-connection').trigger('change');
    showRows();
  });
}

RED.nodes.registerType('rvm-inbox', {
  category: 'config',
  defaults: {
    name: { value: '' },
    configVersion: { value: 1 },
    engine: { value: 'sqlite', validate: passing(isEngine, 'rvm-inbox.errors.engine') },
    folder: { value: '', validate: reasoned(folderOrReason) },
    spillFolder: { value: '', validate: reasoned(folderOrReason) },
    schema: { value: 'rvm', validate: passing(isSchemaName, 'rvm-inbox.errors.schema') },
    tls: { value: 'verify', type: 'tls-config', validate: passing(isTls, 'rvm-inbox.errors.tls') },
    instanceName: { value: '' },
    keyDays: { value: 7, validate: inRange(LEAST_KEY_DAYS) },
    bodyDays: { value: 30, validate: inRange(0) },
  },
  credentials: {
    connection: { type: 'password', validate: reasoned(connectionOrReason) },
  },
  label() {
    if (this.name) return this.name;
    if (this.engine === 'postgres')
      return this._('rvm-inbox.title.shared', { schema: trimmed(this.schema) || 'rvm' });
    return trimmed(this.folder) || this._('rvm-inbox.label.inbox');
  },
  oneditprepare() {
    prepareForm(this, 'node-config');
    prepareEngine();
    prepareTls(this, showRows);
    testButton('rvm-inbox', this._('rvm-inbox.test.running'), () => test(this));
    showRows();
  },
  oneditsave: keepTls,
});
