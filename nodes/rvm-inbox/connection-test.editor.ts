import type { ConnectionReport } from '../../lib/inbox/postgres/connection-report';
import { AskError, post, showSteps } from '../support/editor/requests';
import { trimmed } from '../support/editor/validate';
import { connectionSteps } from './connection-steps.editor';
import { chosenTls, STORED } from './tls-choice.editor';

/** What of the settings decides how the database is reached. The instance name does not: it may be a variable. */
const WAY = ['schema', 'tls'] as const;

/** The button that tries the connection, as the dialog has it just now. */
export function connectionTestButton(node: EditorNode): void {
  const button = $('#rvm-inbox-test');
  button.on('click', () => {
    button.prop('disabled', true);
    void test(node).finally(() => button.prop('disabled', false));
  });
}

async function test(node: EditorNode): Promise<void> {
  const list = $('#rvm-inbox-steps');
  showSteps(list, [{ outcome: 'open', title: node._('rvm-inbox.test.running'), detail: '' }]);
  try {
    const say = (key: string): string => node._(key);
    const report = await post<ConnectionReport>(say, 'inbox-test', askedOf(node));
    showSteps(list, connectionSteps(node, report));
  } catch (error) {
    if (!(error instanceof AskError)) throw error;
    showSteps(list, [{ outcome: 'failed', title: error.message, detail: '' }]);
  }
}

/**
 * A connection that was typed goes along; one that is stored is tried by the node that has it, as it is deployed.
 * @throws AskError where neither will do
 */
function askedOf(node: EditorNode): object {
  const draft = typed(node);
  if (draft.connection !== STORED) {
    if (RED.user.hasPermission('flows.write')) return { draft };
    throw new AskError(node._('shared.ask.draftNotAllowed'));
  }
  const isAsKept = WAY.every((name) => draft[name] === kept(node, name));
  if (isAsKept && !node.changed) return { inbox: node.id };
  throw new AskError(node._('shared.ask.deployFirst'));
}

function typed(node: EditorNode): Record<(typeof WAY)[number] | 'connection', string> {
  const field = (name: string): string => trimmed($(`#node-config-input-${name}`).val());
  const connection = field('connection');
  const hasStored = (node.credentials as { has_connection?: boolean } | undefined)?.has_connection === true;
  return {
    // A field that was not touched may be empty, too.
    connection: connection === '' && hasStored ? STORED : connection,
    schema: field('schema'),
    tls: chosenTls(),
  };
}

function kept(node: EditorNode, name: (typeof WAY)[number]): string {
  return trimmed(node[name] ?? node._def.defaults[name]?.value);
}
