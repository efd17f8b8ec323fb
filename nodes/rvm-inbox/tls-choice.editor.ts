import { trimmed } from '../support/editor/validate';
import { TLS } from '../support/rules';

/** What stands in a field for a credential that is stored. */
export const STORED = '__PWRD__';

const FIELD = '#node-config-input-tls';
const CHOICE = '#rvm-inbox-tls';
/** The choice of a TLS node, which is made below. */
const OWN = '';

/**
 * Shows what encrypts the connection: the property names a TLS node, or is one of a few words, which the editor's own choice of
 * config nodes does not offer.
 */
export function prepareTls(node: EditorNode, changed: () => void): void {
  const kept = trimmed(node.tls) || 'verify';
  $(CHOICE)
    .val(isWord(kept) ? kept : OWN)
    .on('change', changed);
}

/** Of the open dialog: one of the words, or the id of a TLS node; empty where none is chosen. */
export function chosenTls(): string {
  const choice = String($(CHOICE).val());
  if (choice !== OWN) return choice;
  const id = trimmed($(FIELD).val());
  return id === '_ADD_' ? '' : id;
}

/** Has the editor keep the word that is chosen in the place of a node. */
export function keepTls(): void {
  const choice = chosenTls();
  if (isWord(choice)) $(FIELD).append($('<option>').val(choice)).val(choice);
}

export function isOwnTls(): boolean {
  return $(CHOICE).val() === OWN;
}

function isWord(choice: string): boolean {
  return TLS.some((word) => word === choice);
}
