import { WORDS_TOPIC, type SentWords, type Words } from '../support/status-words';

/** By node, what its status says. */
const sent = new Map<string, SentWords>();

/**
 * Says the statuses of our nodes in the language of the editor, with its clock. The status comes from Node-RED, in its language;
 * what it is made of comes beside it, before or after.
 */
export function sayStatuses(): void {
  RED.comms.subscribe(`${WORDS_TOPIC}/#`, (topic, told) => {
    const id = idIn(topic);
    if (isWords(told)) sent.set(id, told);
    else sent.delete(id);
    say(id);
  });
  // Node-RED shows its text first, whichever of the two is told first.
  RED.comms.subscribe('status/#', (topic) => queueMicrotask(() => say(idIn(topic))));
}

function idIn(topic: string): string {
  return topic.slice(topic.indexOf('/') + 1);
}

function isWords(told: object): told is SentWords {
  return 'words' in told;
}

/** Only in the place of the text that it says: any other is of a status that came since. */
function say(id: string): void {
  const node = RED.nodes.node(id);
  const words = sent.get(id);
  if (!node || words === undefined || node.status?.text !== words.text) return;
  node.status.text = textOf(node, words.words);
  Object.assign(node, { dirty: true, dirtyStatus: true });
  RED.view.redrawStatus(node);
}

function textOf(node: EditorNode, { key, values = {} }: Words): string {
  const texts = Object.entries(values).map(([name, value]): [string, string | number] => {
    if (typeof value !== 'object') return [name, value];
    return [name, 'moment' in value ? clockTime(value.moment) : textOf(node, value)];
  });
  return node._(key, Object.fromEntries(texts));
}

/** As people of the editor's language write it. */
function clockTime(moment: number): string {
  const language = localStorage.getItem('editor-language') ?? navigator.language;
  return new Date(moment).toLocaleTimeString(language);
}
